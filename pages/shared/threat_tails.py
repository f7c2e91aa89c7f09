"""Whether metrics find the scenes hard in which planners add threats, and the same ones for each planner (FluidTest, Fig. 12 and 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from core.operators import threats
from core.operators.threats import SetVerdicts
from core.plots.threat_frames import sweep_frame
from core.plots.threat_maps import MEASURES, STATUS_CATEGORIES, TAIL_CATEGORIES, Measure, pattern_map, sweep_map, tail_row
from core.plots.threat_rates import sweep_lines
from core.threats import Sweep
from core.trajectories.measure import MetricTable
from pages.shared import charts, shell
from pages.shared.markup import table
from pages.shared.threat_text import beside_chance, planner

METRICS = ("ade_5s_expert", "fde_5s_expert", "rfs")
TAILS = (10, 30, 50)
COLUMNS = (3, 10, 30, 50, 70, 90)
"""Thresholds of the heat map, which fits narrow windows; the download has all."""


def curves(found: SetVerdicts, numbers: MetricTable) -> list[Sweep]:
    """Overlap of the worst scenes by each metric over thresholds, as lines; returns what was drawn."""
    labels = {m.key: m.label for m in numbers.metrics}
    every = [threats.metric_overlap(found, numbers, k) for k in METRICS if k in labels]
    sweeps = [replace(s, metric=labels[s.metric]) for s in every if s is not None and s.common.scenes]
    shell.section("Worst scenes by metrics", "share of the worst x % that two planners have in common; dashed: chance")
    if not sweeps:
        shell.note("No metric is known for scenes that all planners share.")
        return []
    charts.wide(sweep_lines(sweeps, dark=shell.dark()), "sweeps")
    shell.note(f"Scenes that are compared. {' '.join(map(_compared, sweeps))}")
    return sweeps


def _compared(s: Sweep) -> str:
    """How many scenes a sweep rests on, and what each planner has beside them."""
    left = [
        f"{planner(p)} {n:,} without it" if why is s.unknown else f"{planner(p)} {n:,} not shared"
        for why in (s.unknown, s.common.left_out)
        for p, n in why.items()
        if n
    ]
    return f"{s.metric}: n = {len(s.common.scenes):,}{', left out: ' + ', '.join(left) if left else ''}."


def heat(sweeps: Sequence[Sweep], measure: Measure) -> None:
    """The same threshold by threshold, as a heat map."""
    if not sweeps:
        return
    with st.expander("Worst scenes, threshold by threshold"):
        shell.section(MEASURES[measure][0], f"{MEASURES[measure][1]}; columns: the worst x % of the scenes")
        some = [replace(s, points=tuple(p for p in s.points if p.percent in COLUMNS)) for s in sweeps]
        st.altair_chart(sweep_map(some, measure, shell.dark(), cell=44), width="content", key="sweep_map")
        csv = sweep_frame(sweeps).to_csv(index=False)
        st.download_button("Download CSV", csv, "worst_scenes.csv", "text/csv", key="sweep_csv", on_click="ignore")


def hard(found: SetVerdicts, numbers: MetricTable) -> None:
    """Whether one planner adds threats in the scenes that metrics take for hard."""
    shell.section("Hard by a metric, threat by a verdict", "one column a scene that has both")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        name = st.selectbox("Planner", sorted(found.statuses), format_func=planner, key="hard_planner", width=240)
        percent = st.segmented_control("Worst", TAILS, format_func=lambda x: f"{x} %", default=50, required=True, key="hard_tail") or 50
    every = threats.hard_scenes(found, numbers, name, METRICS, percent)
    if not every:
        shell.note(f"No metric is known for a scene of {planner(name)} with a verdict.")
        return
    said = {s: x for s, x in found.statuses[name].items() if x != "abstain"}
    rows = {f"{h.metric.label}": tail_row(h.values, percent, h.worse) for h in every} | {"Verdict": said}
    charts.wide(pattern_map(rows, (*STATUS_CATEGORIES[:2], *TAIL_CATEGORIES), shell.dark()), "hard_pattern")
    figures = [
        [h.metric.label, f"{h.overlap.n:,}", f"{h.overlap.first:,}", f"{h.overlap.second:,}", f"{h.overlap.shared:,}",
         *beside_chance(h.overlap), f"{h.unknown:,}", f"{h.open:,}"]
        for h in every
    ]  # fmt: skip
    columns = [
        "Metric",
        "n",
        f"Worst {percent} %",
        "Threats",
        "Both",
        "By chance",
        "Lift",
        "Jaccard",
        "Kappa",
        "p",
        "Without it",
        "No verdict",
    ]
    shell.html(table(columns, figures, right=range(1, 12)))
