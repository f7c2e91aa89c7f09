"""Precision of a matcher and gamma from clicks."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.error_slices.calibrate import LEAST_CLICKS, calibrate, isotonic, precision_of, settle
from core.scoring.intervals import wilson
from core.storage.slice_judgements import Judgement


def said(unit, verdict, who="ann"):
    return Judgement(f"{unit}-{who}-{verdict}", "h", unit, verdict, who=who, at=datetime(2026, 1, 1, tzinfo=UTC))


def test_the_majority_of_people_counts_and_a_split_is_unsure():
    found = settle(
        [
            *(said("a", v, w) for v, w in (("accept", "x"), ("accept", "y"), ("reject", "z"))),
            *(said("b", v, w) for v, w in (("accept", "x"), ("reject", "y"))),
            *(said("c", v, w) for v, w in (("unsure", "x"), ("reject", "y"))),
            said("", "accept"),
        ]
    )
    assert found == {"a": "accept", "b": "unsure", "c": "reject"}


def test_precision_leaves_out_the_unsure_and_counts_them():
    p = precision_of(["accept"] * 6 + ["reject"] * 2 + ["unsure"])
    assert (p.fits, p.n, p.unsure, p.value) == (6, 8, 1, 0.75)
    assert (p.low, p.high) == wilson(0.75, 8)
    assert precision_of([]).value is None and precision_of(["unsure"]).n == 0


def test_pooling_by_hand():
    xs, chance = isotonic(np.array([1.0, 2, 3, 3, 4]), np.array([False, True, False, False, True]))
    assert xs.tolist() == [1, 2, 3, 4]
    assert chance.tolist() == pytest.approx([0, 1 / 3, 1 / 3, 1])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=60))
def test_the_fit_rises_and_keeps_the_mean(clicks):
    x, y = np.array([a for a, _ in clicks], float), np.array([b for _, b in clicks])
    xs, chance = isotonic(x, y)
    assert (np.diff(chance) >= -1e-12).all()
    assert chance[np.searchsorted(xs, x)].mean() == pytest.approx(y.mean())


def test_gamma_stays_while_there_are_too_few_clicks():
    g = calibrate(np.linspace(0, 1, 49), np.ones(49, bool))
    assert (g.value, g.source, g.clicks) == (0.5, "default", 49) and "49 of the 50" in g.why
    assert calibrate(np.array([]), np.array([], bool)).above.value is None


def test_gamma_is_the_smallest_score_with_the_wanted_precision():
    c = np.arange(100) / 100
    g = calibrate(c, c >= 0.62)
    assert g.source == "clicks" and g.value == pytest.approx(0.615)
    assert g.above.value == 1.0 and g.above.n == 38


def test_no_score_is_good_enough():
    g = calibrate(np.linspace(0, 1, 60), np.arange(60) % 2 == 0)
    assert g.source == "default" and g.value == 0.5 and "0.7" in g.why


def test_every_clicked_score_is_good_enough():
    c = np.linspace(0.3, 0.95, LEAST_CLICKS)
    g = calibrate(c, np.ones(LEAST_CLICKS, bool))
    assert g.source == "clicks" and 0.29 < g.value < 0.3 and g.above.n == LEAST_CLICKS
    assert calibrate(np.full(60, 0.0), np.ones(60, bool)).value == 0.0


def test_clicks_on_the_best_crops_do_not_raise_gamma():
    """All of the top fits: nothing was said of the scores between gamma and them."""
    g = calibrate(np.linspace(0.9, 1.0, LEAST_CLICKS), np.ones(LEAST_CLICKS, bool))
    assert (g.value, g.source, g.above.n) == (0.5, "default", LEAST_CLICKS)
    assert "from 0.9 on" in g.why


def test_clicks_without_a_score_do_not_count():
    g = calibrate(np.full(80, np.nan), np.ones(80, bool))
    assert g.clicks == 0 and g.source == "default"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 1), st.booleans()), min_size=50, max_size=90))
def test_what_lies_above_a_calibrated_gamma_has_the_wanted_precision(clicks):
    g = calibrate(np.array([a for a, _ in clicks]), np.array([b for _, b in clicks]))
    if g.source == "clicks":
        assert g.above.n > 0 and g.above.value >= 0.7 - 1e-9
