"""The page "Error slices" without a browser: what it finds, how it is narrowed, what it leaves out, and what people add."""

from __future__ import annotations

import json
import shutil

import pytest

from core.storage import NewJudgement
from pages.shared.slice_filters import ALL
from tests.apptest import html, open_page, text
from tests.detection_sets import classifier_set, detection_set


@pytest.fixture
def saved(store):
    return detection_set(store)


def test_an_empty_workspace_offers_the_demo_and_an_import(workspace):
    app = open_page("slices")
    assert not app.exception
    assert "No detections yet, so no error slice." in text(app)
    assert [b.label for b in app.button] == ["Load the demo", "Import detections"]


def test_the_planted_failure_leads_the_list_with_its_rates(saved):
    app = open_page("slices", detections=saved.id)
    assert not app.exception
    said = text(app)
    assert "The object is very small in the image (about 32 px or less across)." in said
    assert "hypotheses hold up: where the object is very small in the image, " in said
    assert "Confidence ≥ 0.25, IoU ≥ 0.5, γ 0.5, calibrated rule, 0.05 false discovery rate." in said
    assert "of 480 instances missed" in said
    assert "random losses" in said


def test_every_row_leads_to_its_slice_with_the_same_settings(saved):
    app = open_page("slices", detections=saved.id, gamma="0.6")
    assert f"slice?detections={saved.id}&amp;gamma=0.6&amp;slice=iv_small" in html(app)


def test_choices_narrow_the_list_and_count_what_they_leave_out(saved):
    app = open_page("slices", detections=saved.id, error="FP")
    assert not app.exception
    said = text(app)
    assert "The detected region is very small" in said
    assert "The object is very small in the image" not in said.split("Hypothesis Verdict")[1].split("Match with a vision model")[0]
    assert "left out by the choices above" in said
    app.number_input(key="slices_least").set_value(1_000_000).run()
    assert "No hypothesis is left under these choices." in text(app)


@pytest.mark.parametrize("narrowed", [{}, {"error": "FP"}])
def test_the_counts_of_the_verdicts_add_up_to_all_of_them(saved, narrowed):
    chips = open_page("slices", detections=saved.id, **narrowed).segmented_control(key="slices_verdict").options
    counts = [int(c.rsplit(" ", 1)[1].replace(",", "")) for c in chips]
    assert chips[0].startswith("All ")
    assert counts[0] == sum(counts[1:]) > 0


def test_a_choice_that_no_row_has_any_more_falls_back_to_all(saved):
    app = open_page("slices", detections=saved.id, verdict="nonsense", error="XYZ", sort="nonsense")
    assert not app.exception
    assert app.segmented_control(key="slices_verdict").value == ALL
    assert app.selectbox(key="slices_error").value == ALL


@pytest.mark.parametrize("mode", ["paper", "spearman"])
def test_the_other_rules_are_one_choice_away(saved, mode):
    app = open_page("slices", detections=saved.id)
    app.selectbox(key="slice_mode").set_value(mode).run()
    assert not app.exception
    assert app.query_params["mode"] in (mode, [mode])
    assert ("pass the rule as printed, as " in text(app)) == (mode == "paper")


def test_settings_stand_in_the_address_and_what_it_gets_wrong_is_left_as_usual(saved):
    app = open_page("slices", detections=saved.id, confidence="0.7", iou="x", gamma="7", halves="verification", missed_only="1")
    assert not app.exception
    said = text(app)
    assert "Confidence ≥ 0.7, IoU ≥ 0.5, γ 0.5" in said
    assert "verification half only" in said
    assert "missed means that nothing explains it" in said


def test_hypotheses_without_a_matcher_say_why_they_were_not_tested(saved):
    said = text(open_page("slices", detections=saved.id, verdict="untested"))
    assert "Only a vision model can tell; none has been asked yet." in said
    assert "No vision model is connected" in said


def test_an_own_hypothesis_is_added_tested_and_retracted(store, saved):
    app = open_page("slices", detections=saved.id)
    app.text_area(key="own_text").set_value("The person is tiny, hardly a smudge.").run()
    app.selectbox(key="own_matcher").set_value("small").run()
    app.button(key="own_add").click().run()
    assert not app.exception
    (document,) = store.slice_hypotheses.of(saved.id)
    assert document["id"] == "own_person_tiny_hardly_smudge"
    assert document["offline"] == {"matcher": "small", "params": {"ref_px": 32.0}}
    assert "The person is tiny, hardly a smudge." in text(app)
    app.button(key="retract-own_person_tiny_hardly_smudge").click().run()
    assert not app.exception
    assert store.slice_hypotheses.of(saved.id) == ()


def test_a_file_of_hypotheses_is_taken_whole_or_not_at_all(store, saved):
    def doc(matcher: str) -> bytes:
        one = {"id": "mine", "text": "The object is thin.", "error": "FN", "category": "intrinsic_difficulty"}
        return json.dumps({"hypotheses": [{**one, "offline": {"matcher": matcher}}]}).encode()

    app = open_page("slices", detections=saved.id)
    app.file_uploader(key="own_file-0").upload("h.yaml", doc("no_such"), "application/yaml").run()
    app.button(key="own_file_add").click().run()
    assert not app.exception
    assert "Nothing was added." in text(app)
    assert store.slice_hypotheses.of(saved.id) == ()
    app = open_page("slices", detections=saved.id)
    app.file_uploader(key="own_file-0").upload("h.yaml", doc("thin"), "application/yaml").run()
    app.button(key="own_file_add").click().run()
    assert not app.exception
    assert [d["id"] for d in store.slice_hypotheses.of(saved.id)] == ["mine"]


def test_what_people_said_stands_beside_the_verdict_at_once(store, saved):
    app = open_page("slices", detections=saved.id)
    assert "accepted" not in text(app)
    store.slice_judgements.append(saved.id, [NewJudgement("12345678", "iv_small", "", "accept", who="Ada")])
    store.slice_judgements.append(saved.id, [NewJudgement("12345679", "iv_small", "0:g100", "accept", who="Ada")])
    app.run()
    assert "accepted" in text(app) and "1 crop judged" in text(app)
    only = text(open_page("slices", detections=saved.id, people="accept"))
    assert "1 of 52 hypotheses shown" in only


def test_a_set_that_is_gone_is_told(saved):
    said = text(open_page("slices", detections="deadbeef"))
    assert "which are not in this workspace (any more)" in said
    assert "This is Streets." in said


def test_a_classifier_has_its_groups_and_the_worst_one_named(store):
    saved = classifier_set(store)
    app = open_page("slices", detections=saved.id)
    assert not app.exception
    said = text(app)
    assert "The worst group is water : 75.0% right" in said
    assert "10 wrong labels of 100" in said


def test_markup_in_names_is_shown_as_text(store):
    saved = detection_set(store, "<b>Streets</b>")
    page = html(open_page("slices", detections=saved.id))
    assert "<b>Streets</b>" not in page
    assert "&lt;b&gt;Streets&lt;/b&gt;" in page


def test_a_set_whose_files_are_gone_is_told_on_every_page(store, saved):
    shutil.rmtree(store.detections.get(saved.id).folder)
    for page in ("slices", "slice_compare", "slice"):
        app = open_page(page, detections=saved.id)
        assert not app.exception
        assert "The files of the detections &#34;Streets&#34; are gone from the workspace; import them again." in text(app)
    assert not open_page("detections", detections=saved.id).exception
