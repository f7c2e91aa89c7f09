"""The parameters of the score on the Ranked gaps page; each stands in the URL."""

from __future__ import annotations

from typing import Any, get_args

import streamlit as st

from core.scoring import ScoringParameters
from core.scoring.parameters import Novel, Provisional, Rarity, Risk

PAPER = ScoringParameters()
RANK = "rank"
"""Query parameter of the slice that is explained."""
RANGES: dict[str, tuple[float, float]] = {
    "min_support": (0, 1e9),
    "alpha": (0.001, 1e9),
    "tau": (0.01, 1),
    "gamma": (0, 1e9),
    "kappa": (0.01, 1),
    "m": (1, 50),
    "theta": (0, 1),
    "beta": (0.01, 1),
}
"""What can be entered for a parameter; `ScoringParameters` has the last word."""
_OUTSIDE = ("novel", "beta")
"""Parameters that matter to values never seen only; inside the ODD they are not shown, and have no effect."""
SHRINK = ("measured", "shrunk")
WORDS: dict[str, tuple[str, ...]] = {
    "provisional": get_args(Provisional),
    "risk": get_args(Risk),
    "rarity": get_args(Rarity),
    "novel": get_args(Novel),
    "shrink": SHRINK,
}
"""Parameters that are one of a few words, the paper's first."""


def first_rank() -> None:
    """Explain rank 1 again: what is called whenever another ranking is asked for."""
    st.query_params.pop(RANK, None)


def within(text: str, low: float, high: float) -> bool:
    """Whether a text of an address is a number in a range."""
    try:
        return low <= float(text) <= high
    except ValueError:
        return False


def parameters(outside: bool = False) -> ScoringParameters:
    """Show the parameters in a popover and return them.

    Args:
        outside: Whether slices outside the ODD are ranked, so that what holds for unseen values matters.

    Raises:
        InputError: A parameter is out of range.
    """
    usual = _usual()
    changed = sum(_now(k, v) != v for k, v in usual.items() if outside or k not in _OUTSIDE)
    with st.popover(f"Scoring ({changed})" if changed else "Scoring", key="scoring"):
        st.button("Reset to the paper's", key="reset", on_click=_reset, disabled=not changed)
        risk = _word(
            "risk",
            "Estimated error",
            "neighbour: similarity × error of the decisive neighbour, as the paper. ridge: a mean plus effects of values and pairs of "
            "values, fitted to all tested slices at once.",
        )
        rarity = _word(
            "rarity",
            "Rarity",
            "paper: (1 − E)^γ, which hardly differs between slices. log: the logarithm of E on the scale from the least to the largest "
            "exposure of the space.",
        )
        shrink = _word(
            "shrink",
            "Error of a tested slice",
            "measured: as in the table. shrunk: errors of slices with few samples are drawn towards the mean (empirical Bayes).",
        )
        novel = PAPER.novel
        if outside:
            novel = _word(  # type: ignore[assignment]  # one of its words
                "novel",
                "Probability of a value never seen",
                "similar: that of the most similar value seen × similarity × β, as the paper; it can be larger than that of a value that "
                "was seen. unseen: that of a value with a count of zero.",
            )
        support = _number("min_support", "Minimum support: samples, or a share below 1", 1.0)
        provisional = _word("provisional", "Slices below it count as", "The paper counts every slice with a sample as observed.")
        left, right = st.columns(2)
        with left:
            alpha = _number("alpha", "α, smoothing", 0.5)
            gamma = _number("gamma", "γ, weight of rarity", 0.5)
            m = _number("m", "m, neighbours", 1)
            beta = _number("beta", "β, value never seen", 0.1) if outside else PAPER.beta
        with right:
            tau = _number("tau", "τ, range of exposure", 0.1)
            kappa = _number("kappa", "κ, cap of the error", 0.1)
            theta = _number("theta", "θ, least similarity", 0.05)
    words: dict[str, Any] = {"provisional": provisional, "rarity": rarity, "novel": novel, "risk": risk, "shrink": shrink == SHRINK[1]}
    return ScoringParameters(alpha, tau, gamma, kappa, int(m), theta, support, beta=beta, **words)


def _usual() -> dict[str, Any]:
    """The paper's parameters, as their widgets hold them."""
    return PAPER.as_dict() | {"shrink": SHRINK[0]}


def _word(name: str, label: str, help_: str) -> str:
    word: str = st.segmented_control(
        label, WORDS[name], default=_usual()[name], required=True, key=name, bind="query-params", on_change=first_rank, help=help_
    )
    return word


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
    if name in WORDS:
        return text if text in WORDS[name] else default
    return float(text) if within(text, *RANGES[name]) else default


def _reset() -> None:
    first_rank()
    for name, value in _usual().items():
        st.session_state[name] = float(value) if name == "min_support" else value
