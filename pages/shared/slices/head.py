"""The head of the page of one slice: the finding in a sentence, what it rests on, chips, and the way to other slices."""

from __future__ import annotations

import streamlit as st

from core.error_slices.hypotheses import ORIGINS
from core.error_slices.scores import SOURCES
from core.operators.slice_report import SliceReport, SliceRow
from core.storage import Judgement
from pages.shared import shell, slice_sets, slice_settings, slice_text
from pages.shared.markup import Markup, Text, chip, count, fill, join
from pages.shared.slice_text import ERRORS, interval, p_value
from pages.shared.slices import decide

NAME = "Slice detail"
_LONG = 90
_NOT_CALIBRATED = {
    "geometric": "score is geometric, not calibrated",
    "logprob": "score from token probabilities",
    "sampled": "score sampled, not calibrated",
    "verbalised": "score in words, not calibrated",
}


def headline(row: SliceRow) -> Text:
    """The finding of a slice as a sentence of its own."""
    if row.tested is None:
        return fill("Nothing is known of this slice yet: {text}", text=row.hypothesis.text)
    said = slice_text.finding(row)
    return Markup("{}{}.").format(said[:1].upper(), said[1:])


def provenance(report: SliceReport, row: SliceRow) -> Text:
    """Intervals, tests, settings and what was left out."""
    t = row.tested
    parts: list[Text] = []
    if t is None:
        parts.append(row.untested)
    else:
        parts.append(f"In {interval(t.inside)}; out {interval(t.outside)}.")
        draws = count(report.settings.test.flips, "draw")
        if t.q_trend is not None or t.q_lift is not None:
            parts.append(f"Trend q {_equals(t.q_trend)}, lift q {_equals(t.q_lift)}, by sign flips of images, {draws} or more.")
        if t.not_scorable:
            parts.append(f"{count(t.not_scorable, 'unit')} without a score left out.")
        parts += list(t.why)
        if power := slice_text.power(t):
            parts.append(f"{power[:1].upper()}{power[1:]}.")
    if row.population is not None and (left := [f"{n:,} {what}" for what, n in row.population.left_out.items() if n]):
        parts.append(f"Not of this population: {', '.join(left)}.")
    if row.scores is not None and (said := [f"{n:,} {what}" for what, n in row.scores.counts.items() if n]):
        parts.append(f"Scores: {', '.join(said)}.")
    parts.append(slice_text.provenance(report))
    return join(parts, " ")


def _equals(value: float | None) -> str:
    text = p_value(value)
    return text if text.startswith(("<", "–")) else f"= {text}"


def chips(report: SliceReport, row: SliceRow, said: tuple[Judgement, ...]) -> None:
    """Verdict, type of error, matcher, kind of score, the rule as printed beside chance, and decisions of people."""
    h, t = row.hypothesis, row.tested
    parts = [chip("not tested", "outline") if t is None else slice_text.verdict_chip(t.verdict)]
    parts += decide.chips(said)
    parts.append(chip(ERRORS[h.error], "outline"))
    if h.classes != ("any",):
        parts.append(chip(", ".join(h.classes), "outline"))
    if row.scores is not None:
        parts.append(chip(f"matcher: {row.scores.matcher}", "outline"))
        parts.append(chip(_NOT_CALIBRATED[row.scores.source], "outline"))
    if t is not None and t.paper_trend is not None:
        passed = f"as printed, W = {report.settings.test.window}: {'pass' if t.paper_pass else 'no pass'}"
        by_chance = "" if t.paper_null_pass is None else f", as {t.paper_null_pass:.0%} of random losses would"
        parts.append(
            chip(passed + (by_chance if t.paper_pass else by_chance.replace("as ", "though ").replace("would", "would pass")), "outline")
        )
    if h.origin != "library":
        parts.append(chip(f"from {ORIGINS[h.origin]}", "outline"))
    shell.html(Markup('<div class="od-chips">{}</div>').format(join(parts, " ")))
    notes = [x for x in (h.note, h.rationale and f"Proposed because: {h.rationale}") if x]
    if row.scores is not None:
        notes.append(f"Score: {SOURCES[row.scores.source]}.")
    if row.group != h.id and (lead := report.row(row.group)) is not None:
        notes.append(f"Ranks the same units as: {lead.hypothesis.text}")
    if notes:
        shell.note(" ".join(notes))


def chooser(report: SliceReport, row: SliceRow) -> None:
    """Go to another slice, or to the one before or after it in the order of the list."""
    names = [r.hypothesis.id for r in report.rows]
    at = names.index(row.hypothesis.id)
    labels = {r.hypothesis.id: _label(r) for r in report.rows}
    st.session_state["slice_box"] = row.hypothesis.id

    def chosen() -> None:
        st.query_params[slice_sets.SLICE] = st.session_state["slice_box"]

    def go(to: int) -> None:
        st.query_params[slice_sets.SLICE] = names[to]

    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="od-slice-bar"):
        st.selectbox("Slice", names, format_func=labels.__getitem__, key="slice_box", on_change=chosen, width=520)
        st.button("Before", key="slice_before", disabled=at == 0, on_click=go, args=(at - 1,))
        st.button("Next", key="slice_next", disabled=at + 1 == len(names), on_click=go, args=(at + 1,))
        slice_sets.box(report.saved)
        slice_settings.controls(report.settings)


def _label(r: SliceRow) -> str:
    text = r.hypothesis.text if len(r.hypothesis.text) <= _LONG else r.hypothesis.text[: _LONG - 1].rstrip() + "…"
    return f"{'not tested' if r.tested is None else r.tested.verdict}: {text}"
