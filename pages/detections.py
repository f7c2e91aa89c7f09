"""Detections: what models predicted on images with ground truth; import, live runs of a detector, and the sets that there are."""

from __future__ import annotations

import streamlit as st

from pages.shared import detection_import, detection_list, detection_live, shell, slice_sets
from pages.shared.markup import Text, count, fill, mark

NAME = "Detections"
SETS, IMPORT, LIVE = VIEWS = ("Sets", "Import", "Run a detector")
VIEW = "detections_view"
NONE = "No detections yet. Load the demo, or import a model's predictions with their ground truth."


def finding() -> tuple[Text, Text, bool]:
    """What is in use, and whether it is made up; the list says it of the others."""
    found = slice_sets.saved()
    used = slice_sets.current()
    if used is None:
        return NONE, slice_sets.NEEDED, False
    models = len({s.model for s in found if s.model})
    sentence = fill(
        "{name} is in use: {p} on {i}.",
        name=mark(used.name),
        p=count(used.predictions, "label" if used.task == "classification" else "prediction"),
        i=count(used.images, "image"),
    )
    named = f" of {count(models, 'model')}" if models else ""
    prov = (
        f"{count(len(found), 'set')} of detections{named}. Units, matches and tests are computed from them, never stored instead of them."
    )
    return sentence, prov, used.synthetic


def turn() -> None:
    """Keep the chosen view in the address."""
    st.query_params["view"] = st.session_state[VIEW]


shell.begin("pages/detections.py")
with shell.errors_as_card(NAME, "The detections cannot be shown."):
    current = slice_sets.current()
    if current is None:
        slice_sets.without(NAME, NONE)
    else:
        sentence, prov, synthetic = finding()
        shell.header(NAME, sentence, prov, synthetic=synthetic)
    options = VIEWS if slice_sets.saved() else (IMPORT, LIVE)
    if following := st.session_state.pop(detection_list.NEXT, None):
        st.query_params["view"] = following
    wanted = st.query_params.get("view")
    st.session_state[VIEW] = wanted if wanted in options else options[0]
    view = st.segmented_control("View", options, required=True, key=VIEW, on_change=turn, label_visibility="collapsed")
    if view == IMPORT:
        detection_import.form()
    elif view == LIVE:
        detection_live.form(current)
    else:
        detection_list.show(current)
