"""Which slices a campaign takes: greedy in the order of the ranking, within budget and quotas. Plain integers, so it is exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from core.acquisition.request import Quota

Reason = Literal["taken", "quota", "reserved", "budget"]


@dataclass(frozen=True)
class Chosen:
    """What became of each candidate.

    Attributes:
        reasons: One per candidate, best first. "quota": one more would break an "at most" quota, or a share. "reserved": the
            room was kept for slices of a worse rank that fill an "at least" quota. "budget": it costs more than is left.
        blocked: Candidates that each quota kept out, counted for the first one that did.
        have: Slices taken that have the value of each quota.
        size: Size that shares were counted of.
    """

    reasons: tuple[Reason, ...]
    blocked: tuple[int, ...]
    have: tuple[int, ...]
    size: int

    @property
    def count(self) -> int:
        """Slices taken."""
        return self.reasons.count("taken")


def choose(weights: Sequence[int], limit: int, quotas: Sequence[Quota], has: npt.NDArray[np.bool_]) -> Chosen:
    """Takes candidates in their order as long as budget and quotas allow.

    First the best candidates that fill "at least" quotas are taken, then the best of the rest. Where that leaves a quota
    short, it is tried once more with those first that fill several quotas at once, and kept if less is missing. Shares are
    those of the finished campaign: a size is sought, as large as can be found, that can be filled under its own shares.

    Args:
        weights: What each of the n candidates takes from the budget, positive.
        limit: The budget, in the same unit.
        quotas: The Q quotas.
        has: (Q, n) whether a candidate has the value of a quota.
    """
    most = _most(weights, limit)
    if not any(q.share for q in quotas):
        return _of_size(weights, limit, quotas, has, most)
    # From above: what a size cannot fill, the size that it did fill may. Sizes of one parity can be out of reach (two halves of an odd
    # number), so bisection alone would stop far too low.
    high = most + 1
    best = _of_size(weights, limit, quotas, has, most)
    while best.count < best.size:
        high, best = best.size, _of_size(weights, limit, quotas, has, best.count)
    # An "at least" share of costly slices takes more budget the larger the campaign, so a larger size than that may be in reach.
    while high - best.size > 1:
        found = _of_size(weights, limit, quotas, has, (best.size + high) // 2)
        high = high if found.count == found.size else found.size
        if found.count > best.size:
            again = found if found.count == found.size else _of_size(weights, limit, quotas, has, found.count)
            best = again if again.count == again.size else best
    return best


def _most(weights: Sequence[int], limit: int) -> int:
    """Most candidates that the budget can hold."""
    spent = np.cumsum(np.array(sorted(weights), dtype=object)) if weights else np.array([], dtype=object)
    return int(sum(s <= limit for s in spent))


def _of_size(weights: Sequence[int], limit: int, quotas: Sequence[Quota], has: npt.NDArray[np.bool_], size: int) -> Chosen:
    """The choice of at most `size` candidates."""
    n = len(weights)
    least = [q.slices(size) if q.kind == "least" else 0 for q in quotas]
    most = [q.slices(size) if q.kind == "most" else n for q in quotas]
    hits = [np.flatnonzero(has[:, i]).tolist() for i in range(n)] if quotas else [[] for _ in range(n)]
    several = sorted(range(n), key=lambda i: -sum(least[j] > 0 for j in hits[i]))  # stable: equal ones stay in order
    first = _fill(weights, limit, size, hits, least, most, range(n))
    if not _short(first, least):
        return first
    second = _fill(weights, limit, size, hits, least, most, several)
    return second if _short(second, least) < _short(first, least) else first


def _short(c: Chosen, least: Sequence[int]) -> int:
    return sum(max(0, wanted - have) for wanted, have in zip(least, c.have, strict=True))


def _fill(
    weights: Sequence[int],
    limit: int,
    size: int,
    hits: Sequence[Sequence[int]],
    least: Sequence[int],
    most: Sequence[int],
    order: Sequence[int],
) -> Chosen:
    n, have, blocked = len(weights), [0] * len(least), [0] * len(least)
    reasons: list[Reason] = ["budget"] * n
    spent = count = 0
    for i in order:
        if all(have[j] >= least[j] for j in range(len(least))):
            break
        helps = any(have[j] < least[j] for j in hits[i])
        if helps and count < size and spent + weights[i] <= limit and all(have[j] < most[j] for j in hits[i]):
            reasons[i], spent, count = "taken", spent + weights[i], count + 1
            for j in hits[i]:
                have[j] += 1
    ahead = 0  # what the slices taken so far with a better rank cost
    for i in range(n):
        if reasons[i] != "taken":
            full = next((j for j in hits[i] if have[j] >= most[j]), -1)
            if spent + weights[i] > limit:
                reasons[i] = "reserved" if ahead + weights[i] <= limit else "budget"
                continue
            if full >= 0 or count >= size:
                reasons[i] = "quota"
                if full >= 0:
                    blocked[full] += 1
                continue
            reasons[i], spent, count = "taken", spent + weights[i], count + 1
            for j in hits[i]:
                have[j] += 1
        ahead += weights[i]
    return Chosen(tuple(reasons), tuple(blocked), tuple(have), size)
