"""What clicks on crops say of a matcher: how often it is right, and from which score on it may be believed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.error_slices.detections import BoolArray, FloatArray
from core.scoring.intervals import wilson
from core.storage.slice_judgements import Judgement

Settled = Literal["accept", "reject", "unsure"]
LEAST_CLICKS = 50
"""Crops that somebody decided on, below which gamma stays where it is."""
WANTED = 0.7
"""Share of units that a person finds to fit, from which on a score counts."""
_STEP = 0.001


@dataclass(frozen=True)
class MatcherPrecision:
    """How many of the judged crops fit the hypothesis.

    Attributes:
        fits: Crops that fit.
        n: Crops that were decided on.
        unsure: Crops that people were not sure of or did not agree on, left out.
        value: Share of those that fit, None without any.
        low: Lower end of its 95 % Wilson interval, None likewise.
        high: Upper end.
    """

    fits: int
    n: int
    unsure: int
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class GammaAdvice:
    """The matching score above which a unit is in the slice.

    Attributes:
        value: Gamma.
        source: Whether clicks led to it.
        clicks: Crops that were decided on.
        least: How many it takes.
        above: Precision of the judged crops with c > value.
        why: Why gamma stays where it is, "" where clicks led to it.
    """

    value: float
    source: Literal["default", "clicks"]
    clicks: int
    least: int
    above: MatcherPrecision
    why: str = ""


def settle(judgements: Iterable[Judgement]) -> dict[str, Settled]:
    """What people say of each unit: accept or reject by majority over people; unsure where it is even or nobody decided.

    Args:
        judgements: The last one of each person; those of the slice as a whole are left out.
    """
    votes: Mapping[str, list[int]] = defaultdict(lambda: [0])
    for j in judgements:
        if j.unit_id and j.verdict != "withdraw":
            votes[j.unit_id].append({"accept": 1, "reject": -1}.get(j.verdict, 0))
    return {unit: "accept" if (s := sum(v)) > 0 else "reject" if s < 0 else "unsure" for unit, v in votes.items()}


def precision_of(settled: Iterable[Settled]) -> MatcherPrecision:
    """How many of some crops fit, with its interval."""
    all_ = list(settled)
    fits, n = all_.count("accept"), len(all_) - all_.count("unsure")
    if not n:
        return MatcherPrecision(0, 0, len(all_), None, None, None)
    return MatcherPrecision(fits, n, len(all_) - n, fits / n, *wilson(fits / n, n))


def isotonic(x: FloatArray, fits: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Least-squares fit of a chance that never falls with x, by pooling adjacent violators.

    Args:
        x: Shape (n,): scores.
        fits: Shape (n,): whether each fits.

    Returns:
        The distinct scores, rising, and the fitted chance at each.
    """
    xs, at = np.unique(x, return_inverse=True)
    weight = np.bincount(at, minlength=len(xs)).astype(np.float64)
    mean = np.bincount(at, fits.astype(np.float64), len(xs)) / np.maximum(weight, 1)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, distinct scores
    for m, w in zip(mean.tolist(), weight.tolist(), strict=True):
        size = 1
        while blocks and blocks[-1][0] >= m:
            m0, w0, s0 = blocks.pop()
            m, w, size = (m0 * w0 + m * w) / (w0 + w), w0 + w, size + s0
        blocks.append((m, w, size))
    return xs, np.repeat([b[0] for b in blocks], [b[2] for b in blocks]) if blocks else np.empty(0)


def calibrate(c: FloatArray, fits: BoolArray, *, default: float = 0.5, wanted: float = WANTED, least: int = LEAST_CLICKS) -> GammaAdvice:
    """The smallest score at which the isotonic fit of the clicks reaches the wanted precision.

    Args:
        c: Shape (n,): matching scores of the crops that were decided on; NaN ones are left out.
        fits: Shape (n,): whether people found each to fit.
        default: Gamma while there are too few clicks.
        wanted: Precision.
        least: Clicks that it takes.

    Returns:
        Gamma lies half-way between that score and the one below it among the clicks, since the slice is what lies above gamma. It stays
        where even the lowest score that was judged, above gamma, is good enough: clicks on the best crops alone say nothing of the others.
    """
    known = np.isfinite(c)
    c, fits = c[known], fits[known]

    def advice(value: float, source: Literal["default", "clicks"], why: str = "") -> GammaAdvice:
        above = precision_of("accept" if f else "reject" for f in fits[c > value].tolist())
        return GammaAdvice(value, source, len(c), least, above, why)

    if len(c) < least:
        return advice(default, "default", f"{len(c)} of the {least} clicks that it takes to set gamma")
    xs, chance = isotonic(c, fits)
    k = int(np.searchsorted(chance, wanted - 1e-12))
    if k == len(xs):
        return advice(default, "default", f"no score reaches a precision of {wanted:g} over {len(c)} clicks")
    below = float(xs[k - 1]) if k else max(0.0, float(xs[k]) - 2 * _STEP)
    if not k and below >= default:  # nothing speaks against the scores between gamma and the lowest one that was judged
        why = f"every score that was judged, from {xs[0]:.3g} on, reaches a precision of {wanted:g}: gamma need not be higher"
        return advice(default, "default", why)
    middle = (below + float(xs[k])) / 2
    return advice(middle if middle < xs[k] else below, "clicks")  # between neighbouring floats there is no middle
