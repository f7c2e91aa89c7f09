"""The reference of `bench_search.py`: a compiled loop that scores every slice of a space, on all cores."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import njit, prange

SCALE = 1e12


@njit(parallel=True, fastmath=False)
def _score_all(sizes, values, columns, p, base, error, m, least, kappa, tau, gamma, steps, taken, threshold, room):  # type: ignore[no-untyped-def]
    """Ids and scores of all slices outside the ODD that reach the threshold, in `room` places for each first half of a slice."""
    d, s = sizes.size, error.size
    half = d // 2
    first = 1
    for k in range(half):
        first *= sizes[k]
    second = 1
    for k in range(half, d):
        second *= sizes[k]
    ids = np.zeros((first, room), np.int64)
    scores = np.zeros((first, room), np.int64)
    count = np.zeros(first, np.int64)
    for f in prange(first):
        codes = np.zeros(d, np.int64)
        rest = f + 0  # a copy: the index of a parallel loop may not be written
        for k in range(half - 1, -1, -1):
            codes[k] = values[k, rest % sizes[k]]
            rest //= sizes[k]
        # Similarities of the prefixes: only what changed from one slice to the next is added up again.
        part = np.zeros((d + 1, s), np.int32)
        prob = np.ones(d + 1)
        outside = np.zeros(d + 1, np.bool_)
        for k in range(half):
            for i in range(s):
                part[k + 1, i] = part[k, i] + columns[k, codes[k], i]
            prob[k + 1] = prob[k] * p[k, codes[k]]
            outside[k + 1] = outside[k] or not base[k, codes[k]]
        digits = np.full(d, -1, np.int64)
        near = np.empty(m, np.int64)
        who = np.empty(m, np.int64)
        for t in range(second):
            rest = t
            changed = d
            for k in range(d - 1, half - 1, -1):
                digit = rest % sizes[k]
                rest //= sizes[k]
                if digit != digits[k]:
                    digits[k] = digit
                    codes[k] = values[k, digit]
                    changed = k
            for k in range(changed, d):
                for i in range(s):
                    part[k + 1, i] = part[k, i] + columns[k, codes[k], i]
                prob[k + 1] = prob[k] * p[k, codes[k]]
                outside[k + 1] = outside[k] or not base[k, codes[k]]
            if not outside[d]:
                continue
            near[:] = -1
            who[:] = -1
            for i in range(s):
                x = min(max(part[d, i], 0), 1_000_000)
                if x > near[m - 1]:
                    j = m - 1
                    while j > 0 and near[j - 1] < x:
                        near[j] = near[j - 1]
                        who[j] = who[j - 1]
                        j -= 1
                    near[j] = x
                    who[j] = i
            eps = 0.0
            for j in range(m):
                if who[j] >= 0 and near[j] >= least:
                    eps = max(eps, near[j] / 1_000_000 * error[who[j]])
            w = (1.0 - prob[d] ** tau) ** gamma
            q = np.int64(np.rint(w * (1.0 + min(eps, kappa)) * SCALE))
            if q >= threshold:
                number = 0
                for k in range(d):
                    number += steps[k] * codes[k]
                at = np.searchsorted(taken, number)
                if at < taken.size and taken[at] == number:
                    continue
                if count[f] < room:
                    ids[f, count[f]] = number
                    scores[f, count[f]] = q
                count[f] += 1
    return ids, scores, count


def brute_force(scorer: Any, space: Any, k: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Ids and scores of the K best slices outside the ODD, and the seconds of the loop, its compilation left out.

    The loop is told a score that the K best reach, so that it need not sort; every slice is scored all the same.
    """
    from core.scoring.search import top_k

    observed, params, odd = scorer.evidence.observed, scorer.rarity.params, scorer.evidence.observed.odd
    threshold = int(top_k(scorer, space, k, need_outside=True).q[-1]) - 2
    d, most = len(odd.names), max(odd.codec.sizes)
    sizes = np.array(space.sizes)
    values = np.zeros((d, most), np.int64)
    columns = np.zeros((d, most, len(observed.n)), np.int32)
    p, base = np.ones((d, most)), np.ones((d, most), np.bool_)
    for j, allowed in enumerate(space.allowed):
        values[j, : allowed.size] = allowed
        size = odd.codec.sizes[j]
        columns[j, :size] = scorer.similarity.tables[j][:, observed.codes[:, j]]
        p[j, :size] = scorer.rarity.marginals.p[j]
        base[j, :size] = odd.is_base[j]
    least = int(np.ceil(params.theta * 1_000_000))
    few = np.minimum(sizes, 2)
    rest = (values, columns, p, base, scorer.evidence.error, params.m, least, params.kappa, params.tau, params.gamma, odd.codec.radix)
    _score_all(few, *rest, observed.ids, threshold, 3_000)  # compiles
    start = time.perf_counter()
    ids, q, count = _score_all(sizes, *rest, observed.ids, threshold, 3_000)
    seconds = time.perf_counter() - start
    if count.max() > ids.shape[1]:
        raise RuntimeError("More slices reach the threshold than there is room for.")
    kept = np.arange(ids.shape[1])[None, :] < count[:, None]
    ids, q = ids[kept], q[kept]
    best = np.lexsort((ids, -q))[:k]
    return ids[best], q[best], seconds
