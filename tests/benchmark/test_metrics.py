"""Regret and ILD against what a person computes by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.benchmark.metrics import best_means, paper_style, regret, score

RISK = np.array([0.1, 0.9, 0.5, 0.7])
CODES = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)


def test_regret_is_the_best_mean_minus_the_mean_found():
    # Best two: 0.9 and 0.7, mean 0.8. The list begins with 0.5 and 0.9, mean 0.7.
    assert regret(RISK, np.array([2, 1, 0, 3]), 2) == pytest.approx(0.1)
    assert regret(RISK, np.array([1, 3, 2, 0]), 2) == 0.0
    assert regret(RISK, np.array([0, 1, 2, 3]), 1) == pytest.approx(0.8)


def test_ild_of_a_list_by_hand():
    # The slices 00, 01, 10 differ pairwise in 1, 1 and 2 of 2 dimensions: (0.5 + 0.5 + 1) / 3.
    assert score(RISK, CODES, (0, 1), np.array([0, 1, 2, 3]), 3).ild == pytest.approx(2 / 3)
    assert score(RISK, CODES, (0,), np.array([0, 1, 2, 3]), 2).ild == 0.0
    assert score(RISK, CODES, (0, 1), np.array([0, 1, 2, 3]), 1).ild == 0.0


@pytest.mark.parametrize("k", [4, 5, 1000])
def test_a_budget_that_reaches_all_candidates_is_saturated(k):
    s = score(RISK, CODES, (0, 1), np.array([3, 0, 1, 2]), k)
    assert (s.k, s.k_eff, s.saturated, s.regret) == (k, 4, True, 0.0)
    assert s.ild == pytest.approx(2 / 3)  # of all four, whatever k


def test_a_list_must_hold_every_candidate_once():
    for order in ([0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 4]):
        with pytest.raises(ValueError, match="each of the 4 candidates once"):
            regret(RISK, np.array(order), 2)
    with pytest.raises(ValueError, match="at least 1"):
        regret(RISK, np.arange(4), 0)


def test_the_paper_style_figure_counts_the_own_list_alone_and_divides_by_k():
    order = np.array([1, 3, 0, 2])
    # Two are listed by the method. All four risks sum to 2.2, the listed ones to 1.6, and K is 5.
    assert paper_style(RISK, CODES, (0, 1), order, 2, 5) == (pytest.approx(0.6 / 5), 0.5)
    assert paper_style(RISK, CODES, (0, 1), order, 4, 5)[0] == pytest.approx(0.0)
    # Within the list and the candidates it is Eq. 11 as it stands.
    assert paper_style(RISK, CODES, (0, 1), order, 4, 2)[0] == pytest.approx(regret(RISK, order, 2))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_regret_is_never_negative_and_zero_for_the_true_order(risks, random):
    risk = np.array(risks)
    order = np.arange(len(risks))
    random.shuffle(order)
    for k in (1, len(risks) // 2 + 1, len(risks)):
        assert 0 <= regret(risk, order, k) <= 1
        assert regret(risk, np.argsort(-risk, kind="stable"), k) == 0


def test_best_means_row_by_row():
    assert best_means(np.array([[0.2, 0.8, 0.4], [1.0, 0.0, 0.0]]), 2).tolist() == pytest.approx([0.6, 0.5])
