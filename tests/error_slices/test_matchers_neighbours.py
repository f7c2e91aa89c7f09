"""Matchers of boxes among others against values worked out by hand, and against a slow count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from core.error_slices.matchers import scene as scenes
from core.error_slices.matchers.scales import EDGE
from tests.error_slices.boxes_by_hand import boxes, matched

CAR, PERSON, BICYCLE, TRUCK = range(4)
FAR = [100, 100, 200, 200]
"""100 × 100, lower edge at 200."""


def test_occluded_is_the_root_of_the_share_that_nearer_boxes_cover():
    quarter = [150, 150, 250, 250]  # covers 50 × 50 of FAR and reaches lower
    got = matched(boxes([FAR, quarter]), "occluded")
    assert_allclose(got.c, [0.5, 0])  # a quarter of FAR; nothing stands before the nearer one
    assert got.logit[1] == -EDGE


def test_several_nearer_boxes_count_the_largest_and_half_of_the_others():
    half, quarter = [100, 150, 200, 260], [150, 100, 200, 300]  # the right half: 50 × 100 = a half; the lower half: a half
    got = matched(boxes([FAR, half, quarter]), "occluded")
    assert got.c[0] == pytest.approx(np.sqrt(0.5 + 0.5 * 0.5))
    # The lower half is covered by the right one, which reaches lower: 50 × 100 of its 100 × 110.
    assert got.c[1] == pytest.approx(np.sqrt(50 * 110 / (100 * 110)))
    everything = matched(boxes([FAR, [90, 90, 210, 260], [90, 90, 210, 270]]), "occluded")
    assert everything.c[0] == 1.0


def test_a_box_is_nearer_only_if_it_reaches_lower_by_a_hundredth_of_the_height():
    # A hundredth of 500 px is 5 px.
    assert matched(boxes([FAR, [150, 150, 250, 205]]), "occluded").c[0] == 0
    assert matched(boxes([FAR, [150, 150, 250, 205.1]]), "occluded").c[0] == pytest.approx(0.5)


def test_occluded_takes_the_level_that_the_data_tells():
    got = matched(boxes([FAR] * 4 + [[900, 400, 910, 410]], image=[0, 1, 2, 3, 0], occluded=[0, 1, 2, 3, np.nan]), "occluded")
    assert_allclose(got.c, [0.05, 0.55, 0.9, 0, 0])  # level 3 is unknown: the boxes decide


def test_boxes_of_other_images_are_no_neighbours():
    assert matched(boxes([FAR, [150, 150, 250, 250]], image=[0, 1]), "occluded").c[0] == 0


def test_occluded_by_counts_the_classes_asked_for():
    cover = [150, 150, 250, 250]
    for cls, by, expected in ((PERSON, "person", 0.5), (CAR, "person", 0), (TRUCK, "vehicle", 0.5), (BICYCLE, "bicycle", 0.5)):
        assert matched(boxes([FAR, cover], [BICYCLE, cls]), "occluded_by", by=by).c[0] == pytest.approx(expected)


def test_any_depth_counts_farther_boxes_too():
    behind = [150, 50, 250, 150]  # covers a quarter, reaches less low
    assert matched(boxes([FAR, behind], [BICYCLE, PERSON]), "occluded_by", by="person").c[0] == 0
    assert matched(boxes([FAR, behind], [BICYCLE, PERSON]), "occluded_by", by="person", any_depth=True).c[0] == pytest.approx(0.5)


def test_inside_of_wants_a_box_of_another_class_half_as_large_again():
    def of(big, cls=TRUCK, **params):
        return matched(boxes([FAR, big], [PERSON, cls]), "inside_of", **params).logit[0]

    assert of([90, 90, 220, 220]) == pytest.approx((1 - 0.8) / 0.08)
    assert of([120, 50, 300, 300]) == pytest.approx(0)  # 80 of 100 columns: at the threshold
    assert of([90, 90, 220, 220], PERSON) == pytest.approx(-10)  # of its own class
    assert of([95, 95, 205, 205]) == pytest.approx(-10)  # 1.21 times as large
    assert of([90, 90, 220, 220], of="vehicle") == pytest.approx(2.5)
    assert of([90, 90, 220, 220], BICYCLE, of="vehicle") == pytest.approx(-10)


def test_crowded_counts_neighbours_by_their_gap():
    # Three that touch: at the threshold. One as far away as FAR is large: exp(-1).
    touching = [[200, 100, 300, 200], [0, 100, 100, 200], [100, 0, 200, 100]]
    assert matched(boxes([FAR, *touching]), "crowded").logit[0] == pytest.approx((3 - 3) / 0.8)
    assert matched(boxes([FAR, [300, 100, 400, 200]]), "crowded").logit[0] == pytest.approx((np.exp(-1) - 3) / 0.8)
    assert matched(boxes([FAR, [230, 240, 250, 260]]), "crowded").logit[0] == pytest.approx((np.exp(-0.25) - 3) / 0.8)  # gap 30, 40
    assert matched(boxes([FAR, [230, 240, 250, 260]]), "crowded", neighbours=1).logit[0] == pytest.approx((np.exp(-0.25) - 1) / 0.8)


def test_crowded_by_the_same_class_counts_that_alone():
    touching = [[200, 100, 300, 200], [0, 100, 100, 200], [100, 0, 200, 100]]
    got = matched(boxes([FAR, *touching], [CAR, CAR, PERSON, CAR]), "crowded", same_class=True)
    assert got.logit[0] == pytest.approx((2 - 3) / 0.8)


def test_scene_density_counts_the_boxes_of_the_image():
    got = matched(boxes([FAR] * 18, image=[0] * 15 + [1] * 2 + [2]), "scene_density")
    assert_allclose(got.logit[[0, 15, 17]], [0, np.log2(2 / 15) / 0.4, np.log2(1 / 15) / 0.4], atol=1e-12)


def test_near_similar_falls_with_the_gap_and_rises_with_the_overlap():
    def beside(box, cls=TRUCK):
        return matched(boxes([FAR, box], [CAR, cls]), "near_similar").c[0]

    assert beside([200, 100, 300, 200]) == pytest.approx(2 / 3)  # touches
    assert beside([300, 100, 400, 200]) == pytest.approx(2 / 3 * np.exp(-1))
    assert beside([150, 100, 300, 200]) == pytest.approx((2 + np.sqrt(0.5)) / 3)
    assert beside(FAR) == pytest.approx(1)
    assert beside([150, 100, 300, 200], PERSON) == 0  # a person is no car
    assert beside([150, 100, 300, 200], CAR) == 0  # its own class is not another one


def test_predictions_on_one_thing_are_no_neighbours_but_labelled_boxes_are():
    twin = [110, 100, 200, 210]  # IoU 0.9 / 1.09
    assert matched(boxes([FAR, twin]), "occluded").c[0] > 0.9
    for cls in (CAR, TRUCK):
        predicted = boxes([FAR, twin], [CAR, cls], side="pred")
        assert matched(predicted, "occluded").c[0] == 0
        assert matched(predicted, "crowded").logit[0] == pytest.approx(-3 / 0.8)
    # What two readings of one thing are called is just what confusion is about.
    assert matched(boxes([FAR, twin], [CAR, TRUCK], side="pred"), "near_similar").c[0] > 0.9


def test_a_class_that_is_none_has_no_similar_ones():
    assert matched(boxes([FAR, FAR], [-1, CAR]), "near_similar").c[0] == 0


CORNER = st.integers(0, 90)
BOX = st.tuples(CORNER, CORNER, st.integers(0, 60), st.integers(0, 60)).map(lambda b: [b[0], b[1], b[0] + b[2], b[1] + b[3]])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(BOX, st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=14), st.sampled_from(["gt", "pred"]))
def test_a_slow_count_says_the_same(rows, side):
    v = boxes([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows], side=side, size=(150, 150))
    covered, near = [], []
    for i, (a, _, at) in enumerate(rows):
        shares, weight = [], 0.0
        for j, (b, _, other) in enumerate(rows):
            if i == j or at != other:
                continue
            wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
            inter = max(wide, 0) * max(high, 0)
            size_a, size_b = (a[2] - a[0]) * (a[3] - a[1]), (b[2] - b[0]) * (b[3] - b[1])
            if side == "pred" and inter / max(size_a + size_b - inter, 1e-9) > 0.5:
                continue
            weight += np.exp(-((np.hypot(max(-wide, 0), max(-high, 0)) / max(np.sqrt(size_a), 0.1)) ** 2))
            if b[3] > a[3] + 1.5:
                shares.append(inter / max(size_a, 1e-9))
        top = max(shares, default=0)
        covered.append(np.sqrt(min(1, top + 0.5 * (sum(shares) - top))))
        near.append(np.clip((weight - 3) / 0.8, -EDGE, EDGE))
    assert_allclose(matched(v, "occluded").c, covered, atol=1e-9)
    assert_allclose(matched(v, "crowded").logit, near, atol=1e-5)


def test_blocks_of_candidates_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    corners = rng.uniform(0, 400, (60, 2))
    v = boxes(np.hstack([corners, corners + rng.uniform(5, 150, (60, 2))]), rng.integers(0, 4, 60), rng.integers(0, 3, 60))
    before = [matched(v, n).logit for n in ("occluded", "crowded", "near_similar")]
    monkeypatch.setattr(scenes, "PAIRS_AT_ONCE", 7)
    assert_allclose([matched(v, n).logit for n in ("occluded", "crowded", "near_similar")], before)


def test_the_order_of_the_boxes_changes_nothing():
    rng = np.random.default_rng(2)
    corners = rng.uniform(0, 300, (40, 2))
    xyxy, cls, image = np.hstack([corners, corners + rng.uniform(5, 150, (40, 2))]), rng.integers(0, 4, 40), rng.integers(0, 3, 40)
    order = rng.permutation(40)
    for name in ("occluded", "crowded", "near_similar", "inside_of", "scene_density"):
        straight, turned = matched(boxes(xyxy, cls, image), name), matched(boxes(xyxy[order], cls[order], image[order]), name)
        assert_allclose(turned.c, straight.c[order])
