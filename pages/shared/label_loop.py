"""The loop of labelling: what the component is told, what comes back from it, and the same without the component."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from core.labels.guidance import Guidance
from core.labels.rounds import Calibration
from core.operators import labelling
from core.storage import SavedCaseSet, Store
from core.storage.label_events import Annotator, Event, Label, Round
from core.trajectories.case_set import CaseSet
from pages.shared import annotator as component
from pages.shared import case_sets, label_guidance, label_outbox, label_plain, state
from pages.shared.annotator import files
from pages.shared.label_outbox import Desk, Told
from pages.shared.navigation import ENTRIES

REVIEW = "pages/review.py"
AHEAD = 10
"""Cases that the browser is told at once: at five answers a second they last for two seconds."""
NAMES: dict[Round, str] = {"training": "Label, training", "calibration": "Label, calibration", "labelling": "Label", "review": "Review"}


def desk_of(store: Store, cases: SavedCaseSet, person: Annotator, round: Round) -> Desk:
    """Who labels what."""
    return Desk(store, cases.id, person.id, round, label_guidance.current().tag, component.VERSION)


@st.fragment
def show(desk: Desk, cases: SavedCaseSet, before: Calibration | None, below: Callable[[], None], plain: bool = False) -> None:
    """The case at hand; every press comes back to this part of the page alone.

    Args:
        desk: Who labels what.
        cases: The set whose cases are shown.
        before: How the person stood in calibration when the page was drawn; None in other rounds.
        below: Draws what stands below the case.
        plain: Without the component.
    """
    key = f"annotator-{desk.set_id}-{desk.round}-{desk.annotator_id}"
    told_key = f"{key}.told"

    def receive() -> None:
        st.session_state[told_key] = label_outbox.receive(desk, component.outbox_of(key))

    window = labelling.window(desk.store, desk.set_id, desk.annotator_id, round=desk.round, n=AHEAD)
    if over := ended(desk, before, window):
        window = replace(window, items=())  # those of another attempt wait until the page has said how this one went
    if plain:
        if over:
            st.rerun()
        label_plain.show(desk, cases, NAMES[desk.round])
    else:
        told: Told = st.session_state.get(told_key, Told())
        down = {"serial": state.serial(key), **data_down(desk, case_sets.opened(cases), window, told)}
        asked = component.annotate(down, key, receive)
        if asked.over and over:  # the browser knows that everything is stored
            st.rerun()
        if asked.guidance:
            label_guidance.dialog()
    if window.total and window.done == window.total and any(e.path == REVIEW for e in ENTRIES):
        st.page_link(REVIEW, label="Go to Review", icon=":material/rate_review:")
    below()


def ended(desk: Desk, before: Calibration | None, window: labelling.Window) -> bool:
    """Whether a round before labelling came to its end, so that the page has something to say about it."""
    if before is None:
        return desk.round == "training" and window.done == window.total
    now = labelling.calibration(desk.store, desk.set_id, desk.annotator_id)
    return now.state != "open" and (now.attempt, now.state) != (before.attempt, before.state)


def data_down(desk: Desk, content: CaseSet, window: labelling.Window, told: Told) -> dict[str, Any]:
    """What the component is told. Names of cases, of their places in the queue and of planners are not part of it."""
    folder = files.root(state.settings())
    by_id = {c.case_id: c for c in content.cases} if window.items else {}
    guidance = label_guidance.current()
    return {
        "annotator": desk.annotator_id,
        "set": desk.set_id,
        "round": desk.round,
        "title": NAMES[desk.round],
        "base": component.publish(component.FILES, folder),
        "window": [
            {"id": i.token, "position": i.position, "seq": i.turn, "url": files.put_case(folder, content, by_id[i.case_id])}
            for i in window.items
        ],
        "total": window.total,
        "done": window.done,
        "last": _last(window),
        "seen": told.seen,
        "acked": list(told.acked),
        "conflicts": [{"uid": uid, "text": text} for uid, text in told.conflicts],
        "error": told.error,
        "guidance": guidance.version,
        "answers": _answers(guidance),
        "threats": threats() if desk.round == "labelling" else [],
        "after": "Disagreements and unsure cases are looked at on the page Review.",
    }


def _last(window: labelling.Window) -> dict[str, Any] | None:
    saved: Event | None = window.saved
    if saved is None or saved.new.kind != "label" or not window.done:
        return None
    return {"label": saved.new.label, "position": window.done}


def _answers(guidance: Guidance) -> list[dict[str, str]]:
    order: Sequence[Label] = ("Y", "N", "U")
    return [{"label": a.label, "name": a.name, "short": a.short} for a in (guidance.answer(label) for label in order)]


@st.cache_data(show_spinner=False)
def threats() -> list[dict[str, Any]]:
    """The threats that can be named, by super-category."""
    from core.threats.taxonomy import load_taxonomy

    taxonomy = load_taxonomy()
    return [
        {
            "name": name,
            "threats": [{"id": t.id, "name": t.label, "help": t.definition} for t in taxonomy.threats if t.supercategory == key],
        }
        for key, name in taxonomy.supercategories.items()
    ]
