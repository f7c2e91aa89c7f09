"""The paper's rule: the largest slope of loss on score in any sliding window (GH-ESD, section 3.4); how often chance meets it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.error_slices.detections import FloatArray, IntArray
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
        spread: Shape (k,): standard deviation of the scores: a slope over a tiny spread means little.
    """

    start: IntArray
    size: int
    slope: FloatArray
    spread: FloatArray

    @property
    def trend(self) -> float | None:
        """The largest slope, None without a valid window."""
        known = self.slope[~np.isnan(self.slope)]
        return float(known.max()) if known.size else None


def paper_windows(region: Region, size: int, stride: int) -> PaperWindows:
    """Slopes in all windows of `size` units; none for fewer than 5, or more than there are."""
    n = len(region)
    if size < LEAST_UNITS or n < size:
        return PaperWindows(np.zeros(0, np.int64), size, np.zeros(0), np.zeros(0))
    start = np.arange(0, n - size + 1, stride)
    variance, mean = _moments(region.c, size, start)
    above, _ = _slopes(region.c, mean, region.loss[None, :], size, start, variance)
    return PaperWindows(start, size, above[0], np.sqrt(variance))


def _moments(c: FloatArray, size: int, start: IntArray) -> tuple[FloatArray, FloatArray]:
    """Variance and mean of the scores in each window; narrow windows without differences of sums, which would cancel."""
    if size <= _NARROW:
        view = np.lib.stride_tricks.sliding_window_view(c, size)[start]
        return view.var(1), view.mean(1)
    centre = float(c.mean())
    x = c - centre
    mean = _sums(x, size, start) / size
    return np.maximum(_sums(x * x, size, start) / size - mean**2, 0.0), mean + centre


def _sums(x: FloatArray, size: int, start: IntArray) -> FloatArray:
    """Sums over windows, shape (..., k) for x of shape (..., n)."""
    total = np.zeros((*x.shape[:-1], x.shape[-1] + 1))
    np.cumsum(x, axis=-1, out=total[..., 1:])
    sums: FloatArray = total[..., start + size] - total[..., start]
    return sums


def _slopes(
    c: FloatArray, mean: FloatArray, loss: FloatArray, size: int, start: IntArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Slopes of each row of losses, shape (r, k), NaN without spread; and the largest of each row, -inf without any."""
    ok = variance > LEAST_VARIANCE
    if size <= _NARROW:
        cross = np.zeros((len(loss), len(start)))
        for k in range(size):
            cross += (c[start + k] - mean) * loss[:, start + k]
    else:
        centre = float(c.mean())
        cross = _sums((c - centre) * loss, size, start) - (mean - centre) * _sums(loss, size, start)
    slope = np.full(cross.shape, np.nan)
    np.divide(cross, size * variance, out=slope, where=np.broadcast_to(ok, cross.shape))
    return slope, np.where(ok, slope, -np.inf).max(1, initial=-np.inf)


def null_pass(region: Region, size: int, stride: int, tau: float, seed: int, runs: int = NULL_RUNS) -> float | None:
    """Share of random losses that would pass the paper's rule on these very scores.

    A random loss is the observed one, turned: units stand in a ring, image by image in shuffled order, and the losses move on along it by a
    random number of units. So the error rate and what images have in common stay, and what the loss has to do with the score goes.

    Windows are looked at from the best score down, and a run ends at its first window that passes, which is soon with narrow windows.

    Returns:
        Between 0 and 1; None without a valid window.
    """
    n = len(region)
    if size < LEAST_UNITS or n < size:
        return None
    starts = np.arange(0, n - size + 1, stride)
    variance, mean = _moments(region.c, size, starts)
    if not np.any(variance > LEAST_VARIANCE):
        return None
    ring, place, turn = _turns(region, seed, runs)
    left = np.arange(runs)
    low, step = 0, _FIRST
    while low < len(starts) and left.size:
        here = slice(low, min(low + step, len(starts)))
        first, last = int(starts[here.start]), int(starts[here.stop - 1]) + size
        loss = ring[(place[first:last] + turn[left, None]) % n]
        _, best = _slopes(region.c[first:last], mean[here], loss, size, starts[here] - first, variance[here])
        left = left[best <= tau]
        low, step = here.stop, step * 2
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
    variance, mean = _moments(region.c, size, windows.start)
    ok = variance > LEAST_VARIANCE
    ring, place, turn = _turns(region, seed, runs)
    loss = ring[(place + turn[:, None]) % n]
    for first in range(0, k, _BLOCK):
        here = slice(first, min(first + _BLOCK, k))
        slope, _ = _slopes(region.c, mean[here], loss, size, windows.start[here], variance[here])
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
    images, which = np.unique(region.image, return_inverse=True)
    # Shuffled inside an image too: its units come in the order of the score, which a turn by whole images would keep.
    order = np.lexsort((random.random(len(which)), random.permutation(len(images))[which]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return region.loss[order], place
