"""The commands ask and replay: record, JSON, refusals, exit codes."""

from __future__ import annotations

import json

import pytest

from core import operators
from core.cli import main
from core.operators import DEMO_TABLE
from core.settings import Settings
from core.storage import open_store
from tests.stub_llm import StubServer

COMMAND = ()
TEXT = ""
DEMO = ("--table", DEMO_TABLE, "--model-column", "model", "--model", "model-a")
FOG = "Identify missing foggy highway slices, retrieve test images, and evaluate the model."


def test_a_question_gives_plan_record_and_files(run, tmp_path):
    folder = tmp_path / "run"
    data = json.loads(run("ask", FOG, *DEMO, "--manifest", "demo", "--run-dir", folder, "--json"))
    assert [s["op"] for s in data["steps"]] == ["in_odd", "acquire", "evaluate", "triage"]
    assert data["steps"][0]["counts"]["combinations"] == 240
    assert set(data["files"]) == set(data["manifest"]["files"]) | {"manifest.json"}
    assert all((folder / f).is_file() for f in data["files"])
    again = json.loads(run("replay", folder, "--json"))
    assert again["equal"]
    assert {c["status"] for c in again["checks"]} == {"equal"}


def test_a_saved_table_is_found_by_name_and_by_id(run):
    store = open_store(Settings.from_environment())
    table = operators.load_demo(store)[0]
    store.close()
    states = [json.loads(run("ask", "What blind spots exist?", "--table", t, "--json")) for t in (table.name, table.id)]
    assert states[0]["manifest"]["table"]["id"] == table.id
    first, second = ([s["out_sha"] for s in x["steps"]] for x in states)
    assert first == second


def test_a_waiting_step_is_done_or_left_out_later(run, monkeypatch, tmp_path):
    with StubServer(lambda _: "A") as stub:
        for name, value in stub.environment("vlm").items():
            monkeypatch.setenv(name, value)
        folders = [tmp_path / name for name in ("one", "two")]
        waiting = [json.loads(run("ask", FOG, *DEMO, "--manifest", "demo", "--run-dir", f, "--json")) for f in folders]
        assert [x["status"] for x in waiting] == ["waiting", "waiting"]
        assert stub.asked == []
        assert "resume" in run("ask", FOG, *DEMO, "--manifest", "demo")
        left = json.loads(run("resume", folders[0], "--skip", "--manifest", "demo", "--json"))
        assert ([s["status"] for s in left["steps"]], stub.asked) == (["done", "done", "skipped", "done"], [])
        done = json.loads(run("resume", waiting[1]["id"], "--manifest", "demo", "--json"))
        assert [s["status"] for s in done["steps"]] == ["done"] * 4
        assert len(stub.asked) == done["steps"][2]["rows"] > 0
        assert json.loads(run("replay", folders[1], "--manifest", "demo", "--json"))["equal"]


def test_an_evaluation_that_lacked_a_model_is_done_once_there_is_one(run, monkeypatch, tmp_path):
    folder = tmp_path / "run"
    first = json.loads(run("ask", FOG, *DEMO, "--manifest", "demo", "--run-dir", folder, "--json"))
    assert [s["status"] for s in first["steps"]] == ["done", "done", "skipped", "done"]
    with StubServer(lambda _: "A") as stub:
        for name, value in stub.environment("vlm").items():
            monkeypatch.setenv(name, value)
        done = json.loads(run("resume", folder, "--manifest", "demo", "--json"))
        again = json.loads(run("resume", folder, "--manifest", "demo", "--json"))
    assert [s["status"] for s in done["steps"]] == ["done"] * 4
    assert len(stub.asked) == done["steps"][2]["rows"] > 0
    assert [s["out_sha"] for s in again["steps"]] == [s["out_sha"] for s in done["steps"]]
    assert json.loads(run("replay", folder, "--manifest", "demo", "--json"))["equal"]


def test_people_read_what_was_understood(run):
    text = run("ask", "What tunnel and underpass scenarios need testing?", *DEMO)
    assert '"tunnel": environment = tunnel (extension)' in text
    assert '"underpass": nothing (unsupported)' in text
    assert text.rstrip().splitlines()[-1].startswith("Record: ")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("ask", "What is missing?", "--table", "nowhere.csv"), "no file"),
        (("ask", "What is missing?", *DEMO, "--controller", "oracle"), "offline, llm"),
        (("ask", " ", *DEMO), "1 to 4,000"),
        (("ask", "What is missing?", *DEMO, "--manifest", "nowhere"), "nowhere"),
        (("replay", "0badf00d"), "no run"),
    ],
)
def test_what_cannot_be_done_is_refused(refused, args, says):
    assert says in refused(*args)


def test_a_changed_record_ends_with_another_exit_code(run, tmp_path, capsys):
    folder = tmp_path / "run"
    run("ask", "What blind spots exist in our current test coverage?", *DEMO, "--run-dir", folder)
    report = folder / "agent_response.md"
    report.write_text(report.read_text(encoding="utf-8") + "\nAll is well.\n", encoding="utf-8")
    with pytest.raises(SystemExit) as e:
        main(["replay", str(folder)])
    out, err = capsys.readouterr()
    assert (e.value.code, err) == (1, "")
    assert "NOT equal" in out
    assert "agent_response.md: the file was changed after the run" in out
