"""Threat rates by metrics, and whether planners fail in the same scenes."""

from __future__ import annotations

import streamlit as st

from core.operators import threats
from core.operators.threats import SetVerdicts
from core.plots.threat_frames import binned_frame, overlap_frame
from core.plots.threat_maps import MEASURES, STATUS_CATEGORIES, overlap_map, pattern_map
from core.plots.threat_rates import binned_chart
from core.threats import SCALES
from core.trajectories.measure import MetricTable
from pages.shared import charts, shell, threat_tails
from pages.shared.markup import count, percent, table
from pages.shared.threat_text import beside_chance, planner

BINS = (3, 5, 10)


def by_metric(found: SetVerdicts, numbers: MetricTable) -> None:
    """Threat rate in bins of a metric."""
    known = {m.key: m.label for m in numbers.metrics if any(v is not None for of in numbers.of(m.key).values() for v in of.values())}
    if not known:
        shell.empty("No metric is known for any case of this set.")
        return
    first = "ade_5s_expert" if "ade_5s_expert" in known else next(iter(known))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        metric = st.selectbox("Metric", list(known), list(known).index(first), format_func=known.get, key="metric", width=240)
        scale = st.selectbox(
            "Bins", list(SCALES), 2, format_func=lambda s: SCALES[s].capitalize(), key="scale", bind="query-params", width=200
        )
        bins = st.segmented_control("Number", BINS, default=5, required=True, key="bins")
    rates = threats.threats_by_metric(found, numbers, metric, scale, bins or 5)
    shell.section(f"Threat rate by {known[metric]}", "share of scenes with an added threat, 95 % Wilson intervals, n below")
    charts.wide(binned_chart(rates, known[metric], shell.dark()), "binned")
    out = [f"{planner(r.planner_id)}: {r.unknown:,} without the metric, {r.outside:,} outside the bins" for r in rates]
    open_ = sum(b.open for r in rates for b in r.bins)
    shell.note(f"Left out: {'; '.join(out)}. Scenes without a verdict are in no rate: {open_:,}.")
    rows = [
        [planner(r.planner_id), f"{b.low:.2f} to {b.high:.2f}", f"{b.n:,}", f"{b.threats:,}", f"{b.open:,}", percent(b.rate),
         "–" if b.interval is None else f"{b.interval.low:.0%} to {b.interval.high:.0%}"]
        for r in rates for b in r.bins
    ]  # fmt: skip
    with st.expander("As a table"):
        shell.html(table(["Planner", known[metric], "n", "Threats", "No verdict", "Rate", "95 %"], rows, right=range(2, 7)))
        csv = binned_frame(rates, known[metric]).to_csv(index=False)
        st.download_button("Download CSV", csv, "threats_by_metric.csv", "text/csv", key="binned_csv", on_click="ignore")


def overlap(found: SetVerdicts, numbers: MetricTable) -> None:
    """Whether the planners' threats lie in the same scenes, and whether metrics would have found the same scenes hard."""
    result = threats.threat_overlap(found)
    if len(result.matrix.names) < 2:
        shell.empty("Overlap needs verdicts on two planners or more.")
        return
    if not result.common.scenes:
        shell.empty("The planners share no scene with a verdict.")
        return
    dark = shell.dark()
    shell.section("Verdicts scene by scene", f"{count(len(result.common.scenes), 'scene')} in common, sorted by pattern")
    shared = set(result.common.scenes)
    rows = {planner(p): {s: x for s, x in of.items() if s in shared} for p, of in found.statuses.items()}
    charts.wide(pattern_map(rows, STATUS_CATEGORIES, dark), "verdict_pattern")
    measure = st.segmented_control(
        "Measure", list(MEASURES), format_func=lambda m: MEASURES[m][0], default="directional", required=True, key="measure"
    )
    left, right = st.columns([0.46, 0.54], gap="large")
    with left:
        shell.section("Same scenes?", MEASURES[measure or "directional"][1])
        st.altair_chart(overlap_map(result.matrix, measure or "directional", dark), width="content", key="overlap")
        told = ", ".join(f"{planner(p)} {n:,}" for p, n in result.open.items() if n)
        shell.note(f"Scenes without a verdict are in no set{': ' + told if told else ', and there are none'}.")
    with right:
        sweeps = threat_tails.curves(found, numbers)
    _pairs(result)
    threat_tails.heat(sweeps, measure or "directional")
    threat_tails.hard(found, numbers)


def _pairs(result: threats.ThreatOverlap) -> None:
    names = result.matrix.names
    rows = []
    for i, row in enumerate(result.matrix.pairs):
        for j, o in enumerate(row[i + 1 :], i + 1):
            sizes = [f"{o.first:,}", f"{o.second:,}", f"{o.shared:,}"]
            both = f"{planner(names[i])} and {planner(names[j])}"
            rows.append([both, *sizes, *beside_chance(o)])
    columns = ["Planners", "First", "Second", "Shared", "By chance", "Lift", "Jaccard", "Kappa", "p"]
    shell.section("Corrected for chance", f"n = {count(result.matrix.n, 'scene')}; p: as many shared or more by chance (hypergeometric)")
    shell.html(table(columns, rows, right=range(1, 9)))
    csv = overlap_frame(result.matrix).to_csv(index=False)
    st.download_button("Download CSV", csv, "threat_overlap.csv", "text/csv", key="overlap_csv", on_click="ignore")
