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
    from scipy.special import log_ndtr, ndtri  # scipy.stats takes a second to load

    largest = null.max(1)
    if level >= _TAIL:
        return float(np.quantile(largest, 1 - level))
    at = float(np.quantile(largest, 1 - _TAIL))
    number = np.log1p(-_TAIL) / log_ndtr(at)
    return float(-ndtri(-np.expm1(np.log1p(-level) / number)))


def thinned(c: FloatArray, loss: FloatArray, gamma: float, rise: float = RISE) -> float:
    """Factor by which statistics shrink where the rise would need a more varied loss than was observed.

    Errors that rise by `rise` about the observed rate vary as much as those observed; but with a rate near 0 or 1 there is no room for such
    a rise, the rate would have to be further inside, and losses of 0 and 1 vary more there.

    Args:
        c: Shape (n,): scores of the slice.
        loss: Shape (n,): its losses.
        gamma: Where it begins.
        rise: Of the error rate.

    Returns:
        Between 0 and 1; 1 for graded losses.
    """
    rate = float(loss.mean())
    if not 0 < rate < 1 or np.any((loss > 0) & (loss < 1)):
        return 1.0
    place = float((c - gamma).mean()) / max(1 - gamma, 1e-9)
    needed = min(max(rate, rise * place), max(1 - rise * (1 - place), 0.0))
    spread = needed * (1 - needed)
    return min(1.0, float(np.sqrt(rate * (1 - rate) / spread))) if spread > 0 else 1.0


def power(null: FloatArray, per_slope: FloatArray, gamma: float, level: float, rise: float = RISE) -> float:
    """Chance that the error rising by `rise` from c = γ to c = 1 would have had a p-value below `level`.

    The rise shifts each statistic; chance moves them as the flips do, with their dependence. The mean loss stays as observed.

    Args:
        null: Shape (B, K): studentised statistics under random signs.
        per_slope: Shape (K,): what a slope of 1 adds to each.
        gamma: Where the slice begins.
        level: Largest p-value that counts as seen.
        rise: Of the error rate.
    """
    shift = per_slope * rise / max(1 - gamma, 1e-9)
    return float(np.count_nonzero((null + shift).max(1) > critical(null, level)) / len(null))
