"""ODD: what counts as a slice, value by value; every version in the workspace; and an editor that makes new ones."""

from __future__ import annotations

import streamlit as st

from core.odd import to_yaml
from pages.shared import odd_editor, odd_view, seed_draft, shell
from pages.shared.markup import Text, code, fill, mark
from pages.shared.shell import Action

NAME = "ODD"


def page() -> None:
    """The chosen ODD at the left, the others and the editor at the right."""
    known = odd_view.known()
    top = st.container()
    left, right = st.columns([0.62, 0.38], gap="large")
    with right:
        odd = odd_view.choose(known)
        odd_view.listing(known)
        odd_editor.edit(odd)
    with left:
        odd_view.dimensions(odd)
    whole = odd.codec.size
    n = f"{odd.base_space.size:,}"
    said: Text = fill("{name} spans {n} slices inside the ODD", name=odd.name, n=mark(n))
    said += (
        fill(", and {all} with the values outside it.", all=f"{whole:,}") if whole > odd.base_space.size else fill(" and none outside it.")
    )
    k = len(odd.active)
    rest = len(odd.names) - k
    about = fill("Version {v}, {source}, hash {h}. {k} of {all} dimensions tell slices apart.", v=odd.version, source=odd.source,
                 h=code(odd.hash[:12]), k=k, all=len(odd.names))  # fmt: skip
    if rest:
        idle = ", ".join(d.label for d in odd.dimensions if not d.active)
        about += fill(" {idle} has one value inside the ODD." if rest == 1 else " {idle} have one value each inside the ODD.", idle=idle)
    about += " A result carries the hash of its ODD; a changed ODD is another one."
    with top:
        actions = [
            Action("odd.download", "Download YAML", download=to_yaml(odd), file_name=f"{odd_view.file_name(odd)}.yaml", mime="text/yaml"),
            Action("odd.use", "Use for an import", "primary", help="Proposes the columns of the next table for this ODD"),
        ]
        if shell.header(NAME, said, about, actions) == "odd.use":
            odd_view.remember(odd)
            seed_draft.use_odd(odd.hash)
            st.switch_page("pages/seed_tables.py")


shell.begin("pages/odd.py")
with shell.errors_as_card(NAME, "The ODDs of the workspace cannot be shown."):
    page()
