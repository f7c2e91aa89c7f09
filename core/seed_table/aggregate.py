"""From accepted rows to tested slices. Sums do not depend on the order of the rows."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from core.odd import Odd
from core.seed_table.table import Floats, Ints, SeedTable

LIMB = 2.0**26


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
    found = pa.array(ids).dictionary_encode()  # hashing a million ids is several times faster than sorting them
    distinct = found.dictionary.to_numpy()
    order = np.argsort(distinct)
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    group = place[found.indices.to_numpy()]
    n = np.bincount(group, minlength=order.size).astype(np.int64)
    variance = np.full(order.size, np.nan)
    if counts is None:
        mean = np.clip(_sums(group, scores, order.size) / n, 0.0, 1.0)
        squares = _sums(group, (scores - mean[group]) ** 2, order.size)
        np.divide(squares, n - 1, out=variance, where=n > 1)
    else:
        ends = np.cumsum(n)
        by_group = np.argsort(group, kind="stable")
        weighted = (scores * counts)[by_group].tolist()
        starts = ends - n
        n = np.add.reduceat(counts[by_group], starts) if n.size else n
        sums = [math.fsum(weighted[a:b]) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        mean = np.clip(np.array(sums, dtype=np.float64) / n, 0.0, 1.0)
    return SeedTable(odd, odd.codec.decode(distinct[order]), n, mean, variance, n_assumed)


def _sums(group: Ints, values: Floats, groups: int) -> Floats:
    """Sums (G,) of values (R,) in [0, 1] by group, the same in every order of the rows.

    Each value is cut into three whole numbers of 26 bits, the last of which takes the rest; float64 adds 2^27 of those exactly.
    """
    total = np.zeros(groups)
    parts = []
    rest = values
    for _ in range(3):
        rest = rest * LIMB
        whole = np.floor(rest)
        rest = rest - whole
        parts.append(np.bincount(group, whole, minlength=groups))
    for part in reversed(parts):
        total = (total + part) / LIMB
    return total
