"""Where the Ranked gaps page looks: inside the ODD, outside it with chosen extended values, or both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import get_args

import streamlit as st

from core.odd import Odd
from core.odd.rules import implausible_rules
from core.plots import named, plain
from core.scoring import IN_ODD, Scope
from core.scoring.scope import Kind
from pages.shared.markup import label

KINDS = get_args(Kind)
EXTEND = "x_"
"""Query parameter of the extended values of a dimension, with its name."""
YES_NO = ("no", "yes")


def extensions(odd: Odd) -> dict[str, list[str]]:
    """Extended values of the dimensions that have some."""
    values = {d.name: [v.name for v in d.values if v.tier == "extended"] for d in odd.dimensions}
    return {d: v for d, v in values.items() if v}


def allowed_words(odd: Odd) -> dict[str, Collection[str]]:
    """What the query parameters of this part may hold."""
    known = extensions(odd)
    words: dict[str, Collection[str]] = {EXTEND + d: named(v).values() for d, v in known.items()}
    return words | ({"scope": KINDS, "plausible": YES_NO} if known else {"scope": ("in",)})


def chosen_scope(odd: Odd, changed: Callable[[], None]) -> tuple[Scope, bool]:
    """Show the choice; returns the scope, and whether implausible combinations are left out.

    An ODD that declares nothing outside itself leaves nothing to choose.

    Args:
        odd: The ODD.
        changed: Called on every change.
    """
    known = extensions(odd)
    if not known:
        return IN_ODD, False
    kind = st.segmented_control(
        "Scope",
        KINDS,
        default="in",
        required=True,
        key="scope",
        bind="query-params",
        on_change=changed,
        help="in: slices inside the ODD. out: slices outside it, with at least one extended value. both: all of them.",
    )
    if kind == "in":
        return IN_ODD, False
    picked: dict[str, Sequence[str]] = {d: st.session_state.get(EXTEND + d) or _from_address(d, v) for d, v in known.items()}
    count = sum(len(v) for v in picked.values())
    with st.popover(f"Extension ({count})" if count else "Extension (all)", key="extension"):
        st.button("All extended values", key="all_extended", on_click=_clear, args=(tuple(known), changed), disabled=not count)
        st.caption("Values that are added to the ODD. As long as none is chosen, all are.")
        for d, values in known.items():
            words = named(values)
            picked[d] = st.multiselect(
                label(odd.by_name[d].label),
                values,
                key=EXTEND + d,
                bind="query-params",
                format_func=words.__getitem__,
                placeholder="None" if count else "All",
                on_change=changed,
            )
        plausible = _plausible_only(odd, changed)
    # In the order of the ODD, so that the same choice is the same scope.
    extend = {d: tuple(v for v in known[d] if v in chosen) for d, chosen in picked.items() if chosen} or {
        d: tuple(v) for d, v in known.items()
    }
    return Scope(kind, extend), plausible


def _plausible_only(odd: Odd, changed: Callable[[], None]) -> bool:
    """Show the switch of the rules of the ODD where there are some."""
    rules = implausible_rules(odd)
    if not rules:
        return False
    word = st.segmented_control(
        "Leave out implausible combinations",
        YES_NO,
        default="no",
        required=True,
        key="plausible",
        bind="query-params",
        on_change=changed,
        help=f"The ODD has {len(rules)} rules on combinations that hardly occur: " + label(" ".join(r.reason for r in rules)),
    )
    return bool(word == "yes")


def in_words(odd: Odd, scope: Scope) -> str:
    """The extension in words, such as "all 63 extended values" or "dusk, dawn (time)"."""
    known = extensions(odd)
    if all(scope.extend.get(d) == tuple(v) for d, v in known.items()):
        return f"all {sum(map(len, known.values())):,} extended values"
    parts = []
    for d, values in scope.extend.items():
        whole = len(values) == len(known.get(d, ())) and len(values) > 1
        listed = f"all {len(values)}" if whole else ", ".join(map(plain, values))
        parts.append(f"{plain(d)}: {listed}")
    return "; ".join(parts)


def asked_values(odd: Odd) -> dict[str, list[str]]:
    """Values by dimension outside the ODD, base ones and those of the extension that the address asks for."""
    known = extensions(odd)
    asked = {d: _from_address(d, v) for d, v in known.items()}
    extended = asked if any(asked.values()) else known
    return {d.name: [v.name for v in d.values if v.tier == "base" or v.name in extended.get(d.name, ())] for d in odd.dimensions}


def _from_address(dimension: str, values: list[str]) -> list[str]:
    """What a link asks for, in the run that opens it, before the widget has read it."""
    back = {text: v for v, text in named(values).items()}
    return [back[t] for t in st.query_params.get_all(EXTEND + dimension) if t in back]


def _clear(dims: tuple[str, ...], changed: Callable[[], None]) -> None:
    for d in dims:
        st.session_state[EXTEND + d] = []
    changed()
