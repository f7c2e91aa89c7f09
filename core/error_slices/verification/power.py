"""How likely the trend test would have seen a rise that matters."""

from __future__ import annotations

import numpy as np

from core.error_slices.detections import FloatArray

RISE = 0.4
"""Rise of the error rate between c = γ and c = 1 that matters."""
ENOUGH = 0.8
"""Power from which on a slice without a trend is rejected; below, nothing was decided."""
_TAIL = 0.01


def critical(null: FloatArray, level: float) -> float:
    """Value that the largest statistic exceeds with probability `level` under the null.

    Counted among the flips where these reach so far; beyond, the tail of as many independent normal statistics as match the flips at 1 %.

    Args:
        null: Shape (B, K).
        level: Between 0 and 1.
    """
    from scipy.stats import norm

    largest = null.max(1)
    if level >= _TAIL:
        return float(np.quantile(largest, 1 - level))
    at = float(np.quantile(largest, 1 - _TAIL))
    number = np.log1p(-_TAIL) / norm.logcdf(at)
    return float(norm.isf(-np.expm1(np.log1p(-level) / number)))


def power(null: FloatArray, per_slope: FloatArray, gamma: float, level: float, rise: float = RISE) -> float:
    """Chance that the error rising by `rise` from c = γ to c = 1 would have had a p-value below `level`.

    The rise shifts each statistic; chance moves them as the flips do, with their dependence.

    Args:
        null: Shape (B, K): studentised statistics under random signs.
        per_slope: Shape (K,): what a slope of 1 adds to each.
        gamma: Where the slice begins.
        level: Largest p-value that counts as seen.
        rise: Of the error rate.
    """
    shift = per_slope * rise / max(1 - gamma, 1e-9)
    return float(np.count_nonzero((null + shift).max(1) > critical(null, level)) / len(null))
