"""The Campaign view of the Ranked gaps page: from the ranking to a test plan, and the plans that were saved."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import operators
from core.acquisition import Campaign
from core.errors import OddysseyError
from core.operators import CampaignPlan, RankResult
from core.storage import SavedTable
from pages.shared import gaps_campaign_files, gaps_campaign_open, gaps_campaign_saved, shell, state
from pages.shared import gaps_campaign_text as text
from pages.shared.gaps_campaign_form import form, ignored, quota_words
from pages.shared.gaps_campaign_slices import coverage_tile, slice_columns, slice_frame
from pages.shared.gaps_head import NAME
from pages.shared.gaps_text import value_name
from pages.shared.markup import chip, fill, strong
from pages.shared.markup import table as plain_table
from pages.shared.shell import Tile

__all__ = ["ignored", "opened", "pool", "show"]


def opened(top: DeltaGenerator, body: DeltaGenerator) -> bool:
    """Draw the saved campaign that the address names; whether it names one."""
    return gaps_campaign_open.show(top, body)


def pool(scheduled: int) -> int:
    """Best ranked slices that a plan is made from, so many that enough are left beside those that other campaigns have."""
    return operators.POOL * (1 + (scheduled + operators.POOL // 2) // operators.POOL)


def show(table: SavedTable, result: RankResult, top: DeltaGenerator, body: DeltaGenerator) -> None:
    """Draw the plan made from a ranking, and the list of saved campaigns.

    Args:
        table: The table in use.
        result: The best slices, see `pool`.
        top: Container of the head.
        body: Container of the rest.
    """
    odd = result.ranking.odd
    with body:
        left, right = st.columns([0.27, 0.73], gap="medium")
    try:
        with left, st.container(border=True, key="campaign_form"):
            allowed = result.ranking.scope.values(odd)
            request = form(odd, {odd.names[k]: allowed[k] for k in result.ranking.dims})
        made = operators.plan_campaign(result, request, state.store())
    except OddysseyError as e:
        with top:
            shell.header(NAME, "The campaign could not be planned.", synthetic=table.synthetic)
        with right:
            shell.error_card(e)
            gaps_campaign_saved.show(table)
        return
    with top:
        _head(table, result, made)
    with right:
        if made.campaign.considered:
            _figures(made.campaign)
            _quotas(made.campaign)
            _slices(made)
            _left_out(made.campaign)
        gaps_campaign_saved.show(table)


def _head(table: SavedTable, result: RankResult, made: CampaignPlan) -> None:
    left, right = st.columns([0.74, 0.26], gap="medium")
    with left:
        shell.header(
            NAME,
            text.headline(made.campaign, bool(result.ranking.where)),
            text.provenance(table, result, made.campaign),
            synthetic=table.synthetic,
        )
    if not made.slices:
        return
    with right, st.container(horizontal=True, horizontal_alignment="right", gap="small", key="od-actions"):
        with st.popover("Download", key="campaign_download"):
            gaps_campaign_files.downloads(operators.campaign_sheet(made))
        with st.popover("Save campaign", type="primary", key="campaign_save"):
            gaps_campaign_saved.save(table, made)


def _figures(c: Campaign) -> None:
    """The numbers of the plan, each with what it rests on."""
    r = c.request
    left = f"{text.number(c.left)} left" if r.kind != "slices" or c.left else "budget used up"
    budget = f"of {text.number(r.budget)}"
    total = c.summary()["cost"]
    tiles = [
        Tile("Slices", f"{len(c):,}", left if r.kind == "slices" else f"of {c.considered:,} ranked", budget if r.kind == "slices" else ""),
        Tile(
            "Samples",
            f"{int(c.samples.sum()):,}",
            f"{r.per_slice:,} a slice" + (f", {left}" if r.kind == "samples" else ""),
            budget if r.kind == "samples" else "",
        ),
        Tile(
            "Cost",
            text.number(total),
            left if r.kind == "cost" else f"{text.number(r.base_cost)} a sample" + (", times factors" if r.factors else ""),
            budget if r.kind == "cost" else "",
        ),
        Tile("Failing samples expected", f"{c.expected_failures:,.0f}", f"estimate; mean ε̂ {_mean(c)}"),
    ]
    tiles += [coverage_tile(**vars(x)) for x in c.coverage]
    shell.tiles(tiles)
    if c.shared:
        shell.note(f"{text.several(c.shared, 'slice')} of the plan {'is' if c.shared == 1 else 'are'} also in other campaigns.")


def _mean(c: Campaign) -> str:
    return f"{c.expected_risk / len(c):.3f}" if len(c) else "not defined"


def _quotas(c: Campaign) -> None:
    if not c.quotas:
        return
    lines = []
    for q in c.quotas:
        name = value_name(c.odd, q.quota.dimension, q.quota.value)
        state_ = chip("met", "done") if q.met else chip("not met", "risk")
        note = f"{text.several(q.available, 'ranked slice')} {'has' if q.available == 1 else 'have'} it"
        if q.quota.kind == "most" and q.blocked:
            note += f"; it kept out {q.blocked:,}"
        elif not q.met:
            note += "; budget and the other quotas leave no room for more" if q.available > q.have else "; there are no more"
        rule = quota_words(q.quota) + (f": {q.slices:,}" if q.quota.share else "")
        lines.append((strong(name), rule, f"{q.have:,}", state_, note))
    shell.section("Quotas")
    shell.html(plain_table(["Value", "Rule", "In the plan", "", ""], lines, right=(2,)))


def _slices(made: CampaignPlan) -> None:
    c = made.campaign
    shell.section("Plan", f"{text.several(len(c), 'slice')}, best rank first")
    if not len(c):
        shell.note("No slice was taken.")
        return
    frame = slice_frame(c.odd, made.slices)
    st.dataframe(
        frame,
        hide_index=True,
        height=37 + 33 * min(len(c), 12),
        row_height=33,
        column_config=slice_columns(c.odd, frame),
        key="campaign_slices",
    )


def _left_out(c: Campaign) -> None:
    rows = text.left_out(c)
    if not rows:
        shell.note(fill("All {n} ranked slices are in the plan. {more}", n=f"{c.considered:,}", more=text.beyond(c)))
        return
    shell.section("Not taken", f"{c.skipped.total:,} of {c.considered:,} ranked slices, each counted once")
    shell.html(plain_table(["Slices", "Why"], [(strong(f"{n:,}"), why) for n, why in rows]))
    if text.beyond(c):
        shell.note(text.beyond(c))
