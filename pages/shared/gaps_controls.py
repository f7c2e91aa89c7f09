"""What the Ranked gaps page can be asked for. Every choice stands in the URL, so that a view can be shared."""

from __future__ import annotations

from dataclasses import dataclass

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
_SUPPORT = "min_support"


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
    top = st.selectbox("Show", TOPS, key="top", bind="query-params", format_func="top {}".format, on_change=first_rank, width=104)
    rows = st.selectbox("Rows", dims, key="rows", bind="query-params", format_func=labels.__getitem__, width=168)
    rest = [d for d in dims if d != rows] or dims
    usual_column = "environment" if "environment" in rest else rest[0]
    columns = st.selectbox(
        "Columns", rest, rest.index(usual_column), key="columns", bind="query-params", format_func=labels.__getitem__, width=168
    )
    where = filters(odd, dims)
    return View(None if mode == usual.mode else mode, mode, top, rows, columns, where)


def filters(odd: Odd, dims: list[str]) -> Filter:
    """A choice of values per dimension, in the URL as `w_<dimension>`; pages that filter share it."""
    active = sum(bool(st.session_state.get(f"w_{d}")) for d in dims)
    chosen = {}
    with st.popover(f"Fixed values ({active})" if active else "Fixed values"):
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
    changed = sum(st.session_state.get(k, v) != v for k, v in PAPER.as_dict().items())
    with st.popover(f"Scoring ({changed} changed)" if changed else "Scoring"):
        st.button("Reset to the paper's", key="reset", on_click=_reset, disabled=not changed)
        support = _number(_SUPPORT, "Minimum support: samples, or a share below 1", value=float(PAPER.min_support), min_value=0.0, step=1.0)
        provisional = st.segmented_control(
            "Slices below it count as",
            ["observed", "missing"],
            default="observed",
            required=True,
            key="provisional",
            bind="query-params",
            on_change=first_rank,
            help="The paper counts every slice with a sample as observed.",
        )
        left, right = st.columns(2)
        with left:
            alpha = _number("alpha", "α, smoothing", value=PAPER.alpha, min_value=0.001, step=0.5)
            gamma = _number("gamma", "γ, weight of rarity", value=PAPER.gamma, min_value=0.0, step=0.5)
            m = _number("m", "m, neighbours", value=PAPER.m, min_value=1, max_value=50, step=1)
        with right:
            tau = _number("tau", "τ, range of exposure", value=PAPER.tau, min_value=0.01, max_value=1.0, step=0.1)
            kappa = _number("kappa", "κ, cap of the error", value=PAPER.kappa, min_value=0.01, max_value=1.0, step=0.1)
            theta = _number("theta", "θ, least similarity", value=PAPER.theta, min_value=0.0, max_value=1.0, step=0.05)
    return ScoringParameters(alpha, tau, gamma, kappa, int(m), theta, support, provisional)


def _number(name: str, label: str, **options: float) -> float:
    whole = isinstance(options["value"], int)
    value = st.number_input(
        label, key=name, bind="query-params", format="%d" if whole else "%g", required=True, on_change=first_rank, **options
    )
    return value


def _reset() -> None:
    first_rank()
    for name, value in PAPER.as_dict().items():
        st.session_state[name] = float(value) if name == _SUPPORT else value


def fixed(where: Filter) -> str:
    """The filter in words, such as "time: night or dawn, weather: foggy"."""
    return ", ".join(f"{plain(d)}: {' or '.join(map(plain, values))}" for d, values in where)
