"""The page "Compare slices" without a browser: two models on the same images, and hypotheses beside each other."""

from __future__ import annotations

import json

import pytest

from tests.apptest import html, open_page, text
from tests.detection_sets import classifier_set, detection_set, detections


@pytest.fixture
def before(store):
    return detection_set(store, "Before", 0.9)


@pytest.fixture
def after(store, before):
    return detection_set(store, "After", 0.3)


def test_without_another_model_it_says_what_to_import(before):
    app = open_page("slice_compare", detections=before.id)
    assert not app.exception
    said = text(app)
    assert "No other model has the same images and ground truth." in said
    assert "Import another model's predictions with the ground truth of Before" in said.replace("&#39;", "'")


def test_a_repair_shows_where_it_helped(before, after):
    app = open_page("slice_compare", detections=before.id)
    assert not app.exception
    said = text(app)
    assert "model of After has a higher mAP50 than model of Before ( +" in said
    assert "became better, 0 worse" in said
    assert "on the same 60 images." in said
    row = said.split("The object is very small in the image")[1]
    assert "better" in row[:120]
    assert "person" in said.split("By class")[1]


def test_the_other_model_is_named_in_the_address(store, before, after):
    third = detection_set(store, "Third", 0.6)
    said = text(open_page("slice_compare", detections=before.id, other=third.id))
    assert "model of Third has a higher mAP50 than model of Before" in said
    said = text(open_page("slice_compare", detections=after.id, other="gone"))
    assert "The address asks to compare with &#34;gone&#34;, which does not have these images" in said
    assert "model of Third has a lower mAP50 than model of After" in said


def test_hypotheses_stand_side_by_side_with_their_overlap(before):
    app = open_page("slice_compare", detections=before.id, view="Hypotheses", shown=["iv_small", "ci_far"])
    assert not app.exception
    said = text(app)
    assert "Units of both" in said
    assert "share" in said.split("Compare slices")[1][:200]
    assert f"slice?detections={before.id}&amp;slice=iv_small" in html(app)
    app.multiselect(key="compare_ids").set_value(["iv_small"]).run()
    assert not app.exception
    assert "Choose two to four hypotheses" in text(app)


def test_hypotheses_of_different_sides_are_told_apart(before):
    said = text(open_page("slice_compare", detections=before.id, view="Hypotheses", shown=["iv_small", "iv_small_fp"]))
    assert "different units" in said
    assert "so their levels are not comparable" in said


def test_what_the_address_gets_wrong_is_replaced_by_the_usual_choice(before):
    app = open_page("slice_compare", detections=before.id, view="Hypotheses", shown=["no", "iv_small"])
    assert not app.exception
    assert app.multiselect(key="compare_ids").value == ["iv_small"]


def test_classifiers_are_compared_by_their_images(store):
    first = classifier_set(store, "First")
    classifier_set(store, "Second")
    app = open_page("slice_compare", detections=first.id)
    assert not app.exception


def test_known_slices_are_asked_for_where_the_data_names_none(before):
    app = open_page("slice_compare", detections=before.id, view="Known slices")
    assert not app.exception
    assert "No slice of these detections is known." in text(app)


def test_found_slices_are_measured_against_those_of_a_file(before):
    # Every small box that is missed is an error of the known slice; the first ten of "very small" are such errors, so all ten hit.
    content = detections("Before", 0.9)
    small = [i for i in range(len(content.truth)) if content.truth.xyxy[i, 2] - content.truth.xyxy[i, 0] < 32]
    assert len(small) == 240
    names = [f"{content.images[content.truth.image[i]].id}:g{content.truth.ids[i]}" for i in small]
    known = {"slices": {"tiny": {"units": names, "hypotheses": ["iv_small"], "category": "intrinsic_difficulty"}}}
    app = open_page("slice_compare", detections=before.id, view="Known slices")
    app.file_uploader(key="known_file").upload("known.json", json.dumps(known).encode(), "application/json").run()
    assert not app.exception
    said = text(app)
    assert "Precision@10 is 1.00 over 1 known slice with 4 found slices" in said
    assert "By meaning: precision 0.25 of 4 found slices, recall 1.00 of 1 known slice, F1 0.40." in said
    assert "units of known slices that are no errors under these settings" in said
    app.file_uploader(key="known_file").upload("bad.json", b"[", "application/json").run()
    assert not app.exception
    assert "The known slices are not valid JSON" in text(app)
