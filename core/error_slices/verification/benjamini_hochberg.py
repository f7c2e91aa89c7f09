"""Q-values that hold the false discovery rate over all hypotheses tested together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def benjamini_hochberg(p: Sequence[float | None]) -> tuple[float | None, ...]:
    """Adjusted p-values of Benjamini and Hochberg (1995).

    Args:
        p: P-values in any order; None where nothing was tested, which neither counts nor changes.

    Returns:
        q-values in the same order, None where p is None. Rejecting all with q <= α holds the false discovery rate at α.
    """
    known = [i for i, value in enumerate(p) if value is not None]
    out: list[float | None] = [None] * len(p)
    if not known:
        return tuple(out)
    values = np.array([p[i] for i in known], np.float64)
    order = np.argsort(values, kind="stable")
    scaled = values[order] * len(values) / np.arange(1, len(values) + 1)
    q = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    for place, value in zip(order, q, strict=True):
        out[known[place]] = float(value)
    return tuple(out)
