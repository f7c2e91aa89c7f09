"""Entry point of the app: the frame around the pages. Start it with `make run`."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from core import operators
from pages.shared import navigation, shell, state
from pages.shared.markup import Text, code, fill

BRAND = Path(__file__).parent / "assets" / "brand"


def load_demo() -> None:
    """With ODDYSSEY_DEMO=1 (`make demo`), an empty workspace starts with the demo tables."""
    if os.environ.get("ODDYSSEY_DEMO") == "1" and not state.store().tables.list(include_deleted=True):
        state.choose_table(operators.load_demo(state.store())[0].id)


def workspace_card() -> None:
    """Tell in the sidebar which table is in use, and where the workspace lies."""
    place = fill("Kept in {folder}", folder=state.workspace_folder().name)
    table = state.current_table()
    if table is None:
        shell.workspace_card("No table yet", [place])
        return
    lines: list[Text] = [fill("{n} samples, table {digest}", n=f"{table.total:,}", digest=code(table.digest[:6]))]
    if table.model:
        lines.append(f"Model {table.model}")
    if table.synthetic:
        lines.append(shell.SYNTHETIC)
    shell.workspace_card(table.name, [*lines, place])


st.set_page_config(page_title="Oddyssey", page_icon=str(BRAND / "favicon.png"), layout="wide", initial_sidebar_state="expanded")
st.logo(str(BRAND / "logo.svg"), size="large")
shell.use_style()
page = st.navigation(navigation.sections())
shell.forward()
with shell.errors_as_card("Workspace", "The workspace cannot be opened, so no page can be shown."):
    load_demo()
    workspace_card()
page.run()
