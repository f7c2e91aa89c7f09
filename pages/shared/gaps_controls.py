"""What the Ranked gaps page can be asked for. Every choice stands in the URL, so that a view can be shared."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.odd import Odd
from core.plots.coverage import CELL
from core.scoring import ScoringParameters
from core.similarity import MODES
from pages.shared.results import Filter, as_filter

TOPS = (20, 50, 100, 500)
PAPER = ScoringParameters()


@dataclass(frozen=True)
class Choice:
    """The controls as chosen.

    Attributes:
        params: Parameters and support policy.
        mode: Similarity mode, None for the default of the ODD.
        top: Length of the list.
        rows, columns: Dimensions of the heat map.
        where: Fixed values.
    """

    params: ScoringParameters
    mode: str | None
    top: int
    rows: str
    columns: str
    where: Filter


def controls(odd: Odd) -> Choice:
    """Show the controls of an ODD and return what they say.

    Raises:
        InputError: A parameter is out of range.
    """
    dims = [odd.names[k] for k in odd.active] or list(odd.names)
    labels = {d.name: d.label for d in odd.dimensions}
    across = dims.index("environment") if "environment" in dims else min(1, len(dims) - 1)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        mode = st.segmented_control("Similarity", ["default", *MODES], default="default", key="similarity", bind="query-params")
        top = st.selectbox("Length", TOPS, key="top", bind="query-params", width=90)
        rows = st.selectbox("Rows", dims, key="rows", bind="query-params", format_func=labels.__getitem__, width=180)
        rest = [d for d in dims if d != rows] or dims
        start = rest.index(dims[across]) if dims[across] in rest else 0
        columns = st.selectbox("Columns", rest, start, key="columns", bind="query-params", format_func=labels.__getitem__, width=180)
        where = filters(odd, dims)
        params = _parameters()
    return Choice(params, None if mode in (None, "default") else mode, top, rows, columns, where)


def filters(odd: Odd, dims: list[str]) -> Filter:
    """A choice of values per dimension, in the URL as `w_<dimension>`; pages that filter share it."""
    active = sum(bool(st.session_state.get(f"w_{d}")) for d in dims)
    chosen = {}
    with st.popover(f"Fixed values ({active})" if active else "Fixed values"):
        st.button("Clear all", key="clear", on_click=_clear, args=(dims,), disabled=not active)
        for d in dims:
            values = [v.name for v in odd.by_name[d].base]
            chosen[d] = st.multiselect(odd.by_name[d].label, values, key=f"w_{d}", bind="query-params", placeholder="Any")
    return as_filter(chosen)


def _clear(dims: list[str]) -> None:
    for d in dims:
        st.session_state[f"w_{d}"] = []


def fix_cell(chart: str, rows: str, columns: str) -> None:
    """A click on a cell of the heat map fixes its two values."""
    picked = (st.session_state.get(chart) or {}).get("selection", {}).get(CELL) or []
    if picked:
        st.session_state[f"w_{rows}"] = [picked[0]["row"]]
        st.session_state[f"w_{columns}"] = [picked[0]["column"]]


def _parameters() -> ScoringParameters:
    with st.popover("Parameters"):
        st.button("Reset to the paper's", key="reset", on_click=_reset)
        provisional = st.segmented_control(
            "Slices below the minimum support count as",
            ["observed", "missing"],
            default="observed",
            key="provisional",
            bind="query-params",
            help="The paper counts every slice with a sample as observed.",
        )
        number = lambda name, label, **kw: st.number_input(label, key=name, bind="query-params", **kw)  # noqa: E731
        support = number(
            "min_support", "Minimum support, a count or a share below 1", value=float(PAPER.min_support), min_value=0.0, format="%g"
        )
        alpha = number("alpha", "α, smoothing", value=PAPER.alpha, min_value=0.001, format="%g")
        tau = number("tau", "τ, range of the exposure", value=PAPER.tau, min_value=0.01, max_value=1.0, format="%g")
        gamma = number("gamma", "γ, emphasis on rarity", value=PAPER.gamma, min_value=0.0, format="%g")
        kappa = number("kappa", "κ, cap of the neighbour error", value=PAPER.kappa, min_value=0.01, max_value=1.0, format="%g")
        m = number("m", "m, neighbours", value=PAPER.m, min_value=1, max_value=50, step=1)
        theta = number("theta", "θ, least similarity of a neighbour", value=PAPER.theta, min_value=0.0, max_value=1.0, format="%g")
    return ScoringParameters(alpha, tau, gamma, kappa, int(m), theta, support, provisional or "observed")


def _reset() -> None:
    for name, value in PAPER.as_dict().items():
        st.session_state[name] = float(value) if name == "min_support" else value
