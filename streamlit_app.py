"""Entry point of the app: the frame around the pages. Start it with `make run`."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from core import operators
from core.errors import OddysseyError
from pages.shared import navigation, shell, state
from pages.shared.markup import Text, code, fill

BRAND = Path(__file__).parent / "assets" / "brand"


TABLE = "workspace.table"  # key of the choice in the sidebar; Streamlit would print a docstring here


def load_demo() -> None:
    """With ODDYSSEY_DEMO=1 (`make demo`), an empty workspace starts with the demo tables and footage; the app opens without them, too."""
    if os.environ.get("ODDYSSEY_DEMO") != "1" or state.store().tables.list(include_deleted=True):
        return
    try:
        state.choose_table(operators.load_demo(state.store())[0].id)
        operators.load_demo_datastore(state.store())
    except OddysseyError as e:
        with st.sidebar:
            shell.note(f"The demo tables could not be loaded: {e.args[0]}")


def workspace_card() -> None:
    """Tell in the sidebar which table is in use, on which ODD, and where the workspace lies; with several, one can be chosen."""
    place = fill("Kept in {folder}", folder=state.workspace_folder().name)
    table = state.current_table()
    if table is None:
        shell.workspace_card("No table yet", [place])
        return
    tables = {t.id: t for t in state.tables()}
    if len(tables) > 1:
        st.session_state[TABLE] = table.id  # chosen elsewhere, too
        choose = lambda: state.choose_table(st.session_state[TABLE])  # noqa: E731
        st.sidebar.selectbox("Table in use", list(tables), key=TABLE, format_func=lambda i: tables[i].name, on_change=choose)
    odd = state.seed_table(table).odd
    lines: list[Text] = [fill("{n} samples, table {digest}", n=f"{table.total:,}", digest=code(table.digest[:6]))]
    lines.append(
        fill("ODD: {name}, {d} active {noun}", name=odd.name, d=len(odd.active), noun="dimension" if len(odd.active) == 1 else "dimensions")
    )
    if table.model:
        lines.append(f"Model {table.model}")
    if table.synthetic:
        lines.append(shell.SYNTHETIC)
    shell.workspace_card(table.name, [*lines, place])


st.set_page_config(page_title="Oddyssey", page_icon=str(BRAND / "favicon.png"), layout="wide")
st.logo(str(BRAND / "logo.svg"), size="large")
shell.use_style()
page = st.navigation(navigation.sections(), expanded=True)
# Said once a run: a page that said something else later left it to chance which of the two the browser heard last.
st.set_page_config(initial_sidebar_state=navigation.sidebar(page))
shell.forward()
with shell.errors_as_card("Workspace", "The workspace cannot be opened, so no page can be shown."):
    load_demo()
    workspace_card()
page.run()
