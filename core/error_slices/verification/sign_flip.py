"""The null of the calibrated test: the residuals of every image keep or change their sign together.

One look at the data is a matrix A (m images × K statistics) whose column sums are what was observed. Under the null, the signs of its
rows are as good as random, so the columns of S A, with S of random signs, might have been observed as well. What goes together inside an
image stays together. Signs depend on the seed and the number of the image alone, so no p-value depends on the signs of others.

Each pattern of signs is taken with its opposite, and so is the pattern without a flip: half the sums, and p-values stay as they should be,
since what was observed could have been any member of any of these pairs. The pattern without a flip is what was observed, also where parts
are made larger than what they add up to.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.error_slices.detections import FloatArray, IntArray
from core.error_slices.verification.rates import dense

TOLERANCE = 1e-9
"""Relative; sums that differ by less are equal, so that another order of summation cannot change a p-value."""
FEW = 10
"""Patterns as extreme as what was observed, up to which more are drawn."""
_COLUMNS = 1024
_SIGNS = 16_000_000
_LEAST_IMAGES = 256


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

    @functools.cached_property
    def moving(self) -> int:
        """Images that add anything, so that their sign matters."""
        return int(np.count_nonzero(np.any(self.parts != 0, axis=1)))

    def exact(self, flips: int) -> bool:
        """Whether there are no more patterns of signs than flips, so that each is taken once."""
        return self.moving < 63 and 2**self.moving <= flips + 1


def random_signs(images: IntArray, flips: int, seed: int) -> npt.NDArray[np.uint8]:
    """Signs of every image in every flip.

    Args:
        images: Shape (m,): numbers of the images.
        flips: Number of flips B.
        seed: Of all signs.

    Returns:
        Shape (m, B): 1 for plus, 0 for minus, by SplitMix64 of seed, image and flip; the first flips stay the same whatever B is.
    """
    words = -(-flips // 64)
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        own = _mix(images.astype(np.uint64) * golden + _mix(np.array([seed], np.int64).astype(np.uint64) + golden))
        state = own[:, None] + np.arange(1, words + 1, dtype=np.uint64) * golden
        mixed = _mix(state).astype("<u8").view(np.uint8).reshape(len(images), -1)
    return np.unpackbits(mixed, axis=1, count=flips, bitorder="little")


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed


def all_signs(m: int) -> FloatArray:
    """Every pattern of m signs, shape (2^m, m), the one without a flip last."""
    return ((np.arange(2**m)[:, None] >> np.arange(m)) & 1).astype(np.float64) * 2 - 1


def nulls(looks: Sequence[Look], flips: int, seed: int) -> list[FloatArray]:
    """What might have been observed: for each look, shape (B, K), what was observed among it.

    B is flips + 1, rounded up to an even number. With so few images that there are no more patterns of signs than that, each is taken once;
    B is then 2^m.
    """
    out: list[FloatArray] = [np.zeros((0, 0))] * len(looks)
    for batch in _batches(looks, flips):
        for i, null in zip(batch, _product([looks[i] for i in batch], flips, seed), strict=True):
            out[i] = null
    for i, look in enumerate(looks):
        if look.exact(flips):
            moving = look.parts[np.any(look.parts != 0, axis=1)]
            out[i] = all_signs(len(moving)) @ moving
            out[i][-1], out[i][0] = look.observed, -look.observed
    return out


def p_value(look: Look, null: FloatArray, *, falling: bool = False) -> float:
    """One-sided p-value of the largest statistic of a look; of the largest negative one where a falling trend is asked for."""
    sign = -1.0 if falling else 1.0
    reached = float((sign * look.observed).max())
    as_extreme = int(np.count_nonzero((sign * null).max(1) >= reached - TOLERANCE * max(1.0, abs(reached))))
    return max(1, as_extreme) / len(null)


def p_values(looks: Sequence[Look], null: Sequence[FloatArray], flips: int, most: int, seed: int) -> list[tuple[float, float]]:
    """P-values of the largest statistic of each look, for a rising and for a falling trend.

    One that at most ten of the patterns reach is counted anew among `most`, so that a single small p-value can pass among many hypotheses.
    That keeps p-values valid: up to 10 / B only the second count decides, above it only the first (a sequential Monte Carlo test, after
    Besag and Clifford, 1991).

    Args:
        looks: L looks.
        null: What `nulls` found for each with as many flips.
        flips: How many.
        most: How many at most.
        seed: Of all signs.
    """
    found = [(p_value(x, n), p_value(x, n, falling=True)) for x, n in zip(looks, null, strict=True)]
    if most <= flips:
        return found
    small = (FEW + 0.5) / (flips + 1)
    again = [i for i, (look, p) in enumerate(zip(looks, found, strict=True)) if not look.exact(flips) and min(p) <= small]
    for batch in _batches([looks[i] for i in again], flips):
        chosen = [again[k] for k in batch]
        for i, longer in zip(chosen, _product([looks[k] for k in chosen], most, seed), strict=True):
            rising, falling = found[i]
            found[i] = (
                p_value(looks[i], longer) if rising <= small else rising,
                p_value(looks[i], longer, falling=True) if falling <= small else falling,
            )
    return found


def _batches(looks: Sequence[Look], flips: int) -> Iterator[list[int]]:
    """Indices of looks that need random signs, as many at a time as fit the memory."""
    batch: list[int] = []
    columns = 0
    for i, look in enumerate(looks):
        if look.exact(flips):
            continue
        if batch and columns + look.parts.shape[1] > _COLUMNS:
            yield batch
            batch, columns = [], 0
        batch.append(i)
        columns += look.parts.shape[1]
    if batch:
        yield batch


def _product(looks: Sequence[Look], flips: int, seed: int) -> list[FloatArray]:
    """Random signs times the parts of each look, those without a flip first, all of them again with opposite signs."""
    place, images = dense(np.concatenate([look.images for look in looks]))
    places = np.split(place, np.cumsum([len(look.images) for look in looks])[:-1])
    columns = np.cumsum([0, *(look.parts.shape[1] for look in looks)])
    drawn = (flips + 2) // 2 - 1
    total = np.zeros((int(columns[-1]), drawn + 1))
    step = max(_LEAST_IMAGES, _SIGNS // flips)
    for low in range(0, len(images), step):
        high = min(low + step, len(images))
        block = np.zeros((high - low, int(columns[-1])))
        for k, (look, rows) in enumerate(zip(looks, places, strict=True)):
            here = (rows >= low) & (rows < high)
            block[rows[here] - low, columns[k] : columns[k + 1]] = look.parts[here]
        # A sign is 2 × bit - 1.
        total[:, 1:] += 2 * (block.T @ random_signs(images[low:high], drawn, seed).astype(np.float64)) - block.sum(0)[:, None]
    # Where parts are larger than what was observed, to vary enough, what was observed stays itself.
    total[:, 0] = np.concatenate([look.observed for look in looks])
    return [np.concatenate((part, -part), axis=1).T for part in np.split(total, columns[1:-1])]
