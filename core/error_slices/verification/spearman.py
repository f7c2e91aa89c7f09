"""The multi-scale rank correlation that the paper offers beside the slope (GH-ESD, section 3.4), on binned error rates.

A rank correlation of single losses of 0 and 1 cannot reach 0.5 at low error rates (its largest value is √(3p(1-p))), so the correlation is
that of bins with equal numbers of units, at several numbers of bins.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping

import numpy as np

from core.error_slices.detections import FloatArray
from core.error_slices.verification.region import Region

SCALES = (5, 8, 12, 20)
"""Numbers of bins."""
LEAST_IN_BIN = 5
LEAST_RHO = 0.5
LEVEL = 0.05
_EXACT = 8


def binned_spearman(region: Region) -> dict[int, float]:
    """Rank correlation between a bin's place and its error rate, at each number of bins that leaves five units in a bin.

    Positive where errors rise with the score; 0 where all bins have the same rate.
    """
    n = len(region)
    found = {}
    for bins in SCALES:
        if n < bins * LEAST_IN_BIN:
            continue
        edges = np.linspace(0, n, bins + 1).astype(np.int64)
        rate = np.add.reduceat(region.loss, edges[:-1]) / np.diff(edges)
        found[bins] = rank_correlation(-np.arange(bins, dtype=np.float64), np.round(rate, 12))
    return found


def rank_correlation(a: FloatArray, b: FloatArray) -> float:
    """Spearman's rho with mean ranks of ties, 0 where either is constant."""
    x, y = _ranks(a), _ranks(b)
    size = math.sqrt(float((x * x).sum() * (y * y).sum()))
    return float((x * y).sum()) / size if size > 0 else 0.0


def _ranks(values: FloatArray) -> FloatArray:
    """Centred ranks, the mean of their ranks for equal values."""
    ordered = np.sort(values)
    double = np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")
    ranks: FloatArray = (double - len(values)) / 2
    return ranks


def spearman_p(rho: float, bins: int) -> float:
    """One-sided p-value: over all orders of up to eight bins, by Student's t beyond."""
    if bins <= _EXACT:
        all_rho = _orders(bins)
        return float(np.count_nonzero(all_rho >= rho - 1e-9)) / len(all_rho)
    from scipy.special import stdtr  # scipy.stats takes a second to load

    if rho >= 1:
        return 1 / math.factorial(bins)
    if rho <= -1:
        return 1.0
    return float(stdtr(bins - 2, -rho * math.sqrt((bins - 2) / (1 - rho * rho))))


@functools.cache
def _orders(bins: int) -> FloatArray:
    """Rho of every order of so many ranks."""
    ranks = np.arange(bins, dtype=np.float64) - (bins - 1) / 2
    orders = np.array(list(itertools.permutations(ranks)))
    return np.asarray(orders @ ranks / (ranks @ ranks), np.float64)


def spearman_passes(rho: Mapping[int, float]) -> bool:
    """Whether the correlation is at least 0.5 at every scale, and significant after a Bonferroni correction over the scales."""
    if not rho or min(rho.values()) < LEAST_RHO:
        return False
    return min(spearman_p(value, bins) for bins, value in rho.items()) * len(rho) < LEVEL
