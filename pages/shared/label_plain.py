"""Labelling without the component: pictures that do not move and ordinary buttons, for browsers and aids in which the keys do not work.

What is pressed takes the same way into the store as a key does.
"""

from __future__ import annotations

from uuid import uuid4

import streamlit as st

from core.operators import labelling
from core.storage import SavedCaseSet
from core.storage.label_events import Label
from pages.shared import case_picture, case_sets, label_guidance, label_outbox, shell
from pages.shared.label_outbox import Desk
from pages.shared.markup import bar, fill, strong

_TOLD = "label.plain.told"


def show(desk: Desk, cases: SavedCaseSet, title: str) -> None:
    """The case at hand, and a button for each answer; a button belongs to the case that it stands under, and to no other.

    Args:
        desk: Who labels what.
        cases: The set whose cases are shown.
        title: Name of the page.
    """
    window = labelling.window(desk.store, desk.set_id, desk.annotator_id, round=desk.round, n=1)
    item = next(iter(window.items), None)
    content = case_sets.opened(cases)
    case = case_sets.by_id(content, item.case_id) if item is not None else None
    if item is None or case is None:
        text = "The only case is labelled." if window.total == 1 else fill("All {n} cases are labelled.", n=f"{window.total:,}")
        shell.header(title, text, "Every label is saved.")
    else:
        view = case_picture.view(content, case)
        source = ", ".join(x for x in (view["dataset"], view["licence"]) if x) or "source not named"
        about = fill(
            "Scene {scene}, command {command}, {source}. Planner hidden.", scene=view["scene"], command=view["command"], source=source
        )
        shell.header(title, view["question"], about, synthetic=view["synthetic"])
    told = st.session_state.pop(_TOLD, "")
    if told:
        st.warning(told)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="plain_keys"):
        if item is not None:
            for answer in (label_guidance.current().answer(x) for x in ("Y", "N", "U")):
                st.button(
                    answer.name, key=f"plain-{item.token}-{item.turn}-{answer.label}", help=answer.short,
                    on_click=_press, args=(desk, item.token, item.turn, answer.label),
                )  # fmt: skip
        st.button("Undo last", key=f"plain-undo-{window.done}", disabled=not window.done, on_click=_undo, args=(desk,))
        with st.container(width="stretch"):
            n = fill("{done} of {total} labelled", done=strong(f"{window.done:,}"), total=f"{window.total:,}")
            shell.note(n)
            shell.html(bar(window.done / window.total if window.total else 0.0))
    if case is not None and item is not None:
        case_picture.show(content, case, key=f"plain-{item.token}", all_cameras=True)


def _press(desk: Desk, token: str, seq: int, label: Label) -> None:
    _receive(desk, {"id": token, "seq": seq, "kind": "label", "label": label, "payload": {"keyboard": False, "plain": True}})


def _undo(desk: Desk) -> None:
    _receive(desk, {"id": "", "seq": 1, "kind": "undo", "target": ""})


def _receive(desk: Desk, event: dict[str, object]) -> None:
    told = label_outbox.receive(desk, {"n": "plain", "events": [{"uid": uuid4().hex, **event}]})
    st.session_state[_TOLD] = " ".join(text for _, text in told.conflicts) or told.error
