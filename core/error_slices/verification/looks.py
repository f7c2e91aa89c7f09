"""What each image adds to the trend and to the lift of a slice, plainly and with the means of strata taken out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from core.error_slices.detections import BoolArray, FloatArray, IntArray
from core.error_slices.verification.region import Region, Window
from core.error_slices.verification.sign_flip import Look

LEAST_VARIED = 0.9
"""Least standard deviation under random signs, as a share of the expected one: at 1, small fluctuations would cost power everywhere."""


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


@dataclass(frozen=True, eq=False)
class Residuals:
    """What losses leave of the null, that they have one mean.

    Attributes:
        centred: Shape (n,): loss minus the mean; exactly 0 where all losses are equal.
        apart: Shape (n,): loss minus the mean of all other images. So one image with many of the units does not pull the mean towards
            itself, which would make its own residuals small and all others lean the same way, as if many images agreed.
        images: Number of images m.
        together: Correlation of the losses of an image, between 0 and 1.
    """

    centred: FloatArray
    apart: FloatArray
    images: int
    together: float

    @property
    def sd(self) -> float:
        """Standard deviation of the loss."""
        return math.sqrt((self.centred * self.centred).mean())


def residuals(loss: FloatArray, image: IntArray, images: int) -> Residuals:
    """Residuals of n losses of m images, numbered from 0."""
    if np.ptp(loss) == 0:
        return Residuals(np.zeros(len(loss)), np.zeros(len(loss)), images, 0.0)
    e = loss - loss.mean()
    size, total = np.bincount(image, minlength=images), by_image(image, e, images)
    others = len(e) - size
    shift = np.divide(total.sum() - total, others, out=np.zeros(images), where=others > 0)
    return Residuals(e, e - shift[image], images, correlation(e, image, size, total))


def correlation(e: FloatArray, image: IntArray, size: IntArray, total: FloatArray) -> float:
    """Correlation of residuals within images, between 0 and 1: mean product of pairs of one image over the variance."""
    squares = float((e * e).sum())
    pairs = float((size.astype(np.float64) ** 2).sum()) - len(e)
    if pairs <= 0 or squares <= 0:
        return 0.0
    return float(np.clip(((total * total).sum() - squares) / (pairs * squares / len(e)), 0.0, 1.0))


def no_less_varied(parts: FloatArray, x: FloatArray, image: IntArray, variance: float, together: float) -> FloatArray:
    """What each image adds, made larger where flipping it would vary too little.

    Under the null Σ x · residual has a variance that follows from the scores x, the variance of all losses and their correlation inside an
    image. Where few units count for much of x and happen to have no error, flipping what is there varies far less and calls certain what is
    chance: 15 units far below 135 that saturate, at an error rate of 0.1, have no error in 21 of 100 cases.

    Args:
        parts: Shape (m,): sums of x · residual by image.
        x: Shape (n,): centred scores, or membership.
        image: Shape (n,): number of the image of each unit.
        variance: Of all losses.
        together: Their correlation inside an image.
    """
    flipped = float((parts * parts).sum())
    if flipped <= 0:
        return parts
    by = by_image(image, x, len(parts))
    expected = variance * ((1 - together) * float((x * x).sum()) + together * float((by * by).sum()))
    return parts * max(1.0, LEAST_VARIED * math.sqrt(expected / flipped))


def by_image(image: IntArray, part: FloatArray, images: int) -> FloatArray:
    """Sums over the units of each image, shape (m,)."""
    return np.asarray(np.bincount(image, weights=part, minlength=images), np.float64)


def trend_look(region: Region, windows: tuple[Window, ...], image: IntArray, images: IntArray) -> TrendLook:
    """Slopes in all windows, summed by image.

    Residuals are those of the null: the loss has one mean. In each window the scores are centred, so the observed sums do not depend on it.

    Args:
        region: The n units of the slice.
        windows: Where to look.
        image: Shape (n,): number of the image of each unit, from 0.
        images: Shape (m,): the images behind these numbers.
    """
    e = residuals(region.loss, image, len(images))
    parts = np.zeros((len(images), len(windows)))
    observed = np.zeros(len(windows))
    spread = np.zeros(len(windows))
    slope = np.full(len(windows), np.nan)
    for k, window in enumerate(windows):
        here = slice(window.start, window.stop)
        x, number = region.c[here] - region.c[here].mean(), image[here]
        parts[:, k] = no_less_varied(by_image(number, x * e.apart[here], len(images)), x, number, e.sd**2, e.together)
        observed[k] = float((x * e.centred[here]).sum())
        spread[k] = float((x * x).sum())
        found = weighted_slope(region.c[here], region.loss[here], region.weight[here])
        slope[k] = np.nan if found is None else found
    look, per_slope = studentised(images, parts, observed, spread, e.sd)
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

    Residuals are those of the null, as for the trend, over all scored units. (inside - share) × residual, summed, is the difference of the
    two rates times a constant.
    """
    share = float(inside.mean()) if len(inside) else 0.0
    if not 0 < share < 1:
        return None
    e = residuals(loss, image, len(images))
    x = inside.astype(np.float64) - share
    parts = no_less_varied(by_image(image, x * e.apart, len(images)), x, image, e.sd**2, e.together)[:, None]
    observed = np.array([float((x * e.centred).sum())])
    return studentised(images, parts, observed, np.array([len(loss) * share * (1 - share)]), e.sd)[0]
