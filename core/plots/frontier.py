"""What diversity costs: regret against ILD at one budget (SliceNav, section 4, the trade-off of Table 1)."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from core.benchmark import Point, Row
from core.plots.methods import colour_of, colours, shapes
from core.plots.style import PADDING, axis, muted


def frontier(rows: Sequence[Row], curve: Sequence[Point], dark: bool = False) -> alt.LayerChart:
    """Every method as a point, and ridge under rising diversity floors as a line; low and to the right is good.

    Args:
        rows: The methods at one budget.
        curve: Ridge under rising floors at the same budget; may be empty.
        dark: Whether the theme is dark.
    """
    methods = list(dict.fromkeys((r.method, r.label) for r in rows))
    data = pd.DataFrame([{"method": r.label, "regret": r.regret, "ild": r.ild, "text": _range(r)} for r in rows])
    line = pd.DataFrame(
        [{"what": "Ridge under a floor", "regret": p.regret, "ild": p.ild, "floor": p.floor} for p in curve],
        columns=["what", "regret", "ild", "floor"],
    )
    everything = [*data["ild"], *line["ild"]]
    low, high = min(everything), max(everything)
    room = max(0.02, (high - low) * 0.06)
    x = alt.X(
        "ild:Q",
        scale=alt.Scale(domain=[max(0, low - room), min(1, high + room)], nice=False),
        axis=axis(grid=True, title="ILD@K, diversity", titleColor=muted(dark), format=".2f", tickCount=6, labelOverlap=True),
    )
    y = alt.Y(
        "regret:Q", scale=alt.Scale(zero=True), axis=axis(grid=True, title="Regret@K", titleColor=muted(dark), format=".1f", tickCount=5)
    )
    ridge = colour_of("ridge-floor", dark)
    tip = [
        alt.Tooltip("what:N", title="method"),
        alt.Tooltip("floor:Q", format=".3f"),
        alt.Tooltip("ild:Q", title="ILD", format=".3f"),
        alt.Tooltip("regret:Q", format=".4f"),
    ]
    base = alt.Chart(line).encode(x=x, y=y, tooltip=tip)
    legend = alt.Legend(title=None, orient="bottom", columns=3, symbolSize=70, labelLimit=200)
    points = (
        alt.Chart(data)
        .mark_point(size=95, filled=True, opacity=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color("method:N", scale=colours(methods, dark), legend=legend),
            shape=alt.Shape("method:N", scale=shapes(methods), legend=legend),
            tooltip=[
                alt.Tooltip("method:N"),
                alt.Tooltip("ild:Q", title="ILD", format=".3f"),
                alt.Tooltip("regret:Q", format=".4f"),
                alt.Tooltip("text:N", title="95 %"),
            ],
        )
    )
    layers = [base.mark_line(color=ridge, strokeWidth=1.8, opacity=0.8), base.mark_point(size=30, color=ridge, opacity=0), points]
    return alt.layer(*layers).properties(height=400, padding=PADDING).configure_view(stroke=None)


def _range(row: Row) -> str:
    return "none" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}"
