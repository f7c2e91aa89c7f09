"""How long people take for a label: from the moment when all critical images are on the screen to the key.

Time in a hidden tab is taken off; since nobody knows what happened then, such labels are also left out of the figures and counted.
Longer times than a minute are idling: they count as a minute and are counted. P50 and P90 are nearest ranks: times that were measured.
Source: FluidTest, appendix B and Fig. 11, which prints P50, P90, the mean, and the mean of those up to P90.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.labels.agreement import REPEATS, SEED, Floats, Interval, interval

IDLE_S = 60.0
_AT_ONCE = 4_000_000
"""Times drawn at once, so that many labels do not fill the memory."""


@dataclass(frozen=True)
class LabelTime:
    """Time of one label.

    Attributes:
        seconds: From ready to key, less the time in a hidden tab.
        hidden_s: Time in a hidden tab.
    """

    seconds: float
    hidden_s: float = 0.0


@dataclass(frozen=True)
class LabelTimes:
    """Times of several labels.

    Attributes:
        seconds: Those that count, capped, in rising order.
        p50: Nearest-rank median, s, with its bootstrap interval; None without labels, as all below.
        p90: Nearest-rank 90th percentile, s.
        mean: Mean, s.
        mean_to_p90: Mean of those up to P90, s.
        untimed: Labels left out because no time was recorded.
        hidden: Labels left out because the tab was hidden meanwhile.
        capped: Labels that count with the longest time.
        cap_s: The longest time.
    """

    seconds: tuple[float, ...]
    p50: Interval
    p90: Interval
    mean: Interval
    mean_to_p90: Interval
    untimed: int
    hidden: int
    capped: int
    cap_s: float

    @property
    def n(self) -> int:
        """Labels that count."""
        return len(self.seconds)

    def minutes(self, labels: int) -> float | None:
        """Minutes that so many labels take at the mean."""
        return None if self.mean.value is None else labels * self.mean.value / 60


def label_time(payload: Mapping[str, Any]) -> LabelTime | None:
    """The time of a label from what the page recorded with it; None if it recorded none, or one that cannot be.

    Args:
        payload: With t_ready_ms, t_key_ms and hidden_ms.
    """
    try:
        ready, key, hidden = (float(payload[k]) for k in ("t_ready_ms", "t_key_ms", "hidden_ms"))
    except (KeyError, TypeError, ValueError):
        return None
    seconds = (key - ready - hidden) / 1000
    return LabelTime(seconds, hidden / 1000) if math.isfinite(seconds) and seconds >= 0 and hidden >= 0 else None


def label_times(times: Iterable[LabelTime | None], *, cap_s: float = IDLE_S, repeats: int = REPEATS, seed: int = SEED) -> LabelTimes:
    """Figures of label times, with 95 % percentile bootstrap intervals over labels.

    Args:
        times: One for each label; None where none was recorded.
        cap_s: Longest time that counts.
        repeats: Resamples.
        seed: Of the resamples.
    """
    every = list(times)
    known = [t for t in every if t is not None]
    clear = [t.seconds for t in known if not t.hidden_s]
    seconds = np.sort(np.minimum(np.array(clear, dtype=np.float64), cap_s))
    missing = Interval(None)
    p50 = p90 = mean = mean_to_p90 = missing
    if n := seconds.size:
        rng, block = np.random.default_rng(seed), max(_AT_ONCE // n, 1)
        sizes = [min(block, repeats - k) for k in range(0, repeats, block)]
        drawn = [_figures(np.sort(seconds[rng.integers(0, n, (k, n))], axis=1)) for k in sizes]
        figures = zip(_figures(seconds[None]), [np.concatenate(f) for f in zip(*drawn, strict=True)], strict=True)
        p50, p90, mean, mean_to_p90 = (interval(float(one[0]), many) for one, many in figures)
    return LabelTimes(
        tuple(seconds.tolist()),
        p50,
        p90,
        mean,
        mean_to_p90,
        len(every) - len(known),
        len(known) - len(clear),
        sum(s > cap_s for s in clear),
        cap_s,
    )


def nearest_rank(n: int, percent: int) -> int:
    """Index in rising order of the nearest rank: ceil(n p / 100) - 1."""
    return max(-(-n * percent // 100), 1) - 1


def _figures(seconds: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """P50, P90, mean and mean up to P90 of (R, n) times in rising order."""
    n = seconds.shape[1]
    p90 = seconds[:, nearest_rank(n, 90)]
    low = seconds <= p90[:, None]
    return seconds[:, nearest_rank(n, 50)], p90, seconds.mean(axis=1), (seconds * low).sum(axis=1) / low.sum(axis=1)
