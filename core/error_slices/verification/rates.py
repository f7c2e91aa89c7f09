"""Mean losses with intervals that heed weights, and units of one image that fail together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.error_slices.detections import BoolArray, FloatArray, IntArray
from core.error_slices.verification.settings import ErrorRate
from core.scoring.intervals import wilson


@dataclass(frozen=True, eq=False)
class Sums:
    """What a rate and its interval are made of: sums over some units, in all and by image.

    Attributes:
        n: Units.
        moments: Sums of w, w·l, w², w²·l and w²·l².
        units: Shape (m,): units of each image.
        weights: Shape (m,): sum of w.
        losses: Shape (m,): sum of w·l.
    """

    n: int
    moments: FloatArray
    units: IntArray
    weights: FloatArray
    losses: FloatArray

    @classmethod
    def of(cls, loss: FloatArray, weight: FloatArray, image: IntArray, images: int) -> Sums:
        """Sums over n units.

        Args:
            loss: Shape (n,): in [0, 1].
            weight: Shape (n,).
            image: Shape (n,): numbers from 0 to `images` - 1.
            images: How many images there may be.
        """

        def by_image(part: FloatArray) -> FloatArray:
            return np.asarray(np.bincount(image, weights=part, minlength=images), np.float64)

        units = np.bincount(image, minlength=images)
        if np.all(weight == 1):
            moments = np.array([len(loss), loss.sum(), len(loss), loss.sum(), (loss * loss).sum()])
            return cls(len(loss), moments, units, units.astype(np.float64), by_image(loss))
        wl = weight * loss
        moments = np.array([weight.sum(), wl.sum(), (weight * weight).sum(), (weight * wl).sum(), (wl * wl).sum()])
        return cls(len(loss), moments, units, by_image(weight), by_image(wl))

    def without(self, part: Sums) -> Sums:
        """Sums over the units that are not in a part of these."""
        return Sums(
            self.n - part.n,
            self.moments - part.moments,
            self.units - part.units,
            self.weights - part.weights,
            self.losses - part.losses,
        )

    def rate(self) -> ErrorRate:
        """Weighted mean loss with its 95 % Wilson interval.

        The interval rests on the effective number of units: (Σw)² / Σw², divided by the design effect of the images where that is above 1
        (variance of the mean with images as clusters over that with independent units). So units that fail together count for less.
        """
        if self.n == 0:
            return ErrorRate(None, None, None, 0, 0)
        w, wl, ww, wwl, wwll = (float(v) for v in self.moments)
        present = int(np.count_nonzero(self.units))
        rate = min(max(wl / w, 0.0), 1.0)
        effective = w * w / ww
        apart = wwll - 2 * rate * wwl + rate * rate * ww
        if present > 1 and apart > 1e-9 * ww:
            together = self.losses - rate * self.weights
            effective /= max(1.0, float((together * together).sum()) * present / (present - 1) / apart)
        low, high = wilson(rate, effective)
        return ErrorRate(rate, low, high, self.n, present, w)


def error_rate(loss: FloatArray, weight: FloatArray, image: IntArray, images: int) -> ErrorRate:
    """Weighted mean loss of n units with its interval, see `Sums`."""
    return Sums.of(loss, weight, image, images).rate()


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
