"""What another draw of the oracle's samples would have shown: risks resampled within each slice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

FEW = 5
"""Slices with fewer graded samples than this say little about their own spread, and are drawn as right or wrong, the widest there is."""
THIN = 20
"""With fewer samples per slice, simulated intervals of regret miss the true one too often to be relied on (docs/benchmarks.md)."""
WHOLE = 1e-3
"""Failures of right-or-wrong answers are whole numbers, up to this per sample for means that were rounded."""
BLOCK = 4_000_000
"""Samples drawn at a time."""


@dataclass(frozen=True, eq=False)
class OracleRisk:
    """Failure risk of the candidates as the oracle saw it.

    Attributes:
        risk: (U,) mean error (Eq. 10).
        n: (U,) samples behind it.
        scores: (R,) scores of single samples in [0, 1], slice by slice in the order of the candidates; None where only means are known.
    """

    risk: Floats
    n: Ints
    scores: Floats | None = None

    def __post_init__(self) -> None:
        if self.scores is not None and len(self.scores) != int(self.n.sum()):
            raise ValueError("There must be as many scores as samples.")

    @cached_property
    def right_or_wrong(self) -> bool:
        """Whether no score is graded; where only means are known, whether every slice's failures are a whole number."""
        if self.scores is not None:
            return not bool(((self.scores > 0) & (self.scores < 1)).any())
        failures = self.risk * self.n
        return bool((np.abs(failures - np.rint(failures)) <= WHOLE * self.n).all())

    @cached_property
    def centre(self) -> Floats:
        """(U,) the risks that draws scatter around.

        Right-or-wrong answers get one sample at the mean of all added to each slice: drawn with its own mean, a slice that failed
        once of one, or never of five, would never come out otherwise, and be taken for certain.
        """
        if not self.right_or_wrong or not len(self.n):
            return self.risk
        mean = float(np.sort(self.risk * self.n).sum() / self.n.sum())
        centre: Floats = (self.risk * self.n + mean) / (self.n + 1)
        return centre

    @cached_property
    def drawn(self) -> Mask:
        """(U,) whether a slice's samples are drawn from its own ones; else from right and wrong with its mean."""
        if self.scores is None:
            return np.zeros(len(self.n), dtype=bool)
        return self.n >= FEW

    @property
    def how(self) -> str:
        """How the intervals were made and how to read them, for the screen."""
        text = "Intervals: 95 % bootstrap over the oracle's samples within each slice"
        if self.scores is None:
            text += "; only mean and n of each oracle slice are known"
        if self.right_or_wrong:
            text += (
                "; they were drawn as right or wrong (binomial) with the slice's own rate after one sample at the mean of all is added, so "
                "that few samples are not taken for certain."
            )
        elif self.scores is None:
            text += (
                ", so its samples were drawn as right or wrong with its mean (binomial), which is too wide rather than too narrow for "
                "graded scores."
            )
        else:
            few = int((~self.drawn).sum())
            text += (
                f"; {few:,} of {len(self.n):,} slices have fewer than {FEW} samples, which were drawn as right or wrong with the slice's "
                "mean (binomial), the widest spread there is."
                if few
                else "."
            )
        text += (
            " The best of noisy risks looks better than it is, so a measured regret is too large. Its interval corrects for that: it is "
            "one of the true regret, and the measured number can lie above it."
        )
        thin = float(np.median(self.n)) if len(self.n) else 0
        if thin < THIN:
            samples = "sample" if thin == 1 else "samples"
            text += f" With a median of {thin:g} {samples} per slice this is rough: rest on the differences, which do not suffer."
        return text

    def resamples(self, times: int, seed: int) -> Iterator[Floats]:
        """Blocks (b, U) of risks resampled around `centre`, `times` rows in all; the same for the same seed."""
        rng = np.random.default_rng(seed)
        which, count, start, scores = self._own()
        size = int(count.sum())
        rows = max(1, BLOCK // max(size, len(self.n), 1))
        n = self.n.astype(np.float64)
        for done in range(0, times, rows):
            b = min(rows, times - done)
            out = rng.binomial(self.n, np.clip(self.centre, 0, 1), (b, len(self.n))) / n
            if size:
                first = np.repeat(start, count)
                picked = first + (rng.random((b, size)) * np.repeat(count, count)).astype(np.int64)
                sums = np.add.reduceat(scores[picked], np.cumsum(count) - count, axis=1)
                out[:, which] = 1.0 - sums / count
            yield np.clip(out, 0.0, 1.0)

    def _own(self) -> tuple[Ints, Ints, Ints, Floats]:
        """Slices with graded scores, their n, where their scores begin, and the scores. Right-or-wrong ones are binomial anyway."""
        none = np.empty(0, dtype=np.int64)
        if self.scores is None or not len(self.n):
            return none, none, none, np.empty(0)
        starts = np.cumsum(self.n) - self.n
        graded = (self.scores > 0) & (self.scores < 1)
        which = np.flatnonzero(self.drawn & np.logical_or.reduceat(graded, starts))
        return which, self.n[which], starts[which], self.scores


def basic_interval(estimate: float, off: Floats, low: float = 0.0, high: float = 1.0) -> tuple[float, float]:
    """95 % basic bootstrap interval, cut to a range.

    Args:
        estimate: The measured figure.
        off: (B,) how far the figures of draws lie from that of what they were drawn from.
        low: Least value of the figure.
        high: Largest value of the figure.

    The best of noisy risks looks better than the best is, so a measured regret lies above the true one, and resampled regrets lie
    above the measured one by about as much. The basic interval turns that over and so corrects for it; where noise is large the
    estimate itself can lie above its interval.
    """
    a, b = np.quantile(off, [0.975, 0.025])
    return float(np.clip(estimate - a, low, high)), float(np.clip(estimate - b, low, high))
