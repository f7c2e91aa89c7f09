"""Ranked gaps: which slices were never tested, in the order in which to test them, with the reason for each."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core import operators
from core.operators import RankResult
from core.plots import coverage_map, pair_counts, recommendation_profile, shares
from core.plots.coverage import CELL
from core.scoring import explain
from core.similarity import agreement
from core.storage import SavedTable
from pages.shared import gaps_explanation, results, shell, start, state
from pages.shared.gaps_controls import Choice, controls, fix_cell
from pages.shared.markup import Text, code, fill, mark, support_legend
from pages.shared.shell import Action

NAME = "Ranked gaps"


def headline(result: RankResult) -> Text:
    """The finding of the first rank."""
    ranking = result.ranking
    if not len(ranking):
        return "No slice is missing here: everything under this filter was tested."
    e = explain(ranking, 0)
    rare = sorted(e.exposures, key=lambda x: x.p)[:4]
    name = " · ".join(x.value for x in e.exposures if x in rare)
    seen = f"expected in {e.exposure:.2%} by its exposure score"
    why = e.decisive
    if why is None:
        return fill("Test {s} next: it is rarely seen ({x}), and no similar slice failed.", s=mark(name), x=seen)
    text = "Test {s} next: it was never tested, and a slice like it (similarity {sim}) fails {e}."
    return fill(text, s=mark(name), sim=f"{why.similarity:.2f}", e=mark(f"{why.error:.0%}"))


def provenance(table: SavedTable, result: RankResult) -> Text:
    """n, interval, digests and exclusions behind the headline."""
    ranking, source = result.ranking, result.manifest["input"]
    evidence = ranking.evidence
    why = explain(ranking, 0).decisive if len(ranking) else None
    parts = [f"Exact over {ranking.search.candidates:,} missing of {ranking.search.space:,} slices."]
    if why is not None:
        parts.append(f"That slice: n = {why.n}, 95 % interval {why.low:.0%} to {why.high:.0%}.")
    weak = int(evidence.provisional.sum())
    if weak:
        parts.append(
            f"{weak} of {ranking.search.observed} observed slices have fewer than {evidence.threshold} samples; they count as observed."
        )
    if len(evidence.set_aside.n):
        parts.append(f"{len(evidence.set_aside.n)} slices with fewer than {evidence.threshold} samples count as missing.")
    if evidence.outside.total:
        parts.append(f"{evidence.outside.total:,} samples outside the ODD are left out.")
    parts.append(f"{source.get('rejected', 0):,} of {source.get('rows', 0):,} rows were rejected at import.")
    if table.n_assumed:
        parts.append("n was assumed, not counted.")
    end = fill("Table {t}, ODD {o}, {m} similarity.", t=code(table.digest[:6]), o=code(ranking.odd.hash[:6]), m=ranking.similarity["mode"])
    return fill("{a} {b}", a=" ".join(parts), b=end)


def downloads(result: RankResult) -> list[Action]:
    """The ranking as files."""
    return [
        Action("csv", "CSV", download=operators.as_csv(result.ranking), file_name="gaps.csv"),
        Action("json", "JSON", download=lambda: operators.as_json(result), file_name="gaps.json", mime="application/json"),
        Action(
            "parquet", "Parquet", download=lambda: operators.as_parquet(result), file_name="gaps.parquet", mime="application/octet-stream"
        ),
        Action("manifest", "Manifest", download=operators.as_manifest(result), file_name="gaps.manifest.json", mime="application/json"),
    ]


def heat_map(result: RankResult, choice: Choice) -> None:
    """Coverage of two dimensions; a click fixes the two values."""
    ranking = result.ranking
    if choice.rows == choice.columns:
        shell.note("The ODD has one dimension only, so there is no map of pairs.")
        return
    counts = pair_counts(ranking.evidence.observed, ranking.codes, choice.rows, choice.columns)
    labels = ranking.odd.by_name
    shell.section(
        f"Coverage, {labels[choice.rows].label.lower()} × {labels[choice.columns].label.lower()}",
        f"{counts.untested} of {len(counts.frame)} pairs have no samples; {counts.holding} hold a top-{len(ranking)} slice; "
        "click a cell to fix its values",
    )
    shell.html(support_legend(1, f"{int(counts.frame['n'].max()):,}", f"Holds a top-{len(ranking)} slice"))
    key = f"map_{choice.rows}_{choice.columns}"
    chart = coverage_map(counts, len(ranking), shell.dark())
    st.altair_chart(chart, key=key, width="content", on_select=lambda: fix_cell(key, choice.rows, choice.columns), selection_mode=CELL)


def ranked_table(result: RankResult) -> int:
    """The ranking as a table; returns the chosen position."""
    ranking = result.ranking
    shell.section(f"Top {len(ranking):,}", f"of {ranking.search.candidates:,} missing slices; select a row to explain it")
    frame = pd.DataFrame(operators.rows(ranking))
    dims = [ranking.odd.names[k] for k in ranking.dims]
    frame = frame[["rank", "phi", "eps_hat", *dims, "exposure", "nearest_similarity", "nearest_error", "nearest_n"]]
    number = st.column_config.NumberColumn
    config = {
        "rank": number("#", width=40),
        **{d: st.column_config.TextColumn(ranking.odd.by_name[d].label, width=84) for d in dims},
        "phi": st.column_config.ProgressColumn(
            "φ", format="%.4f", min_value=0.0, max_value=1 + ranking.params.kappa, width=96, color="#D55E00"
        ),
        "eps_hat": number("Risk", format="%.4f", width=62, help="Error of the decisive neighbour × similarity, capped."),
        "exposure": number("Exposure", format="%.6f", width=90),
        "nearest_similarity": number("Nearest: sim", format="%.3f", width=95, help="The most similar tested slice."),
        "nearest_error": number("error", format="%.3f", width=60),
        "nearest_n": number("n", width=45),
    }
    event = st.dataframe(
        frame,
        hide_index=True,
        height=min(38 + 33 * len(frame), 440),
        row_height=33,
        on_select="rerun",
        selection_mode="single-row",
        key="ranked",
        column_config=config,
    )
    chosen = (
        event.selection.rows
        if event.selection.rows
        else [int(st.query_params.get("rank", "1")) - 1 if st.query_params.get("rank", "1").isdecimal() else 0]
    )
    position = min(max(chosen[0], 0), len(ranking) - 1)
    st.query_params["rank"] = str(position + 1)
    return position


def profile(result: RankResult) -> None:
    """Share of each value among the recommended slices against the tested samples."""
    data = shares(result.ranking)
    shell.section("Recommendation profile", f"bar: share among the {len(result.ranking)} slices listed; tick: share of the tested samples")
    names = list(dict.fromkeys(data["dimension"]))
    for row in range(0, len(names), 4):
        for cell, d in zip(st.columns(4), names[row : row + 4], strict=False):
            with cell:
                chart = recommendation_profile(data, d, result.ranking.odd.by_name[d].label)
                st.altair_chart(chart, width="stretch", key=f"profile_{d}")


def other_modes(table: SavedTable, result: RankResult, choice: Choice) -> None:
    """How far another similarity agrees with the one in use, on request."""
    with st.popover("Compare with another similarity"):
        others = [m for m in ("text", "calibrated", "factored", "exact") if m != result.ranking.similarity["mode"]]
        other = st.selectbox("Compare with", others, key="other_mode")
        if st.button("Compare", key="compare_modes"):
            seed, settings = state.seed_table(table), state.settings()
            a, _ = operators.similarity_for(seed, choice.params, settings, choice.mode)
            b, _ = operators.similarity_for(seed, choice.params, settings, other)
            r = agreement(a, b, result.ranking.codes, result.ranking.evidence.observed.codes)
            for key, value in r.as_dict().items():
                shell.note(f"{key.replace('_', ' ')}: {value:.4g}" if isinstance(value, float) else f"{key.replace('_', ' ')}: {value}")


shell.begin("pages/ranked_gaps.py")
with shell.errors_as_card(NAME, "The ranking did not run."):
    current = state.current_table()
    if current is None:
        start.without_table(
            NAME,
            "No table yet, so nothing can be ranked. A table with one row per answer is enough.",
            "Here you will see which combinations of conditions were never tested, ranked by rarity and by the failures nearest to them.",
        )
    top = st.container()
    choice = controls(state.seed_table(current).odd)
    result = results.ranking(current, choice.params, choice.mode, choice.top, choice.where)
    with top:
        shell.header(NAME, headline(result), provenance(current, result), downloads(result), synthetic=current.synthetic)
    if len(result.ranking):
        left, right = st.columns([0.63, 0.37], gap="medium")
        with left:
            heat_map(result, choice)
            position = ranked_table(result)
            other_modes(current, result, choice)
        with right:
            gaps_explanation.show(explain(result.ranking, position), result.ranking)
        profile(result)
    else:
        shell.empty("Clear a fixed value to see the gaps elsewhere.")
