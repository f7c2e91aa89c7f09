"""Who is sitting there: a name typed once, so that questions and decisions can be told apart. It is not a login."""

from __future__ import annotations

import streamlit as st

from pages.shared import state

_NAME, _NAMES = "who", "who.names"
"""Key of the session; preference that lists the names of this workspace, the one used last first."""
NOBODY = "unnamed"
LONGEST = 60


def name() -> str:
    """The name of this session, "" if none was given."""
    if _NAME not in st.session_state:
        known = names()
        st.session_state[_NAME] = known[0] if len(known) == 1 else ""  # with several, nobody is taken for somebody else
    return str(st.session_state[_NAME])


def names() -> list[str]:
    """The names that were given in this workspace, the one used last first."""
    return [str(n) for n in state.store().preferences.get(_NAMES, [])]


def use(new: str) -> None:
    """Go by a name from now on."""
    new = " ".join(new.split())[:LONGEST]
    st.session_state[_NAME] = new
    if new and names()[:1] != [new]:
        state.store().preferences.set(_NAMES, [new, *(n for n in names() if n != new)][:50])


def ask(key: str = "who_box", label: str = "Your name") -> str:
    """Show the name, which can be changed, and return it."""
    now = name()

    def chosen() -> None:
        use(st.session_state[key] or "")

    options = [*names()]
    if now and now not in options:
        options.insert(0, now)
    st.session_state[key] = now or None
    st.selectbox(
        label,
        options,
        key=key,
        on_change=chosen,
        accept_new_options=True,
        placeholder="Type a name",
        width=130,
        help="Kept with your questions and decisions in this workspace; it is not a login.",
    )
    return now
