"""Where the model fails: error of each value, or pair of values, with its interval on one scale (SliceNav, section 3.3)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import altair as alt
import pandas as pd

from core.odd import Odd
from core.plots.style import BLUE, GREY, PADDING, RISK, axis, muted
from core.scoring import Failure

SKY = "#56B4E9"
"""Blue that stands out on the dark ground."""
WORSE, BETTER, OPEN = "worse", "better", "open"
"""Against the error over all samples: the whole interval above it, the whole interval below it, or it lies inside."""
ROOM = 1.42
"""The scale goes on to the right of the longest interval, for the numbers."""


def verdict(failure: Failure, overall: float) -> str:
    """Where the interval of one row lies against the error over all samples."""
    return WORSE if failure.low > overall else BETTER if failure.high < overall else OPEN


def labels(rows: Sequence[Failure], odd: Odd) -> list[str]:
    """Short unique names: a value says its dimension only where another active dimension has a value of that name."""
    seen = Counter(v.name for k in odd.active or range(len(odd.names)) for v in odd.dimensions[k].base)
    one = lambda d, v: f"{v} ({odd.by_name[d].label.lower()})" if seen[v] > 1 else v  # noqa: E731
    return [" × ".join(one(d, v) for d, v in zip(f.dimensions, f.values, strict=True)) for f in rows]


def failure_frame(rows: Sequence[Failure], overall: float) -> pd.DataFrame:
    """Rows for a download, fractions in [0, 1].

    Returns:
        dimension, value, dimension_2, value_2 (empty for a single value), slices, n, error, low, high, lift, against_all.
    """
    names = ["dimension", "value", "dimension_2", "value_2", "slices", "n", "error", "low", "high", "lift", "against_all"]
    data = [
        (
            *(f.dimensions[0], f.values[0], f.dimensions[1] if f.dimensions[1:] else "", f.values[1] if f.values[1:] else ""),
            *(f.slices, f.n, f.error, f.low, f.high, f.lift, verdict(f, overall)),
        )
        for f in rows
    ]
    return pd.DataFrame(data, columns=names)


def scale_end(rows: Sequence[Failure], overall: float) -> float:
    """End of a scale that holds every interval, rounded up to a tenth; charts that are compared share it."""
    return min(1.0, math.ceil(10 * max([overall, *(f.high for f in rows)])) / 10) or 0.1


def failure_intervals(
    rows: Sequence[Failure], odd: Odd, overall: float, end: float, dark: bool = False, numbers: bool = True
) -> alt.LayerChart:
    """A dot and its 95 % interval per row, in the order given, with a rule at the error over all samples.

    Args:
        rows: Values or pairs of values, worst first.
        odd: The ODD, for names.
        overall: Error over all samples.
        end: End of the scale, from `scale_end`.
        dark: Whether the theme is dark.
        numbers: Whether error and n stand at the right.
    """
    data = pd.DataFrame(
        {
            "what": labels(rows, odd),
            "where": [", ".join(odd.by_name[d].label for d in f.dimensions) for f in rows],
            "error": [f.error for f in rows],
            "low": [f.low for f in rows],
            "high": [f.high for f in rows],
            "n": [f.n for f in rows],
            "slices": [f.slices for f in rows],
            "verdict": [verdict(f, overall) for f in rows],
            "text": [f"{f.error:.1%}   n = {f.n:,}" for f in rows],
        }
    )
    right = end * (ROOM if numbers else 1.0)
    scale = alt.Scale(domain=[0, right], nice=False)
    step = 0.2 if end > 0.5 else 0.1 if end > 0.2 else 0.05
    ticks = [round(step * i, 2) for i in range(round(end / step) + 1)]
    colour = alt.Color("verdict:N", scale=alt.Scale(domain=[WORSE, OPEN, BETTER], range=[RISK, GREY, SKY if dark else BLUE]), legend=None)
    base = alt.Chart(data).encode(
        y=alt.Y("what:N", sort=list(data["what"]), axis=axis(labelLimit=300, labelPadding=8)),
        tooltip=[
            alt.Tooltip("what:N", title="value"),
            alt.Tooltip("where:N", title="of"),
            alt.Tooltip("error:Q", format=".1%"),
            alt.Tooltip("low:Q", format=".1%", title="95 % from"),
            alt.Tooltip("high:Q", format=".1%", title="to"),
            alt.Tooltip("n:Q", format=","),
            alt.Tooltip("slices:Q", format=","),
        ],
    )
    x = axis(format=".0%", values=ticks, grid=True, orient="top", labelColor=muted(dark))
    rule = alt.Chart(pd.DataFrame({"all": [overall]})).mark_rule(color=muted(dark), strokeDash=[4, 3], strokeWidth=1.2)
    layers = [
        rule.encode(x=alt.X("all:Q", scale=scale, axis=x)),
        base.mark_rule(strokeWidth=2.4).encode(x=alt.X("low:Q", scale=scale, axis=x), x2="high:Q", color=colour),
        base.mark_point(size=62, filled=True, opacity=1).encode(x=alt.X("error:Q", scale=scale, axis=x), color=colour),
    ]
    if numbers:
        text = base.mark_text(align="right", fontSize=11, color=muted(dark))
        layers.append(text.encode(x=alt.X(datum=right, scale=scale), text="text:N"))
    return alt.layer(*layers).properties(height=alt.Step(22), padding=PADDING).configure_view(stroke=None)
