"""The Controller page where something is not as usual: another table, another model, files that are gone, words of others."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from core import operators
from core.controller import record as rec
from core.controller.plan import Acquire, Evaluate, InOdd, Plan
from core.controller.reading import Planned, Reading
from core.controller.record import Record
from core.controller.state import RunState, first_state
from core.scoring import ScoringParameters
from core.settings import Settings
from core.storage import SavedTable, Store, open_store
from pages.shared import ask_warm, jobs, state
from tests.apptest import html, open_page, text
from tests.stub_llm import StubServer


@pytest.fixture
def store() -> Store:
    return open_store(Settings.from_environment())


@pytest.fixture
def tables(store: Store) -> tuple[SavedTable, ...]:
    """Two tables of the demo; the first is in use."""
    found = tuple(operators.load_demo(store))
    store.preferences.set("table", found[0].id)
    return found


def asked(store: Store, table: SavedTable, steps: tuple[Any, ...] = (InOdd(),), statuses: tuple[str, ...] = ("done",), **more: Any) -> str:
    """A run about a table with steps in some state."""
    run = store.runs.begin("Which gaps come first?", "", table.id)
    record = Record(store.runs.path(run))
    told = {"id": table.id, "name": table.name, "digest": table.digest, "model": table.model}
    context = {"source": {}, "parameters": ScoringParameters().as_dict(), "mode": None, "table": told, "datastore": None, "endpoints": {}}
    record.put_inputs(store.tables.load(table.id), context)
    plan = Plan(query=run.query, controller="offline", steps=steps)
    now = first_state(run.id, run.folder, "", run.created_at.isoformat(), Planned(plan)).as_dict()
    for step, status in zip(now["steps"], statuses, strict=True):
        step["status"] = status
    now |= {"status": "waiting" if "waiting" in statuses else "done"} | more
    RunState.from_dict(now)
    record.append(rec.EVENTS, {"at": "", "kind": "done", "state": now})
    store.runs.note(run.id, "done", now)
    return run.id


def test_a_run_about_another_table_names_it_and_offers_to_use_it(store, tables):
    run_id = asked(store, tables[1])
    app = open_page("controller", run=run_id)
    assert f"Table {tables[1].name} {tables[1].digest[:6]} ." in text(app)
    assert f"This was asked about the table {tables[1].name}" in text(app)
    app.button(key="use_asked").click().run()
    assert store.preferences.get("table") == tables[1].id
    assert "This was asked about" not in text(app)
    assert app.query_params["run"] in (run_id, [run_id])


def test_before_an_evaluation_is_paid_for_it_is_said_if_it_cannot_be_counted(store, tables, monkeypatch):
    run_id = asked(store, tables[0], (InOdd(), Acquire(), Evaluate()), ("done", "done", "waiting"))
    with StubServer([]) as stub:
        for k, v in {**stub.environment("vlm"), "ODDYSSEY_VLM_LABEL": tables[1].model}.items():
            monkeypatch.setenv(k, v)
        told = f"is of {tables[0].model} , the connected model is {tables[1].model}"
        assert told in text(open_page("controller", run=run_id))
        assert told in text(open_page("evaluation"))
        monkeypatch.setenv("ODDYSSEY_VLM_LABEL", tables[0].model)
        assert "the connected model is" not in text(open_page("controller", run=run_id))
        assert stub.asked == []


def test_a_run_whose_table_was_deleted_waits_for_it_and_tells_of_no_other(store, tables, monkeypatch):
    run_id = asked(store, tables[0], (InOdd(), Acquire(), Evaluate()), ("done", "done", "waiting"))
    store.tables.delete(tables[0].id)
    with StubServer([]) as stub:
        for k, v in {**stub.environment("vlm"), "ODDYSSEY_VLM_LABEL": tables[0].model}.items():
            monkeypatch.setenv(k, v)
        app = open_page("controller", run=run_id)
        assert "restore it under Seed tables to go on" in text(app)
        assert "the connected model is" not in text(app)
        app.button(key=f"confirm-{run_id}-2").click().run()
        assert "The table of this run is not in this workspace (any more)" in text(app)
        assert "Plan each step can be opened" in text(app)  # the page goes on below the error
        assert app.chat_input(key="ask") is not None
        assert store.runs.get(run_id).state["status"] == "waiting"
        assert stub.asked == []


def test_a_run_whose_folder_is_gone_is_told_from_the_workspace_and_one_can_ask_on(store, tables):
    run_id = asked(store, tables[0])
    shutil.rmtree(store.runs.path(store.runs.get(run_id)))
    app = open_page("controller", run=run_id)
    assert not app.exception
    assert html(app).count('class="od-head"') == 1
    assert "The files of this run are gone" in text(app)
    assert app.button(key="replay").disabled
    assert app.chat_input(key="ask") is not None
    assert {"Ask again", "New question"} <= {b.label for b in app.button}


def test_words_of_a_model_stand_before_the_table_of_readings(store, tables):
    reading = vars(Reading("gaps", "exact", "environment", "construction"))
    page = text(open_page("controller", run=asked(store, tables[0], prose="Test fog first.", readings=[reading])))
    assert page.index("Test fog first.") < page.index("You wrote")


def test_the_history_tells_how_far_a_run_is(store, tables, monkeypatch):
    run = store.runs.begin("Which gaps?", "", tables[0].id)
    assert "The question was kept, but not answered." in text(open_page("controller"))
    job = jobs.Job()
    monkeypatch.setattr(jobs, "known", lambda key: job if key[0] == "ask" and key[2] == run.id else None)
    assert "Reading the question." in text(open_page("controller"))


def test_samples_without_an_answer_can_be_asked_again(store, tables):
    run_id = asked(store, tables[0], (InOdd(), Acquire(), Evaluate()), ("done",) * 3)
    assert "got no answer" not in text(open_page("controller", run=run_id))
    now = store.runs.get(run_id).state
    now["steps"][2]["counts"] = {"scored": 0, "right": 0, "failed": 2}
    store.runs.note(run_id, "done", now)
    app = open_page("controller", run=run_id)
    assert "2 samples got no answer." in text(app)
    app.button(key=f"again-{run_id}").click().run()
    assert app.query_params["run"] not in (run_id, [run_id])


def test_older_questions_of_the_history_are_shown_when_asked_for(store, tables):
    for i in range(23):
        store.runs.begin(f"Question {i}", "", tables[0].id)
    app = open_page("controller")
    shown = lambda: sum(b.label.startswith("Question") for b in app.button)  # noqa: E731
    assert shown() == 20
    app.toggle(key="history_all").set_value(True).run()
    assert shown() == 23


def test_the_encoder_is_made_ready_on_the_second_look_only(store, tables, monkeypatch):
    begun: list[str] = []
    monkeypatch.setattr(ask_warm, "installed", lambda: True)
    monkeypatch.setattr(ask_warm, "warm", lambda odd, settings: begun.append(odd.hash) or True)
    app = open_page("controller")
    assert begun == []
    odd = state.seed_table(tables[0]).odd
    ask_warm.begin(odd)
    ask_warm.begin(odd)
    jobs.known(("warm", Settings.from_environment(), odd.hash)).finished.wait(10)
    assert begun == [odd.hash]
    assert not app.run().exception
