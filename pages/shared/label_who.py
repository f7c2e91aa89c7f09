"""Who labels here: registered once, known by an opaque id from then on, which is all that other people see. It is not a login."""

from __future__ import annotations

import streamlit as st

from core.errors import InputError
from core.storage import Store
from core.storage.label_events import Annotator
from pages.shared import shell, who
from pages.shared.markup import code, fill

WHO = "who"
"""Query parameter and key of the session: id of who labels in this tab."""
_SAME = "label.same"


def current(store: Store) -> Annotator | None:
    """Who labels in this tab: the one in the address, else the one of this session."""
    known = {a.id: a for a in store.labels.annotators()}
    for wanted in (st.query_params.get(WHO), st.session_state.get(WHO)):
        if wanted in known:
            use(known[wanted])
            return known[wanted]
    return None


def use(annotator: Annotator) -> None:
    """Label as this person from now on; the address says so, and a reload goes on with it."""
    st.session_state[WHO] = annotator.id
    if st.query_params.get(WHO) != annotator.id:
        st.query_params[WHO] = annotator.id


def leave() -> None:
    """Somebody else sits down here."""
    st.session_state.pop(WHO, None)
    st.query_params.pop(WHO, None)


def unknown(store: Store) -> str:
    """The id that the address asks for if nobody has it, else ""."""
    wanted = st.query_params.get(WHO, "")
    return "" if wanted in {a.id for a in store.labels.annotators()} else wanted


def register(store: Store) -> None:
    """The form; whoever is registered goes on with the guidance."""
    if asked := unknown(store):
        shell.note(fill("The address asks for annotator {id}, whom this workspace does not know.", id=code(asked[:24])))
    with st.form("label_register", width=560):
        name = st.text_input(
            "Your name", key="label_name", max_chars=who.LONGEST, help="Kept in this workspace; no page shows it to others."
        )
        years = st.number_input(
            "Years of driving", 0.0, 80.0, None, 1.0, format="%g", key="label_years", placeholder="0 if you do not drive"
        )
        researcher = st.checkbox(
            "I belong to the project", key="label_researcher", help="Agreement is also shown for project members and others apart."
        )
        sent = st.form_submit_button("Register", type="primary", key="label_register_do")
    shell.note("Registered before, in another browser? Type the same name, and you can go on where you were.")
    if sent:
        st.session_state.pop(_SAME, None)
        name = " ".join(name.split())
        if not name or years is None:
            lacking = [
                what for what, there in (("your name", name), ("your years of driving (0 is allowed)", years is not None)) if not there
            ]
            shell.error_card(InputError(f"Please give {' and '.join(lacking)}."), "Nobody was registered.")
            return
        same = next((a for a in store.labels.annotators() if a.name.casefold() == name.casefold()), None)
        if same is None:
            with shell.errors_as_card(changed="Nobody was registered."):
                use(store.labels.register(name, years, researcher))
            st.rerun()
        st.session_state[_SAME] = same.id
    _same_name(store)


def _same_name(store: Store) -> None:
    """Somebody of the name that was given is registered: the same person, or another one."""
    same = next((a for a in store.labels.annotators() if a.id == st.session_state.get(_SAME)), None)
    if same is None:
        return
    since = f"{same.registered_at:%Y-%m-%d}"
    shell.note(f"Somebody of this name has been registered since {since}. If that is not you, add an initial to your name.")
    if st.button("That is me, go on", key="label_me"):
        del st.session_state[_SAME]
        use(same)
        st.rerun()
