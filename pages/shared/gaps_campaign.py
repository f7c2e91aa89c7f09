"""The Campaign view of the Ranked gaps page: from the ranking to a test plan, and the plans that were saved."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from core import operators
from core.acquisition import Campaign
from core.errors import OddysseyError
from core.odd import Odd
from core.operators import CampaignPlan, RankResult
from core.plots import named
from core.storage import PlannedSlice, SavedTable
from pages.shared import gaps_campaign_files, gaps_campaign_open, gaps_campaign_saved, shell, state
from pages.shared import gaps_campaign_text as text
from pages.shared.gaps_campaign_form import form, quota_words
from pages.shared.gaps_head import NAME
from pages.shared.gaps_text import value_name
from pages.shared.markup import Markup, chip, fill, join, strong
from pages.shared.markup import table as plain_table
from pages.shared.shell import Tile

VERMILLION = "#D55E00"


def show(table: SavedTable, ranking: Callable[[int], RankResult]) -> None:
    """Draw the view; a campaign that the address names is shown instead of a plan.

    Args:
        table: The table in use.
        ranking: The ranking of the page, of so many slices.
    """
    if gaps_campaign_open.show():
        return
    head = st.container()
    left, right = st.columns([0.27, 0.73], gap="medium")
    try:
        result = ranking(operators.POOL)
        odd = result.ranking.odd
        with left, st.container(border=True, key="campaign_form"):
            request = form(odd, [odd.names[k] for k in result.ranking.dims])
        made = operators.plan_campaign(result, request, state.store())
    except OddysseyError as e:
        with head:
            shell.header(NAME, "The campaign could not be planned.", synthetic=table.synthetic)
        with right:
            shell.error_card(e)
            gaps_campaign_saved.show(table)
        return
    with head:
        _head(table, result, made)
    with right:
        _figures(made.campaign)
        _quotas(made.campaign)
        _slices(made)
        _left_out(made.campaign)
        gaps_campaign_saved.show(table)


def _head(table: SavedTable, result: RankResult, made: CampaignPlan) -> None:
    left, right = st.columns([0.74, 0.26], gap="medium")
    with left:
        shell.header(NAME, text.headline(made.campaign), text.provenance(table, result, made.campaign), synthetic=table.synthetic)
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
    for x in c.coverage:
        label = {1: "Values covered", 2: "Pairs of values covered"}[x.t]
        tiles.append(Tile(label, f"{x.after:,}", f"{x.before:,} before, {x.after - x.before:,} more", f"of {x.possible:,}"))
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
        count = f"{q.have:,} of {q.slices:,}" if q.quota.kind == "least" else f"{q.have:,}, at most {q.slices:,}"
        lines.append((strong(name), quota_words(q.quota), count, state_, note))
    shell.section("Quotas")
    shell.html(plain_table(["Value", "Rule", "Slices", "", ""], lines))


def _slices(made: CampaignPlan) -> None:
    c = made.campaign
    shell.section("Plan", f"{text.several(len(c), 'slice')}, best rank first")
    if not len(c):
        shell.note("No slice was taken.")
        return
    st.dataframe(
        slice_frame(c.odd, made.slices),
        hide_index=True,
        height=37 + 33 * min(len(c), 12),
        row_height=33,
        column_config=slice_columns(c.odd, tuple(made.slices[0].values)),
        key="campaign_slices",
    )


def slice_frame(odd: Odd, slices: tuple[PlannedSlice, ...]) -> pd.DataFrame:
    """Slices of a campaign as a table."""
    words = {d: named(v.name for v in odd.by_name[d].values) for d in odd.names}
    return pd.DataFrame(
        [
            {"#": s.rank}
            | {f"d {d}": words[d][v] for d, v in s.values.items()}
            | {"samples": s.samples, "cost": s.cost, "ε̂": s.eps_hat, "fail": s.samples * s.eps_hat}
            for s in slices
        ]
    )


def slice_columns(odd: Odd, dims: tuple[str, ...]) -> dict[str, object]:
    """How the columns of `slice_frame` are shown."""
    column = st.column_config.NumberColumn
    return {
        "#": column(width=52, pinned=True, help="Rank among the missing slices."),
        **{f"d {d}": st.column_config.TextColumn(odd.by_name[d].label) for d in dims},
        "samples": column("Samples", format="localized", width=72),
        "cost": column("Cost", format="localized", width=72),
        "ε̂": st.column_config.ProgressColumn(
            format="%.3f", min_value=0.0, max_value=1.0, width=88, color=VERMILLION, help="Estimated error rate."
        ),
        "fail": column("Expected failures", format="%.1f", width=110, help="Samples × ε̂: an estimate."),
    }


def _left_out(c: Campaign) -> None:
    rows = text.left_out(c)
    if not rows:
        shell.note(fill("All {n} ranked slices are in the plan.", n=f"{c.considered:,}"))
        return
    parts = [Markup("{} {} ({})").format(strong(f"{n:,}"), label.lower(), why) for label, n, why in rows]
    shell.section("Not taken", f"{c.skipped.total:,} of {c.considered:,} ranked slices, each counted once")
    shell.note(join(parts, "; ") + ".")
