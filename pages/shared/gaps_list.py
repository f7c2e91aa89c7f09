"""Body of the Ranked gaps page: the map of what was tested, the ranked table, and the profile of what is recommended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core import operators
from core.digest import sha256_json
from core.odd import Odd
from core.operators import RankResult
from core.plots import CELL, coverage_map, named, pair_counts, recommendation_profile, shares
from core.scoring import ScoringParameters, explain
from core.storage import SavedTable
from pages.shared import shell, state
from pages.shared.gaps_controls import View, fix_cell
from pages.shared.gaps_parameters import RANK
from pages.shared.markup import support_legend

VERMILLION = "#D55E00"


def heat_map(table: SavedTable, result: RankResult, view: View) -> None:
    """Coverage of two dimensions; a click fixes the two values."""
    ranking = result.ranking
    if view.rows == view.columns:
        shell.note("The ODD distinguishes one dimension only, so there is no map of pairs.")
        return
    counts = pair_counts(state.seed_table(table), ranking.codes, view.rows, view.columns, dict(view.where), view.scope)
    names = ranking.odd.by_name
    holds = f"; {counts.holding:,} {'holds' if counts.holding == 1 else 'hold'} a top-{len(ranking)} slice" if len(ranking) else ""
    shell.section(
        f"Coverage, {names[view.rows].label.lower()} × {names[view.columns].label.lower()}",
        f"{counts.untested:,} of {counts.pairs:,} pairs have no samples{holds}; click a cell to fix its values, again to free them",
    )
    high = max(int(counts.frame["n"].max()), 10)  # the scale starts at 1 whatever is drawn, so that two maps can be compared
    shell.html(support_legend(1, f"{high:,}", f"Holds a top-{len(ranking)} slice" if len(ranking) else ""))
    key = f"map_{short_hash(view.rows, view.columns, view.where, view.scope)}"
    chart = coverage_map(counts, len(ranking), shell.dark())
    st.altair_chart(chart, key=key, width="content", on_select=lambda: fix_cell(key, view.rows, view.columns), selection_mode=CELL)
    if counts.undrawn:
        shell.note(f"{counts.undrawn:,} of {counts.pairs:,} pairs are not drawn: their values hold no listed slice, or the fewest samples.")


def short_hash(*parts: object) -> str:
    """A key for a widget that must begin anew with other data."""
    return sha256_json([repr(p) for p in parts])[:12]


def position(count: int) -> int:
    """0-based rank of the slice that the URL asks for, within the list."""
    wanted = st.query_params.get(RANK, "1")
    rank = min(max(int(wanted) if wanted.isascii() and wanted.isdecimal() else 1, 1), count)
    if wanted != str(rank):
        st.query_params[RANK] = str(rank)
    return rank - 1


def choose_row(key: str) -> None:
    """A selected row is explained, and stands in the URL."""
    rows = st.session_state[key]["selection"]["rows"]
    if rows:
        st.query_params[RANK] = str(rows[0] + 1)


def ranked_table(result: RankResult, params: ScoringParameters, view: View, table: SavedTable) -> int:
    """The ranking as a table; returns the position that is explained."""
    ranking, odd = result.ranking, result.ranking.odd
    shown = f"{len(ranking):,} of {ranking.search.candidates:,} missing slices shown; select a row to explain it"
    swaps = ranking.diversity.swaps if ranking.diversity else 0
    if swaps:
        shown += f"; {swaps:,} of them stand in for slices with a higher score, to keep the list diverse"
    shell.section(f"Diverse list of {len(ranking):,}" if swaps else f"Top {len(ranking):,}", shown)
    dims = [odd.names[k] for k in ranking.dims]
    best = [explain(ranking, i).decisive for i in range(len(ranking))]
    decisive = [(b.similarity, b.error, b.n) if b else (None, None, None) for b in best]
    frame = gap_frame(odd, dims, operators.rows(ranking), decisive)
    config = gap_columns(odd, dims, frame, params.kappa, ranking.ridge is not None)
    key = f"ranked_{short_hash(table.id, params, view)}"
    chosen = position(len(ranking))
    st.dataframe(
        frame,
        hide_index=True,
        height=37 + 33 * min(len(frame), 14),
        row_height=33,
        on_select=lambda: choose_row(key),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [chosen], "columns": []}},
        key=key,
        column_config=config,
    )
    return chosen


def gap_frame(odd: Odd, dims: Sequence[str], rows: Sequence[Mapping[str, Any]], decisive: Sequence[tuple[Any, Any, Any]]) -> pd.DataFrame:
    """The columns in which missing slices are listed, on every page that lists them.

    Args:
        odd: The ODD.
        dims: Dimensions that are written out.
        rows: As of `core.operators.rows`, or of the file with these columns.
        decisive: Similarity, error and n of the decisive neighbour of each row, None without one.
    """
    words = {d: named(v.name for v in odd.by_name[d].values) for d in dims}
    return pd.DataFrame(
        [
            {"#": r["rank"], "φ": r["phi"], "ε̂": r["eps_hat"]}
            | {f"d {d}": words[d][r[d]] for d in dims}
            | {"E": r["exposure"], "sim": sim, "error": error, "n": n}
            for r, (sim, error, n) in zip(rows, decisive, strict=True)
        ]
    )


def gap_columns(odd: Odd, dims: Sequence[str], frame: pd.DataFrame, kappa: float, ridge: bool = False) -> dict[str, Any]:
    """How `st.dataframe` shows those columns."""
    number, bar = st.column_config.NumberColumn, st.column_config.ProgressColumn
    eps = f"{'Predicted' if ridge else 'Neighbour'} error, from 0 to {kappa:g}."
    return {
        "#": number(width=36, pinned=True),
        "φ": bar(
            format="%.4f", min_value=0.0, max_value=1 + kappa, width=96, color=VERMILLION, help=f"The score, from 0 to {1 + kappa:g}."
        ),
        "ε̂": bar(format="%.3f", min_value=0.0, max_value=kappa, width=88, color=VERMILLION, help=eps),
        **{f"d {d}": st.column_config.TextColumn(odd.by_name[d].label, width=fitted(odd.by_name[d].label, frame[f"d {d}"])) for d in dims},
        "E": number("Exposure", format="%.6f", width=78),
        "sim": number("Decisive sim", format="%.3f", width=90, help="Similarity of the neighbour with the largest similarity × error."),
        "error": number("error", format="%.3f", width=60, help="Error of that neighbour."),
        "n": number("n", width=44, help="Samples of that neighbour."),
    }


def fitted(label: str, values: pd.Series) -> int:
    """Room for the values of a column, and for a part of its label at least."""
    return int(min(max(values.str.len().max() * 6.6 + 18, min(len(label), 9) * 7 + 18), 190))


def profile(result: RankResult) -> None:
    """Share of each value among the recommended slices against the tested samples."""
    data, odd = shares(result.ranking), result.ranking.odd
    shell.section(
        "Recommendation profile", f"bar: share among the {len(result.ranking):,} slices listed; orange tick: share of the tested samples"
    )
    with st.container(horizontal=True, gap="medium", key="profile"):
        for d in dict.fromkeys(data["dimension"]):
            st.altair_chart(recommendation_profile(data, d, odd.by_name[d].label), width="content", key=f"profile_{d}")
