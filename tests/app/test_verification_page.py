"""The verification queue without a browser: draw, answer as two people, undo, report."""

from __future__ import annotations

import json

import pytest

from core import operators
from core.odd import built_in
from tests.apptest import open_page, text


@pytest.fixture
def queue(store):
    """Three images of the demo footage."""
    footage = operators.open_datastore(store, operators.load_demo_datastore(store).id)
    return operators.draw_queue(store, "First check", operators.footage_items(footage, built_in(), 3), built_in(), size=3)


def checks(store=None, name="", **params):
    if name:
        store.preferences.set("who.names", [name])  # as after typing it in this workspace
    app = open_page("evaluation", view="Checks", **params)
    assert not app.exception
    return app


def judge(app):
    """The controls of the tags, top to bottom."""
    return [x for x in app.button_group if x.label not in ("View", "Part")]


def test_nothing_was_drawn_yet(store):
    app = checks()
    assert "No tags have been checked by people yet." in text(app)
    app.button(key="verify_go").click().run()
    assert "no image on this machine that carries a tag" in text(app)
    for source in ("What models tagged here", "Images that were made"):
        app.selectbox(key="verify_source").select(source).run()
        app.button(key="verify_go").click().run()
        assert not app.exception
    assert "No image was made here yet" in text(app)
    assert store.verification.list() == ()


def test_a_sample_is_drawn_from_the_footage_in_use(store):
    operators.load_demo_datastore(store)
    app = checks()
    app.number_input(key="verify_size").set_value(5).run()
    app.button(key="verify_go").click().run()
    assert not app.exception
    (saved,) = store.verification.list()
    assert (saved.name, saved.size) == ("Check 1", 5)
    assert saved.id in app.query_params["queue"]
    assert "Say who you are first" in text(app)


def test_two_people_answer_and_are_compared(store, queue):
    first, *_ = store.verification.items(queue.id)
    for name, answer in (("Ada", "yes"), ("Bob", "no")):
        app = checks(store, name, queue=queue.id)
        assert f"0 of 3 answered in full by {name}" in text(app)
        assert [x.value for x in judge(app)] == [None] * len(first.statements)
        judge(app)[0].set_value(answer).run()
        app.button(key=f"verify_save-{queue.id}-0").click().run()
        assert not app.exception
    assert store.verification.present(first.statements) == {first.statements[0]: {"Ada": "yes", "Bob": "no"}}
    app.button_group(key="verify_part").set_value("Result").run()
    assert not app.exception
    said = text(app)
    assert "Ada 1, Bob 1" in said
    assert "Pairwise agreement 0.000" in said
    assert "All together 1 1 0 –" in said


def test_answers_can_be_taken_back_and_changed(store, queue):
    first, *_ = store.verification.items(queue.id)
    app = checks(store, "Ada", queue=queue.id)
    for x in judge(app):
        x.set_value("yes")
    app.run()
    app.button(key=f"verify_save-{queue.id}-0").click().run()
    assert "1 of 3 answered in full by Ada" in text(app)
    assert "2 of 3 " in text(app)
    app.button(key="verify_undo").click().run()
    assert f"{len(first.statements)} answers taken back." in text(app)
    assert "0 of 3 answered in full" in text(app)
    assert "1 of 3 " in text(app)
    assert store.verification.present(first.statements) == {}
    assert [x.value for x in judge(app)] == [None] * len(first.statements)
    app.button(key="verify_undo").click().run()
    assert "There is nothing of yours to take back." in text(app)
    assert not app.exception


def test_an_answer_from_another_tab_is_not_overwritten(store, queue):
    statement = store.verification.items(queue.id)[0].statements[0]
    app = checks(store, "Ada", queue=queue.id)
    judge(app)[0].set_value("yes").run()
    seen = store.verification.numbers([statement], "Ada")
    store.verification.answer({statement: "no"}, "Ada", queue_id=queue.id, seen=seen)
    app.button(key=f"verify_save-{queue.id}-0").click().run()
    assert not app.exception
    assert store.verification.present([statement]) == {statement: {"Ada": "no"}}


def test_queues_are_listed_and_can_be_binned(store, queue):
    app = checks()
    assert "First check : 3 images or clips from tags" in text(app)
    app.button(key=f"delete-queue-{queue.id}").click().run()
    assert "lies in the bin; what people said stays." in text(app)
    app.button(key="undo-delete-queue").click().run()
    assert not app.exception
    assert [q.name for q in store.verification.list()] == ["First check"]


def test_the_result_names_what_it_rests_on(store, queue):
    store.preferences.set("who.names", ["Ada"])
    for who in ("Ada", "Bob"):
        for x in store.verification.items(queue.id):
            store.verification.answer(dict.fromkeys(x.statements, "yes"), who, queue_id=queue.id)
    app = checks(queue=queue.id)
    assert "Say of each tag whether it is right: 3 images or clips" in text(app)
    assert "100.0%" not in text(app)  # what others said would sway whoever answers
    app.button_group(key="verify_part").set_value("Result").run()
    said = text(app)
    assert "people confirm 100.0% of the tags that they decided" in said
    assert "Every answer is Yes: there is nothing to tell agreement from chance by, so kappa is not defined." in said
    assert "Images or clips answered in full by somebody: 3 of 3" in said
    app.button(key="verify_settle").click().run()
    assert not app.exception
    assert "No evaluation was made in this workspace yet." in text(app)
    report = operators.verification_report(store, queue.id, repeats=50)
    assert json.loads(json.dumps(operators.verification_object(report)))["pooled"]["precision"]["right"] == report.statements
