"""How a measurement becomes a matching score: 0.5 lies at the nominal threshold; such a score is no probability that a person says yes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.error_slices.detections import FloatArray

EDGE = 40.0
"""Logits end here: beyond it a score is 0 or 1 in double precision."""


class Matched(NamedTuple):
    """Scores of n units.

    Attributes:
        c: Shape (n,): between 0 and 1; NaN where it cannot be told.
        logit: Shape (n,): log(c / (1 - c)) without the rounding of c; finite, or NaN where c is.
    """

    c: FloatArray
    logit: FloatArray


def logistic(x: FloatArray) -> Matched:
    """A score whose logit is known, shape (n,)."""
    logit = np.clip(x, -EDGE, EDGE)
    return Matched(1 / (1 + np.exp(-logit)), logit)


def both(a: FloatArray, b: FloatArray) -> Matched:
    """The product of two logistic scores: high where both conditions hold."""
    with np.errstate(invalid="ignore"):  # what is not known stays not known
        log_c = -np.logaddexp(0, -np.clip(a, -EDGE, EDGE)) - np.logaddexp(0, -np.clip(b, -EDGE, EDGE))
        return Matched(np.exp(log_c), np.clip(log_c - np.log(-np.expm1(log_c)), -EDGE, EDGE))


def direct(c: FloatArray) -> Matched:
    """A score that is known itself, shape (n,), in [0, 1]."""
    c = np.clip(c, 0, 1)
    with np.errstate(divide="ignore"):
        logit = np.log(c) - np.log1p(-c)
    return Matched(c, np.clip(logit, -EDGE, EDGE))


def robust_z(values: FloatArray, least: int = 8) -> FloatArray:
    """Distance from the median in robust standard deviations, shape (n,); NaN where fewer than `least` values are known or none differ.

    Where more than half of the values are equal, the mean deviation stands in for the median one.
    """
    known = values[np.isfinite(values)]
    if len(known) < least:
        return np.full(len(values), np.nan)
    middle = np.median(known)
    away = np.abs(known - middle)
    spread = 1.4826 * np.median(away) or 1.2533 * away.mean()
    return (values - middle) / spread if spread > 0 else np.full(len(values), np.nan)
