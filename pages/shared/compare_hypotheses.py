"""Two to four hypotheses side by side: their curves on one axis, their tests, and how far they name the same units."""

from __future__ import annotations

from typing import Literal

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.error_slices.units import SIDE_OF
from core.error_slices.verification.settings import ErrorRate
from core.error_slices.verification.views import curve
from core.operators.slice_compare import TOP, Overlap, overlaps
from core.operators.slice_report import SliceReport, SliceRow
from core.operators.slices import sample_of
from core.plots.slice_changes import CurvePoint, curves_chart
from pages.shared import links, shell, slice_sets, slice_settings, slice_text
from pages.shared.charts import wide
from pages.shared.markup import Markup, Text, chip, fill, mark, percent, table
from pages.shared.slice_text import p_value, points

SHOWN = "shown"
"""Query parameter of the hypotheses that are compared."""
LEAST, MOST = 2, 4
AXES: dict[str, str] = {"score": "Matching score", "rank": "Rank of the score", "logit": "Logit of the score"}
_SIDES = {"gt": "ground truth", "pred": "predictions", "image": "whole images", "seg": "masks"}


def show(name: str, top: DeltaGenerator, report: SliceReport) -> None:
    """The choice, the finding and the comparison."""
    known = {r.hypothesis.id: r for r in report.tested}
    if len(known) < LEAST:
        with top:
            shell.header(name, "Two tested hypotheses are needed.", slice_text.provenance(report), synthetic=report.saved.synthetic)
        return
    wanted = [i for i in st.query_params.get_all(SHOWN) if i in known][:MOST]
    if "compare_ids" not in st.session_state or not set(st.session_state["compare_ids"]) <= set(known):
        st.session_state["compare_ids"] = wanted or usual(report)
    chosen = st.multiselect(
        "Hypotheses, two to four",
        list(known),
        format_func=lambda i: known[i].hypothesis.text,
        key="compare_ids",
        max_selections=MOST,
    )
    st.query_params[SHOWN] = chosen
    rows = [known[i] for i in chosen]
    found = overlaps(report, rows)
    with top:
        shell.header(name, headline(rows, found), slice_text.provenance(report), synthetic=report.saved.synthetic)
    if len(rows) < LEAST:
        shell.empty("Choose two to four hypotheses to see them beside each other.")
        return
    _curves(report, rows)
    shell.section("Tests", "under the settings above")
    shell.html(_tests(report, rows))
    links.follow()
    _overlaps(rows, found, report)


def usual(report: SliceReport) -> list[str]:
    """The first that hold up, filled up with those that cost most."""
    held = [r for v in ("verified", "elevated") for r in report.tested if r.tested and r.tested.verdict == v]
    return list(dict.fromkeys(r.hypothesis.id for r in [*held, *report.tested]))[:3]


def headline(rows: list[SliceRow], found: tuple[Overlap, ...]) -> Text:
    """Which two are nearest to each other."""
    if len(rows) < LEAST:
        return "Choose two to four hypotheses."
    names = {r.hypothesis.id: slice_text.short(r.hypothesis) for r in rows}
    known = [o for o in found if o.members is not None]
    if not known and any(not np.isfinite(r.scores.c).any() for r in rows if r.scores is not None):
        return "Some of these hypotheses have no unit with a score, so their overlap is not known."
    if not known and any(o.shared for o in found):
        return "No unit lies in these slices, so nothing overlaps."
    if not known:
        return "These hypotheses are about different units, so none stands for another."
    near = max(known, key=lambda o: o.members or 0.0)
    share = mark(percent(near.members))
    if (near.members or 0) < 0.1:
        return fill("These hypotheses name different units: at most {s} of a pair's are in both slices.", s=share)
    return fill("“{a}” and “{b}” share {s} of their units.", a=names[near.first], b=names[near.second], s=share)


def _curves(report: SliceReport, rows: list[SliceRow]) -> None:
    title = st.container()
    axis = st.segmented_control("Axis", list(AXES), format_func=AXES.__getitem__, default="score", required=True, key="compare_axis")
    x: Literal["score", "logit", "rank"] = axis or "score"  # type: ignore[assignment]
    with title:
        shell.section("Error by matching score", f"units in ten bins of equal {'number' if x == 'rank' else 'width'}, 95 % intervals")
    lines: dict[str, list[CurvePoint]] = {}
    for r in rows:
        found = curve(sample_of(report, r), bins=10, x=x)
        label = f"{slice_text.short(r.hypothesis)} ({r.hypothesis.error})"
        lines[label] = [
            CurvePoint(b.x, b.rate.value, b.rate.low, b.rate.high, b.rate.n)
            for b in found
            if b.rate.value is not None and b.rate.low is not None and b.rate.high is not None
        ]
    gamma = report.settings.test.gamma if x == "score" else None
    for label in [k for k, found in lines.items() if not found]:
        shell.note(fill("No unit has a score: {name}.", name=label))
        del lines[label]
    if not lines:
        return
    wide(curves_chart(lines, AXES[x], shell.dark(), gamma), f"curves-{x}")
    sides = {_SIDES[SIDE_OF[r.hypothesis.error]] for r in rows}
    if len(sides) > 1:
        shell.note(
            f"They are about different units ({' and '.join(sorted(sides))}), so their levels are not comparable, only their shapes."
        )


def _tests(report: SliceReport, rows: list[SliceRow]) -> Markup:
    lines = []
    for r in rows:
        t = r.tested
        if t is None:
            continue
        params = {slice_sets.SET: report.saved.id, slice_sets.SLICE: r.hypothesis.id, **slice_settings.params(report.settings)}
        lines.append(
            [
                links.link(r.hypothesis.text, slice_sets.ONE, params),
                r.hypothesis.error,
                slice_text.verdict_chip(t.verdict),
                _rate(t.inside),
                _rate(t.outside),
                points(t.lift),
                p_value(t.q_trend),
                p_value(t.q_lift),
                f"{t.not_scorable:,}",
            ]
        )
    columns = ["Hypothesis", "Type", "Verdict", "In", "Out", "Lift", "q trend", "q lift", "Not scorable"]
    return Markup('<div class="od-changes">{}</div>').format(table(columns, lines, right=(3, 4, 5, 6, 7, 8)))


def _rate(rate: ErrorRate) -> Markup:
    low_high = slice_text.interval(rate)
    return Markup('{}<small class="od-quiet od-under">{}</small>').format(percent(rate.value), low_high)


def _overlaps(rows: list[SliceRow], found: tuple[Overlap, ...], report: SliceReport) -> None:
    names = {r.hypothesis.id: r.hypothesis.text for r in rows}
    shell.section("Overlap", "Jaccard index: units in both, of those in either")
    lines = [
        [
            fill("{a} × {b}", a=names[o.first], b=names[o.second]),
            f"{o.shared:,}",
            percent(o.members),
            percent(o.errors),
            percent(o.top),
            chip("no unit in common", "outline") if not o.shared else chip("near-equal", "wait") if _same(o, rows) else "",
        ]
        for o in found
    ]
    columns = ["Pair", "Units of both", "Slices", "Errors in them", f"Top {TOP}", ""]
    shell.html(table(columns, lines, right=(1, 2, 3, 4)))
    shell.note("Near-equal: the list holds them for one slice, by the rank correlation of their scores and their top units.")


def _same(o: Overlap, rows: list[SliceRow]) -> bool:
    groups = {r.hypothesis.id: r.group for r in rows}
    return groups[o.first] == groups[o.second]
