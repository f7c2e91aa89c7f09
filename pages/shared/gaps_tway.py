"""Ranked gaps for test engineers: the share of value pairs and triples that were tested, and what the list would add."""

from __future__ import annotations

import streamlit as st
from markupsafe import Markup

from core.odd import Codes, Odd, SliceSpace
from core.operators import RankResult
from core.plots.style import GREY, RISK
from core.plots.tway import coverage_frame, drawn_bars, tway_bars
from core.scoring import Ranking, TWay, tway
from pages.shared import shell
from pages.shared.gaps_controls import fixed
from pages.shared.gaps_text import value_name
from pages.shared.markup import Text, fill, join, mark, table
from pages.shared.shell import Tile

WIDTH = "tway"
"""Widget key, and query parameter, of the number of values that are taken together."""
WORDS = {2: "pairs", 3: "triples"}
FIRST = 8
"""Combinations of dimensions with an open one that are listed, and open ones of each in the download."""


def show(result: RankResult) -> None:
    """Draw the coverage of value pairs and triples into the caller's container."""
    ranking, odd = result.ranking, result.ranking.odd
    both = _both(ranking)
    what = "of the ODD" if not ranking.scope.outside else "of the ODD and its extension"
    shell.section(
        "Combinatorial coverage", f"values {what} that stood together in a tested slice; {len(ranking.dims)} dimensions, counted exactly"
    )
    if not both:
        shell.note("One dimension has no pairs of values.")
        return
    shell.tiles([tile for t, c in both.items() for tile in _tiles(t, c)])
    for text in remarks(result):
        shell.note(text)
    t = 2
    if len(both) > 1:
        t = st.segmented_control(
            "Values taken together", list(both), default=2, required=True, key=WIDTH, bind="query-params", format_func=WORDS.__getitem__
        )
    coverage = both[t]
    left, right = st.columns([0.6, 0.4] if t == 2 else [0.66, 0.34], gap="large")
    with left:
        _bars(coverage, odd)
    with right:
        _still_open(coverage, odd)


def headline(result: RankResult) -> Text:
    """How many pairs were never tested, or else triples, and how many of them the list would test."""
    ranking = result.ranking
    both = _both(ranking)
    for t, c in both.items():
        untested = c.possible - c.covered
        if untested:
            them = "it" if untested == 1 else "them"
            adds = fill("the {n} slices listed would test {k} of {them}", n=f"{c.listed:,}", k=f"{c.added:,}", them=them)
            if c.listed == 1:
                adds = fill("the slice listed would test {k} of {them}", k=f"{c.added:,}", them=them)
            return fill(
                "{u} of {all} value {w} {were} never tested together; {adds}.",
                u=mark(f"{untested:,}"), all=f"{c.possible:,}", w=WORDS[t], were="was" if untested == 1 else "were",
                adds=adds if c.listed else "no slice is listed",
            )  # fmt: skip
    if not both:
        return "One dimension has no pairs of values, so there is no combination to cover."
    return fill("Every value {w} was tested.", w=" and every value ".join(WORDS[t].removesuffix("s") for t in both))


def _both(ranking: Ranking) -> dict[int, TWay]:
    observed, space = ranking.evidence.observed, ranking.scope.space(ranking.odd)
    key = (observed.digest, ranking.ids.tobytes(), ranking.scope)
    return {t: _coverage(key, t, observed.codes, ranking.codes, space, ranking.dims) for t in WORDS if len(ranking.dims) >= t}


@st.cache_resource(show_spinner=False, max_entries=32)
def _coverage(key: tuple[object, ...], t: int, _tested: Codes, _listed: Codes, _space: SliceSpace, _dims: tuple[int, ...]) -> TWay:
    return tway(_tested, _listed, _space, _dims, t, few=FIRST)


def percent(n: int, of: int) -> str:
    """A share cut to a tenth of a percent, so that 100 % means all."""
    return f"{1000 * n // of / 10:.1f}%" if of else "none"


def _tiles(t: int, c: TWay) -> list[Tile]:
    word = WORDS[t]
    then = percent(c.covered + c.added, c.possible)
    return [
        Tile(f"Value {word} tested", percent(c.covered, c.possible), f"{c.covered:,} of {c.possible:,}, by {c.slices:,} tested slices"),
        Tile(f"Value {word} added", f"+{c.added:,}", f"by the {c.listed:,} slices listed; then {then}"),
    ]


def remarks(result: RankResult) -> list[Text]:
    """What the counts leave out."""
    ranking, out = result.ranking, list[Text]()
    aside = ranking.evidence.set_aside
    if len(aside.n):
        s, verb = ("slice", "covers") if len(aside.n) == 1 else ("slices", "cover")
        out.append(f"{len(aside.n):,} tested {s} with too few samples, set to count as missing, {verb} nothing here.")
    if ranking.where:
        out.append(f"The list holds slices with {fixed(tuple(ranking.where.items()))} only; what is covered is counted over all values.")
    return out


def legend(listed: int) -> Markup:
    """What the parts of a bar are."""
    line = Markup('<span class="od-bar" style="width:22px"><i style="width:100%;background:{}"></i></span><span>{}</span>')
    kinds = [("var(--info)", "tested"), (RISK, f"added by the {listed:,} slices listed"), (f"{GREY}55", "left open")]
    return Markup('<div class="od-legend">{}</div>').format(join(Markup("<div>{}</div>").format(line.format(*k)) for k in kinds))


def _bars(coverage: TWay, odd: Odd) -> None:
    rows, word, every = drawn_bars(coverage), WORDS[coverage.t], len(coverage.combinations)
    whole = sum(c.covered == c.possible for c in coverage.combinations)
    shell.section(f"{word.capitalize()} by dimension", "tested + added of all; least covered first")
    if rows:
        shell.html(legend(coverage.listed))
        st.altair_chart(tway_bars(rows, odd, coverage.listed, shell.dark()), width="content", key=f"tway_bars_{coverage.t}")
    rest = every - whole - len(rows)
    full = (
        f"{whole:,} of {every:,} {word} of dimensions were tested in full"
        if whole
        else f"None of the {every:,} {word} of dimensions was tested in full"
    )
    shell.note(full + (f"; {rest:,} more, those covered best, are not drawn." if rest else ", and are not drawn." if whole else "."))
    file = lambda: coverage_frame(coverage).to_csv(index=False)  # noqa: E731
    st.download_button("Download CSV", file, f"coverage_{word}.csv", "text/csv", key="tway_csv", on_click="ignore")


def _still_open(coverage: TWay, odd: Odd) -> None:
    """The first combinations that neither was tested nor is listed, of the least covered dimensions first."""
    word = WORDS[coverage.t]
    if not coverage.open:
        shell.section("Still open", "nothing")
        shell.note(f"Every one of the {coverage.possible:,} value {word} was tested or is in the list.")
        return
    shell.section("Still open", f"{coverage.open:,} of {coverage.possible:,} value {word} after the list")
    small = Markup('<br><small class="od-quiet">{}</small>')
    found = []
    for c in [c for c in drawn_bars(coverage) if c.open][:FIRST]:
        dims = " × ".join(odd.by_name[d].label for d in c.dimensions)
        names = " · ".join(value_name(odd, d, v) for d, v in zip(c.dimensions, c.still_open[0], strict=True))
        found.append((Markup.escape(names) + small.format(dims), f"{c.open:,}", f"{c.possible:,}"))
    shell.html(table(["For example", "Open", "Of"], found, right=(1, 2)))
    rest = sum(c.open > 0 for c in coverage.combinations) - len(found)
    if rest > 0:
        shell.note(f"{rest:,} more {word} of dimensions have open combinations; the download names the first of each.")
