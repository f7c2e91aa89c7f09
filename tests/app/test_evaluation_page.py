"""Acquire and evaluate without a browser: its views hold what the engine counted, and what people do is recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from core import operators
from core.evaluation import Item
from core.llm import Endpoint
from core.settings import Settings
from core.storage import SavedTable, Store, open_store
from pages.shared import ask_runs, eval_start, eval_text
from tests.apptest import html, open_page, text
from tests.stub_llm import StubServer, error, png
from tests.stub_llm import text as said
from tests.waiting import until

RUN = "check-1"


@pytest.fixture
def store() -> Store:
    return open_store(Settings.from_environment())


@pytest.fixture
def table(store: Store) -> SavedTable:
    found = operators.load_demo(store)[0]
    store.preferences.set("table", found.id)
    return found


def items(store: Store, table: SavedTable, folder, n: int = 6) -> list[Item]:
    """Questions about missing slices, each with an image of its own; every third is known in part only."""
    image = folder / "grey.png"
    image.write_bytes(png(64, 48))
    result = operators.rank(store.tables.load(table.id), _params(), Settings.from_environment(), top=n)
    odd, out = result.ranking.odd, []
    for i, values in enumerate(odd.codec.names(result.ranking.codes)):
        slice_ = {odd.names[k]: values[k] for k in result.ranking.dims}
        full = i % 3 != 2
        out.append(
            Item(
                id=f"item-{i}",
                images=(str(image),),
                question=f"Question {i} <b>bold</b>?",
                options=("stop", "go"),
                answer="A",
                qa_type="MCQ",
                requested=slice_,
                realised=slice_ if full else None,
                verdict="valid" if full else "partial",
                dataset="made for a test",
            )
        )
    return out


def _params():
    from core.scoring import ScoringParameters

    return ScoringParameters()


@pytest.fixture
def evaluated(store, table, tmp_path) -> Callable[..., str]:
    """Evaluate six items with a stub: A, B, A, B, an answer without a choice, and a refusal; the first may come last."""

    def run(count: bool = True, first_last: bool = False) -> str:
        answers = {0: said("A"), 1: said("B"), 2: said("A"), 3: said("B"), 4: said("I cannot tell <i>at all</i>."), 5: error(400, "no")}

        def script(request):
            number = next(i for i in range(6) if f"Question {i} " in request.last)
            return replace(answers[number], delay=0.5) if first_last and number == 0 else answers[number]

        with StubServer(script) as stub:
            endpoint: Endpoint = stub.endpoint(label=table.model)
            operators.evaluate(store, items(store, table, tmp_path), endpoint, None, run_id=RUN, who="Ana")
        if count:
            operators.count_results(store, table.id, RUN, who="Ana")
        return RUN

    return run


def show(view: str, **params: str) -> AppTest:
    app = open_page("evaluation", view=view, **params)
    assert not app.exception
    return app


def press(app: AppTest, label: str) -> AppTest:
    next(b for b in app.button if b.label == label).click()
    return app.run()


@pytest.mark.parametrize("view", ["Runs", "Samples", "By condition", "What moved", "Footage"])
def test_an_empty_workspace_says_what_is_needed(view):
    said = text(show(view))
    assert "No footage yet" in said if view == "Footage" else "No model was evaluated yet." in said


def test_the_headline_counts_right_answers_and_what_has_no_score(evaluated):
    evaluated()
    app = show("Runs")
    assert "was right in 50% of 4 scored samples. 1 could not be judged, 1 got no answer." in text(app)
    assert "n = 4, 95 % interval 15% to 85%" in text(app)
    assert "4 of 6 samples match their slice in every dimension" in text(app)
    assert "6 of 6 samples, 4 scored, 1 unscored, 1 failed" in text(app)
    assert "tokens in" in text(app)
    assert "no price named" in text(app)


def test_samples_stand_in_the_order_of_their_ids_whichever_answer_came_first(evaluated):
    evaluated(first_last=True)
    assert [q.split()[1] for q in show("Samples").dataframe[0].value["question"]] == list("012345")


def test_every_sample_is_listed_and_one_is_shown_with_question_answer_and_slices(evaluated):
    evaluated()
    app = show("Samples")
    frame = app.dataframe[0].value
    assert sorted(frame["verdict"]) == ["failed", "right", "right", "unscored", "wrong", "wrong"]
    said = text(app)
    assert "right answer" in said
    assert "model's choice" in said.replace("&#39;", "'")
    assert "Asked for Shows" in said
    assert "<b>bold</b>" not in html(app)
    app.segmented_control(key="eval_filter").set_value("Without a score").run()
    assert sorted(app.dataframe[0].value["verdict"]) == ["failed", "unscored"]
    assert "<i>" not in html(app).replace('<i class="', "")


def by_id(store):
    """The results as the page lists them, whichever answer came first."""
    return sorted(operators.results_of(store, RUN).results, key=lambda r: r.item.id)


def test_a_person_overrules_a_verdict_and_takes_it_back(store, table, evaluated):
    evaluated()
    store.preferences.set("who.names", ["Ana"])
    before = store.tables.get(table.id).digest
    first = next(r for r in by_id(store) if r.status == "scored" and r.item.verdict == "valid")
    app = show("Samples")
    app.segmented_control(key="eval_filter").set_value("Right" if first.score else "Wrong").run()
    first = next(r for r in by_id(store) if r.score == first.score)
    name, other = first.item.id, 1.0 - float(first.score)
    app.segmented_control(key=f"overrule-score-{name}").set_value("Right" if other else "Wrong").run()
    assert next(b for b in app.button if b.label == "Record it").disabled  # without a reason nothing is recorded
    app.text_area(key=f"overrule-why-{name}").set_value("The sign says stop.").run()
    press(app, "Record it")
    last = store.results.history(RUN, name)[-1]
    assert (last.score, last.scored_by, last.who, last.why) == (other, "person", "Ana", "The sign says stop.")
    counts = first.item.verdict == "valid"
    assert (store.tables.get(table.id).digest != before) == counts
    app.segmented_control(key="eval_filter").set_value("By a person").run()
    assert "The sign says stop." in text(app)
    press(app, "Take it back")
    assert store.results.history(RUN, name)[-1].scored_by == first.scored_by
    assert store.tables.get(table.id).digest == before


def test_the_tables_by_condition_are_those_of_the_engine(store, evaluated):
    evaluated()
    e = operators.results_of(store, RUN)
    for by, cells in (("Slice", e.by_slice), ("Value", e.by_value), ("Question category", e.by_category)):
        app = show("By condition")
        app.segmented_control(key="eval_by").set_value(by).run()
        frame = app.dataframe[0].value
        assert list(frame["Samples"]) == [c.items for c in cells]
        assert list(frame["MCQ"]) == [eval_text.rate_in_words(c.mcq) for c in cells]
        assert frame["Unscored"].sum() == sum(c.unscored for c in cells)


def test_what_moved_is_what_the_engine_says_and_a_run_can_be_undone_and_counted_again(store, table, evaluated):
    evaluated()
    m = operators.moved(store, table.id, RUN, _params(), Settings.from_environment(), top=100)
    app = show("What moved")
    assert f"{len(m.filled)} gaps were filled by {m.samples} samples" in text(app)
    assert len(m.filled) == 3  # of four scored samples one is known in part only
    assert "1: something of its slice is not known" in text(app)
    press(app, "Undo this run")
    assert store.tables.get(table.id).digest == table.digest
    app.run()
    assert "This run is not counted into any table" in text(app)
    press(app, "Count it again")
    assert store.tables.get(table.id).digest == m.digest_after


def test_a_run_that_does_not_count_says_what_would(store, table, evaluated):
    evaluated(count=False)
    app = show("What moved")
    assert "3 results would count." in text(app)
    press(app, "Count them")
    assert store.tables.get(table.id).runs == (RUN,)


def test_an_evaluation_that_was_cut_off_is_offered_to_go_on(store, table, evaluated):
    from dataclasses import replace

    from core.controller.plan import Evaluate, Plan
    from core.controller.reading import Planned
    from core.controller.state import first_state

    evaluated()
    run = store.runs.begin("Find foggy gaps and evaluate the model.", "Ana", table.id)
    plan = Plan(query=run.query, controller="offline", steps=(Evaluate(),))
    state = first_state(run.id, run.folder, "Ana", run.created_at.isoformat(), Planned(plan))
    for status, chip, button in (("running", "interrupted", "Resume"), ("waiting", "waits for a confirmation", "Plan")):
        state = state.with_step(0, replace(state.steps[0], status=status, rows=2_000))
        store.runs.note(run.id, status, replace(state, status="running" if status == "running" else "waiting").as_dict())
        app = show("Runs")
        assert f"{chip}" in text(app)
        assert "0 of 2,000 samples" in text(app)
        assert any(b.label == button and str(b.key).endswith(run.id) for b in app.button)


def test_results_made_elsewhere_become_a_run_and_what_is_left_out_is_counted(store, table):
    odd = store.tables.load(table.id).odd
    values = {d.name: d.base[0].name for d in odd.dimensions}
    head = [*values, "question", "A", "B", "answer", "prediction", "score"]
    rows = [[*values.values(), f"q{i}", "stop", "go", "A", "A" if i else "B", str(float(bool(i)))] for i in range(3)]
    data = "\n".join(",".join(r) for r in [head, *rows]).encode()
    app = show("Runs")
    app.file_uploader(key="import_file").set_value(("results.csv", data, "text/csv")).run()
    press(app, "Import")
    app.run()
    assert not app.exception
    (run,) = store.results.runs()
    assert len(store.results.rows(run.run_id)) == 3
    assert "was right in 67% of 3 scored samples." in text(app)
    assert "3 of 3 rows were read. Left out: 0." in text(app)


def test_an_unknown_run_is_said_and_the_page_stands(table):
    app = open_page("evaluation", run="deadbeef")
    assert not app.exception
    assert "The address asks for the evaluation deadbeef , which is not in this workspace (any more)." in text(app)
    assert "No model was evaluated yet." in text(app)


def test_another_evaluation_than_that_of_the_address_is_never_shown_unsaid(evaluated):
    evaluated()
    app = open_page("evaluation", run="<b>x</b>", view="Samples")
    assert "&lt;b&gt;x&lt;/b&gt; , which is not in this workspace (any more); the newest one with answers is shown." in text(app)
    assert "was right in" in text(app)


def test_the_demo_footage_is_one_click_away_and_tells_its_report(store, table):
    app = show("Footage")
    press(app, "Load the demo footage")
    (found,) = store.datastores.list()
    app.run()
    assert "Samples are looked for in Demo footage" in text(app)
    assert f"{found.rows:,} rows" in text(app)
    app.toggle(key=f"footage-report-{found.id}").set_value(True).run()
    report = store.datastores.provenance(found.id)["report"]
    assert f"{report['accepted']:,} of {report['rows']:,} rows can be used" in text(app)


def test_a_manifest_is_read_before_it_is_kept_and_every_text_is_counted(store, table):
    rows = "path,weather_visibility,time,caption\na.png,foggy,night,x\nb.png,murky,night,y\nc.png,,day,z\n"
    app = show("Footage")
    app.file_uploader[0].set_value(("footage.csv", rows.encode(), "text/csv")).run()
    assert not app.exception
    assert "3 of 3 rows can be used, 0 cannot." in text(app)
    assert store.datastores.list() == ()
    box = next(s for s in app.selectbox if "murky" in s.label)
    box.set_value("foggy").run()
    press(app, "Read it so")
    press(app, "Import")
    (found,) = store.datastores.list()
    report = store.datastores.provenance(found.id)["report"]
    weather = next(d for d in report["dimensions"] if d["name"] == "weather_visibility")
    assert (weather["tagged"], weather["missing"], weather["unknown"]) == (2, 1, 0)


def test_a_plan_put_together_by_hand_runs_like_a_question(store, table):
    operators.load_demo_datastore(store)
    app = show("Runs")
    app.number_input(key="start_top").set_value(20).run()
    press(app, "Start")
    run = store.runs.list()[0]
    until(lambda: not ask_runs.live(store.runs.get(run.id)).busy)
    run = store.runs.get(run.id)
    assert run.query == eval_start.sentence(20, 1, True)
    assert [s["op"] for s in run.state["steps"]] == ["in_odd", "acquire", "evaluate"]
    assert run.state["steps"][0]["args"]["top"] == 20
    lines = (store.runs.path(run) / "dataset_retrieval.jsonl").read_text().splitlines()
    assert len(lines) == run.state["steps"][1]["rows"]
    assert all(json.loads(x)["verdict"] in ("valid", "partial", "invalid") for x in lines)
