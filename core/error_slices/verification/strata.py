"""Strata in which units are alike in size and class, so that neither can be what a slice is made of."""

from __future__ import annotations

import numpy as np

from core.error_slices.detections import FloatArray, IntArray

OCTILES = 8


def strata(area: FloatArray, cls: IntArray) -> IntArray:
    """Stratum of each unit: octile of its area × its class.

    Args:
        area: Shape (n,): px²; units without a known area form an octile of their own.
        cls: Shape (n,): index of the class, or -1.

    Returns:
        Shape (n,): numbers without meaning beyond being equal or not. Equal areas are always in the same octile.
    """
    area = np.asarray(area, np.float64)
    known = np.isfinite(area)
    octile = np.full(len(area), OCTILES, np.int64)
    if known.any():
        edges = np.quantile(area[known], np.arange(1, OCTILES) / OCTILES)
        octile[known] = np.searchsorted(edges, area[known], side="left")
    _, kind = np.unique(np.asarray(cls, np.int64), return_inverse=True)
    return np.asarray(kind, np.int64) * (OCTILES + 1) + octile
