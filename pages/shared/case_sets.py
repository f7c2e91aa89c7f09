"""The set of cases in use: the one in the address, else this session's, else the last one chosen, else the newest."""

from __future__ import annotations

import streamlit as st

from core import operators
from core.storage import SavedCaseSet
from core.trajectories.case import Case
from core.trajectories.case_set import CaseSet
from pages.shared import shell, state
from pages.shared.markup import Text, code, fill
from pages.shared.shell import Action

SET = "cases"
"""Query parameter, session key and preference that name the set in use."""
CASES = "pages/cases.py"
NEEDED = (
    "Needed: what an expert drove and what a planner would have done, in metres at equal steps; images, map and others where there are any."
)


def saved() -> tuple[SavedCaseSet, ...]:
    """The sets, newest first, without those in the bin."""
    return tuple(state.store().cases.list())


def current() -> SavedCaseSet | None:
    """The set in use; None if there is none."""
    known = {s.id: s for s in saved()}
    wanted = (st.query_params.get(SET), st.session_state.get(SET), state.store().preferences.get(SET))
    return next((known[w] for w in wanted if w in known), next(iter(known.values()), None))


def choose(set_id: str) -> None:
    """Use a set from now on."""
    st.session_state[SET] = st.query_params[SET] = set_id
    st.query_params.pop("case", None)  # belongs to the set that is left
    state.store().preferences.set(SET, set_id)


def pin(saved_set: SavedCaseSet) -> None:
    """Name the set in the address, so that it can be shared, and use it on other pages too; say if another one was asked for."""
    wanted = st.query_params.get(SET, "")
    if wanted not in {"", *(s.id for s in saved())}:
        shell.note(fill("{gone} This is {name}.", gone=gone(wanted), name=saved_set.name))
    st.session_state[SET] = saved_set.id
    if st.query_params.get(SET) != saved_set.id:
        st.query_params[SET] = saved_set.id


def gone(wanted: str) -> Text:
    """What is said of a set that an address asks for, and that cannot be shown."""
    found = state.store().cases.find(wanted)
    if found is not None and found.deleted:
        return fill('The address asks for the case set "{name}", which lies in the bin of the page Cases.', name=found.name)
    return fill('The address asks for the case set "{name}", which is not in this workspace (any more).', name=wanted[:60])


def box(now: SavedCaseSet) -> None:
    """Choose among several sets."""
    known = {s.id: s.name for s in saved()}
    if len(known) < 2:
        return
    st.session_state["set_box"] = now.id
    st.selectbox(
        "Case set", list(known), format_func=known.get, key="set_box", width=240, on_change=lambda: choose(st.session_state["set_box"])
    )  # fmt: skip


def opened(saved_set: SavedCaseSet) -> CaseSet:
    """The cases of a set, read once.

    Raises:
        InputError: Its files are gone or changed.
    """
    return _open(state.store().db.name, saved_set.id, saved_set.digest)


@st.cache_resource(show_spinner=False, max_entries=4)
def _open(database: str, set_id: str, digest: str) -> CaseSet:
    del database, digest  # only keys of the cache
    return state.store().cases.open(set_id)


def demo() -> CaseSet:
    """The pack that ships with the product, whose cases the guidance shows."""
    return opened(operators.load_demo_cases(state.store()))


def by_id(content: CaseSet, case_id: str) -> Case | None:
    """A case of a set."""
    return next((c for c in content.cases if c.case_id == case_id), None)


def provenance(saved_set: SavedCaseSet) -> Text:
    """Which set the numbers come from."""
    return fill("Case set {name}, digest {d}.", name=saved_set.name, d=code(saved_set.digest[:6]))


def without(name: str, sentence: Text, promise: Text = "") -> None:
    """Say what is needed and offer the demo; the page that imports goes on from there."""
    own = name == "Cases"
    actions = [Action("demo_cases", "Load the demo cases", "primary" if own else "secondary")]
    if not own:
        actions.append(Action("import_cases", "Import cases", "primary", page=CASES))
    with shell.errors_as_card(name, "The demo cases could not be loaded."):
        if shell.header(name, sentence, NEEDED, actions) == "demo_cases":
            choose(operators.load_demo_cases(state.store()).id)
            st.rerun()
    if promise:
        shell.empty(promise)
