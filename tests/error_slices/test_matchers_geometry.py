"""Matchers of a single box against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from core.error_slices.matchers.registry import MATCHERS
from core.error_slices.matchers.scales import EDGE, both, direct, robust_z
from tests.error_slices.boxes_by_hand import boxes, logistic, matched

# A box of 100 × 100 in the middle of 1000 × 500 that nothing special holds for.
MIDDLE = [400, 200, 500, 300]


def test_there_are_24_matchers_of_three_kinds():
    kinds = [m.looks for m in MATCHERS.values()]
    assert (len(kinds), kinds.count("box"), kinds.count("neighbours"), kinds.count("pixels")) == (24, 9, 6, 9)


def test_small_is_half_at_its_pixels_and_two_logits_an_octave():
    got = matched(boxes([[0, 0, 32, 32], [0, 0, 64, 16], [0, 0, 16, 16], [0, 0, 64, 64]]), "small", ref_px=32)
    assert_allclose(got.logit, [0, 0, 2, -2])
    assert_allclose(got.c, [0.5, 0.5, logistic(2), logistic(-2)])
    assert_allclose(matched(boxes([[0, 0, 16, 16]]), "small", ref_px=16).c, [0.5])


def test_large_is_half_at_its_share_of_the_image():
    # 0.6 of sqrt(1000 · 500) = 424.26 px across.
    side = 0.6 * np.sqrt(1000 * 500)
    got = matched(boxes([[0, 0, side, side], [0, 0, side / 2, side / 2], [0, 0, 1000, 500]]), "large")
    assert_allclose(got.logit, [0, -1 / 0.35, np.log2(1 / 0.6) / 0.35], atol=1e-9)


def test_far_is_small_and_high_up():
    # Size 0.05 of the image exactly, lower edge at 0.62 of the height exactly: both conditions at one half.
    side = 0.05 * np.sqrt(1000 * 500)
    at_both = [100, 310 - side, 100 + side, 310]
    high = [100, 0, 100 + side, side]
    got = matched(boxes([at_both, high, MIDDLE]), "far_horizon")
    assert got.c[0] == pytest.approx(0.25)
    assert got.c[1] == pytest.approx(0.5 * logistic((0.62 - side / 500) / 0.05))
    rel = 100 / np.sqrt(1000 * 500)
    assert got.c[2] == pytest.approx(logistic(np.log2(0.05 / rel) / 0.5) * logistic((0.62 - 0.6) / 0.05))
    assert_allclose(got.c, logistic(got.logit))


def test_truncated_counts_borders_where_the_data_tells_nothing():
    # Border: max(2, 0.006 · 1000) = 6 px. A class with fewer than 8 whole boxes has no usual shape, so nothing is known to be missing.
    got = matched(boxes([[5, 200, 105, 300], [6, 200, 106, 300], [0, 0, 100, 100], [0, 0, 1000, 500], MIDDLE]), "truncated")
    assert_allclose(got.c[:4], [0.55, 0.9 * logistic(-0.5), 0.7, 1.0])
    assert got.c[4] == pytest.approx(0.9 * logistic(-200 / 12))


def test_truncated_is_more_where_more_of_the_usual_shape_is_missing():
    whole = [[100 + 50 * i, 100, 140 + 50 * i, 120] for i in range(8)]  # 40 × 20, twice as wide as high
    half, full = [0, 300, 20, 320], [0, 400, 40, 420]
    got = matched(boxes([*whole, half, full]), "truncated")
    # 20 × 20 at the left border: half of the usual width is missing.
    assert_allclose(got.c[8:], [0.55 + 0.35 * 0.5, 0.55])


def test_truncated_takes_the_share_that_the_data_tells():
    got = matched(boxes([MIDDLE, [0, 0, 10, 10], [0, 0, 10, 10]], truncated=[0.8, 0.0, np.nan]), "truncated")
    assert_allclose(got.c, [0.8, 0.0, 0.7])
    assert got.logit[1] == -EDGE


def test_near_edge_is_half_at_two_hundredths_of_the_longer_side():
    got = matched(boxes([[20, 200, 120, 300], [28, 200, 128, 300], [-8, 200, 100, 300], [900, 200, 980, 300]]), "near_edge")
    assert_allclose(got.logit, [0, -1, 3.5, 0], atol=1e-12)


def shapes():
    """Eleven whole boxes of one class with log2 widths over heights of -1 … 1 around 0, median 0, median deviation 0.5."""
    logs = [-1, -0.75, -0.5, -0.5, -0.25, 0, 0.25, 0.5, 0.5, 0.75, 1]
    return [[20 + 80 * i, 100, 20 + 80 * i + 40 * 2**x, 140] for i, x in enumerate(logs)]


@pytest.mark.parametrize(
    ("name", "logit"),
    [
        ("aspect_outlier", lambda z: (abs(z) - 2) / 0.5),
        ("narrow_for_class", lambda z: (-z - 1) / 0.4),
        ("wide_for_class", lambda z: (z - 1) / 0.4),
    ],
)
def test_shape_is_measured_against_the_usual_one_of_the_class(name, logit):
    z = np.array([-1, 1]) / (1.4826 * 0.5)
    got = matched(boxes(shapes()), name)
    assert_allclose(got.logit[[0, 10]], [logit(x) for x in z], rtol=1e-9)


@pytest.mark.parametrize("name", ["aspect_outlier", "narrow_for_class", "wide_for_class"])
def test_shape_cannot_be_told_with_fewer_than_eight_whole_boxes_of_the_class(name):
    at_border = [[0, 100, 40, 140]] * 8
    assert np.isnan(matched(boxes([*shapes()[:7], *at_border]), name).c).all()
    assert np.isfinite(matched(boxes([*shapes()[:8], *at_border]), name).c).all()
    # Another class of 8 has its own usual shape.
    got = matched(boxes([*shapes()[:8], *shapes()[:3]], [0] * 8 + [1] * 3), name).c
    assert np.isfinite(got[:8]).all() and np.isnan(got[8:]).all()


def test_a_class_whose_boxes_are_all_alike_has_a_least_deviation():
    alike = [[20 + 60 * i, 100, 60 + 60 * i, 140] for i in range(9)]
    got = matched(boxes([*alike, [20, 200, 40, 220 + 20]]), "aspect_outlier")  # one octave off, a quarter octave a deviation
    assert got.logit[9] == pytest.approx((1 / 0.25 - 2) / 0.5)


def test_thin_is_half_at_three_to_one_either_way():
    got = matched(boxes([[0, 0, 90, 30], [0, 0, 30, 90], [0, 0, 50, 50]]), "thin")
    assert_allclose(got.logit, [0, 0, -np.log2(3) / 0.35], atol=1e-12)


@pytest.mark.parametrize("name", ["large", "far_horizon", "truncated", "near_edge"])
def test_nothing_is_said_of_the_image_where_its_size_is_not_known(name):
    got = matched(boxes([MIDDLE, [0, 0, 10, 10]], size=(0, 0)), name)
    assert np.isnan(got.c).all() and np.isnan(got.logit).all()


@pytest.mark.parametrize("name", [m.name for m in MATCHERS.values() if m.looks == "box"])
def test_boxes_of_no_area_and_boxes_outside_have_finite_logits_or_none(name):
    odd = [[10, 10, 10, 10], [10, 10, 10, 50], [-50, -50, -10, -10], [2000, 900, 2100, 950], [5, 5, 5.2, 5.3], [30, 30, 20, 20]]
    got = matched(boxes(odd), name)
    known = ~np.isnan(got.c)
    assert np.isfinite(got.logit[known]).all() and ((got.c[known] >= 0) & (got.c[known] <= 1)).all()
    assert np.isnan(got.logit[~known]).all()


@pytest.mark.parametrize("name", [m.name for m in MATCHERS.values() if m.looks != "pixels"])
def test_no_boxes_have_no_scores(name):
    params = {"occluded_by": {"by": "person"}}.get(name, {})
    assert matched(boxes([]), name, **params).c.shape == (0,)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_product_keeps_its_logit_and_its_order(a, b):
    got = both(np.array([a]), np.array([b]))
    assert got.c[0] == pytest.approx(logistic(np.clip(a, -EDGE, EDGE)) * logistic(np.clip(b, -EDGE, EDGE)))
    assert got.c[0] == pytest.approx(logistic(got.logit[0]), abs=1e-12) and np.isfinite(got.logit[0])


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_a_known_share_keeps_its_order_in_the_logit(values):
    got = direct(np.array(values))
    order = np.argsort(values, kind="stable")
    assert (np.diff(got.logit[order]) >= 0).all() and np.isfinite(got.logit).all()


def test_a_robust_z_needs_eight_values_that_differ():
    assert np.isnan(robust_z(np.array([1.0] * 7))).all()
    assert np.isnan(robust_z(np.array([1.0] * 20))).all()
    mostly_equal = robust_z(np.array([1.0] * 9 + [2.0]))
    assert mostly_equal[:9].tolist() == [0.0] * 9
    assert mostly_equal[9] == pytest.approx(1 / (1.2533 * 0.1))
    got = robust_z(np.array([0.0, 1, 2, 3, 4, 5, 6, 7, 8, np.nan]))
    assert_allclose(got[:9], (np.arange(9) - 4) / (1.4826 * 2))
    assert np.isnan(got[9])
