"""Acquire and evaluate: footage, samples, what the model made of them, and what that changed among the gaps."""

from __future__ import annotations

import streamlit as st

from core.odd import Odd, built_in
from core.operators import Evaluated
from pages.shared import (
    connections_form,
    eval_conditions,
    eval_footage,
    eval_import,
    eval_moved,
    eval_results,
    eval_runs,
    eval_sample,
    eval_start,
    eval_text,
    footage,
    shell,
    state,
    verify_queue,
)
from pages.shared.markup import Text, count, fill, mark
from pages.shared.shell import Action

NAME = "Acquire and evaluate"
RUNS, SAMPLES, CONDITIONS, MOVED, FOOTAGE, CHECKS = VIEWS = ("Runs", "Samples", "By condition", "What moved", "Footage", "Checks")
VIEW = "view"
CONNECT = Action("connections", "Connections", "tertiary")
NONE = "No model was evaluated yet."


def odd_in_use() -> Odd:
    """The ODD of the table in use, else the built-in one."""
    current = state.current_table()
    return state.seed_table(current).odd if current is not None else built_in()


def head(sentence: Text, provenance: Text, synthetic: bool) -> None:
    """The finding; connections are one click away."""
    if shell.header(NAME, sentence, provenance, [CONNECT], synthetic) == "connections":
        connections_form.show("vlm")


def of_footage() -> tuple[Text, Text]:
    """The finding of the view of footage."""
    found, used = footage.saved(), footage.current()
    if used is None:
        return (
            "No footage yet. Import a manifest, or load the demo.",
            "Samples are looked for in what a manifest lists; nothing is fetched.",
        )
    rows = sum(x.rows for x in found)
    return fill("Samples are looked for in {n}.", n=mark(used.name)), f"{count(len(found), 'manifest')} with {count(rows, 'row')} in all."


def synthetic(e: Evaluated | None) -> bool:
    """Whether any number of the page comes from made-up data."""
    used, current = footage.current(), state.current_table()
    made = e is not None and any(r.item.source == "synthetic" for r in e.results)
    return made or (used is not None and used.synthetic) or (current is not None and current.synthetic)


shell.begin("pages/evaluation.py")
with shell.errors_as_card(NAME, "The evaluations cannot be shown."):
    runs = eval_runs.known()
    run_id = eval_runs.chosen(runs)
    shown = eval_runs.results(run_id) if run_id else None
    odd = eval_sample.odd_of(run_id, odd_in_use())
    top = st.container()
    view = st.segmented_control("View", VIEWS, default=RUNS, required=True, key=VIEW, bind="query-params", label_visibility="collapsed")
    table = next(iter(eval_moved.holding(run_id)), None) if run_id else None
    moved = eval_moved.computed(run_id, table) if view == MOVED and table is not None else None
    with top:
        if view == FOOTAGE:
            head(*of_footage(), synthetic(None))
        elif view == CHECKS:
            head(*verify_queue.finding(), synthetic(None))
        elif moved is not None:
            head(eval_text.moved_headline(moved), eval_text.moved_provenance(moved), synthetic(shown))
        elif shown is None:
            head(NONE, "Look for samples of gaps, ask the model about them, and count what it answers into its table.", synthetic(None))
        elif view == MOVED:
            head("This run is not counted into any table, so nothing moved.", eval_text.provenance(shown), synthetic(shown))
        else:
            head(eval_text.headline(shown), eval_text.provenance(shown), synthetic(shown))
    if instead := eval_runs.instead(runs, run_id):
        shell.note(instead)
    if view == FOOTAGE:
        eval_footage.show(odd_in_use())
    elif view == CHECKS:
        verify_queue.show(odd_in_use())
    elif view == RUNS:
        eval_runs.show(runs, run_id)
        current = state.current_table()
        if current is not None:
            eval_start.form(current)
        eval_import.form(odd_in_use())
    elif shown is None:
        shell.empty("Once a model was evaluated, its answers stand here sample by sample and condition by condition.")
    elif view == SAMPLES:
        eval_results.show(shown, odd)
    elif view == CONDITIONS:
        eval_conditions.show(shown, odd)
    else:
        eval_moved.show(shown, moved, table, odd)
