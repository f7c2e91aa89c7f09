"""Agreement of people: published examples, small ones by hand, and what must hold for every table."""

from __future__ import annotations

import json
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.labels.agreement import agreement, fleiss_kappa, krippendorff_alpha, pairwise_agreement, precision

GOLDEN = Path(__file__).resolve().parents[2].parent / "shared/data/kappa_golden/kappa_golden.json"
FLEISS_1971 = [
    *(
        [0, 0, 0, 6, 0],
        [0, 3, 0, 0, 3],
        [0, 1, 4, 0, 1],
        [0, 0, 0, 0, 6],
        [0, 3, 0, 3, 0],
        [2, 0, 4, 0, 0],
        [0, 0, 4, 0, 2],
        [2, 0, 3, 1, 0],
    ),
    *(
        [2, 0, 0, 4, 0],
        [0, 0, 0, 0, 6],
        [1, 0, 0, 5, 0],
        [1, 1, 0, 4, 0],
        [0, 3, 3, 0, 0],
        [1, 0, 0, 5, 0],
        [0, 2, 0, 3, 1],
        [0, 0, 5, 0, 1],
    ),
    *(
        [3, 0, 0, 1, 2],
        [5, 1, 0, 0, 0],
        [0, 2, 0, 4, 0],
        [1, 0, 2, 0, 3],
        [0, 0, 0, 0, 6],
        [0, 1, 0, 5, 0],
        [0, 2, 0, 1, 3],
        [2, 0, 0, 4, 0],
    ),
    *([1, 0, 0, 4, 1], [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6]),
]
"""Thirty patients, six psychiatrists, five diagnoses: the example of the paper that introduced the figure."""


def test_kappa_of_the_paper_that_introduced_it():
    assert fleiss_kappa(FLEISS_1971) == pytest.approx(0.4302445, abs=5e-8)
    assert pairwise_agreement(FLEISS_1971) == pytest.approx(0.5556, abs=5e-5)


@pytest.mark.skipif(not GOLDEN.is_file(), reason="the golden file with published values is not on this machine")
def test_kappa_of_the_published_values():
    golden = json.loads(GOLDEN.read_text())
    assert fleiss_kappa(golden["fleiss_wikipedia_counts"]) == pytest.approx(golden["expected_wp"], abs=5e-4)
    counts = [np.bincount(row, minlength=6)[1:] for row in golden["fleiss1971_diagnoses"]]
    assert np.array_equal(counts, FLEISS_1971)
    assert fleiss_kappa(counts) == pytest.approx(golden["expected_fleiss1971"], abs=5e-8)


def test_by_hand():
    # Two questions, three people: all Yes; two Yes and one No. P = (1 + 1/3) / 2 = 2/3, E = (5/6)² + (1/6)² = 26/36.
    table = [[3, 0], [2, 1]]
    assert pairwise_agreement(table) == pytest.approx(2 / 3)
    assert fleiss_kappa(table) == pytest.approx((2 / 3 - 26 / 36) / (1 - 26 / 36))
    # Alpha: observed (0 + 4/2) = 2 out of expected 36 - 26 = 10, n - 1 = 5.
    assert krippendorff_alpha(table) == pytest.approx(1 - 5 * 2 / 10)


def test_high_agreement_can_give_a_low_kappa():
    # 18 questions with Yes twice, 1 with No and Yes each way round: 90 % of the pairs agree, and yet kappa is below 0.
    table = [[2, 0]] * 18 + [[1, 1]] * 2
    assert pairwise_agreement(table) == pytest.approx(0.9)
    assert fleiss_kappa(table) == pytest.approx(-1 / 19)
    found = agreement(table, repeats=50)
    assert found.chance == pytest.approx(0.95**2 + 0.05**2)
    assert found.shares == pytest.approx((0.95, 0.05))


@pytest.mark.parametrize("table", [np.zeros((0, 3)), [[0, 0, 0]], [[1, 0, 0], [0, 1, 0]]])
def test_nothing_to_compare(table):
    assert (fleiss_kappa(table), pairwise_agreement(table), krippendorff_alpha(table)) == (None, None, None)
    found = agreement(table)
    assert (found.questions, found.answers, found.groups, found.chance) == (0, 0, 0, None)
    assert (found.kappa.value, found.kappa.low, found.pairwise.value) == (None, None, None)


def test_one_question():
    found = agreement([[2, 1, 0]])
    assert found.pairwise.value == pytest.approx(1 / 3)
    assert (found.pairwise.low, found.pairwise.high) == pytest.approx((1 / 3, 1 / 3))


def test_all_the_same_answer_has_no_kappa():
    assert pairwise_agreement([[3, 0], [2, 0]]) == 1
    assert fleiss_kappa([[3, 0], [2, 0]]) is None
    assert krippendorff_alpha([[3, 0], [2, 0]]) is None


def test_an_interval_is_left_out_where_too_many_resamples_have_no_kappa():
    # Drawn three times out of three, the two like questions alone come in (2/3)³ = 30 % of the resamples.
    found = agreement([[2, 0], [2, 0], [0, 2]])
    assert found.kappa.value == 1
    assert (found.kappa.low, found.kappa.high) == (None, None)
    assert found.pairwise.low == 1


def test_questions_with_one_answer_are_counted_apart():
    found = agreement([[2, 0], [1, 0], [1, 1], [0, 0]], ["a", "a", "b", "c"], repeats=10)
    assert (found.questions, found.answers, found.skipped, found.groups) == (2, 4, 2, 2)


def test_groups_are_drawn_whole():
    # Ten images whose five questions are all alike: a bootstrap over 50 independent questions would be far narrower.
    rows, images = [], []
    for i in range(10):
        rows += [[2, 0] if i % 2 else [1, 1]] * 5
        images += [i] * 5
    apart, together = agreement(rows, seed=1), agreement(rows, images, seed=1)
    assert apart.pairwise.value == together.pairwise.value == 0.5
    assert together.pairwise.high - together.pairwise.low > 1.8 * (apart.pairwise.high - apart.pairwise.low)
    assert agreement(rows, images, seed=1) == together


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="axes"):
        fleiss_kappa([1, 2])
    with pytest.raises(ValueError, match="negative"):
        fleiss_kappa([[-1, 2]])
    with pytest.raises(ValueError, match="groups"):
        agreement([[1, 1]], [])


tables = st.integers(2, 4).flatmap(lambda k: st.lists(st.lists(st.integers(0, 4), min_size=k, max_size=k), min_size=1, max_size=12))


def brute(table):
    """The three figures, pair by pair of single answers."""
    units = [[c for c, n in enumerate(row) for _ in range(n)] for row in table]
    units = [u for u in units if len(u) >= 2]
    if not units:
        return None, None, None
    same = [np.mean([a == b for a, b in combinations(u, 2)]) for u in units]
    every = [a for u in units for a in u]
    if len(set(every)) == 1:
        return float(np.mean(same)), None, None
    chance = sum((every.count(c) / len(every)) ** 2 for c in set(every))
    differ = sum(sum(a != b for a, b in combinations(u, 2)) * 2 / (len(u) - 1) for u in units)
    expected = sum(a != b for a, b in combinations(every, 2)) * 2 / (len(every) - 1)
    return float(np.mean(same)), (float(np.mean(same)) - chance) / (1 - chance), 1 - differ / expected


@given(tables)
def test_as_pair_by_pair(table):
    found = pairwise_agreement(table), fleiss_kappa(table), krippendorff_alpha(table)
    for fast, slow in zip(found, brute(table), strict=True):
        assert fast == (None if slow is None else pytest.approx(slow, abs=1e-12))


@given(tables, st.randoms())
@settings(max_examples=50)
def test_order_of_questions_and_categories_does_not_matter(table, random):
    before = fleiss_kappa(table)
    order = list(range(len(table[0])))
    random.shuffle(order)
    shuffled = [[row[k] for k in order] for row in table]
    random.shuffle(shuffled)
    assert fleiss_kappa(shuffled) == (None if before is None else pytest.approx(before, abs=1e-12))


@pytest.mark.skipif(find_spec("krippendorff") is None, reason="the package krippendorff, a second opinion, is not installed")
@given(tables)
@settings(max_examples=50, deadline=None)
def test_alpha_is_that_of_the_package(table):
    import krippendorff

    ours = krippendorff_alpha(table)
    if ours is not None:
        counts = np.array([row for row in table if sum(row) >= 2])
        assert krippendorff.alpha(value_counts=counts, level_of_measurement="nominal") == pytest.approx(ours, abs=1e-9)


def test_precision_counts_a_question_once():
    #        Yes by majority | No | tie | only Unsure | nobody
    found = precision([3, 1, 1, 0, 0], [1, 2, 1, 0, 0], [0, 0, 0, 2, 0])
    assert (found.right, found.wrong, found.undecided, found.decided) == (1, 1, 2, 2)
    assert found.rate == 0.5
    assert found.low < 0.5 < found.high


def test_precision_by_hand():
    # Wilson, 10 of 10: low end n / (n + z²).
    found = precision([1] * 10, [0] * 10, [0] * 10)
    assert (found.rate, found.high) == (1, 1)
    assert found.low == pytest.approx(10 / (10 + 1.959963984540054**2))


def test_precision_of_nothing():
    found = precision([], [], [])
    assert (found.rate, found.low, found.high, found.decided) == (None, 0, 1, 0)


def test_no_category_is_looked_at_in_order():
    # The categories have no order: how far apart two of them stand in the table makes no difference.
    assert len({krippendorff_alpha(t) for t in ([[1, 1, 0], [2, 0, 0]], [[1, 0, 1], [2, 0, 0]])}) == 1
