"""What a ranking recommends, value by value, against what was tested (SliceNav, Fig. 6-8)."""

from __future__ import annotations

import altair as alt
import pandas as pd

from core.plots.style import BLUE, PADDING, RISK, axis
from core.scoring import Ranking


def shares(ranking: Ranking) -> pd.DataFrame:
    """Share of each base value among the ranked slices and among the tested samples.

    Returns:
        dimension, value, recommended, tested; the shares of one dimension sum to 1 (to 0 in an empty ranking).
    """
    odd, observed = ranking.odd, ranking.evidence.observed
    rows = []
    for k in ranking.dims:
        for v in odd.dimensions[k].base:
            code = odd.codec.code_of[k][v.name]
            recommended = float((ranking.codes[:, k] == code).mean()) if len(ranking) else 0.0
            tested = float(observed.n[observed.codes[:, k] == code].sum()) / observed.total
            rows.append({"dimension": odd.names[k], "value": v.name, "recommended": recommended, "tested": tested})
    return pd.DataFrame(rows)


def recommendation_profile(data: pd.DataFrame, dimension: str, title: str, width: int = 110) -> alt.LayerChart:
    """Bars of the recommended share with a tick at the tested share, for one dimension of `shares`."""
    part = data[data["dimension"] == dimension]
    scale = alt.Scale(domain=[0, 1])
    base = alt.Chart(part).encode(
        y=alt.Y("value:N", sort=list(part["value"]), axis=axis(labelLimit=110, labelFontSize=11)),
        tooltip=["value", alt.Tooltip("recommended", format=".0%"), alt.Tooltip("tested", format=".1%")],
    )
    x = alt.X("recommended:Q", scale=scale, axis=axis(format="%", values=[0, 0.5, 1], grid=True, labelFontSize=10))
    return (
        alt.layer(
            base.mark_bar(height=8, color=BLUE, cornerRadiusEnd=2).encode(x=x),
            base.mark_tick(color=RISK, thickness=2.4, height=13).encode(x=alt.X("tested:Q", scale=scale)),
        )
        .properties(
            width=width, height=alt.Step(16), padding=PADDING, title=alt.TitleParams(title, anchor="start", fontSize=12, fontWeight=600)
        )
        .configure_view(stroke=None)
    )
