"""One saved campaign: its slices with their status, which can be set, and everything that was set before."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import operators
from core.errors import OddysseyError
from core.odd import Odd
from core.plots import plain
from core.storage import STATUSES, CampaignContent, Status
from pages.shared import gaps_campaign_files, shell, state
from pages.shared import gaps_campaign_text as text
from pages.shared.gaps_campaign_saved import CAMPAIGN, bar
from pages.shared.gaps_campaign_slices import coverage_tile, slice_columns, slice_frame
from pages.shared.gaps_head import NAME
from pages.shared.markup import fill, strong, tags
from pages.shared.markup import table as plain_table
from pages.shared.shell import Tile

_SAID, _ERROR = "campaign.said", "campaign.status_error"
_LOG = 30
VERBS: dict[Status, str] = {"planned": "Planned again", "acquired": "Acquired", "evaluated": "Evaluated", "dropped": "Dropped"}


def show(top: DeltaGenerator, body: DeltaGenerator) -> bool:
    """Draw the campaign that the address names; False if it names none."""
    wanted = st.query_params.get(CAMPAIGN, "")
    if not wanted:
        return False
    try:
        content = state.store().campaigns.load(wanted)
        table = state.store().tables.get(content.saved.table_id)
        odd = state.store().odds.get(content.saved.odd_hash)
    except OddysseyError as e:
        with top:
            shell.header(NAME, "This campaign cannot be shown.")
        with body:
            shell.error_card(e)
            st.button("Back to planning", key="campaign_back", on_click=_back, type="primary")
        return True
    with top:
        left, right = st.columns([0.74, 0.26], gap="medium")
    with left:
        shell.header(NAME, text.opened(content), text.opened_provenance(content, table, odd), synthetic=table.synthetic)
    with right, st.container(horizontal=True, horizontal_alignment="right", gap="small", key="od-actions"):
        st.button("Back to planning", key="campaign_back", on_click=_back)
        with st.popover("Download", type="primary", key="campaign_download"):
            gaps_campaign_files.downloads(operators.campaign_sheet(content))
    with body:
        if content.saved.deleted:
            name = strong(content.saved.name)
            shell.note(fill("{name} lies in the bin, so its slices cannot be changed. Restore it in the planning view.", name=name))
        shell.html(bar(content.saved))
        _figures(content)
        _slices(content, odd)
        _log(content)
    return True


def _back() -> None:
    st.query_params.pop(CAMPAIGN, None)


def _figures(content: CampaignContent) -> None:
    """What was planned, dropped slices included."""
    x, summary = content.saved, content.manifest["campaign"]["summary"]
    tiles = [
        Tile("Samples", f"{x.samples:,}", "as planned"),
        Tile("Cost", text.number(x.cost), "as planned"),
        Tile("Failing samples expected", f"{summary['expected_failures']:,.0f}", "estimate: samples × ε̂"),
    ]
    tiles += [coverage_tile(**c) for c in summary["coverage"]]
    shell.tiles(tiles)


def _slices(content: CampaignContent, odd: Odd) -> None:
    said = st.session_state.pop(_SAID, None)
    shell.section("Slices", "select rows to set their status; every status is kept")
    bar_ = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    frame = slice_frame(odd, tuple(s.planned for s in content.slices))
    frame.insert(1, "status", [s.status for s in content.slices])
    if any(s.note for s in content.slices):
        frame.insert(2, "note", [s.note for s in content.slices])
    frame["since"] = [s.at.replace(tzinfo=None) for s in content.slices]
    columns = slice_columns(odd, frame)
    columns |= {
        "status": st.column_config.TextColumn("Status", width=84, pinned=True),
        "note": st.column_config.TextColumn("Note", width=120),
        "since": st.column_config.DatetimeColumn("Since, UTC", format="YYYY-MM-DD HH:mm", width=128),
    }
    event = st.dataframe(
        frame,
        hide_index=True,
        height=37 + 33 * min(len(frame), 16),
        row_height=33,
        column_config=columns,
        on_select="rerun",
        selection_mode="multi-row",
        key=f"campaign_rows_{content.saved.id}_{content.saved.changed_at.timestamp()}",  # a change of status clears the selection
    )
    rows = [r for r in event["selection"]["rows"] if r < len(content.slices)]
    ids = [content.slices[r].planned.slice_id for r in rows]
    with bar_:
        st.text_input("Note", key=_note(content.saved.id), max_chars=2_000, placeholder="Kept with the status", width=280)
        for status in STATUSES:
            st.button(
                VERBS[status],
                key=f"set_{status}",
                disabled=not ids or content.saved.deleted,
                on_click=_set,
                args=(content.saved.id, ids, status),
                help=None if ids else "Select slices first",
            )
        shell.note(said or f"{text.several(len(ids), 'slice')} selected")
    error = st.session_state.pop(_ERROR, None)
    if error is not None:
        shell.error_card(error)


def _note(campaign_id: str) -> str:
    return f"campaign_note_{campaign_id}"


def _set(campaign_id: str, ids: list[int], status: Status) -> None:
    try:
        changed = state.store().campaigns.set_status(campaign_id, ids, status, st.session_state[_note(campaign_id)])
    except OddysseyError as e:
        st.session_state[_ERROR] = e
        return
    same = len(ids) - changed
    st.session_state[_SAID] = f"{text.several(changed, 'slice')} {status}" + (f", {same:,} had that status already" if same else "")
    st.session_state[_note(campaign_id)] = ""


def _log(content: CampaignContent) -> None:
    log = state.store().campaigns.log(content.saved.id)
    later = [e for e in log[content.saved.slices :]][::-1]
    if not later:
        shell.note("No status was changed since the campaign was saved.")
        return
    slices = {s.planned.slice_id: s.planned for s in content.slices}
    with st.expander(f"Log ({len(later):,})"):
        shell.note(f"The last {min(len(later), _LOG):,} of {text.several(len(later), 'change')}, the newest first.")
        lines = [
            (
                f"{e.at:%Y-%m-%d %H:%M}",
                f"{slices[e.slice_id].rank:,}",
                e.status,
                e.note,
                tags(map(plain, slices[e.slice_id].values.values())),
            )
            for e in later[:_LOG]
        ]
        shell.html(plain_table(["UTC", "Rank", "Status", "Note", "Slice"], lines, right=(1,)))
