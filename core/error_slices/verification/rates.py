"""Mean losses with intervals that heed weights, and units of one image that fail together."""

from __future__ import annotations

import numpy as np

from core.error_slices.detections import BoolArray, FloatArray, IntArray
from core.error_slices.verification.settings import ErrorRate
from core.scoring.intervals import wilson


def error_rate(loss: FloatArray, weight: FloatArray, image: IntArray, images: int) -> ErrorRate:
    """Weighted mean loss with its 95 % Wilson interval.

    The interval rests on the effective number of units: (Σw)² / Σw², divided by the design effect of the images where that is above 1
    (the variance of the mean with images as clusters over that with independent units). So units that fail together count for less.

    Args:
        loss: Shape (n,): in [0, 1].
        weight: Shape (n,).
        image: Shape (n,): numbers from 0 to `images` - 1.
        images: How many images there may be.
    """
    n = len(loss)
    if n == 0:
        return ErrorRate(None, None, None, 0, 0)
    present = int(np.count_nonzero(np.bincount(image, minlength=images)))
    total = float(weight.sum())
    if total <= 0:
        return ErrorRate(None, None, None, n, present)
    rate = min(max(float((weight * loss).sum()) / total, 0.0), 1.0)
    part = weight * (loss - rate)
    effective = total**2 / float((weight * weight).sum())
    apart = float((part * part).sum())
    if present > 1 and apart > 0:
        together = np.bincount(image, weights=part, minlength=images)
        effective /= max(1.0, float((together * together).sum()) * present / (present - 1) / apart)
    low, high = wilson(rate, effective)
    return ErrorRate(rate, low, high, n, present)


def dense(image: IntArray) -> tuple[IntArray, IntArray]:
    """Numbers of images without gaps.

    Returns:
        Shape (n,): from 0 on; and shape (m,): the image behind each number, rising.
    """
    if len(image) and int(image.min()) >= 0 and int(image.max()) < 4 * len(image) + 100_000:
        here: BoolArray = np.zeros(int(image.max()) + 1, bool)
        here[image] = True
        return (np.cumsum(here) - 1)[image], np.flatnonzero(here)
    known, number = np.unique(image, return_inverse=True)
    return number.astype(np.int64), known.astype(np.int64)
