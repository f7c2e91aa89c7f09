"""Slice detail: one hypothesis with its trend, its windows against chance, and the crops behind it, judged one by one."""

from __future__ import annotations

import streamlit as st

from pages.shared import shell, slice_last, slice_sets, slice_settings, slice_text, state
from pages.shared.shell import Action
from pages.shared.slices import crops_page, decide, depth, files, hand_on, head, trend

NAME = head.NAME
EMPTY = (
    "Here you will see one slice: how the error goes with the matching score, what chance would give, and the crops behind it, "
    "to be judged by one key each."
)


@st.cache_resource(show_spinner=False)
def sweep(folder: str) -> None:
    """Once a process: give up crops that were made for sets that are gone."""
    del folder  # only a key of the cache
    files.sweep(files.root(state.settings()), {s.digest for s in slice_sets.saved()})


shell.begin("pages/slice.py")
with shell.errors_as_card(NAME, "The slice cannot be shown.", "What people judged stays saved."):
    current = slice_sets.current()
    if current is None:
        slice_sets.without(NAME, "No detections yet, so no slice.", EMPTY)
        st.stop()
    settings = slice_settings.pin()
    sweep(str(state.settings().home))
    report = slice_sets.report(current, settings)
    slice_last.keep(state.store(), report)
    slice_sets.pin(current)
    wanted = st.query_params.get(slice_sets.SLICE, "")
    row = report.row(wanted) or next(iter(report.rows), None)
    if row is None:
        shell.header(NAME, "There is no hypothesis to show.", slice_text.provenance(report), synthetic=current.synthetic)
        shell.empty(EMPTY)
        st.stop()
    if wanted and wanted != row.hypothesis.id:
        shell.note(f'The address asks for the slice "{wanted[:60]}", which these detections do not have (any more). This is the first one.')
    st.query_params[slice_sets.SLICE] = row.hypothesis.id
    decide.seen(row.hypothesis.id)
    said = decide.decisions(report, row)
    without = "" if row.scores is not None else "Nothing is known of it that could be decided on."
    actions = [
        Action("reject", "Reject", disabled=bool(without), help=without or None),
        Action("accept", "Accept slice", "primary", disabled=bool(without), help=without or None),
    ]
    clicked = shell.header(NAME, head.headline(row), head.provenance(report, row), actions, synthetic=current.synthetic)
    if clicked:
        decide.dialog(report, row, "accept" if clicked == "accept" else "reject")
    head.chips(report, row, said)
    head.chooser(report, row)
    if row.scores is None or row.population is None:
        shell.empty(row.untested or "There is no score.")
        st.stop()
    trend.show(report, row)
    crops_page.show(report, row)
    depth.show(report, row)
    hand_on.show(report, row)
    decide.show(report, row, said)
