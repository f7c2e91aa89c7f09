"""Ranked gaps: which slices were never tested, in the order in which to test them, with the reason for each."""

from __future__ import annotations

import streamlit as st

from core.errors import OddysseyError
from pages.shared import eval_moved, gaps_campaign, gaps_views, results, shell, start, state
from pages.shared.gaps_controls import controls, ignored
from pages.shared.gaps_head import NAME, Waiting, agreement, head
from pages.shared.gaps_parameters import parameters
from pages.shared.markup import code, fill

shell.begin("pages/ranked_gaps.py")
with shell.errors_as_card(NAME, "The ranking did not run."):
    current = state.current_table()
    if current is None:
        start.without_table(
            NAME,
            "No table yet, so nothing can be ranked. A table with one row per answer is enough.",
            "Here you will see which combinations of conditions were never tested, ranked by how rare they are and by the failures of the "
            "tested slices most similar to them.",
        )
    seed = state.seed_table(current)
top = st.container()
bar_of_controls = st.container(horizontal=True, vertical_alignment="bottom", gap="small", key=gaps_views.bar_key())
body = st.container()
waiting = Waiting(top, body, current, seed.odd.base_space.size)
unknown, dropped = state.unknown_table(), [*ignored(seed.odd), *gaps_views.ignored(), *gaps_campaign.ignored()]
try:
    with bar_of_controls:
        shown = gaps_views.switch()
        view = controls(seed)
        params = parameters(view.scope.outside)
        agreement(current, params, view)
        waiting.size = view.scope.space(seed.odd).size
    planning = shown == gaps_views.CAMPAIGN
    if planning and gaps_campaign.opened(top, body):
        st.stop()
    ranked, of = gaps_views.asked(shown, params, view, seed.odd)
    result = results.ranking(current, ranked, of.mode, of.top, of.where, waiting.show, of.scope, of.plausible_only, of.floor)
except OddysseyError as e:
    waiting.clear()
    with top:
        head("The ranking did not run.", fill("Table {t}, ODD {o}.", t=code(current.digest[:6]), o=code(seed.odd.hash[:6])), current)
    with body:
        shell.error_card(e)
    st.stop()
waiting.clear()
state.pin(current)
if not planning:
    with top:
        head(*gaps_views.told(shown, current, result), current, None if shown == gaps_views.EFFECTS else result)
with body:
    if dropped:
        shell.note(f"The address asks for {', '.join(dropped)}, which cannot be had for this table; it was left out of this view.")
    if unknown:
        shell.note(f'The address asks for the table "{unknown}", which is not in this workspace (any more); this is "{current.name}".')
    eval_moved.note(current)
    if planning:
        gaps_campaign.show(current, result, top, body)
    elif shown == gaps_views.EFFECTS:
        gaps_views.effects(result, params)
    elif shown == gaps_views.COVERAGE:
        gaps_views.coverage(result)
    else:
        gaps_views.ranking(current, result, params, view)
