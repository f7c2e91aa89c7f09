"""Threat rates: how often planners add a threat, by kind of threat and by metric, and whether they do in the same scenes."""

from __future__ import annotations

import json

import streamlit as st

from core import operators
from core.plots.threat_frames import natr_frame
from pages.shared import case_list, case_sets, shell, threat_analysis, threat_rates, threat_source, threat_text
from pages.shared.markup import count
from pages.shared.shell import Action

NAME = "Threat rates"
OVERVIEW, KINDS, METRICS, OVERLAP = VIEWS = ("Planners", "By threat", "By metric", "Overlap")
EMPTY = (
    "Here you will see how often each planner adds a threat, with what is not decided counted both ways, by kind of threat and by metric."
)

shell.begin("pages/threats.py")
with shell.errors_as_card(NAME, "The threat rates cannot be shown."):
    current = case_sets.current()
    if current is None:
        case_sets.without(NAME, "No case yet, so no threat rate.", EMPTY)
        st.stop()
    content = case_sets.opened(current)
    numbers = case_list.measured(current, content)
top = st.container()
with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
    view = st.segmented_control(
        "View", VIEWS, default=OVERVIEW, required=True, key="view", bind="query-params", label_visibility="collapsed"
    )
    case_sets.box(current)
case_sets.pin(current)
with shell.errors_as_card(NAME, "The threat rates cannot be shown."):
    source = threat_source.controls(current)
report, found = source.report, source.found
if report is None or found is None:
    with top:
        waiting = (
            "Give a file of verdicts."
            if source.kind == threat_source.FILE
            else f"None of {count(current.cases, 'case')} has a verdict yet."
        )
        prov = case_sets.provenance(current)
        label = Action("label", "Label cases", "primary", page="pages/label.py")
        shell.header(NAME, waiting, prov, [label] if source.kind == threat_source.PEOPLE else [], synthetic=current.synthetic)
    shell.empty(EMPTY)
    st.stop()
with top:
    as_json = lambda: json.dumps(operators.rates_json(report), indent=1, ensure_ascii=False, allow_nan=False)  # noqa: E731
    actions = [
        Action("csv", "Download CSV", download=lambda: natr_frame(report).to_csv(index=False), file_name="natr.csv"),
        Action("json", "Download JSON", download=as_json, file_name="natr.json", mime="application/json"),
    ]
    prov = threat_text.provenance(source, report, found)
    shell.header(NAME, threat_text.headline(report), prov, actions, synthetic=current.synthetic)
threat_source.told(source)
if view == KINDS:
    threat_rates.by_threat(report)
elif view == METRICS:
    threat_analysis.by_metric(found, numbers)
elif view == OVERLAP:
    threat_analysis.overlap(found, numbers)
else:
    threat_rates.overview(report, numbers, found)
    threat_source.download(found)
