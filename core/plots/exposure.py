"""How rare the values of one slice are in the table."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from core.plots.style import AUTOSIZE, BLUE, GREY, PADDING, RISK, axis, muted, plain
from core.scoring import ValueExposure

RARE = 0.1
"""A value with a smaller P_k(v) is marked as rare."""


def exposure_strip(exposures: Sequence[ValueExposure], dark: bool = False, track: int = 110) -> alt.LayerChart:
    """One bar per dimension: P_k(v) of its value from 0 to 1, rare ones in vermillion, the value and its P written beside it.

    Args:
        exposures: Of one slice, in the order of the dimensions.
        dark: Whether the theme is dark.
        track: Length of P = 1, px.
    """
    data = pd.DataFrame(
        [{"dimension": plain(x.dimension), "p": x.p, "text": f"{plain(x.value)}  {x.p:.4f}", "n": x.count} for x in exposures]
    )
    room = track + 10 + round(6.2 * max(map(len, data["text"])))
    base = alt.Chart(data).encode(
        y=alt.Y("dimension:N", sort=list(data["dimension"]), axis=axis(labelLimit=130, labelFontSize=11.5)),
        tooltip=[
            alt.Tooltip("text:N", title="value, P"),
            alt.Tooltip("n:Q", title="samples with it", format=","),
        ],
    )
    x = alt.X("p:Q", axis=None, scale=alt.Scale(domain=[0, 1], range=[0, track]))
    return (
        alt.layer(
            base.mark_bar(height=8, color=GREY, opacity=0.16, cornerRadius=2).encode(x=alt.value(0), x2=alt.value(track)),
            base.mark_bar(height=8, cornerRadius=2).encode(x=x, color=alt.condition(f"datum.p < {RARE}", alt.value(RISK), alt.value(BLUE))),
            base.mark_text(align="left", fontSize=11.5, color=muted(dark)).encode(x=alt.value(track + 8), text="text:N"),
        )
        .properties(width=room, height=alt.Step(19), padding=PADDING, autosize=AUTOSIZE)
        .configure_view(stroke=None)
    )
