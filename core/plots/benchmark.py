"""Regret of ranking methods at every budget (SliceNav, section 4)."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from core.benchmark import Point
from core.plots.methods import colours, dashes
from core.plots.style import PADDING, axis, muted


def regret_curves(curves: Sequence[Point], budgets: Sequence[int], dark: bool = False) -> alt.LayerChart:
    """Regret@K of each method over the budget K on a log scale, with rules at the budgets of the table.

    Args:
        curves: Points of all methods.
        budgets: The K that the table tells.
        dark: Whether the theme is dark.
    """
    data = pd.DataFrame([{"method": p.label, "k": p.k, "regret": p.regret, "ild": p.ild} for p in curves])
    methods = list(dict.fromkeys((p.method, p.label) for p in curves))
    end = int(data["k"].max())
    scale = alt.Scale(type="log", domain=[int(data["k"].min()), end], nice=False)
    ticks = [t for t in (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000, 100_000) if t <= end]
    x = axis(values=ticks, format=",", title="K, slices recommended (log scale)", titleColor=muted(dark), labelOverlap=True)
    y = axis(grid=True, title="Regret@K", titleColor=muted(dark), tickCount=5, format=".1f")
    rules = alt.Chart(pd.DataFrame({"k": [k for k in budgets if 2 <= k <= end]})).mark_rule(
        color=muted(dark), strokeDash=[2, 3], opacity=0.5
    )
    legend = alt.Legend(title=None, orient="bottom", columns=3, symbolType="stroke", symbolStrokeWidth=2.4, labelLimit=200)
    base = alt.Chart(data).encode(
        x=alt.X("k:Q", scale=scale, axis=x),
        y=alt.Y("regret:Q", axis=y, scale=alt.Scale(zero=True)),
        color=alt.Color("method:N", scale=colours(methods, dark), legend=legend),
        strokeDash=alt.StrokeDash("method:N", scale=dashes(methods), legend=legend),
        tooltip=[
            alt.Tooltip("method:N"),
            alt.Tooltip("k:Q", title="K", format=","),
            alt.Tooltip("regret:Q", title="regret", format=".4f"),
            alt.Tooltip("ild:Q", title="ILD", format=".3f"),
        ],
    )
    lines = base.mark_line(strokeWidth=2)
    points = base.mark_point(size=50, opacity=0)  # something to point at
    return (
        alt.layer(rules.encode(x=alt.X("k:Q", scale=scale)), lines, points)
        .properties(height=400, padding=PADDING)
        .configure_view(stroke=None)
    )
