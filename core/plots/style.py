"""Colours and axes shared by all charts (Okabe-Ito, cividis). Text on a canvas takes no CSS, so it needs the theme told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import altair as alt

CIVIDIS = ["#00224E", "#123570", "#3B496C", "#575D6D", "#707173", "#8A8678", "#A59C74", "#C3B369", "#E1CC55", "#FEE838"]
BLUE, RISK, GREY = "#0072B2", "#D55E00", "#8492A0"
PADDING = {"left": 0, "top": 6, "right": 6, "bottom": 4}
AUTOSIZE = {"type": "pad", "contains": "padding"}
"""Labels stand beside the given width; where none is set, Streamlit takes their room from it."""


def axis(**options: Any) -> alt.Axis:
    """An axis that never drops a label."""
    return alt.Axis(
        **{"labelOverlap": False, "labelFlush": False, "labelBound": False, "title": None, "domain": False, "ticks": False, **options}
    )


def plain(name: str) -> str:
    """A name of the ODD as people write it."""
    return name.replace("_", " ").strip() or name


def named(names: Iterable[str]) -> dict[str, str]:
    """The names of one dimension's values as people write them; as they stand where two would become the same."""
    distinct = list(dict.fromkeys(names))
    texts = [plain(n) for n in distinct]
    return dict(zip(distinct, texts if len(set(texts)) == len(texts) else distinct, strict=True))


def muted(dark: bool) -> str:
    """Muted text, at least 6:1 on the ground of the theme."""
    return "#9DABB9" if dark else "#526070"


def ground(dark: bool) -> str:
    """Background of the theme."""
    return "#0F151C" if dark else "#FFFFFF"


def diverging(dark: bool) -> list[str]:
    """Colours from less to more risk by way of the ground."""
    return ["#56B4E9" if dark else BLUE, "#1A232D" if dark else "#F4F6F8", RISK]


def amounts(dark: bool) -> list[str]:
    """Colours from nothing to much of what is neither good nor bad."""
    return ["#1A232D", "#56B4E9"] if dark else ["#F0F4F8", BLUE]


def hatch(width: float, height: float, step: float = 7.0) -> str:
    """SVG path of 45 degree lines clipped to a cell of width x height px, for a point of size 4 (one px a unit).

    Vega has no pattern fill; a point may take a path as its shape.
    """
    x0, x1, y0, y1 = -width / 2, width / 2, -height / 2, height / 2
    lines, c = [], x0 + y0 + step / 2
    while c < x1 + y1:
        left, right = max(x0, c - y1), min(x1, c - y0)
        lines.append(f"M{left:.1f},{c - left:.1f}L{right:.1f},{c - right:.1f}")
        c += step
    return "".join(lines)
