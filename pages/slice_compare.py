"""Compare slices: two models on the same images, two to four hypotheses side by side, or what was found with what is known."""

from __future__ import annotations

import streamlit as st

from pages.shared import compare_hypotheses, compare_known, compare_models, shell, slice_sets, slice_settings

NAME = "Compare slices"
MODELS, HYPOTHESES, KNOWN = VIEWS = ("Two models", "Hypotheses", "Known slices")
EMPTY = (
    "Here you will see two models on the same images, such as one before and one after a repair: average precision, recall, "
    "and the error inside each slice, with intervals."
)

shell.begin("pages/slice_compare.py")
with shell.errors_as_card(NAME, "The slices cannot be compared."):
    current = slice_sets.current()
    if current is None:
        slice_sets.without(NAME, "No detections yet, so nothing to compare.", EMPTY)
        st.stop()
    settings = slice_settings.pin()
    report = slice_sets.report(current, settings)
top = st.container()
slice_sets.pin(current)
with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
    view = st.segmented_control("View", VIEWS, default=MODELS, required=True, key="view", bind="query-params", label_visibility="collapsed")
    slice_sets.box(current)
    other = compare_models.box(current) if view == MODELS else None
    slice_settings.controls(settings)
if view == HYPOTHESES:
    compare_hypotheses.show(NAME, top, report)
elif view == KNOWN:
    compare_known.show(NAME, top, report)
elif other is None:
    with top:
        shell.header(
            NAME, "No other model has the same images and ground truth.", compare_models.needed(current), synthetic=current.synthetic
        )
    shell.empty(EMPTY)
else:
    compare_models.show(NAME, top, report, other)
