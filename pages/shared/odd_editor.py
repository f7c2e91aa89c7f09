"""The YAML of an ODD: edit, validate with every problem named, save as a new one."""

from __future__ import annotations

import streamlit as st

from core.errors import OddysseyError
from core.odd import Odd, load_yaml, to_yaml
from pages.shared import odd_view, shell, state
from pages.shared.markup import code, fill


def edit(odd: Odd) -> None:
    """The editor; it starts from the ODD that is shown and never changes it."""
    shell.section("Edit", "a changed ODD is saved as a new one; old results keep theirs")
    key = f"odd.yaml.{odd.hash}"
    if key not in st.session_state:
        st.session_state[key] = to_yaml(odd)
    text = st.text_area("YAML", key=key, height=420, label_visibility="collapsed")
    changed = text != to_yaml(odd)
    with st.container(horizontal=True):
        validate = st.button("Validate", key="odd.validate")
        save = st.button("Save as a new ODD", key="odd.save", disabled=not changed, help=None if changed else "Nothing was changed yet")
        st.download_button("Download this text", text, f"{odd_view.file_name(odd)}.yaml", "text/yaml", key="odd.text", on_click="ignore")
    if not (validate or save):
        return
    try:
        made = load_yaml(text)
    except OddysseyError as e:
        shell.error_card(e)
        return
    if made.hash in odd_view.known():
        shell.note(fill("Valid, and the same as {name} {h}.", name=made.name, h=code(made.hash[:6])))
        return
    if validate:
        shell.note(fill("Valid: {k} dimensions, {n} slices inside the ODD. Not saved yet; it will have the hash {h}.", k=len(made.names),
                        n=f"{made.base_space.size:,}", h=code(made.hash[:6])))  # fmt: skip
        return
    with shell.errors_as_card():
        state.store().odds.put(made)
        odd_view.show(made.hash)
        st.session_state.pop("odd.param", None)
        st.toast(f"Saved as {made.hash[:6]}.")
        st.rerun()
