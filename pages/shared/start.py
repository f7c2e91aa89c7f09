"""The state before there is a table, the same on every page that needs one."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core import operators
from pages.shared import shell, state
from pages.shared.markup import Text
from pages.shared.shell import Action

SEED_TABLES = "pages/seed_tables.py"
NEEDED = "Needed: one column for each dimension of the ODD and a score from 0 to 1. Ranking 3,840 slices takes under a second, offline."


def without_table(name: str, sentence: Text, promise: Text, below: Callable[[], None] | None = None) -> None:
    """Say what is needed, offer the sample, show what does not need a table, and end the run."""
    actions = [Action("sample", "Try the sample table"), Action("upload", "Upload a table", "primary", page=SEED_TABLES)]
    with shell.errors_as_card(name, "The sample table could not be loaded."):
        clicked = shell.header(name, sentence, NEEDED, actions)
        if clicked == "sample":
            state.choose_table(operators.load_demo(state.store())[0].id)
            st.rerun()
    shell.empty(promise)
    if below is not None:
        below()
    st.stop()
