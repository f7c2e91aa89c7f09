"""Which slices the list shows, and in which order; every choice stands in the address, and what it leaves out is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from core.error_slices.hypotheses import ORIGINS
from core.operators.slice_report import SliceReport, SliceRow
from pages.shared import slice_settings, slice_text

ALL = "all"
SORTS: Mapping[str, str] = {
    "saved": "Errors saved",
    "lift": "Lift",
    "trend": "q of the trend",
    "lift_q": "q of the lift",
    "units": "Units in the slice",
    "text": "Hypothesis",
}
_LAST = float("inf")
_ORDERS: Mapping[str, Callable[[SliceRow], float | str]] = {
    "saved": lambda r: _down(r, "errors_saved"),
    "lift": lambda r: _down(r, "lift"),
    "trend": lambda r: _up(r, "q_trend"),
    "lift_q": lambda r: _up(r, "q_lift"),
    "units": lambda r: -r.tested.inside.n if r.tested else _LAST,
    "text": lambda r: r.hypothesis.text.casefold(),
}
PEOPLE: Mapping[str, str] = {ALL: "All", "accept": "Accepted by a person", "reject": "Rejected by a person", "open": "Not judged"}


@dataclass(frozen=True)
class Shown:
    """What the list shows.

    Attributes:
        rows: In their order.
        left_out: Rows that a choice leaves out.
    """

    rows: tuple[SliceRow, ...]
    left_out: int


def _value(r: SliceRow, name: str) -> float | None:
    found: float | None = None if r.tested is None else getattr(r.tested, name)
    return found


def _down(r: SliceRow, name: str) -> float:
    value = _value(r, name)
    return _LAST if value is None else -value


def _up(r: SliceRow, name: str) -> float:
    value = _value(r, name)
    return _LAST if value is None else value


def verdict_of(r: SliceRow) -> str:
    """The verdict of a row, "untested" without one."""
    return r.tested.verdict if r.tested is not None else "untested"


def source_of(r: SliceRow) -> str:
    """Where the scores of a row come from, "none" without any."""
    return r.scores.source if r.scores is not None else "none"


def controls(report: SliceReport, sets: Callable[[], None]) -> Shown:
    """The choices above the list.

    Args:
        report: What there is.
        sets: Draws the choice of the set, at the end of the row.
    """
    place = st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="slice_filters")
    rows = list(report.rows)
    with place:
        first = st.container(width="content")
        error = _choice("Error type", "error", [r.hypothesis.error for r in rows], slice_text.ERRORS, 170)
        slice_settings.rule_box(report.settings)
        order = st.selectbox("Sort by", list(SORTS), format_func=SORTS.__getitem__, key="sort", bind="query-params", width=150)
        with st.popover("More filters", key="slice_more"):
            category = _choice("Category", "category", [r.hypothesis.category for r in rows], slice_text.CATEGORIES)
            classes = _choice("Class", "class", [c for r in rows for c in r.hypothesis.classes], {"any": "any class"})
            source = _choice("Scores", "source", [source_of(r) for r in rows], {**slice_text.SOURCES, "none": "no scores"})
            origin = _choice("Origin", "origin", [r.hypothesis.origin for r in rows], ORIGINS)
            people = st.selectbox("People", list(PEOPLE), format_func=PEOPLE.__getitem__, key="people", bind="query-params")
            least = st.number_input("Least units in the slice", 0, 1_000_000, 0, step=10, key="least", bind="query-params")
            lead = st.checkbox("One of each group of near-equal slices", key="lead", bind="query-params")
        slice_settings.controls(report.settings)
        sets()
    keep = {
        "error": (error, lambda r: [r.hypothesis.error]),
        "category": (category, lambda r: [r.hypothesis.category]),
        "class": (classes, lambda r: r.hypothesis.classes),
        "source": (source, lambda r: [source_of(r)]),
        "origin": (origin, lambda r: [r.hypothesis.origin]),
    }
    found = [r for r in rows if all(wanted in (ALL, None) or wanted in of(r) for wanted, of in keep.values())]
    if people != ALL:
        found = [r for r in found if (r.judgement.verdict if r.judgement else "open") == people]
    if least:
        found = [r for r in found if r.tested is not None and r.tested.inside.n >= least]
    if lead:
        ids = {r.hypothesis.id for r in found}
        found = [r for r in found if r.group == r.hypothesis.id or r.group not in ids]
    with first:
        verdict = _verdicts(Counter(verdict_of(r) for r in found), len(found))
    shown = [r for r in found if verdict in (ALL, verdict_of(r))]
    shown.sort(key=_ORDERS[order or "saved"])
    return Shown(tuple(shown), len(rows) - len(shown))


def _verdicts(by: Counter[str], n: int) -> str:
    options = [ALL, *slice_text.order(list(by))]
    if st.session_state.get("verdict", ALL) not in options:
        st.session_state["verdict"] = ALL
    label = lambda k: f"All {n:,}" if k == ALL else f"{'Not tested' if k == 'untested' else k.capitalize()} {by[k]:,}"  # noqa: E731
    return str(
        st.segmented_control("Verdict", options, default=ALL, required=True, format_func=label, key="verdict", bind="query-params") or ALL
    )


def _choice(label: str, key: str, values: list[str], names: Mapping[str, str], width: int | str = "stretch") -> str:
    """One of the values that there are, with how many rows have it."""
    by = Counter(values)
    options = [ALL, *sorted(by, key=lambda v: (-by[v], v))]
    if st.session_state.get(key, ALL) not in options:
        st.session_state[key] = ALL
    said = lambda v: "All" if v == ALL else f"{names.get(v, v)} ({by[v]:,})"  # noqa: E731
    return str(st.selectbox(label, options, format_func=said, key=key, bind="query-params", width=width) or ALL)
