"""Other ways to find slices, on losses with known slices; and the bench that plants them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose

from core.error_slices.baselines.mixture import MixtureSettings, mixture_slices
from core.error_slices.baselines.tags import tag_slices, tags_of
from core.error_slices.baselines.threshold import threshold_slices
from core.error_slices.matchers.features import NAMES, PixelFeatures
from core.error_slices.planted import METHODS, PlantedSettings, planted_bench
from core.error_slices.planted_boxes import made_up_boxes
from core.error_slices.planted_rules import RULES, planted_truth
from core.errors import InputError
from tests.error_slices.boxes_by_hand import boxes


def test_the_threshold_keeps_what_fails_more_often_than_all_by_the_margin():
    loss = np.array([1.0, 1, 1, 0, 0, 0, 0, 0, 0, 0])  # 0.3 in all
    scores = {
        "high": np.array([0.9, 0.8, 0.7, 0.6, *[0.1] * 6]),  # 0.75 inside
        "same": np.full(10, 0.9),
        "empty": np.full(10, 0.5),  # gamma itself is outside
        "unknown": np.array([0.6, np.nan, np.nan, 0.7, *[np.nan] * 6]),  # 0.5 inside and in all that is scored
    }
    got = threshold_slices(scores, loss)
    assert [(s.name, s.units.tolist(), s.error, s.lift) for s in got] == [("high", [0, 1, 2, 3], 0.75, pytest.approx(0.45))]
    assert threshold_slices(scores, loss, margin=0.5) == ()
    assert threshold_slices(scores, loss, least_units=5) == ()


def test_tags_are_scores_above_gamma_and_classes_that_occur():
    got = tags_of({"h": np.array([0.6, 0.5, np.nan])}, np.array([0, 2, -1]), ("car", "bus", "bike"))
    assert {k: v.tolist() for k, v in got.items()} == {
        "h": [True, False, False],
        "class car": [True, False, False],
        "class bike": [False, True, False],
    }


def test_conjunctions_of_tags_are_found_and_counted_by_hand():
    n = 160
    a, b, c = (np.arange(n) // 80 == 0), (np.arange(n) // 40 % 2 == 0), (np.arange(n) // 20 % 2 == 0)
    loss = (a & b & c).astype(float)  # 20 units of 160 fail: 0.125
    got = {s.name: (len(s.units), s.error, s.lift) for s in tag_slices({"a": a, "b": b, "c": c}, loss)}
    assert got == {
        "a and b and c": (20, 1.0, 0.875),
        "a and b": (40, 0.5, 0.375),
        "a and c": (40, 0.5, 0.375),
        "b and c": (40, 0.5, 0.375),
        "a": (80, 0.25, 0.125),
        "b": (80, 0.25, 0.125),
        "c": (80, 0.25, 0.125),
    }
    assert len(tag_slices({"a": a, "b": b, "c": c}, loss, least_units=21)) == 6
    assert len(tag_slices({"a": a, "b": b, "c": c}, loss, most_tags=1)) == 3
    assert [s.name for s in tag_slices({"a": a, "b": b, "c": c}, loss, least_lift=0.5)] == ["a and b and c"]


def test_a_conjunction_of_the_very_units_of_a_shorter_one_is_left_out():
    a = np.arange(100) < 20
    got = tag_slices({"a": a, "wider": np.arange(100) < 90}, a.astype(float))
    assert [s.name for s in got] == ["a"]
    assert tag_slices({}, np.zeros(3)) == () and tag_slices({"a": np.zeros(0, bool)}, np.zeros(0)) == ()


def test_the_mixture_finds_clusters_that_fail():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0, 0], [8, 0, 0], [0, 8, 0], [0, 0, 8.0]])
    cluster = np.repeat(np.arange(4), 60)
    x = centres[cluster] + rng.normal(size=(240, 3))
    loss = np.where(cluster == 2, rng.random(240) < 0.9, rng.random(240) < 0.05).astype(float)
    got = mixture_slices(x, loss, MixtureSettings(components=8))
    best = got[0]
    assert (cluster[best.units] == 2).mean() > 0.9 and best.lift > 0.5
    inside = np.concatenate([s.units for s in got])
    assert len(set(inside.tolist()) & set(np.flatnonzero(cluster == 2).tolist())) >= 50
    again = mixture_slices(x, loss, MixtureSettings(components=8))
    assert [s.units.tolist() for s in again] == [s.units.tolist() for s in got]


def test_the_mixture_bears_gaps_constant_columns_and_hardly_any_units():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, 4))
    x[::7, 1] = np.nan
    x[:, 2] = 3.0
    x[:, 3] = np.nan
    loss = (rng.random(50) < 0.3).astype(float)
    assert all(np.isfinite(s.lift) for s in mixture_slices(x, loss))
    assert mixture_slices(x[:1], loss[:1]) == () and mixture_slices(np.zeros((20, 2)), np.r_[np.ones(10), np.zeros(10)]) is not None
    for n in (2, 3):
        assert all(len(s.units) for s in mixture_slices(x[:n, :1], loss[:n]))


def rule(name):
    return next(r for r in RULES if r.name == name)


def test_rules_of_planting_hold_where_they_say():
    v = boxes([[100, 100, 127, 110], [100, 100, 128, 110], [0, 50, 60, 90], [500, 100, 600, 200], [540, 100, 600, 210]])
    hold = {r.name: None if (h := r.holds(v, None)) is None else h.tolist() for r in RULES}
    assert hold["tiny"] == [True, False, False, False, False]
    assert hold["cut off"] == [False, False, True, False, False]
    assert hold["covered"][3:] == [True, False]  # 60 of 100 columns
    assert hold["busy"] == [False] * 5 and hold["dark"] is None and hold["faint"] is None
    within = boxes([[10, 10, 40, 40], [0, 0, 100, 100]], [1, 0])
    assert rule("within").holds(within, None).tolist() == [True, False]
    assert rule("within").holds(boxes(within.xyxy, [0, 0]), None).tolist() == [False, False]
    assert rule("huddled").holds(boxes([[i * 5, 0, i * 5 + 20, 20] for i in range(5)]), None).all()
    assert rule("busy").holds(boxes([[0, 0, 9, 9]] * 20), None).all()
    assert rule("cut off").holds(boxes([[0, 0, 9, 9]], size=(0, 0)), None) is None
    f = PixelFeatures(("a", "b"), np.array([[{"luma": 40, "ring_luma": 44}.get(n, 0) for n in NAMES], [np.nan] * len(NAMES)]))
    two = boxes([[0, 0, 9, 9]] * 2)
    assert rule("dark").holds(two, f).tolist() == rule("faint").holds(two, f).tolist() == [True, False]


def test_made_up_boxes_are_the_same_by_seed_and_can_bear_several_rules():
    a, b, c = made_up_boxes(60, 1), made_up_boxes(60, 1), made_up_boxes(60, 2)
    assert_allclose(a.xyxy, b.xyxy)
    assert a.xyxy.shape != c.xyxy.shape or not np.allclose(a.xyxy, c.xyxy)
    assert (a.xyxy[:, :2] >= 0).all() and (a.xyxy[:, 2:] <= a.size).all() and (a.xyxy[:, 2:] > a.xyxy[:, :2]).all()
    assert len(planted_truth(made_up_boxes(200), None)) >= 4


def test_the_bench_finds_planted_slices_and_shows_who_accepts_what_is_not_there():
    v = made_up_boxes(120)
    steps = []
    got = planted_bench(v, PlantedSettings(repeats=2), progress=lambda done, total: steps.append((done, total)))
    rows = {r.method: r for r in got.rows}
    assert list(rows) == list(METHODS) and steps == [(1, 2), (2, 2)]
    assert rows["verdict"].precision > 0.6 and rows["either"].recall > 0.6
    assert rows["tags"].meaning is None and rows["tags"].capped <= rows["tags"].precision
    nothing = {r.method: r for r in planted_bench(v, PlantedSettings(planted=0, repeats=2)).rows}
    assert nothing["paper"].slices > got.hypotheses / 2  # accepts most of what is not there
    assert nothing["verdict"].slices <= 1 and nothing["verdict"].precision is None


def test_the_bench_is_the_same_by_seed_and_goes_through_json():
    v, s = made_up_boxes(60), PlantedSettings(repeats=1)
    a, b = planted_bench(v, s).to_json(), planted_bench(v, s).to_json()
    assert a == b and a["settings"]["base"] == 0.1 and len(a["rows"]) == len(METHODS)


def test_the_bench_says_what_it_cannot_use():
    with pytest.raises(InputError, match="No rule"):
        planted_bench(boxes([[0, 0, 9, 9]] * 3))
    with pytest.raises(InputError, match='"pred"'):
        planted_bench(dataclasses.replace(made_up_boxes(3), side="pred"))
