"""Slices of two models and of several hypotheses beside each other, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.error_slices.hypotheses import Hypothesis
from core.error_slices.recall_curves import draw_images
from core.error_slices.scores import Scores
from core.error_slices.units import Population
from core.error_slices.verification.settings import TestSettings
from core.errors import InputError
from core.operators import slices
from core.operators.slice_compare import _change, compare_precision, compare_slices, overlaps
from core.operators.slice_report import SliceReport, SliceRow, SliceSettings
from tests.detection_sets import detection_set, detections


def row(name, units, c, loss):
    at, score = np.array(units), np.array(c, float)
    logit = np.log(np.clip(score, 1e-9, 1) / np.clip(1 - score, 1e-9, 1))
    population = Population("FN", at, np.array(loss, float), np.zeros(len(at), int), np.ones(len(at)))
    scores = Scores(name, at, score, logit, "geometric", "m", np.full(len(at), ""))
    return SliceRow(Hypothesis(name, "It is so.", "FN", "intrinsic_difficulty"), None, "", population, scores, name, None, {})


def report(*rows):
    settings = SliceSettings(test=TestSettings(gamma=0.5))
    return SliceReport(None, None, settings, rows, "")


def test_overlap_counts_units_that_both_score():
    a = row("a", [0, 1, 2, 3], [0.9, 0.8, 0.2, np.nan], [1, 0, 1, 1])
    b = row("b", [1, 2, 3, 4], [0.7, 0.9, 0.9, 0.9], [0, 1, 1, 1])
    (found,) = overlaps(report(a, b), [a, b])
    # Both score 1 and 2. In the slices: a {1}, b {1, 2}; errors in them: a none, b {2}; all of two are among the top fifty.
    assert (found.first, found.second, found.shared) == ("a", "b", 2)
    assert (found.members, found.errors, found.top) == (0.5, 0.0, 1.0)


def test_hypotheses_about_different_units_have_no_overlap():
    a, b = row("a", [0, 1], [0.9, 0.8], [1, 1]), row("b", [5, 6], [0.9, 0.8], [1, 1])
    (found,) = overlaps(report(a, b), [a, b])
    assert (found.shared, found.members, found.errors, found.top) == (0, None, None, None)


def test_empty_slices_have_no_index_rather_than_none_in_common():
    a, b = row("a", [0, 1], [0.1, 0.2], [1, 1]), row("b", [0, 1], [0.3, 0.1], [1, 1])
    (found,) = overlaps(report(a, b), [a, b])
    assert (found.members, found.errors) == (None, None)


def test_three_hypotheses_make_three_pairs():
    rows = [row(n, [0, 1], [0.9, 0.1], [1, 0]) for n in "abc"]
    assert [(o.first, o.second, o.members) for o in overlaps(report(*rows), rows)] == [("a", "b", 1.0), ("a", "c", 1.0), ("b", "c", 1.0)]


def test_a_change_is_the_difference_of_means_and_its_interval_that_of_paired_images():
    # Two images; the second resample takes the first image twice, the third the second one twice.
    weights = np.array([[1, 2, 0], [1, 0, 2]], float)
    a = (np.array([1.0, 1, 0]), np.array([0, 0, 1]), np.ones(3))
    b = (np.array([1.0, 0, 0]), np.array([0, 0, 1]), np.ones(3))
    found = _change(a, b, weights, least=2)
    assert found.a.value == pytest.approx(2 / 3) and found.b.value == pytest.approx(1 / 3)
    assert found.difference == pytest.approx(-1 / 3)
    # Resampled differences: -0.5 and 0.
    assert (found.low, found.high) == (pytest.approx(-0.4875), pytest.approx(-0.0125))


def test_a_handful_of_images_is_too_few_for_an_interval():
    """Three images of three say the same: every resample does, and its interval of no width would call it certain."""
    weights = draw_images(20, 200, 0).T.astype(float)
    for images, has in ((3, False), (7, False), (8, True)):
        image = np.arange(images)
        found = _change((np.ones(images), image, np.ones(images)), (np.zeros(images), image, np.ones(images)), weights)
        assert found.difference == -1.0
        assert (found.low is not None) == has


def test_a_model_without_units_has_no_change():
    none = (np.empty(0), np.empty(0, int), np.empty(0))
    some = (np.array([1.0]), np.array([0]), np.ones(1))
    found = _change(some, none, np.ones((1, 5)))
    assert (found.a.value, found.b.value, found.difference, found.low, found.high) == (1.0, None, None, None, None)


def test_the_same_model_twice_changes_nothing(store):
    saved = detection_set(store)
    one = slices.slice_report(store, saved.id)
    found = compare_slices(one, one, resamples=50)
    assert found.rows and found.only == 0
    assert {r.inside.difference for r in found.rows} <= {0.0, None}
    assert {c.difference for c in found.overall.values()} == {0.0}


def test_a_repair_lowers_the_error_where_it_helped(store):
    first, second = detection_set(store, "Before", 0.9), detection_set(store, "After", 0.3)
    a, b = (slices.slice_report(store, s.id) for s in (first, second))
    found = compare_slices(a, b)
    small = next(r for r in found.rows if r.hypothesis.id == "iv_small")
    assert small.inside.a.n == small.inside.b.n == 240
    assert small.inside.high is not None and small.inside.high < 0
    assert small.outside.difference == 0.0
    precision = compare_precision(store, first.id, second.id, resamples=20)
    assert precision.mean.ap50.value is not None and precision.mean.ap50.value > 0


def test_models_on_other_images_or_under_other_settings_are_not_compared(store):
    first = detection_set(store, "First")
    other = slices.keep_detections(store, detections("Other", seed=1))
    a, b = (slices.slice_report(store, s.id) for s in (first, other))
    with pytest.raises(InputError, match="do not have the same images and ground truth"):
        compare_slices(a, b)
    with pytest.raises(InputError, match="not computed under the same settings"):
        compare_slices(a, replace(a, settings=SliceSettings(missed_only=True)))
