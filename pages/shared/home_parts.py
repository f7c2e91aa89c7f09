"""The parts of Home. Each takes what could be computed; what could not says so and where to look."""

from __future__ import annotations

import streamlit as st
from markupsafe import Markup

from core.operators import RankResult, Triage
from core.plots import RARE, failure_intervals, scale_end
from core.scoring import Explanation, explain
from core.storage import SavedTable
from pages.shared import footage, results, shell, state
from pages.shared.markup import Text, bar, code, count, fill, join, mark, table, tags
from pages.shared.shell import Step, Tile

GAPS, TRIAGE = "pages/ranked_gaps.py", "pages/triage.py"
NAMED = 4
"""Values that name a slice in the headline, the rarest ones."""
WORST = 8
"""Values in the chart."""


def rarest(e: Explanation) -> str:
    """The rarest values of a slice, in the order of the ODD."""
    chosen = sorted(e.exposures, key=lambda x: x.p)[:NAMED]
    return " · ".join(x.value for x in e.exposures if x in chosen)


def headline(missing: int, space: int, result: RankResult | None) -> Text:
    """How much was never tested, and what to test first; before the ranking is there, the first half."""
    if not missing:
        return fill("All {n} in-ODD slices were tested.", n=f"{space:,}")
    start = fill("{m} of {n} in-ODD slices have never been tested.", m=f"{missing:,}", n=f"{space:,}")
    if result is None or not len(result.ranking):
        return start
    first = explain(result.ranking, 0)
    why = first.decisive
    reason = (
        fill("a similar tested slice has an error of {e}.", e=mark(f"{why.error:.0%}"))
        if why
        else "it is the rarest, and none like it failed."
    )
    return fill("{a} Test {s} first: {r}", a=start, s=mark(rarest(first)), r=reason)


def provenance(current: SavedTable, summary: Triage, result: RankResult | None) -> Text:
    """What the headline rests on, and what it leaves out."""
    parts = []
    why = explain(result.ranking, 0).decisive if result and len(result.ranking) else None
    if result and why:
        parts.append(f"Similar slice: n = {why.n:,}, 95 % interval {why.low:.0%} to {why.high:.0%}, similarity {why.similarity:.2f}.")
    source = results.provenance(current)
    parts.append(f"{current.total:,} samples, of which {summary.left_out:,} lie outside the ODD and are left out;")
    parts.append(f"{source.get('rejected', 0):,} of {source.get('rows', 0):,} rows rejected at import.")
    if current.n_assumed:
        parts.append("n was assumed, not counted.")
    return fill("{p} Table {t}, ODD {o}.", p=" ".join(parts), t=code(current.digest[:6]), o=code(current.odd_hash[:6]))


def steps(current: SavedTable, summary: Triage, space: int) -> None:
    """The way around: what was tested, what is missing, where samples come from, what was counted back."""
    used, runs = footage.current(), len(current.runs)
    observed = f"{summary.slices:,} slices observed, {summary.slices / space:.1%}"
    shell.steps(
        [
            Step("Table", f"{current.total:,} samples", fill("{n}; {o}", n=current.name, o=observed)),
            Step("Gaps", f"{space - summary.slices:,} missing", f"of {space:,} slices in the ODD, ranked", now=True),
            Step(
                "Samples",
                f"{used.rows:,} rows" if used else "no footage yet",
                fill("in {f}", f=used.name) if used else "a manifest says what there is",
            ),
            Step("Results", count(runs, "evaluation") if runs else "none counted yet", "counted into this table"),
        ],
        back="answers that are counted change the table",
    )


def not_computed(label: str, address: str, page: str) -> Tile:
    """A tile whose number is not there, with the way to the page that says why."""
    link = Markup('<a href="{}" target="_self">{}</a>').format(address, fill("See {page}", page=page))
    return Tile(label, "not computed", link)


def tiles(summary: Triage, space: int, result: RankResult | None, failed: bool) -> None:
    """Four numbers with what they rest on. A tile that waits for the ranking says so; one that failed links to its page."""
    if summary.n:
        basis = f"n = {summary.n:,}, 95 % interval {summary.low:.1%} to {summary.high:.1%}"
        error = Tile("Mean error", f"{summary.error:.1%}", basis)
    else:
        error = not_computed("Mean error, no sample in the ODD", "seed_tables", "Seed tables")
    support = "Slices at or above minimum support"
    if result is not None:
        evidence = result.ranking.evidence
        weak = int(evidence.provisional.sum())
        basis = f"n of at least {evidence.threshold:,}; {weak:,} are provisional"
        strong = Tile(support, f"{summary.slices - weak:,}", basis, f"of {summary.slices:,}")
    else:
        strong = not_computed(support, "ranked_gaps", "Ranked gaps") if failed else Tile(support, "…", "being ranked")
    shell.tiles(
        [
            error,
            Tile(
                "In-ODD slices observed",
                f"{summary.slices:,}",
                f"{summary.slices / space:.1%}, counted; n = {summary.n:,}",
                f"of {space:,}",
            ),
            Tile("Pairs of values tested", f"{summary.pairs_tested:,}", _pairs(summary), f"of {summary.pairs_possible:,}"),
            strong,
        ]
    )


def _pairs(summary: Triage) -> str:
    never = summary.pairs_possible - summary.pairs_tested
    return f"{never:,} pairs without a sample, counted; n = {summary.n:,}"


def top_gaps(result: RankResult | None) -> None:
    """The first three gaps with the reason for each."""
    shell.section("Top three gaps", "inside the ODD; rare values marked")
    if result is None:
        shell.note("Not computed.")
    elif not len(result.ranking):
        shell.note("No slice is missing.")
    else:
        ranking = result.ranking
        lines = []
        for i in range(min(3, len(ranking))):
            e = explain(ranking, i)
            what = join([tags(e.values.values(), rare=[x.value for x in e.exposures if x.p < RARE]), _reason(e)])
            lines.append((i + 1, what, join([f"{e.phi:.4f}", bar(e.phi / (1 + ranking.params.kappa), "risk")])))
        shell.html(table(["", "Slice", "Score φ"], lines))
    st.page_link(GAPS, label="See all ranked gaps", icon=":material/arrow_forward:")


def _reason(e: Explanation) -> Markup:
    d = e.decisive
    why = (
        f"Decisive: a tested slice with error {d.error:.0%} (n = {d.n:,}, {d.low:.0%} to {d.high:.0%}), similarity {d.similarity:.2f}."
        if d
        else "No similar tested slice failed."
    )
    return Markup('<p class="od-note">{}</p>').format(f"{why} Exposure score {e.exposure:.2%}.")


def worst_values(current: SavedTable, summary: Triage) -> None:
    """The values under which the model fails most, as dots with intervals."""
    shell.section("Where it fails", f"values with the highest lower bound; dashed: {summary.error:.1%} over all samples")
    rows = summary.by_value[:WORST]
    if rows:
        odd = state.seed_table(current).odd
        chart = failure_intervals(rows, odd, summary.error, scale_end(rows, summary.error), shell.dark())
        st.altair_chart(chart, width="stretch", key="worst")
    else:
        shell.note("No sample lies inside the ODD.")
    st.page_link(TRIAGE, label="See where it fails", icon=":material/arrow_forward:")
