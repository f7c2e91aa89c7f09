"""Overlap of sets of scenes: by hand, by brute force, and what must hold."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.threats import in_common, overlap, overlap_matrix, overlap_of_counts, tail_size, threshold_sweep, worst

SCENES = [f"s{k}" for k in range(8)]


def test_by_hand() -> None:
    # 4 and 2 of 8, both of the 2 shared: by chance 1; agreement 6/8 against 1/2.
    o = overlap({"s0", "s1", "s2", "s3"}, {"s0", "s1"}, SCENES)
    assert (o.n, o.first, o.second, o.shared, o.union) == (8, 4, 2, 2, 4)
    assert (o.jaccard, o.of_first, o.of_second) == (0.5, 0.5, 1.0)
    assert (o.expected, o.lift, o.kappa) == (1.0, 2.0, 0.5)
    # Both of 2 out of 8 fall among 4: 4/8 · 3/7.
    assert o.p == pytest.approx(4 / 8 * 3 / 7)


sets = st.sets(st.sampled_from(SCENES))


@given(sets, sets)
@settings(deadline=None)
def test_chance_is_that_of_all_sets_of_the_same_size(a: set[str], b: set[str]) -> None:
    found = overlap(a, b, SCENES)
    others = [len(set(c) & b) for c in combinations(SCENES, len(a))]
    assert found.expected == pytest.approx(np.mean(others))
    assert found.p == pytest.approx(np.mean([x >= found.shared for x in others]))
    turned = overlap(b, a, SCENES)
    assert (turned.jaccard, turned.of_first, turned.kappa) == (found.jaccard, found.of_second, found.kappa)
    assert turned.p == pytest.approx(found.p)


@pytest.mark.parametrize(
    ("n", "first", "second", "shared"), [(151, 63, 80, 46), (151, 16, 16, 4), (20_000, 9_000, 7_000, 3_200), (5, 5, 5, 5)]
)
def test_chance_in_large_sets_is_that_of_scipy(n: int, first: int, second: int, shared: int) -> None:
    from scipy.stats import hypergeom

    assert overlap_of_counts(n, first, second, shared).p == pytest.approx(hypergeom.sf(shared - 1, n, first, second), rel=1e-7)


def test_empty_and_full_sets() -> None:
    none = overlap((), (), SCENES)
    assert (none.jaccard, none.of_first, none.lift, none.kappa, none.expected) == (None, None, None, None, 0)
    every = overlap(SCENES, SCENES, SCENES)
    assert (every.jaccard, every.lift, every.kappa, every.p) == (1, 1, None, 1)
    assert overlap((), (), ()).p is None


def test_sets_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="2 scenes of the sets are not among the 8"):
        overlap({"x", "y"}, {"x"}, SCENES)
    for counts in ((10, 6, 6, 1), (10, 3, 2, 3), (10, 11, 2, 2)):
        with pytest.raises(ValueError, match="cannot share"):
            overlap_of_counts(*counts)


@given(st.lists(sets, min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_directional_shares_hang_together(many: list[set[str]]) -> None:
    matrix = overlap_matrix({f"F{k}": s for k, s in enumerate(many)}, SCENES)
    m, jaccard = matrix.directional(), matrix.jaccard()
    assert jaccard == pytest.approx(jaccard.T, nan_ok=True)
    for i, j, k in permutations(range(len(many)), 3):
        assert m[i, j] * m[j, k] * m[k, i] == pytest.approx(m[j, i] * m[k, j] * m[i, k], nan_ok=True)
    for i, s in enumerate(many):
        assert matrix.sizes[i] == len(s)
        assert m[i, i] == (1 if s else pytest.approx(math.nan, nan_ok=True))


def test_no_set_is_a_matrix() -> None:
    matrix = overlap_matrix({}, SCENES)
    assert (matrix.names, matrix.jaccard().shape) == ((), (0, 0))


# The worst tail


@pytest.mark.parametrize(
    ("n", "percent", "k"),
    [
        (151, 3, 5),
        (151, 10, 16),
        (151, 30, 46),
        (151, 50, 76),
        (100, 7, 7),
        (1000, 0.7, 7),
        (10, 0, 0),
        (10, 100, 10),
        (0, 50, 0),
        (3, 0.001, 1),
    ],
)
def test_the_size_is_rounded_up_and_only_where_it_is_not_whole(n: int, percent: float, k: int) -> None:
    assert tail_size(n, percent) == k


def test_the_worst_are_those_at_the_bad_end_and_ties_go_by_scene() -> None:
    values = {"d": 1.0, "c": 5.0, "b": 5.0, "a": 2.0}
    assert worst(values, 25, "high") == {"b"}
    assert worst(values, 50, "high") == {"b", "c"}
    assert worst(values, 25, "low") == {"d"}
    assert worst(values, 75, "low") == {"d", "a", "b"}


@given(
    st.dictionaries(st.text(min_size=1, max_size=3), st.integers(-3, 3).map(float), max_size=12),
    st.integers(0, 100),
    st.sampled_from(["high", "low"]),
)
def test_no_scene_outside_is_worse_than_one_inside(values: dict[str, float], percent: int, worse: str) -> None:
    tail = worst(values, percent, worse)
    assert len(tail) == math.ceil(len(values) * percent / 100)
    sign = 1 if worse == "high" else -1
    for a in tail:
        assert all(sign * values[a] >= sign * values[b] for b in values if b not in tail)
    assert tail <= worst(values, min(100, percent + 10), worse)


def test_values_without_a_place_in_an_order_are_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        worst({"a": math.nan}, 10, "high")
    with pytest.raises(ValueError, match="not between"):
        worst({"a": 1.0}, 101, "high")


# Thresholds


def test_a_sweep_looks_only_at_scenes_that_both_have() -> None:
    a = {f"s{k}": float(k) for k in range(10)} | {"only_a": 99.0, "s3": None}
    b = {f"s{k}": float(9 - k) for k in range(10)}
    sweep = threshold_sweep("ADE", {"A": a, "B": b}, "high", (10, 50, 100))
    assert len(sweep.common.scenes) == 9
    assert sweep.common.left_out == {"A": 1, "B": 1}
    assert sweep.unknown == {"A": 1, "B": 0}
    ten, half, every = sweep.points
    assert (ten.overlap.first, ten.overlap.shared, ten.expected_share) == (1, 0, pytest.approx(1 / 9))
    # The worst five of A are s9 to s5, of B s0 to s5 without s3: s5 alone is shared.
    assert (half.overlap.shared, half.overlap.of_first) == (1, 0.2)
    assert (every.overlap.shared, every.overlap.lift) == (9, 1)
    assert sweep.sets[10]["A"] == {"s9"}


def test_a_sweep_of_three_planners_has_three_pairs() -> None:
    values = {p: {s: float(k) for k, s in enumerate(SCENES)} for p in "ABC"}
    sweep = threshold_sweep("RFS", values, "low", (25,))
    assert [(p.first, p.second, p.overlap.of_first) for p in sweep.points] == [("A", "B", 1), ("A", "C", 1), ("B", "C", 1)]


def test_a_sweep_without_scenes() -> None:
    sweep = threshold_sweep("RFS", {"A": {"x": 1.0}, "B": {"y": 1.0}}, "low", (10,))
    assert (sweep.points[0].overlap.n, sweep.points[0].expected_share) == (0, None)
    assert threshold_sweep("RFS", {}, "low").points == ()


def test_scenes_in_common() -> None:
    common = in_common({"A": ["1", "2", "3"], "B": ["2", "3", "4", "5"], "C": {"2", "3"}})
    assert (common.scenes, common.left_out, common.equal) == (("2", "3"), {"A": 1, "B": 2, "C": 0}, False)
    assert common.text() == "2 scenes in common; left out of the comparison: A 1, B 2."
    assert in_common({"A": ["1"], "B": ["1", "2"]}).text() == "1 scene in common; left out of the comparison: B 1."
    assert in_common({"A": ["1", "2"]}).text() == "2 scenes of one planner."
    assert (in_common({}).scenes, in_common({}).text()) == ((), "No scene.")
