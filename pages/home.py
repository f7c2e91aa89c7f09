"""Home: the state of the workspace in one look, and what to do next."""

from __future__ import annotations

import streamlit as st

from core.scoring import ScoringParameters, explain
from pages.shared import results, shell, start, state
from pages.shared.markup import bar, code, fill, join, mark, table, tags
from pages.shared.shell import Action, Step, Tile

NAME = "Home"
GAPS = "pages/ranked_gaps.py"

shell.begin("pages/home.py")
with shell.errors_as_card(NAME, "The state of the workspace could not be computed."):
    current = state.current_table()
    if current is None:
        start.without_table(
            NAME,
            "Nothing tested yet. Start with a table.",
            "Here you will see how much of the ODD was tested, which gap to test first, and why.",
        )
    params = ScoringParameters()
    ranking = results.ranking(current, params, None, 20).ranking
    summary = results.triage(current)
    source = results.provenance(current)
    missing, space = ranking.search.candidates, ranking.search.space
    first = explain(ranking, 0) if len(ranking) else None
    why = first.decisive if first is not None else None
    if first is None:
        sentence = fill("All {n} slices of the ODD were tested.", n=f"{space:,}")
    else:
        rare = sorted(first.exposures, key=lambda x: x.p)[:4]
        name = mark(" · ".join(x.value for x in first.exposures if x in rare))
        reason = f"a slice like it fails {why.error:.0%} of the time." if why else "it is the rarest."
        sentence = fill(
            "{m} of {n} in-ODD slices have never been tested. Test {s} first: {r}", m=f"{missing:,}", n=f"{space:,}", s=name, r=reason
        )
    basis = f"That slice: n = {why.n}, 95 % interval {why.low:.0%} to {why.high:.0%}, similarity {why.similarity:.2f}. " if why else ""
    rejected = f"{source.get('rejected', 0):,} of {source.get('rows', 0):,} rows rejected"
    prov = fill("{b}Table {t}, {n} samples, {r}.", b=basis, t=code(current.digest[:6]), n=f"{current.total:,}", r=rejected)
    shell.header(NAME, sentence, prov, [Action("gaps", "See all ranked gaps", "primary", page=GAPS)], synthetic=current.synthetic)
    strong_slices = int((~ranking.evidence.provisional).sum())
    shell.steps(
        [
            Step("Table", f"{current.total:,} samples", f"{summary.slices:,} slices observed, {summary.slices / space:.1%}"),
            Step("Gaps", f"{missing:,} missing", f"of {space:,} in the ODD", now=True),
        ]
    )
    shell.tiles(
        [
            Tile("Mean error", f"{summary.error:.1%}", f"n = {summary.n:,}, 95 % interval {summary.low:.1%} to {summary.high:.1%}"),
            Tile(
                "In-ODD slices observed",
                f"{summary.slices:,}",
                f"{strong_slices:,} of them with n of at least {ranking.evidence.threshold}",
                f"of {space:,}",
            ),
            Tile("Pairs of values tested", f"{summary.pairs_tested:,}", "with at least one sample", f"of {summary.pairs_possible:,}"),
            Tile("Samples outside the ODD", f"{summary.left_out:,}", f"of {current.total:,} in the table; no evidence in-ODD"),
        ]
    )
    left, right = st.columns([0.62, 0.38], gap="large")
    with left:
        shell.section("Top three gaps", "inside the ODD; rare values marked")
        rows = []
        for i in range(min(3, len(ranking))):
            e = explain(ranking, i)
            because = (
                f"A slice like it fails {e.decisive.error:.0%} (n = {e.decisive.n}), similarity {e.decisive.similarity:.2f}."
                if e.decisive
                else ""
            )
            what = join([tags(e.values.values(), rare=[x.value for x in e.exposures if x.p < 0.1]), fill(" {b}", b=because)])
            score = join([f"{e.phi:.3f}", bar(e.phi / (1 + params.kappa), "risk")])
            rows.append((i + 1, what, score))
        shell.html(table(["", "Slice", "Score φ"], rows))
        st.page_link(GAPS, label="See all ranked gaps", icon=":material/arrow_forward:")
    with right:
        shell.section("Where it fails", "highest lower bound of the error")
        worst = [(", ".join(f.values), f"{f.error:.1%}", f"{f.low:.1%} to {f.high:.1%}", f"{f.n:,}") for f in summary.by_value[:5]]
        shell.html(table(["Value", "Error", "95 %", "n"], worst, right=(1, 2, 3)))
        st.page_link("pages/triage.py", label="See where it fails", icon=":material/arrow_forward:")
