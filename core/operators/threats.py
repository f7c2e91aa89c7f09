"""Threat rates of a case set: verdicts from what people said or from a file, NATR, rates by metric, and overlap between planners."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core.labels.consensus import decisions, main_labels
from core.labels.pool import Entry
from core.labels.raters import RaterAgreement, rater_agreement
from core.operators.labelling import entries_for, left_out, people_of
from core.operators.labelling_results import agreement, codes, counts_for
from core.operators.labelling_results import verdicts as label_verdicts
from core.storage import Store
from core.threats.binned import BINS, BinnedRate, Scale, binned_rates
from core.threats.natr import NatrReport, PlannerRates, Policy, ThreatRate, natr
from core.threats.overlap import SWEEP, Overlap, OverlapMatrix, Sweep, Worse, overlap, overlap_matrix, threshold_sweep, worst
from core.threats.taxonomy import load_taxonomy
from core.threats.verdicts import Places, Rule, Status, Verdict, read_verdicts
from core.trajectories.case import Case
from core.trajectories.measure import Metric, MetricTable, measure
from core.trajectories.scenes import Common, in_common


@dataclass(frozen=True, eq=False)
class SetVerdicts:
    """The verdicts on the cases of a set, with everything that has none counted.

    Attributes:
        verdicts: One for each case that has any.
        cases: Cases that were to be judged.
        without: Of these, cases without a verdict.
        flagged: Cases that nobody was asked about because of a flag; not among `cases`.
        people: People whose labels count; 0 for a file.
        not_counting: People whose labels do not, because a check stands out that nobody cleared.
        labels: Labels that count; 0 for a file.
        consensus: Verdicts that a reviewer settled.
        several: Cases that two or more people labelled.
    """

    verdicts: tuple[Verdict, ...]
    cases: int
    without: int
    flagged: int
    people: int = 0
    not_counting: int = 0
    labels: int = 0
    consensus: int = 0
    several: int = 0

    @property
    def statuses(self) -> dict[str, dict[str, Status]]:
        """Status of each scene of each planner."""
        out: dict[str, dict[str, Status]] = {}
        for v in self.verdicts:
            out.setdefault(v.planner_id, {})[v.scene_id] = v.status
        return out


@dataclass(frozen=True, eq=False)
class ThreatOverlap:
    """How far planners fail in the same scenes.

    Attributes:
        matrix: Overlap of the scenes with a threat of each planner.
        common: The scenes that are compared.
        open: Scenes in common that a planner has no verdict on; they are in none of its sets.
    """

    matrix: OverlapMatrix
    common: Common
    open: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class HardScenes:
    """The scenes of one planner that a metric takes for hard, beside those with a threat.

    Attributes:
        metric: The metric.
        worse: Its bad end.
        values: Of each scene with a verdict and the metric.
        overlap: Of the worst of them (first) and those with a threat (second).
        unknown: Scenes with a verdict that lack the metric.
        open: Scenes without a verdict.
    """

    metric: Metric
    worse: Worse
    values: Mapping[str, float]
    overlap: Overlap
    unknown: int
    open: int


def measure_cases(cases: Sequence[Case]) -> MetricTable:
    """Displacement, heading, Rater Feedback Score and numbers from outside, of each case and planner.

    Raises:
        InputError: A planner has a scene twice.
    """
    return measure(cases)


def judged_cases(store: Store, set_id: str) -> tuple[Entry, ...]:
    """The cases of a set that are labelled for its numbers: those for labelling, without the flags that were left out by choice."""
    out = set(left_out(store, set_id))
    return tuple(e for e in entries_for(store, set_id) if e.role == "labelling" and not out & set(e.flags))


def verdicts_of_labels(store: Store, set_id: str, rule: Rule = "majority") -> SetVerdicts:
    """Verdicts from what people said of a set; hidden repeats, gold probes and practice never count, nor do people with a flag.

    Args:
        store: The workspace.
        set_id: Case set.
        rule: How several labels of a case become one; a reviewer's consensus goes before it.

    Raises:
        InputError: There is no such set, or its files are gone.
    """
    cases = judged_cases(store, set_id)
    ids = {e.case_id for e in cases}
    people = people_of(store, set_id)
    counting = counts_for(store, set_id, people)
    labels = {who: [c for c in of if c in ids] for who, of in main_labels(people).items()}
    given = Counter(c for who, of in labels.items() if counting[who] for c in of)
    verdicts = tuple(v for v in label_verdicts(store, set_id, rule) if v.case_id in ids)
    every = [e for e in entries_for(store, set_id) if e.role == "labelling"]
    return SetVerdicts(
        verdicts,
        len(cases),
        len(cases) - len(verdicts),
        len(every) - len(cases),
        people=sum(bool(of) and counting[who] for who, of in labels.items()),
        not_counting=sum(bool(of) and not counting[who] for who, of in labels.items()),
        labels=given.total(),
        consensus=sum(c in ids for c in decisions(people)),
        several=sum(n > 1 for n in given.values()),
    )


def verdicts_of_file(store: Store, set_id: str, text: str) -> SetVerdicts:
    """Verdicts from a JSONL file on cases of a set.

    Raises:
        InputError: A line is no verdict, or names an unknown case or threat; every problem is listed.
    """
    every = [e for e in entries_for(store, set_id) if e.role == "labelling"]
    cases = judged_cases(store, set_id)
    kept = {e.case_id for e in cases}
    found = read_verdicts(text, load_taxonomy(), _places(entries_for(store, set_id)))
    verdicts = tuple(v for v in found if v.case_id in kept)
    return SetVerdicts(verdicts, len(cases), len(cases) - len(verdicts), len(every) - len(cases))


def threat_rates(found: SetVerdicts, policy: Policy = "exclude") -> NatrReport:
    """NATR of each planner, for all threats and every part of the taxonomy."""
    return natr(found.verdicts, load_taxonomy(), policy)


def rates_json(report: NatrReport) -> dict[str, Any]:
    """Rates as JSON values: every rate with its scenes, both intervals, the bounds, and what became of scenes without a verdict."""

    def rate(r: ThreatRate) -> dict[str, Any]:
        spans = {"bounds": r.natr_bounds, "bootstrap": r.natr_bootstrap, "wilson": r.natr_wilson}
        natr_ = {"value": r.natr} | {k: None if x is None else [x.low, x.high] for k, x in spans.items()}
        return {"set": r.set.id, "level": r.set.level, "n": r.n, "threats": r.threats, "open": r.open, "rate": r.rate, "natr": natr_}

    def planner(p: PlannerRates) -> dict[str, Any]:
        return {"planner": p.planner_id, "n": p.n, "statuses": dict(p.statuses), "unnamed": p.unnamed, "rates": [rate(r) for r in p.rates]}

    return {
        "policy": report.policy,
        "taxonomy": report.taxonomy,
        "repeats": report.repeats,
        "seed": report.seed,
        "scenes_in_common": len(report.common.scenes),
        "left_out_by_planner": report.common.left_out,
        "planners": [planner(p) for p in report.planners],
        "on_scenes_in_common": [planner(p) for p in report.shared],
        "differences": [asdict(d) for d in report.differences],
    }


def threats_by_metric(
    found: SetVerdicts, table: MetricTable, metric: str, scale: Scale = "quantile", bins: int = BINS
) -> tuple[BinnedRate, ...]:
    """Share of scenes with a threat by bins of a metric, all planners in the same bins."""
    return binned_rates(table.of(metric), found.statuses, scale, bins)


def agreement_of_groups(store: Store, set_id: str) -> dict[str, RaterAgreement]:
    """How far people agree within the project and outside it, over the labels that count; groups of one person say nothing."""
    answers, names = agreement(store, set_id).answers, codes(store, set_id)
    inside = {names[a.id] for a in store.labels.annotators() if a.researcher}
    groups = {
        "Members of the project": {p: of for p, of in answers.items() if p in inside},
        "Others": {p: of for p, of in answers.items() if p not in inside},
    }
    return {name: rater_agreement(of) for name, of in groups.items() if len(of) > 1}


def threat_overlap(found: SetVerdicts) -> ThreatOverlap:
    """How far the planners show threats in the same scenes."""
    statuses = found.statuses
    common = in_common(statuses)
    scenes = set(common.scenes)
    sets = {p: frozenset(s for s, x in of.items() if x == "has_threat" and s in scenes) for p, of in sorted(statuses.items())}
    open_ = {p: sum(x == "abstain" and s in scenes for s, x in of.items()) for p, of in sorted(statuses.items())}
    return ThreatOverlap(overlap_matrix(sets, common.scenes), common, open_)


def metric_overlap(found: SetVerdicts, table: MetricTable, metric: str, percents: Sequence[float] = SWEEP) -> Sweep | None:
    """How far the worst scenes by a metric are the same for all planners, among the scenes with a verdict.

    Returns:
        None where nobody said which end of the metric is worse.
    """
    worse = next((m.worse for m in table.metrics if m.key == metric), None)
    values = table.of(metric)
    judged = {p: {s: values.get(p, {}).get(s) for s in of} for p, of in sorted(found.statuses.items())}
    return None if worse is None else threshold_sweep(metric, judged, worse, percents)


def hard_scenes(found: SetVerdicts, table: MetricTable, planner: str, metrics: Sequence[str], percent: float) -> tuple[HardScenes, ...]:
    """Whether the scenes that metrics take for hard are those with a threat, for one planner.

    Args:
        found: The verdicts.
        table: The metrics.
        planner: Whose scenes.
        metrics: Keys of metrics; those of which nobody said which end is worse, or that no scene with a verdict has, are left out.
        percent: The worst x % are hard.
    """
    statuses = found.statuses.get(planner, {})
    decided = {s for s, x in statuses.items() if x != "abstain"}
    threats = {s for s, x in statuses.items() if x == "has_threat"}
    out = []
    for m in table.metrics:
        if m.key not in metrics or m.worse is None:
            continue
        every = table.of(m.key).get(planner, {})
        values = {s: v for s in sorted(decided) if (v := every.get(s)) is not None and math.isfinite(v)}
        if values:
            shared = overlap(worst(values, percent, m.worse), threats & values.keys(), values)
            out.append(HardScenes(m, m.worse, values, shared, len(decided) - len(values), len(statuses) - len(decided)))
    return tuple(out)


def _places(cases: Sequence[Entry]) -> Places:
    return {e.case_id: (e.scene_id, e.planner_id) for e in cases}
