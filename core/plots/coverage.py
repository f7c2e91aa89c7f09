"""Dimension by dimension: how many samples each pair of values has, and where the best gaps lie."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt
import numpy as np
import pandas as pd

from core.odd import Codes
from core.plots.style import CIVIDIS, GREY, PADDING, RISK, axis, ground, hatch, muted
from core.seed_table import SeedTable

CELL = "cell"
"""Name of the selection that a click on a cell makes; its fields are `row` and `column`."""
WIDTH, HEIGHT = 76, 30


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Samples and recommended slices of each pair of base values of two dimensions.

    Attributes:
        rows: Dimension down the map.
        columns: Dimension across it.
        frame: row, column, n, top for every pair, in the order of the ODD.
    """

    rows: str
    columns: str
    frame: pd.DataFrame

    @property
    def untested(self) -> int:
        """Pairs without a sample."""
        return int((self.frame["n"] == 0).sum())

    @property
    def holding(self) -> int:
        """Pairs that hold a recommended slice."""
        return int((self.frame["top"] > 0).sum())


def pair_counts(observed: SeedTable, recommended: Codes, rows: str, columns: str) -> PairCounts:
    """Counts over the base values of two different dimensions.

    Args:
        observed: Tested slices inside the ODD.
        recommended: (K, D) slices of the ranking.
        rows: Dimension down the map.
        columns: Dimension across it.
    """
    odd = observed.odd
    a, b = odd.names.index(rows), odd.names.index(columns)
    shape = (odd.codec.sizes[a], odd.codec.sizes[b])
    n, top = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    np.add.at(n, (observed.codes[:, a], observed.codes[:, b]), observed.n)
    np.add.at(top, (recommended[:, a], recommended[:, b]), 1)
    data = [
        {"row": u.name, "column": v.name, "n": int(n[i, j]), "top": int(top[i, j])}
        for u in odd.dimensions[a].base
        for v in odd.dimensions[b].base
        for i, j in [(odd.codec.code_of[a][u.name], odd.codec.code_of[b][v.name])]
    ]
    return PairCounts(rows, columns, pd.DataFrame(data))


def coverage_map(counts: PairCounts, k: int, dark: bool = False) -> alt.LayerChart:
    """Heat map of samples: cividis on a log scale, hatched zero cells, outlined cells with a recommended slice.

    Args:
        counts: The counts.
        k: Length of the ranking, for the tooltip.
        dark: Whether the theme is dark.
    """
    data = counts.frame.assign(log=np.log10(counts.frame["n"].clip(lower=1)), text=counts.frame["n"].map("{:,}".format))
    rows, columns = list(dict.fromkeys(data["row"])), list(dict.fromkeys(data["column"]))
    high = max(float(data["log"].max()), 1.0)
    base = alt.Chart(data).encode(
        x=alt.X(
            "column:N",
            sort=columns,
            axis=axis(orient="top", labelAngle=0 if len(columns) <= 6 else -35, labelPadding=8, labelLimit=WIDTH + 40),
        ),
        y=alt.Y("row:N", sort=rows, axis=axis(labelPadding=8, labelLimit=150)),
    )
    size = {"width": WIDTH - 3, "height": HEIGHT - 3}
    zero, some = base.transform_filter("datum.n == 0"), base.transform_filter("datum.n > 0")
    tip = [
        alt.Tooltip("row:N", title=counts.rows),
        alt.Tooltip("column:N", title=counts.columns),
        alt.Tooltip("n:Q", title="samples", format=","),
        alt.Tooltip("top:Q", title=f"slices in the top {k}"),
    ]
    pick = alt.selection_point(name=CELL, fields=["row", "column"], on="click", clear=False)
    return (
        alt.layer(
            base.mark_rect(fill=GREY, fillOpacity=0.07, **size),
            some.mark_rect(**size).encode(
                color=alt.Color("log:Q", scale=alt.Scale(range=CIVIDIS, domain=[0, high], interpolate="rgb"), legend=None)
            ),
            zero.mark_point(shape=hatch(WIDTH - 5, HEIGHT - 5), size=4, stroke=GREY, strokeOpacity=0.55, strokeWidth=1, filled=False),
            zero.mark_text(fontSize=12, fontWeight=600, stroke=ground(dark), strokeWidth=5).encode(text="text:N"),
            zero.mark_text(fontSize=12, fontWeight=600, color=muted(dark)).encode(text="text:N"),
            some.mark_text(fontSize=12, fontWeight=500).encode(
                text="text:N", color=alt.condition(f"datum.log > {0.55 * high}", alt.value("#15202B"), alt.value("#FFFFFF"))
            ),
            base.transform_filter("datum.top > 0").mark_rect(fill=None, filled=False, stroke=RISK, strokeWidth=2.4, opacity=1, **size),
            base.mark_rect(fill="#000", fillOpacity=0.001, cursor="pointer", **size).encode(tooltip=tip).add_params(pick),
        )
        .properties(width=alt.Step(WIDTH), height=alt.Step(HEIGHT), padding=PADDING)
        .configure_view(stroke=None)
        .configure_scale(bandPaddingInner=0, bandPaddingOuter=0)
    )
