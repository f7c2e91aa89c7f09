"""What the page "Compare methods" can be asked for. Every choice stands in the URL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from core.benchmark import METHODS, REFERENCE
from core.errors import InputError, Problem
from core.operators import BUDGETS, BenchmarkResult
from core.similarity import MODES, default_choice
from core.storage import SavedTable
from pages.shared import state

SCOPES: dict[str, str] = {"in": "Inside the ODD", "out": "Outside it"}
ALLOWED = "benchmark.allow_shared"
"""Session key of the pair of tables that may share samples."""
_SEED = "benchmark.seed"
"""Session key of the table that the oracle was chosen for."""
DEFAULT_K = ", ".join(map(str, BUDGETS))


@dataclass(frozen=True)
class View:
    """Everything that is chosen.

    Attributes:
        oracle: The oracle's table.
        budgets: K values.
        methods: Names, empty for all.
        mode: Similarity mode, None for the default of the ODD.
        scope: Inside or outside the ODD.
        allow_shared: Whether shared samples are allowed.
    """

    oracle: SavedTable
    budgets: tuple[int, ...]
    methods: tuple[str, ...]
    mode: str | None
    scope: Literal["in", "out"]
    allow_shared: bool


def oracles(current: SavedTable) -> list[SavedTable]:
    """Saved tables that could judge this one: same dimensions, another file; those of its model first, then the ones with more slices.

    Tables of other models from the same file hold the same samples, so they are left out.
    """
    names = set(state.seed_table(current).odd.names)
    others = [t for t in state.tables() if t.id != current.id and (t.upload_sha is None or t.upload_sha != current.upload_sha)]
    found = [t for t in others if set(state.seed_table(t).odd.names) == names]
    return sorted(found, key=lambda t: (t.model != current.model, -t.rows, t.name))


def ignored(tables: Sequence[SavedTable]) -> list[str]:
    """What the address asks for and cannot have here, in words; call it before the controls, which clear it from the address.

    An address holds choices as they are written on the screen.
    """
    allowed: dict[str, Collection[str]] = {
        "oracle": [t.name for t in tables],
        "similarity": MODES,
        "scope": SCOPES.values(),
        "methods": [m.label for m in METHODS],
    }
    return [f"{key} = {v}" for key, values in allowed.items() for v in st.query_params.get_all(key) if v not in values]


def controls(current: SavedTable, tables: Sequence[SavedTable]) -> View:
    """Show the controls side by side in the caller's container.

    Raises:
        InputError: A budget is no whole number.
    """
    seed = state.seed_table(current)
    odd = seed.odd
    named = {t.id: t for t in tables}
    if st.session_state.get(_SEED, current.id) != current.id and "oracle" not in st.query_params:
        st.session_state["oracle"] = tables[0].id  # the one chosen for the table that was left need not be of this one's model
    st.session_state[_SEED] = current.id
    oracle = st.selectbox(
        "Oracle",
        list(named),
        key="oracle",
        bind="query-params",
        format_func=lambda i: named[i].name,
        width=300,
        help="A table of other samples of the same model: it knows how risky the slices are that the table in use has not tested.",
    )
    text = st.text_input("Budgets K", DEFAULT_K, key="k", bind="query-params", width=150, help="How many slices a list recommends.")
    chosen = _methods()
    usual = default_choice(odd, odd.active or range(len(odd.names)), [seed.codes[seed.in_base]])
    mode = st.segmented_control(
        "Similarity",
        MODES,
        default=usual.mode,
        required=True,
        key="similarity",
        bind="query-params",
        help=f"How alike two slices are. Usual for this ODD: {usual.mode} ({usual.reason}). The paper compares texts.",
    )
    scope: Literal["in", "out"] = "in"
    if not state.seed_table(named[oracle]).in_base.all():
        scope = st.segmented_control(
            "Candidates", list(SCOPES), default="in", required=True, key="scope", bind="query-params", format_func=SCOPES.__getitem__
        )
    shared = st.session_state.get(ALLOWED) == (current.id, oracle)
    return View(named[oracle], budgets_of(text), chosen, None if mode == usual.mode else mode, scope, shared)


def allow_shared(current: SavedTable, oracle: SavedTable) -> None:
    """Compare this pair in this session although it shares samples."""
    st.session_state[ALLOWED] = (current.id, oracle.id)


def _methods() -> tuple[str, ...]:
    labels = {m.name: m.label for m in METHODS if m.name != REFERENCE}
    picked = st.session_state.get("methods") or st.query_params.get_all("methods")
    with st.popover(f"Methods ({len(picked) + 1})" if picked else "Methods", key="methods_chosen"):
        chosen = st.multiselect(
            "Beside SliceScorer",
            list(labels),
            key="methods",
            bind="query-params",
            format_func=labels.__getitem__,
            placeholder="All that work here",
        )
        st.caption("  \n".join(f"**{m.label}**: {m.what}" for m in METHODS))
        st.caption(
            "SliceLine and SliceFinder were made for another task, to find failing groups among what was tested. Here they are adapted to "
            "rank what was not, as the paper does (App. B), so this says nothing of how well they do their own."
        )
    return tuple(chosen)


def budgets_of(text: str) -> tuple[int, ...]:
    """The K values of a text such as "100, 500".

    Raises:
        InputError: One is no whole number of at least 1, or there is none.
    """
    parts = [x for x in text.replace(";", ",").replace(" ", ",").split(",") if x]
    wrong = [x for x in parts if not (x.isascii() and x.isdigit() and 1 <= int(x) <= 10**9)]
    if wrong or not parts:
        problems = [Problem(None, "Budgets K", x, "whole numbers of at least 1, separated by commas") for x in wrong or [text]]
        raise InputError("The budgets cannot be read.", problems)
    return tuple(sorted({int(x) for x in parts}))


def shown_budget(result: BenchmarkResult) -> int:
    """The budget whose figures are shown; the middle one of those that are not saturated at first."""
    ks = list(dict.fromkeys(r.k for r in result.comparison.rows))
    still_open = [r.k for r in result.comparison.rows if not r.saturated and r.method == REFERENCE] or ks
    usual = still_open[len(still_open) // 2]
    if len(ks) == 1:
        return ks[0]
    texts = [str(k) for k in ks]
    if st.session_state.get("at", st.query_params.get("at")) not in texts:  # other budgets were asked for since
        st.session_state.pop("at", None)
        st.query_params.pop("at", None)
    at = st.segmented_control("Figures at K", texts, default=str(usual), required=True, key="at", bind="query-params")
    return int(at)
