"""Samples per slice: the smallest n whose Wilson interval is narrow enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.acquisition import interval_width, samples_for_width
from core.acquisition.samples import MOST
from core.errors import InputError


def test_by_hand() -> None:
    # At rate 0 the interval is [0, z²/(n + z²)] with z² = 3.8415: a width of 0.5 needs n >= z², thus 4; 0.1 needs n >= 9 z² = 34.57.
    assert samples_for_width(0.5, 0.0) == samples_for_width(0.5, 1.0) == 4
    assert samples_for_width(0.1, 0.0) == 35
    # At 0.5 it is z / sqrt(n + z²): 0.2 needs n >= 25 z² - z² = 92.2; 0.5 needs 4 z² * ... = 15.4 - 3.84 = 11.5.
    assert samples_for_width(0.2) == 93
    assert samples_for_width(0.5) == 12


@given(st.floats(0.02, 0.999), st.floats(0, 1))
def test_it_is_the_smallest(width: float, rate: float) -> None:
    n = samples_for_width(width, rate)
    assert n >= 1
    assert interval_width(n, rate) <= width
    assert n == 1 or interval_width(n - 1, rate) > width


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.3, 0.5, 0.9, 1.0])
def test_as_a_search_from_one_upwards(rate: float) -> None:
    for width in (0.9, 0.5, 0.25, 0.13):
        assert samples_for_width(width, rate) == next(n for n in range(1, 10_000) if interval_width(n, rate) <= width)


@given(st.integers(1, 10**7), st.floats(0, 1))
def test_the_width_falls_with_n(n: int, rate: float) -> None:
    assert interval_width(n + 1, rate) <= interval_width(n, rate) + 1e-15


@given(st.floats(0.02, 0.99), st.floats(0.02, 0.99), st.floats(0, 1))
def test_a_wider_interval_never_needs_more(a: float, b: float, rate: float) -> None:
    assert samples_for_width(max(a, b), rate) <= samples_for_width(min(a, b), rate)


@given(st.floats(0.02, 0.99), st.floats(0, 1))
def test_one_half_is_the_safe_rate(width: float, rate: float) -> None:
    assert samples_for_width(width, rate) <= samples_for_width(width, 0.5)


@pytest.mark.parametrize(
    "width, rate", [(0, 0.5), (1, 0.5), (-0.1, 0.5), (float("nan"), 0.5), (0.2, -0.1), (0.2, 1.1), (0.2, float("nan"))]
)
def test_nonsense_is_told(width: float, rate: float) -> None:
    with pytest.raises(InputError, match=r"(interval width|assumed error rate)"):
        samples_for_width(width, rate)


def test_both_problems_are_told_at_once_and_too_many_samples_are_refused() -> None:
    with pytest.raises(InputError) as e:
        samples_for_width(2, 2)
    assert [p.column for p in e.value.problems] == ["interval width", "assumed error rate"]
    with pytest.raises(InputError, match=f"more than {MOST:,} samples"):
        samples_for_width(1e-5)
