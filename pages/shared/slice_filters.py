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
KEYS = "slices_"
"""Begins the keys of the widgets, since other pages have choices of the same names."""
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
NEAR: Mapping[str, str] = {ALL: "All of them", "lead": "The leading one of each group"}
_MOST = 1_000_000


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
        error = _choice("Error type", "error", [r.hypothesis.error for r in rows], slice_text.ERRORS, 190)
        slice_settings.rule_box(report.settings)
        order = _box("Sort by", "sort", SORTS, "saved", 160)
        with st.popover("More filters", key="slice_more"):
            category = _choice("Category", "category", [r.hypothesis.category for r in rows], slice_text.CATEGORIES)
            classes = _choice("Class", "class", [c for r in rows for c in r.hypothesis.classes], {"any": "any class"})
            source = _choice("Scores", "source", [source_of(r) for r in rows], {**slice_text.SOURCES, "none": "no scores"})
            origin = _choice("Origin", "origin", [r.hypothesis.origin for r in rows], ORIGINS)
            people = _box("People", "people", PEOPLE, ALL)
            least = _least()
            lead = _box("Near-equal slices", "near", NEAR, ALL) != ALL
        slice_settings.controls(report.settings)
        sets()
    keep = {
        "error": (error, lambda r: [r.hypothesis.error]),
        "category": (category, lambda r: [r.hypothesis.category]),
        "class": (classes, lambda r: r.hypothesis.classes),
        "source": (source, lambda r: [source_of(r)]),
        "origin": (origin, lambda r: [r.hypothesis.origin]),
    }
    found = [r for r in rows if all(wanted == ALL or wanted in of(r) for wanted, of in keep.values())]
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
    shown.sort(key=_ORDERS[order])
    return Shown(tuple(shown), len(rows) - len(shown))


def _verdicts(by: Counter[str], n: int) -> str:
    names = {ALL: f"All {n:,}"}
    for k in slice_text.order(list(by)):
        names[k] = f"{'Not tested' if k == 'untested' else k.capitalize()} {by[k]:,}"
    key = _ready("verdict", names, ALL)
    changed = _keep("verdict", key, ALL)
    st.segmented_control("Verdict", list(names), required=True, format_func=names.__getitem__, key=key, on_change=changed)
    return str(st.session_state[key])


def _choice(label: str, name: str, values: list[str], names: Mapping[str, str], width: int | str = "stretch") -> str:
    """One of the values that there are, with how many rows have it."""
    by = Counter(values)
    said = {v: f"{names.get(v, v)} ({by[v]:,})" for v in sorted(by, key=lambda v: (-by[v], v))}
    return _box(label, name, {ALL: "All", **said}, ALL, width)


def _box(label: str, name: str, names: Mapping[str, str], usual: str, width: int | str = "stretch") -> str:
    key = _ready(name, names, usual)
    st.selectbox(label, list(names), format_func=names.__getitem__, key=key, width=width, on_change=_keep(name, key, usual))
    return str(st.session_state[key])


def _least() -> int:
    key, said = f"{KEYS}least", str(st.query_params.get("least", "0"))
    st.session_state[key] = min(int(said), _MOST) if said.isdecimal() else 0
    st.number_input("Least units in the slice", 0, _MOST, step=10, key=key, on_change=_keep("least", key, 0))
    return int(st.session_state[key])


def _ready(name: str, names: Mapping[str, str], usual: str) -> str:
    """Take a choice from the address; gives the key of its widget.

    Streamlit's own binding writes labels into the address, and these hold counts that change.
    """
    key, wanted = f"{KEYS}{name}", st.query_params.get(name, usual)
    st.session_state[key] = wanted if wanted in names else usual
    return key


def _keep(name: str, key: str, usual: str | int) -> Callable[[], None]:
    def changed() -> None:
        value = st.session_state[key]
        if value in (None, usual):
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = str(value)

    return changed
