"""NATR, the share of scenes without an additional threat, and r, the share with one, for every set of threats.

r(A) = |{s : Y_s ∩ A ≠ ∅}| / N and NATR(A) = 1 - r(A) (FluidTest, section 3.1). The paper does not say what becomes of scenes without a
verdict. Here every rate carries the interval [H/N, (H+A)/N] between none and all of them being threats, the policy that its point rests
on, and a bootstrap interval over scenes. A scene with a threat that nobody named is open for every set but the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from core.scoring.intervals import percentiles, wilson
from core.threats.taxonomy import Level, Taxonomy, ThreatSet
from core.threats.verdicts import Verdict
from core.trajectories.scenes import Common, in_common

Floats = npt.NDArray[np.float64]
Policy = Literal["exclude", "count_as_no", "bounds"]

POLICIES: dict[Policy, str] = {
    "exclude": "Scenes without a verdict are left out: r = H / (N - A).",
    "count_as_no": "Scenes without a verdict count as free of threats: r = H / N.",
    "bounds": "No single number: r lies between H / N and (H + A) / N.",
}
REPEATS = 2_000
SEED = 0
NO, YES, OPEN = 0, 1, 2
"""Whether a scene shows a threat of a set."""


@dataclass(frozen=True)
class Span:
    """Two ends, low <= high."""

    low: float
    high: float


@dataclass(frozen=True)
class ThreatRate:
    """How many scenes of a planner show a threat of a set.

    Attributes:
        set: The threats.
        n: Scenes N.
        threats: Scenes H with a threat of the set.
        open: Scenes A of which it is not known: no verdict, or a threat that nobody named.
        policy: What the point rests on.
        rate: r under the policy; None for "bounds", and where the policy leaves no scene.
        bounds: [H/N, (H+A)/N], None without scenes.
        bootstrap: 95 % percentile bootstrap over scenes of r under the policy; for "bounds" from the lower end's low to the upper end's
            high. None without scenes.
        wilson: 95 % Wilson interval in the same sense: the bootstrap is a point where no scene, or every scene, shows a threat.
    """

    set: ThreatSet
    n: int
    threats: int
    open: int
    policy: Policy
    rate: float | None
    bounds: Span | None
    bootstrap: Span | None
    wilson: Span | None

    @property
    def natr(self) -> float | None:
        """1 - r."""
        return None if self.rate is None else 1 - self.rate

    @property
    def natr_bounds(self) -> Span | None:
        """The bounds of 1 - r."""
        return _mirrored(self.bounds)

    @property
    def natr_bootstrap(self) -> Span | None:
        """The bootstrap interval of 1 - r."""
        return _mirrored(self.bootstrap)

    @property
    def natr_wilson(self) -> Span | None:
        """The Wilson interval of 1 - r."""
        return _mirrored(self.wilson)


@dataclass(frozen=True)
class PlannerRates:
    """The rates of one planner.

    Attributes:
        planner_id: The planner.
        n: Scenes.
        statuses: Scenes with a threat, without, and without a verdict.
        unnamed: Scenes with a threat that nobody named.
        rates: All threats first, then each super-category, group and threat.
    """

    planner_id: str
    n: int
    statuses: Mapping[str, int]
    unnamed: int
    rates: tuple[ThreatRate, ...]

    @property
    def overall(self) -> ThreatRate:
        """Over all threats."""
        return self.rates[0]

    def level(self, level: Level) -> tuple[ThreatRate, ...]:
        """The rates of one level."""
        return tuple(r for r in self.rates if r.set.level == level)


@dataclass(frozen=True)
class Difference:
    """NATR of one planner less that of another, on the scenes that both have.

    Attributes:
        first: The planner.
        second: The other.
        n: Scenes in common.
        left_out: Scenes of either that the other lacks.
        value: NATR(first) - NATR(second) under the policy; None for "bounds" and where it is not defined.
        bounds: Least and largest difference that the open scenes allow.
        bootstrap: 95 % percentile interval of the paired bootstrap over scenes; None where there is no value.
        policy: What the value rests on.
    """

    first: str
    second: str
    n: int
    left_out: int
    value: float | None
    bounds: Span | None
    bootstrap: Span | None
    policy: Policy

    @property
    def decided(self) -> bool:
        """Whether the bootstrap interval leaves out zero."""
        return self.bootstrap is not None and (self.bootstrap.low > 0 or self.bootstrap.high < 0)


@dataclass(frozen=True)
class NatrReport:
    """NATR of all planners of a set of verdicts.

    Attributes:
        policy: What becomes of scenes without a verdict.
        planners: By name, each on all its scenes.
        shared: The same on the scenes that all planners have; the planners themselves where their scenes are equal.
        common: The scenes in common, and how many each planner has beside them.
        differences: Of each pair of planners, in its own scenes in common.
        taxonomy: Id of the taxonomy.
        repeats: Resamples of the bootstrap.
        seed: Of the bootstrap.
    """

    policy: Policy
    planners: tuple[PlannerRates, ...]
    shared: tuple[PlannerRates, ...]
    common: Common
    differences: tuple[Difference, ...]
    taxonomy: str
    repeats: int
    seed: int


def natr(
    verdicts: Sequence[Verdict], taxonomy: Taxonomy, policy: Policy = "exclude", *, repeats: int = REPEATS, seed: int = SEED
) -> NatrReport:
    """NATR and r of every planner, for all threats, each super-category, each group and each threat.

    Args:
        verdicts: One for each case; each scene once for a planner.
        taxonomy: The threats.
        policy: What becomes of scenes without a verdict.
        repeats: Resamples of the bootstrap.
        seed: Of the bootstrap.

    Raises:
        ValueError: A planner has two verdicts for a scene.
    """
    by: dict[str, dict[str, Verdict]] = {}
    for v in verdicts:
        if v.scene_id in by.setdefault(v.planner_id, {}):
            raise ValueError(f"Planner {v.planner_id!r} has two verdicts for scene {v.scene_id!r}.")
        by[v.planner_id][v.scene_id] = v
    by = dict(sorted(by.items()))
    common = in_common(by)

    def rates(scenes: Mapping[str, Sequence[str]]) -> tuple[PlannerRates, ...]:
        return tuple(_planner(p, [by[p][s] for s in scenes[p]], taxonomy, policy, repeats, seed) for p in by)

    planners = rates({p: sorted(by[p]) for p in by})
    shared = planners if common.equal else rates(dict.fromkeys(by, common.scenes))
    pairs = tuple(_difference(p, by[p], q, by[q], taxonomy.sets[0], policy, repeats, seed) for p, q in combinations(by, 2))
    return NatrReport(policy, planners, shared, common, pairs, taxonomy.id, repeats, seed)


def shows(verdict: Verdict, threats: ThreatSet) -> int:
    """Whether a scene shows a threat of a set: NO, YES or OPEN."""
    if verdict.status == "abstain":
        return OPEN
    if verdict.status == "no_threat":
        return NO
    if threats.level == "all" or verdict.threats & threats.threats:
        return YES
    return NO if verdict.threats else OPEN


def threat_rate(
    n: int, threats: int, open_: int, of: ThreatSet, policy: Policy = "exclude", *, repeats: int = REPEATS, seed: int = SEED
) -> ThreatRate:
    """The rate of a set from its counts.

    Args:
        n: Scenes.
        threats: Scenes with a threat of the set.
        open_: Scenes of which it is not known.
        of: The set.
        policy: What becomes of the open ones.
        repeats: Resamples.
        seed: Of the resamples.

    Raises:
        ValueError: The counts do not fit.
    """
    if min(threats, open_) < 0 or threats + open_ > n:
        raise ValueError(f"{threats} threats and {open_} open do not fit {n} scenes.")
    if not n:
        return ThreatRate(of, 0, 0, 0, policy, None, None, None, None)
    drawn = np.random.default_rng(seed).multinomial(n, [threats / n, open_ / n, (n - threats - open_) / n], repeats)
    low, high = threats / n, (threats + open_) / n
    if policy == "bounds":
        ends = Span(float(np.quantile(drawn[:, 0] / n, 0.025)), float(np.quantile((drawn[:, 0] + drawn[:, 1]) / n, 0.975)))
        return ThreatRate(of, n, threats, open_, policy, None, Span(low, high), ends, Span(wilson(low, n)[0], wilson(high, n)[1]))
    known = n - open_ if policy == "exclude" else n
    rate = threats / known if known else None
    of_drawn = _rates(drawn[:, 0], drawn[:, 1], n, policy)
    return ThreatRate(
        of, n, threats, open_, policy, rate, Span(low, high), _interval(of_drawn) if rate is not None else None, _wilson(rate, known)
    )


def _planner(name: str, verdicts: Sequence[Verdict], taxonomy: Taxonomy, policy: Policy, repeats: int, seed: int) -> PlannerRates:
    n = len(verdicts)
    rates = []
    for s in taxonomy.sets:
        says = [shows(v, s) for v in verdicts]
        rates.append(threat_rate(n, says.count(YES), says.count(OPEN), s, policy, repeats=repeats, seed=seed))
    statuses = {k: sum(v.status == k for v in verdicts) for k in ("has_threat", "no_threat", "abstain")}
    return PlannerRates(name, n, statuses, sum(v.status == "has_threat" and not v.threats for v in verdicts), tuple(rates))


def _difference(
    p: str, first: Mapping[str, Verdict], q: str, second: Mapping[str, Verdict], every: ThreatSet, policy: Policy, repeats: int, seed: int
) -> Difference:
    scenes = sorted(first.keys() & second.keys())
    n, left = len(scenes), len(first.keys() ^ second.keys())
    if not n:
        return Difference(p, q, 0, left, None, None, None, policy)
    table = np.zeros((3, 3), dtype=np.int64)
    for s in scenes:
        table[shows(first[s], every), shows(second[s], every)] += 1
    a, b = table.sum(axis=1), table.sum(axis=0)
    # NATR(first) - NATR(second) = r(second) - r(first).
    bounds = Span(float(b[YES] - a[YES] - a[OPEN]) / n, float(b[YES] + b[OPEN] - a[YES]) / n)
    if policy == "bounds":
        return Difference(p, q, n, left, None, bounds, None, policy)
    drawn = np.random.default_rng(seed).multinomial(n, (table / n).ravel(), repeats).reshape(repeats, 3, 3)
    value = float(_less(table[None], n, policy)[0])
    if np.isnan(value):
        return Difference(p, q, n, left, None, bounds, None, policy)
    return Difference(p, q, n, left, value, bounds, _interval(_less(drawn, n, policy)), policy)


def _rates(threats: npt.NDArray[np.int64], open_: npt.NDArray[np.int64], n: int, policy: Policy) -> Floats:
    """Rates of resamples, NaN where a policy leaves no scene."""
    known = n - open_ if policy == "exclude" else np.full_like(open_, n)
    rates: Floats = np.divide(threats, known, out=np.full(len(threats), np.nan), where=known > 0)
    return rates


def _less(tables: npt.NDArray[np.int64], n: int, policy: Policy) -> Floats:
    """NATR of the rows' planner less that of the columns' one, of (R, 3, 3) counts of scenes."""
    first, second = tables.sum(axis=2), tables.sum(axis=1)
    return _rates(second[:, YES], second[:, OPEN], n, policy) - _rates(first[:, YES], first[:, OPEN], n, policy)


def _interval(drawn: Floats) -> Span | None:
    found = percentiles(drawn)
    return None if found is None else Span(*found)


def _wilson(rate: float | None, n: int) -> Span | None:
    return None if rate is None else Span(*wilson(rate, n))


def _mirrored(span: Span | None) -> Span | None:
    return None if span is None else Span(1 - span.high, 1 - span.low)
