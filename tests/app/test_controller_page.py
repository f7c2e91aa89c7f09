"""The Controller page without a browser: ask, be asked back, confirm, skip, replay; what is written by models stays text."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import operators
from core.controller import record as rec
from core.controller.plan import InOdd, Plan
from core.controller.reading import Planned, Reading
from core.controller.record import Record
from core.controller.state import RunState, first_state
from core.scoring import ScoringParameters
from core.settings import Settings
from core.storage import SavedTable, Store, open_store
from pages.shared import ask_runs
from pages.shared.ask_starters import FIRST
from tests.apptest import html, open_page, text
from tests.stub_llm import StubServer
from tests.stub_llm import text as said
from tests.waiting import until

HOSTILE = '<img src=x onerror="alert(1)"> construction zones'
FOGGY = "Find missing foggy highway slices, retrieve test images and evaluate the model."


@pytest.fixture
def store() -> Store:
    return open_store(Settings.from_environment())


@pytest.fixture
def table(store: Store) -> SavedTable:
    found = operators.load_demo(store)[0]
    store.preferences.set("table", found.id)
    return found


@pytest.fixture
def vlm(monkeypatch: pytest.MonkeyPatch, table: SavedTable):
    """A stub that says "A" to every question, as the model of the table."""
    with StubServer(lambda request: "A") as stub:
        for k, v in {**stub.environment("vlm"), "ODDYSSEY_VLM_LABEL": table.model}.items():
            monkeypatch.setenv(k, v)
        yield stub


def opened(app: AppTest) -> str:
    run = app.query_params["run"]
    return run if isinstance(run, str) else run[0]


def settle(app: AppTest, store: Store) -> AppTest:
    """Draw the page anew until its run is over."""

    def over() -> bool:
        live = ask_runs.live(store.runs.get(opened(app)))
        app.run()
        return not live.busy

    until(over)
    return app


def ask(app: AppTest, query: str, store: Store) -> AppTest:
    app.chat_input(key="ask").set_value(query).run()
    return settle(app, store)


def press(app: AppTest, label: str) -> AppTest:
    next(b for b in app.button if b.label == label).click()
    return app.run()


def newest(store: Store) -> RunState:
    return RunState.from_dict(store.runs.list()[0].state)


def by_hand(store: Store, table: SavedTable, **change: Any) -> str:
    """A run as the executor leaves it, with anything changed."""
    query = str(change.get("query", "Which gaps in construction zones?"))
    run = store.runs.begin(query, "", table.id)
    record = Record(store.runs.path(run))
    context = {"source": {}, "parameters": ScoringParameters().as_dict(), "mode": None, "table": None, "datastore": None, "endpoints": {}}
    record.put_inputs(store.tables.load(table.id), context)
    plan = Plan(query=query, controller="offline", steps=(InOdd(where={"environment": ["construction"]}),))
    state = first_state(run.id, run.folder, "", run.created_at.isoformat(), Planned(plan))
    state = replace(state, **change)
    record.write(rec.PLAN, rec.dump({"plan": state.plan.model_dump(mode="json")}))
    record.append(rec.EVENTS, {"at": "", "kind": "running", "state": state.as_dict()})
    store.runs.note(run.id, "running", state.as_dict())
    return run.id


def test_without_a_table_the_page_says_what_is_needed():
    app = open_page("controller")
    assert not app.exception
    assert "No table yet" in html(app)


def test_the_empty_page_offers_questions_and_says_that_it_works_offline(table):
    app = open_page("controller")
    assert not app.exception
    said = text(app)
    assert "Ask what to test next." in said
    assert "Offline controller: no model is connected for planning" in said
    assert set(FIRST) <= {b.label for b in app.button}
    assert "Synthetic demo data" in said


def test_a_question_runs_stands_in_the_address_and_is_found_again_by_whoever_opens_it(store, table):
    app = open_page("controller")
    press(app, FIRST[1])
    settle(app, store)
    state = newest(store)
    assert opened(app) == state.id
    assert (state.status, [s.op for s in state.steps]) == ("done", ["in_odd", "triage"])
    missing = state.steps[0].counts["missing"]
    assert state.steps[0].counts["combinations"] == 960
    other = open_page("controller", run=state.id)
    for page in (app, other):
        assert not page.exception
        assert f"{missing:,} untested slices ranked" in text(page)
        assert "construction zones" in text(page)
        frame = page.dataframe[0].value
        assert list(frame["#"]) == list(range(1, 11))
        assert (frame["d environment"] == "construction").all()


def test_the_ranked_table_has_the_rows_of_the_recorded_file(store, table):
    app = ask(open_page("controller"), "What snow and ice scenarios are we missing?", store)
    state = newest(store)
    step = next(s for s in state.steps if s.op == "in_odd")
    result = operators.rank(store.tables.load(table.id), ScoringParameters(), Settings.from_environment(), where=step.args["where"], top=10)
    assert list(app.dataframe[0].value["φ"]) == [r["phi"] for r in operators.rows(result.ranking)]
    assert "proxy" in text(app)


def test_a_question_without_a_subject_is_asked_back(store, table):
    app = ask(open_page("controller"), "Hello, how are you?", store)
    assert not app.exception
    assert "Nothing was run: the question needs a word more." in text(app)
    assert newest(store).clarify[:20] in text(app)
    assert not app.dataframe


def test_what_a_person_types_is_never_markup(store, table):
    app = ask(open_page("controller"), HOSTILE, store)
    assert not app.exception
    assert "<img" not in html(app)


def test_names_separate_the_histories_and_nobody_is_taken_for_somebody_else(store, table):
    store.preferences.set("who.names", ["Ana"])
    app = ask(open_page("controller"), FIRST[0], store)  # the only name there is
    assert [(r.who, r.query) for r in store.runs.list("Ana")] == [("Ana", FIRST[0])]
    assert any(str(b.key).startswith("open-") for b in app.button)
    store.preferences.set("who.names", ["Ben", "Ana"])
    other = open_page("controller")
    assert other.selectbox(key="who_box").value is None
    other.selectbox(key="who_box").set_value("Ben").run()
    assert not any(str(b.key).startswith("open-") for b in other.button)
    assert app.run().selectbox(key="who_box").value == "Ana"


def test_an_unknown_run_is_an_error_card_not_a_traceback(table):
    app = open_page("controller", run="deadbeef")
    assert not app.exception
    assert "There is no run &#34;deadbeef&#34; in this workspace" in text(app)


def test_a_suggestion_asks_again_with_the_value_in_its_place(store, table):
    app = ask(open_page("controller"), "Which tunnel and underpass scenarios need testing?", store)
    before = newest(store)
    assert before.plan.unsupported_terms == ("underpass",)
    assert "underpass" in text(app)
    if before.suggestions:
        pills = next(p for p in app.get("button_group") if "underpass" in p.label)
        pills.set_value([pills.options[0].content]).run()
        settle(app, store)
        assert "underpass" not in newest(store).query


def test_words_of_a_model_are_marked_and_stay_plain_text(store, table):
    prose = "Test ![x](http://example.invalid/x.png) first. <script>alert(1)</script>"
    plan = Plan(query="q", controller="llm", model="some-llm", steps=(InOdd(),))
    run_id = by_hand(store, table, query="q", plan=plan, prose=prose, status="done")
    app = open_page("controller", run=run_id)
    assert not app.exception
    assert "Words of some-llm. Numbers in them were not checked" in text(app)
    assert "&lt;script&gt;" in html(app)
    assert not any("example.invalid" in m.value for m in app.markdown)


def test_a_fallback_is_said(store, table):
    plan = Plan(query="q", controller="offline", steps=(InOdd(),), fallback_reason="the server did not answer in 90 s")
    app = open_page("controller", run=by_hand(store, table, query="q", plan=plan, status="done"))
    assert "The model endpoint gave no plan (the server did not answer in 90 s); the offline plan was used" in text(app)


def test_a_run_that_was_cut_off_is_offered_to_go_on_and_comes_to_its_end(store, table):
    app = open_page(
        "controller", run=by_hand(store, table, readings=(Reading("construction zones", "exact", "environment", "construction"),))
    )
    assert "The run stopped at step 1 of 1" in text(app)
    assert "The app was stopped while it ran" in text(app)
    press(app, "Go on")
    settle(app, store)
    assert newest(store).status == "done"
    assert "untested slices ranked" in text(app)


def test_an_evaluation_that_was_cut_off_goes_on_only_if_it_had_been_confirmed(store, table, vlm):
    operators.load_demo_datastore(store)
    app = ask(open_page("controller"), FOGGY, store)
    state = newest(store)
    cut = replace(state.with_step(state.waiting, replace(state.steps[state.waiting], status="running")), status="running")
    Record(store.runs.path(store.runs.get(state.id))).append(rec.EVENTS, {"at": "", "kind": "running", "state": cut.as_dict()})
    store.runs.note(state.id, "running", cut.as_dict())
    app.run()
    press(app, "Go on")
    settle(app, store)
    assert (newest(store).status, vlm.asked) == ("waiting", [])  # it was cut off before anybody had confirmed it
    store.results.begin(state.id, table.model, "", {}, "")
    Record(store.runs.path(store.runs.get(state.id))).append(rec.EVENTS, {"at": "", "kind": "running", "state": cut.as_dict()})
    store.runs.note(state.id, "running", cut.as_dict())
    app.run()
    press(app, "Go on")
    settle(app, store)
    assert newest(store).status == "done"
    assert vlm.asked


def test_without_a_model_the_samples_are_found_and_the_page_says_what_is_missing(store, table):
    operators.load_demo_datastore(store)
    app = ask(open_page("controller"), FOGGY, store)
    assert not app.exception
    assert next(s for s in newest(store).steps if s.op == "evaluate").status == "skipped"
    assert "No model to evaluate" in text(app)
    assert {"Connect a model", "Ask again"} <= {b.label for b in app.button}


def test_nothing_is_paid_for_before_somebody_says_so(store, table, vlm):
    operators.load_demo_datastore(store)
    app = ask(open_page("controller"), FOGGY, store)
    assert "One paid step waits for you." in text(app)
    assert "Cost at your prices no price named" in text(app)
    assert vlm.asked == []
    press(app, next(b.label for b in app.button if b.label.startswith("Evaluate ")))
    settle(app, store)
    state = newest(store)
    assert (state.status, len(vlm.asked)) == ("done", next(s for s in state.steps if s.op == "evaluate").rows)
    assert "answers right" in text(app)
    assert store.tables.get(table.id).total == table.total + sum(r.verdict == "valid" for r in store.results.rows(state.id))


def test_a_paid_step_can_be_skipped(store, table, vlm):
    operators.load_demo_datastore(store)
    app = ask(open_page("controller"), FOGGY, store)
    press(app, "Skip")
    settle(app, store)
    assert newest(store).status == "done"
    assert vlm.asked == []
    assert store.tables.get(table.id).digest == table.digest


def test_an_evaluation_can_be_paused_and_goes_on_without_asking_twice(store, table, vlm):
    operators.load_demo_datastore(store)
    store.preferences.set("evaluation.limits", {"most": 1})
    vlm.script = lambda request: said("A", delay=0.3)
    start = open_page("evaluation", view="Runs")
    start.number_input(key="start_top").set_value(400).run()
    press(start, "Start")
    app = settle(open_page("controller", run=store.runs.list()[0].id), store)
    total = newest(store).steps[-1].rows
    assert total > 5
    press(app, f"Evaluate {total} samples")
    until(lambda: bool(store.results.stamp(newest(store).id)))
    app.run()
    press(app, "Pause")
    settle(app, store)
    paused = newest(store)
    done = len(store.results.rows(paused.id))
    assert (paused.status, 0 < done < total) == ("waiting", True)
    assert f"Go on with the remaining {total - done} sample" in text(app)
    vlm.script = lambda request: "A"
    press(app, "Go on")
    settle(app, store)
    assert newest(store).status == "done"
    assert len(store.results.rows(paused.id)) == total
    assert len(vlm.asked) == len({json.dumps(r.body) for r in vlm.asked})  # nothing was asked twice


def test_a_changed_plan_runs_as_a_run_of_its_own(store, table, vlm):
    operators.load_demo_datastore(store)
    app = ask(open_page("controller"), FOGGY, store)
    first = newest(store)
    press(app, "Edit plan")
    assert not app.exception
    box = app.number_input(key=f"plan-top-{first.id}-0")
    assert (box.value, app.checkbox(key=f"plan-{first.id}-2").value) == (10, True)

    def dialog(run_id: str) -> None:
        from core.controller.state import RunState
        from pages.shared import ask_edit, state

        ask_edit.steps(RunState.from_dict(state.store().runs.get(run_id).state), state.current_table())

    form = AppTest.from_function(dialog, args=(first.id,), default_timeout=60).run()
    form.number_input(key=f"plan-top-{first.id}-0").set_value(3)
    form.checkbox(key=f"plan-{first.id}-2").uncheck()
    form.checkbox(key=f"plan-{first.id}-3").uncheck()
    form.run()
    press(form, "Run this plan")
    until(lambda: not ask_runs.live(store.runs.list()[0]).busy)
    second = newest(store)
    assert second.id != first.id
    assert [s.op for s in second.steps] == ["in_odd", "acquire"]
    assert (second.steps[0].rows, "The plan was changed by hand." in second.plan.notes) == (3, True)
    assert newest(store).query == first.query
    assert RunState.from_dict(store.runs.get(first.id).state) == first


def test_a_replay_says_that_all_is_equal_or_what_differs(store, table):
    app = ask(open_page("controller"), FIRST[1], store)
    press(app, "Replay run")
    app.run()
    assert "files came out equal." in text(app)
    state = newest(store)
    Record(store.runs.path(store.runs.get(state.id))).write(rec.WITHIN, b"rank\n")
    press(app, "Replay run")
    app.run()
    assert "differ" in text(app)
    assert rec.WITHIN in html(app)


def test_every_file_of_the_record_is_offered(store, table):
    app = ask(open_page("controller"), FIRST[1], store)
    names = {b.label for b in app.get("download_button")}
    folder = store.runs.path(store.runs.list()[0])
    assert {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()} | {"All as ZIP"} == names
