"""The text encoder made ready while a person still thinks about a question, so that the first one need not wait for it.

Loading it takes some ten seconds and half a gigabyte, so it is done in a thread, once for the process, and only for somebody who
stays on the page: it is the second drawing of the fragment that begins it, which only a browser asks for.
"""

from __future__ import annotations

import streamlit as st

from core.controller.suggest import warm
from core.odd import Odd
from core.similarity.encoder import installed
from core.storage.schema import now
from pages.shared import jobs, state
from pages.shared.ask_runs import Live, planner

SOON = 2.5
"""Seconds on the page after which the encoder is loaded."""
_PATIENCE = 2.0
"""Seconds of reading after which is told what takes so long."""
_DRAWN = "ask.drawn"


def begin(odd: Odd) -> None:
    """Load the encoder in a thread, unless that was done, or it is not installed."""
    settings = state.settings()
    key = ("warm", settings, odd.hash)
    if installed() and jobs.known(key) is None:
        jobs.begin(key, lambda job: warm(odd, settings))


def soon(odd: Odd) -> None:
    """Load it soon, if whoever looks at the page stays, and questions are planned by words."""
    if planner() == "offline" and installed() and jobs.known(("warm", state.settings(), odd.hash)) is None:
        st.session_state[_DRAWN] = True
        _second_look(odd)


@st.fragment(run_every=SOON)
def _second_look(odd: Odd) -> None:
    if not st.session_state.pop(_DRAWN, False):
        begin(odd)


def reading(run: Live) -> str:
    """What is done while a question is read, with the time that it took so far."""
    seconds = (now() - run.saved.created_at).total_seconds()
    if seconds < _PATIENCE:
        return "The question is being read."
    if planner() == "llm":
        return f"The model that plans was asked; {seconds:.0f} s so far. If it gives no plan, the offline plan is used."
    told = f"The question is being read; {seconds:.0f} s so far."
    if not installed():
        return told
    return (
        f"{told} Words that the vocabulary does not have are compared with it by meaning; the first time after a start, the text "
        "encoder is loaded for that, which takes some ten seconds or more."
    )
