"""Intervals of proportions and of what was resampled."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Z95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


def wilson(rate: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Wilson score interval of a proportion.

    Mean scores that are not 0 or 1 per sample are treated as proportions, which is conservative: a score in [0, 1] varies
    at most as much as a yes-or-no answer with the same mean.

    Args:
        rate: Observed proportion in [0, 1].
        n: Number of trials; 0 gives the whole range.
        z: Normal quantile.

    Returns:
        Lower and upper end, within [0, 1].
    """
    if n <= 0:
        return 0.0, 1.0
    z2 = z * z
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n))
    low = 0.0 if rate <= 0 else max(0.0, centre - half)
    high = 1.0 if rate >= 1 else min(1.0, centre + half)
    return low, high


def percentiles(drawn: npt.NDArray[np.float64]) -> tuple[float, float] | None:
    """95 % percentile interval of a bootstrap.

    Args:
        drawn: (R,) the figure of each resample, NaN where a resample leaves it undefined.

    Returns:
        Lower and upper end; None where more than a tenth of the resamples leave it undefined, since the rest is then a choice.
    """
    known = drawn[~np.isnan(drawn)]
    if known.size < max(2.0, 0.9 * drawn.size):
        return None
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)
