"""Review: where people differ or were not sure, how far they agree, how far they are, how long they take, and files of their labels."""

from __future__ import annotations

import streamlit as st

from core.operators import labelling
from pages.shared import (
    case_sets,
    label_who,
    review_agreement,
    review_cases,
    review_figures,
    review_files,
    review_people,
    shell,
    state,
)
from pages.shared.shell import Action

NAME = "Review"
CASES, AGREEMENT, PROGRESS, TIMES, FILES = VIEWS = ("Disagreements", "Agreement", "Progress", "Times", "Export")
EMPTY = "Here you will see where people differ, settle such cases as a third person, and take the labels away as files."

shell.begin("pages/review.py")
with shell.errors_as_card(NAME, "The labels cannot be shown."):
    current = case_sets.current()
    if current is None:
        case_sets.without(NAME, "No case yet, so nothing was labelled.", EMPTY)
        st.stop()
    store, content = state.store(), case_sets.opened(current)
    who = label_who.current(store)
    found = labelling.disagreements(store, current.id, None if who is None else who.id)
    agreed = review_figures.agreement(current)
    top = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        view = st.segmented_control(
            "View", VIEWS, default=CASES, required=True, key="view", bind="query-params", label_visibility="collapsed"
        )
        case_sets.box(current)
    case_sets.pin(current)
    with top:
        label = Action("label", "Label cases", page="pages/label.py")
        head = review_cases.headline(found, agreed.raters.cases - agreed.raters.single, review_figures.people(current))
        shell.header(NAME, head, review_figures.provenance(current, agreed, who), [label], synthetic=current.synthetic)
    if view == AGREEMENT:
        review_agreement.show(agreed, review_figures.groups(current))
    elif view == PROGRESS:
        review_people.progress(store, current, labelling.progress(store, current.id), who)
    elif view == TIMES:
        review_people.times(review_figures.times(current))
    elif view == FILES:
        review_files.show(store, current)
    else:
        review_cases.show(store, current, content, found, who)
