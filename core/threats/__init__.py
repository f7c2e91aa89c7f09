"""Additional threats: the taxonomy, the rate of scenes without one, and how far sets of hard scenes overlap.

    load_taxonomy() -> Taxonomy                       .threats, .sets (all, super-categories, groups, threats), .by_id
    read_verdicts(text, taxonomy, places=None) -> tuple[Verdict, ...]
    label_verdicts(labels, places, rule="majority", consensus=None) -> tuple[Verdict, ...]
    natr(verdicts, taxonomy, policy="exclude") -> NatrReport
    binned_rates(values, statuses, scale, bins=10) -> tuple[BinnedRate, ...]
    worst(values, percent, worse) -> frozenset of scene ids
    overlap(first, second, scenes) -> Overlap
    overlap_matrix(sets, scenes) -> OverlapMatrix     .jaccard(), .directional(), .kappa(), .lift()
    threshold_sweep(metric, values, worse, percents) -> Sweep
    in_common(scenes by planner) -> Common            .scenes, .left_out, .equal, .text()
    Confusion(tp, fp, fn, tn)                         .accuracy, .precision, .recall, .f(beta), intervals

`values` is always {planner: {scene: value or None}}, `statuses` {planner: {scene: status}}, `places` {case: (scene, planner)}.
"""

from core.threats.binned import SCALES, Bin, BinnedRate, Scale, bin_edges, binned_rates
from core.threats.confusion import Confusion
from core.threats.natr import POLICIES, Difference, NatrReport, PlannerRates, Policy, Span, ThreatRate, natr, shows, threat_rate
from core.threats.overlap import (
    SWEEP,
    Overlap,
    OverlapMatrix,
    Sweep,
    SweepPoint,
    Worse,
    overlap,
    overlap_matrix,
    overlap_of_counts,
    tail_size,
    threshold_sweep,
    worst,
)
from core.threats.taxonomy import Level, Taxonomy, Threat, ThreatSet, load_taxonomy, parse_taxonomy
from core.threats.verdicts import (
    RULES,
    STATUSES,
    HumanLabel,
    Places,
    Rule,
    Status,
    Verdict,
    label_verdicts,
    read_verdicts,
    verdict_lines,
)
from core.trajectories.scenes import Common, in_common

__all__ = [
    "POLICIES",
    "RULES",
    "SCALES",
    "STATUSES",
    "SWEEP",
    "Bin",
    "BinnedRate",
    "Common",
    "Confusion",
    "Difference",
    "HumanLabel",
    "Level",
    "NatrReport",
    "Overlap",
    "OverlapMatrix",
    "Places",
    "PlannerRates",
    "Policy",
    "Rule",
    "Scale",
    "Span",
    "Status",
    "Sweep",
    "SweepPoint",
    "Taxonomy",
    "Threat",
    "ThreatRate",
    "ThreatSet",
    "Verdict",
    "Worse",
    "bin_edges",
    "binned_rates",
    "in_common",
    "label_verdicts",
    "load_taxonomy",
    "natr",
    "overlap",
    "overlap_matrix",
    "overlap_of_counts",
    "parse_taxonomy",
    "read_verdicts",
    "shows",
    "tail_size",
    "threat_rate",
    "threshold_sweep",
    "verdict_lines",
    "worst",
]
