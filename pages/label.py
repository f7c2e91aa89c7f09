"""Label: one case after the other, by keyboard: does the planner's path add a threat that the expert's does not have?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.operators import labelling
from core.storage import SavedCaseSet
from pages.shared import case_sets, label_loop, label_start, shell, state
from pages.shared.annotator import files

NAME = label_start.NAME
SET = "set"
"""Query parameter of the case set: its id or its name."""
PLAIN = "plain"
"""Query parameter: 1 for the page without the component."""


def chosen() -> SavedCaseSet | None:
    """The set to be labelled: the one in the address, else the one in use; None if there is none."""
    wanted = st.query_params.get(SET, "")
    found = state.store().cases.find(wanted) if wanted else None
    if found is not None and not found.deleted:
        case_sets.choose(found.id)
    elif wanted:
        shell.note(case_sets.gone(wanted))
    return found if found is not None and not found.deleted else case_sets.current()


def use_plain(on: bool) -> None:
    """Go to the page without the component, or back."""
    if on:
        st.query_params[PLAIN] = "1"
    else:
        st.query_params.pop(PLAIN, None)


@st.cache_resource(show_spinner=False)
def sweep(folder: str) -> None:
    """Once a process: give up files that were laid out for sets that are gone."""
    del folder  # only a key of the cache
    files.sweep(files.root(state.settings()), {s.digest for s in case_sets.saved()})


shell.begin("pages/label.py")
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
    plain = st.query_params.get(PLAIN) == "1"
    before = labelling.calibration(state.store(), task.cases.id, person.id) if task.round == "calibration" else None
    label_loop.show(desk, task.cases, before, partial(label_start.feedback, state.store(), task, person), plain)
    with st.popover("Keys do not work?", type="tertiary"):
        shell.note(
            "Keys act on the case that is on the screen, once it has been there for a fifth of a second; not while a field has the focus, "
            "and not together with Ctrl, Alt or Shift. The buttons do the same. The plain page has still pictures and ordinary buttons."
        )
        st.button("Leave the plain page" if plain else "Use the plain page", key="label_plain", on_click=use_plain, args=(not plain,))
