"""How far sets of hard scenes overlap: shared, Jaccard, directional shares, and what chance alone would give.

Two sets that each hold half of all scenes share a quarter of them by chance, which reads as an overlap of 50 %. So every overlap here
stands beside its expectation |A||B|/N, lift, Cohen's kappa of membership and the hypergeometric probability of as much by chance.
Source of the overlap measures: FluidTest, section 4.3, Fig. 6 and 12, Table 4; the correction is ours.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from core.trajectories.scenes import Common, in_common

Floats = npt.NDArray[np.float64]
SWEEP = (3, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90)
Worse = Literal["high", "low"]
"""Which end of a metric is bad: high for errors, low for scores."""


@dataclass(frozen=True)
class Overlap:
    """Overlap of two sets of scenes.

    Attributes:
        n: Scenes that could have been in either, N.
        first: Size of the first set.
        second: Size of the second.
        shared: Scenes in both.
        jaccard: shared / union, None if both are empty.
        of_first: shared / first, None if it is empty.
        of_second: shared / second, None if it is empty.
        expected: Scenes shared by chance, |A||B|/N; None without scenes.
        lift: shared / expected, None where nothing is expected.
        kappa: Cohen's kappa of membership, None where chance explains all.
        p: Probability of at least as many shared by chance (hypergeometric); None without scenes.
    """

    n: int
    first: int
    second: int
    shared: int
    jaccard: float | None
    of_first: float | None
    of_second: float | None
    expected: float | None
    lift: float | None
    kappa: float | None
    p: float | None

    @property
    def union(self) -> int:
        """Scenes in either."""
        return self.first + self.second - self.shared


def overlap_of_counts(n: int, first: int, second: int, shared: int) -> Overlap:
    """Overlap from sizes.

    Raises:
        ValueError: No two sets have these sizes.
    """
    if not max(0, first + second - n) <= shared <= min(first, second) or max(first, second) > n:
        raise ValueError(f"Sets of {first} and {second} out of {n} scenes cannot share {shared}.")
    if not n:
        return Overlap(0, 0, 0, 0, None, None, None, None, None, None, None)
    expected = first * second / n
    same = (n - first - second + 2 * shared) / n
    chance = (first * second + (n - first) * (n - second)) / n**2
    return Overlap(
        n,
        first,
        second,
        shared,
        _share(shared, first + second - shared),
        _share(shared, first),
        _share(shared, second),
        expected,
        _share(shared, expected),
        None if first * second + (n - first) * (n - second) == n * n else (same - chance) / (1 - chance),
        _as_many_by_chance(n, first, second, shared),
    )


def _as_many_by_chance(n: int, first: int, second: int, shared: int) -> float:
    """Probability that two sets of these sizes share as many or more (hypergeometric)."""
    from scipy.special import gammaln  # scipy.stats takes seconds to load

    k = np.arange(shared, min(first, second) + 1)

    def choose(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
        a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        return np.asarray(gammaln(a + 1) - gammaln(b + 1) - gammaln(a - b + 1))

    log_p = choose(first, k) + choose(n - first, second - k) - choose(n, second)
    return float(min(np.exp(log_p).sum(), 1.0))


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def overlap(first: Collection[str], second: Collection[str], scenes: Collection[str]) -> Overlap:
    """Overlap of two sets.

    Args:
        first: Scenes of the first set.
        second: Scenes of the second.
        scenes: All scenes that could have been in either.

    Raises:
        ValueError: A set holds a scene that is not among them.
    """
    a, b, every = set(first), set(second), set(scenes)
    if not a | b <= every:
        raise ValueError(f"{len((a | b) - every)} scenes of the sets are not among the {len(every)} that are compared.")
    return overlap_of_counts(len(every), len(a), len(b), len(a & b))


@dataclass(frozen=True)
class OverlapMatrix:
    """Overlap of every pair of sets.

    Attributes:
        names: Of the sets.
        sizes: Scenes in each.
        n: Scenes that are compared.
        pairs: pairs[i][j] is the overlap of sets i and j.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    n: int
    pairs: tuple[tuple[Overlap, ...], ...]

    def jaccard(self) -> Floats:
        """(S, S), NaN where two sets are empty (Fig. 3B)."""
        return self._table("jaccard")

    def directional(self) -> Floats:
        """(S, S), M[i, j] = |Fi ∩ Fj| / |Fj|, the share of the column's set; NaN where it is empty (Fig. 6)."""
        return self._table("of_second")

    def kappa(self) -> Floats:
        """(S, S), Cohen's kappa of membership."""
        return self._table("kappa")

    def lift(self) -> Floats:
        """(S, S), shared over expected."""
        return self._table("lift")

    def _table(self, which: str) -> Floats:
        rows = [[getattr(o, which) for o in row] for row in self.pairs]
        return np.array([[np.nan if x is None else x for x in r] for r in rows], dtype=np.float64).reshape(len(self.names), len(self.names))


def overlap_matrix(sets: Mapping[str, Collection[str]], scenes: Collection[str]) -> OverlapMatrix:
    """Overlap of every pair of sets over the same scenes.

    Raises:
        ValueError: A set holds a scene that is not among them.
    """
    return OverlapMatrix(
        tuple(sets),
        tuple(len(set(s)) for s in sets.values()),
        len(set(scenes)),
        tuple(tuple(overlap(a, b, scenes) for b in sets.values()) for a in sets.values()),
    )


def tail_size(n: int, percent: float) -> int:
    """Scenes in the worst x %: ceil(n x / 100), which alone fits Table 4 (5, 16, 46, 76 of 151)."""
    return min(n, math.ceil(Fraction(str(percent)) * n / 100))


def worst(values: Mapping[str, float], percent: float, worse: Worse) -> frozenset[str]:
    """The worst x % of scenes by a metric; of equal ones those that come first by scene id.

    Args:
        values: Metric of each scene, finite.
        percent: x, 0 to 100.
        worse: Which end is bad.

    Raises:
        ValueError: A value is not finite, or the percentage is out of range.
    """
    if not 0 <= percent <= 100:
        raise ValueError(f"{percent} % is not between 0 and 100.")
    if not all(math.isfinite(v) for v in values.values()):
        raise ValueError("A metric that is not finite has no place in an order.")
    return frozenset(_worst_first(values, worse)[: tail_size(len(values), percent)])


def _worst_first(values: Mapping[str, float], worse: Worse) -> list[str]:
    sign = -1 if worse == "high" else 1
    return sorted(values, key=lambda s: (sign * values[s], s))


@dataclass(frozen=True)
class SweepPoint:
    """Overlap of the worst x % of two planners.

    Attributes:
        percent: x.
        first: A planner.
        second: Another.
        overlap: Of their worst scenes.
        expected_share: Share that chance alone gives, k / N.
    """

    percent: float
    first: str
    second: str
    overlap: Overlap
    expected_share: float | None


@dataclass(frozen=True)
class Sweep:
    """Overlap of worst tails over thresholds (Fig. 12).

    Attributes:
        metric: Name of the metric.
        worse: Which end is bad.
        common: Scenes that are compared.
        unknown: Scenes of each planner left out because the metric is not known.
        points: One for each threshold and pair of planners.
        sets: The worst scenes, by threshold and planner.
    """

    metric: str
    worse: Worse
    common: Common
    unknown: Mapping[str, int]
    points: tuple[SweepPoint, ...]
    sets: Mapping[float, Mapping[str, frozenset[str]]]


def threshold_sweep(
    metric: str, values: Mapping[str, Mapping[str, float | None]], worse: Worse, percents: Sequence[float] = SWEEP
) -> Sweep:
    """Overlap of the worst x % of every pair of planners, on the scenes where all of them have the metric.

    Args:
        metric: Its name.
        values: Metric of each scene of each planner; None where it is not known.
        worse: Which end is bad.
        percents: Thresholds x.
    """
    known = {p: {s: float(v) for s, v in of.items() if v is not None and math.isfinite(v)} for p, of in values.items()}
    common = in_common(known)
    order = {p: _worst_first({s: of[s] for s in common.scenes}, worse) for p, of in known.items()}
    n, names = len(common.scenes), list(known)
    sets = {x: {p: frozenset(order[p][: tail_size(n, x)]) for p in names} for x in percents}
    points = tuple(
        SweepPoint(x, a, b, overlap_of_counts(n, k, k, len(sets[x][a] & sets[x][b])), k / n if n else None)
        for x in percents
        for k in [tail_size(n, x)]
        for i, a in enumerate(names)
        for b in names[i + 1 :]
    )
    return Sweep(metric, worse, common, {p: len(values[p]) - len(known[p]) for p in values}, points, sets)
