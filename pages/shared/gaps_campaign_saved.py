"""Saved campaigns: save a plan, open, rename, delete and restore."""

from __future__ import annotations

import streamlit as st

from core import operators
from core.errors import OddysseyError
from core.operators import CampaignPlan
from core.storage import SavedCampaign, SavedTable
from pages.shared import gaps_campaign_text as text
from pages.shared import shell, state
from pages.shared.markup import Markup, Text, chip, fill, join, strong
from pages.shared.records import RecordList

CAMPAIGN = "campaign"
"""Query parameter of the campaign that is shown."""
_TONES = {"evaluated": "done", "acquired": "info", "planned": "plain", "dropped": "wait"}


def save(table: SavedTable, made: CampaignPlan) -> None:
    """Ask for a name and keep the plan under it."""
    store = state.store()
    proposed = store.campaigns.free_name(f"Campaign {len(store.campaigns.list(include_deleted=True)) + 1}")
    name = st.text_input("Name", proposed, key="campaign_name", max_chars=120)
    if st.button("Save", key="campaign_save_now", type="primary"):
        try:
            saved = operators.save_campaign(store, name, made, table)
        except OddysseyError as e:
            shell.error_card(e, "Nothing was saved.")
            return
        st.query_params[CAMPAIGN] = saved.id
        st.rerun()


def show(table: SavedTable) -> None:
    """The saved campaigns of the workspace, with what can be done to them."""
    records = _records()
    records.show_error()
    records.undo()
    living = state.store().campaigns.list()
    if living:
        shell.section("Saved campaigns", f"{len(living):,}")
    names = {t.id: t.name for t in state.store().tables.list(include_deleted=True)}
    for x in living:
        _line(x, "" if x.table_id == table.id else names[x.table_id])
    records.bin(_binned)


def _records() -> RecordList:
    return RecordList(state.store().campaigns, "campaign", "-campaign", "lies in the bin; its slices are free for other campaigns.")


def _line(x: SavedCampaign, table: str) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"od-campaign-{x.id}"):
        with st.container(width="stretch"):
            of = fill(" for the table {t}", t=strong(table)) if table else ""
            line = fill("{n}, {m}, cost {c}, saved {at} UTC", n=text.several(x.slices, "slice"), m=text.several(x.samples, "sample"),
                        c=text.number(x.cost), at=f"{x.created_at:%Y-%m-%d %H:%M}")  # fmt: skip
            chips = join((chip(f"{n:,} {k}", _TONES[k]) for k, n in x.counts.items() if n), " ")
            shell.html(Markup('<p class="od-note">{}{} {}<br>{}</p>{}').format(strong(x.name), of, chips, line, bar(x)))
        if st.button("Open", key=f"open-campaign-{x.id}"):
            st.query_params[CAMPAIGN] = x.id
            st.rerun()
        _records().rename_and_delete(x)


def bar(x: SavedCampaign) -> Markup:
    """Progress of a campaign: evaluated, then acquired, then what is left; dropped slices are no part of it."""
    kept = x.slices - x.counts["dropped"]
    if not kept:
        return Markup("")
    done, got = (f"{x.counts[k] / kept:.2%}" for k in ("evaluated", "acquired"))
    return Markup('<span class="od-bar od-progress"><i class="done" style="width:{}"></i><i style="width:{}"></i></span>').format(done, got)


def _binned(x: SavedCampaign) -> Text:
    at = f"{x.changed_at:%Y-%m-%d %H:%M}"
    return fill("{name}, {n}, deleted {at} UTC", name=strong(x.name), n=text.several(x.slices, "slice"), at=at)
