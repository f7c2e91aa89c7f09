"""Comparing two tables: hand-made counts, intervals recomputed, and what does not match said."""

from __future__ import annotations

import math

import pytest

from core.errors import InputError
from core.odd import Odd, infer_odd
from core.operators import compare
from core.scoring import wilson
from core.seed_table import SeedTable

ODD = infer_odd({"time": ["day", "night"], "sky": ["clear", "cloudy"]})


def table(odd: Odd, rows: dict[tuple[str, str], tuple[int, float]], assumed: bool = False) -> SeedTable:
    slices = [dict(zip(("time", "sky"), s, strict=True)) for s in rows]
    return SeedTable.from_slices(odd, slices, [n for n, _ in rows.values()], [m for _, m in rows.values()], assumed)


def test_slices_are_matched_and_the_worst_change_comes_first():
    a = table(ODD, {("day", "clear"): (10, 0.9), ("night", "clear"): (20, 0.5), ("day", "cloudy"): (5, 1.0)})
    b = table(ODD, {("day", "clear"): (40, 0.8), ("night", "clear"): (20, 0.1), ("night", "cloudy"): (5, 1.0)})
    c = compare(a, b)
    assert [tuple(p.slice.values()) for p in c.both] == [("night", "clear"), ("day", "clear")]
    assert (c.only_first, c.only_second, c.same_odd, c.n_assumed) == (1, 1, True, False)
    worst = c.both[0]
    assert worst.change == pytest.approx(0.4)
    (l1, u1), (l2, u2) = wilson(0.5, 20), wilson(0.9, 20)
    assert worst.change_low == pytest.approx(0.4 - math.hypot(0.9 - l2, u1 - 0.5))
    assert worst.change_high == pytest.approx(0.4 + math.hypot(u2 - 0.9, 0.5 - l1))
    assert worst.change_low > 0 > c.both[1].change_low


def test_the_interval_of_a_difference_agrees_with_newcombes_printed_example():
    """56 of 70 against 48 of 80 gives 0.20, from 0.0524 to 0.3339 (Newcombe 1998, method 10)."""
    a = table(ODD, {("day", "clear"): (80, 1 - 48 / 80)})
    b = table(ODD, {("day", "clear"): (70, 1 - 56 / 70)})
    (p,) = compare(a, b).both
    assert (p.change, p.change_low, p.change_high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_the_order_of_dimensions_and_another_odd_do_not_hide_a_match():
    other = infer_odd({"sky": ["clear", "cloudy", "storm"], "time": ["day", "night"]})
    a, b = table(ODD, {("day", "clear"): (10, 0.9)}), table(other, {("day", "clear"): (10, 0.9)}, assumed=True)
    c = compare(a, b)
    assert len(c.both) == 1
    assert c.both[0].change == 0
    assert (c.same_odd, c.n_assumed) == (False, True)


def test_other_dimensions_cannot_be_compared_and_empty_tables_can():
    other = infer_odd({"town": ["a"]})
    alone = SeedTable.from_slices(other, [{"town": "a"}], [1], [1.0])
    with pytest.raises(InputError, match="time, sky, the other town"):
        compare(table(ODD, {}), alone)
    assert compare(table(ODD, {}), table(ODD, {})).both == ()
