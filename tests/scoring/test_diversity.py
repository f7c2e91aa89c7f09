"""Intra-list distance against the pairwise sum, and the floor kept by exchange."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.odd import built_in
from core.scoring import ild, keep_ild

ODD = built_in()
LISTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 4)), min_size=0, max_size=25)


def naive(codes: np.ndarray, dims: tuple[int, ...]) -> float:
    pairs = list(combinations(range(len(codes)), 2))
    return float(np.mean([[codes[i, k] != codes[j, k] for k in dims] for i, j in pairs])) if pairs else 0.0


@given(LISTS, st.sampled_from([(0,), (1, 2), (0, 1, 2)]))
def test_the_closed_form_is_the_mean_over_pairs(rows: list[tuple[int, ...]], dims: tuple[int, ...]) -> None:
    codes = np.array(rows, dtype=np.int32).reshape(-1, 3)
    assert ild(codes, dims) == pytest.approx(naive(codes, dims), abs=1e-12)


def test_two_slices_by_hand() -> None:
    codes = np.array([[0, 1, 2], [0, 2, 2], [0, 2, 1]], dtype=np.int32)
    assert ild(codes[:2], (0, 1, 2)) == pytest.approx(1 / 3)
    assert ild(codes, (0, 1, 2)) == pytest.approx((0 + 2 / 3 + 2 / 3) / 3)
    assert ild(codes[:1], (0, 1, 2)) == 0
    assert ild(codes[:0], (0, 1, 2)) == 0


def test_random_in_odd_lists_have_the_papers_ild() -> None:
    """.62 over the eight active dimensions (SliceNav, Table 2: .6204 for random)."""
    base = np.concatenate(list(ODD.base_space.chunks()))
    picked = np.random.default_rng(0).choice(len(base), 500, replace=False)
    assert ild(base[picked], ODD.active) == pytest.approx(0.62, abs=0.005)


def test_one_exchange_by_hand() -> None:
    """Of (0,0) .9, (0,1) .8, (1,1) .5, (1,0) .3, two slices with ILD 1: exchanging (0,1) for (1,1) loses .3, all else more."""
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    score = np.array([0.9, 0.8, 0.3, 0.5])
    kept = keep_ild(codes, score, 2, 1.0, (0, 1))
    assert kept.order.tolist() == [0, 3]
    assert (kept.ild, kept.swaps, kept.reached) == (1.0, 1, True)


def test_a_floor_already_met_changes_nothing() -> None:
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    score = np.array([0.5, 0.9, 0.7, 0.9])
    kept = keep_ild(codes, score, 3, ild(codes[[1, 3, 2]], (0, 1)), (0, 1))
    assert kept.order.tolist() == [1, 3, 2]  # ties by position
    assert (kept.swaps, kept.reached) == (0, True)


def test_a_floor_that_cannot_be_met_is_told() -> None:
    codes = np.array([[0, 0], [0, 1], [0, 2]], dtype=np.int32)
    kept = keep_ild(codes, np.array([0.3, 0.2, 0.1]), 2, 0.9, (0, 1))
    assert not kept.reached
    assert kept.ild == 0.5
    everything = keep_ild(codes, np.array([0.3, 0.2, 0.1]), 10, 0.9, (0, 1))
    assert sorted(everything.order.tolist()) == [0, 1, 2]
    assert not everything.reached


def test_nothing_to_choose_from() -> None:
    kept = keep_ild(np.empty((0, 2), dtype=np.int32), np.empty(0), 5, 0.5, (0, 1))
    assert (kept.order.size, kept.ild, kept.reached) == (0, 0.0, False)
    assert keep_ild(np.empty((0, 2), dtype=np.int32), np.empty(0), 5, 0.0, (0, 1)).reached


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_what_always_holds(data: st.DataObject) -> None:
    rows = sorted(data.draw(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=30)))
    codes = np.array(rows, dtype=np.int32)
    score = np.array(data.draw(st.lists(st.integers(0, 6), min_size=len(rows), max_size=len(rows)))) / 6
    k, floor = data.draw(st.integers(1, len(rows))), data.draw(st.floats(0, 1))
    head = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=k // 2, unique=True))
    kept = keep_ild(codes, score, k, floor, (0, 1, 2), head)
    assert len(set(kept.order.tolist())) == len(kept.order) == k
    assert kept.order[: len(head)].tolist() == head
    tail = kept.order[len(head) :]
    assert [(-score[i], i) for i in tail] == sorted((-score[i], i) for i in tail)
    assert kept.ild == ild(codes[kept.order], (0, 1, 2))
    assert kept.reached == (kept.ild >= floor)
    again = keep_ild(codes, score, k, floor, (0, 1, 2), head)
    assert np.array_equal(again.order, kept.order)
    if not kept.reached:  # no single exchange would have helped
        rest = sorted(set(range(len(rows))) - set(kept.order.tolist()))
        for i in range(len(head), k):
            for j in rest:
                other = kept.order.copy()
                other[i] = j
                assert ild(codes[other], (0, 1, 2)) <= kept.ild + 1e-12


def test_exchanges_lose_less_than_drawing_at_random() -> None:
    """A list mixed with random slices until it has the same ILD is the plain alternative."""
    base = np.concatenate(list(ODD.base_space.chunks()))
    rng = np.random.default_rng(4)
    score = sum(rng.normal(0, 1, ODD.codec.sizes[k])[base[:, k]] for k in ODD.active) + rng.normal(0, 0.2, len(base))
    plain = keep_ild(base, score, 300, 0.0, ODD.active)
    floor = plain.ild + 0.05
    kept = keep_ild(base, score, 300, floor, ODD.active)
    assert kept.reached
    assert plain.swaps == 0 < kept.swaps
    others = rng.permutation(np.setdiff1d(np.arange(len(base)), plain.order))
    mixed = next(m for m in range(300) if ild(base[np.r_[plain.order[: 300 - m], others[:m]]], ODD.active) >= floor)
    drawn = np.r_[plain.order[: 300 - mixed], others[:mixed]]
    assert score[plain.order].mean() - score[kept.order].mean() < 0.7 * (score[plain.order].mean() - score[drawn].mean())


def test_a_prefix_that_does_not_fit_is_refused() -> None:
    codes = np.array([[0, 0], [0, 1]], dtype=np.int32)
    for prefix in ([0, 1], [0, 0]):
        with pytest.raises(ValueError, match="different slices"):
            keep_ild(codes, np.array([0.1, 0.2]), 1 if prefix == [0, 1] else 2, 0.5, (0, 1), prefix)
