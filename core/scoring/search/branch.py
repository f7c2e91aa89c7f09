"""Exact top-K of a space too large to enumerate: branch and bound over prefixes of slices.

A prefix fixes the values of some dimensions. If no slice below it can reach the K-th best score found so far, or could only
tie with it under a larger id, the whole subtree is left out. Ties are followed, never cut, so ids, order and ties are those of
an enumeration.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from core.odd import Codes
from core.scoring.scorer import SCALE
from core.scoring.search.problem import SearchSpace

Progress = Callable[[int, int], None]
Cancel = Callable[[], bool]
Ids = npt.NDArray[np.int64]

NO_ID = np.iinfo(np.int64).max


class Bounds(Protocol):
    """Scores of slices and upper bounds of them, both in units of 1e-12."""

    chunk: int
    """Prefixes that are expanded at a time."""

    def children(self, level: int, codes: Codes, log_p: npt.NDArray[np.float64], least: int) -> Ids:
        """Largest score below each child of prefixes (n, D), (n, A); -1 where it is certainly less than `least`."""
        ...

    def leaves(self, codes: Codes) -> Ids:
        """Scores of slices (n, D)."""
        ...


@dataclass(frozen=True, eq=False)
class Found:
    """The best slices, best first.

    Attributes:
        ids: (K,).
        codes: (K, D).
        q: (K,) scores in units of 1e-12.
        nodes: Prefixes that were expanded.
        leaves: Slices whose score was computed.
        complete: Whether these are certainly the best.
        gap: Where not complete, the certificate: no slice left out scores more than the K-th found plus this (in score, not units).
        seconds: Wall time.
    """

    ids: Ids
    codes: Codes
    q: Ids
    nodes: int
    leaves: int
    complete: bool
    gap: float
    seconds: float


@dataclass(eq=False)
class _Block:
    """Prefixes of one length, those with the largest bound first."""

    level: int
    codes: Codes
    log_p: npt.NDArray[np.float64]
    ids: Ids
    outside: npt.NDArray[np.bool_]
    q: Ids

    def take(self, at: npt.NDArray[np.intp] | slice) -> _Block:
        return _Block(self.level, self.codes[at], self.log_p[at], self.ids[at], self.outside[at], self.q[at])


class _Best:
    """The K best slices so far."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.ids: Ids = np.empty(0, dtype=np.int64)
        self.q: Ids = np.empty(0, dtype=np.int64)
        self.least, self.last_id = 0, NO_ID

    def add(self, ids: Ids, q: Ids) -> None:
        keep = (q > self.least) | ((q == self.least) & (ids <= self.last_id))
        if not keep.any():
            return
        ids, first = np.unique(np.concatenate([self.ids, ids[keep]]), return_index=True)
        q = np.concatenate([self.q, q[keep]])[first]
        best = np.argsort(-q, kind="stable")[: self.k]  # ids ascend, so ties go by id
        self.ids, self.q = ids[best], q[best]
        if best.size == self.k:
            self.least, self.last_id = int(self.q[-1]), int(self.ids[-1])


def branch_and_bound(
    tree: SearchSpace,
    bounds: Bounds,
    log_p: tuple[npt.NDArray[np.float64], ...],
    k: int,
    start: tuple[Ids, Ids],
    time_limit: float | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Found:
    """The K best slices of a tree.

    Args:
        tree: The space.
        bounds: Scores and bounds.
        log_p: For each dimension, logarithms of the probabilities, as the bounds use them.
        k: How many slices.
        start: Ids and scores (n,) of slices that may be returned and are likely good; they only make the search faster.
        time_limit: Seconds after which it stops with what it has; None lets it end.
        progress: Called with the slices settled and the slices in all.
        cancel: Asked now and then; True stops the search as the time limit does.
    """
    began = time.perf_counter()
    best, size = _Best(k), tree.rest_size[0]
    nodes = leaves = settled = 0
    codec = tree.odd.codec

    def score(codes: Codes, ids: Ids) -> None:
        nonlocal leaves
        free = ~tree.forbidden(ids, codes)
        if free.any():
            leaves += int(free.sum())
            best.add(ids[free], bounds.leaves(codes[free]))

    best.add(*start)
    leaves += start[0].size
    root_id = int(codec.encode(tree.root[None])[0]) - tree.rest_id[0]
    root_log = sum(float(log_p[d][tree.root[d]]) for d in range(len(log_p)) if d not in tree.order)
    root = _Block(0, tree.root[None].copy(), np.array([root_log]), np.array([root_id]), np.array([tree.root_outside]), np.array([NO_ID]))
    stack = [] if any(rule.hits(tree.root[None])[0] for rule in tree.rule_levels[0]) else [root]
    while stack:
        block = stack.pop()
        keep = _alive(block, tree, best)
        settled += int((~keep).sum()) * tree.rest_size[block.level]
        if not keep.all():
            block = block.take(np.flatnonzero(keep))
        if not block.q.size:
            continue
        if block.level == tree.levels:
            settled += block.q.size
            score(block.codes, block.ids)
        else:
            nodes += block.q.size
            children = _expand(block, tree, bounds, log_p, best)
            settled += (block.q.size * len(tree.values[block.level]) - children.q.size) * tree.rest_size[block.level + 1]
            if children.q.size:
                # Before K slices are known there is nothing to prune by, so the search dives; leaves are cheap, so their blocks are large.
                rows = bounds.chunk * (10 if children.level == tree.levels else 1)
                rows = rows if best.least else max(64, min(rows, k // 4))
                stack += [children.take(slice(i, i + rows)) for i in range(0, children.q.size, rows)][::-1]
        if progress is not None:
            progress(settled, size)
        late = time_limit is not None and time.perf_counter() - began > time_limit
        if stack and (late or (cancel is not None and cancel())):
            still = max(int(b.q.max()) for b in stack if b.q.size)
            return _found(best, tree, nodes, leaves, max(still - best.least, 0) / SCALE, began)
    if progress is not None:
        progress(settled, size)
    return _found(best, tree, nodes, leaves, None, began)


def _alive(block: _Block, tree: SearchSpace, best: _Best) -> npt.NDArray[np.bool_]:
    """Which prefixes may still hold one of the K best."""
    first = block.ids + tree.rest_id[block.level]
    out: npt.NDArray[np.bool_] = (block.q > best.least) | ((block.q == best.least) & (first <= best.last_id))
    return out


def _expand(block: _Block, tree: SearchSpace, bounds: Bounds, log_p: tuple[npt.NDArray[np.float64], ...], best: _Best) -> _Block:
    """The children that may hold one of the K best, most promising first; equal bounds by the smallest id below them."""
    level, after = block.level, block.level + 1
    values, d = tree.values[level], tree.order[level]
    q = bounds.children(level, block.codes, block.log_p, best.least)
    ids = block.ids[:, None] + tree.id_step[level] * values[None, :].astype(np.int64)
    alive = (q > best.least) | ((q == best.least) & (ids + tree.rest_id[after] <= best.last_id))
    outside = block.outside[:, None] | tree.outside[level][None, :]
    if tree.need_outside and not tree.rest_outside[after]:
        alive &= outside
    row, child = np.nonzero(alive & (q >= 0))
    codes = block.codes[row]
    codes[:, d] = values[child]
    made = _Block(after, codes, block.log_p[row] + log_p[d][values[child]], ids[row, child], outside[row, child], q[row, child])
    for rule in tree.rule_levels[after]:
        made = made.take(np.flatnonzero(~rule.hits(made.codes)))
    return made.take(np.lexsort((made.ids, -made.q)))


def _found(best: _Best, tree: SearchSpace, nodes: int, leaves: int, gap: float | None, began: float) -> Found:
    codes = tree.odd.codec.decode(best.ids) if best.ids.size else np.empty((0, len(tree.root)), dtype=np.int32)
    seconds = time.perf_counter() - began
    return Found(best.ids, codes, best.q, nodes, leaves, gap is None, gap or 0.0, seconds)
