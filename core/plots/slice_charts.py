"""How the error of a slice goes with the matching score, and what chance alone would do (GH-ESD, section 3.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import altair as alt
import numpy as np
import pandas as pd

from core.error_slices.detections import FloatArray
from core.plots.style import AUTOSIZE, BLUE, GREY, PADDING, RISK, axis, ground, muted

ScoreAxis = Literal["score", "logit", "rank"]
AXES: dict[ScoreAxis, str] = {
    "score": "matching score c",
    "logit": "logit of the matching score",
    "rank": "share of units with a lower score",
}
"""Titles of the ways to lay out scores; a saturated score hides on the first what the others show."""
_RUG = 240
_SKY = "#56B4E9"
_FAR = 15.0
"""Logits beyond it stand at the end of the axis: 1 in 3 million is as good as none."""


@dataclass(frozen=True)
class TrendPoint:
    """Units of like score.

    Attributes:
        at: Their mean on the axis.
        rate: Mean loss.
        low: Lower end of its interval.
        high: Upper end.
        n: Units.
        inside: Whether they lie in the slice.
    """

    at: float
    rate: float
    low: float
    high: float
    n: int
    inside: bool


@dataclass(frozen=True)
class WindowRow:
    """One window of the calibrated test.

    Attributes:
        name: For people.
        n: Units.
        z: Studentised slope, None without spread.
        slope: Slope of loss on score, None likewise.
        low: Where 2.5 % of random losses lie below.
        high: Where 2.5 % lie above.
    """

    name: str
    n: int
    z: float | None
    slope: float | None
    low: float | None
    high: float | None


def thinned(values: FloatArray, most: int = _RUG) -> FloatArray:
    """At most `most` of some values, evenly by rank, for a rug."""
    ordered = np.sort(values[np.isfinite(values)])
    return ordered if len(ordered) <= most else ordered[np.linspace(0, len(ordered) - 1, most).round().astype(int)]


def trend_curve(
    points: Sequence[TrendPoint],
    x: ScoreAxis,
    edge: float | None,
    levels: Sequence[tuple[str, float]],
    rug: FloatArray,
    fit: tuple[float, float, float, float] | None = None,
    loss: str = "error rate",
    dark: bool = False,
    height: int = 262,
) -> alt.LayerChart:
    """Error over matching score in bins of equal count, with intervals; the slice is shaded.

    Args:
        points: The bins, rising.
        x: What the axis is.
        edge: Where the slice begins on that axis, None if it is nowhere on it.
        levels: Names and values of horizontal lines, such as the rate of all units.
        rug: Scores on the axis, drawn as ticks at the foot.
        fit: Line through two points, such as the slope over the slice; None for none.
        loss: What the y axis is.
        dark: Whether the theme is dark.
        height: px.
    """
    values = [*(p.at for p in points), *rug.tolist(), *([] if edge is None else [edge])]
    far = x == "logit" and any(abs(v) > _FAR for v in values)
    low, high = (0.0, 1.0) if x != "logit" else _span([min(max(v, -_FAR), _FAR) for v in values])
    scale = alt.Scale(domain=[low, high], nice=False, clamp=True)
    ticks = {"values": [0, 0.25, 0.5, 0.75, 1], "format": ".0%" if x == "rank" else ".2f"} if x != "logit" else {"tickCount": 6}
    quiet = {"labelColor": muted(dark), "titleColor": muted(dark)}
    x_axis = axis(title=AXES[x] + (f", cut at ±{_FAR:g}" if far else ""), grid=False, **ticks, **quiet)
    y_axis = axis(title=loss, format=".0%", values=[0, 0.25, 0.5, 0.75, 1], grid=True, **quiet)
    on_x = lambda field: alt.X(f"{field}:Q", scale=scale, axis=x_axis)  # noqa: E731
    on_y = lambda field: alt.Y(f"{field}:Q", scale=alt.Scale(domain=[0, 1], clamp=True), axis=y_axis)  # noqa: E731
    layers: list[alt.Chart] = []
    if edge is not None and edge < high:
        shade = pd.DataFrame({"a": [max(edge, low)], "b": [high], "y": [0.0], "y2": [1.0]})
        box = alt.Chart(shade).encode(x=on_x("a"), x2="b:Q", y=on_y("y"), y2="y2:Q")
        layers.append(box.mark_rect(color=RISK, opacity=0.08))
    lines = pd.DataFrame([(name, value, low, high) for name, value in levels], columns=["name", "value", "from", "to"])
    level = alt.Chart(lines).encode(y=on_y("value"), tooltip=[alt.Tooltip("name:N"), alt.Tooltip("value:Q", format=".1%")])
    layers.append(level.mark_rule(color=GREY, strokeDash=[5, 4]).encode(x=on_x("from"), x2="to:Q"))
    if len(rug):
        foot = alt.Chart(pd.DataFrame({"at": rug}))
        layers.append(
            foot.mark_tick(color=GREY, opacity=0.5, thickness=1, size=7, orient="vertical").encode(x=on_x("at"), y=alt.value(height - 4))
        )
    data = pd.DataFrame(
        [(p.at, p.rate, p.low, p.high, p.n, "in the slice" if p.inside else "outside") for p in points],
        columns=["at", "rate", "low", "high", "n", "part"],
    )
    colour = alt.Color("part:N", scale=alt.Scale(domain=["in the slice", "outside"], range=[RISK, GREY]), legend=None)
    base = alt.Chart(data).encode(
        x=on_x("at"),
        tooltip=[
            alt.Tooltip("part:N", title="where"),
            alt.Tooltip("at:Q", title=AXES[x], format=".2f"),
            alt.Tooltip("rate:Q", title=loss, format=".1%"),
            alt.Tooltip("low:Q", title="95 % from", format=".1%"),
            alt.Tooltip("high:Q", title="to", format=".1%"),
            alt.Tooltip("n:Q", title="units", format=","),
        ],
    )
    layers.append(base.mark_line(color=GREY, strokeWidth=1.4, opacity=0.7).encode(y=on_y("rate")))
    if fit is not None:
        drawn = alt.Chart(pd.DataFrame({"at": fit[::2], "rate": fit[1::2]}))
        layers.append(drawn.mark_line(color=RISK, strokeWidth=2, strokeDash=[2, 3]).encode(x=on_x("at"), y=on_y("rate")))
    size = alt.Size("n:Q", scale=alt.Scale(domain=[0, max([p.n for p in points], default=1)], range=[30, 110]), legend=None)
    layers.append(base.mark_rule(strokeWidth=2.2).encode(y=on_y("low"), y2="high:Q", color=colour))
    layers.append(
        base.mark_point(filled=True, opacity=1, stroke=ground(dark), strokeWidth=1.2).encode(y=on_y("rate"), color=colour, size=size)
    )
    top = max((value for _, value in levels), default=0.0)
    for name, value in levels:
        text = alt.Chart(pd.DataFrame({"y": [value], "text": [f"{name} {value:.0%}"], "x": [high]}))
        above = value == top and value < 0.94  # names stand away from each other, and inside the chart
        mark = text.mark_text(align="right", dx=-4, dy=-8 if above else 10, fontSize=11, color=muted(dark))
        layers.append(mark.encode(x=on_x("x"), y=on_y("y"), text="text:N"))
    return alt.layer(*layers).properties(height=height, padding=PADDING, autosize=AUTOSIZE).configure_view(stroke=None)


def window_slopes(rows: Sequence[WindowRow], dark: bool = False, step: int = 34) -> alt.LayerChart:
    """Studentised slope of each window as a tick, over the band in which 95 % of random losses fall.

    Args:
        rows: The windows, from the whole slice down.
        dark: Whether the theme is dark.
        step: Height of a row, px.
    """
    data = pd.DataFrame(
        [
            (
                r.name,
                r.z,
                r.low,
                r.high,
                r.slope,
                r.n,
                r.z is not None and r.high is not None and r.z > r.high,
                f"n = {r.n:,}" if r.slope is None else f"slope {_signed(r.slope)}, n = {r.n:,}",
            )
            for r in rows
        ],
        columns=["window", "z", "low", "high", "slope", "n", "beyond", "text"],
    )
    ends = [v for r in rows for v in (r.z, r.low, r.high) if v is not None and math.isfinite(v)] or [-1.0, 1.0]
    room = max(max(ends) - min(min(ends), 0.0), 1.0)
    scale = alt.Scale(domain=[min(min(ends), 0.0) - 0.06 * room, max(ends) + 0.62 * room], nice=False)
    quiet = {"labelColor": muted(dark), "titleColor": muted(dark)}
    whole = [float(v) for v in range(math.ceil(min(ends)), math.floor(max(ends)) + 1)]
    keep = whole[:: max(1, math.ceil(len(whole) / 7))]
    if 0.0 not in keep:
        keep = [v for v in whole if v % max(1, math.ceil(len(whole) / 7)) == 0]
    x_axis = axis(title="studentised slope Z", values=keep, format="d", grid=False, **quiet)
    x = lambda field: alt.X(f"{field}:Q", scale=scale, axis=x_axis)  # noqa: E731
    y = alt.Y("window:N", sort=[r.name for r in rows], axis=axis(labelPadding=8, labelLimit=120, labelFontSize=12.5))
    base = alt.Chart(data).encode(
        y=y,
        tooltip=[
            alt.Tooltip("window:N"),
            alt.Tooltip("z:Q", title="Z", format=".2f"),
            alt.Tooltip("low:Q", title="random losses from", format=".2f"),
            alt.Tooltip("high:Q", title="to", format=".2f"),
            alt.Tooltip("slope:Q", format="+.3f"),
            alt.Tooltip("n:Q", title="units", format=","),
        ],
    )
    blue = _SKY if dark else BLUE
    colour = alt.Color("beyond:N", scale=alt.Scale(domain=[True, False], range=[RISK, blue]), legend=None)
    zero = alt.Chart(pd.DataFrame({"x": [0.0]}))
    return (
        alt.layer(
            base.mark_bar(height=20, color=GREY, opacity=0.28).encode(x=x("low"), x2="high:Q"),
            zero.mark_rule(color=GREY, opacity=0.6).encode(x=x("x")),
            base.mark_tick(thickness=4, size=26, opacity=1, orient="vertical").encode(x=x("z"), color=colour),
            base.mark_text(align="right", fontSize=11.5, color=muted(dark)).encode(x=alt.value("width"), text="text:N"),
        )
        .properties(height=alt.Step(step), padding=PADDING, autosize=AUTOSIZE)
        .configure_view(stroke=None)
    )


def printed_windows(
    rank: FloatArray, slope: FloatArray, spread: FloatArray, tau: float, dark: bool = False, height: int = 190
) -> alt.LayerChart:
    """Slopes of the paper's windows along the rank, on a signed logarithmic scale; those of tight windows are huge.

    Args:
        rank: Shape (w,): middle of each window, share of the units in the slice.
        slope: Shape (w,): NaN where a window has no spread.
        spread: Shape (w,): largest less smallest score in it.
        tau: Least slope that passes.
        dark: Whether the theme is dark.
        height: px.
    """
    some = np.flatnonzero(np.isfinite(slope))
    if len(some) > 2_000:  # the largest decides, so it is never left out
        some = np.unique(np.r_[some[np.linspace(0, len(some) - 1, 2_000).round().astype(int)], some[np.argmax(slope[some])]])
    data = pd.DataFrame({"rank": rank[some], "slope": slope[some], "spread": spread[some]})
    data["at"] = np.sign(data["slope"]) * np.log10(1 + data["slope"].abs())
    data["passes"] = data["slope"] > tau
    quiet = {"labelColor": muted(dark), "titleColor": muted(dark)}
    top = math.ceil(max(float(data["at"].abs().max()) if len(data) else 1.0, 1.0))
    marks = [m for k in range(-top, top + 1) for m in [math.copysign(math.log10(1 + 10 ** abs(k)), k) if k else 0.0]]
    y_axis = axis(
        title="slope of a window", values=marks, grid=True,
        labelExpr="datum.value == 0 ? '0' : (datum.value < 0 ? '−' : '') + format(pow(10, abs(datum.value)) - 1, ',.0f')", **quiet,
    )  # fmt: skip
    x = alt.X(
        "rank:Q",
        scale=alt.Scale(domain=[0, 1]),
        axis=axis(
            title="rank in the slice, highest scores at the right", format=".0%", values=[0, 0.25, 0.5, 0.75, 1], grid=False, **quiet
        ),
    )
    y = lambda field: alt.Y(f"{field}:Q", scale=alt.Scale(domain=[-top - 0.4, top + 0.4], nice=False), axis=y_axis)  # noqa: E731
    colour = alt.Color("passes:N", scale=alt.Scale(domain=[True, False], range=[RISK, GREY]), legend=None)
    tip = [
        alt.Tooltip("rank:Q", format=".0%"),
        alt.Tooltip("slope:Q", format="+,.2f"),
        alt.Tooltip("spread:Q", title="spread of scores", format=".4f"),
    ]
    line = alt.Chart(pd.DataFrame({"at": [math.copysign(math.log10(1 + abs(tau)), tau)], "text": [f"τ {tau:g}"], "rank": [1.0]}))
    return (
        alt.layer(
            line.mark_rule(color=RISK, strokeDash=[4, 3]).encode(y=y("at")),
            alt.Chart(data).mark_point(filled=True, size=16, opacity=0.7).encode(x=x, y=y("at"), color=colour, tooltip=tip),
            line.mark_text(align="right", dy=-7, fontSize=11, color=muted(dark)).encode(x=x, y=y("at"), text="text:N"),
        )
        .properties(height=height, padding=PADDING, autosize=AUTOSIZE)
        .configure_view(stroke=None)
    )


def null_histogram(draws: FloatArray, observed: float, dark: bool = False, bins: int = 36, height: int = 190) -> alt.LayerChart:
    """What the statistic is under random losses, and what it is here.

    Args:
        draws: Shape (b,): the statistic of each random loss.
        observed: The statistic of the data.
        dark: Whether the theme is dark.
        bins: Bars.
        height: px.
    """
    draws = draws[np.isfinite(draws)]
    low, high = _span([*draws.tolist(), observed])
    counts, edges = np.histogram(draws, bins=bins, range=(low, high))
    data = pd.DataFrame({"start": edges[:-1], "end": edges[1:], "count": counts, "zero": 0})
    quiet = {"labelColor": muted(dark), "titleColor": muted(dark)}
    x_axis = axis(title="largest Z over the windows", grid=False, tickCount=6, **quiet)
    y_axis = axis(title="random losses", grid=True, tickMinStep=1, tickCount=4, format="d", **quiet)
    scale = alt.Scale(domain=[low, high], nice=False)
    y = alt.Y("count:Q", axis=y_axis, scale=alt.Scale(domain=[0, max(1.25 * int(counts.max(initial=0)), 1)], nice=False))
    beyond = int((draws >= observed).sum())
    line = alt.Chart(pd.DataFrame({"x": [observed], "text": [f"here {observed:.2f}; {beyond:,} of {len(draws):,} reach it"]}))
    right = observed < (low + high) / 2
    at = alt.X("x:Q", scale=scale, axis=x_axis)
    return (
        alt.layer(
            alt.Chart(data)
            .mark_bar(color=GREY, opacity=0.55, stroke=ground(dark), strokeWidth=1)
            .encode(
                x=alt.X("start:Q", scale=scale, axis=x_axis),
                x2="end:Q",
                y=y,
                y2="zero:Q",
                tooltip=[
                    alt.Tooltip("start:Q", format=".2f"),
                    alt.Tooltip("end:Q", format=".2f"),
                    alt.Tooltip("count:Q", title="random losses"),
                ],
            ),
            line.mark_rule(color=RISK, strokeWidth=2.4).encode(x=at),
            line.mark_text(align="left" if right else "right", dx=6 if right else -6, fontSize=11.5, color=muted(dark)).encode(
                x=at, y=alt.value(8), text="text:N"
            ),
        )
        .properties(height=height, padding=PADDING, autosize=AUTOSIZE)
        .configure_view(stroke=None)
    )


def _span(values: Sequence[float]) -> tuple[float, float]:
    known = [v for v in values if math.isfinite(v)] or [0.0]
    low, high = min(known), max(known)
    room = max((high - low) * 0.03, 0.05)
    return low - room, high + room


def _signed(x: float) -> str:
    return f"{x:+.2f}".replace("-", "−")
