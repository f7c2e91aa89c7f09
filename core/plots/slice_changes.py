"""What changed from one model to another, and several hypotheses on one axis (GH-ESD, section 5.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import pandas as pd

from core.plots.style import AUTOSIZE, GREY, PADDING, RISK, axis, muted
from core.plots.threat_rates import DARK, LIGHT, SHAPES

ROOM = 190
"""Room for the numbers at the right, px."""
BETTER_COLOURS = ("#009E73", "#2DBE95")
"""On light and on dark ground."""


@dataclass(frozen=True)
class ChangeRow:
    """One difference of two models.

    Attributes:
        name: What was measured.
        difference: The second model minus the first, a share.
        low: Lower end of the 95 % interval, None without one.
        high: Upper end.
        text: What stands at the right.
    """

    name: str
    difference: float
    low: float | None
    high: float | None
    text: str


def way(row: ChangeRow, good: Literal["lower", "higher"]) -> str:
    """Whether a difference is better, worse, or open because its interval holds zero."""
    if row.low is None or row.high is None or row.low <= 0 <= row.high:
        return "open"
    return "better" if (row.high < 0) == (good == "lower") else "worse"


def changes_chart(rows: Sequence[ChangeRow], good: Literal["lower", "higher"], dark: bool = False, track: int = 340) -> alt.LayerChart:
    """A dot and its 95 % interval per row on a scale around zero: better, worse, or open where the interval holds zero.

    Args:
        rows: In the order given.
        good: Which way is better.
        dark: Whether the theme is dark.
        track: Length of the scale, px.
    """
    names = [r.name for r in rows]
    data = pd.DataFrame([{**vars(r), "row": i, "way": way(r, good)} for i, r in enumerate(rows)])
    end = max([0.05, *(abs(v) for r in rows for v in (r.difference, r.low or 0.0, r.high or 0.0))]) * 1.05
    scale = alt.Scale(domain=[-end, end], range=[0, track])
    x_axis = axis(format="+.0%", grid=True, tickCount=5, orient="top", labelColor=muted(dark))
    y = alt.Y("row:O", axis=axis(labelExpr=f"{names!r}[datum.value]", labelLimit=300, labelPadding=8))
    colour = alt.Color("way:N", scale=alt.Scale(domain=["better", "worse", "open"], range=[BETTER_COLOURS[dark], RISK, GREY]), legend=None)
    tooltip = [alt.Tooltip("name:N", title="what"), alt.Tooltip("text:N", title="change"), alt.Tooltip("way:N", title="reads as")]
    base = alt.Chart(data).encode(y=y, tooltip=tooltip)
    x = lambda field: alt.X(f"{field}:Q", scale=scale, axis=x_axis)  # noqa: E731
    zero = alt.Chart(pd.DataFrame({"zero": [0.0]})).mark_rule(color=muted(dark), strokeDash=[4, 3]).encode(x=x("zero"))
    return (
        alt.layer(
            zero,
            base.mark_rule(strokeWidth=2.2).encode(x=x("low"), x2="high:Q", color=colour),
            base.mark_point(size=58, filled=True, opacity=1).encode(x=x("difference"), color=colour),
            base.mark_text(align="left", fontSize=11, color=muted(dark)).encode(x=alt.value(track + 10), text="text:N"),
        )
        .properties(width=track + ROOM, height=alt.Step(24), padding=PADDING, autosize=AUTOSIZE)
        .configure_view(stroke=None)
    )


@dataclass(frozen=True)
class CurvePoint:
    """One bin of a curve.

    Attributes:
        at: Mean of its units on the axis.
        error: Mean loss.
        low: Lower end of the 95 % interval.
        high: Upper end.
        n: Units.
    """

    at: float
    error: float
    low: float
    high: float
    n: int


def curves_chart(
    curves: Mapping[str, Sequence[CurvePoint]], title: str, dark: bool = False, gamma: float | None = None, height: int = 280
) -> alt.LayerChart:
    """Error over the matching score, a line for each hypothesis, with intervals; colour and shape both tell them apart.

    Args:
        curves: Points by the name of the hypothesis.
        title: Of the horizontal axis.
        dark: Whether the theme is dark.
        gamma: Score above which a unit is in the slice, None to draw no line.
        height: px.
    """
    names, n = list(curves), len(curves)
    data = pd.DataFrame([{"name": name, **vars(p)} for name, points in curves.items() for p in points])
    colours = DARK if dark else LIGHT
    scale = alt.Scale(domain=names, range=[colours[k % len(colours)] for k in range(n)])
    shapes = alt.Scale(domain=names, range=[SHAPES[k % len(SHAPES)] for k in range(n)])
    legend: dict[str, Any] = {"orient": "top", "title": None, "labelLimit": 420, "columns": 1, "labelColor": muted(dark)}
    colour = alt.Color("name:N", scale=scale, legend=alt.Legend(**legend))
    x = alt.X("at:Q", axis=axis(title=title, titleColor=muted(dark), labelColor=muted(dark), grid=False), scale=alt.Scale(zero=False))
    y_axis = axis(format=".0%", values=[0, 0.25, 0.5, 0.75, 1], labelColor=muted(dark), title="Error", titleColor=muted(dark))
    y = alt.Y("error:Q", scale=alt.Scale(domain=[0, 1]), axis=y_axis)
    base = alt.Chart(data).encode(
        x=x,
        color=colour,
        tooltip=[
            alt.Tooltip("name:N", title="hypothesis"),
            alt.Tooltip("at:Q", title="score", format=".3f"),
            alt.Tooltip("error:Q", title="error", format=".1%"),
            alt.Tooltip("low:Q", title="95 % from", format=".1%"),
            alt.Tooltip("high:Q", title="to", format=".1%"),
            alt.Tooltip("n:Q", title="units", format=","),
        ],
    )
    layers = [
        base.mark_line(strokeWidth=1.6, opacity=0.8).encode(y=y),
        base.mark_rule(strokeWidth=1.8, opacity=0.55).encode(y=alt.Y("low:Q", scale=alt.Scale(domain=[0, 1]), axis=y_axis), y2="high:Q"),
        base.mark_point(size=64, filled=True, opacity=1).encode(y=y, shape=alt.Shape("name:N", scale=shapes, legend=None)),
    ]
    if gamma is not None:
        line = alt.Chart(pd.DataFrame({"gamma": [gamma]})).mark_rule(color=muted(dark), strokeDash=[4, 3]).encode(x="gamma:Q")
        layers.insert(0, line)
    return alt.layer(*layers).properties(height=height, padding=PADDING).configure_view(stroke=None)
