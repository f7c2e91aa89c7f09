"""Precision@k in both rules, relevance of hypotheses, origins and grounding."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from core.error_slices.precision import by_origin, hits_at_k, hypothesis_relevance, over_images, precision_at_k, ranked
from core.error_slices.ties import best_first, mixed

VECTORS = Path(__file__).resolve().parents[2].parent / "shared" / "drafts" / "error_slice_test_vectors.json"

KNOWN = {"A": [f"a{i}" for i in range(12)], "B": ["b0", "b1", "b2"], "C": ["c0"]}
PREDICTED = {
    "p1": ["a0", "x", "a1", "a2", "b0", "a3", "y", "a4", "a5", "a6", "a7"],
    "p2": ["b1", "z", "b0", "b2"],
    "p3": ["a0"],
}


def test_the_release_takes_the_best_prediction_of_each_known_slice():
    got = precision_at_k(KNOWN, PREDICTED, 10)
    # p1's first ten hold a0 … a6; b1, b0, b2 are all three of B; nothing has c0.
    assert [(f.truth, f.value, f.best) for f in got.found] == [("A", 0.7, "p1"), ("B", 1.0, "p2"), ("C", 0.0, "")]
    assert got.mean == pytest.approx((0.7 + 1 + 0) / 3) and (got.slices, got.cap) == (3, None)


@pytest.mark.skipif(not VECTORS.exists(), reason="the shared test vectors are not on this machine")
def test_the_shared_vectors():
    v = json.loads(VECTORS.read_text(encoding="utf-8"))
    p = v["p_at_k"]
    got = precision_at_k(p["gt"], p["pred"], p["k"])
    assert {f.truth: f.value for f in got.found} == pytest.approx(p["expect"]) and got.mean == pytest.approx(p["expect_mean"])
    h = v["hyp_prf"]
    prf = hypothesis_relevance(h["pred_relevant"], h["gt_hit"])
    assert {"precision": prf.precision, "recall": prf.recall, "f1": prf.f1} == pytest.approx(h["expect"])


def test_the_equation_divides_by_k_whatever_the_size():
    assert hits_at_k(KNOWN["B"], PREDICTED["p2"], 10, "equation") == pytest.approx(0.3)
    assert hits_at_k(KNOWN["B"], PREDICTED["p2"], 10, "release") == 1
    assert hits_at_k(KNOWN["A"], PREDICTED["p1"], 5, "equation") == pytest.approx(3 / 5)


def test_a_unit_that_stands_twice_counts_once():
    assert hits_at_k(["a", "b"], ["a", "a", "b"], 2) == 1
    assert hits_at_k(["a", "b"], ["a", "a", "a", "x"], 3, "equation") == pytest.approx(1 / 3)


def test_nothing_known_or_predicted_is_no_hit_and_no_error():
    assert hits_at_k([], ["a"], 5) == 0 and hits_at_k(["a"], [], 5) == 0
    assert precision_at_k({}, PREDICTED).mean is None
    assert precision_at_k(KNOWN, {}).mean == 0
    with pytest.raises(ValueError, match="k is 0"):
        hits_at_k(["a"], ["a"], 0)


def test_a_cap_takes_the_first_slices_only():
    got = precision_at_k(KNOWN, PREDICTED, 10, cap=1)
    assert [f.value for f in got.found] == pytest.approx([0.7, 1 / 3, 0]) and got.slices == 3


@given(
    st.lists(st.lists(st.integers(0, 20), unique=True, max_size=8), min_size=1, max_size=5),
    st.lists(st.lists(st.integers(0, 20), unique=True, max_size=12), max_size=6),
    st.integers(1, 12),
)
def test_more_predicted_slices_never_lower_it_and_the_release_never_gives_less(truth, predicted, k):
    known, found = {str(i): t for i, t in enumerate(truth)}, {str(i): p for i, p in enumerate(predicted)}
    all_of_them = precision_at_k(known, found, k)
    assert all(0 <= f.value <= 1 for f in all_of_them.found)
    assert all_of_them.mean >= precision_at_k(known, found, k, cap=2).mean
    assert all_of_them.mean >= precision_at_k(known, found, k, rule="equation").mean


def test_known_slices_are_broken_down_by_label():
    got = precision_at_k(KNOWN, PREDICTED, 10).by({"A": "FN", "C": "FN"})
    assert got == {"": (1.0, 1), "FN": (pytest.approx(0.35), 2)}


def test_each_origin_stands_alone_and_beside_the_others():
    got = by_origin(KNOWN, PREDICTED, {"p1": "knowledge", "p2": "data", "p3": "data"})
    assert got.together.mean == pytest.approx(1.7 / 3)
    assert got.alone["knowledge"].mean == pytest.approx((0.7 + 1 / 3) / 3)
    assert got.alone["data"].mean == pytest.approx((0.1 + 1) / 3)
    assert got.overlap == {("data", "knowledge"): 0.0}  # A by one, B by the other
    both = by_origin({"A": ["a"]}, {"x": ["a"], "y": ["a"]}, {"x": "knowledge", "y": "data"})
    assert both.overlap == {("data", "knowledge"): 1.0}
    neither = by_origin({"A": ["a"]}, {"x": ["b"], "y": ["c"]}, {"x": "knowledge", "y": "data"})
    assert neither.overlap == {("data", "knowledge"): None}


def test_relevance_without_anything_is_none():
    assert hypothesis_relevance([], [True]).precision is None and hypothesis_relevance([], [True]).f1 is None
    assert hypothesis_relevance([False], [False]).f1 == 0
    got = hypothesis_relevance([True, True, False, True], [True, True, False])
    assert (got.precision, got.recall) == (0.75, pytest.approx(2 / 3)) and got.f1 == pytest.approx(12 / 17)


def test_an_image_lends_its_score_to_all_of_its_units():
    score = np.array([0.2, 0.8, np.nan, 0.5, np.nan])
    image = np.array([7, 7, 7, 3, 1])
    assert_allclose(over_images(score, image), [0.8, 0.8, 0.8, 0.5, np.nan])
    assert over_images(np.zeros(0), np.zeros(0, np.int64)).shape == (0,)


def test_whole_images_find_less_than_instances_where_one_of_many_is_meant():
    # Five images with one hidden face each among nine others; the hidden ones score high.
    image = np.repeat(np.arange(5), 10)
    score = np.where(np.arange(50) % 10 == 0, 0.9 - image / 100, 0.1)
    ids = [f"u{i}" for i in range(50)]
    hidden = [f"u{i}" for i in range(0, 50, 10)]
    instance, whole = (hits_at_k(hidden, ranked(ids, s, 0.0), 5) for s in (score, over_images(score, image)))
    assert instance == 1.0 and whole < 0.5


def test_units_above_gamma_are_ranked_best_first():
    assert ranked(["a", "b", "c", "d", "e"], np.array([0.6, 0.5, 0.9, np.nan, 0.7])) == ("c", "e", "a")


def test_equal_scores_keep_no_order_of_the_file():
    rows = np.arange(1000)
    assert sorted(mixed(rows).tolist()) == rows.tolist()
    first = mixed(rows)[:100]
    assert 350 < first.mean() < 650
    score = np.repeat([1.0, 2.0], 500)
    assert (score[best_first(rows, score)] == np.repeat([2.0, 1.0], 500)).all()
