"""The page "Review" without a browser."""

from __future__ import annotations

import io
import zipfile

import pytest

from core.operators import labelling
from pages.shared.review_files import zipped
from tests.apptest import html, open_page, text
from tests.threat_sets import threat_set


@pytest.fixture
def set_id(store):
    return threat_set(store)


def button(app, label):
    (found,) = [b for b in app.button if b.label == label]
    return found


def test_without_cases_or_labels_it_says_what_is_needed(workspace, store):
    assert "No case yet, so nothing was labelled." in text(open_page("review"))
    set_id = threat_set(store, ())
    for view in ("Disagreements", "Agreement", "Progress", "Times", "Export"):
        app = open_page("review", cases=set_id, view=view)
        assert not app.exception
        assert "Nobody has labelled a case of this set yet." in text(app)


def test_one_person_alone_disagrees_with_nobody(store):
    app = open_page("review", cases=threat_set(store, ("Bob",)))
    assert not app.exception
    assert "No disagreement yet; 0 cases labelled by two or more." in text(app)


def test_disagreements_are_counted_and_nobody_is_named(store, set_id):
    app = open_page("review", cases=set_id)
    assert not app.exception
    assert "People split on 2 cases , and somebody was unsure on 1; 3 of 3 still open." in text(app)
    page = html(app)
    for who in store.labels.annotators():
        assert who.name not in page
        assert who.id not in page
    listed = next(d.value for d in app.dataframe if "Labels" in d.value.columns)
    assert listed["Scene"].iloc[0] == "s5"  # the one with an Unsure first
    assert sorted(listed["Labels"][0].split()) == ["?", "N", "N"]
    assert "Planner" not in listed.columns


def test_cases_of_one_scene_are_told_apart_without_their_planner(store):
    from tests.cases import case, straight
    from tests.labels.desk import keep, say

    ways = {"a": straight(9.0), "b": straight(8.0, 2.0), "c": straight(9.0), "d": straight()}
    set_id = keep(store, [case(f"s0-{p}", planner=way) for p, way in ways.items()])
    for name, label in (("Ann", "Y"), ("Bob", "N")):
        say(store, set_id, store.labels.register(name, 4, True).id, dict.fromkeys((f"s0-{p}" for p in ways), label))
    app = open_page("review", cases=set_id)
    assert not app.exception
    listed = next(d.value for d in app.dataframe if "Labels" in d.value.columns)
    assert sorted(listed["From the expert"]) == ["2.0 m to the left", "5.0 m further on", "5.0 m further on (2)", "less than 0.3 m"]
    assert "Settled" not in listed.columns


def test_a_third_person_settles_a_case_and_says_why(store, set_id):
    dee = store.labels.register("Dee", 1, True)
    app = open_page("review", cases=set_id, who=dee.id)
    case_id = next(d.case_id for d in labelling.disagreements(store, set_id, dee.id))
    app.button_group(key=f"review_label-{case_id}").set_value("N").run()
    button(app, "Record consensus").click()
    app.run()
    assert "Say why" in text(app)
    app.text_area(key=f"review_note-{case_id}").set_value("There is <b>room</b>.").run()
    button(app, "Record consensus").click()
    app.run()
    assert not app.exception
    assert "2 of 3 still open" in text(app)
    (settled,) = [d.decided for d in labelling.disagreements(store, set_id) if d.decided]
    assert (settled.label, settled.note) == ("N", "There is <b>room</b>.")
    app.button_group(key="review_part").set_value("All").run()
    assert not app.exception
    assert "<b>room</b>" not in html(app)


def test_whoever_labelled_a_case_cannot_settle_it(store, set_id):
    ann = store.labels.annotators()[0]
    labelling.leave_out(store, set_id, [])
    app = open_page("review", cases=set_id, who=ann.id)
    if [b for b in app.button if b.label == "Show them all the same"]:  # hidden checks are still open
        button(app, "Show them all the same").click()
        app.run()
    assert "labelled this case, so somebody else has to settle it." in text(app)
    assert [b for b in app.button if b.label == "Record consensus"] == []


def test_whoever_still_labels_is_warned_before_seeing_what_others_said(store):
    set_id = threat_set(store, ("Ann", "Bob", "Cyd"))
    eve = store.labels.register("Eve", 1, False)
    from tests.labels.desk import press

    press(store, set_id, eve.id, "N")
    app = open_page("review", cases=set_id, who=eve.id)
    assert "would sway you" in text(app)
    assert not app.dataframe
    button(app, "Show them all the same").click()
    app.run()
    assert app.dataframe


def test_agreement_shows_every_policy_for_unsure_with_n(store, set_id):
    app = open_page("review", cases=set_id, view="Agreement")
    assert not app.exception
    said = text(app)
    # 12 cases, one with an Unsure; of the other 11, people split on 2.
    assert "9 of 11 cases without an Unsure" in said
    assert "12 cases labelled by anybody: 0 by one person only, 1 by several of whom somebody was unsure, 11 compared." in said
    assert "Members of the project 2" in said
    assert "Others" not in said.split("Pairs")[0].split("By group")[1]  # one person alone agrees with nobody


def test_progress_counts_cases_by_labels_and_flags_stay_until_somebody_looked(store, set_id):
    from tests.labels.desk import say

    eve = store.labels.register("Eve", 1, False)
    say(store, set_id, eve.id, {f"s{i}-{p}": "Y" for i in range(6) for p in "ab"}, t_ready_ms=0, t_key_ms=400, hidden_ms=0)
    dee = store.labels.register("Dee", 1, True)
    app = open_page("review", cases=set_id, view="Progress", who=dee.id)
    assert not app.exception
    assert "Half of the labels took less than 1.5 s." in text(app)
    assert "12 cases with 4 labels." in text(app)
    code = labelling.codes(store, set_id)[eve.id]
    app.text_input(key=f"clear_note-{code}").set_value("I watched.").run()
    button(app, "Let them count").click()
    app.run()
    assert not app.exception
    assert "Half of the labels" not in text(app)
    assert all(p.counts for p in labelling.progress(store, set_id).people)


def test_rounds_before_labelling_can_be_left_out_for_a_set(store, set_id):
    from pages.shared import label_start

    app = open_page("review", cases=set_id, view="Progress")
    app.toggle(key=f"rounds-{set_id}").set_value(False).run()
    assert not app.exception
    assert not label_start.wanted(store, set_id)


def test_times_count_what_they_leave_out(store, set_id):
    app = open_page("review", cases=set_id, view="Times")
    assert not app.exception
    assert "n = 36 labels; left out: 0 without a time, 0 with the tab hidden meanwhile" in text(app)
    assert "Median 4.0 s" in text(app)


def test_export_says_what_is_in_it_and_what_is_not(store, set_id):
    app = open_page("review", cases=set_id, view="Export")
    assert not app.exception
    assert "36 labels by 3 people, 0 hidden checks, 0 decided." in text(app)
    assert "Left out: 1 " in text(app)
    button(app, "Make the files").click()
    app.run()
    assert not app.exception


def test_an_archive_is_the_same_for_the_same_files():
    files = {"a.txt": b"1", "b/c.jsonl": b"2"}
    assert zipped(files) == zipped(files)
    with zipfile.ZipFile(io.BytesIO(zipped(files))) as z:
        assert {n: z.read(n) for n in z.namelist()} == files
