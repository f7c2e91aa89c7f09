"""How many samples a slice needs before its error rate is known well enough."""

from __future__ import annotations

from core.errors import InputError, Problem
from core.scoring import wilson

MOST = 10_000_000
"""More samples than this for one slice are taken for a mistake."""


def interval_width(n: int, rate: float) -> float:
    """Width of the 95 % Wilson interval after n samples at an error rate, in [0, 1]."""
    low, high = wilson(rate, n)
    return high - low


def samples_for_width(width: float, rate: float = 0.5) -> int:
    """Smallest n whose 95 % Wilson interval is at most `width` wide at an assumed error rate.

    The width falls strictly with n for every rate, so bisection finds the smallest n exactly. It is largest at a rate of
    0.5: with the default, no observed rate can give a wider interval than was asked for.

    Args:
        width: Widest interval wanted, high end minus low end; 0.2 means that the rate is known to about ± 10 points.
        rate: Error rate that is assumed.

    Raises:
        InputError: A number is out of range, or more than `MOST` samples would be needed.
    """
    rules = [
        ("interval width", width, 0 < width < 1, "a number above 0 and below 1 (0.2 is ± 10 points)"),
        ("assumed error rate", rate, 0 <= rate <= 1, "a number from 0 to 1 (0.5 is the safe one)"),
    ]
    problems = [Problem(None, name, f"{got:g}", allowed) for name, got, ok, allowed in rules if not ok]
    if problems:
        raise InputError("The samples of a slice cannot be found.", problems)
    low, high = 0, 1  # an interval is too wide after `low` samples, narrow enough after `high`
    while interval_width(high, rate) > width:
        low, high = high, 2 * high
        if high > 2 * MOST:
            raise InputError(f"An interval of {width:g} needs more than {MOST:,} samples a slice; allow a wider one.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if interval_width(middle, rate) > width else (low, middle)
    return high
