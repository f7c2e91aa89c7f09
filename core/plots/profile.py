"""What a ranking recommends, value by value, against what was tested (SliceNav, Fig. 6-8)."""

from __future__ import annotations

import altair as alt
import pandas as pd

from core.plots.style import AUTOSIZE, BLUE, PADDING, RISK, axis, named
from core.scoring import Ranking

MOST_VALUES = 12
"""Values drawn per dimension; the rest becomes one row that says how many it stands for."""


def shares(ranking: Ranking) -> pd.DataFrame:
    """Share of each value of the scope among the ranked slices and among the samples that the ranking rests on.

    Returns:
        dimension, value, recommended, tested; the shares of one dimension sum to 1 (to 0 in an empty ranking; to less where tested
        values lie outside the scope).
    """
    odd, observed = ranking.odd, ranking.evidence.observed
    rows = []
    for k in ranking.dims:
        for name in ranking.scope.values(odd)[k]:
            code = odd.codec.code_of[k][name]
            recommended = float((ranking.codes[:, k] == code).mean()) if len(ranking) else 0.0
            tested = float(observed.n[observed.codes[:, k] == code].sum()) / observed.total
            rows.append({"dimension": odd.names[k], "value": name, "recommended": recommended, "tested": tested})
    return pd.DataFrame(rows, columns=["dimension", "value", "recommended", "tested"])


def drawn_shares(data: pd.DataFrame, dimension: str) -> pd.DataFrame:
    """The rows of one dimension of `shares`, named for people; beyond `MOST_VALUES` the smallest are added up into one row."""
    part = data[data["dimension"] == dimension].reset_index(drop=True)
    part = part.assign(value=part["value"].map(named(part["value"])))
    if len(part) <= MOST_VALUES:
        return part
    largest = part[["recommended", "tested"]].max(axis=1).sort_values(ascending=False, kind="stable").index[: MOST_VALUES - 1]
    rest = part.drop(index=largest)
    name = f"{len(rest)} other values"
    summed = pd.DataFrame(
        [{"dimension": dimension, "value": name, "recommended": rest["recommended"].sum(), "tested": rest["tested"].sum()}]
    )
    return pd.concat([part.loc[sorted(largest)], summed], ignore_index=True)


def recommendation_profile(data: pd.DataFrame, dimension: str, title: str, width: int = 92) -> alt.LayerChart:
    """Bars of the recommended share with a tick at the tested share, for one dimension of `shares`.

    Args:
        data: The result of `shares`.
        dimension: Which of its dimensions.
        title: Name of the dimension for people.
        width: Length of the axis, px.
    """
    part = drawn_shares(data, dimension)
    scale = alt.Scale(domain=[0, 1])
    base = alt.Chart(part).encode(
        y=alt.Y("value:N", sort=list(part["value"]), axis=axis(labelLimit=130, labelFontSize=11)),
        tooltip=[
            alt.Tooltip("value:N", title=title),
            alt.Tooltip("recommended:Q", title="share among the slices listed", format=".1%"),
            alt.Tooltip("tested:Q", title="share of the tested samples", format=".1%"),
        ],
    )
    x = alt.X("recommended:Q", scale=scale, axis=axis(format="%", values=[0, 0.5, 1], grid=True, labelFontSize=10))
    return (
        alt.layer(
            base.mark_bar(height=8, color=BLUE, cornerRadiusEnd=2).encode(x=x),
            base.mark_tick(color=RISK, thickness=2.4, height=13).encode(x=alt.X("tested:Q", scale=scale)),
        )
        .properties(
            width=width,
            height=alt.Step(16),
            padding=PADDING,
            autosize=AUTOSIZE,
            title=alt.TitleParams(title, anchor="start", fontSize=12, fontWeight=600, offset=4, frame="bounds"),
        )
        .configure_view(stroke=None)
    )
