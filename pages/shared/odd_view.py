"""An ODD as people read it, and the ODDs of the workspace with the tables that rest on them."""

from __future__ import annotations

import re

import streamlit as st

from core.odd import Dimension, Odd, built_in
from pages.shared import shell, state
from pages.shared.markup import chip, code, fill, join, strong, table

VALUES = 60
STANDARDS = {"iso34503": "ISO 34503", "iso21448": "ISO 21448", "sae_j3016": "SAE J3016"}
_PARAM = "odd"


def known() -> dict[str, Odd]:
    """The built-in ODD and those of the workspace by hash, the newest first after the built-in one."""
    first = built_in()
    return {first.hash: first, **{o.hash: o for o in reversed(state.store().odds.all()) if o.hash != first.hash}}


def remember(odd: Odd) -> None:
    """Keep an ODD in the workspace, so that an import can name it."""
    state.store().odds.put(odd)


def file_name(odd: Odd) -> str:
    """Name for the download."""
    return (re.sub(r"[^A-Za-z0-9]+", "-", odd.name).strip("-") or "odd") + f"-v{odd.version}"


def choose(odds: dict[str, Odd]) -> Odd:
    """The ODD that the page shows; it stands in the address, so that the view can be shared."""
    wanted = st.query_params.get(_PARAM, "")
    match = next((h for h in odds if wanted and h.startswith(wanted)), next(iter(odds)))
    if st.session_state.get("odd.param") != wanted:
        st.session_state["odd.param"], st.session_state["odd.shown"] = wanted, match
    if st.session_state.get("odd.shown") not in odds:
        st.session_state["odd.shown"] = match
    chosen = st.selectbox("ODD", list(odds), format_func=lambda h: f"{odds[h].name} v{odds[h].version}, {h[:6]}", key="odd.shown")
    if chosen != match:
        show(chosen)
    return odds[chosen]


def show(odd_hash: str) -> None:
    """Name an ODD in the address."""
    st.query_params[_PARAM] = odd_hash[:12]
    st.session_state["odd.param"] = odd_hash[:12]


def listing(odds: dict[str, Odd]) -> None:
    """Every ODD with its hash and the tables that rest on it."""
    used: dict[str, list[str]] = {}
    for t in state.tables():
        used.setdefault(t.odd_hash, []).append(t.name)
    shell.section("In this workspace", f"{len(odds)}; none is ever overwritten")
    rows = [
        (fill("{n} v{v}", n=o.name, v=o.version), code(h[:6]), f"{o.base_space.size:,}", _names(used.get(h, []))) for h, o in odds.items()
    ]
    shell.html(table(["Name", "Hash", "Slices", "Tables"], rows[:40], right=(2,)))
    if len(rows) > 40:
        shell.note(f"The newest 40 of {len(rows)} are listed; the box above offers all.")


def _names(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") or "none"


def dimensions(odd: Odd) -> None:
    """Every dimension with its values."""
    for d in odd.dimensions:
        base = len(d.base)
        shell.section(d.label, f"{d.name}: {base} inside, {len(d.values) - base} outside")
        clauses = [fill("{s} {c}", s=strong(STANDARDS.get(s, s)), c=c) for s, c in d.standards.items() if c]
        if clauses:
            shell.note(join(clauses, "; "))
        shell.html(_values(d))
        if len(d.values) > VALUES:
            shell.note(f"The first {VALUES} of {len(d.values):,} values; the YAML has all.")


def _values(d: Dimension) -> object:
    shown = sorted(d.values, key=lambda v: v.tier != "base")[:VALUES]
    plain = not any(v.definition or v.synonyms or v.parent or v.concept for v in shown)
    tier = {"base": chip("inside", "info"), "extended": chip("outside", "outline")}
    if plain:
        return table(["Value", "Tier"], [(v.name, tier[v.tier]) for v in shown])
    rows = [
        (v.name, tier[v.tier], v.definition + (f" Refines {v.parent}." if v.parent else ""), ", ".join(v.synonyms), v.concept)
        for v in shown
    ]
    return table(["Value", "Tier", "What one sees", "Also read as", "Concept"], rows)
