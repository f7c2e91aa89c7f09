"""What a person looks at to judge a test: the curve of errors over scores, the windows with their null, and the null itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.error_slices.detections import BoolArray, FloatArray, IntArray
from core.error_slices.verification.looks import TrendLook, trend_look
from core.error_slices.verification.paper import NULL_RUNS, PaperWindows, null_pass, paper_band, paper_windows
from core.error_slices.verification.rates import dense, error_rate
from core.error_slices.verification.region import Region, WindowName, region_of, windows
from core.error_slices.verification.settings import ErrorRate, Sample, TestSettings
from core.error_slices.verification.sign_flip import nulls, p_value

Axis = Literal["score", "logit", "rank"]
BAND = (0.025, 0.975)


@dataclass(frozen=True)
class WindowSlope:
    """A window of the calibrated test.

    Attributes:
        name: Which part of the slice.
        start: First rank, from 0, best score first.
        stop: Behind the last rank.
        n: Units.
        images: Images among them.
        c_low: Lowest score.
        c_high: Highest score.
        slope: Of loss on score.
        z: Studentised slope.
        slope_low: Under random signs, 95 % of slopes lie between this ...
        slope_high: ... and this.
        z_low: The same of z.
        z_high: Likewise.
    """

    name: WindowName
    start: int
    stop: int
    n: int
    images: int
    c_low: float
    c_high: float
    slope: float
    z: float
    slope_low: float
    slope_high: float
    z_low: float
    z_high: float


@dataclass(frozen=True, eq=False)
class WindowView:
    """The windows of one slice.

    Attributes:
        n: Units in the slice.
        images: Images among them.
        windows: Those of the calibrated test; empty without units or without spread in the scores.
        z: Largest of their z, None without a window.
        p_trend: Its share of `null` at or above z. `verify` counts small ones among more patterns, and tests no slice with too few units.
        null: Shape (B,): largest z under each of the random signs, the observed one among them.
        paper: Windows of the paper's rule.
        paper_low: Shape (k,): 95 % of the slopes of random losses in each of them lie between this ...
        paper_high: ... and this, shape (k,); NaN where the window has no slope.
        paper_null_pass: Share of random losses that pass the paper's rule somewhere, None without a valid window.
        paper_null_runs: Number of random losses.
        tau: Least slope of the paper's rule.
    """

    n: int
    images: int
    windows: tuple[WindowSlope, ...]
    z: float | None
    p_trend: float | None
    null: FloatArray
    paper: PaperWindows
    paper_low: FloatArray
    paper_high: FloatArray
    paper_null_pass: float | None
    paper_null_runs: int
    tau: float


def windows_of(sample: Sample, settings: TestSettings) -> WindowView:
    """The windows of one slice with what chance would make of them, by the same signs and random losses as `verify`."""
    region = region_of(sample, settings.gamma)
    paper = paper_windows(region, settings.window, settings.stride)
    low, high = paper_band(region, paper, settings.seed)
    number, images = dense(region.image)
    passes = null_pass(region, paper, settings.tau, settings.seed)
    found: tuple[WindowSlope, ...] = ()
    z = p = None
    largest = np.zeros(0)
    spans = windows(region)
    if spans:
        trend = trend_look(region, spans, number, images)
        null = nulls([trend.look], settings.flips, settings.seed)[0]
        z, p, largest = float(trend.look.observed.max()), p_value(trend.look, null), null.max(1)
        found = tuple(_window(region, trend, null[:, k], k, number) for k in range(len(spans)))
    return WindowView(
        n=len(region),
        images=len(images),
        windows=found,
        z=z,
        p_trend=p,
        null=largest,
        paper=paper,
        paper_low=low,
        paper_high=high,
        paper_null_pass=passes,
        paper_null_runs=NULL_RUNS if passes is not None else 0,
        tau=settings.tau,
    )


def _window(region: Region, trend: TrendLook, null: FloatArray, k: int, image: IntArray) -> WindowSlope:
    window = trend.windows[k]
    here = slice(window.start, window.stop)
    low, high = (float(v) for v in np.quantile(null, BAND))
    scale = float(trend.per_slope[k])
    return WindowSlope(
        name=window.name,
        start=window.start,
        stop=window.stop,
        n=window.stop - window.start,
        images=len(np.unique(image[here])),
        c_low=float(region.c[here].min()),
        c_high=float(region.c[here].max()),
        slope=float(trend.slope[k]),
        z=float(trend.look.observed[k]),
        slope_low=low / scale if scale > 0 else 0.0,
        slope_high=high / scale if scale > 0 else 0.0,
        z_low=low,
        z_high=high,
    )


@dataclass(frozen=True)
class CurveBin:
    """Units with similar scores.

    Attributes:
        low: Lower end of the bin on the axis asked for.
        high: Upper end.
        x: Mean place of its units.
        rate: Their error rate with interval, units and images.
    """

    low: float
    high: float
    x: float
    rate: ErrorRate


def curve(sample: Sample, bins: int = 10, x: Axis = "score") -> tuple[CurveBin, ...]:
    """Error rates over the scores of all scored units; bins without a unit are left out.

    Args:
        sample: Its units without a score are not part of it.
        bins: Number of bins, at least 1.
        x: "score": bins of equal width from 0 to 1. "logit": bins of equal width between the 1st and the 99th percentile, the outermost
            reaching on to the end. "rank": bins with equal numbers of units, over the share of units with a lower score, between 0 and 1.
            Units with equal scores are always in one bin.
    """
    scored = ~np.isnan(sample.c)
    if not scored.any():
        return ()
    loss, weight = sample.loss[scored], sample.weight[scored]
    number, images = dense(sample.image[scored])
    place, edges = _axis(sample.c[scored], sample.logit[scored], bins, x)
    # Upper ends belong to a bin: γ = 0.5 is an edge of ten bins, and a unit with c = 0.5 is not in the slice.
    which = np.clip(np.searchsorted(edges, place, side="left") - 1, 0, bins - 1)
    out = []
    for k in range(bins):
        here: BoolArray = which == k
        if here.any():
            rate = error_rate(loss[here], weight[here], number[here], len(images))
            out.append(CurveBin(float(edges[k]), float(edges[k + 1]), float(place[here].mean()), rate))
    return tuple(out)


def _axis(c: FloatArray, logit: FloatArray, bins: int, x: Axis) -> tuple[FloatArray, FloatArray]:
    """Place of each unit on the axis, and the bins + 1 edges."""
    if x == "score":
        return c, np.arange(bins + 1) / bins
    if x == "rank":
        order = np.sort(logit)
        below, upto = np.searchsorted(order, logit, side="left"), np.searchsorted(order, logit, side="right")
        return (below + upto) / (2 * len(logit)), np.arange(bins + 1) / bins
    known = np.clip(logit, -1e6, 1e6)
    low, high = np.quantile(known, [0.01, 0.99])
    edges = np.linspace(low, high, bins + 1) if high > low else np.linspace(low - 0.5, low + 0.5, bins + 1)
    edges[0], edges[-1] = min(edges[0], known.min()), max(edges[-1], known.max())
    return known, edges
