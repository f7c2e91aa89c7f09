"""One look per ranking method, shared by all charts: colour tells the family, dash and shape the member."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from core.plots.style import BLUE, GREY, RISK

GREEN, PURPLE = "#009E73", "#CC79A7"
SKY, AMBER = "#56B4E9", "#F0873A"
"""Blue and vermillion that stand out on the dark ground."""
_SOLID, _DASH, _DOT, _DASHDOT = [1, 0], [6, 3], [2, 2], [7, 2, 2, 2]
LOOKS: dict[str, tuple[str, list[int], str]] = {
    "slicescorer": (BLUE, _SOLID, "circle"),
    "log": (BLUE, _DASH, "diamond"),
    "shrink": (BLUE, _DOT, "square"),
    "unseen": (BLUE, _DASHDOT, "triangle-up"),
    "ridge": (RISK, _SOLID, "circle"),
    "rare-ridge": (RISK, _DASH, "diamond"),
    "ridge-floor": (RISK, _DOT, "square"),
    "lift": (GREEN, _SOLID, "circle"),
    "sliceline": (GREEN, _DASH, "diamond"),
    "knn": (PURPLE, _SOLID, "circle"),
    "neighbour": (PURPLE, _DASH, "diamond"),
    "random": (GREY, _SOLID, "circle"),
    "coverage": (GREY, _DASH, "diamond"),
}


def colour_of(method: str, dark: bool) -> str:
    """Colour of a method on the ground of the theme."""
    colour = LOOKS[method][0]
    return {BLUE: SKY, RISK: AMBER}.get(colour, colour) if dark else colour


def colours(methods: Sequence[tuple[str, str]], dark: bool) -> alt.Scale:
    """Colours of methods given as (name, label), by label."""
    return alt.Scale(domain=[label for _, label in methods], range=[colour_of(name, dark) for name, _ in methods])


def dashes(methods: Sequence[tuple[str, str]]) -> alt.Scale:
    """Dashes of methods, by label."""
    return alt.Scale(domain=[label for _, label in methods], range=[LOOKS[name][1] for name, _ in methods])


def shapes(methods: Sequence[tuple[str, str]]) -> alt.Scale:
    """Shapes of methods, by label."""
    return alt.Scale(domain=[label for _, label in methods], range=[LOOKS[name][2] for name, _ in methods])
