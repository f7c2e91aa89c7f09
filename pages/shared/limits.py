"""Pace and budget of evaluations: kept for the workspace, used by every run from then on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from core.evaluation import Limits
from pages.shared import shell, state
from pages.shared.markup import count

_KEY = "evaluation.limits"
_FIELDS: dict[str, tuple[str, str]] = {
    "most": ("Calls at a time", "Begins with a few, and takes more as long as the server keeps up."),
    "requests_per_minute": ("Calls a minute", "What the server allows; empty for no limit."),
    "max_calls": ("Calls of one run", "The run pauses when they are used up; empty for no limit."),
    "max_tokens": ("Tokens of one run", "The run pauses when they are used up; empty for no limit."),
    "max_cost": ("Cost of one run", "At your prices; the run pauses before it costs more. Empty for no limit."),
}


def kept(usual: Limits | None = None) -> Limits:
    """The limits in use.

    Args:
        usual: What holds where nothing was set; the defaults of evaluations otherwise.
    """
    said: dict[str, Any] = state.store().preferences.get(_KEY, {})
    known = {k: v for k, v in said.items() if k in _FIELDS}
    usual = usual or Limits()
    return replace(usual, start=min(usual.start, known.get("most", usual.most)), **known)


def in_words(limits: Limits, currency: str) -> str:
    """The limits of a budget, such as "at most 200 calls"."""
    parts = [count(limits.max_calls, "call")] if limits.max_calls else []
    parts += [count(limits.max_tokens, "token")] if limits.max_tokens else []
    parts += [f"{limits.max_cost:,.2f} {currency}".rstrip()] if limits.max_cost else []
    return f"It pauses after {' or '.join(parts)}." if parts else ""


def form(priced: bool, usual: Limits | None = None) -> None:
    """The limits behind a button.

    Args:
        priced: Whether prices are known, so that a cost can be capped.
        usual: As for `kept`.
    """
    with st.popover("Limits", key="limits"):
        now = kept(usual)
        for name, (label, help_) in _FIELDS.items():
            if name == "max_cost" and not priced:
                shell.note("Name prices under Connections to cap the cost.")
                continue
            value, whole = getattr(now, name), name != "max_cost"
            st.number_input(
                label,
                1 if whole else 0.01,
                1_000 if name == "most" else None,
                value if value is None else int(value) if whole else float(value),
                step=1 if whole else 0.1,
                key=f"limit-{name}",
                help=help_,
                on_change=_changed,
                args=(name,),
            )


def _changed(name: str) -> None:
    said = dict(state.store().preferences.get(_KEY, {}))
    value = st.session_state[f"limit-{name}"]
    if value is None:
        said.pop(name, None)
    else:
        said[name] = value
    state.store().preferences.set(_KEY, said)
