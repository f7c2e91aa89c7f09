"""Error slices: which hypotheses about a detector's failures hold up, with the error inside and outside and the tests behind it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.operators import slice_files
from pages.shared import (
    shell,
    slice_filters,
    slice_groups,
    slice_last,
    slice_list,
    slice_match,
    slice_more,
    slice_own,
    slice_propose,
    slice_sets,
    slice_settings,
    slice_text,
    state,
)
from pages.shared.shell import Action

NAME = "Error slices"
EMPTY = (
    "Here you will see which visual conditions make a detector fail, in words: each with its error inside and outside, "
    "the tests behind it, and how often chance alone would pass them."
)

shell.begin("pages/slices.py")
with shell.errors_as_card(NAME, "The error slices cannot be shown."):
    current = slice_sets.current()
    if current is None:
        slice_sets.without(NAME, "No detections yet, so no error slice.", EMPTY)
        st.stop()
    settings = slice_settings.pin()
    report = slice_sets.report(current, settings)
    slice_last.keep(state.store(), report)
top = st.container()
slice_sets.pin(current)
shown = slice_filters.controls(report, lambda: slice_sets.box(current))
with top:
    first = slice_text.with_verdict(report, "verified") or slice_text.with_verdict(report, "elevated")
    actions = [
        Action(
            "csv",
            "Download CSV",
            download=lambda: slice_files.report_csv(replace(report, rows=shown.rows)),
            file_name="slices.csv",
            disabled=not shown.rows,
        ),
        Action("import", "Import detections", page=slice_sets.IMPORT),
    ]
    if first:
        word = slice_filters.verdict_of(first[0])
        actions.append(Action("review", f"Review {slice_text.counts(report)[word]:,} {word}", "primary"))
    if shell.header(NAME, slice_text.headline(report), slice_text.provenance(report), actions, synthetic=current.synthetic) == "review":
        slice_sets.open_slice(report, first[0].hypothesis.id)
slice_more.notices(report)
slice_groups.show(report)
slice_list.show(report, shown)
slice_match.show(current, report)
slice_own.show(current, report)
slice_propose.show(current, report)
slice_more.how(report)
