"""How far people agree: figures with intervals under each policy for Unsure, heat maps, and pairs."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from markupsafe import Markup

from core.labels.agreement import Interval
from core.labels.raters import RaterAgreement, clear_cases, yes_sets
from core.operators.labelling import LabelAgreement
from core.plots.threat_maps import LABEL_CATEGORIES, overlap_map, pattern_map
from core.storage.label_events import Label
from core.threats import overlap_matrix
from pages.shared import charts, shell
from pages.shared.markup import Text, count, minus, table
from pages.shared.shell import Tile

MOST_PEOPLE = 8
"""People of whom a heat map is drawn."""


def number(x: Interval, digits: int = 2) -> str:
    """A figure."""
    return "–" if x.value is None else minus(x.value, f".{digits}f")


def between(x: Interval, digits: int = 2) -> str:
    """Its interval."""
    return "" if x.low is None or x.high is None else f"{minus(x.low, f'.{digits}f')} to {minus(x.high, f'.{digits}f')}"


def show(found: LabelAgreement, groups: Mapping[str, RaterAgreement]) -> None:
    """Everything, or what is needed for it."""
    r = found.raters
    if len(r.raters) < 2:
        shell.empty("Agreement needs two people whose labels count, on the same cases.")
        return
    shell.tiles(
        [
            Tile("Unanimous", "–" if r.overlap.value is None else f"{r.overlap.value:.1%}", _share(r)),
            _tile("Fleiss' kappa", r.exclude.kappa, f"n = {r.exclude.questions:,}; cases with an Unsure left out"),
            _tile("Fleiss' kappa, three answers", r.as_class.kappa, f"n = {r.as_class.questions:,}; Unsure as an answer"),
            _tile("Krippendorff's alpha", r.missing.alpha, f"n = {r.missing.questions:,}; Unsure as no answer"),
        ]
    )
    shell.note(
        f"{count(r.cases, 'case')} labelled by anybody: {r.single:,} by one person only, {r.with_unsure:,} by several of whom somebody was "
        f"unsure, {r.compared:,} compared. Intervals 95 %: Wilson for shares, bootstrap over cases for the rest."
    )
    if found.not_counting:
        shell.note(f"Left out until somebody looks at what stands out: {', '.join(found.not_counting)}.")
    _maps(found.answers)
    if any(len(g.raters) < len(r.raters) for g in groups.values()):
        _groups(groups)
    _pairs(r)


def _share(r: RaterAgreement) -> str:
    low = "" if r.overlap.low is None or r.overlap.high is None else f"{r.overlap.low:.1%} to {r.overlap.high:.1%}; "
    return f"{low}{r.unanimous:,} of {r.compared:,} cases without an Unsure"


def _tile(label: str, x: Interval, basis: str) -> Tile:
    return Tile(label, number(x), "; ".join(t for t in (between(x), basis) if t))


def _maps(answers: Mapping[str, Mapping[str, Label]]) -> None:
    """Who said what case by case, and how far the cases with Y are the same."""
    dark = shell.dark()
    busiest = sorted(answers, key=lambda p: (-len(answers[p]), p))[:MOST_PEOPLE]
    shown = {p: answers[p] for p in sorted(busiest)}
    clear = clear_cases(shown)
    if not clear:
        shell.note("No case was labelled by all of them without an Unsure, so the heat maps have nothing to show.")
        return
    kept = set(clear)
    shell.section(
        "Who said what", f"{count(len(clear), 'case')} that all {len(shown)} labelled and nobody was unsure about, sorted by pattern"
    )
    rows = {p: {c: x for c, x in of.items() if c in kept} for p, of in shown.items()}
    charts.wide(pattern_map(rows, LABEL_CATEGORIES, dark, scenes="cases"), "label_pattern")
    shell.section("Overlap of the cases with Y", "Jaccard: shared / union, with the counts")
    st.altair_chart(overlap_map(overlap_matrix(yes_sets(shown, clear), clear), "jaccard", dark), width="content", key="label_overlap")
    if len(answers) > len(shown):
        shell.note(f"Not drawn, since they have the fewest labels: {count(len(answers) - len(shown), 'person', 'people')}.")


def _groups(groups: Mapping[str, RaterAgreement]) -> None:
    """Members of the project and others apart."""
    shell.section("By group", "people register as members of the project or not")
    rows = [
        [name, f"{len(r.raters):,}", f"{r.compared:,}", _figure(r.overlap), _figure(r.exclude.kappa), _figure(r.as_class.kappa)]
        for name, r in groups.items()
    ]
    shell.html(table(["", "People", "Cases compared", "Unanimous", "Kappa", "Kappa, three answers"], rows, right=range(1, 6)))


def _pairs(r: RaterAgreement) -> None:
    shell.section("Pairs", "Cohen's kappa; n: cases that both labelled, neither of them unsure")
    rows = [
        [f"{p.first} and {p.second}", f"{p.n:,} of {p.both:,}", _figure(p.same), _figure(p.kappa), _figure(p.kappa_as_class),
         f"{p.shared:,} of {p.union:,}"]
        for p in r.pairs
    ]  # fmt: skip
    shell.html(table(["People", "n", "Same label", "Kappa", "Kappa, three answers", "Shared Y"], rows, right=range(1, 6)))


def _figure(x: Interval) -> Text:
    return Markup('{} <small class="od-quiet">{}</small>').format(number(x), between(x))
