"""Share of scenes with an additional threat by bins of a metric (FluidTest, section 4.4, Fig. 5).

The paper speaks of ten bins by the value of the metric; its axes show bins of equal ratio for displacement and of equal width for RFS.
All three ways are here: "log" (equal ratio), "linear" (equal width), "quantile" (equal counts).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from core.scoring.intervals import wilson
from core.threats.natr import Span
from core.threats.verdicts import Status

Floats = npt.NDArray[np.float64]
Scale = Literal["log", "linear", "quantile"]
SCALES: dict[Scale, str] = {"log": "bins of equal ratio", "linear": "bins of equal width", "quantile": "bins of equal counts"}
BINS = 10


@dataclass(frozen=True)
class Bin:
    """Scenes within two values of a metric.

    Attributes:
        low: Lower edge, inside.
        high: Upper edge, outside except in the last bin.
        centre: Middle: geometric for "log", arithmetic otherwise.
        n: Scenes with a verdict.
        threats: Those with a threat.
        open: Scenes without a verdict; in no rate, but in the bounds.
        rate: threats / n, None for an empty bin.
        interval: 95 % Wilson interval of the rate, None for an empty bin.
        bounds: Rate if none or all of the open scenes were threats, None without a scene.
    """

    low: float
    high: float
    centre: float
    n: int
    threats: int
    open: int
    rate: float | None
    interval: Span | None
    bounds: Span | None


@dataclass(frozen=True)
class BinnedRate:
    """Threat rate of one planner by a metric.

    Attributes:
        planner_id: The planner.
        scale: How the bins were made.
        bins: In the order of the metric.
        n: Scenes with a verdict in the bins.
        unknown: Scenes left out because the metric is not known.
        outside: Scenes left out because their value lies in no bin (for "log" also those at 0 or below).
    """

    planner_id: str
    scale: Scale
    bins: tuple[Bin, ...]
    n: int
    unknown: int
    outside: int


def bin_edges(values: Sequence[float], scale: Scale, bins: int = BINS, low: float | None = None, high: float | None = None) -> Floats:
    """Edges of bins.

    Args:
        values: Values of the metric; for "log" only those above 0 count.
        scale: How the bins are made.
        bins: Number of bins; "quantile" has fewer where values repeat.
        low: First edge, the least value if None; not for "quantile".
        high: Last edge, the largest value if None; not for "quantile".

    Returns:
        (bins + 1,) rising edges; (0,) where no value can be binned.

    Raises:
        ValueError: There is no bin, or a given end does not fit.
    """
    if bins < 1:
        raise ValueError(f"{bins} bins are none.")
    v = np.array([x for x in values if math.isfinite(x) and (scale != "log" or x > 0)], dtype=np.float64)
    if scale == "quantile":
        return np.unique(np.quantile(v, np.linspace(0, 1, bins + 1))) if v.size and v.min() < v.max() else _around(v)
    if not v.size and (low is None or high is None):
        return np.zeros(0)
    a = float(v.min()) if low is None else low
    b = float(v.max()) if high is None else high
    if a > b or (scale == "log" and a <= 0):
        raise ValueError(f"Bins from {a:g} to {b:g} cannot be made ({SCALES[scale]}).")
    if a == b:
        return _around(np.array([a]))
    edges = np.geomspace(a, b, bins + 1) if scale == "log" else np.linspace(a, b, bins + 1)
    edges[0], edges[-1] = a, b
    return edges


def binned_rates(
    values: Mapping[str, Mapping[str, float | None]],
    statuses: Mapping[str, Mapping[str, Status]],
    scale: Scale,
    bins: int = BINS,
    *,
    low: float | None = None,
    high: float | None = None,
) -> tuple[BinnedRate, ...]:
    """Threat rate of each planner by a metric, all planners in the same bins.

    Args:
        values: Metric of each scene of each planner; None where it is not known.
        statuses: Verdict of each scene of each planner; only scenes that have one are looked at.
        scale: How the bins are made, from the values of all planners together.
        bins: Number of bins.
        low: First edge, see `bin_edges`.
        high: Last edge.
    """
    known = {p: {s: float(v) for s in of if (v := values.get(p, {}).get(s)) is not None and math.isfinite(v)} for p, of in statuses.items()}
    edges = bin_edges([v for of in known.values() for v in of.values()], scale, bins, low, high)
    return tuple(_binned(p, known[p], statuses[p], scale, edges) for p in statuses)


def _binned(planner: str, known: Mapping[str, float], statuses: Mapping[str, Status], scale: Scale, edges: Floats) -> BinnedRate:
    scenes = list(known)
    place = np.full(len(scenes), -1, dtype=np.int64)
    if edges.size:
        v = np.array([known[s] for s in scenes], dtype=np.float64)
        inside = (v >= edges[0]) & (v <= edges[-1])
        place[inside] = np.minimum(np.searchsorted(edges, v[inside], side="right") - 1, edges.size - 2)
    out = []
    for k in range(max(edges.size - 1, 0)):
        said = [statuses[s] for s, at in zip(scenes, place, strict=True) if at == k]
        threats, open_ = said.count("has_threat"), said.count("abstain")
        n, every = len(said) - open_, len(said)
        low, high = float(edges[k]), float(edges[k + 1])
        rate = threats / n if n else None
        out.append(
            Bin(
                low,
                high,
                math.sqrt(low * high) if scale == "log" else (low + high) / 2,
                n,
                threats,
                open_,
                rate,
                None if rate is None else Span(*wilson(rate, n)),
                Span(threats / every, (threats + open_) / every) if every else None,
            )
        )
    return BinnedRate(planner, scale, tuple(out), sum(b.n for b in out), len(statuses) - len(known), int((place < 0).sum()))


def _around(v: Floats) -> Floats:
    """One bin for values that are all the same."""
    return np.array([v[0], v[0]]) if v.size else np.zeros(0)
