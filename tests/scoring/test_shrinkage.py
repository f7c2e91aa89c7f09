"""Shrinkage of thin slices: a case worked out on paper, the degenerate ones, and what must hold always."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.scoring import shrink

TABLES = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=1, max_size=30)


def test_two_slices_by_hand() -> None:
    """n = 10 each, errors 0.1 and 0.5: mean 0.3, variance between 0.04, 0.04 / 0.21 * 10 = 1 + 9 rho."""
    shrunk, prior = shrink(np.array([0.1, 0.5]), np.array([10, 10]))
    rho = (0.4 / 0.21 - 1) / 9
    assert prior.mean == pytest.approx(0.3)
    assert prior.strength == pytest.approx(1 / rho - 1)
    keep = 10 / (10 + 1 / rho - 1)
    assert shrunk.tolist() == pytest.approx([0.3 - 0.2 * keep, 0.3 + 0.2 * keep])


@pytest.mark.parametrize("error", [[0.0], [1.0], [0.4], [0.0, 0.0, 0.0], [1.0, 1.0], [0.25, 0.25]])
def test_where_nothing_tells_slices_apart_the_prior_is_the_strongest(error: list[float]) -> None:
    shrunk, prior = shrink(np.array(error), np.full(len(error), 7))
    assert prior.strength == pytest.approx(99)
    assert shrunk.tolist() == pytest.approx(error)


def test_one_sample_a_slice_says_nothing_of_their_spread() -> None:
    shrunk, prior = shrink(np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4, dtype=np.int64))
    assert prior.strength == pytest.approx(99)
    assert shrunk.tolist() == pytest.approx([0.495, 0.505, 0.495, 0.505])


def test_of_two_slices_with_the_same_error_the_thinner_moves_further() -> None:
    shrunk, _ = shrink(np.array([0.8, 0.8, 0.1, 0.2]), np.array([2, 200, 100, 100]))
    assert shrunk[0] < shrunk[1] < 0.8


def test_no_slice_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one slice"):
        shrink(np.empty(0), np.empty(0, dtype=np.int64))


@given(TABLES, st.randoms())
def test_between_the_error_and_the_mean_whatever_the_order(rows: list[tuple[int, int]], random: object) -> None:
    n = np.array([r[1] for r in rows])
    error = np.minimum([r[0] for r in rows], n) / n
    shrunk, prior = shrink(error, n)
    assert np.all(shrunk <= np.maximum(error, prior.mean) + 1e-12)
    assert np.all(shrunk >= np.minimum(error, prior.mean) - 1e-12)
    order = list(range(len(rows)))
    random.shuffle(order)  # type: ignore[attr-defined]
    again, same = shrink(error[order], n[order])
    assert same == prior
    assert np.array_equal(again, shrunk[order])
