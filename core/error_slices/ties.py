"""The order of units with equal scores: fixed, and without the order of the file in it, in which neighbours are alike."""

from __future__ import annotations

import numpy as np

from core.error_slices.detections import FloatArray, IntArray


def mixed(rows: IntArray) -> IntArray:
    """Rows in an order that follows from their numbers alone and mixes them."""
    lot = (rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    return rows[np.argsort(lot, kind="stable")]


def best_first(rows: IntArray, score: FloatArray) -> IntArray:
    """Rows by falling score; equal ones mixed.

    Args:
        rows: Shape (m,): indices into the scores.
        score: Shape (n,): known for all of these rows.
    """
    out = mixed(rows)
    return out[np.argsort(-score[out], kind="stable")]
