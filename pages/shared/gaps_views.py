"""The views of the Ranked gaps page: the list, what it covers, the effects behind a prediction, and the campaign."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.odd import Odd
from core.operators import RankResult
from core.scoring import ScoringParameters, explain
from core.storage import SavedTable
from pages.shared import gaps_campaign, gaps_campaign_saved, gaps_effects, gaps_explanation, gaps_text, gaps_tway, shell, state
from pages.shared.gaps_controls import View, clear_filters
from pages.shared.gaps_list import heat_map, profile, ranked_table
from pages.shared.markup import Text

KEY = "view"
"""Query parameter of the view."""
RANKING, COVERAGE, EFFECTS, CAMPAIGN = VIEWS = ("Ranking", "Pairs and triples", "Effects", "Campaign")


def switch() -> str:
    """Show the choice of the view and return it."""
    chosen: str = st.segmented_control("View", VIEWS, default=RANKING, required=True, key=KEY, bind="query-params")
    return chosen


def ignored() -> list[str]:
    """A view, or a part of one, that the address asks for and that there is not, in words."""
    allowed = {KEY: VIEWS, gaps_tway.WIDTH: gaps_tway.WORDS.values()}
    return [f"{key} = {v}" for key, words in allowed.items() for v in st.query_params.get_all(key) if v not in words]


def bar_key() -> str:
    """Key of the container of the controls; the style sheet hides in it what has no effect in the view that is shown."""
    view = st.session_state.get(KEY, st.query_params.get(KEY))
    if view == CAMPAIGN:
        return "campaign_open_bar" if st.query_params.get(gaps_campaign_saved.CAMPAIGN) else "campaign_bar"
    return {COVERAGE: "coverage_bar", EFFECTS: "effects_bar"}.get(view or "", "gaps_bar")


def ranking(table: SavedTable, result: RankResult, params: ScoringParameters, view: View) -> None:
    """Map, list and explanation."""
    if not len(result.ranking):
        heat_map(table, result, view)
        if view.where:
            st.button("Clear the filter", on_click=clear_filters, args=([d for d, _ in view.where],), type="primary")
        return
    left, right = st.columns([0.6, 0.4], gap="medium")
    with left:
        heat_map(table, result, view)
        chosen = ranked_table(result, params, view, table)
        profile(result)
    with right:
        gaps_explanation.show(explain(result.ranking, chosen), result.ranking)


def asked(shown: str, params: ScoringParameters, view: View, odd: Odd) -> tuple[ScoringParameters, View]:
    """What is ranked for a view.

    Effects are those of the ridge, to which similarity, fixed values and a floor make no difference. A campaign is shaped by
    quotas, not by a floor.
    """
    if shown == EFFECTS:
        return replace(params, risk="ridge"), replace(view, mode=None, where=(), floor=None)
    if shown == CAMPAIGN:
        return params, replace(view, top=gaps_campaign.pool(len(state.store().campaigns.scheduled(odd.hash))), floor=None)
    return params, view


def told(shown: str, table: SavedTable, result: RankResult) -> tuple[Text, Text]:
    """The finding of a view and its provenance."""
    if shown == EFFECTS:
        return gaps_effects.headline(result), gaps_text.provenance_of_effects(table, result)
    if shown == COVERAGE:
        return gaps_tway.headline(result), gaps_text.provenance(table, result, explained=False)
    return gaps_text.headline(result), gaps_text.provenance(table, result)


def effects(result: RankResult, params: ScoringParameters) -> None:
    """What the ridge makes of the table, whether or not the ranking rests on it."""
    if params.risk != "ridge":
        shell.note(
            "The ranking rests on neighbours. These are the effects that the ridge finds in the same tested slices; choose ridge under "
            "Scoring to rank by them."
        )
    gaps_effects.show(result)


def coverage(result: RankResult) -> None:
    """Pairs and triples of values, tested and listed."""
    gaps_tway.show(result)
