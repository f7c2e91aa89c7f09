"""Ranked gaps: which slices were never tested, in the order in which to test them, with the reason for each."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import operators
from core.digest import sha256_json
from core.errors import OddysseyError
from core.operators import RankResult
from core.plots import CELL, coverage_map, named, pair_counts, recommendation_profile, shares
from core.scoring import ScoringParameters, explain
from core.similarity import MODES
from core.storage import SavedTable
from pages.shared import gaps_explanation, results, shell, start, state
from pages.shared.gaps_controls import RANK, View, clear_filters, controls, fix_cell, ignored, parameters
from pages.shared.gaps_text import headline, provenance
from pages.shared.jobs import Job
from pages.shared.markup import Markup, Text, code, fill, support_legend

NAME = "Ranked gaps"
VERMILLION = "#D55E00"


def head(sentence: Text, prov: Text, table: SavedTable, result: RankResult | None = None) -> None:
    """The head of the page; with a result, it can be downloaded."""
    left, right = st.columns([0.83, 0.17], gap="medium")
    with left:
        shell.header(NAME, sentence, prov, synthetic=table.synthetic)
    if result is not None and len(result.ranking):
        with right, st.container(horizontal=True, horizontal_alignment="right", key="od-actions"):
            downloads(result)


def downloads(result: RankResult) -> None:
    """The ranking as files; each is made when it is asked for."""
    n = len(result.ranking)
    with st.popover("Download", type="primary"):
        shell.note(
            f"{n:,} slices with their scores. The manifest names the hashes of input and ODD, the parameters, the similarity, "
            "the filter and the versions; JSON and Parquet hold it, a CSV needs it beside it."
        )
        for label, data, name, mime in (
            ("CSV", lambda: operators.as_csv(result.ranking), "gaps.csv", "text/csv"),
            ("Manifest of the CSV", lambda: operators.as_manifest(result), "gaps.manifest.json", "application/json"),
            ("JSON, with explanations", lambda: operators.as_json(result), "gaps.json", "application/json"),
            ("Parquet", lambda: operators.as_parquet(result), "gaps.parquet", "application/vnd.apache.parquet"),
        ):
            st.download_button(label, data, name, mime, key=f"download_{name}", on_click="ignore", width="stretch")


def heat_map(table: SavedTable, result: RankResult, view: View) -> None:
    """Coverage of two dimensions; a click fixes the two values."""
    ranking = result.ranking
    if view.rows == view.columns:
        shell.note("The ODD distinguishes one dimension only, so there is no map of pairs.")
        return
    counts = pair_counts(state.seed_table(table), ranking.codes, view.rows, view.columns, dict(view.where))
    names = ranking.odd.by_name
    holds = f"; {counts.holding:,} {'holds' if counts.holding == 1 else 'hold'} a top-{len(ranking)} slice" if len(ranking) else ""
    shell.section(
        f"Coverage, {names[view.rows].label.lower()} × {names[view.columns].label.lower()}",
        f"{counts.untested:,} of {counts.pairs:,} pairs have no samples{holds}; click a cell to fix its values, again to free them",
    )
    high = max(int(counts.frame["n"].max()), 10)  # the scale starts at 1 whatever is drawn, so that two maps can be compared
    shell.html(support_legend(1, f"{high:,}", f"Holds a top-{len(ranking)} slice" if len(ranking) else ""))
    key = f"map_{short_hash(view.rows, view.columns, view.where)}"
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
    shell.section(f"Top {len(ranking):,}", shown)
    dims = [odd.names[k] for k in ranking.dims]
    rows = operators.rows(ranking)
    words = {d: named(v.name for v in odd.by_name[d].values) for d in dims}
    best = [explain(ranking, i).decisive for i in range(len(ranking))]
    frame = pd.DataFrame(
        [
            {"#": r["rank"], "φ": r["phi"], "ε̂": r["eps_hat"]}
            | {f"d {d}": words[d][r[d]] for d in dims}
            | {"E": r["exposure"], "sim": b.similarity if b else None, "error": b.error if b else None, "n": b.n if b else None}
            for r, b in zip(rows, best, strict=True)
        ]
    )
    number, bar = st.column_config.NumberColumn, st.column_config.ProgressColumn
    kappa = params.kappa
    config = {
        "#": number(width=36, pinned=True),
        "φ": bar(
            format="%.4f", min_value=0.0, max_value=1 + kappa, width=96, color=VERMILLION, help=f"The score, from 0 to {1 + kappa:g}."
        ),
        "ε̂": bar(format="%.3f", min_value=0.0, max_value=kappa, width=88, color=VERMILLION, help=f"Neighbour error, from 0 to {kappa:g}."),
        **{f"d {d}": st.column_config.TextColumn(odd.by_name[d].label, width=_width(odd.by_name[d].label, frame[f"d {d}"])) for d in dims},
        "E": number("Exposure", format="%.6f", width=78),
        "sim": number("Decisive sim", format="%.3f", width=90, help="Similarity of the neighbour with the largest similarity × error."),
        "error": number("error", format="%.3f", width=60, help="Error of that neighbour."),
        "n": number("n", width=44, help="Samples of that neighbour."),
    }
    key = f"ranked_{short_hash(table.id, params, view.mode, view.top, view.where)}"
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


def _width(label: str, values: pd.Series) -> int:
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


def agreement(table: SavedTable, params: ScoringParameters, view: View) -> None:
    """How far another similarity agrees with the one in use, computed on request."""
    with st.popover("Agreement", help="How far the similarity modes agree on this table."):
        others = [m for m in MODES if m != view.shown_mode]
        other = st.selectbox(f"{view.shown_mode} against", others, key="other_mode")
        if not st.button("Compare", key="compare_modes"):
            shell.note(
                "Compares the similarity of every missing with every tested slice in both modes, in a seeded sample if they are very many."
            )
            return
        try:
            r = results.agreement(table, params, view.shown_mode, other)
        except OddysseyError as e:
            shell.error_card(e)
            return
        rho = f"{r.spearman:.3f}" if r.spearman is not None else "not defined, since one of them does not vary"
        if r.mean_abs_difference is None or r.max_abs_difference is None or r.same_nearest is None:
            shell.note("There is no missing slice to compare.")
            return
        shell.note(
            f"{view.shown_mode} against {other}: Spearman {rho}; mean absolute difference {r.mean_abs_difference:.4f}, largest "
            f"{r.max_abs_difference:.4f}; for {r.same_nearest:.0%} of {r.candidates:,} missing slices both name the same tested slice "
            f"as most similar. {r.pairs:,} pairs."
        )


class Waiting:
    """Head and bar while a ranking is computed. Nothing is drawn before it is needed, so that quick rankings do not flicker."""

    def __init__(self, top: DeltaGenerator, below: DeltaGenerator, table: SavedTable, size: int) -> None:
        self.top, self.below, self.table, self.size = top, below, table, size
        self.drawn: list[DeltaGenerator] = []

    def show(self, job: Job) -> None:
        """Tell how far the work is."""
        if not self.drawn:
            self.drawn = [self.top.empty(), self.below.empty(), self.below.empty()]
            with self.drawn[0].container():
                prov = fill("You can leave this page; the work goes on and its result is kept. Table {t}.", t=code(self.table.digest[:6]))
                head(f"Ranking {self.size:,} slices.", prov, self.table)
            with self.drawn[2].container():
                shell.html(Markup('<div class="od-wait"><div></div><div></div></div>'))
        results.bar(job, self.drawn[1])

    def clear(self) -> None:
        """Make room for the result."""
        for place in self.drawn:
            place.empty()


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
top, bar_of_controls = st.container(), st.container(horizontal=True, vertical_alignment="bottom", gap="small")
body = st.container()
waiting = Waiting(top, body, current, seed.odd.base_space.size)
unknown, dropped = state.unknown_table(), ignored(seed.odd)
try:
    with bar_of_controls:
        view = controls(seed)
        params = parameters()
        agreement(current, params, view)
    result = results.ranking(current, params, view.mode, view.top, view.where, waiting.show)
except OddysseyError as e:
    waiting.clear()
    with top:
        head("The ranking did not run.", fill("Table {t}, ODD {o}.", t=code(current.digest[:6]), o=code(seed.odd.hash[:6])), current)
    with body:
        shell.error_card(e)
    st.stop()
waiting.clear()
state.pin(current)
with top:
    head(headline(result), provenance(current, result), current, result)
with body:
    if dropped:
        shell.note(f"The address asks for {', '.join(dropped)}, which cannot be had for this table; it was left out of this view.")
    if unknown:
        shell.note(f'The address asks for the table "{unknown}", which is not in this workspace (any more); this is "{current.name}".')
    if len(result.ranking):
        left, right = st.columns([0.6, 0.4], gap="medium")
        with left:
            heat_map(current, result, view)
            chosen = ranked_table(result, params, view, current)
            profile(result)
        with right:
            gaps_explanation.show(explain(result.ranking, chosen), result.ranking)
    else:
        heat_map(current, result, view)
        if view.where:
            st.button("Clear the filter", on_click=clear_filters, args=([d for d, _ in view.where],), type="primary")
