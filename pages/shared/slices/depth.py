"""What stands behind a verdict: chance, other explanations, slices that hold the same units, and both halves of the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import streamlit as st

from core.error_slices.detections import BoolArray
from core.error_slices.gallery import is_error
from core.error_slices.verification.rates import dense, error_rate
from core.error_slices.verification.settings import Sample, Tested
from core.error_slices.verification.verdicts import verify
from core.operators import slices
from core.operators.slice_compare import TOP, overlaps
from core.operators.slice_report import SliceReport, SliceRow
from core.plots.slice_charts import null_histogram, printed_windows
from pages.shared import charts, links, shell, slice_sets, slice_settings, slice_text
from pages.shared.markup import Markup, Text, count, fill, join, mark, percent, table
from pages.shared.slice_text import p_value, points
from pages.shared.slices import trend

View = Literal["chance", "else", "others", "halves"]
VIEWS: Mapping[View, str] = {
    "chance": "Chance",
    "else": "Size and class",
    "others": "Slices with the same units",
    "halves": "Both halves",
}
_MOST = 8


@st.fragment
def show(report: SliceReport, row: SliceRow) -> None:
    """One of the views at a time; only the one that is shown is computed."""
    shell.section("Behind the verdict")
    view: View = st.segmented_control(
        "Behind the verdict", list(VIEWS), format_func=VIEWS.__getitem__, default="chance", required=True, key="behind",
        bind="query-params", label_visibility="collapsed",
    )  # fmt: skip
    draw: dict[View, Callable[[SliceReport, SliceRow], None]] = {
        "chance": chance,
        "else": strata,
        "others": others,
        "halves": halves,
    }
    draw[view](report, row)
    links.follow("od-behind")


def chance(report: SliceReport, row: SliceRow) -> None:
    """The null of the calibrated test, and the windows of the rule as printed."""
    view = trend.view_of(report.digest, row.hypothesis.id, report, row)
    left, right = st.columns(2, gap="large")
    with left:
        shell.section("The calibrated test", f"{count(len(view.null), 'random loss', 'random losses')}, signs flipped by image")
        if view.z is None:
            shell.empty("There is no slope to test.")
        else:
            charts.wide(null_histogram(view.null, view.z, shell.dark()), key="null")
            shell.note(
                fill(
                    "Largest Z over the windows: {z}; a share of {p} of these random losses reaches it.",
                    z=mark(f"{view.z:.2f}"),
                    p=p_value(view.p_trend),
                ),
            )
    with right:
        t = report.settings.test
        shell.section("The rule as printed", f"windows of {count(t.window, 'unit')}, {t.stride} apart; passes above τ = {t.tau:g}")
        p = view.paper
        if p.trend is None:
            shell.empty(f"No window of {count(t.window, 'unit')} has units of different scores.")
            return
        middle = 1 - (p.start + (p.size - 1) / 2) / max(view.n - 1, 1)
        charts.wide(printed_windows(middle, p.slope, p.spread, t.tau, shell.dark()), key="printed")
        best = int(np.nanargmax(p.slope))
        parts: list[Text] = [
            fill(
                "The largest slope, {s}, stands in a window whose scores spread by {d} (standard deviation).",
                s=f"{p.trend:,.2f}", d=f"{p.spread[best]:.2g}",
            )
        ]  # fmt: skip
        if view.paper_null_pass is not None:
            text = "{v} of {n} random losses pass this rule on the very same scores."
            parts.append(fill(text, v=mark(f"{view.paper_null_pass:.0%}"), n=f"{view.paper_null_runs:,}"))
        shell.note(join(parts, " "))


def strata(report: SliceReport, row: SliceRow) -> None:
    """Error in and out of the slice among boxes of like size, and within classes."""
    sample, units = slices.sample_of(report, row), report.units
    if row.population is None:
        return
    at = row.population.units
    known = np.isfinite(sample.c)
    inside = known & (sample.c > report.settings.test.gamma)
    side = np.sqrt(np.clip(units.xyxy[at, 2:] - units.xyxy[at, :2], 0, None).prod(1))
    cuts = np.quantile(side[known], [0.25, 0.5, 0.75]) if known.any() else np.zeros(3)
    quarter = np.searchsorted(cuts, side, side="left")
    edges = [0.0, *cuts.tolist(), float(side[known].max()) if known.any() else 0.0]
    size = [(f"{edges[k]:.0f} to {edges[k + 1]:.0f} px", known & (quarter == k)) for k in range(4)]
    cls = units.cls[at]
    names, counts = np.unique(cls[known & (cls >= 0)], return_counts=True)
    chosen = names[np.argsort(-counts, kind="stable")][:_MOST].tolist()
    classes = [(units.detections.classes[k].name, known & (cls == k)) for k in chosen]
    left, right = st.columns(2, gap="large")
    with left:
        shell.section("By size", "side of a square as large as the box, quarters of the scored units")
        shell.html(_rates(size, inside, sample))
    with right:
        shell.section("By class", f"the {len(classes)} most frequent of {len(names)}" if len(names) > len(classes) else "")
        shell.html(_rates(classes, inside, sample))
    t = row.tested
    if t is not None and t.q_adjusted is not None:
        text = "With means of strata (eighths of size × class) taken out: trend q = {a}, lift p = {b}; without: q = {c}, p = {d}."
        shell.note(fill(text, a=p_value(t.q_adjusted), b=p_value(t.p_lift_adjusted), c=p_value(t.q_trend), d=p_value(t.p_lift)))
    shell.note("A slice that is about size loses its trend within strata of size, as it must.")


def _rates(parts: Sequence[tuple[str, BoolArray]], inside: BoolArray, sample: Sample) -> Markup:
    rows = []
    for name, here in parts:
        cells = [_rate(sample, here & inside), _rate(sample, here & ~inside)]
        rows.append((name, cells[0][0], cells[0][1], cells[1][0], cells[1][1]))
    return table(("", "In slice", "95 %, n", "Outside", "95 %, n"), rows, right=(1, 2, 3, 4))


def _rate(sample: Sample, here: BoolArray) -> tuple[str, Text]:
    number, images = dense(sample.image[here])
    rate = error_rate(sample.loss[here], sample.weight[here], number, len(images))
    if rate.value is None:
        return "–", "n = 0"
    text = '<small class="od-quiet">{} to {}, {:,}</small>'
    return percent(rate.value), Markup(text).format(percent(rate.low), percent(rate.high), rate.n)


def others(report: SliceReport, row: SliceRow) -> None:
    """Tested slices about the same type of error that hold the same units."""
    mine = _errors_in(report, row)
    found = []
    for other in report.tested:
        if other.hypothesis.id != row.hypothesis.id and other.hypothesis.error == row.hypothesis.error:
            [overlap] = overlaps(report, (row, other))
            found.append((overlap, len(mine & _errors_in(report, other)), other))
    if not found:
        shell.empty("No other tested hypothesis is about this type of error.")
        return
    found.sort(key=lambda f: (-(f[0].members or 0.0), f[2].hypothesis.id))
    common = {slice_sets.SET: report.saved.id, **slice_settings.params(report.settings)}
    rows = [
        (
            links.link(o.hypothesis.text, slice_sets.ONE, {**common, slice_sets.SLICE: o.hypothesis.id}),
            slice_text.verdict_chip(o.tested.verdict) if o.tested is not None else "",
            percent(x.members),
            percent(x.top),
            percent(x.errors),
            f"{errors:,} of {len(mine):,}",
            f"{x.shared:,}",
        )
        for x, errors, o in found[:_MOST]
    ]
    head = ("Hypothesis", "Verdict", "Units", f"Top {TOP}", "Errors", "Errors of this slice in it", "Units compared")
    shell.html(table(head, rows, right=(2, 3, 4, 5, 6)))
    left = len(found) - len(rows)
    shell.note(
        f"Units, top {TOP} and errors: what is in both slices among what is in either (Jaccard), over the units that both score."
        + (f" {left:,} more with less in common are not shown." if left else "")
    )


def _errors_in(report: SliceReport, row: SliceRow) -> set[int]:
    """Units of a slice that have the error."""
    if row.population is None or row.scores is None:
        return set()
    inside = np.nan_to_num(row.scores.c, nan=-1.0) > report.settings.test.gamma
    return set(row.population.units[inside & is_error(row.population.loss)].tolist())


def halves(report: SliceReport, row: SliceRow) -> None:
    """The same test on each half of the images by itself."""
    found = _halves(report.digest, row.hypothesis.id, report, row)
    rows = [
        (
            name.capitalize(),
            slice_text.verdict_chip(t.verdict),
            percent(t.inside.value),
            slice_text.interval(t.inside),
            percent(t.outside.value),
            slice_text.interval(t.outside),
            points(t.lift),
            p_value(t.p_trend),
            p_value(t.p_lift),
        )
        for name, t in found.items()
    ]
    shell.html(
        table(("Half", "By itself", "In slice", "95 %", "Outside", "95 %", "Lift", "p trend", "p lift"), rows, right=(2, 4, 6, 7, 8))
    )
    shell.note(
        "Images fall into halves by a hash of their content, so copies of a picture fall into the same one. Half the data sees less: "
        "inconclusive on a half speaks against nothing. Hypotheses from captions of one half are tested on the other alone."
    )


@st.cache_data(show_spinner=False, max_entries=64)
def _halves(digest: str, name: str, _report: SliceReport, _row: SliceRow) -> dict[str, Tested]:
    del digest, name  # only keys of the cache
    sample = slices.sample_of(_report, _row)
    of = np.array([i.half for i in _report.units.detections.images])[sample.image]
    out = {}
    for half in ("discovery", "verification"):
        here = of == half
        part = replace(
            sample, c=sample.c[here], logit=sample.logit[here], loss=sample.loss[here], image=sample.image[here],
            weight=sample.weight[here],
            stratum=None if sample.stratum is None else sample.stratum[here],
        )  # fmt: skip
        if here.any():
            out[half] = verify([part], _report.settings.test)[0]
    return out
