"""Label: one case after the other, by keyboard: does the planner's path add a threat that the expert's does not have?"""

from __future__ import annotations

import streamlit as st

from core.storage import SavedCaseSet
from pages.shared import case_sets, label_loop, label_start, shell, state
from pages.shared.annotator import files
from pages.shared.markup import fill

NAME = label_start.NAME
SET = "set"
"""Query parameter of the case set: its id or its name."""


def chosen() -> SavedCaseSet | None:
    """The set to be labelled: the one in the address, else the one in use; None if there is none."""
    wanted = st.query_params.get(SET, "")
    found = state.store().cases.find(wanted) if wanted else None
    if found is not None and not found.deleted:
        case_sets.choose(found.id)
    elif wanted:
        shell.note(fill('The address asks for the case set "{name}", which is not in this workspace (any more).', name=wanted[:60]))
    return found if found is not None and not found.deleted else case_sets.current()


@st.cache_resource(show_spinner=False)
def sweep(folder: str) -> None:
    """Once a process: give up files that were laid out for sets that are gone."""
    del folder  # only a key of the cache
    files.sweep(files.root(state.settings()), {s.digest for s in case_sets.saved()})


shell.begin("pages/label.py")
st.set_page_config(initial_sidebar_state="collapsed")
with shell.errors_as_card(NAME, "Nothing can be labelled now.", "Labels that were saved stay saved."):
    now = chosen()
    if now is None:
        case_sets.without(
            NAME,
            "There are no cases to label yet.",
            "Here you will see one case after the other, and say by one key whether the planner adds a threat.",
        )
        st.stop()
    st.query_params[SET] = now.id
    sweep(str(state.settings().home))
    person = label_start.ready(state.store(), now)
    if person is None:
        st.stop()
    task = label_start.task(state.store(), now, person)
    desk = label_loop.desk_of(state.store(), task.cases, person, task.round)
    label_loop.show(desk, task.cases)
    label_start.feedback(state.store(), task, person)
