"""The metrics of cases side by side: each case's number or why it has none, and each planner's mean over its scenes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.errors import InputError, Problem
from core.trajectories.case import Case
from core.trajectories.displacement import FULL_HORIZON_S, REFERENCES, Measured, Reference, displacement, standard_displacements
from core.trajectories.nuplan_errors import heading_error_at
from core.trajectories.rfs import rfs
from core.trajectories.scenes import Common, in_common

REPEATS = 2_000
SEED = 0
_AT_ONCE = 4_000_000
"""Values drawn at once, so that many scenes do not fill the memory."""


@dataclass(frozen=True)
class Metric:
    """One metric of a case.

    Attributes:
        key: Name in files.
        label: Name on screens; it says reference and horizon.
        unit: "m", "rad", or "" for scores.
        worse: Which end is bad; None where nobody said so, as with numbers from outside.
        of: Gives the number of a case.
    """

    key: str
    label: str
    unit: str
    worse: Literal["high", "low"] | None
    of: Callable[[Case], Measured]


@dataclass(frozen=True)
class Summary:
    """One metric of one planner.

    Attributes:
        planner_id: The planner.
        metric: Key of the metric.
        n: Scenes with a value.
        mean: Over them, None without any.
        low: 95 % percentile bootstrap over scenes, None without any.
        high: As low.
        unknown: Scenes without a value.
        reasons: How often each reason for that was given.
        shared_n: Scenes on which all planners have the metric.
        shared_mean: Mean over these; the number to compare planners by.
        shared_low: As low.
        shared_high: As high.
    """

    planner_id: str
    metric: str
    n: int
    mean: float | None
    low: float | None
    high: float | None
    unknown: int
    reasons: Mapping[str, int]
    shared_n: int
    shared_mean: float | None
    shared_low: float | None
    shared_high: float | None


@dataclass(frozen=True)
class MetricTable:
    """The metrics of cases.

    Attributes:
        metrics: In order.
        values: Metric key, then planner, then scene: the number or why there is none.
        common: Scenes that all planners have, and how many each has beside them.
        summaries: One for each metric and planner.
    """

    metrics: tuple[Metric, ...]
    values: Mapping[str, Mapping[str, Mapping[str, Measured]]]
    common: Common
    summaries: tuple[Summary, ...]

    def of(self, key: str) -> dict[str, dict[str, float | None]]:
        """Values of a metric as the analyses of threats take them: {planner: {scene: value or None}}."""
        return {p: {s: m.value for s, m in scenes.items()} for p, scenes in self.values[key].items()}


def standard_metrics(cases: Sequence[Case] = (), references: Sequence[Reference] = REFERENCES) -> tuple[Metric, ...]:
    """ADE@3 s, ADE@5 s and FDE against each reference, heading error, RFS, and every number that the cases brought from outside.

    Where cases end before 5 s (NAVSIM at 4 s, nuScenes at 3 s), FDE at their own end is there too, under a name with that time.
    A number from outside never takes the name of one that is worked out here: an RFS of others stands beside ours.
    """
    ends = sorted({round(c.horizon_s, 3) for c in cases if c.horizon_s < FULL_HORIZON_S - 1e-6})
    short = [displacement("FDE", end, r) for r in references for end in ends]
    own = (
        *(Metric(d.key, d.label, "m", "high", d.of) for d in [*standard_displacements(references), *short]),
        Metric("heading_5s_expert", "Heading error@5 s (expert)", "rad", "high", lambda c: heading_error_at(c, 5.0)),
        Metric("rfs", "RFS", "", "low", rfs),
    )
    return (*own, *_from_outside({k for c in cases for k in c.metrics}, own))


def measure(cases: Sequence[Case], metrics: Sequence[Metric] | None = None, *, repeats: int = REPEATS, seed: int = SEED) -> MetricTable:
    """The metrics of cases, by planner, and on the scenes that all planners have.

    Args:
        cases: Each scene once for a planner.
        metrics: Which ones; `standard_metrics` if None.
        repeats: Resamples of the bootstrap over scenes.
        seed: Of the resamples.

    Raises:
        InputError: A planner has a scene twice; every such case is named.
    """
    by: dict[str, dict[str, Case]] = {}
    problems = []
    for c in cases:
        if c.scene_id in by.setdefault(c.planner_id, {}):
            problems.append(Problem(None, "scene_id", c.scene_id, f"one case of a scene for planner {c.planner_id!r}", kind="twice"))
        by[c.planner_id][c.scene_id] = c
    if problems:
        raise InputError("A planner has more than one case of a scene.", problems)
    by = dict(sorted(by.items()))
    every = tuple(standard_metrics(cases) if metrics is None else metrics)
    values = {m.key: {p: {s: m.of(c) for s, c in sorted(of.items())} for p, of in by.items()} for m in every}
    summaries = tuple(s for m in every for s in _summaries(m.key, values[m.key], repeats, seed))
    return MetricTable(every, values, in_common(by), summaries)


def on_scenes(
    table: MetricTable, scenes: Mapping[str, Collection[str]], keys: Collection[str], *, repeats: int = REPEATS, seed: int = SEED
) -> dict[tuple[str, str], Summary]:
    """Metrics over chosen scenes of each planner, such as those in which it was judged, so that both stand on the same ones.

    Args:
        table: The metrics of all cases.
        scenes: Scenes by planner; those that the table does not have are left out.
        keys: Metrics; those that the table does not have are left out.
        repeats: Resamples of the bootstrap over scenes.
        seed: Of the resamples.

    Returns:
        Summaries by key of the metric and planner.
    """
    known = [m.key for m in table.metrics if m.key in keys]
    chosen = {
        k: {
            p: {s: table.values[k][p][s] for s in sorted(of) if s in table.values[k][p]} for p, of in scenes.items() if p in table.values[k]
        }
        for k in known
    }
    return {(k, s.planner_id): s for k in known for s in _summaries(k, chosen[k], repeats, seed)}


def _from_outside(names: Set[str], own: Sequence[Metric]) -> list[Metric]:
    keys, taken = {m.key for m in own} | names, {m.key for m in own} | {m.label for m in own}
    out = []
    for name in sorted(names):
        key = name
        if any(name == m.key for m in own):
            while key in keys:
                key = f"outside:{key}"
            keys.add(key)
        out.append(Metric(key, f"{name} (from outside)" if name in taken else name, "", None, _outside(name)))
    return out


def _outside(key: str) -> Callable[[Case], Measured]:
    def of(case: Case) -> Measured:
        value = case.metrics.get(key)
        return Measured(None, f"No {key} came with this case.") if value is None else Measured(float(value))

    return of


def _summaries(key: str, values: Mapping[str, Mapping[str, Measured]], repeats: int, seed: int) -> list[Summary]:
    known = {p: {s: m.value for s, m in of.items() if m.value is not None} for p, of in values.items()}
    shared = in_common(known).scenes
    out = []
    for p, of in known.items():
        mean, low, high = _mean(list(of.values()), repeats, seed)
        reasons = Counter(m.reason for m in values[p].values() if m.value is None)
        both = _mean([of[s] for s in shared], repeats, seed)
        out.append(Summary(p, key, len(of), mean, low, high, len(values[p]) - len(of), dict(reasons), len(shared), *both))
    return out


def _mean(values: Sequence[float], repeats: int, seed: int) -> tuple[float | None, float | None, float | None]:
    """Mean with its percentile bootstrap interval; the interval of one value is not known."""
    if not values:
        return None, None, None
    v = np.array(values, dtype=np.float64)
    if v.size == 1:
        return float(v[0]), None, None
    rng, block = np.random.default_rng(seed), max(_AT_ONCE // v.size, 1)
    sizes = [min(block, repeats - k) for k in range(0, repeats, block)]
    drawn = np.concatenate([v[rng.integers(0, v.size, (k, v.size))].mean(axis=1) for k in sizes])
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(v.mean()), float(low), float(high)
