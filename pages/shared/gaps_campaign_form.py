"""What a campaign is asked for: budget, samples, costs, quotas. Every choice stands in the URL, so that a plan can be shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.acquisition import (
    BUDGETS,
    BudgetKind,
    Factor,
    Quota,
    Request,
    interval_width,
    read_factors,
    read_quotas,
    read_terms,
    samples_for_width,
)
from core.acquisition.samples import MOST
from core.errors import InputError
from core.odd import Odd
from core.plots import named
from pages.shared import shell
from pages.shared.gaps_parameters import within
from pages.shared.gaps_text import value_name
from pages.shared.markup import Markup, fill, strong

COST, QUOTA = "cost", "quota"
"""Query parameters that hold one factor or one quota each, as the command line takes them."""
_FIRST: dict[BudgetKind, float] = {"slices": 40.0, "samples": 4000.0, "cost": 4000.0}
_SAMPLES = ("From an interval", "Fixed")
_BUDGETS: dict[BudgetKind, str] = {"slices": "Slices", "samples": "Samples", "cost": "Cost"}
_MOST = 1e12
_WORDS = {"budget_in": tuple(_BUDGETS.values()), "per_slice": _SAMPLES, "leave_out": ("true", "false")}
_RANGES: dict[str, tuple[float, float]] = {
    **{f"budget_{kind}": (1.0, _MOST) for kind in BUDGETS},
    "samples": (1, MOST),
    "width": (0.01, 0.99),
    "assumed": (0.0, 1.0),
    "sample_cost": (0.001, 1e9),
}
"""What the query parameters of the form can hold."""


def ignored() -> list[str]:
    """What the address asks of a campaign and cannot have, in words; call it before the form, which clears it from the address."""
    out = []
    for key in st.query_params:
        for v in st.query_params.get_all(key):
            if (key in _WORDS and v not in _WORDS[key]) or (key in _RANGES and not within(v, *_RANGES[key])):
                out.append(f"{key} = {v}")
    return out


def form(odd: Odd, values: Mapping[str, Sequence[str]]) -> Request:
    """Show the form in the caller's container.

    Args:
        odd: The ODD.
        values: What costs and quotas can be given to: by dimension that the ranking writes out, the values that its slices may have.

    Raises:
        InputError: The address holds a cost or a quota that cannot be read, or a number makes no sense.
    """
    shell.section("Budget")
    kind = st.segmented_control(
        "Counted in",
        BUDGETS,
        default="slices",
        required=True,
        key="budget_in",
        bind="query-params",
        format_func=_BUDGETS.__getitem__,
        label_visibility="collapsed",
    )
    budget = st.number_input(
        f"{_BUDGETS[kind]} at most",
        min_value=1.0,
        max_value=_MOST,
        value=_FIRST[kind],
        step=10.0 if kind == "slices" else 500.0,
        format="%g" if kind == "cost" else "%.0f",
        key=f"budget_{kind}",
        bind="query-params",
    )
    samples, width, rate = _per_slice()
    base = _costs(odd, values)
    _quotas(odd, values)
    skip = st.toggle(
        "Leave out slices of other campaigns",
        True,
        key="leave_out",
        bind="query-params",
        help="Saved campaigns of this ODD, whatever table they were made for. Dropped slices are free again.",
    )
    factors, quotas = read_terms(st.query_params.get_all(COST), st.query_params.get_all(QUOTA))
    return Request(
        budget=budget,
        kind=kind,
        samples=samples,
        width=width,
        rate=rate,
        base_cost=base,
        factors=factors,
        quotas=quotas,
        skip_scheduled=skip,
    )


def _per_slice() -> tuple[int, float, float]:
    """Samples of a slice (0 where they come from the interval), width, and assumed rate."""
    shell.section("Samples per slice")
    how = st.segmented_control(
        "Samples per slice",
        _SAMPLES,
        default=_SAMPLES[0],
        required=True,
        key="per_slice",
        bind="query-params",
        label_visibility="collapsed",
    )
    if how == _SAMPLES[1]:
        fixed = int(st.number_input("Samples of each slice", 1, MOST, 100, 10, key="samples", bind="query-params"))
        widest = interval_width(fixed, 0.5)
        shell.note(fill("{n} samples know an error rate to ± {w} points at worst.", n=strong(f"{fixed:,}"), w=f"{50 * widest:.1f}"))
        return fixed, 0.2, 0.5
    left, right = st.columns(2)
    with left:
        width = st.number_input(
            "Interval width",
            *_RANGES["width"],
            0.2,
            0.05,
            "%g",
            key="width",
            bind="query-params",
            help="Of the 95 % Wilson interval of the error rate, high end minus low end.",
        )
    with right:
        rate = st.number_input(
            "Assumed error",
            0.0,
            1.0,
            0.5,
            0.1,
            "%g",
            key="assumed",
            bind="query-params",
            help="0.5 gives the widest interval, so it is safe.",
        )
    n = samples_for_width(width, rate)
    shell.note(
        fill("{n} samples a slice: the interval is at most {w} points wide{at}.", n=strong(f"{n:,}"), w=f"{100 * width:g}", at=_at(rate))
    )
    return 0, width, rate


def _at(rate: float) -> str:
    return ", whatever the error rate" if rate == 0.5 else f" if the error rate is {rate:.0%}"


def _costs(odd: Odd, values: Mapping[str, Sequence[str]]) -> float:
    shell.section("Cost", "factors of a slice are multiplied")
    base = st.number_input("Cost of one sample", *_RANGES["sample_cost"], 1.0, 1.0, "%g", key="sample_cost", bind="query-params")
    for i, text in enumerate(dict.fromkeys(st.query_params.get_all(COST))):
        line = text
        try:
            (f,) = read_factors([text])
            line = factor_words(odd, f)
        except InputError:
            pass  # told by the caller, together with the others
        _line(COST, i, text, line)
    with st.popover("Add a cost", key="add_cost"):
        dimension, value = _pick(odd, values, "cost")
        times = st.number_input("Times the cost", 0.01, 1e6, 2.0, 0.5, "%g", key="new_times")
        st.button("Add", key="do_add_cost", on_click=_add, args=(COST, f"{dimension}={value}:", f"{times:g}"), type="primary")
    return base


def _quotas(odd: Odd, values: Mapping[str, Sequence[str]]) -> None:
    shell.section("Quotas", "of slices in the campaign")
    for i, text in enumerate(dict.fromkeys(st.query_params.get_all(QUOTA))):
        line = text
        try:
            (q,) = read_quotas([text])
            line = named_quota(odd, q)
        except InputError:
            pass
        _line(QUOTA, i, text, line)
    with st.popover("Add a quota", key="add_quota"):
        dimension, value = _pick(odd, values, "quota")
        rule = st.segmented_control("Rule", ("at most", "at least"), default="at most", required=True, key="new_rule")
        unit = st.segmented_control("Of", ("slices", "% of the slices"), default="slices", required=True, key="new_unit")
        amount = st.number_input("Amount", 0, 100 if unit != "slices" else 1_000_000, 10, 5, key=f"new_amount_{unit[0]}")
        sign = "<=" if rule == "at most" else ">="
        end = f"{amount}%" if unit != "slices" else f"{amount}"
        st.button("Add", key="do_add_quota", on_click=_add, args=(QUOTA, f"{dimension}={value}:{sign}", end), type="primary")


def quota_words(q: Quota) -> str:
    """A quota for people, such as "at most 25 % of the slices"."""
    amount = f"{100 * q.amount:g} % of the slices" if q.share else f"{q.amount:,.0f} {'slice' if q.amount == 1 else 'slices'}"
    return f"at {q.kind} {amount}"


def named_quota(odd: Odd, q: Quota) -> str:
    """A quota with its value, such as "night: at most 10 slices"."""
    return f"{_value(odd, q.dimension, q.value)}: {quota_words(q)}"


def factor_words(odd: Odd, f: Factor) -> str:
    """A factor for people, such as "night × 2"."""
    return f"{_value(odd, f.dimension, f.value)} × {f.times:g}"


def _value(odd: Odd, dimension: str, value: str) -> str:
    known = dimension in odd.by_name and value in odd.by_name[dimension].by_name
    return value_name(odd, dimension, value) if known else f"{dimension}={value}"


def _pick(odd: Odd, values: Mapping[str, Sequence[str]], what: str) -> tuple[str, str]:
    labels = {d: odd.by_name[d].label for d in values}
    dimension = st.selectbox("Dimension", list(values), key=f"{what}_dimension", format_func=labels.__getitem__)
    names = named(values[dimension])
    value = st.selectbox("Value", list(names), key=f"{what}_value_{dimension}", format_func=names.__getitem__)
    return dimension, value


def _add(key: str, start: str, end: str) -> None:
    """Add a factor or a quota to the address; one of the same value and rule is replaced."""
    kept = [t for t in st.query_params.get_all(key) if not t.startswith(start)]
    st.query_params[key] = [*kept, start + end]


def _remove(key: str, text: str) -> None:
    st.query_params[key] = [t for t in st.query_params.get_all(key) if t != text]


def _line(key: str, i: int, text: str, words: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"od-item-{key}-{i}"):
        with st.container(width="stretch"):
            shell.html(Markup('<p class="od-note"><b>{}</b></p>').format(words))
        st.button("Remove", key=f"remove_{key}_{i}", on_click=_remove, args=(key, text), type="tertiary")
