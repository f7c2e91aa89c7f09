"""What the charts of threats show, as tables for a download: every row with its n, its interval and what was left out."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.threats import BinnedRate, NatrReport, OverlapMatrix, Span, Sweep


def natr_frame(report: NatrReport) -> pd.DataFrame:
    """Rates of every planner and set of threats, on all scenes and on those in common."""
    rows = [
        {
            "planner": p.planner_id,
            "scenes_of": of,
            "level": r.set.level,
            "set": r.set.id,
            "label": r.set.label,
            "n": r.n,
            "threats": r.threats,
            "open": r.open,
            "policy": r.policy,
            "rate": r.rate,
            "natr": r.natr,
            **_ends("rate_bounds", r.bounds),
            **_ends("rate_bootstrap", r.bootstrap),
            **_ends("rate_wilson", r.wilson),
        }
        for of, planners in (("planner", report.planners), *(() if report.common.equal else (("all planners", report.shared),)))
        for p in planners
        for r in p.rates
    ]
    return pd.DataFrame(rows)


def difference_frame(report: NatrReport) -> pd.DataFrame:
    """NATR of one planner less that of another, pair by pair on their scenes in common."""
    return pd.DataFrame(
        {
            "first": d.first,
            "second": d.second,
            "n": d.n,
            "left_out": d.left_out,
            "policy": d.policy,
            "difference": d.value,
            **_ends("bounds", d.bounds),
            **_ends("bootstrap", d.bootstrap),
        }
        for d in report.differences
    )


def binned_frame(rates: Sequence[BinnedRate], metric: str) -> pd.DataFrame:
    """Threat rate of every planner in every bin."""
    return pd.DataFrame(
        {
            "metric": metric,
            "planner": r.planner_id,
            "scale": r.scale,
            "low": b.low,
            "high": b.high,
            "centre": b.centre,
            "n": b.n,
            "threats": b.threats,
            "open": b.open,
            "rate": b.rate,
            **_ends("wilson", b.interval),
            **_ends("bounds", b.bounds),
            "planner_unknown": r.unknown,
            "planner_outside": r.outside,
        }
        for r in rates
        for b in r.bins
    )


def overlap_frame(matrix: OverlapMatrix) -> pd.DataFrame:
    """Every pair of sets, each once and in the order of the matrix."""
    return pd.DataFrame(
        {
            "first": matrix.names[i],
            "second": matrix.names[j],
            "n": o.n,
            "size_first": o.first,
            "size_second": o.second,
            "shared": o.shared,
            "union": o.union,
            "jaccard": o.jaccard,
            "share_of_first": o.of_first,
            "share_of_second": o.of_second,
            "expected": o.expected,
            "lift": o.lift,
            "kappa": o.kappa,
            "p": o.p,
        }
        for i, row in enumerate(matrix.pairs)
        for j, o in enumerate(row)
        if j > i
    )


def sweep_frame(sweeps: Sequence[Sweep]) -> pd.DataFrame:
    """Every threshold and pair of planners."""
    return pd.DataFrame(
        {
            "metric": s.metric,
            "worse": s.worse,
            "percent": p.percent,
            "first": p.first,
            "second": p.second,
            "n": p.overlap.n,
            "size": p.overlap.first,
            "shared": p.overlap.shared,
            "union": p.overlap.union,
            "share": p.overlap.of_first,
            "expected_share": p.expected_share,
            "lift": p.overlap.lift,
            "kappa": p.overlap.kappa,
            "p": p.overlap.p,
            "first_unknown": s.unknown[p.first],
            "second_unknown": s.unknown[p.second],
        }
        for s in sweeps
        for p in s.points
    )


def _ends(name: str, span: Span | None) -> dict[str, float | None]:
    return {f"{name}_low": span.low if span else None, f"{name}_high": span.high if span else None}
