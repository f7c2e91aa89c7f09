"""Runs of matching by a vision model: failures, budgets, cancel, what they take, a killed process, and the way into the report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from core.digest import sha256_bytes
from core.error_slices.vision.ask import MatchSpec
from core.error_slices.vision.cost import plan_match, work_of
from core.error_slices.vision.match_vision import match_with_model
from core.error_slices.vision.options import MatchOptions, limits_of
from core.error_slices.vision.probe import known_ability
from core.errors import InputError
from core.llm import Connection, Endpoint, Price, connections
from core.llm.pace import Limits
from core.operators import slice_match, slices
from core.operators.slice_report import SliceSettings
from core.settings import Settings
from core.storage import open_store
from tests.error_slices.vision_scene import ABLE, BLUE, DARK, FAST, GREY, NIGHT, logprob, match, populations, red, scene, seeing, top_of
from tests.stub_llm import StubServer, error, weighed
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def units(tmp_path):
    return scene(tmp_path / "pictures")


# Failures, budgets, cancel.


def test_failures_that_pass_are_tried_again_and_those_that_stay_are_counted(store, stub_llm, units):
    seen = Counter()

    def shaky(c, request):
        if red(request) is not None:
            return logprob(c, request)
        seen[c] += 1
        if seen[c] == 1:
            return error(429, "slow down", headers={"Retry-After": "0"})
        return error(503, "down") if c > 0.5 else logprob(c, request)

    out = match(store, stub_llm, units, DARK, script=seeing(shaky), options=MatchOptions(limits=Limits(attempts=3, first_wait=0.0)))
    h = out.hypotheses[0]
    assert h.scored == 8
    assert sum(h.failed.values()) == 4 and all(why.startswith("no answer") for why in h.failed)
    assert h.partial and out.partial
    assert out.calls["retries"] > 0


def test_a_statement_that_the_server_refuses_is_asked_no_more_and_the_others_go_on(store, stub_llm, units):
    def picky(c, request):
        return error(400, "I do not judge blue.") if BLUE.text in request.last else logprob(c, request)

    out = match(store, stub_llm, units, DARK, BLUE, script=seeing(picky), options=MatchOptions(limits=Limits(start=1, most=1)))
    assert sum(BLUE.text in r.last for r in stub_llm.asked) <= 9  # all of two pictures, and some of a third
    by_id = {h.hypothesis_id: h for h in out.hypotheses}
    assert (by_id["dark"].scored, by_id["blue"].scored) == (12, 0)
    assert any("I do not judge blue." in p for p in out.problems)


def test_pictures_that_cannot_be_read_are_named_and_the_rest_goes_on(store, stub_llm, units):
    images = units.detections.images
    images[0].path.unlink()
    images[1].path.write_bytes(b"no picture")
    out = match(store, stub_llm, units, DARK)
    assert out.hypotheses[0].scored == 6
    assert out.hypotheses[0].left_out == {"without an image file": 3}
    assert out.hypotheses[0].failed == {"its image cannot be read": 3}
    assert any("0.png" in p for p in out.problems) and any("1.png" in p for p in out.problems)


def test_a_picture_that_changed_since_it_was_imported_is_not_asked_about(store, stub_llm, units):
    images = tuple(replace(i, sha256=sha256_bytes(i.path.read_bytes())) for i in units.detections.images)
    images[2].path.write_bytes(images[3].path.read_bytes())
    out = match(store, stub_llm, replace(units, detections=replace(units.detections, images=images)), DARK)
    assert out.hypotheses[0].failed == {"its image cannot be read": 3}
    assert any("its content has changed" in p for p in out.problems)


def test_cancel_keeps_what_is_there_and_a_second_run_goes_on(store, stub_llm, tmp_path):
    units = scene(tmp_path / "many", 10)
    seen = []
    options = MatchOptions(limits=Limits(start=2, most=2))
    out = match(store, stub_llm, units, DARK, options=options, progress=seen.append, cancel=lambda: len(seen) >= 8)
    assert out.stopped == "Cancelled."
    assert 8 <= len(out.scores["dark"].units) < 30
    assert out.hypotheses[0].not_reached == 30 - len(out.scores["dark"].units)
    assert [p.done for p in seen] == list(range(1, len(seen) + 1))
    before = len(stub_llm.asked)
    again = match_with_model(store, stub_llm.endpoint(), units, [DARK], populations(units, DARK), options=options)
    assert again.calls["cached"] >= 8
    assert len(again.scores["dark"].units) == 30
    assert len(stub_llm.asked) - before <= 30 - 8 + 2


def test_a_budget_pauses(store, stub_llm, units):
    out = match(store, stub_llm, units, DARK, options=MatchOptions(limits=Limits(max_calls=5)))
    assert "budget of 5 calls" in out.stopped
    assert len(out.scores["dark"].units) == 5


def test_no_units_no_calls(store, stub_llm, units):
    stub_llm.script = ABLE["logprob"]
    out = match_with_model(store, stub_llm.endpoint(), units, [DARK], {}, options=FAST)
    assert (out.scores, out.hypotheses, out.partial) == ({}, (), False)


# The plan.


def test_the_plan_tells_calls_tokens_and_price_before_anything_is_sent(store, stub_llm, units):
    stub_llm.script = ABLE["logprob"]
    endpoint = Endpoint(stub_llm.url, "stub-model", price=Price(2.0, 8.0, currency="EUR"))
    people = populations(units, DARK, BLUE, NIGHT)
    plan = plan_match(store, endpoint, units, [DARK, BLUE, NIGHT], people)
    assert not stub_llm.asked
    assert (plan.calls, plan.cached, plan.new, plan.source, plan.probed, plan.measured) == (28, 0, 28, "logprob", False, False)
    assert [(h.calls, h.errors) for h in plan.hypotheses] == [(12, 4), (12, 4), (4, 0)]  # no picture has a loss above a half
    assert plan.cost == pytest.approx((plan.prompt_tokens * 2 + plan.completion_tokens * 8) / 1e6)
    assert plan.currency == "EUR"
    match_with_model(store, endpoint, units, [DARK], people, options=FAST)
    plan = plan_match(store, endpoint, units, [DARK, BLUE, NIGHT], people)
    assert (plan.cached, plan.new, plan.probed) == (12, 16, True)
    match_with_model(store, endpoint, units, [DARK, BLUE], people, options=FAST)
    plan = plan_match(store, endpoint, units, [DARK, BLUE, NIGHT], people)
    assert (plan.measured, plan.prompt_tokens, plan.completion_tokens) == (True, 40, 20)  # the stub tells 10 and 5 tokens a call
    assert plan.seconds is not None


def test_the_plan_counts_samples_and_says_why_nothing_is_asked(store, stub_llm, units):
    plan = plan_match(store, stub_llm.endpoint(), units, [DARK, BLUE], populations(units, DARK), MatchOptions(kind="sampled", samples=5))
    assert (plan.calls, plan.source, plan.cost) == (60, "sampled", None)
    assert plan.hypotheses[1].why == "the data has no units of its type and classes"


def test_the_plan_is_what_is_sent(store, stub_llm, units):
    people = populations(units, DARK, NIGHT)
    plan = plan_match(store, stub_llm.endpoint(), units, [DARK, NIGHT], people)
    assert match(store, stub_llm, units, DARK, NIGHT).calls["new"] == plan.new


def test_options_out_of_range_are_all_named():
    with pytest.raises(InputError) as caught:
        MatchOptions(most_errors=0, samples=0)
    assert {p.column for p in caught.value.problems} == {"most_errors", "samples"}


@pytest.mark.parametrize(
    ("url", "most"), [("http://localhost:8000/v1", 8), ("http://192.168.1.5/v1", 8), ("https://api.example.com/v1", 4)]
)
def test_hosted_servers_are_asked_less_at_once(url, most):
    assert limits_of(Endpoint(url, "m"), MatchOptions()).most == most


def test_the_probe_is_remembered(store, stub_llm, units):
    match(store, stub_llm, units, DARK)
    found = known_ability(store, stub_llm.endpoint())
    assert (found.kind, found.tokens, found.top) == ("logprob", 1, 4)
    assert known_ability(store, stub_llm.endpoint(model="other")) is None


def test_the_place_of_a_unit_in_the_sample_is_computed_once_for_all_hypotheses(tmp_path, monkeypatch):
    from core.error_slices.vision import options as module

    units = scene(tmp_path / "many", 10)
    calls = Counter()
    honest = module.sha256_json

    def counting(value):
        calls["n"] += 1
        return honest(value)

    monkeypatch.setattr(module, "sha256_json", counting)
    more = [replace(DARK, id=f"d{k}") for k in range(5)]
    spec = MatchSpec("m", "http://x/v1", "m", "logprob", 1)
    work, _ = work_of(units, more, populations(units, *more), spec, MatchOptions(most_errors=3, most_correct=3))
    assert len(work.questions) == 5 * 6
    assert calls["n"] == 30
    chosen = [set(c.units.tolist()) for c in work.chosen.values()]
    assert all(c == chosen[0] for c in chosen)


# A process that is killed.

CHILD = """
import sys
from pathlib import Path
from core.error_slices.vision.match_vision import match_with_model
from core.error_slices.vision.options import MatchOptions
from core.llm import endpoint_for
from core.llm.pace import Limits
from core.settings import Settings
from core.storage import open_store
from tests.error_slices.vision_scene import DARK, populations, scene
import json
units = scene(Path(sys.argv[1]), 60)
store = open_store(Settings.from_environment())
options = MatchOptions(limits=Limits(start=8, most=8))
out = match_with_model(store, endpoint_for("vlm"), units, [DARK], populations(units, DARK), options=options)
print(json.dumps({"calls": dict(out.calls), "scores": out.scores["dark"].c.tolist()}))
"""


def test_killed_in_the_middle_nothing_that_was_answered_is_asked_again(tmp_path, workspace):
    def start(stub):
        env = {**os.environ, "ODDYSSEY_HOME": str(workspace), "DATABASE_URL": "", **stub.environment("vlm")}
        command = [sys.executable, "-c", CHILD, str(tmp_path / "pictures")]
        return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    answered = 0

    def sixty(c, request):
        """Answers so many questions; the others wait until nobody is left to hear."""
        nonlocal answered
        if red(request) is not None:
            return logprob(c, request)
        answered += 1
        return weighed(top_of(c), delay=0.0 if answered <= 60 else 3_600.0)

    def questions(stub):
        return sum(red(r) is None for r in stub.asked)

    with StubServer(seeing(sixty)) as stub:
        process = start(stub)

        def eight_wait():
            assert process.poll() is None, process.communicate()
            return questions(stub) == 68

        until(eight_wait)
        opened = open_store(Settings.from_environment())
        until(lambda: opened.calls.counts()["done"] == 60)
        process.kill()  # SIGKILL: no handler, no finally
        process.communicate()
        assert opened.calls.counts()["in_flight"] == 8
        opened.close()
        stub.script = ABLE["logprob"]
        out, err = start(stub).communicate(timeout=300)
        found = json.loads(out or err)
        sent = questions(stub) - 68
    assert (found["calls"]["cached"], found["calls"]["repeated"]) == (60, 8)
    assert sent == found["calls"]["new"] == 120
    assert len(found["scores"]) == 180
    assert all((c > 0.7) == (k % len(GREY) == 0) for k, c in enumerate(found["scores"]))


# The way into the report.


def test_scores_of_a_model_are_tested_like_all_others(store, stub_llm, tmp_path):
    saved = slices.keep_detections(store, scene(tmp_path / "many", 40).detections, name="scenes")
    slices.add_hypotheses(store, saved.id, [DARK])
    connections.save(store, Connection("tagger", stub_llm.url, "stub-model"))
    stub_llm.script = ABLE["logprob"]
    settings = SliceSettings()
    row = slices.slice_report(store, saved.id, settings).row("dark")
    assert (row.tested, row.scores) == (None, None)
    out = slice_match.match_vision(store, saved.id, settings, ["dark"], FAST)
    assert out.calls["new"] == 120
    row = slices.slice_report(store, saved.id, settings).row("dark")
    assert (row.scores.source, row.scores.matcher) == ("logprob", out.matcher)
    assert (row.tested.inside.n, row.tested.inside.value, row.tested.outside.value) == (40, 1.0, 0.0)
    assert row.tested.q_lift < 0.05
    stricter = SliceSettings(units=replace(settings.units, confidence=0.7))
    assert slices.slice_report(store, saved.id, stricter).row("dark").tested.inside.n == 40
    assert slice_match.plan_match(store, saved.id, stricter, ["dark"], FAST).new == 0
