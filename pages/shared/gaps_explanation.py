"""The panel "Why this one": every number that the score was made of, in the order in which it is computed."""

from __future__ import annotations

import streamlit as st
from markupsafe import Markup

from core.odd import Odd
from core.plots import RARE, exposure_strip, plain
from core.scoring import Contribution, Explanation, Neighbour, Ranking, ValueExposure
from pages.shared import shell
from pages.shared.gaps_text import caveats, more_common, value_names
from pages.shared.markup import Text, arithmetic, chip, fill, join, strong, table, tags

_LONGEST = 15
LARGEST = 8
"""Terms of a predicted error that are shown at once."""


def show(e: Explanation, ranking: Ranking) -> None:
    """Show the whole arithmetic of one recommendation."""
    # With a diversity floor the numbers count the list: better slices may have given way, so they are no ranks among all.
    swapped = ranking.diversity is not None and ranking.diversity.swaps > 0
    place = f"number {e.rank:,} of the {len(ranking):,} listed" if swapped else f"rank {e.rank:,} of {ranking.search.candidates:,}"
    with shell.card("Why this one", place, key="why"):
        shell.html(tags(map(plain, e.values.values()), rare=[plain(x.value) for x in e.exposures if x.p < RARE]))
        if e.samples:
            shell.note(f"It has {e.samples:,} samples, fewer than {ranking.evidence.threshold:,}, and was set to count as missing.")
        shell.section("Exposure", f"P, share of samples, smoothed; under {RARE:g} in orange")
        st.altair_chart(exposure_strip(e.exposures, shell.dark()), width="content", key="strip")
        _unseen(e, ranking.odd)
        if e.contributions:
            _effects(e)
        _neighbours(e, ranking.odd)
        shell.section("The score, step by step", _parameters(e))
        shell.html(arithmetic(steps(e)))
        shell.note(_basis(e))
        if e.why_not_higher:
            shell.note(fill("{head} {text}", head=strong("Why not higher?"), text=e.why_not_higher))
        for text in caveats(ranking):
            shell.note(text)


def _unseen(e: Explanation, odd: Odd) -> None:
    """How the values that were never seen got their probability."""
    unseen = [x for x in e.exposures if x.extended and not x.count]
    if not unseen:
        return
    if any(x.star for x in unseen):
        shell.section("Never seen", f"P is that of the most similar value seen, × sim × β, β = {e.parameters['beta']:g}")
        rows = [[plain(x.value), plain(x.star), f"{x.star_p:.6f}", f"{x.similarity:.6f}", f"{x.p:.6f}"] for x in unseen]
        shell.html(table(["Value", "most similar seen", "its P", "sim", "P"], rows, right=(2, 3, 4)))
    else:
        shell.section("Never seen", "P is that of a count of zero")
        shell.html(table(["Value", "P"], [[plain(x.value), f"{x.p:.6f}"] for x in unseen], right=(1,)))
    text = more_common(odd, e)
    if text:
        shell.note(text)


def steps(e: Explanation) -> list[tuple[Text, Text, Text]]:
    """Every line of the computation, from the counts to phi; each follows from the lines above it and the tables above them."""
    return [
        *(_probability(k, x, e) for k, x in enumerate(e.exposures, 1)),
        ("Π P", "product of the above", f"{e.product:.4e}"),
        *_rarity(e),
        *_risk(e),
        ("w_nb", f"1 + {e.eps_hat:.6f}", f"{e.w_nb:.6f}"),
        ("score φ", f"{e.w_rare:.6f} × {e.w_nb:.6f}", f"{e.phi:.6f}"),
    ]


def _probability(k: int, x: ValueExposure, e: Explanation) -> tuple[Text, Text, Text]:
    a, name = e.parameters["alpha"], f"P{k} {_cut(plain(x.value))}"
    if x.star:
        return name, "never seen, see above", f"{x.p:.6f}"
    return name, f"({x.count:,}+{a:g}) / ({x.total:,}+{a * x.values:g})", f"{x.p:.6f}"


def _rarity(e: Explanation) -> list[tuple[Text, Text, Text]]:
    p = e.parameters
    exposure = ("exposure E", f"({e.product:.4e})^{p['tau']:g}", f"{e.exposure:.6f}")
    if p["rarity"] == "paper":
        return [exposure, ("w_rare", f"(1 − {e.exposure:.6f})^{p['gamma']:g}", f"{e.w_rare:.6f}")]
    if e.log_high == e.log_low:
        return [exposure, ("w_rare", "all slices of the space are equally rare", f"{e.w_rare:.6f}")]
    return [
        exposure,
        ("log Π P", f"in the space {e.log_low:.2f} to {e.log_high:.2f}", f"{e.log_product:.6f}"),
        ("w_rare", f"({e.log_high - e.log_product:.6f} / {e.log_high - e.log_low:.6f})^{p['gamma']:g}", f"{e.w_rare:.6f}"),
    ]


def _risk(e: Explanation) -> list[tuple[Text, Text, Text]]:
    kappa = e.parameters["kappa"]
    if e.contributions:
        mean, rest = e.contributions[0].effect, sum(c.effect for c in e.contributions[1:])
        return [
            ("predicted", f"{mean:.6f} + {rest:.6f} of {len(e.contributions) - 1} effects".replace("+ -", "− "), f"{e.raw_error:.6f}"),
            ("ε̂", f"from 0 to {kappa:g}: {e.raw_error:.6f}", f"{e.eps_hat:.6f}"),
        ]
    why = e.decisive
    nobody = "no neighbour failed" if e.neighbours else "no neighbour"
    product = f"{why.similarity:.6f} × {why.error:.6f}" if why is not None else nobody
    return [("sim × error", product, f"{e.raw_error:.6f}"), ("ε̂", f"min({e.raw_error:.6f}, {kappa:g})", f"{e.eps_hat:.6f}")]


def _parameters(e: Explanation) -> str:
    return "P = (n + α) / (N + α·|V|)" + ", α = {alpha:g}, τ = {tau:g}, γ = {gamma:g}, κ = {kappa:g}".format(**e.parameters)


def _effects(e: Explanation) -> None:
    """The largest terms of the predicted error; all are in the popover."""
    shell.section("Predicted error", f"a mean and {len(e.contributions) - 1} effects; the largest first")
    rows = [[_term(c), f"{c.effect:+.4f}"] for c in e.contributions]
    shell.html(table(["Term", "adds"], rows[:LARGEST], right=(1,)))
    known = {d for c in e.contributions for d in c.dimensions}
    same = [plain(d) for d in e.values if d not in known]
    if same:
        shell.note(f"{', '.join(same)}: no effect, since all tested slices have one value there.")
    with st.popover("All terms"):
        shell.html(table(["Term", "adds"], rows, right=(1,)))


def _term(c: Contribution) -> str:
    if not c.dimensions:
        return "mean"
    return " and ".join(f"{plain(d)}: {plain(v)}" for d, v in zip(c.dimensions, c.values, strict=True))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"


def _neighbours(e: Explanation, odd: Odd) -> None:
    m, theta = e.parameters["m"], e.parameters["theta"]
    shell.section("Most similar tested slices", f"at most m = {m}, similarity at least θ = {theta:g}")
    if e.contributions:
        shell.note("For comparison only: the predicted error rests on all tested slices, not on these.")
    if not e.neighbours:
        so = "" if e.contributions else ", so ε̂ is 0 and the score is the rarity alone"
        shell.note(f"No tested slice is similar enough{so}.")
        return
    rows = [_neighbour(n, odd) for n in e.neighbours]
    decisive = next((i for i, n in enumerate(e.neighbours) if n.decisive), None)
    shell.html(table(["Differs in", "sim", "error", "n", "sim × error"], rows, right=(1, 2, 3, 4), chosen=decisive))
    with st.popover("These slices in full"):
        for n in e.neighbours:
            text = ", ".join(f"{odd.by_name[d].label}: {plain(v)}" for d, v in n.values.items())
            shell.note(fill("{id} {v}", id=strong(f"Slice {n.slice_id}"), v=text))


def _neighbour(n: Neighbour, odd: Odd) -> list[Text]:
    differs = ", ".join(value_names(odd, n.values, n.differs_in)) or "nothing"
    marks = [chip("decisive", "risk")] * n.decisive + [chip("provisional", "wait")] * n.provisional
    small = Markup('<br><small class="od-quiet">{}</small>')
    return [
        join([differs, *marks], " "),
        f"{n.similarity:.6f}",
        Markup.escape(f"{n.error:.6f}") + small.format(_measured(n)),
        f"{n.n:,}",
        strong(f"{n.product:.6f}") if n.decisive else f"{n.product:.6f}",
    ]


def _measured(n: Neighbour) -> Markup:
    """Interval of the measured error, and that error itself where the score rests on a shrunk one."""
    interval = f"{n.low:.0%} to {n.high:.0%}"
    return Markup.escape(interval) if n.error == n.measured else Markup("measured {}<br>{}").format(f"{n.measured:.3f}", interval)


def _basis(e: Explanation) -> str:
    """What the risk rests on, and whether the cap took effect."""
    kappa, why = e.parameters["kappa"], e.decisive
    if e.contributions:
        if e.raw_error < 0:
            return "The predicted error is below 0 and counts as 0, so the score is the rarity alone."
        return f"The cap κ = {kappa:g} took effect." if e.capped else f"ε̂ is below its cap κ = {kappa:g}."
    if why is None:
        return "No neighbour failed, so the score is the rarity alone." if e.neighbours else ""
    cap = f"The cap κ = {kappa:g} took effect" if e.capped else f"ε̂ is below its cap κ = {kappa:g}"
    samples = f"{why.n:,} {'sample' if why.n == 1 else 'samples'}{' (provisional)' if why.provisional else ''}"
    return (
        f"{cap}. It rests on one neighbour, the decisive one (largest similarity × error), with {samples}: "
        f"an error from {why.low:.0%} to {why.high:.0%} is compatible with {'it' if why.n == 1 else 'them'} (95 % Wilson interval)."
    )
