"""The panel "Why this one": every number that the score was made of."""

from __future__ import annotations

import streamlit as st
from markupsafe import Markup

from core.odd import Odd
from core.scoring import Explanation, Ranking
from pages.shared import shell
from pages.shared.markup import arithmetic, chip, fill, strong, table, tags

RARE = 0.1
"""A value with a smaller probability is marked as rare."""


def show(e: Explanation, ranking: Ranking) -> None:
    """Show the whole arithmetic of one recommendation."""
    p = e.parameters
    with shell.card("Why this one", f"rank {e.rank:,} of {ranking.search.candidates:,}"):
        shell.html(tags(e.values.values(), rare=[x.value for x in e.exposures if x.p < RARE]))
        if e.samples:
            shell.note(f"It has {e.samples} samples, fewer than {ranking.evidence.threshold}, and was set to count as missing.")
        shell.section("Exposure", f"P = (n + {p['alpha']:g}) / (N + {p['alpha']:g} · values); N = {e.exposures[0].total:,}")
        rows = [(ranking.odd.by_name[x.dimension].label, x.value, f"{x.count:,}", x.values, f"{x.p:.4f}")
                for x in e.exposures]  # fmt: skip
        shell.html(table(["Dimension", "Value", "n", "values", "P"], rows, right=(2, 3, 4)))
        _neighbours(e, ranking.odd)
        raw = f"{e.raw_error:.6f}" if e.neighbours else "no neighbour"
        shell.html(
            arithmetic(
                [
                    ("exposure", f"(Π P)^τ = ({e.product:.4e})^{p['tau']:g}", f"{e.exposure:.6f}"),
                    ("rarity", f"(1 − {e.exposure:.6f})^{p['gamma']:g}", f"{e.w_rare:.6f}"),
                    ("risk", f"min({p['kappa']:g}, {raw})", f"{e.eps_hat:.6f}"),
                    ("score φ", f"{e.w_rare:.6f} × (1 + {e.eps_hat:.6f})", f"{e.phi:.6f}"),
                ]
            )
        )
        shell.note(_limits(e, ranking))
        if e.why_not_higher:
            shell.note(fill("{head} {text}", head=strong("Why not higher?"), text=e.why_not_higher))


def _neighbours(e: Explanation, odd: Odd) -> None:
    shell.section("Nearest observed slices", f"at most {e.parameters['m']}, similarity at least {e.parameters['theta']:g}")
    if not e.neighbours:
        shell.note("No tested slice is similar enough, so the risk is 0 and the score is the rarity alone.")
        return
    rows = []
    for n in e.neighbours:
        differs = ", ".join(n.values[d] for d in n.differs_in) or "(the same values)"
        marks = Markup(" ").join([chip("decisive", "risk")] * n.decisive + [chip("provisional", "wait")] * n.provisional)
        error = fill("{e}{b}{low} to {high}", e=f"{n.error:.1%}", b=Markup("<br>"), low=f"{n.low:.0%}", high=f"{n.high:.0%}")
        product = strong(f"{n.product:.4f}") if n.decisive else f"{n.product:.4f}"
        rows.append((fill("{d} {m}", d=differs, m=marks), f"{n.similarity:.6f}", error, f"{n.n:,}", product))
    shell.html(table(["Differs in", "sim", "error, 95 %", "n", "sim × error"], rows, right=(1, 2, 3, 4)))
    with st.popover("The slices in full"):
        for n in e.neighbours:
            shell.note(fill("{id}: {v}", id=f"slice {n.slice_id}", v=", ".join(f"{odd.by_name[d].label} {v}" for d, v in n.values.items())))


def _limits(e: Explanation, ranking: Ranking) -> str:
    kappa = e.parameters["kappa"]
    cap = f"The cap κ = {kappa:g} took effect." if e.capped else f"Risk is below its cap of {kappa:g}."
    low, high = float(ranking.w_rare.min()), float(ranking.w_rare.max())
    return f"{cap} Rarity runs only from {low:.4f} to {high:.4f} over the slices listed, so their order is mostly that of the risk."
