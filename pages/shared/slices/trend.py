"""How the error goes with the matching score, and the slope of every window beside what chance would give."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.error_slices.detections import FloatArray
from core.error_slices.verification.settings import Sample
from core.error_slices.verification.views import CurveBin, WindowView, curve, windows_of
from core.operators import slices
from core.operators.slice_report import SliceReport, SliceRow
from core.plots.slice_charts import ScoreAxis, TrendPoint, WindowRow, thinned, trend_curve, window_slopes
from pages.shared import charts, shell
from pages.shared.markup import Text, count, fill, join, mark, minus
from pages.shared.slice_text import LOSSES, p_value

NAMES: dict[ScoreAxis, str] = {"score": "Score", "logit": "Logit", "rank": "Rank"}
BINS = 10


def show(report: SliceReport, row: SliceRow) -> None:
    """The curve and the windows side by side."""
    left, right = st.columns([0.56, 0.44], gap="large")
    with left:
        _curve(report, row)
    with right:
        _windows(report, row)


@st.cache_data(show_spinner=False, max_entries=64)
def view_of(digest: str, name: str, _report: SliceReport, _row: SliceRow) -> WindowView:
    """The windows of a slice with their null, computed once."""
    del digest, name  # only keys of the cache
    return windows_of(slices.sample_of(_report, _row), _report.settings.test)


@st.fragment
def _curve(report: SliceReport, row: SliceRow) -> None:
    sample = slices.sample_of(report, row)
    scored = np.isfinite(sample.c)
    if not scored.any():
        shell.section("Error by matching score")
        shell.empty("No unit of this hypothesis has a score, so there is no curve.")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        head = st.empty()
        x: ScoreAxis = st.segmented_control(
            "Scores as", list(NAMES), format_func=NAMES.__getitem__, default="score", required=True, key="x", bind="query-params",
            label_visibility="collapsed",
        )  # fmt: skip
    wilson = "Wilson 95 %" if row.hypothesis.error in ("FN", "FP", "CLS") else "95 %"
    with head:
        n = count(int(scored.sum()), "scored unit")
        shell.section("Error by matching score", f"{n} in bins of equal {'count' if x == 'rank' else 'width'}, {wilson}")
    gamma = report.settings.test.gamma
    edge = edge_of(sample, gamma, x)
    points = [
        TrendPoint(p.x, p.rate.value, p.rate.low, p.rate.high, p.rate.n, _inside(p, edge))
        for p in curve(sample, BINS, x)
        if p.rate.value is not None and p.rate.low is not None and p.rate.high is not None
    ]
    t = row.tested
    levels = [] if t is None or t.overall.value is None else [("all scored", t.overall.value)]
    if t is not None and t.outside.value is not None and t.outside.n:
        levels.append(("outside", t.outside.value))
    chart = trend_curve(
        points, x, edge, levels, _rug(sample, x), _fit(sample, gamma, t.slope if t else None, x),
        LOSSES[row.hypothesis.error], shell.dark(),
    )  # fmt: skip
    charts.wide(chart, key="trend")
    text = f"Shaded: the slice, scores above γ = {gamma:g}. Dots grow with their number of units"
    text += "." if x == "rank" else "; ticks at the foot are single units."
    if t is not None and t.slope is not None and x == "score":
        text += " Dotted: the slope over the whole slice."
    if t is not None and t.not_scorable:
        text += f" {count(t.not_scorable, 'unit')} without a score {'is' if t.not_scorable == 1 else 'are'} left out."
    shell.note(text)


def _rug(sample: Sample, x: ScoreAxis) -> FloatArray:
    """Where single units stand on an axis; by rank they stand evenly, which tells nothing."""
    known = np.isfinite(sample.c) & np.isfinite(sample.logit)
    return np.empty(0) if x == "rank" else thinned(sample.c[known] if x == "score" else sample.logit[known])


def _inside(p: CurveBin, edge: float | None) -> bool:
    return edge is not None and p.x > edge


def edge_of(sample: Sample, gamma: float, x: ScoreAxis) -> float | None:
    """Where the slice begins on an axis; None where no unit lies in it."""
    known = np.isfinite(sample.c)
    if not (sample.c[known] > gamma).any():
        return None
    if x == "score":
        return gamma
    if x == "logit":
        return float(np.log(gamma / (1 - gamma))) if 0 < gamma < 1 else None
    return float((sample.c[known] <= gamma).mean())


def _fit(sample: Sample, gamma: float, slope: float | None, x: ScoreAxis) -> tuple[float, float, float, float] | None:
    """The slope over the slice as a line through the means of its units; a line only where the axis is the score."""
    inside = np.isfinite(sample.c) & (sample.c > gamma)
    if slope is None or x != "score" or not inside.any():
        return None
    c, weight = sample.c[inside], sample.weight[inside]
    centre, level = float(np.average(c, weights=weight)), float(np.average(sample.loss[inside], weights=weight))
    ends = float(c.min()), float(c.max())
    return ends[0], level + slope * (ends[0] - centre), ends[1], level + slope * (ends[1] - centre)


def _windows(report: SliceReport, row: SliceRow) -> None:
    view = view_of(report.digest, row.hypothesis.id, report, row)
    shell.section("Slope of each window against chance", "grey band: where 95 % of random losses fall")
    if not view.windows:
        shell.empty("The slice has too few units, or all have the same score: there is no slope.")
        return
    rows = [WindowRow(w.name, w.n, w.z, w.slope, w.z_low, w.z_high) for w in view.windows]
    charts.wide(window_slopes(rows, shell.dark()), key="windows")
    shell.note(_said(report, row, view))


def _said(report: SliceReport, row: SliceRow, view: WindowView) -> Text:
    beyond = sum(w.z > w.z_high for w in view.windows)
    n = len(view.windows)
    verb = "leaves" if beyond == 1 or n == 1 else "leave"
    parts: list[Text] = [
        fill("{k} {verb} the band.", k=mark(f"{beyond} of {count(n, 'window')}"), verb=verb),
        _test(report, row, view),
        "Signs are flipped by image, so units of one picture count together.",
    ]
    t = row.tested
    if t is not None and t.q_adjusted is not None and t.q_trend is not None and t.q_trend < report.settings.test.fdr <= t.q_adjusted:
        parts.append(
            fill(
                "Within strata of size and class the trend is not seen any more (q = {q}): size or class may be behind it.",
                q=p_value(t.q_adjusted),
            )
        )
    elif t is not None and t.q_adjusted is not None:
        parts.append(fill("Within strata of size and class: q = {q}.", q=p_value(t.q_adjusted)))
    return join(parts, " ")


def _test(report: SliceReport, row: SliceRow, view: WindowView) -> Text:
    q = row.tested.q_trend if row.tested else None
    if view.z is None or q is None:
        return "Nothing was decided from it: the slice has too few units, images or errors."
    text = "The test takes the largest, Z = {z}, and corrects for looking at {n}: p = {p}, and q = {q} after the correction for {m}."
    together = sum(r.tested is not None and r.tested.q_trend is not None for r in report.tested)
    m = count(together, "hypothesis", "hypotheses")
    p = row.tested.p_trend if row.tested else None  # counted among more signs than those of the view where it is small
    return fill(text, z=minus(view.z), n=len(view.windows), p=p_value(p), q=p_value(q), m=m)
