"""Sentences and figures of the page "Threat rates"."""

from __future__ import annotations

from core.operators.threats import SetVerdicts
from core.threats import Difference, NatrReport, Overlap, PlannerRates, Span, ThreatRate
from pages.shared.markup import Text, count, fill, mark, minus, percent
from pages.shared.threat_source import PEOPLE, POLICY_NAMES, RULE_NAMES, Source


def planner(name: str) -> str:
    """A planner as people write it."""
    return name.replace("_", " ").strip() or "(no planner named)"


def span(x: Span | None, digits: int = 0) -> str:
    """Two ends of shares."""
    return "–" if x is None else f"{x.low:.{digits}%} to {x.high:.{digits}%}"


def beside_chance(o: Overlap) -> list[str]:
    """What chance alone shares, lift, Jaccard, kappa, and how often chance shares as much."""
    figures = [(o.expected, ".1f"), (o.lift, ".2f"), (o.jaccard, ".2f"), (o.kappa, ".2f")]
    p = "–" if o.p is None else "< 0.001" if o.p < 0.001 else f"{o.p:.3f}"
    return [*("–" if x is None else minus(x, f) for x, f in figures), p]


def figure(r: ThreatRate, natr: bool = True) -> str:
    """A rate, or its bounds where the policy gives no single number."""
    value, bounds = (r.natr, r.natr_bounds) if natr else (r.rate, r.bounds)
    return span(bounds) if value is None else percent(value)


FEW = 10
"""Shared scenes below which planners are not compared: a bootstrap over fewer says little, and over one scene nothing."""


def comparable(report: NatrReport) -> bool:
    """Whether planners stand on enough scenes that all of them have."""
    return report.common.equal or len(report.common.scenes) >= FEW


def headline(report: NatrReport) -> Text:
    """Who is free of added threats how often, and whether that can be told apart."""
    if len(report.planners) == 1:
        p = report.planners[0]
        return fill(
            "{p} adds a threat in {r} of its scenes; {a} of {n} have no verdict.",
            p=planner(p.planner_id), r=mark(figure(p.overall, natr=False)), a=f"{p.overall.open:,}", n=f"{p.n:,}",
        )  # fmt: skip
    same = comparable(report)
    order = sorted(report.shared if same else report.planners, key=_natr, reverse=True)
    best, last = order[0], order[-1]
    if not same:
        return fill(
            "{p} is free of added threats in {x} of its {n}, {q} in {y} of its {m}; they are different scenes, so this compares nothing.",
            p=planner(best.planner_id), x=figure(best.overall), n=count(best.n, "scene"), q=planner(last.planner_id),
            y=mark(figure(last.overall)), m=count(last.n, "scene"),
        )  # fmt: skip
    if _natr(best) == _natr(last):
        return fill("All {n} are free of added threats in {r} of the scenes.", n=f"{len(order)} planners", r=mark(figure(best.overall)))
    told = "" if _decided(report, best, last) else "; that is too few scenes to tell them apart"
    return fill(
        "{p} is free of added threats in {x} of the scenes, {q} in {y}{told}.",
        p=planner(best.planner_id), x=figure(best.overall), q=planner(last.planner_id), y=mark(figure(last.overall)), told=told,
    )  # fmt: skip


def _natr(p: PlannerRates) -> float:
    """NATR for an order; the lower bound where the policy gives no single number."""
    r = p.overall
    return r.natr if r.natr is not None else r.natr_bounds.low if r.natr_bounds is not None else -1.0


def _decided(report: NatrReport, a: PlannerRates, b: PlannerRates) -> bool:
    """Whether the difference between two planners leaves out zero."""
    names = {a.planner_id, b.planner_id}
    found = next((d for d in report.differences if {d.first, d.second} == names), None)
    return found is not None and clear(found)


def clear(d: Difference) -> bool:
    """Whether a difference leaves out zero, on enough scenes for that to mean something."""
    return d.n >= FEW and d.decided


def provenance(source: Source, report: NatrReport, found: SetVerdicts) -> Text:
    """n, intervals, where the verdicts come from, and everything that the numbers leave out."""
    parts = [f"{count(len(found.verdicts), 'verdict')} on {count(found.cases, 'case')}; {found.without:,} without one."]
    if source.kind == PEOPLE:
        rule = RULE_NAMES[source.rule].lower()
        by = f"From {count(found.labels, 'label')} by {count(found.people, 'person', 'people')} ({rule}), "
        parts.append(f"{by}{count(found.several, 'case')} by two or more; {found.consensus:,} settled by a reviewer.")
        if found.not_counting:
            parts.append(f"{count(found.not_counting, 'person', 'people')} left out until somebody looks at what stands out.")
    if found.flagged:
        parts.append(f"{count(found.flagged, 'flagged case')} left out.")
    if len(report.planners) > 1:
        parts.append(report.common.text())
    parts.append(f"Without a verdict: {POLICY_NAMES[source.policy].lower()}. Intervals 95 %, bootstrap over scenes.")
    return " ".join(parts)
