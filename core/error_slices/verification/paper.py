"""The paper's rule: the largest slope of loss on score in any sliding window (GH-ESD, section 3.4); how often chance meets it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.error_slices.detections import BoolArray, FloatArray, IntArray
from core.error_slices.verification.rates import dense
from core.error_slices.verification.region import LEAST_VARIANCE, Region

LEAST_UNITS = 5
"""Windows with fewer units are discarded, as in the paper."""
NULL_RUNS = 200
_NARROW = 64
_FIRST = 32
_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class PaperWindows:
    """Every window of the paper's rule, k of them, from the best score down.

    Attributes:
        start: Shape (k,): first rank, from 0.
        size: Units in each window.
        slope: Shape (k,): slope of loss on score; NaN where all scores are equal.
        mean: Shape (k,): mean score.
        variance: Shape (k,): variance of the scores.
    """

    start: IntArray
    size: int
    slope: FloatArray
    mean: FloatArray
    variance: FloatArray

    @property
    def spread(self) -> FloatArray:
        """Standard deviation of the scores in each window: a slope over a tiny spread means little. Shape (k,)."""
        return np.sqrt(self.variance)

    @property
    def valid(self) -> BoolArray:
        """Which windows have a slope, shape (k,)."""
        return self.variance > LEAST_VARIANCE

    @property
    def trend(self) -> float | None:
        """The largest slope, None without a valid window."""
        known = self.slope[~np.isnan(self.slope)]
        return float(known.max()) if known.size else None


def paper_windows(region: Region, size: int, stride: int) -> PaperWindows:
    """Slopes in all windows of `size` units; none for fewer than 5, or more than there are."""
    n = len(region)
    if size < LEAST_UNITS or n < size:
        return PaperWindows(np.zeros(0, np.int64), size, np.zeros(0), np.zeros(0), np.zeros(0))
    start = np.arange(0, n - size + 1, stride)
    mean, variance = _moments(region.c, size, start)
    slope = _slopes(region.c, region.loss[None, :], size, start, mean, variance)[0]
    return PaperWindows(start, size, slope, mean, variance)


def _moments(c: FloatArray, size: int, start: IntArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the scores in each window; in narrow windows without differences of running sums, which would cancel."""
    if size <= _NARROW:
        mean, variance = np.zeros(len(start)), np.zeros(len(start))
        for k in range(size):
            mean += c[start + k]
        mean /= size
        for k in range(size):
            variance += (c[start + k] - mean) ** 2
        return mean, variance / size
    centre = float(c.mean())
    x = c - centre
    mean = _sums(x, size, start) / size
    return mean + centre, np.maximum(_sums(x * x, size, start) / size - mean**2, 0.0)


def _sums(x: FloatArray, size: int, start: IntArray) -> FloatArray:
    """Sums over windows, shape (..., k) for x of shape (..., n)."""
    total = np.zeros((*x.shape[:-1], x.shape[-1] + 1))
    np.cumsum(x, axis=-1, out=total[..., 1:])
    sums: FloatArray = total[..., start + size] - total[..., start]
    return sums


def _slopes(c: FloatArray, loss: FloatArray, size: int, start: IntArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Slopes of each row of losses, shape (r, k) for losses of shape (r, n); NaN without spread."""
    if size <= _NARROW:
        cross = np.zeros((len(loss), len(start)))
        for k in range(size):
            cross += (c[start + k] - mean) * loss[:, start + k]
    else:
        centre = float(c.mean())
        cross = _sums((c - centre) * loss, size, start) - (mean - centre) * _sums(loss, size, start)
    slope = np.full(cross.shape, np.nan)
    np.divide(cross, size * variance, out=slope, where=np.broadcast_to(variance > LEAST_VARIANCE, cross.shape))
    return slope


def null_pass(region: Region, windows: PaperWindows, tau: float, seed: int, runs: int = NULL_RUNS) -> float | None:
    """Share of random losses that would pass the paper's rule on these very scores.

    A random loss is the observed one, turned: units stand in a ring, image by image in shuffled order, and the losses move on along it by a
    random number of units. So the error rate and what images have in common stay, and what the loss has to do with the score goes.

    Windows are looked at from the best score down, and a run ends at its first window that passes, which is soon with narrow windows.

    Returns:
        Between 0 and 1; None without a valid window.
    """
    if not windows.valid.any():
        return None
    size, starts, n = windows.size, windows.start, len(region)
    ring, place, turn = _turns(region, seed, runs)
    left = np.arange(runs)
    low, step = 0, _FIRST
    while low < len(starts) and left.size:
        here = slice(low, min(low + step, len(starts)))
        first, last = int(starts[here.start]), int(starts[here.stop - 1]) + size
        loss = ring[(place[first:last] + turn[left, None]) % n]
        slope = _slopes(region.c[first:last], loss, size, starts[here] - first, windows.mean[here], windows.variance[here])
        left = left[~np.any(slope > tau, axis=1)]
        low, step = here.stop, min(step * 2, _BLOCK)
    return 1 - left.size / runs


def paper_band(region: Region, windows: PaperWindows, seed: int, runs: int = NULL_RUNS) -> tuple[FloatArray, FloatArray]:
    """Between which slopes 95 % of those of random losses lie, in each window.

    Returns:
        Lower and upper ends, each of shape (k,); NaN where the window has no slope. The random losses are those of `null_pass`.
    """
    k, size, n = len(windows.start), windows.size, len(region)
    low, high = np.full(k, np.nan), np.full(k, np.nan)
    if not k:
        return low, high
    ok = windows.valid
    ring, place, turn = _turns(region, seed, runs)
    loss = ring[(place + turn[:, None]) % n]
    for first in range(0, k, _BLOCK):
        here = slice(first, min(first + _BLOCK, k))
        slope = _slopes(region.c, loss, size, windows.start[here], windows.mean[here], windows.variance[here])
        low[here], high[here] = np.quantile(np.where(ok[here], slope, 0.0), (0.025, 0.975), axis=0)
    low[~ok] = high[~ok] = np.nan
    return low, high


def _turns(region: Region, seed: int, runs: int) -> tuple[FloatArray, IntArray, IntArray]:
    """The ring, the place of each rank in it, and by how many units each run turns it."""
    random = np.random.default_rng(seed)
    ring, place = _ring(region, random)
    n = len(region)
    return ring, place, random.integers(1, n, runs) if n > 1 else np.zeros(runs, np.int64)


def _ring(region: Region, random: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Losses in the order of the ring, and the place of each rank in it."""
    which, images = dense(region.image)
    # Shuffled inside an image too: its units come in the order of the score, which a turn by whole images would keep.
    order = np.argsort(random.permutation(len(images))[which] + random.random(len(which)))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return region.loss[order], place
