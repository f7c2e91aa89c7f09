"""What each image adds to the trend and to the lift of a slice, plainly and with the means of strata taken out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.error_slices.detections import BoolArray, FloatArray, IntArray
from core.error_slices.verification.region import Region, Window
from core.error_slices.verification.sign_flip import Look


@dataclass(frozen=True, eq=False)
class TrendLook:
    """The trend in every window, K of them that can be tested.

    Attributes:
        look: Studentised: each statistic has variance 1 if units are independent.
        windows: Shape (K,): which windows.
        slope: Shape (K,): slope of loss on score, weighted.
        per_slope: Shape (K,): what a slope of 1 adds to each statistic.
    """

    look: Look
    windows: tuple[Window, ...]
    slope: FloatArray
    per_slope: FloatArray


def weighted_slope(c: FloatArray, loss: FloatArray, weight: FloatArray) -> float | None:
    """Least-squares slope of loss on score, None without spread."""
    total = float(weight.sum())
    if total <= 0:
        return None
    x = c - float((weight * c).sum()) / total
    pull = weight * x
    spread = float((pull * x).sum())
    return float((pull * loss).sum()) / spread if spread > 0 else None


def residuals(loss: FloatArray) -> FloatArray:
    """Loss minus its mean; exactly 0 where all losses are equal."""
    return loss - loss.mean() if np.ptp(loss) > 0 else np.zeros(len(loss))


def by_image(image: IntArray, part: FloatArray, images: IntArray) -> FloatArray:
    """Sums over the units of each image, shape (m,)."""
    return np.asarray(np.bincount(image, weights=part, minlength=len(images)), np.float64)


def trend_look(region: Region, windows: tuple[Window, ...], image: IntArray, images: IntArray) -> TrendLook:
    """Slopes in all windows, summed by image.

    Residuals are those of the null, loss minus the mean of the whole slice. In each window the scores are centred, so the observed sums do
    not depend on that mean.

    Args:
        region: The n units of the slice.
        windows: Where to look.
        image: Shape (n,): number of the image of each unit, from 0.
        images: Shape (m,): the images behind these numbers.
    """
    e = residuals(region.loss)
    parts = np.zeros((len(images), len(windows)))
    spread = np.zeros(len(windows))
    slope = np.full(len(windows), np.nan)
    for k, window in enumerate(windows):
        here = slice(window.start, window.stop)
        x = region.c[here] - region.c[here].mean()
        parts[:, k] = by_image(image[here], x * e[here], images)
        spread[k] = float((x * x).sum())
        found = weighted_slope(region.c[here], region.loss[here], region.weight[here])
        slope[k] = np.nan if found is None else found
    look, per_slope = studentised(images, parts, parts.sum(0), spread, float(e.std()))
    return TrendLook(look, windows, slope, per_slope)


def studentised(images: IntArray, parts: FloatArray, observed: FloatArray, spread: FloatArray, loss_sd: float) -> tuple[Look, FloatArray]:
    """Divides each statistic by √(sum of squares of the scores) × standard deviation of the loss: variance 1 if units were independent.

    Not by its own standard deviation under random signs: with saturated scores and rare errors, that is smallest where errors happen to
    spare the far units, and the largest of several such statistics passes too often (0.08 to 0.11 at p < 0.05, measured).
    """
    size = np.sqrt(spread) * loss_sd
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    return Look(images, parts * scale, observed * scale), spread * scale


def lift_look(inside: BoolArray, loss: FloatArray, image: IntArray, images: IntArray) -> Look | None:
    """Error inside minus error outside, summed by image; None where either is empty.

    Residuals are those of the null, loss minus the mean of all scored units. (inside - share) × residual, summed, is the difference of the
    two rates times a constant.
    """
    share = float(inside.mean()) if len(inside) else 0.0
    if not 0 < share < 1:
        return None
    e = residuals(loss)
    parts = by_image(image, (inside - share) * e * as_varied(e, inside), images)[:, None]
    observed = np.array([((inside - share) * e).sum()])
    return studentised(images, parts, observed, np.array([len(loss) * share * (1 - share)]), float(e.std()))[0]


def as_varied(e: FloatArray, inside: BoolArray) -> FloatArray:
    """Factors that make residuals inside at least as varied as all of them, shape (n,).

    A small slice in which nearly all units fail, as most units do, varies too little by chance; flipping what is there would call it
    certain: with 30 units and an error rate of 0.9, all fail in 4 of 100 cases.
    """
    own, all_ = float((e[inside] ** 2).mean()), float((e * e).mean())
    return np.where(inside, np.sqrt(all_ / own), 1.0) if 0 < own < all_ else np.ones(len(e))
