"""What the Ranked gaps page can be asked for. Every choice stands in the URL, so that a view can be shared."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import streamlit as st

from core.odd import Odd
from core.plots import CELL, named, plain
from core.scoring import IN_ODD, Scope
from core.seed_table import SeedTable
from core.similarity import MODES, default_choice
from pages.shared import gaps_scope
from pages.shared.gaps_parameters import RANGES, WORDS, first_rank, within
from pages.shared.markup import label
from pages.shared.results import Filter, as_filter

TOPS = (20, 50, 100, 500)
FLOOR = "ild"
"""Query parameter of the least diversity of the list."""


@dataclass(frozen=True)
class View:
    """Everything that is chosen but the parameters.

    Attributes:
        mode: Similarity mode, None for the default of the ODD.
        shown_mode: The mode by its name.
        top: Length of the list.
        rows, columns: Dimensions of the heat map, the same where there is only one.
        where: Fixed values.
        scope: Inside the ODD, outside it, or both.
        plausible_only: Whether combinations that the ODD calls implausible are left out.
        floor: Least ILD of the list, None for none.
    """

    mode: str | None
    shown_mode: str
    top: int
    rows: str
    columns: str
    where: Filter
    scope: Scope = IN_ODD
    plausible_only: bool = False
    floor: float | None = None


def ignored(odd: Odd) -> list[str]:
    """What the address asks for and cannot have here, in words; call it before the controls, which clear it from the address.

    Streamlit drops such a parameter without a word, and a shared link would then show something else than it says.
    """
    outside = st.query_params.get("scope", st.session_state.get("scope", "in")) in ("out", "both")
    dims = list(odd.names) if outside else [odd.names[k] for k in odd.active] or list(odd.names)
    labels = [odd.by_name[d].label for d in dims]
    values = gaps_scope.asked_values(odd) if outside else {d: [v.name for v in odd.by_name[d].base] for d in dims}
    allowed: dict[str, Collection[str]] = {
        "similarity": MODES,
        "top": [str(t) for t in TOPS],
        "rows": labels,
        "columns": labels,
        **WORDS,
        **gaps_scope.allowed_words(odd),
        **{f"w_{d}": named(values[d]).values() for d in dims},
    }
    out = []
    for key in st.query_params:
        asked = st.query_params.get_all(key)
        if key in allowed or key.startswith(("w_", gaps_scope.EXTEND)):
            out += [f"{key} = {v}" for v in asked if v not in allowed.get(key, ())]
        elif key == FLOOR:
            out += [f"{key} = {v}" for v in asked if not within(v, 0, 1)]
        elif key in RANGES:
            out += [f"{key} = {v}" for v in asked if not within(v, *RANGES[key])]
    return out


def controls(seed: SeedTable) -> View:
    """Show the controls but for the parameters, side by side in the caller's container."""
    odd = seed.odd
    scope, plausible = gaps_scope.chosen_scope(odd, first_rank)
    positions = scope.dims(odd)
    dims = [odd.names[k] for k in positions]
    labels = {d.name: d.label for d in odd.dimensions}
    inside = seed.codes if scope.outside else seed.codes[seed.in_base]
    usual = default_choice(odd, positions, [scope.space(odd), inside])
    mode = st.segmented_control(
        "Similarity",
        MODES,
        default=usual.mode,
        required=True,
        key="similarity",
        bind="query-params",
        on_change=first_rank,
        help=f"How alike two slices are. Usual for this ODD: {usual.mode} ({usual.reason}). text compares the wording of whole slices, as "
        "the paper does; calibrated and factored add up tables of values made from it; exact counts equal values.",
    )
    top = st.selectbox("Show top", TOPS, key="top", bind="query-params", on_change=first_rank, width=92)
    rows = columns = dims[0]
    if len(dims) > 1:
        rows = st.selectbox("Rows", dims, key="rows", bind="query-params", format_func=labels.__getitem__, width=156)
        rest = [d for d in dims if d != rows]
        usual_column = "environment" if "environment" in rest else rest[0]
        columns = st.selectbox(
            "Columns", rest, rest.index(usual_column), key="columns", bind="query-params", format_func=labels.__getitem__, width=156
        )
    where = filters(odd, dims, scope)
    return View(None if mode == usual.mode else mode, mode, top, rows, columns, where, scope, plausible, _floor())


def _floor() -> float | None:
    """A diversity floor, None where it is 0."""
    now = st.session_state.get(FLOOR, st.query_params.get(FLOOR, "0"))
    active = within(str(now), 0, 1) and float(now) > 0
    with st.popover(f"Diversity ≥ {float(now):g}" if active else "Diversity", key="diversity"):
        floor = st.number_input(
            "Keep ILD at least", 0.0, 1.0, 0.0, 0.05, format="%g", key=FLOOR, bind="query-params", on_change=first_rank, width=180
        )
        st.caption(
            "ILD is the mean share of dimensions in which two slices of the list differ. Slices give way to more different ones, "
            "at a small loss of score, until the floor is kept. 0 asks for none."
        )
    return floor or None


def filters(odd: Odd, dims: list[str], scope: Scope = IN_ODD) -> Filter:
    """A choice of values per dimension, in the URL as `w_<dimension>`; pages that filter share it."""
    active = sum(bool(st.session_state.get(f"w_{d}", st.query_params.get(f"w_{d}"))) for d in dims)
    chosen, names = {}, dict(zip(odd.names, scope.values(odd), strict=True))
    with st.popover(f"Fixed values ({active})" if active else "Fixed values", key="fixed_values"):
        st.button("Clear all", key="clear", on_click=clear_filters, args=(dims,), disabled=not active)
        for d in dims:
            values = named(names[d])
            _forget(f"w_{d}", names[d])
            chosen[d] = st.multiselect(
                label(odd.by_name[d].label),
                list(values),
                key=f"w_{d}",
                bind="query-params",
                format_func=values.__getitem__,
                placeholder="Any",
                on_change=first_rank,
            )
    return as_filter(chosen)


def _forget(key: str, values: list[str]) -> None:
    """Drop fixed values that the scope does not have (any more)."""
    held = st.session_state.get(key)
    if held and not set(held) <= set(values):
        st.session_state[key] = [v for v in held if v in values]


def clear_filters(dims: list[str]) -> None:
    """Let every value of the dimensions through again."""
    first_rank()
    for d in dims:
        st.session_state[f"w_{d}"] = []


def fix_cell(chart: str, rows: str, columns: str) -> None:
    """A click on a cell of the heat map fixes its two values; a click on the cell that is fixed already frees them."""
    picked = (st.session_state.get(chart) or {}).get("selection", {}).get(CELL) or []
    if not picked:
        return
    wanted = {f"w_{rows}": [picked[0]["row"]], f"w_{columns}": [picked[0]["column"]]}
    fixed = all(st.session_state.get(key) == value for key, value in wanted.items())
    for key, value in wanted.items():
        st.session_state[key] = [] if fixed else value
    first_rank()


def fixed(where: Filter) -> str:
    """The filter in words, such as "time: night or dawn, weather: foggy"."""
    return ", ".join(f"{plain(d)}: {' or '.join(map(plain, values))}" for d, values in where)
