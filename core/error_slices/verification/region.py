"""The units of a slice in the order of their scores, and the windows that the calibrated test looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.error_slices.detections import FloatArray, IntArray
from core.error_slices.verification.settings import Sample

WindowName = Literal["whole slice", "top half", "middle half", "bottom half"]
QUARTERS: dict[WindowName, tuple[int, int]] = {
    "whole slice": (0, 4),
    "top half": (0, 2),
    "middle half": (1, 3),
    "bottom half": (2, 4),
}
"""First and last quarter of the ranks that a window spans."""
LEAST_IN_WINDOW = 20
"""Units below which a part of the slice is no window of its own."""
LEAST_VARIANCE = 1e-9
"""Variance of the scores in a window below which they count as equal: rounding, no trend."""
_HASH = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Window:
    """Neighbouring ranks of a slice.

    Attributes:
        name: For people.
        start: First rank, from 0, best score first.
        stop: Behind the last rank.
    """

    name: WindowName
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Region:
    """The n units of a sample with c > γ, best score first.

    Attributes:
        rows: Shape (n,): indices into the sample.
        c: Shape (n,): matching score.
        logit: Shape (n,): what they are sorted by.
        loss: Shape (n,).
        image: Shape (n,): cluster of each unit, as in the sample.
        weight: Shape (n,).
    """

    rows: IntArray
    c: FloatArray
    logit: FloatArray
    loss: FloatArray
    image: IntArray
    weight: FloatArray

    def __len__(self) -> int:
        return len(self.rows)


def region_of(sample: Sample, gamma: float) -> Region:
    """Units above γ, sorted by logit, since scores near 1 saturate.

    Ties follow a fixed shuffle of the rows, so that the order of the file, in which errors often stand together, decides nothing.
    """
    rows = np.flatnonzero(sample.c > gamma)
    key = -sample.logit[rows]
    order = np.argsort(key)
    ranked = key[order]
    if np.any(ranked[1:] == ranked[:-1]):
        with np.errstate(over="ignore"):
            shuffle = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(_HASH)
        order = np.lexsort((shuffle, key))
    rows = rows[order]
    return Region(rows, sample.c[rows], sample.logit[rows], sample.loss[rows], sample.image[rows], sample.weight[rows])


def windows(region: Region) -> tuple[Window, ...]:
    """The whole slice and its top, middle and bottom half.

    Units with equal scores are never torn apart: a border that falls among them moves to the nearer end of their run. So the windows do not
    depend on the order of the file. Parts that are too small, alike or without spread in the scores are left out.
    """
    n = len(region)
    starts = np.r_[0, np.flatnonzero(region.logit[1:] != region.logit[:-1]) + 1, n] if n else np.zeros(1, np.int64)
    borders = [int(starts[np.argmin(np.abs(starts - n * k / 4))]) for k in range(5)]
    found: dict[tuple[int, int], WindowName] = {}
    for name, (first, last) in QUARTERS.items():
        span = borders[first], borders[last]
        if span[1] - span[0] < (LEAST_IN_WINDOW if name != "whole slice" else 2) or span in found:
            continue
        if np.var(region.c[span[0] : span[1]]) > LEAST_VARIANCE:
            found[span] = name
    return tuple(Window(name, *span) for span, name in found.items())
