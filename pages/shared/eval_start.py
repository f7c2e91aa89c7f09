"""Looking for samples and evaluating without a question: the same plan as one asked in words, put together by hand."""

from __future__ import annotations

from typing import get_args

import streamlit as st

from core.controller.plan import TOP, Acquire, AcquireSource, Evaluate, InOdd, Plan
from core.controller.reading import Planned
from core.storage import SavedTable
from pages.shared import ask_card, ask_runs, connections, footage, shell
from pages.shared.ask_plan import SOURCES
from pages.shared.markup import fill, strong


def form(table: SavedTable) -> None:
    """How many gaps, how many samples of each, from where."""
    used, model = footage.current(), connections.endpoint("vlm")
    shell.section("Look for samples of the first gaps", "the plan is shown before anything is spent")
    shell.note(
        fill(
            "Table {t}; footage {f}; model under test {m}.",
            t=strong(table.name),
            f=strong(used.name) if used else "none, import a manifest under Footage",
            m=strong(model.name) if model else "not connected",
        )
    )
    if warning := ask_card.other_model(table):
        shell.note(warning)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        top = st.number_input("First gaps", 1, 10_000, TOP, key="start_top", width=130)
        per = st.number_input("Samples of each", 1, 1_000, 1, key="start_per", width=150)
        sources = list(get_args(AcquireSource))
        source = st.selectbox("Samples come", sources, format_func=SOURCES.__getitem__, key="start_source", width=270)
        evaluate = st.checkbox("Evaluate them", value=True, key="start_evaluate")
        if st.button("Start", type="primary", key="start"):
            ask_runs.ask(sentence(top, per, evaluate), table, by_hand(top, per, source, evaluate), page="pages/controller.py")


def sentence(top: int, per: int, evaluate: bool) -> str:
    """The plan as the question that it answers."""
    slices = "the first gap" if top == 1 else f"the first {top:,} gaps"
    end = " and evaluate the model on them" if evaluate else ""
    return f"Acquire {per:,} {'sample' if per == 1 else 'samples'} for each of {slices}{end}."


def by_hand(top: int, per: int, source: AcquireSource, evaluate: bool) -> Planned:
    """A ranking, a search, and an evaluation if it is wanted."""
    steps = (InOdd(top=top), Acquire(source=source, per_slice=per), *((Evaluate(),) if evaluate else ()))
    note = "The plan was put together by hand."
    return Planned(Plan(query=sentence(top, per, evaluate), controller="offline", steps=steps, notes=(note,)))
