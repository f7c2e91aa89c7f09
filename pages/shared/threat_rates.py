"""NATR of each planner, its parts by category, group and threat, and differences between planners."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from markupsafe import Markup

from core.operators.threats import SetVerdicts
from core.plots.threat_frames import difference_frame
from core.plots.threat_rates import natr_intervals, rate_intervals
from core.threats import NatrReport, PlannerRates, Span, ThreatRate
from core.trajectories.measure import MetricTable, Summary, on_scenes
from pages.shared import shell
from pages.shared.markup import Text, chip, count, minus, percent, table
from pages.shared.threat_text import FEW, clear, comparable, figure, planner, span

LEVELS = {"supercategory": "Categories", "group": "Groups", "threat": "Threats"}
BESIDE = ("ade_5s_expert", "rfs")
"""Metrics that stand beside NATR."""


def overview(report: NatrReport, numbers: MetricTable, found: SetVerdicts) -> None:
    """All planners side by side, on the scenes that they share where there are enough; metrics over the same scenes."""
    same = comparable(report)
    on = _scenes(report, same)
    shell.section("No Additional Threat Rate", f"share of scenes without an added threat, {on}; broad bar: no verdict counted both ways")
    st.altair_chart(natr_intervals(report, shell.dark(), shared=same), width="content", key="natr")
    planners = report.shared if same else report.planners
    judged = {p: report.common.scenes if same else tuple(of) for p, of in found.statuses.items()}
    beside = on_scenes(numbers, judged, BESIDE)
    rows = [
        _line(p, [_metric(beside.get((m.key, p.planner_id)), same) for m in numbers.metrics if m.key in BESIDE])
        for p in sorted(planners, key=lambda p: -(p.overall.natr or 0.0))
    ]
    categories = [r.set.label for r in planners[0].level("supercategory")]
    metrics = [m.label for m in numbers.metrics if m.key in BESIDE]
    wrapped = (Markup('<span class="od-wrap">{}</span>').format(c) for c in [*categories, *metrics])
    columns: list[Text] = ["Planner", "NATR", "Bounds", "n", "No verdict", *wrapped]
    shell.html(table(columns, rows, right=range(1, len(columns))))
    shell.note(
        "NATR: 95 % bootstrap over scenes in small type; bounds: scenes without a verdict counted as threats, and as none. "
        "Categories: share of scenes with a threat of that kind, with the range if scenes of which it is not known are counted both ways; "
        "a scene may count in several. A threat that nobody named leaves every category open. "
        + (
            "Metrics: mean over those of these scenes in which every planner has the metric, 95 % bootstrap over scenes, n."
            if same and len(planners) > 1
            else "Metrics: mean over those of the planner's scenes here that have the metric, 95 % bootstrap over scenes, n."
        )
    )
    differences(report)


def _scenes(report: NatrReport, same: bool) -> str:
    """On which scenes the rates stand."""
    if len(report.planners) == 1:
        return f"on {count(report.planners[0].n, 'scene')}"
    return f"on the {count(len(report.common.scenes), 'scene')} that all share" if same else "each planner on its own scenes"


def _line(p: PlannerRates, metrics: Sequence[Text]) -> Sequence[object]:
    r = p.overall
    natr = _small(figure(r), "" if r.natr_bootstrap is None else span(r.natr_bootstrap))
    open_ = _small(f"{r.open:,}", f"{percent(r.open / r.n)}" if r.n else "")
    parts = [_small(figure(c, natr=False), span(c.bounds) if c.open and c.rate is not None else "") for c in p.level("supercategory")]
    return [
        planner(p.planner_id),
        natr,
        span(r.natr_bounds),
        f"{r.n:,}",
        open_,
        *parts,
        *metrics,
    ]


def _metric(found: Summary | None, same: bool) -> Text:
    """A mean with its interval and n; on the same scenes for all planners where they are compared on such."""
    if found is None:
        return "–"
    mean, low, high, n = (
        (found.shared_mean, found.shared_low, found.shared_high, found.shared_n) if same else (found.mean, found.low, found.high, found.n)
    )
    if mean is None:
        return _small("–", "n = 0")
    return _small(f"{mean:.2f}", ("" if low is None or high is None else f"{low:.2f} to {high:.2f}, ") + f"n = {n:,}")


def _small(value: Text, basis: Text) -> Markup:
    return Markup('{}<small class="od-quiet od-under">{}</small>').format(value, basis)


def differences(report: NatrReport) -> None:
    """Each pair of planners on the scenes that both have."""
    if not report.differences:
        return
    shell.section("Differences", "NATR of the first less that of the second, on their shared scenes, paired bootstrap over scenes, 95 %")
    rows = []
    for d in report.differences:
        told = chip("clear", "info") if clear(d) else chip("not clear") if d.n >= FEW else chip(f"fewer than {FEW} scenes")
        points = "–" if d.value is None else f"{minus(100 * d.value, '+.1f')} points"
        boot = _points(d.bootstrap)
        bounds = _points(d.bounds)
        rows.append([f"{planner(d.first)} and {planner(d.second)}", points, boot, bounds, f"{d.n:,}", f"{d.left_out:,}", told])
    columns = ["Planners", "Difference", "95 %", "If open scenes go either way", "Shared scenes", "Not shared", ""]
    shell.html(table(columns, rows, right=(1, 2, 3, 4, 5)))
    csv = difference_frame(report).to_csv(index=False)
    st.download_button("Download differences", csv, "natr_differences.csv", "text/csv", key="differences_csv", on_click="ignore")


def _points(x: Span | None) -> str:
    """Two ends of a difference, in points."""
    return "–" if x is None else f"{minus(100 * x.low, '+.1f')} to {minus(100 * x.high, '+.1f')}"


def by_threat(report: NatrReport) -> None:
    """The rates of one planner over a level of the taxonomy."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        names = [p.planner_id for p in report.planners]
        name = st.selectbox("Planner", names, format_func=planner, key="threat_planner", bind="query-params", width=240)
        level = st.segmented_control(
            "Level", list(LEVELS), format_func=LEVELS.__getitem__, default="supercategory", required=True, key="level", bind="query-params"
        )
    p = next((p for p in report.planners if p.planner_id == name), report.planners[0])
    rates = p.level(level or "supercategory")
    seen = [r for r in rates if r.threats or level != "threat"]
    shell.section(
        f"{LEVELS[level or 'supercategory']} of {planner(p.planner_id)}", f"share of its {count(p.n, 'scene')} with a threat of that kind"
    )
    if seen:
        st.altair_chart(rate_intervals({r.set.label: r for r in seen}, shell.dark()), width="content", key=f"rates-{level}-{p.planner_id}")
    if len(seen) < len(rates):
        shell.note(f"{len(rates) - len(seen)} of {len(rates)} threats were found in no scene and are not drawn; the table lists them.")
    if p.unnamed:
        shell.note(
            f"In {p.unnamed:,} of {count(p.statuses['has_threat'], 'scene')} with a threat nobody named it: there every kind is open."
        )
    shell.html(
        table(["", "Scenes with it", "Open", "n", "Rate", "Bounds", "Bootstrap", "Wilson"], [_rate(r) for r in rates], right=range(1, 8))
    )


def _rate(r: ThreatRate) -> Sequence[object]:
    boot, wil = span(r.bootstrap, 1), span(r.wilson, 1)
    return [r.set.label, f"{r.threats:,}", f"{r.open:,}", f"{r.n:,}", percent(r.rate, 1), span(r.bounds, 1), boot, wil]
