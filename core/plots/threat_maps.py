"""Heat maps over scenes and sets of scenes: who said what, what was found, and how far sets overlap (FluidTest, Fig. 3, 6, 12 to 14)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import altair as alt
import numpy as np
import pandas as pd

from core.plots.style import AUTOSIZE, BLUE, GREY, PADDING, RISK, amounts, axis, diverging, muted
from core.threats import Overlap, OverlapMatrix, Sweep, Worse, worst

Measure = Literal["jaccard", "directional", "lift", "kappa"]

MEASURES: dict[Measure, tuple[str, str]] = {
    "jaccard": ("Jaccard", "shared / union"),
    "directional": ("Share of the column", "shared / set of the column"),
    "lift": ("Lift", "shared / shared by chance"),
    "kappa": ("Cohen's kappa", "agreement beyond chance"),
}
"""Name and meaning of each measure of overlap."""

_FIELD: dict[Measure, str] = {"jaccard": "jaccard", "directional": "of_second", "lift": "lift", "kappa": "kappa"}
_DOMAIN: dict[Measure, tuple[float, float]] = {"jaccard": (0, 1), "directional": (0, 1), "lift": (0, 3), "kappa": (-1, 1)}
SKY = "#56B4E9"
NAMED = 12
"""Scenes that a tooltip names."""


@dataclass(frozen=True)
class Category:
    """What a scene can be in a row.

    Attributes:
        key: As in the data.
        label: In the legend.
        colour: On light ground.
        dark: On dark ground.
    """

    key: str
    label: str
    colour: str
    dark: str


LABEL_CATEGORIES = (Category("Y", "Y", RISK, RISK), Category("N", "N", "#9CC9E6", "#2B6A92"), Category("U", "Unsure", GREY, "#5A6775"))
"""What people say (Fig. 3A)."""
STATUS_CATEGORIES = (
    Category("has_threat", "Threat", RISK, RISK),
    Category("no_threat", "No threat", "#9CC9E6", "#2B6A92"),
    Category("abstain", "No verdict", GREY, "#5A6775"),
)
"""What was found (Fig. 14)."""
TAIL_CATEGORIES = (Category("worst", "In the worst tail", "#E69F00", "#E69F00"), Category("other", "Not in it", "#F1E4C6", "#4A4231"))
"""Whether a metric takes a scene for hard (Fig. 13); together with `STATUS_CATEGORIES` in one map."""
MISSING = Category("missing", "Nothing known", "#E7ECF1", "#27323D")


def tail_row(values: Mapping[str, float | None], percent: float, worse: Worse) -> dict[str, str]:
    """Which scenes a metric takes for hard, as a row of a pattern map; scenes without the metric are left out.

    Args:
        values: Metric of each scene.
        percent: The worst x % are hard.
        worse: Which end is bad.
    """
    known = {s: v for s, v in values.items() if v is not None and math.isfinite(v)}
    tail = worst(known, percent, worse)
    return {s: "worst" if s in tail else "other" for s in known}


def pattern_order(rows: Mapping[str, Mapping[str, str]], categories: Sequence[Category]) -> list[str]:
    """Scenes ordered by what the rows say of them from the top row down, then by name, so that like patterns stand together."""
    rank = {c.key: k for k, c in enumerate(categories)}
    scenes = {s for row in rows.values() for s in row}
    return sorted(scenes, key=lambda s: (*(rank.get(row.get(s, ""), len(rank)) for row in rows.values()), s))


def pattern_map(
    rows: Mapping[str, Mapping[str, str]], categories: Sequence[Category], dark: bool = False, scenes: str = "scenes", step: int = 44
) -> alt.LayerChart:
    """One strip per row, one column per scene, sorted by pattern, with counts at the right (Fig. 3A, 13, 14).

    Args:
        rows: Category of each scene, by row; a scene that a row lacks is drawn as not known.
        categories: In the order of the sorting and the legend.
        dark: Whether the theme is dark.
        scenes: What a column is, in the plural.
        step: Height of a row, px.
    """
    order = pattern_order(rows, categories)
    data, counts = [], []
    for name, row in rows.items():
        says = [row.get(s, MISSING.key) for s in order]
        start = 0
        for k in range(1, len(order) + 1):
            if k == len(order) or says[k] != says[start]:
                part = order[start:k]
                more = f" and {len(part) - NAMED} more" if len(part) > NAMED else ""
                data.append((name, says[start], start, k, k - start, ", ".join(part[:NAMED]) + more))
                start = k
        counts.append((name, " · ".join(f"{c.label} {says.count(c.key)}" for c in (*categories, MISSING) if c.key in says)))
    every = (*categories, *((MISSING,) if any(d[1] == MISSING.key for d in data) else ()))
    frame = pd.DataFrame(data, columns=["row", "what", "start", "end", "n", "scenes"])
    frame["what"] = frame["what"].map({c.key: c.label for c in every})
    frame["gap"] = len(rows)
    scale = alt.Scale(domain=[c.label for c in every], range=[c.dark if dark else c.colour for c in every])
    y = alt.Y("row:N", sort=list(rows), axis=axis(labelLimit=220, labelPadding=8), scale=alt.Scale(paddingInner=0.48, paddingOuter=0.3))
    x = axis(title=f"{len(order):,} {scenes}, sorted by pattern", titleColor=muted(dark), labelColor=muted(dark), format="d", tickMinStep=1)
    domain = alt.Scale(domain=[0, max(len(order), 1)], nice=False)
    bars = (
        alt.Chart(frame)
        .mark_bar(height=alt.RelativeBandSize(1.0))
        .encode(
            y=y,
            x=alt.X("start:Q", scale=domain, axis=x),
            x2="end:Q",
            color=alt.Color(
                "what:N", scale=scale, legend=alt.Legend(title=None, orient="top", labelColor=muted(dark), symbolType="square")
            ),
            tooltip=[
                alt.Tooltip("row:N", title="row"),
                alt.Tooltip("what:N", title="says"),
                alt.Tooltip("n:Q", title=f"{scenes} side by side", format=","),
                alt.Tooltip("scenes:N", title="these"),
            ],
        )
    )
    text = (
        alt.Chart(pd.DataFrame(counts, columns=["row", "text"]))
        .mark_text(align="left", baseline="bottom", dy=-step * 0.27, fontSize=11, color=muted(dark))
        .encode(y=y, x=alt.value(0), text="text:N")
    )
    return alt.layer(bars, text).properties(height=alt.Step(step), padding=PADDING, autosize=AUTOSIZE).configure_view(stroke=None)


def overlap_map(matrix: OverlapMatrix, measure: Measure = "jaccard", dark: bool = False, cell: int = 76) -> alt.LayerChart:
    """Every pair of sets as a cell with the measure and the counts behind it (Fig. 3B and 6).

    Args:
        matrix: The overlaps.
        measure: What is drawn; "directional" reads as the share of the column's set.
        dark: Whether the theme is dark.
        cell: Side of a cell, px.
    """
    rows = []
    for i, row in enumerate(matrix.pairs):
        for j, o in enumerate(row):
            value = getattr(o, _FIELD[measure])
            whole = o.union if measure == "jaccard" else o.second
            counts = f"{o.shared}/{whole}" if measure in ("jaccard", "directional") else f"{o.shared} v {_number(o.expected, 1)}"
            rows.append((matrix.names[i], matrix.names[j], value, _cell(value, measure), counts, *_said(o)))
    names = list(matrix.names)
    data = pd.DataFrame(rows, columns=["first", "second", "value", "text", "counts", *_SAID])
    return _heat(data, "second", "first", names, names, measure, dark, cell)


def sweep_map(sweeps: Sequence[Sweep], measure: Measure = "directional", dark: bool = False, cell: int = 58) -> alt.LayerChart:
    """Overlap of the worst x % of each pair of planners, metric by metric, over the thresholds (Fig. 12).

    Args:
        sweeps: One for each metric.
        measure: What is drawn; both directions of a share are the same, since the tails are of equal size.
        dark: Whether the theme is dark.
        cell: Side of a cell, px.
    """
    rows = [
        (
            f"{s.metric}: {p.first} and {p.second}",
            f"{p.percent:g} %",
            v,
            _cell(v, measure),
            f"{p.overlap.shared}/{p.overlap.first}",
            *_said(p.overlap),
        )
        for s in sweeps
        for p in s.points
        for v in [getattr(p.overlap, _FIELD[measure])]
    ]
    data = pd.DataFrame(rows, columns=["first", "second", "value", "text", "counts", *_SAID])
    return _heat(data, "second", "first", list(dict.fromkeys(data["second"])), list(dict.fromkeys(data["first"])), measure, dark, cell)


_SAID = ["shared", "union", "expected", "lift", "kappa", "p", "n"]


def _said(o: Overlap) -> tuple[float | None, ...]:
    return o.shared, o.union, o.expected, o.lift, o.kappa, o.p, o.n


def _heat(
    data: pd.DataFrame, x: str, y: str, columns: Sequence[str], rows: Sequence[str], measure: Measure, dark: bool, cell: int
) -> alt.LayerChart:
    low, high = _DOMAIN[measure]
    colours = [RISK, diverging(dark)[1], SKY if dark else BLUE] if measure == "kappa" else amounts(dark)
    stops = [low, 0.0, high] if low < 0 else [low, high]
    data["ink"] = [_ink(v, stops, colours, dark) for v in data["value"]]
    base = alt.Chart(data).encode(
        x=alt.X(
            f"{x}:N", sort=list(columns), axis=axis(labelAngle=0 if len(columns) < 9 else -40, labelLimit=150, orient="top", labelPadding=8)
        ),
        y=alt.Y(f"{y}:N", sort=list(rows), axis=axis(labelLimit=260, labelPadding=8)),
        tooltip=[
            alt.Tooltip(f"{y}:N", title="row"),
            alt.Tooltip(f"{x}:N", title="column"),
            alt.Tooltip("shared:Q", title="scenes shared"),
            alt.Tooltip("union:Q", title="in either"),
            alt.Tooltip("expected:Q", title="shared by chance", format=".1f"),
            alt.Tooltip("lift:Q", format=".2f"),
            alt.Tooltip("kappa:Q", title="Cohen's kappa", format=".2f"),
            alt.Tooltip("p:Q", title="chance gives as many", format=".2g"),
            alt.Tooltip("n:Q", title="scenes compared", format=","),
        ],
    )
    scale = alt.Scale(domain=stops, range=colours, clamp=True, interpolate="rgb")
    ink = alt.Color("ink:N", scale=None)
    return (
        alt.layer(
            base.mark_rect(stroke="#0F151C" if dark else "#FFFFFF", strokeWidth=2).encode(
                color=alt.Color("value:Q", scale=scale, legend=None)
            ),
            base.mark_text(dy=-6, fontSize=13, fontWeight=600).encode(text="text:N", color=ink),
            base.mark_text(dy=10, fontSize=10.5).encode(text="counts:N", color=ink),
        )
        .resolve_scale(color="independent")  # the text's colours are none of a scale; a shared one cannot be drawn
        .properties(width=alt.Step(cell), height=alt.Step(min(cell, 52)), padding=PADDING, autosize=AUTOSIZE)
        .configure_view(stroke=None)
    )


def _ink(value: float | None, stops: Sequence[float], colours: Sequence[str], dark: bool) -> str:
    """Dark or light text, whichever is easier to read on the colour of a value."""
    if value is None or pd.isna(value):
        return "#E5EBF1" if dark else "#15202B"
    rgb = [np.interp(value, stops, [int(c[k : k + 2], 16) / 255 for c in colours]) for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if (light + 0.05) ** 2 > 1.05 * 0.05 else "#FFFFFF"  # where both have the same contrast, 4.58:1, the least


def _cell(value: float | None, measure: Measure) -> str:
    return "–" if value is None else f"{value:.0%}" if measure == "directional" else _number(value, 2)


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
