"""Trend and lift with the means of strata taken out: what is left when size and class are held equal."""

from __future__ import annotations

import numpy as np

from core.error_slices.detections import BoolArray, FloatArray, IntArray
from core.error_slices.verification.looks import by_image, correlation, no_less_varied, studentised
from core.error_slices.verification.rates import dense
from core.error_slices.verification.region import Region, Window
from core.error_slices.verification.sign_flip import Look


def _within(values: FloatArray, stratum: IntArray, count: IntArray) -> FloatArray:
    """Values minus the mean of their stratum."""
    mean = np.bincount(stratum, weights=values, minlength=len(count)) / np.maximum(count, 1)
    out: FloatArray = values - mean[stratum]
    return out


def _inflated(loss: FloatArray, stratum: IntArray, count: IntArray, image: IntArray, images: int) -> FloatArray:
    """Residuals within strata, as large as around the true means.

    In a stratum of n, 1/n of the variance is lost to the mean. Other units of the same image do not pull that mean towards themselves: what
    they add is as around the mean of the other images.
    """
    n = count[stratum]
    e = _within(loss, stratum, count)
    key = stratum * images + image
    if len(count) * images > 10 * len(key) + 1_000_000:
        key = dense(key)[0]
    same = np.bincount(key)[key]
    others = n - same
    pull = np.bincount(key, weights=e)[key] - e
    shift = np.divide(pull, others, out=np.zeros(len(e)), where=others > 0)
    return np.asarray(e * np.sqrt(n / np.maximum(n - 1, 1)) + shift, np.float64)


def _moments(e: FloatArray, image: IntArray, images: int) -> tuple[float, float]:
    """Variance of residuals, and their correlation inside an image."""
    return float((e * e).mean()), correlation(e, image, np.bincount(image, minlength=images), by_image(image, e, images))


def trend_adjusted(region: Region, windows: tuple[Window, ...], stratum: IntArray, image: IntArray, images: IntArray) -> Look:
    """As the trend, with scores centred in each stratum of each window, and losses in each stratum of the slice.

    Args:
        region: The n units of the slice.
        windows: Where to look.
        stratum: Shape (n,): from 0 on.
        image: Shape (n,): number of the image of each unit, from 0.
        images: Shape (m,): the images behind these numbers.
    """
    strata_n = int(stratum.max(initial=0)) + 1
    e = _inflated(region.loss, stratum, np.bincount(stratum, minlength=strata_n), image, len(images))
    variance, together = _moments(e, image, len(images))
    parts = np.zeros((len(images), len(windows)))
    observed = np.zeros(len(windows))
    spread = np.zeros(len(windows))
    for k, window in enumerate(windows):
        here = slice(window.start, window.stop)
        inner = stratum[here]
        x = _within(region.c[here], inner, np.bincount(inner, minlength=strata_n))
        parts[:, k] = no_less_varied(by_image(image[here], x * e[here], len(images)), x, image[here], variance, together)
        observed[k] = float((x * region.loss[here]).sum())
        spread[k] = float((x * x).sum())
    return studentised(images, parts, observed, np.where(spread > 1e-12, spread, 0.0), float(e.std()))[0]


def lift_adjusted(inside: BoolArray, loss: FloatArray, stratum: IntArray, image: IntArray, images: IntArray) -> Look | None:
    """As the lift, with membership and loss centred in each stratum; None where no stratum has units inside and outside."""
    count = np.bincount(stratum)
    within = _within(inside.astype(np.float64), stratum, count)
    if not np.any(np.abs(within) > 1e-12):
        return None
    e = _inflated(loss, stratum, count, image, len(images))
    variance, together = _moments(e, image, len(images))
    parts = no_less_varied(by_image(image, within * e, len(images)), within, image, variance, together)[:, None]
    return studentised(images, parts, np.array([(within * loss).sum()]), np.array([(within * within).sum()]), float(e.std()))[0]
