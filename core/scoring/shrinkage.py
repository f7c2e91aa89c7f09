"""Errors of thinly tested slices drawn towards the mean: empirical Bayes with a beta prior, by moments."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LOOSEST, TIGHTEST = 0.01, 0.9
"""Bounds of the correlation rho of two samples of one slice; a few slices alone cannot fix it."""


@dataclass(frozen=True)
class Shrinkage:
    """The beta prior of the error of a slice.

    Attributes:
        mean: Mean error over all samples.
        strength: Samples that the prior is worth, 1 / rho - 1; a slice with n samples keeps n / (n + strength) of its own error.
    """

    mean: float
    strength: float


def shrink(error: Floats, n: npt.NDArray[np.int64]) -> tuple[Floats, Shrinkage]:
    """Posterior mean error of each slice under a beta-binomial model fitted by moments.

    The variance of a slice's error between slices is mean (1 - mean) (1 + (n - 1) rho) / n; rho is solved for at the mean n and
    kept within [0.01, 0.9]. Sums are exactly rounded, so the order of the slices does not matter. With one slice, or errors
    that are all 0 or all 1, nothing tells slices apart and the prior is the strongest that is allowed.

    Args:
        error: (S,) error rates in [0, 1].
        n: (S,) samples, positive.

    Returns:
        Shrunk errors (S,), each between the error and the mean, and the prior.

    Raises:
        ValueError: There is no slice, or the lengths differ.
    """
    if error.size == 0 or error.shape != n.shape:
        raise ValueError(f"shrink needs at least one slice and as many n as errors; got {error.shape} and {n.shape}.")
    total = int(n.sum())
    mean = fsum((error * n).tolist()) / total
    between = fsum((n * (error - mean) ** 2).tolist()) / total
    within = mean * (1.0 - mean)
    size = total / n.size
    rho = (between / within * size - 1.0) / max(size - 1.0, 1.0) if within > 0 else 0.0
    strength = 1.0 / min(max(rho, LOOSEST), TIGHTEST) - 1.0
    return (error * n + strength * mean) / (n + strength), Shrinkage(mean, strength)
