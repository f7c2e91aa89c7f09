"""The label page without a browser: what stands there before the first case, and the buttons that do what the keys do."""

from __future__ import annotations

import pytest

from pages.shared import label_outbox
from pages.shared.label_outbox import Desk
from tests.apptest import open_page, text
from tests.label_sets import flat_cases


@pytest.fixture
def work(workspace):
    made = flat_cases(workspace, 9)
    yield made
    made.store.close()


def desk(work, who):
    return Desk(work.store, work.cases.id, who.id, "labelling", "v1:test", "1")


def buttons(app, label):
    return [b for b in app.button if b.label == label]


def test_an_empty_workspace_says_what_is_needed(workspace):
    app = open_page("label")
    assert not app.exception
    assert "There are no cases to label yet." in text(app)
    assert buttons(app, "Load the demo cases")


def test_nobody_labels_before_registering(work):
    app = open_page("label", set=work.cases.id)
    assert not app.exception
    assert "who are you" in text(app)


def test_an_unknown_set_is_said_and_another_one_is_shown(work):
    ada = work.person()
    app = open_page("label", set="nowhere", who=ada.id, plain="1")
    assert not app.exception
    assert "which is not in this workspace" in text(app)
    assert "Is that a threat?" in text(app)


def test_buttons_label_the_case_that_they_stand_under(work):
    ada = work.person()
    app = open_page("label", set=work.cases.id, who=ada.id, plain="1")
    assert not app.exception
    assert "Synthetic" in text(app)
    assert "secret" not in text(app)
    for name in ("Threat", "No threat", "Unsure"):
        scene = text(app).split("Scene T-")[1][:3]
        buttons(app, name)[0].click().run()
        assert not app.exception
        assert work.labels(ada)[-1][0] == int(scene)
    assert [label for _, label in work.labels(ada)] == ["Y", "N", "U"]
    before = text(app).split("Scene T-")[1][:3]
    buttons(app, "Undo last")[0].click().run()
    assert text(app).split("Scene T-")[1][:3] == f"{work.labels(ada)[-1][0]:03}" != before
    kinds = [e.new.kind for e in work.store.labels.events(work.cases.id, ada.id)]
    assert kinds == ["label", "label", "label", "revoke"]
    assert work.store.labels.events(work.cases.id, ada.id)[0].new.guidance_version.startswith("v")


def test_a_click_that_comes_late_labels_nothing_else(work):
    ada = work.person()
    app = open_page("label", set=work.cases.id, who=ada.id, plain="1")
    stale = buttons(app, "Threat")[0]
    stale.click().run()
    assert len(work.labels(ada)) == 1
    stale.click().run()  # the button of a case that is not there any more
    assert len(work.labels(ada)) == 1


def test_the_component_runs_without_error(work):
    ada = work.person()
    app = open_page("label", set=work.cases.id, who=ada.id)
    assert not app.exception


def event(work, who, **more):
    from core.operators import labelling

    item = labelling.window(work.store, work.cases.id, who.id, n=1).items[0]
    return {"uid": "u" * 12, "id": item.token, "seq": item.seq, "kind": "label", "label": "Y", "payload": {}, **more}


def test_an_outbox_may_come_any_number_of_times(work):
    ada = work.person()
    outbox = {"n": "tab:1", "events": [event(work, ada)]}
    for _ in range(3):
        told = label_outbox.receive(desk(work, ada), outbox)
        assert told == label_outbox.Told("tab:1", ("u" * 12,), (), "")
    assert len(work.labels(ada)) == 1


def test_a_malformed_event_is_refused_and_keeps_none_out(work):
    ada = work.person()
    good = event(work, ada)
    bad = [
        {**good, "uid": "b" * 12, "label": "X"},
        {**good, "uid": "c" * 12, "id": "no such case"},
        {**good, "uid": "d" * 12, "seq": "1"},
        {**good, "uid": "e" * 12, "payload": None},
        {**good, "uid": "short", "seq": 2},
    ]
    told = label_outbox.receive(desk(work, ada), {"n": "tab:1", "events": [*bad[:2], good, *bad[2:], "no event"]})
    assert told.acked == (good["uid"],)
    assert sorted(uid for uid, _ in told.conflicts) == sorted(e["uid"] for e in bad)
    assert all(reason for _, reason in told.conflicts)
    assert len(work.labels(ada)) == 1


def test_label_undo_label_of_one_outbox_stay_in_order(work):
    ada = work.person()
    first = event(work, ada)
    events = [
        {**first, "uid": "1" * 12, "kind": "comment", "label": None, "payload": {"text": "dark"}},
        {**first, "uid": "2" * 12, "seq": 2},
        {**first, "uid": "3" * 12, "seq": 3, "kind": "undo", "target": "2" * 12},
        {**first, "uid": "4" * 12, "seq": 4, "label": "N"},
    ]
    told = label_outbox.receive(desk(work, ada), {"n": "tab:1", "events": events})
    assert told.acked == tuple(e["uid"] for e in events)
    stored = [(e.new.kind, e.new.label) for e in work.store.labels.events(work.cases.id, ada.id)]
    assert stored == [("comment", None), ("label", "Y"), ("revoke", None), ("label", "N")]


def test_a_taken_number_is_a_conflict_only_between_answers(work):
    ada = work.person()
    first = event(work, ada)
    comment = {**first, "uid": "c" * 12, "kind": "comment", "label": None, "payload": {"text": "from another tab"}}
    assert label_outbox.receive(desk(work, ada), {"n": "a", "events": [comment]}).acked
    told = label_outbox.receive(desk(work, ada), {"n": "b", "events": [first]})  # with the number that the comment has
    assert told.acked == (first["uid"],)
    second = {**first, "uid": "s" * 12, "label": "N", "seq": 2}
    told = label_outbox.receive(desk(work, ada), {"n": "c", "events": [second]})
    assert not told.acked
    assert "You had labelled this case in another tab: threat" in told.conflicts[0][1]
    assert [label for _, label in work.labels(ada)] == ["Y"]


def test_a_store_that_is_away_leaves_the_outbox_as_it_is(work, monkeypatch):
    from core.errors import InputError
    from core.operators import labelling

    def away(*_args, **_more):
        raise InputError("The database is locked.")

    ada = work.person()
    outbox = {"n": "tab:1", "events": [event(work, ada)]}
    with monkeypatch.context() as m:
        m.setattr(labelling, "record", away)
        told = label_outbox.receive(desk(work, ada), outbox)
    assert (told.acked, told.conflicts) == ((), ())
    assert told.error == "Not saved yet, trying again: The database is locked."
    assert label_outbox.receive(desk(work, ada), outbox).acked
