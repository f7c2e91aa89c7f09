"""Dimension by dimension: how many samples each pair of values has, and where the best gaps lie."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd

from core.odd import Codes
from core.plots.style import AUTOSIZE, CIVIDIS, GREY, PADDING, RISK, axis, ground, hatch, muted, named, plain
from core.scoring import IN_ODD, Scope
from core.seed_table import SeedTable

CELL = "cell"
"""Name of the selection that a click on a cell makes; its fields are `row` and `column`."""
MOST_ROWS, MOST_COLUMNS = 24, 14
"""A heat map with more values than this cannot be read; the rest is counted, and said."""
HEIGHT, NARROWEST, WIDEST = 30, 46, 104
LETTER, LONGEST = 5.5, 170
"""Mean width of a letter, and the longest label, px."""


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Samples and recommended slices of the pairs of values of two dimensions.

    Attributes:
        rows, columns: Names of the dimensions.
        frame: row, column, n, top and inside (the filter) of the pairs that are drawn, in the order of the ODD.
        pairs: Pairs in all, drawn or not.
        untested: Pairs without a sample, drawn or not.
        holding: Pairs that hold a recommended slice, drawn or not.
        samples: Samples over all pairs, drawn or not.
    """

    rows: str
    columns: str
    frame: pd.DataFrame
    pairs: int
    untested: int
    holding: int
    samples: int

    @property
    def undrawn(self) -> int:
        """Pairs that are left out of the drawing."""
        return self.pairs - len(self.frame)


def pair_counts(
    tested: SeedTable,
    recommended: Codes,
    rows: str,
    columns: str,
    where: Mapping[str, Collection[str]] | None = None,
    scope: Scope = IN_ODD,
) -> PairCounts:
    """Counts over the values of two different dimensions; values that hold a recommended slice are drawn first.

    Args:
        tested: Tested slices; those with a value that the scope does not have are left out.
        recommended: (K, D) slices of the ranking.
        rows: Name of the dimension that runs down.
        columns: Name of the dimension that runs across.
        where: The filter of the ranking; pairs outside it are drawn paler.
        scope: Of the ranking: its values are counted, the base values inside the ODD.
    """
    odd = tested.odd
    a, b = odd.names.index(rows), odd.names.index(columns)
    shape = (odd.codec.sizes[a], odd.codec.sizes[b])
    n, top = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    inside = scope.space(odd).contains(tested.codes)
    np.add.at(n, (tested.codes[inside, a], tested.codes[inside, b]), tested.n[inside])
    np.add.at(top, (recommended[:, a], recommended[:, b]), 1)
    values = scope.values(odd)
    names = [values[a], values[b]]
    every = np.ix_(*([odd.codec.code_of[k][v] for v in values[k]] for k in (a, b)))
    n, top = n[every], top[every]
    drawn = [_drawn(top.sum(axis=1 - i), n.sum(axis=1 - i), most) for i, most in enumerate((MOST_ROWS, MOST_COLUMNS))]
    allowed = [set((where or {}).get(d, ())) or set(names[i]) for i, d in enumerate((rows, columns))]
    data = [
        {
            "row": names[0][i],
            "column": names[1][j],
            "n": int(n[i, j]),
            "top": int(top[i, j]),
            "inside": names[0][i] in allowed[0] and names[1][j] in allowed[1],
        }
        for i in drawn[0]
        for j in drawn[1]
    ]
    return PairCounts(rows, columns, pd.DataFrame(data), n.size, int((n == 0).sum()), int((top > 0).sum()), int(n.sum()))


def _drawn(top: npt.NDArray[np.int64], n: npt.NDArray[np.int64], most: int) -> list[int]:
    """Positions of at most `most` values: recommended ones first, then those with the most samples; in the order of the ODD."""
    order = np.lexsort((np.arange(n.size), -n, -top))
    return sorted(order[:most].tolist())


def coverage_map(counts: PairCounts, k: int, dark: bool = False, width: int = 630) -> alt.LayerChart:
    """Heat map of samples: cividis on a log scale, hatched zero cells, outlined cells with a recommended slice.

    Args:
        counts: The counts.
        k: Length of the ranking, for the tooltip.
        dark: Whether the theme is dark.
        width: Room for cells and labels, px; cells are never narrower than `NARROWEST`.
    """
    data = counts.frame.assign(
        log=np.log10(counts.frame["n"].clip(lower=1)),
        text=counts.frame["n"].map("{:,}".format),
        y=counts.frame["row"].map(named(counts.frame["row"])),
        x=counts.frame["column"].map(named(counts.frame["column"])),
        seen=np.where(counts.frame["inside"], 1.0, 0.3),
    )
    ys, xs = list(dict.fromkeys(data["y"])), list(dict.fromkeys(data["x"]))
    room = width - min(round(LETTER * max(map(len, ys))), LONGEST) - 20
    cell = min(max(room // len(xs), NARROWEST), WIDEST)
    slanted = LETTER * max(map(len, xs)) > cell - 2
    if slanted:  # the last label leans out at the right
        cell = min(max((room - 60) // len(xs), NARROWEST), WIDEST)
    base = alt.Chart(data).encode(
        x=alt.X("x:N", sort=xs, axis=_heading(slanted)),
        y=alt.Y("y:N", sort=ys, axis=axis(labelPadding=8, labelLimit=LONGEST, labelFontSize=12)),
    )
    return (
        alt.layer(*_layers(base, float(data["log"].max()), cell, dark), _target(base, counts, k, cell))
        .properties(width=alt.Step(cell), height=alt.Step(HEIGHT), padding=PADDING, autosize=AUTOSIZE)
        .configure_view(stroke=None)
        .configure_scale(bandPaddingInner=0, bandPaddingOuter=0)
    )


def _heading(slanted: bool) -> alt.Axis:
    """Labels above the columns, slanted where they would run into each other."""
    turn = {"labelAngle": -35, "labelAlign": "left"} if slanted else {"labelAngle": 0}
    return axis(orient="top", labelPadding=8, labelLimit=LONGEST, labelFontSize=11.5, **turn)


def _layers(base: alt.Chart, high: float, cell: int, dark: bool) -> list[alt.Chart]:
    size = {"width": cell - 3, "height": HEIGHT - 3}
    high = max(high, 1.0)
    zero, some = base.transform_filter("datum.n == 0"), base.transform_filter("datum.n > 0")
    seen = alt.Opacity("seen:Q", scale=None, legend=None)
    on_colour = alt.condition(f"datum.log > {0.6 * high:.4f}", alt.value("#15202B"), alt.value("#FFFFFF"))
    return [
        base.mark_rect(fill=GREY, fillOpacity=0.07, **size),
        some.mark_rect(**size).encode(
            color=alt.Color("log:Q", scale=alt.Scale(range=CIVIDIS, domain=[0, high], interpolate="rgb"), legend=None), opacity=seen
        ),
        zero.mark_point(shape=hatch(cell - 5, HEIGHT - 5), size=4, stroke=GREY, strokeOpacity=0.55, strokeWidth=1, filled=False),
        zero.mark_text(fontSize=12, fontWeight=600, stroke=ground(dark), strokeWidth=5).encode(text="text:N"),
        zero.mark_text(fontSize=12, fontWeight=600, color=muted(dark)).encode(text="text:N"),
        some.transform_filter("datum.inside").mark_text(fontSize=12, fontWeight=500).encode(text="text:N", color=on_colour),
        some.transform_filter("!datum.inside").mark_text(fontSize=12, fontWeight=500, color=muted(dark)).encode(text="text:N"),
        base.transform_filter("datum.top > 0").mark_rect(fill=None, filled=False, stroke=RISK, strokeWidth=2.4, opacity=1, **size),
    ]


def _target(base: alt.Chart, counts: PairCounts, k: int, cell: int) -> alt.Chart:
    """What takes the pointer: an unseen cell on top of all, with the tooltip."""
    tip = [
        alt.Tooltip("y:N", title=plain(counts.rows)),
        alt.Tooltip("x:N", title=plain(counts.columns)),
        alt.Tooltip("n:Q", title="samples", format=","),
        alt.Tooltip("top:Q", title=f"slices in the top {k}"),
    ]
    pick = alt.selection_point(name=CELL, fields=["row", "column"], on="click", clear=False)
    size = {"width": cell - 3, "height": HEIGHT - 3}
    return base.mark_rect(fill="#000", fillOpacity=0.001, cursor="pointer", **size).encode(tooltip=tip).add_params(pick)
