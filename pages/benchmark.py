"""Compare methods: which way of ranking finds the failures of an oracle, and what diversity costs."""

from __future__ import annotations

import streamlit as st

from core.errors import OddysseyError
from core.operators import SharedSamplesError
from pages.shared import benchmark_controls, benchmark_parts, seed_form, shell, start, state
from pages.shared.benchmark_parts import NAME
from pages.shared.markup import chip, code, fill, strong

shell.begin("pages/benchmark.py")
with shell.errors_as_card(NAME, "Methods could not be compared."):
    current = state.current_table()
    if current is None:
        start.without_table(
            NAME,
            "No table yet, so there is nothing to compare.",
            "Here you will see how much of the oracle's risk each method of ranking finds, how diverse its list is, and how sure that is.",
        )
    oracles = benchmark_controls.oracles(current)
    if not oracles:
        benchmark_parts.without_oracle(current)
top, bar_of_controls, body = st.container(), st.container(horizontal=True, vertical_alignment="bottom", gap="small"), st.container()
unknown, dropped = state.unknown_table(), benchmark_controls.ignored(oracles)
waiting = benchmark_parts.Waiting(top, body, current)
try:
    with bar_of_controls:
        view = benchmark_controls.controls(current, oracles)
    result = benchmark_parts.compared(current, view, waiting.show)
except OddysseyError as e:
    waiting.clear()
    with top:
        prov = fill("Table {t}, ODD {o}.", t=code(current.digest[:6]), o=code(current.odd_hash[:6]))
        shell.header(NAME, "Methods could not be compared.", prov, synthetic=current.synthetic)
    with body:
        shell.error_card(seed_form.in_words_of_the_page(e))
        if isinstance(e, SharedSamplesError):
            st.button("Compare all the same", key="allow", on_click=benchmark_controls.allow_shared, args=(current, view.oracle))
    st.stop()
waiting.clear()
state.pin(current)
with body:
    if dropped:
        shell.note(f"The address asks for {', '.join(dropped)}, which cannot be had here; it was left out of this view.")
    if unknown:
        shell.note(f'The address asks for the table "{unknown}", which is not in this workspace (any more); this is "{current.name}".')
    if current.model and view.oracle.model and current.model != view.oracle.model:
        told = "{c} The oracle holds answers of {o}, the table in use those of {m}: can one foretell the failures of the other?"
        shell.note(fill(told, c=chip("another model", "wait"), o=strong(view.oracle.model), m=strong(current.model)))
    k = benchmark_controls.shown_budget(result)
    benchmark_parts.figures(result, k)
    left, right = st.columns(2, gap="large")
    with left:
        benchmark_parts.curves(result)
    with right:
        benchmark_parts.frontier_at(result, k)
    benchmark_parts.paper_style(result)
    benchmark_parts.small_print(result)
with top:
    benchmark_parts.head(current, view, result, k)
