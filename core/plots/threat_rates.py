"""Rates of threats with their intervals, threat rate by a metric, overlap over thresholds, and label times (FluidTest, Fig. 5, 11, 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from core.labels.label_time import LabelTimes
from core.plots.style import AUTOSIZE, BLUE, GREY, PADDING, RISK, axis, muted
from core.threats import BinnedRate, NatrReport, Overlap, Sweep, ThreatRate

LIGHT = (BLUE, RISK, "#009E73", "#CC79A7", "#A57200", "#3B496C")
DARK = ("#56B4E9", "#F0803A", "#00C493", "#E29BC4", "#E69F00", "#B7BFD0")
"""Colours of planners (Okabe-Ito, brighter on dark ground)."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
ROOM = 168
"""Room for the numbers at the right, px."""


def planner_scales(planners: Sequence[str], dark: bool) -> tuple[alt.Scale, alt.Scale]:
    """Colour and shape of each planner; both tell them apart, so that neither has to."""
    colours, n = DARK if dark else LIGHT, len(planners)
    return (
        alt.Scale(domain=list(planners), range=[colours[k % len(colours)] for k in range(n)]),
        alt.Scale(domain=list(planners), range=[SHAPES[(k + k // len(SHAPES)) % len(SHAPES)] for k in range(n)]),
    )


def rate_intervals(rates: Mapping[str, ThreatRate], dark: bool = False, natr: bool = False, track: int = 360) -> alt.LayerChart:
    """A row for each rate: a broad bar for the bounds that open scenes allow, a thin line for the bootstrap, a dot for the point.

    Args:
        rates: By the name of the row, in order.
        dark: Whether the theme is dark.
        natr: Whether 1 - r is drawn instead of r.
        track: Length of the scale from 0 to 100 %, px.
    """
    rows = []
    for name, r in rates.items():
        value, bounds, boot = (r.natr, r.natr_bounds, r.natr_bootstrap) if natr else (r.rate, r.bounds, r.bootstrap)
        said = "–" if bounds is None else f"{bounds.low:.0%} to {bounds.high:.0%}" if value is None else f"{value:.1%}"
        rows.append(
            (
                name,
                value,
                *((bounds.low, bounds.high) if bounds else (None, None)),
                *((boot.low, boot.high) if boot else (None, None)),
                r.n,
                r.threats,
                r.open,
                f"{said} · {r.threats} of {r.n}" + (f", {r.open} open" if r.open else ""),
            )
        )
    data = pd.DataFrame(rows, columns=["name", "value", "low", "high", "boot_low", "boot_high", "n", "threats", "open", "text"])
    scale = alt.Scale(domain=[0, 1], range=[0, track])
    x_axis = axis(format=".0%", values=[0, 0.25, 0.5, 0.75, 1], grid=True, orient="top", labelColor=muted(dark))
    colour = (DARK if dark else LIGHT)[0 if natr else 1]
    base = alt.Chart(data).encode(
        y=alt.Y("name:N", sort=list(rates), axis=axis(labelLimit=300, labelPadding=8)),
        tooltip=[
            alt.Tooltip("name:N", title="what"),
            alt.Tooltip("value:Q", title="NATR" if natr else "threat rate", format=".1%"),
            alt.Tooltip("low:Q", title="least", format=".1%"),
            alt.Tooltip("high:Q", title="most", format=".1%"),
            alt.Tooltip("boot_low:Q", title="95 % from", format=".1%"),
            alt.Tooltip("boot_high:Q", title="to", format=".1%"),
            alt.Tooltip("threats:Q", title="scenes with a threat", format=","),
            alt.Tooltip("open:Q", title="open", format=","),
            alt.Tooltip("n:Q", title="scenes", format=","),
        ],
    )
    x = lambda field: alt.X(f"{field}:Q", scale=scale, axis=x_axis)  # noqa: E731
    return (
        alt.layer(
            base.mark_bar(height=12, color=GREY, opacity=0.34).encode(x=x("low"), x2="high:Q"),
            base.mark_rule(strokeWidth=2.2, color=colour).encode(x=x("boot_low"), x2="boot_high:Q"),
            base.mark_point(size=64, filled=True, opacity=1, color=colour).encode(x=x("value")),
            base.mark_text(align="left", fontSize=11, color=muted(dark)).encode(x=alt.value(track + 10), text="text:N"),
        )
        .properties(width=track + ROOM, height=alt.Step(24), padding=PADDING, autosize=AUTOSIZE)
        .configure_view(stroke=None)
    )


def natr_intervals(report: NatrReport, dark: bool = False, shared: bool = True, track: int = 360) -> alt.LayerChart:
    """NATR of each planner, on the scenes that all of them have unless told otherwise."""
    planners = report.shared if shared else report.planners
    return rate_intervals({p.planner_id or "(no planner named)": p.overall for p in planners}, dark, natr=True, track=track)


def binned_chart(rates: Sequence[BinnedRate], metric: str, dark: bool = False, width: int = 520, height: int = 250) -> alt.LayerChart:
    """Threat rate in each bin of a metric with its Wilson interval, and n under the axis, planner by planner (Fig. 5).

    Args:
        rates: One for each planner, all in the same bins.
        metric: Title of the axis.
        dark: Whether the theme is dark.
        width: px.
        height: px, without the rows of n.
    """
    planners = [r.planner_id for r in rates]
    bins = max((len(r.bins) for r in rates), default=0)
    rows = [
        (r.planner_id, k + (i - (len(rates) - 1) / 2) * min(0.16, 0.6 / max(len(rates), 1)), i, b.rate)
        + ((b.interval.low, b.interval.high) if b.interval else (None, None))
        + (f"{b.low:.3g} to {b.high:.3g}", b.n, b.threats, b.open, str(b.n))
        for i, r in enumerate(rates)
        for k, b in enumerate(r.bins)
    ]
    data = pd.DataFrame(rows, columns=["planner", "at", "row", "rate", "low", "high", "bin", "n", "threats", "open", "count"])
    centres = [f"{b.centre:.3g}" for b in rates[0].bins] if rates else []
    x_axis = axis(
        values=list(range(bins)),
        labelExpr=f"{centres!r}[datum.value]",
        title=metric,
        titleColor=muted(dark),
        labelColor=muted(dark),
        grid=False,
        titlePadding=10 + 14 * len(rates),
        labelPadding=6,
    )
    scale = alt.Scale(domain=[-0.5, max(bins, 1) - 0.5], nice=False)
    x = alt.X("at:Q", scale=scale, axis=x_axis)
    colours, shapes = planner_scales(planners, dark)
    legend = alt.Legend(title=None, orient="top", labelColor=muted(dark), symbolOpacity=1) if len(planners) > 1 else None
    y_axis = axis(
        format=".0%", values=[0, 0.25, 0.5, 0.75, 1], grid=True, labelColor=muted(dark), title="threat rate", titleColor=muted(dark)
    )
    y = lambda field: alt.Y(f"{field}:Q", scale=alt.Scale(domain=[0, 1]), axis=y_axis)  # noqa: E731
    base = alt.Chart(data).encode(
        x=x,
        color=alt.Color("planner:N", scale=colours, legend=legend),
        tooltip=[
            alt.Tooltip("planner:N"),
            alt.Tooltip("bin:N", title=metric),
            alt.Tooltip("rate:Q", title="threat rate", format=".1%"),
            alt.Tooltip("low:Q", title="95 % from", format=".1%"),
            alt.Tooltip("high:Q", title="to", format=".1%"),
            alt.Tooltip("threats:Q", title="scenes with a threat"),
            alt.Tooltip("n:Q", title="scenes with a verdict"),
            alt.Tooltip("open:Q", title="without a verdict"),
        ],
    )
    counts = [
        alt.Chart(data[data["row"] == i])
        .mark_text(fontSize=10.5, baseline="top")
        .encode(
            x=alt.X("middle:Q", scale=scale, axis=x_axis),
            y=alt.value(height + 24 + 14 * i),
            text="count:N",
            color=alt.Color("planner:N", scale=colours, legend=legend),
        )
        .transform_calculate(middle="round(datum.at)")
        for i in range(len(rates))
    ]
    return (
        alt.layer(
            base.mark_line(strokeWidth=1.2, opacity=0.55).encode(y=y("rate")),
            base.mark_rule(strokeWidth=2).encode(y=y("low"), y2="high:Q"),
            base.mark_point(size=58, filled=True, opacity=1).encode(y=y("rate"), shape=alt.Shape("planner:N", scale=shapes, legend=legend)),
            *counts,
        )
        .properties(width=width, height=height, padding=PADDING, autosize=AUTOSIZE)
        .configure_view(stroke=None)
    )


def sweep_lines(
    sweeps: Sequence[Sweep],
    found: Mapping[str, tuple[float, Overlap]] | None = None,
    dark: bool = False,
    width: int = 520,
    height: int = 260,
) -> alt.LayerChart:
    """Share of the worst x % that two planners have in common, over x, with what chance alone gives as a dashed line.

    Of more than two planners each pair is a thin line, and the mean over the pairs a bold one.

    Args:
        sweeps: One for each metric.
        found: Points beside the lines, e.g. the scenes with a threat: by name, the mean size of the two sets in %, and their overlap.
        dark: Whether the theme is dark.
        width: px.
        height: px.
    """
    pairs = [
        (s.metric, f"{p.first} and {p.second}", p.percent, o.of_first, o.shared, o.first, o.kappa, o.lift, o.n)
        for s in sweeps
        for p in s.points
        if (o := p.overlap).n
    ]
    dots = [
        (name, "", x, o.shared / ((o.first + o.second) / 2) if o.first + o.second else None, o.shared, None, o.kappa, o.lift, o.n)
        for name, (x, o) in (found or {}).items()
    ]
    columns = ["what", "pair", "percent", "share", "shared", "size", "kappa", "lift", "n"]
    data, points = pd.DataFrame(pairs, columns=columns), pd.DataFrame(dots, columns=columns)
    several = data["pair"].nunique() > 1
    means = data.groupby(["what", "percent"], sort=False, as_index=False)[["share", "kappa", "lift", "n"]].mean() if several else data
    if several:
        means["pair"] = f"mean of {data['pair'].nunique()} pairs"
    colours, shapes = planner_scales(list(dict.fromkeys([*data["what"], *points["what"]])), dark)
    x_axis = axis(
        title="worst x % of the scenes", titleColor=muted(dark), labelColor=muted(dark), labelExpr="datum.value + ' %'", tickCount=6
    )
    y_axis = axis(format=".0%", grid=True, tickCount=5, labelColor=muted(dark), title="shared / worst x %", titleColor=muted(dark))
    x = alt.X("percent:Q", scale=alt.Scale(domain=[0, 100]), axis=x_axis)
    y = alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), axis=y_axis)
    legend = alt.Legend(title=None, orient="top", columns=3, labelLimit=320, labelColor=muted(dark), symbolOpacity=1)
    colour, shape = alt.Color("what:N", scale=colours, legend=legend), alt.Shape("what:N", scale=shapes, legend=legend)
    tip = [
        alt.Tooltip("what:N"),
        alt.Tooltip("pair:N", title="planners"),
        alt.Tooltip("percent:Q", title="worst %", format=".3~g"),
        alt.Tooltip("share:Q", format=".1%"),
        alt.Tooltip("lift:Q", format=".2f"),
        alt.Tooltip("kappa:Q", title="Cohen's kappa", format=".2f"),
        alt.Tooltip("n:Q", title="scenes compared", format=","),
    ]
    chance = alt.Chart(pd.DataFrame({"percent": [0, 100], "share": [0.0, 1.0]}))
    thin = [alt.Chart(data).mark_line(strokeWidth=0.8, opacity=0.45).encode(x=x, y=y, color=colour, detail="pair:N")] if several else []
    dotted = pd.concat([means, points]) if dots else means
    return (
        alt.layer(
            chance.mark_line(strokeDash=[4, 4], strokeWidth=1.2, color=muted(dark)).encode(x=x, y=y),
            *thin,
            alt.Chart(means).mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour),
            alt.Chart(dotted).mark_point(size=62, filled=True, opacity=1).encode(x=x, y=y, color=colour, shape=shape, tooltip=tip),
        )
        .properties(width=width, height=height, padding=PADDING, autosize=AUTOSIZE)
        .configure_view(stroke=None)
    )


def time_histogram(times: LabelTimes, dark: bool = False, bin_s: float = 1.0, width: int = 520, height: int = 220) -> alt.LayerChart:
    """Label times in bins of a second, with P50, P90 and the mean as lines (Fig. 11).

    Args:
        times: The times.
        dark: Whether the theme is dark.
        bin_s: Width of a bin, s.
        width: px.
        height: px.
    """
    last = max(int(max(times.seconds, default=0) // bin_s) + 1, 5)
    counts = [0] * last
    for s in times.seconds:
        counts[min(int(s // bin_s), last - 1)] += 1
    data = pd.DataFrame(
        {"start": [k * bin_s for k in range(last)], "end": [(k + 1) * bin_s for k in range(last)], "count": counts, "zero": 0}
    )
    marks = [("P50", times.p50), ("P90", times.p90), ("mean", times.mean)]
    lines = pd.DataFrame(
        [(name, m.value, f"{name} {m.value:.1f} s", k) for k, (name, m) in enumerate(marks) if m.value is not None],
        columns=["name", "at", "text", "row"],
    )
    scale = alt.Scale(domain=[0, last * bin_s], nice=False)
    x_axis = axis(title="seconds for a label", titleColor=muted(dark), labelColor=muted(dark), tickCount=8)
    y_axis = axis(title="labels", titleColor=muted(dark), labelColor=muted(dark), grid=True, tickMinStep=1, tickCount=5, format="d")
    colour = (DARK if dark else LIGHT)[0]
    bars = (
        alt.Chart(data)
        .mark_bar(color=colour, opacity=0.75, stroke="#0F151C" if dark else "#FFFFFF", strokeWidth=1)
        .encode(
            x=alt.X("start:Q", scale=scale, axis=x_axis),
            x2="end:Q",
            y=alt.Y("count:Q", axis=y_axis, scale=alt.Scale(domain=[0, max(1.4 * max(counts), 1)], nice=False)),
            y2="zero:Q",
            tooltip=[alt.Tooltip("start:Q", title="from, s"), alt.Tooltip("end:Q", title="to, s"), alt.Tooltip("count:Q", title="labels")],
        )
    )
    rules = (
        alt.Chart(lines).mark_rule(color=muted(dark), strokeDash=[4, 3], strokeWidth=1.4).encode(x=alt.X("at:Q", scale=scale, axis=x_axis))
    )
    texts = [
        alt.Chart(lines[lines["row"] == k])
        .mark_text(align="left", dx=4, fontSize=11, color=muted(dark))
        .encode(x=alt.X("at:Q", scale=scale, axis=x_axis), y=alt.value(8 + 15 * k), text="text:N")
        for k in lines["row"]
    ]
    return (
        alt.layer(bars, rules, *texts)
        .properties(width=width, height=height, padding=PADDING, autosize=AUTOSIZE)
        .configure_view(stroke=None)
    )
