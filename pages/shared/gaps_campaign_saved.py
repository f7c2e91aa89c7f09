"""Saved campaigns: save a plan, open, rename, delete and restore."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core import operators
from core.errors import OddysseyError
from core.operators import CampaignPlan
from core.storage import SavedCampaign, SavedTable
from pages.shared import gaps_campaign_text as text
from pages.shared import shell, state
from pages.shared.markup import Markup, chip, fill, join, strong

CAMPAIGN = "campaign"
"""Query parameter of the campaign that is shown."""
_ERROR, _DELETED = "campaign.error", "campaign.deleted"
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
    error = st.session_state.pop(_ERROR, None)
    if error is not None:
        shell.error_card(error)
    _undo()
    campaigns = state.store().campaigns.list(include_deleted=True)
    living, gone = [x for x in campaigns if not x.deleted], [x for x in campaigns if x.deleted]
    if living:
        shell.section("Saved campaigns", f"{len(living):,}")
    names = {t.id: t.name for t in state.store().tables.list(include_deleted=True)}
    for x in living:
        _line(x, "" if x.table_id == table.id else names[x.table_id])
    if gone:
        with st.expander(f"Bin ({len(gone)})"):
            for x in gone:
                _binned(x)


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
        with st.popover("Rename"):
            name = st.text_input("New name", x.name, key=f"campaign-name-{x.id}", max_chars=120)
            if st.button("Rename", key=f"rename-campaign-{x.id}"):
                _do(lambda: state.store().campaigns.rename(x.id, name))
        if st.button("Delete", key=f"delete-campaign-{x.id}", help="Puts it into the bin"):
            st.session_state[_DELETED] = x.id
            _do(lambda: state.store().campaigns.delete(x.id))


def bar(x: SavedCampaign) -> Markup:
    """Progress of a campaign: evaluated, then acquired, then what is left; dropped slices are no part of it."""
    kept = x.slices - x.counts["dropped"]
    if not kept:
        return Markup("")
    done, got = (f"{x.counts[k] / kept:.2%}" for k in ("evaluated", "acquired"))
    return Markup('<span class="od-bar od-progress"><i class="done" style="width:{}"></i><i style="width:{}"></i></span>').format(done, got)


def _do(action: Callable[[], object]) -> None:
    try:
        action()
    except OddysseyError as e:
        st.session_state[_ERROR] = e
    st.rerun()


def _undo() -> None:
    deleted = st.session_state.get(_DELETED)
    if not deleted:
        return
    x = state.store().campaigns.get(deleted)
    if not x.deleted:
        del st.session_state[_DELETED]
        return
    with st.container(horizontal=True, vertical_alignment="center", key="od-undo-campaign"):
        shell.note(fill("{name} lies in the bin; its slices are free for other campaigns.", name=strong(x.name)))
        if st.button("Undo", key="undo-delete-campaign"):
            del st.session_state[_DELETED]
            _do(lambda: state.store().campaigns.restore(x.id))


def _binned(x: SavedCampaign) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        shell.note(
            fill(
                "{name}, {n}, deleted {at} UTC", name=strong(x.name), n=text.several(x.slices, "slice"), at=f"{x.changed_at:%Y-%m-%d %H:%M}"
            )
        )
        if st.button("Restore", key=f"restore-campaign-{x.id}"):
            name = state.store().campaigns.free_name(x.name)
            _do(lambda: state.store().campaigns.restore(x.id, name))
