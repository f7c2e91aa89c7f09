"""Ranked gaps, risk prior ridge: what each value adds to the predicted risk, what each pair adds beyond, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from markupsafe import Markup

from core.odd import Odd, SliceSpace
from core.operators import RankResult
from core.plots.effects import PAIR, drawn_pairs, drawn_values, effect_dots, effect_limit, pair_limit, pair_map, pair_overview
from core.plots.style import GREY
from core.scoring import Effect, Effects, Ranking, RidgeModel, ridge_effects, strongest
from pages.shared import shell
from pages.shared.gaps_text import value_name
from pages.shared.markup import Text, chip, fill, join, mark, strong, table

CHOSEN = "effects"
"""Widget key, and query parameter, of the pair of dimensions whose map is shown."""
NAMED = 6
"""Effects that are named in words, of either kind."""


def show(result: RankResult) -> None:
    """Draw the effect tables of a ranking into the caller's container."""
    ranking = result.ranking
    if ranking.ridge is None:
        shell.note(
            "Effect tables belong to the risk prior ridge; this ranking uses the neighbours. Choose ridge under Scoring to see them."
        )
        return
    effects = _of(ranking, ranking.ridge)
    model, odd = ranking.ridge, ranking.odd
    shell.section("What the predicted risk is made of", f"from n = {effects.samples:,} samples in {effects.slices:,} tested slices")
    shell.note(summary(effects, model))
    same = [odd.dimensions[k].label for k in ranking.dims if k not in model.dims]
    if same:
        shell.note(f"Left out: {', '.join(same)}. All tested slices have one value there, so nothing can be learnt of the others.")
    if not effects.strength().any():
        return
    _in_words(effects, odd)
    shell.section(
        "Effect of each value", "added to the risk, against the mean over the values of its dimension; lines: 95 % posterior intervals"
    )
    shell.html(legend())
    limit = effect_limit(effects)
    with st.container(horizontal=True, gap="medium", key="effect-dots"):
        for s in effects.singles:
            chart = effect_dots(s, odd.by_name[s.dimension].label, limit, shell.dark())
            st.altair_chart(chart, width="content", key=f"effect_{s.dimension}")
    hidden = sum(len(s.values) - len(drawn_values(s)) for s in effects.singles)
    if hidden:
        shell.note(f"{hidden:,} values are not drawn: those nearest to 0, counted in standard deviations.")
    if effects.pairs:
        left, right = st.columns([0.56, 0.44], gap="medium")
        with left:
            a, b = _overview(effects, odd)
        with right:
            _map(effects, odd, a, b)


def headline(result: RankResult) -> Text:
    """The value with the largest effect that is told from 0, before all one that adds to the risk."""
    ranking = result.ranking
    if ranking.ridge is None:
        raise ValueError("Effects belong to a ranking by ridge.")
    effects = _of(ranking, ranking.ridge)
    if not effects.strength().any():
        return fill("Nothing tells one slice from another beyond chance: each is predicted an error of {m}.", m=mark(f"{effects.mean:.1%}"))
    clear = [e for e in strongest(effects, sum(len(s.values) for s in effects.singles), False) if e.clear]
    if not clear:
        return "No value is told from the others of its dimension: each effect may be 0."
    most = max(clear, key=lambda e: (e.effect > 0, abs(e.effect)))
    return fill(
        "{v} {does} the predicted error most: by {x} ± {sd} (one standard deviation), from {n} in {k}.",
        v=mark(value_name(ranking.odd, most.dimensions[0], most.values[0])),
        does="raises" if most.effect > 0 else "lowers",
        x=f"{abs(most.effect):.3f}",
        sd=f"{most.sd:.3f}",
        n=f"{most.n:,} {'sample' if most.n == 1 else 'samples'}",
        k=f"{most.slices:,} tested {'slice' if most.slices == 1 else 'slices'}",
    )


def _of(ranking: Ranking, model: RidgeModel) -> Effects:
    return _effects((ranking.evidence.observed.digest, ranking.params, ranking.scope), model, ranking.scope.space(ranking.odd))


@st.cache_resource(show_spinner=False, max_entries=16)
def _effects(key: tuple[object, ...], _model: RidgeModel, _space: SliceSpace) -> Effects:
    return ridge_effects(_model, _space)


def summary(effects: Effects, model: RidgeModel) -> Markup:
    """The whole in one line: level, and how the spread of the predictions divides."""
    level = fill("Over all combinations of the values shown, the mean predicted risk is {m} ± {sd} (one standard deviation). ",
                 m=strong(f"{effects.mean:.3f}"), sd=f"{effects.mean_sd:.3f}")  # fmt: skip
    single, pair = effects.shares()
    if not single + pair:
        why = " (the likeliest prior variances are 0)" if not model.s1 + model.s2 else ""
        return level + fill(
            "No spread was found between the tested slices beyond what their numbers of samples explain{why}, so no value is told from "
            "another, and every slice is predicted this risk.",
            why=why,
        )
    return level + fill(
        "Single effects make {s} of the variance of the predictions, pairs {p}; prior variances s1 = {s1:g}, s2 = {s2:g}, "
        "the likeliest of a fixed grid. Effects of few samples are drawn towards 0.",
        s=strong(f"{single:.0%}"), p=strong(f"{pair:.0%}"), s1=model.s1, s2=model.s2,
    )  # fmt: skip


def legend() -> Markup:
    """What the dots say."""
    line = Markup('<span class="od-bar" style="width:22px"><i style="width:100%;background:{}"></i></span><span>{}</span>')
    kinds = [("var(--risk-mark)", "adds to the risk"), ("var(--info)", "takes off"), (GREY, "interval holds 0")]
    items = [line.format(colour, text) for colour, text in kinds]
    items.append(Markup("<span>hollow: no sample behind it</span>"))
    return Markup('<div class="od-legend">{}</div>').format(join(Markup("<div>{}</div>").format(i) for i in items))


def _in_words(effects: Effects, odd: Odd) -> None:
    """The clearest entries as sentences."""
    columns = st.columns(2, gap="large") if effects.pairs else [st.container()]
    for place, pairs in zip(columns, (False, True), strict=False):
        rows = strongest(effects, NAMED, pairs)
        with place:
            shell.section("Clearest pairs, beyond their two values" if pairs else "Clearest single values", "± is one standard deviation")
            if rows:
                shell.html(table(["Effect", "n", "Slices", ""], _lines(rows, odd), right=(1, 2)))
            else:
                shell.note("None stands out with a sample behind it.")


def _lines(rows: Sequence[Effect], odd: Odd) -> list[tuple[object, ...]]:
    out = []
    for e in rows:
        names = [value_name(odd, d, v) for d, v in zip(e.dimensions, e.values, strict=True)]
        mark = chip("clear of 0", "risk" if e.effect > 0 else "info") if e.clear else chip("may be 0")
        out.append((e.sentence(names), f"{e.n:,}", f"{e.slices:,}", mark))
    return out


def _overview(effects: Effects, odd: Odd) -> tuple[str, str]:
    """The strengths of all tables; returns the pair that is chosen by a click or in the box."""
    names, strength = [s.dimension for s in effects.singles], effects.strength()
    order = sorted(effects.pairs, key=lambda ij: (-strength[ij], ij))
    labels = {f"{names[i]}+{names[j]}": f"{odd.by_name[names[i]].label} × {odd.by_name[names[j]].label}" for i, j in order}
    if len(set(labels.values())) < len(labels):
        labels = {k: k.replace("+", " × ") for k in labels}
    pairs = {f"{names[i]}+{names[j]}": (names[i], names[j]) for i, j in order}
    shell.section("Which tables matter", "root mean square, in units of risk; single values on the diagonal. Click a pair to see it")
    asked = st.query_params.get(CHOSEN)
    if asked and asked not in labels.values():
        shell.note(f"The address asks for the pair {asked}, which this ranking does not have; this is the strongest one.")
    if st.session_state.get(CHOSEN) not in (None, *labels):
        del st.session_state[CHOSEN]  # of another ranking
    picked = st.selectbox("Pair of dimensions", list(labels), key=CHOSEN, bind="query-params", format_func=labels.__getitem__)
    chart = pair_overview(effects, odd, pairs[picked], shell.dark())
    # A key of its own for each pair: else the cell clicked last stays selected, and cannot be clicked again after the box chose another.
    key = f"effect_overview_{picked}"
    st.altair_chart(chart, key=key, width="content", on_select=lambda: _choose(key, pairs), selection_mode=PAIR)
    return pairs[picked]


def _choose(chart: str, pairs: dict[str, tuple[str, str]]) -> None:
    """A clicked cell of the overview chooses its pair."""
    picked = (st.session_state.get(chart) or {}).get("selection", {}).get(PAIR) or []
    wanted = {picked[0]["row"], picked[0]["column"]} if picked else set()
    for option, dims in pairs.items():
        if set(dims) == wanted:
            st.session_state[CHOSEN] = option


def _map(effects: Effects, odd: Odd, a: str, b: str) -> None:
    p = effects.pair(a, b)
    p = p if len(p.rows) >= len(p.columns) else effects.pair(b, a)  # the longer side runs down
    titles = (odd.by_name[p.dimensions[0]].label, odd.by_name[p.dimensions[1]].label)
    shell.section(f"{titles[0]} × {titles[1].lower()}", "added beyond what the two values add; every row and column sums to 0")
    st.altair_chart(pair_map(p, titles, pair_limit(effects), shell.dark()), width="content", key="effect_map")
    rows, columns = drawn_pairs(p)
    hidden = p.effect.size - len(rows) * len(columns)
    shell.note(
        f"Orange adds to the risk, blue takes off, full colour at ±{pair_limit(effects):.3f} in every such map; pale and thin where 0 lies "
        "in the 95 % interval, hatched without a sample. "
        f"Samples behind one cell: {int(p.n.min()):,} to {int(p.n.max()):,}."
        + (f" {hidden:,} of {p.effect.size:,} pairs are not drawn, those nearest to 0." if hidden else "")
    )
