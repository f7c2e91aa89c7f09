"""The tables of RiskRidge as pictures: what each value adds to the risk, what each pair adds beyond, and which pairs matter."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd

from core.odd import Odd
from core.plots.style import AUTOSIZE, BLUE, GREY, PADDING, RISK, amounts, axis, diverging, ground, hatch, muted, named, plain
from core.scoring import Effects, PairEffects, SingleEffects
from core.scoring.effects import CLEAR

PAIR = "pair"
"""Name of the selection that a click on the overview makes; its fields are `row` and `column`."""
MOST_VALUES, MOST_ROWS, MOST_COLUMNS = 14, 24, 14
"""More values than these cannot be read; those furthest from 0 are drawn, and the rest is counted."""
HEIGHT, NARROWEST, WIDEST, OVERVIEW = 26, 50, 92, 43
"""Cells, px."""
LETTER, LONGEST = 5.6, 150
"""Mean width of a letter, and the longest label, px."""
SKY = "#56B4E9"
"""Blue that stands out on the dark ground."""
BLACK, WHITE = "#15202B", "#FFFFFF"


def effect_limit(effects: Effects) -> float:
    """End of a scale around 0 that holds every interval of the single tables, rounded up to 0.05; charts that are compared share it."""
    widest = max(float(np.max(np.abs(s.effect) + CLEAR * s.sd)) for s in effects.singles)
    return max(math.ceil(widest * 20 - 1e-9) / 20, 0.05)


def pair_limit(effects: Effects) -> float:
    """End of the colour scale around 0 that holds every pair effect; at least 0.01."""
    return max([0.01, *(float(np.abs(p.effect).max()) for p in effects.pairs.values())])


def drawn_values(s: SingleEffects) -> list[int]:
    """Positions of the values that are drawn, in the order of the ODD."""
    return _furthest(np.abs(s.effect) / np.where(s.sd > 0, s.sd, np.inf), MOST_VALUES)


def _furthest(distance: npt.NDArray[np.float64], most: int) -> list[int]:
    return sorted(np.argsort(-distance, kind="stable")[:most].tolist())


def effect_dots(s: SingleEffects, title: str, limit: float, dark: bool = False, width: int = 150) -> alt.LayerChart:
    """A dot and its 95 % posterior interval per value, against 0; hollow where no sample is behind it.

    Args:
        s: The table of one dimension.
        title: Name of the dimension for people.
        limit: End of the scale, from `effect_limit`.
        dark: Whether the theme is dark.
        width: Length of the scale, px.
    """
    words = named(s.values)
    drawn = drawn_values(s)
    data = pd.DataFrame(
        [
            {
                "value": words[s.values[v]],
                "effect": float(s.effect[v]),
                "sd": float(s.sd[v]),
                "low": float(s.effect[v] - CLEAR * s.sd[v]),
                "high": float(s.effect[v] + CLEAR * s.sd[v]),
                "n": int(s.n[v]),
                "slices": int(s.slices[v]),
            }
            for v in drawn
        ]
    )
    data["verdict"] = np.where(data["low"] > 0, "more", np.where(data["high"] < 0, "less", "open"))
    data["zero"] = 0.0
    scale = alt.Scale(domain=[-limit, limit], nice=False)
    colour = alt.Color(
        "verdict:N", scale=alt.Scale(domain=["more", "open", "less"], range=[RISK, GREY, SKY if dark else BLUE]), legend=None
    )
    x_axis = axis(labelExpr="datum.value == 0 ? '0' : format(datum.value, '+.2~f')", values=[-limit, 0, limit], grid=True, labelFontSize=10)
    base = alt.Chart(data).encode(
        y=alt.Y("value:N", sort=list(data["value"]), axis=axis(labelLimit=LONGEST, labelFontSize=11)),
        tooltip=[
            alt.Tooltip("value:N", title=title),
            alt.Tooltip("effect:Q", title="adds to the risk", format="+.4f"),
            alt.Tooltip("sd:Q", title="standard deviation", format=".4f"),
            alt.Tooltip("n:Q", title="samples", format=","),
            alt.Tooltip("slices:Q", title="tested slices", format=","),
        ],
    )
    return (
        alt.layer(
            base.mark_rule(strokeWidth=2, opacity=0.75).encode(x=alt.X("low:Q", scale=scale, axis=x_axis), x2="high:Q", color=colour),
            alt.Chart(data.iloc[:1]).mark_rule(strokeDash=[3, 3], color=muted(dark), opacity=0.8).encode(x=alt.X("zero:Q", scale=scale)),
            base.transform_filter("datum.n > 0")
            .mark_point(filled=True, size=55, opacity=1)
            .encode(x=alt.X("effect:Q", scale=scale), color=colour),
            base.transform_filter("datum.n == 0")
            .mark_point(filled=True, fill=ground(dark), size=50, strokeWidth=1.6, opacity=1)
            .encode(x=alt.X("effect:Q", scale=scale), stroke=alt.value(GREY)),
        )
        .properties(
            width=width,
            height=alt.Step(17),
            padding=PADDING,
            autosize=AUTOSIZE,
            title=alt.TitleParams(title, anchor="start", fontSize=12, fontWeight=600, offset=4, frame="bounds"),
        )
        .configure_view(stroke=None)
    )


def drawn_pairs(p: PairEffects) -> tuple[list[int], list[int]]:
    """Positions of the rows and of the columns that are drawn, in the order of the ODD."""
    distance = np.abs(p.effect) / np.where(p.sd > 0, p.sd, np.inf)
    return _furthest(distance.max(axis=1), MOST_ROWS), _furthest(distance.max(axis=0), MOST_COLUMNS)


def pair_map(p: PairEffects, titles: tuple[str, str], limit: float, dark: bool = False, width: int = 470) -> alt.LayerChart:
    """Heat map of one pair table: orange adds to the risk, blue takes off; pale where not told from 0, hatched without a sample.

    Args:
        p: The table.
        titles: Names of the two dimensions for people.
        limit: End of the colour scale, from `pair_limit`.
        dark: Whether the theme is dark.
        width: Room for cells and labels, px; cells are never narrower than `NARROWEST`.
    """
    rows, columns = drawn_pairs(p)
    down, across = named(p.rows), named(p.columns)
    data = pd.DataFrame(
        [
            {
                "y": down[p.rows[r]],
                "x": across[p.columns[c]],
                "effect": float(p.effect[r, c]),
                "sd": float(p.sd[r, c]),
                "text": _signed(float(p.effect[r, c])),
                "n": int(p.n[r, c]),
                "slices": int(p.slices[r, c]),
                "clear": bool(p.sd[r, c] > 0 and abs(p.effect[r, c]) >= CLEAR * p.sd[r, c]),
            }
            for r in rows
            for c in columns
        ]
    )
    ys, xs = list(dict.fromkeys(data["y"])), list(dict.fromkeys(data["x"]))
    cell, slanted = _cell(ys, xs, width)
    base = alt.Chart(data).encode(
        x=alt.X("x:N", sort=xs, axis=_heading(slanted)),
        y=alt.Y("y:N", sort=ys, axis=axis(labelPadding=8, labelLimit=LONGEST, labelFontSize=12)),
    )
    size = {"width": cell - 3, "height": HEIGHT - 3}
    colour = alt.Color("effect:Q", scale=alt.Scale(range=diverging(dark), domain=[-limit, 0, limit], interpolate="lab"), legend=None)
    # Ink by contrast: on the light ground only full blue needs white, on the dark one only full orange and blue need black.
    ink = f"datum.effect < {-0.75 * limit:.6f}" if not dark else f"datum.effect < {-0.7 * limit:.6f} || datum.effect > {0.9 * limit:.6f}"
    clear, opened = base.transform_filter("datum.clear"), base.transform_filter("!datum.clear")
    tip = [
        alt.Tooltip("y:N", title=titles[0]),
        alt.Tooltip("x:N", title=titles[1]),
        alt.Tooltip("effect:Q", title="adds beyond the two values", format="+.4f"),
        alt.Tooltip("sd:Q", title="standard deviation", format=".4f"),
        alt.Tooltip("n:Q", title="samples", format=","),
        alt.Tooltip("slices:Q", title="tested slices", format=","),
    ]
    return (
        alt.layer(
            base.mark_rect(fill=GREY, fillOpacity=0.07, **size),
            opened.mark_rect(opacity=0.45, **size).encode(color=colour),
            clear.mark_rect(**size).encode(color=colour),
            base.transform_filter("datum.n == 0").mark_point(
                shape=hatch(cell - 5, HEIGHT - 5), size=4, stroke=GREY, strokeOpacity=0.5, strokeWidth=1, filled=False
            ),
            opened.mark_text(fontSize=11, color=muted(dark)).encode(text="text:N"),
            clear.mark_text(fontSize=11.5, fontWeight=700).encode(
                text="text:N", color=alt.condition(ink, alt.value(BLACK if dark else WHITE), alt.value(WHITE if dark else BLACK))
            ),
            base.mark_rect(fill="#000", fillOpacity=0.001, **size).encode(tooltip=tip),
        )
        .properties(width=alt.Step(cell), height=alt.Step(HEIGHT), padding=PADDING, autosize=AUTOSIZE)
        .configure_view(stroke=None)
        .configure_scale(bandPaddingInner=0, bandPaddingOuter=0)
    )


def pair_overview(effects: Effects, odd: Odd, chosen: Sequence[str] = (), dark: bool = False) -> alt.LayerChart:
    """Which tables matter: root mean square of each, single ones on the diagonal, pairs below it; a click chooses a pair.

    Args:
        effects: The tables.
        odd: The ODD, for names.
        chosen: The two dimensions whose map is shown, outlined here.
        dark: Whether the theme is dark.
    """
    strength = effects.strength()
    dims = [s.dimension for s in effects.singles]
    labels = [odd.by_name[d].label for d in dims]
    words = dict(zip(dims, labels if len(set(labels)) == len(labels) else [plain(d) for d in dims], strict=True))
    data = pd.DataFrame(
        [
            {
                "row": dims[i],
                "column": dims[j],
                "y": words[dims[i]],
                "x": words[dims[j]],
                "what": "single effects" if i == j else "pair effects",
                "strength": float(strength[i, j]),
                "text": f"{strength[i, j]:.3f}",
                "clear": _clear(effects, i, j),
                "of": int(effects.singles[i].effect.size if i == j else effects.pairs[j, i].effect.size),
                "pair": i != j,
                "chosen": {dims[i], dims[j]} == set(chosen) and i != j,
            }
            for i in range(len(dims))
            for j in range(i + 1)
        ]
    )
    high = max(float(data["strength"].max()), 0.001)
    cell = OVERVIEW
    names = list(words.values())
    base = alt.Chart(data).encode(
        x=alt.X("x:N", sort=names, axis=axis(orient="bottom", labelAngle=-35, labelAlign="right", labelLimit=LONGEST, labelFontSize=11)),
        y=alt.Y("y:N", sort=names, axis=axis(labelPadding=8, labelLimit=LONGEST, labelFontSize=11.5)),
    )
    size = {"width": cell - 3, "height": HEIGHT - 3}
    full = f"datum.strength > {(0.7 if dark else 0.8) * high:.6f}"
    ink = alt.condition(full, alt.value(BLACK if dark else WHITE), alt.value(WHITE if dark else BLACK))
    pick = alt.selection_point(name=PAIR, fields=["row", "column"], on="click", clear=False)
    tip = [
        alt.Tooltip("y:N", title="dimension"),
        alt.Tooltip("x:N", title="with"),
        alt.Tooltip("what:N", title="table"),
        alt.Tooltip("strength:Q", title="root mean square", format=".4f"),
        alt.Tooltip("clear:Q", title="entries told from 0"),
        alt.Tooltip("of:Q", title="of"),
    ]
    return (
        alt.layer(
            base.mark_rect(**size).encode(
                color=alt.Color("strength:Q", scale=alt.Scale(range=amounts(dark), domain=[0, high], interpolate="lab"), legend=None)
            ),
            base.mark_text(fontSize=10.5, fontWeight=500).encode(text="text:N", color=ink),
            base.transform_filter("!datum.pair").mark_rect(fill=None, filled=False, stroke=GREY, strokeWidth=1, opacity=0.9, **size),
            base.transform_filter("datum.chosen").mark_rect(fill=None, filled=False, stroke=RISK, strokeWidth=2.4, opacity=1, **size),
            base.transform_filter("!datum.pair").mark_rect(fill="#000", fillOpacity=0.001, **size).encode(tooltip=tip),
            base.transform_filter("datum.pair")
            .mark_rect(fill="#000", fillOpacity=0.001, cursor="pointer", **size)
            .encode(tooltip=tip)
            .add_params(pick),
        )
        .properties(width=alt.Step(cell), height=alt.Step(HEIGHT), padding=PADDING, autosize=AUTOSIZE)
        .configure_view(stroke=None)
        .configure_scale(bandPaddingInner=0, bandPaddingOuter=0)
    )


def _clear(effects: Effects, i: int, j: int) -> int:
    """Entries of one table that are told from 0."""
    t = effects.singles[i] if i == j else effects.pairs[min(i, j), max(i, j)]
    return int(((t.sd > 0) & (np.abs(t.effect) >= CLEAR * t.sd)).sum())


def _signed(x: float) -> str:
    text = f"{x:+.3f}".replace("-", "−")
    return "0" if text[1:] == "0.000" else text


def _cell(ys: Sequence[str], xs: Sequence[str], width: int) -> tuple[int, bool]:
    """Width of a cell, and whether the headings are slanted."""
    room = width - min(round(LETTER * max(map(len, ys))), LONGEST) - 20
    cell = min(max(room // len(xs), NARROWEST), WIDEST)
    slanted = LETTER * max(map(len, xs)) > cell - 2
    return (min(max((room - 60) // len(xs), NARROWEST), WIDEST), True) if slanted else (cell, False)


def _heading(slanted: bool) -> alt.Axis:
    turn = {"labelAngle": -35, "labelAlign": "left"} if slanted else {"labelAngle": 0}
    return axis(orient="top", labelPadding=8, labelLimit=LONGEST, labelFontSize=11.5, **turn)
