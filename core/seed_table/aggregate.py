"""From accepted rows to tested slices. Sums are exactly rounded, so the order of the rows cannot show."""

from __future__ import annotations

import math

import numpy as np

from core.odd import Odd
from core.seed_table.table import Floats, Ints, SeedTable


def aggregate(odd: Odd, ids: Ints, scores: Floats, counts: Ints | None, n_assumed: bool = False) -> SeedTable:
    """Slices with n, mean score and variance.

    Args:
        odd: Numbers the slices.
        ids: (R,) slice of each row.
        scores: (R,) scores in [0, 1].
        counts: (R,) samples behind each row; None where each row is one sample.
        n_assumed: Whether the counts were named by the user, not the file.

    Returns:
        One entry per distinct slice. Several rows of a slice are pooled, weighted by their counts. The variance of single
        samples has ddof 1; it is NaN for n = 1 and for rows that are slices themselves.
    """
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]]) if ids.size else np.empty(0, dtype=np.int64)
    ends = np.append(starts[1:], ids.size)[: starts.size].astype(np.int64)
    weights = None if counts is None else counts[order]
    values = scores[order]
    weighted = (values if weights is None else values * weights).tolist()
    n = ends - starts if weights is None else np.add.reduceat(weights, starts) if starts.size else starts
    sums = [math.fsum(weighted[a:b]) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    mean = np.clip(np.array(sums, dtype=np.float64) / np.maximum(n, 1), 0.0, 1.0)
    variance = np.full(starts.size, np.nan)
    if weights is None and starts.size:
        squares = ((values - np.repeat(mean, ends - starts)) ** 2).tolist()
        total = np.array([math.fsum(squares[a:b]) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
        np.divide(total, n - 1, out=variance, where=n > 1)
    return SeedTable(odd, odd.codec.decode(ids[starts]), n.astype(np.int64), mean, variance, n_assumed)
