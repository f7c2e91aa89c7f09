"""The command `slices match --vision`: what it takes first, then the run; ways of asking, caps, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from core.cli.app import app
from core.error_slices.hypotheses import Hypothesis
from core.llm import Connection, Price, connections
from core.operators import slices
from core.settings import Settings
from core.storage import open_store
from tests.error_slices.vision_scene import ABLE, DARK, logprob, red, scene, seeing, top_of, words
from tests.stub_llm import error, weighed
from tests.waiting import until

ANY_TEXT = Hypothesis("night_2", "The object has a shadow.", "FN", "intrinsic_difficulty")


@pytest.fixture
def saved(workspace, stub_llm, tmp_path):
    stub_llm.script = ABLE["logprob"]
    store = open_store(Settings.from_environment())
    found = slices.keep_detections(store, scene(tmp_path / "pictures", 8).detections, name="scenes")
    slices.add_hypotheses(store, found.id, [DARK, ANY_TEXT])
    connections.save(store, Connection("tagger", stub_llm.url, "stub-model", price=Price(1.0, 2.0, currency="EUR")))
    store.close()
    return found


def run(*more):
    """Exit code and JSON of a run about one hypothesis."""
    found = CliRunner().invoke(app, ["slices", "match", "scenes", "--vision", "--hypothesis", "dark", "--json", *more])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found.exit_code, json.loads(found.stdout)


def test_the_plan_is_json_and_sends_nothing(saved, stub_llm):
    code, told = run()
    assert (code, told["sent"], stub_llm.requests) == (0, False, [])
    plan = told["plan"]
    assert (plan["calls"], plan["new"], plan["source"], plan["probed"], plan["currency"]) == (24, 24, "logprob", False, "EUR")
    assert plan["cost"] > 0


def test_a_run_is_told_and_ends_with_0(saved):
    code, told = run("--yes")
    assert (code, told["sent"]) == (0, True)
    assert (told["run"]["source"], told["run"]["stopped"], told["run"]["partial"]) == ("logprob", "", False)
    assert told["hypotheses"][0] == {"id": "dark", "source": "logprob", "units": 24, "scored": 24, "in_slice": 8, "why_not": ""}
    assert run("--yes")[1]["run"]["calls"]["new"] == 0


@pytest.mark.parametrize(("kind", "calls"), [("sampled", 24 * 8), ("verbalised", 24), ("logprob", 24)])
def test_ways_of_asking(saved, stub_llm, kind, calls):
    stub_llm.script = ABLE["logprob"] if kind == "logprob" else ABLE["words"]
    code, told = run("--kind", kind, "--yes")
    assert (code, told["run"]["source"], told["run"]["calls"]["new"]) == (0, kind, calls)


def test_both_orders_are_twice_the_calls(saved):
    assert run("--both-orders")[1]["plan"]["calls"] == 48
    code, told = run("--both-orders", "--yes")
    assert (code, told["run"]["calls"]["new"]) == (0, 48)
    assert "both orders" in told["run"]["matcher"]


def test_a_way_that_is_none_is_an_error_of_the_user(saved, capsys):
    from core.cli.app import main

    with pytest.raises(SystemExit) as ended:
        main(["slices", "match", "scenes", "--vision", "--kind", "best"])
    assert ended.value.code == 2
    assert "logprob, sampled, verbalised" in capsys.readouterr().err


def test_a_cap_ends_a_run_with_1_and_what_was_answered_is_kept(saved):
    code, told = run("--max-calls", "5", "--yes")
    assert code == 1
    assert "budget of 5 calls" in told["run"]["stopped"]
    assert told["hypotheses"][0]["scored"] == 5
    code, told = run("--yes")
    assert (code, told["run"]["calls"]["new"], told["hypotheses"][0]["scored"]) == (0, 19, 24)


def test_a_partial_run_ends_with_1_and_says_why(saved, stub_llm):
    def shaky(c, request):
        return error(400, "not this one") if red(request) is None and c > 0.5 else logprob(c, request)

    stub_llm.script = seeing(shaky)
    code, told = run("--yes")
    matched = told["run"]["matched"][0]
    assert (code, matched["partial"], matched["scored"]) == (1, True, 16)
    assert sum(matched["failed"].values()) == 8
    said = CliRunner().invoke(app, ["slices", "match", "scenes", "--vision", "--hypothesis", "dark", "--yes"])
    assert said.exit_code == 1 and "partial: dark, 16 of 24 units scored" in said.stdout


def test_a_model_that_turns_out_dearer_is_not_asked_and_the_plan_is_right_from_then_on(saved, stub_llm):
    from core.errors import InputError

    stub_llm.script = seeing(words)
    refused = CliRunner().invoke(app, ["slices", "match", "scenes", "--vision", "--hypothesis", "dark", "--yes"])
    assert isinstance(refused.exception, InputError) and "8 calls a question" in str(refused.exception)
    assert run()[1]["plan"]["calls"] == 24 * 8
    assert run("--yes")[0] == 0


def test_a_run_that_is_cut_short_does_not_take_the_place_of_scores_without_a_model(saved, workspace):
    def scored(*more):
        found = CliRunner().invoke(app, ["slices", "match", "scenes", "--vision", "--hypothesis", "iv_small", "--json", *more])
        told = json.loads(found.stdout)
        return told["hypotheses"][0]["source"], told["hypotheses"][0]["scored"], told["run"]["problems"]

    source, n, problems = scored("--yes", "--max-calls", "3")
    assert (source, n) == ("geometric", 24)
    assert "until the model has scored more than 3 of 24 units" in problems[0]
    assert scored("--yes") == ("logprob", 24, [])


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_keeps_what_is_there_and_kill_repeats_at_most_what_was_on_its_way(saved, stub_llm, workspace, sent):
    stub_llm.script = seeing(lambda c, r: weighed(top_of(c), delay=0.1))
    command = [sys.executable, "-m", "core", "slices", "match", "scenes", "--vision", "--hypothesis", "dark", "--yes", "--json"]
    env = {**os.environ, "ODDYSSEY_HOME": str(workspace), "DATABASE_URL": ""}
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(command, cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def asked():
        return [r for r in stub_llm.asked if red(r) is None]

    until(lambda: len(asked()) >= 8 or process.poll() is not None)
    process.send_signal(sent)
    out, err = process.communicate(timeout=60)
    before = len(asked())
    assert before < 24
    if sent == signal.SIGINT:
        told = json.loads(out)
        assert (process.returncode, told["run"]["stopped"]) == (1, "Cancelled."), err
        assert told["hypotheses"][0]["scored"] == before
    code, told = run("--yes")
    assert (code, told["hypotheses"][0]["scored"]) == (0, 24)
    again = len(asked()) - 24
    assert 0 <= again <= (0 if sent == signal.SIGINT else 8)
    assert told["run"]["calls"]["repeated"] == again
