"""Metrics of a case set by planner, and numbers that were computed elsewhere."""

from __future__ import annotations

import json

import pandas as pd
import streamlit as st
from markupsafe import Markup

from core.trajectories.measure import MetricTable, Summary
from pages.shared import shell
from pages.shared.markup import Text, count, table


def show(numbers: MetricTable) -> None:
    """Each metric with its mean, interval, n, and what has no number and why."""
    planners = list(numbers.common.counts)
    sub = "mean over scenes, 95 % bootstrap interval over scenes in small type, n"
    shell.section("Metrics by planner", sub)
    by = {(s.metric, s.planner_id): s for s in numbers.summaries}
    known = [m for m in numbers.metrics if any(by[m.key, p].n for p in planners)]
    rows = [[_named(m.label, m.unit, m.worse), *(_cell(by[m.key, p]) for p in planners)] for m in known]
    if rows:
        shell.html(table(["Metric", *(p.replace("_", " ") for p in planners)], rows, right=range(1, len(planners) + 1)))
    none = [m.label for m in numbers.metrics if m not in known]
    if none:
        shell.note(f"Known for no case: {', '.join(none)}.")
    shell.note(numbers.common.text())
    _unknown(numbers)
    st.download_button(
        "Download the numbers of all cases", lambda: _csv(numbers), "metrics.csv", "text/csv", on_click="ignore", key="case_csv"
    )


def _named(label: str, unit: str, worse: str | None) -> Text:
    end = {"high": "lower is better", "low": "higher is better"}.get(worse or "", "from outside")
    return Markup('{} <small class="od-quiet">{}</small>').format(label + (f", {unit}" if unit else ""), end)


def _cell(s: Summary) -> Text:
    if s.mean is None:
        return Markup('– <small class="od-quiet">n = 0</small>')
    span = "" if s.low is None or s.high is None else f"{s.low:.2f} to {s.high:.2f}, "
    both = "" if s.shared_mean is None or s.shared_n == s.n else f"; on the {s.shared_n:,} shared {s.shared_mean:.2f}"
    return Markup('{} <small class="od-quiet">{}n = {}{}</small>').format(f"{s.mean:.2f}", span, f"{s.n:,}", both)


def _unknown(numbers: MetricTable) -> None:
    """Why cases have no number, each reason counted."""
    reasons: dict[tuple[str, str], int] = {}
    for m in numbers.metrics:
        for s in numbers.summaries:
            if s.metric == m.key:
                for why, n in s.reasons.items():
                    reasons[m.label, why] = reasons.get((m.label, why), 0) + n
    if reasons:
        with st.expander(f"Without a number ({count(len(reasons), 'reason')})"):
            rows = [[label, why, f"{n:,}"] for (label, why), n in sorted(reasons.items(), key=lambda x: -x[1])]
            shell.html(table(["Metric", "Why", "Cases"], rows, right=(2,)))


def _csv(numbers: MetricTable) -> str:
    rows = [
        {"planner": p, "scene": s, "metric": m.key, "unit": m.unit, "value": x.value, "remark": x.reason}
        for m in numbers.metrics
        for p, scenes in numbers.values[m.key].items()
        for s, x in scenes.items()
    ]
    return str(pd.DataFrame(rows).to_csv(index=False))


def as_json(numbers: MetricTable) -> str:
    """Summaries with their shared means, for a file."""
    return json.dumps([vars(s) for s in numbers.summaries], indent=1, ensure_ascii=False)
