"""The list of slices: verdict, error inside and outside with intervals on one scale, q-values, and the rule as printed beside chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from core.error_slices.verification.settings import ErrorRate, Tested
from core.operators.slice_report import SliceReport, SliceRow
from pages.shared import links, shell, slice_sets, slice_settings, slice_text
from pages.shared.markup import Markup, Text, chip, count, fill, join, minus, percent
from pages.shared.slice_filters import Shown
from pages.shared.slice_text import p_value, points

FIRST = 25
"""Rows that are shown before the others are asked for."""
_HEAD = Markup(
    "<thead><tr><th>Hypothesis</th><th>Verdict</th>"
    '<th class="od-range-head">Error rate, 95 % <span class="in">●</span> in slice <span class="out">●</span> outside'
    "<div><span>0</span><span>25</span><span>50</span><span>75</span><span>100 %</span></div></th>"
    '<th class="num">In</th><th class="num">Out</th><th class="num">Lift</th><th class="num">Saved</th><th class="num">q trend</th>'
    '<th class="num">q lift</th><th class="num">q adj.</th><th>As printed</th><th class="num">Images</th></tr></thead>'
)


def show(report: SliceReport, shown: Shown) -> None:
    """The rows with what they leave out and how to read them."""
    if not shown.rows:
        shell.empty("No hypothesis is left under these choices.")
        return
    rows, place = shown.rows, st.container()
    if len(rows) > FIRST and not st.toggle(f"Show all {len(rows):,}", key="all_slices"):
        rows = rows[:FIRST]
    with place:
        shell.html(table(report, rows))
        links.follow()
    told = f"{len(rows):,} of {count(len(report.rows), 'hypothesis', 'hypotheses')} shown"
    told += f"; {shown.left_out:,} left out by the choices above. " if shown.left_out else ". "
    shell.note(told + slice_text.smallest(report) + " " + slice_text.scorable(report))


def table(report: SliceReport, rows: Sequence[SliceRow]) -> Markup:
    """The rows as a table whose every row leads to its slice."""
    common = {slice_sets.SET: report.saved.id, **slice_settings.params(report.settings)}
    body = join(_row(r, {**common, slice_sets.SLICE: r.hypothesis.id}, report) for r in rows)
    return Markup('<div class="od-scroll"><table class="od-table od-slices">{}<tbody>{}</tbody></table></div>').format(_HEAD, body)


def _row(r: SliceRow, params: dict[str, str], report: SliceReport) -> Markup:
    t = r.tested
    what = Markup("<td>{}{}</td>").format(links.link(r.hypothesis.text, slice_sets.ONE, params), _sub(r, report))
    if t is None:
        cell = Markup('<td>{}</td><td colspan="10"><span class="od-why">{}</span></td>').format(chip("not tested", "outline"), r.untested)
        return Markup('<tr class="od-row quiet">{}{}</tr>').format(what, cell)
    hot = t.verdict in ("verified", "elevated")
    cells = [
        _number(percent(t.inside.value), f"n = {t.inside.n:,}", "hot" if hot else "strong"),
        _number(percent(t.outside.value), f"n = {t.outside.n:,}"),
        _number(points(t.lift)),
        _number("–" if t.errors_saved is None else minus(t.errors_saved, ",.0f")),
        _number(p_value(t.q_trend)),
        _number(p_value(t.q_lift)),
        _number(p_value(t.q_adjusted)),
        _printed(t),
        _number(f"{t.inside.images:,}"),
    ]
    chips = join([slice_text.verdict_chip(t.verdict), *_people(r)], " ")
    why = " ".join(t.why) or f"{slice_text.meanings(report.settings.test.mode).get(t.verdict, t.verdict).capitalize()}."
    seen = Markup('<small class="od-quiet od-under">power {}</small>').format(f"{t.power:.0%}") if t.power is not None else Markup("")
    if power := slice_text.power(t):
        why += f" {power[:1].upper()}{power[1:]}."
    verdict = Markup('<td title="{}">{}{}</td>').format(why, chips, seen)
    return Markup('<tr class="od-row{}">{}{}<td>{}</td>{}</tr>').format(
        " hot" if hot else "", what, verdict, ranges(t.inside, t.outside), join(cells)
    )


def _sub(r: SliceRow, report: SliceReport) -> Markup:
    h = r.hypothesis
    parts: list[Text] = [h.error, slice_text.CATEGORIES[h.category]]
    if h.classes != ("any",):
        parts.append(", ".join(h.classes))
    if h.origin != "library":
        parts.append({"own": "own", "knowledge": "from knowledge", "data": "from captions"}[h.origin])
    if r.scores is not None:
        told = slice_text.SOURCES[r.scores.source]
        scored, n = int(np.count_nonzero(~np.isnan(r.scores.c))), len(r.scores.c)
        parts.append(told if r.scores.source == "geometric" or scored == n else f"{told} on {scored:,} of {count(n, 'unit')}")
    if r.group != h.id and (lead := report.row(r.group)) is not None:
        parts.append(fill("much like “{g}”", g=slice_text.short(lead.hypothesis, 40)))
    if r.clicks:
        parts.append(count(sum(r.clicks.values()), "crop judged", "crops judged"))
    return Markup('<small class="od-quiet od-under">{}</small>').format(join(parts, ", "))


def _people(r: SliceRow) -> list[Markup]:
    if r.judgement is None:
        return []
    word, tone = {"accept": ("accepted", "done"), "reject": ("refused", "plain"), "unsure": ("unsure", "outline")}.get(
        r.judgement.verdict, ("", "plain")
    )
    return [chip(word, tone)] if word else []  # type: ignore[arg-type]


def _number(text: str, sub: str = "", kind: str = "") -> Markup:
    below = Markup('<small class="od-quiet od-under">{}</small>').format(sub) if sub else ""
    return Markup('<td class="num {}">{}{}</td>').format(kind, text, below)


def _printed(t: Tested) -> Markup:
    """The rule as printed, and how often chance alone passes it on these very scores."""
    if t.paper_trend is None:
        return Markup('<td><span class="od-why od-pass">no window</span></td>')
    title = f"Largest slope of a window {t.paper_trend:.3g}."
    chance = Markup("")
    if t.paper_null_pass is not None:
        title += f" {t.paper_null_pass:.0%} of {t.paper_null_runs:,} random losses pass on the same scores."
        chance = Markup('<small class="od-quiet od-under od-pass">chance {}</small>').format(f"{t.paper_null_pass:.0%}")
    word = "✓ pass" if t.paper_pass else "fail"
    return Markup('<td title="{}"><span class="od-why od-pass">{}</span>{}</td>').format(title, word, chance)


def ranges(inside: ErrorRate, outside: ErrorRate) -> Markup:
    """Both rates with their intervals as bars on a scale from 0 to 100 %."""

    def one(rate: ErrorRate, kind: str) -> Markup:
        if rate.value is None or rate.low is None or rate.high is None:
            return Markup("")
        low, high = min(max(rate.low, 0.0), 1.0), min(max(rate.high, 0.0), 1.0)
        return Markup('<i class="{}" style="left:{}%;width:{}%"></i><b class="{}" style="left:{}%"></b>').format(
            kind, f"{100 * low:.1f}", f"{100 * (high - low):.1f}", kind, f"{100 * min(max(rate.value, 0.0), 1.0):.1f}"
        )

    said = f"In the slice {slice_text.interval(inside)}; outside {slice_text.interval(outside)}"
    return Markup('<div class="od-range" title="{}">{}{}</div>').format(said, one(inside, "in"), one(outside, "out"))
