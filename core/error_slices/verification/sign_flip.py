"""The null of the calibrated test: the residuals of every image keep or change their sign together.

One look at the data is a matrix A (m images × K statistics) whose column sums are what was observed. Under the null, the signs of its
rows are as good as random, so the columns of S A, with S of random signs, might have been observed as well. What goes together inside an
image stays together. Signs depend on the seed and the number of the image alone, so a p-value does not depend on its company.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.error_slices.detections import FloatArray, IntArray

TOLERANCE = 1e-9
"""Relative; sums that differ by less are equal, so that another order of summation cannot change a p-value."""
_COLUMNS = 256
_IMAGES = 8192


@dataclass(frozen=True, eq=False)
class Look:
    """One look at the data.

    Attributes:
        images: Shape (m,): numbers of the images, each once.
        parts: Shape (m, K): what each image adds to each statistic, under the null with random sign.
        observed: Shape (K,): what was observed.
    """

    images: IntArray
    parts: FloatArray
    observed: FloatArray


def random_signs(images: IntArray, flips: int, seed: int) -> npt.NDArray[np.float64]:
    """Signs of every image in every flip.

    Args:
        images: Shape (m,): numbers of the images.
        flips: Number of flips B.
        seed: Of all signs.

    Returns:
        Shape (B, m): -1 or 1, by SplitMix64 of seed, image and flip; the first flips stay the same whatever B is.
    """
    words = -(-flips // 64)
    with np.errstate(over="ignore"):
        start = _mix(
            images.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + _mix(np.array([seed], np.int64).astype(np.uint64) + np.uint64(1))
        )
        state = start[:, None] + np.arange(1, words + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        bits = np.unpackbits(_mix(state).astype("<u8").view(np.uint8).reshape(len(images), -1), axis=1, count=flips, bitorder="little")
    return np.ascontiguousarray(bits.T).astype(np.float64) * 2 - 1


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed


def all_signs(m: int) -> FloatArray:
    """Every pattern of m signs, shape (2^m, m), the one without a flip last."""
    return ((np.arange(2**m)[:, None] >> np.arange(m)) & 1).astype(np.float64) * 2 - 1


def nulls(looks: Sequence[Look], flips: int, seed: int) -> list[FloatArray]:
    """What might have been observed: for each look, shape (B, K).

    With so few images that there are no more patterns of signs than flips, each pattern is taken once; B is then 2^m, and the observed
    pattern is among them.
    """
    out: list[FloatArray] = [np.zeros((0, 0))] * len(looks)
    large = []
    for i, look in enumerate(looks):
        if exact(look, flips):
            moving = look.parts[np.any(look.parts != 0, axis=1)]
            out[i] = all_signs(len(moving)) @ moving
        else:
            large.append(i)
    at = 0
    while at < len(large):
        batch: list[int] = []
        columns = 0
        while at < len(large) and (not batch or columns + looks[large[at]].parts.shape[1] <= _COLUMNS):
            batch.append(large[at])
            columns += looks[large[at]].parts.shape[1]
            at += 1
        for i, null in zip(batch, _product([looks[i] for i in batch], columns, flips, seed), strict=True):
            out[i] = null
    return out


def exact(look: Look, flips: int) -> bool:
    """Whether all patterns of signs can be taken."""
    moving = int(np.count_nonzero(np.any(look.parts != 0, axis=1)))
    return moving < 63 and 2**moving <= flips + 1


def _product(looks: Sequence[Look], columns: int, flips: int, seed: int) -> list[FloatArray]:
    images = np.unique(np.concatenate([look.images for look in looks]))
    places = [np.searchsorted(images, look.images) for look in looks]
    total = np.zeros((flips, columns))
    for low in range(0, len(images), _IMAGES):
        high = min(low + _IMAGES, len(images))
        dense = np.zeros((high - low, columns))
        at = 0
        for look, place in zip(looks, places, strict=True):
            k = look.parts.shape[1]
            here = (place >= low) & (place < high)
            dense[place[here] - low, at : at + k] = look.parts[here]
            at += k
        total += random_signs(images[low:high], flips, seed) @ dense
    return np.split(total, np.cumsum([look.parts.shape[1] for look in looks])[:-1], axis=1)


def p_value(look: Look, null: FloatArray, flips: int, *, falling: bool = False) -> float:
    """One-sided p-value of the largest statistic of a look; of the largest negative one where a falling trend is asked for."""
    sign = -1.0 if falling else 1.0
    reached = float((sign * look.observed).max())
    as_extreme = int(np.count_nonzero((sign * null).max(1) >= reached - TOLERANCE * max(1.0, abs(reached))))
    return max(1, as_extreme) / len(null) if exact(look, flips) else (1 + as_extreme) / (1 + len(null))
