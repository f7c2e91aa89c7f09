"""A plan changed by hand: steps left out, arguments set. It runs as a new run, so the one that is changed stays as it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import streamlit as st

from core.controller import edited
from core.controller.plan import Acquire, AcquireSource, Plan
from core.controller.reading import Planned
from core.controller.state import TITLES, RunState
from core.odd import Odd
from core.plots import named
from core.storage import SavedTable
from pages.shared import ask_runs, shell, state
from pages.shared.ask_plan import SOURCES
from pages.shared.markup import label

BY_HAND = "The plan was changed by hand."


@st.dialog("Edit the plan", width="large")
def show(run: RunState, table: SavedTable) -> None:
    """The steps of a run in a dialog."""
    steps(run, table)


def steps(run: RunState, table: SavedTable) -> None:
    """The steps with their arguments, and the button that runs them."""
    odd = state.seed_table(table).odd
    shell.note("What you change runs as a new run; this one stays as it is.")
    given = [s.model_dump(mode="json") for s in run.plan.steps]
    wanted = [kept for i, s in enumerate(given) if (kept := _step(f"{run.id}-{i}", s, odd)) is not None]
    if run.plan.last("acquire") is None and st.checkbox("Also look for samples", key="plan-add-acquire"):
        wanted.append(Acquire().model_dump(mode="json"))
    if run.plan.last("evaluate") is None and st.checkbox("Also evaluate the model", key="plan-add-evaluate"):
        wanted.append({"op": "evaluate"})
    if st.button("Run this plan", type="primary", key="plan-run", disabled=not wanted):
        with shell.errors_as_card(changed="Nothing was run."):
            ask_runs.ask(run.query, table, edited(changed(run, wanted), ask_runs.context(table)))


def changed(run: RunState, steps: list[dict[str, Any]]) -> Planned:
    """A plan with other steps, for the same question."""
    notes = tuple(n for n in run.plan.notes if n != BY_HAND)
    plan = Plan.model_validate(run.plan.model_dump(mode="json") | {"steps": steps, "notes": [*notes, BY_HAND]})
    return Planned(plan, run.readings, run.suggestions)


def _step(i: str, step: dict[str, Any], odd: Odd) -> dict[str, Any] | None:
    """One step as it is wanted, None if it is left out."""
    op = step["op"]
    with st.container(border=True):
        if not st.checkbox(TITLES[op], value=True, key=f"plan-{i}"):
            return None
        if op in ("in_odd", "out_of_odd"):
            step["top"] = st.number_input("List and hand on at most", 1, 10_000, step["top"], key=f"plan-top-{i}", width=200)
        if "extend" in step:
            step["extend"] = _values(f"plan-extend-{i}", "Add", step["extend"], odd, extended=True)
        if "where" in step:
            step["where"] = _values(f"plan-where-{i}", "Only", step["where"], odd, extended=op == "out_of_odd")
        if op == "acquire":
            step["per_slice"] = st.number_input("Samples a slice", 1, 1_000, step["per_slice"], key=f"plan-per-{i}", width=200)
            sources = list(get_args(AcquireSource))
            step["source"] = st.selectbox(
                "Samples come", sources, sources.index(step["source"]), format_func=SOURCES.__getitem__, key=f"plan-source-{i}"
            )
    return step


def _values(key: str, word: str, now: Mapping[str, list[str]], odd: Odd, extended: bool) -> dict[str, list[str]]:
    """Values by dimension: those that are set can be changed, and other dimensions can be added."""
    labels = {d.name: d.label for d in odd.dimensions}
    chosen = st.multiselect(f"{word}: dimensions", list(labels), list(now), format_func=labels.__getitem__, key=key)
    out = {}
    for d in chosen:
        dimension = odd.by_name[d]
        added = [v.name for v in dimension.values if v.tier == "extended"]
        inside = [v.name for v in dimension.base]
        options = added if word == "Add" else inside + (added if extended else [])
        words = named(v.name for v in dimension.values)
        given = [v for v in now.get(d, []) if v in options]
        values = st.multiselect(label(labels[d]), options, given, format_func=words.__getitem__, key=f"{key}-{d}")
        if values:
            out[d] = values
    return out
