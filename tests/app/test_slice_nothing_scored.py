"""Where no unit has a score, no page says more than that; and Home tells of the slice that was verified last, without computing it."""

from __future__ import annotations

import re

import pytest

from core.error_slices.hypotheses import Hypothesis
from pages.shared import slice_last, slice_text
from tests.apptest import html, open_page, text
from tests.detection_sets import classifier_set, detection_set


def test_a_slice_without_any_score_claims_no_loss(store):
    said = text(open_page("slice", detections=classifier_set(store).id))
    assert re.search(r"Where the picture [^:]+: no unit has a score\.", said)
    assert "– elsewhere" not in said
    assert "No unit of this hypothesis has a score, so there is no curve." in said
    assert "Dots grow" not in said


def test_hypotheses_without_scores_are_not_called_different(store):
    app = open_page("slice_compare", detections=classifier_set(store).id, view="Hypotheses")
    assert not app.exception
    said = text(app)
    assert "Some of these hypotheses have no unit with a score, so their overlap is not known." in said
    assert "different units" not in said
    assert said.count("No unit has a score: ") == 2


def test_images_without_files_are_told_in_one_sentence(store):
    said = text(open_page("slices", detections=classifier_set(store).id))
    assert "Of 100 images none has a file here: what looks at pixels cannot score any." in said


def test_corrections_name_how_many_hypotheses_they_are_over(store):
    said = text(open_page("slices", detections=detection_set(store).id))
    tested, of = re.search(r"Benjamini-Hochberg over the (\d+) of (\d+) hypotheses with enough units", said).groups()
    assert 0 < int(tested) < int(of)


def test_counts_of_all_images_are_not_taken_for_those_of_a_half(store):
    said = text(open_page("slices", detections=detection_set(store).id, halves="verification"))
    assert "on 60 images: " in said
    n = int(re.search(r"Tests, and the errors in and out of slices, are of the (\d+) images of the verification half alone", said)[1])
    assert 0 < n < 60


def test_too_few_units_are_told_with_what_would_be_enough(store):
    said = text(open_page("slices", detections=detection_set(store, missed=0.1).id, least_units="100000"))
    assert re.search(r"a slice needs about \d+ units \(\d+ tested alone\) to see a rise of \d+ points", said)


@pytest.mark.parametrize(("mode", "times"), [("calibrated", 1), ("paper", 0)])
def test_the_rule_as_printed_is_told_once(store, mode, times):
    said = text(open_page("slices", detections=detection_set(store).id, mode=mode))
    assert said.count("The rule as printed (windows of 5 units") == times
    assert said.count("of random losses") == 1


def test_a_slice_that_holds_every_unit_has_no_elsewhere():
    class Rate:
        value = 0.5

    class Nothing:
        value = None

    class Found:
        inside, outside = Rate, Nothing

    class Row:
        hypothesis, tested = Hypothesis("x", "The sky is red.", "FN", "intrinsic_difficulty"), Found

    assert slice_text.finding(Row).striptags() == "where the sky is red, 50% are missed, and no scored unit lies elsewhere"


def test_home_says_nothing_of_slices_that_nobody_looked_at(store):
    detection_set(store)
    assert "Last verified slice" not in text(open_page("home"))


def test_home_leads_to_the_last_verified_slice(store):
    saved = detection_set(store, "<b>Streets</b>")
    open_page("slices", detections=saved.id, gamma="0.6")
    app = open_page("home")
    assert not app.exception
    said = text(app)
    assert "Nothing tested yet" in said  # there is no table, and the line stands all the same
    assert re.search(r"Last verified slice .*missed, against \d+% elsewhere .*\(in \d+% to \d+%, n = \d+ in \d+ images; elsewhere", said)
    assert re.search(rf'href="slice\?detections={saved.id}&amp;slice=\w+&amp;gamma=0\.6"', html(app))
    assert "&lt;b&gt;Streets" in html(app)
    store.detections.delete(saved.id)
    assert "Last verified slice" not in text(open_page("home"))


def test_what_passes_as_printed_is_no_verified_slice_on_home(store):
    open_page("slices", detections=detection_set(store).id, mode="paper")
    assert "Last verified slice" not in text(open_page("home"))


def test_a_slice_that_is_not_verified_any_more_leaves_home(store):
    saved = detection_set(store)
    open_page("slices", detections=saved.id)
    kept = store.preferences.get(slice_last.VERIFIED)
    assert kept["slice"]
    store.preferences.set(slice_last.VERIFIED, {**kept, "params": {"fdr": "0.001"}})
    open_page("slices", detections=saved.id, fdr="0.001", least_units="100000")
    assert store.preferences.get(slice_last.VERIFIED)["params"] == {"fdr": "0.001"}  # other settings say nothing of it
    store.preferences.set(slice_last.VERIFIED, {**kept, "params": {"least_units": "100000"}})
    open_page("slices", detections=saved.id, least_units="100000")
    assert store.preferences.get(slice_last.VERIFIED) is None


def test_the_usual_tab_of_crops_is_not_written_into_the_address(store):
    saved = detection_set(store)
    app = open_page("slice", detections=saved.id, slice="iv_small")
    assert "crops" not in app.query_params
    app = open_page("slice", detections=saved.id, slice="iv_small", crops="misses")
    assert app.query_params["crops"] in ("misses", ["misses"])
