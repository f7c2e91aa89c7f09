"""What the Ranked gaps page can be asked for. Every choice stands in the URL, so that a view can be shared."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.odd import Odd
from core.plots import CELL, named, plain
from core.scoring import ScoringParameters
from core.seed_table import SeedTable
from core.similarity import MODES, default_choice
from pages.shared.results import Filter, as_filter

TOPS = (20, 50, 100, 500)
PAPER = ScoringParameters()
RANK = "rank"
"""Query parameter of the slice that is explained."""
PROVISIONAL = ("observed", "missing")
RANGES: dict[str, tuple[float, float]] = {
    "min_support": (0, 1e9),
    "alpha": (0.001, 1e9),
    "tau": (0.01, 1),
    "gamma": (0, 1e9),
    "kappa": (0.01, 1),
    "m": (1, 50),
    "theta": (0, 1),
}
"""What can be entered for a parameter; `ScoringParameters` has the last word."""


@dataclass(frozen=True)
class View:
    """Everything that is chosen but the parameters.

    Attributes:
        mode: Similarity mode, None for the default of the ODD.
        shown_mode: The mode by its name.
        top: Length of the list.
        rows, columns: Dimensions of the heat map, the same where there is only one.
        where: Fixed values.
    """

    mode: str | None
    shown_mode: str
    top: int
    rows: str
    columns: str
    where: Filter


def first_rank() -> None:
    """Explain rank 1 again: what is called whenever another ranking is asked for."""
    st.query_params.pop(RANK, None)


def ignored(odd: Odd) -> list[str]:
    """What the address asks for and cannot have here, in words; call it before the controls, which clear it from the address.

    Streamlit drops such a parameter without a word, and a shared link would then show something else than it says.
    """
    dims = [odd.names[k] for k in odd.active] or list(odd.names)
    labels = [odd.by_name[d].label for d in dims]
    allowed: dict[str, Collection[str]] = {
        "similarity": MODES,
        "top": [str(t) for t in TOPS],
        "rows": labels,
        "columns": labels,
        "provisional": PROVISIONAL,
        **{f"w_{d}": named(v.name for v in odd.by_name[d].base).values() for d in dims},
    }
    out = []
    for key in st.query_params:
        values = st.query_params.get_all(key)
        if key in allowed or key.startswith("w_"):
            out += [f"{key} = {v}" for v in values if v not in allowed.get(key, ())]
        elif key in RANGES:
            out += [f"{key} = {v}" for v in values if not _within(v, *RANGES[key])]
    return out


def _within(text: str, low: float, high: float) -> bool:
    try:
        return low <= float(text) <= high
    except ValueError:
        return False


def controls(seed: SeedTable) -> View:
    """Show the controls but for the parameters, side by side in the caller's container."""
    odd = seed.odd
    dims = [odd.names[k] for k in odd.active] or list(odd.names)
    labels = {d.name: d.label for d in odd.dimensions}
    usual = default_choice(odd, odd.active or range(len(odd.names)), [odd.base_space, seed.codes[seed.in_base]])
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
    rows = st.selectbox("Rows", dims, key="rows", bind="query-params", format_func=labels.__getitem__, width=156)
    rest = [d for d in dims if d != rows] or dims
    usual_column = "environment" if "environment" in rest else rest[0]
    columns = st.selectbox(
        "Columns", rest, rest.index(usual_column), key="columns", bind="query-params", format_func=labels.__getitem__, width=156
    )
    where = filters(odd, dims)
    return View(None if mode == usual.mode else mode, mode, top, rows, columns, where)


def filters(odd: Odd, dims: list[str]) -> Filter:
    """A choice of values per dimension, in the URL as `w_<dimension>`; pages that filter share it."""
    active = sum(bool(st.session_state.get(f"w_{d}", st.query_params.get(f"w_{d}"))) for d in dims)
    chosen = {}
    with st.popover(f"Fixed values ({active})" if active else "Fixed values", key="fixed_values"):
        st.button("Clear all", key="clear", on_click=clear_filters, args=(dims,), disabled=not active)
        for d in dims:
            values = named(v.name for v in odd.by_name[d].base)
            chosen[d] = st.multiselect(
                odd.by_name[d].label,
                list(values),
                key=f"w_{d}",
                bind="query-params",
                format_func=values.__getitem__,
                placeholder="Any",
                on_change=first_rank,
            )
    return as_filter(chosen)


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


def parameters() -> ScoringParameters:
    """Show the parameters in a popover and return them.

    Raises:
        InputError: A parameter is out of range.
    """
    changed = sum(_now(k, v) != v for k, v in PAPER.as_dict().items())
    with st.popover(f"Scoring ({changed})" if changed else "Scoring", key="scoring"):
        st.button("Reset to the paper's", key="reset", on_click=_reset, disabled=not changed)
        support = _number("min_support", "Minimum support: samples, or a share below 1", 1.0)
        provisional = st.segmented_control(
            "Slices below it count as",
            PROVISIONAL,
            default="observed",
            required=True,
            key="provisional",
            bind="query-params",
            on_change=first_rank,
            help="The paper counts every slice with a sample as observed.",
        )
        left, right = st.columns(2)
        with left:
            alpha = _number("alpha", "α, smoothing", 0.5)
            gamma = _number("gamma", "γ, weight of rarity", 0.5)
            m = _number("m", "m, neighbours", 1)
        with right:
            tau = _number("tau", "τ, range of exposure", 0.1)
            kappa = _number("kappa", "κ, cap of the error", 0.1)
            theta = _number("theta", "θ, least similarity", 0.05)
    return ScoringParameters(alpha, tau, gamma, kappa, int(m), theta, support, provisional)


def _number(name: str, label: str, step: float) -> float:
    kind, (low, high) = type(step), RANGES[name]
    value: float = st.number_input(
        label,
        min_value=kind(low),
        max_value=kind(high),
        value=kind(PAPER.as_dict()[name]),
        step=step,
        format="%d" if kind is int else "%g",
        key=name,
        bind="query-params",
        on_change=first_rank,
    )
    return value


def _now(name: str, default: Any) -> Any:
    """What a parameter is set to, also in the run that opens a link, before its widget has read the address."""
    text = st.query_params.get(name, "")
    if name in st.session_state or not text:
        return st.session_state.get(name, default)
    if name == "provisional":
        return text if text in PROVISIONAL else default
    return float(text) if _within(text, *RANGES[name]) else default


def _reset() -> None:
    first_rank()
    for name, value in PAPER.as_dict().items():
        st.session_state[name] = float(value) if name == "min_support" else value


def fixed(where: Filter) -> str:
    """The filter in words, such as "time: night or dawn, weather: foggy"."""
    return ", ".join(f"{plain(d)}: {' or '.join(map(plain, values))}" for d, values in where)
