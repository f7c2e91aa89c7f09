"""`evaluate` and `judge`: what they print, where they stop, what they refuse."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.cli import main
from core.evaluation import Item
from core.evaluation.bundle import write_bundle
from core.odd import infer_odd
from core.seed_table import SeedTable
from core.settings import Settings
from core.storage import open_store
from tests.stub_llm import StubServer, text

ROOT = Path(__file__).resolve().parents[2]

NIGHT = {"weather": "rain", "time": "night"}
ODD = infer_odd({"weather": ["clear", "rain"], "time": ["day", "night"]})
TEXT = ""


def item(name, qa="MCQ", **more):
    options, answer = (("Go", "Stop"), "B") if qa == "MCQ" else ((), "It stops.")
    return Item(name, (), f"Question {name}?", options, answer, qa, **({"requested": NIGHT, "realised": NIGHT, "verdict": "valid"} | more))


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ODDYSSEY_HOME", str(tmp_path / "home"))
    for role in ("LLM", "VLM", "JUDGE"):
        monkeypatch.delenv(f"ODDYSSEY_{role}_BASE_URL", raising=False)
    return tmp_path / "home"


@pytest.fixture
def stub(home, monkeypatch):
    def script(r):
        return "CORRECT" if "to be checked" in r.last else "B" if "Options" in r.last else "He stops."

    with StubServer(script) as server:
        for k, v in server.environment("vlm", "judge").items():
            monkeypatch.setenv(k, v)
        monkeypatch.setenv("ODDYSSEY_JUDGE_MODEL", "judge-model")
        yield server


@pytest.fixture
def bundle(tmp_path):
    path = tmp_path / "bundle.jsonl"
    path.write_text(write_bundle([item("a"), item("b", verdict="invalid"), item("c", "VQA")]))
    return path


@pytest.fixture
def table(home):
    store = open_store(Settings.from_environment())
    seed = SeedTable.from_slices(ODD, [{"weather": "clear", "time": "day"}], [10], [0.9])
    saved = store.tables.save("Mine", seed, upload_sha=None, decisions={}, report={}, model="stub-model", synthetic=False)
    store.close()
    return saved


def stopped(*args):
    with pytest.raises(SystemExit) as e:
        main([*map(str, args)])
    assert e.value.code == 1


def test_evaluate_prints_one_object_and_goes_on_when_run_again(run, stub, bundle):
    first = json.loads(run("evaluate", bundle, "--json"))
    assert first["counts"] | {"scored": 3, "calls": 4, "by_judge": 1} == first["counts"]
    assert [i["item"]["id"] for i in first["items"]] == ["a", "b", "c"]
    again = json.loads(run("evaluate", bundle, "--json"))
    assert again["run_id"] == first["run_id"]
    assert again["counts"] | {"calls": 0, "cached": 4} == again["counts"]
    assert again["items"] == first["items"]


def test_evaluate_for_people_and_into_a_table_and_files(run, stub, bundle, table, tmp_path):
    out = run("evaluate", bundle, "--table", "Mine", "--out-dir", tmp_path / "out", "--who", "ann")
    assert "3 samples, 3 scored, 0 unscored" in out
    assert "night, rain -> the same: MCQ 1.000" in out
    assert "Table Mine: 2 results count; 2 slices, 12 samples." in out
    assert "1 do not: it shows another slice." in out
    assert "no price is set" in out
    rows = list(csv.DictReader((tmp_path / "out" / "by_slice.csv").read_text().splitlines()))
    assert [(r["items"], r["mcq_n"], r["vqa_n"], r["judge_n"]) for r in rows] == [("3", "2", "1", "1")]
    assert (tmp_path / "out" / "manifest.json").is_file()
    data = json.loads(run("evaluate", bundle, "--table", table.id, "--json"))
    assert data["table"] | {"counted": 2, "samples": 12, "left_out": {"it shows another slice": 1}} == data["table"]
    store = open_store(Settings.from_environment())
    assert [v.who for v in store.tables.versions(table.id)] == ["ann"]
    store.close()


def test_a_budget_pauses_with_exit_code_1_and_the_same_command_goes_on(run, stub, bundle, capsys):
    stopped("evaluate", bundle, "--max-calls", 1, "--json")
    data = json.loads(capsys.readouterr().out)
    assert (data["why"], data["counts"]["pending"], len(stub.requests)) == ("paused", 2, 1)
    stopped("evaluate", bundle, "--max-calls", 1)
    assert "The same command goes on from here." in capsys.readouterr().out
    assert json.loads(run("evaluate", bundle, "--json"))["counts"]["scored"] == 3


def test_an_estimate_sends_nothing(run, stub, bundle):
    assert "3 samples: 3 calls to the model under test" in run("evaluate", bundle, "--estimate")
    data = json.loads(run("evaluate", bundle, "--estimate", "--json"))
    assert (data["model_calls"], data["judge_calls_least"], data["judge_calls_most"], data["cost"]) == (3, 1, 6, None)
    assert stub.requests == []


def test_without_a_judge(run, stub, bundle):
    out = run("evaluate", bundle, "--no-judge")
    assert "note: No judge is set" in out
    assert "2 scored, 1 unscored" in out


def test_evaluate_refuses_what_cannot_be(refused, home, bundle, table, monkeypatch, tmp_path):
    assert "ODDYSSEY_VLM_BASE_URL" in refused("evaluate", bundle)
    monkeypatch.setenv("ODDYSSEY_VLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("ODDYSSEY_VLM_MODEL", "other")
    assert 'ODDYSSEY_VLM_LABEL="stub-model"' in refused("evaluate", bundle, "--table", "Mine")
    assert 'no saved table "None"' in refused("evaluate", bundle, "--table", "None")
    assert "has no price" in refused("evaluate", bundle, "--max-cost", 1)
    broken = tmp_path / "broken.jsonl"
    for lines, told in [
        ("{", "no JSON"),
        ("[1]", "no JSON object"),
        ("", "holds no samples"),
        ('{"id": "a"}\n{"id": "a", "verdict": 3}', "question"),
        (write_bundle([item("a"), item("a", "VQA")]), "line 1 has it too"),
        (write_bundle([Item("a", (), "q", ("x", "y"), "C", "MCQ", NIGHT, NIGHT, "valid")]), "is not the letter of an option"),
    ]:
        broken.write_text(lines)
        assert told in refused("evaluate", broken)


def test_judge_reads_a_kits_table(run, stub, tmp_path):
    path = tmp_path / "kit.csv"
    path.write_text("index,question,A,B,answer,prediction,hit\n1,Q1?,Go,Stop,B,B,0\n2,Q2?,Go,Stop,B,hm,0\n")
    data = json.loads(run("judge", path, "--json"))
    assert [(i["score"], i["scored_by"]) for i in data["items"]] == [(1.0, "shortcut"), (1.0, "judge")]
    taken = json.loads(run("judge", path, "--scores", "--run-id", "as-it-is", "--json"))
    assert [(i["score"], i["scored_by"]) for i in taken["items"]] == [(0.0, "imported")] * 2
    assert len(stub.requests) == 1
    assert "2 samples, 2 scored" in run("judge", path)


def test_judge_counts_rows_with_slices_into_a_table(run, home, table, tmp_path):
    path = tmp_path / "kit.csv"
    path.write_text("index,prediction,score,weather,daytime\n1,x,1,rain,night\n2,x,0,rain,\n3,,,clear,day\n")
    args = ("judge", path, "--scores", "--table", "Mine", "--map", "time=daytime", "--json")
    data = json.loads(run(*args))
    assert data["left_out"] == {"it has neither a score nor an answer": 1}
    assert data["table"] | {"counted": 1, "samples": 11} == data["table"]
    partial = json.loads(run(*args, "--partial"))
    assert partial["table"]["left_out"] == {"its slice has no time": 1}  # nobody asked for a slice that could stand in


def test_judge_refuses_what_cannot_be(refused, home, table, tmp_path):
    path = tmp_path / "kit.csv"
    path.write_text("index,question\n1,q\n")
    assert "neither a column of scores" in refused("judge", path)
    assert "--score-scale" in refused("judge", path, "--score-scale", "stars")
    assert "There is no file" in refused("judge", tmp_path / "none.csv")
    path.write_text("index,score\n1,1\n")
    assert "models never mix" in refused("judge", path, "--scores", "--table", "Mine", "--model", "other", "--map", "score=score")


def test_ctrl_c_waits_for_calls_in_flight_and_loses_nothing(home, tmp_path):
    path = tmp_path / "many.jsonl"
    path.write_text(write_bundle([item(f"i{k}") for k in range(2_000)]))
    command = [sys.executable, "-m", "core", "evaluate", str(path), "--no-judge", "--json"]
    with StubServer(lambda r: text("B", delay=0.05)) as server:
        env = {**os.environ, **server.environment("vlm")}
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while len(server.requests) < 20:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (1, "")
        data = json.loads(out)
        assert data["why"] == "cancelled"
        assert data["counts"]["scored"] == data["counts"]["calls"] == len(server.requests) < 2_000
    store = open_store(Settings.from_environment())
    assert store.calls.counts() == {"done": data["counts"]["scored"]}
    store.close()
