"""Error-rate threshold: a slice is kept if its units fail more often than all units by some margin (GH-ESD, section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.error_slices.baselines.found import FoundSlice
from core.error_slices.detections import FloatArray
from core.error_slices.ties import best_first

MARGIN = 0.05


def threshold_slices(
    scores: Mapping[str, FloatArray], loss: FloatArray, *, gamma: float = 0.5, margin: float = MARGIN, least_units: int = 1
) -> tuple[FoundSlice, ...]:
    """Hypotheses whose units above gamma have a mean loss above that of all scored units by more than the margin; largest lift first.

    Args:
        scores: By hypothesis, shape (n,); NaN is left out.
        loss: Shape (n,).
        gamma: Score above which a unit is in the slice.
        margin: Least difference.
        least_units: Units in a slice below which it is not kept.
    """
    out = []
    for name, c in scores.items():
        known = ~np.isnan(c)
        units = best_first(np.flatnonzero(np.nan_to_num(c, nan=-np.inf) > gamma), c)
        if len(units) < max(1, least_units):
            continue
        error = float(loss[units].mean())
        lift = error - float(loss[known].mean())
        if lift > margin:
            out.append(FoundSlice(name, units, error, lift))
    return tuple(sorted(out, key=lambda s: (-(s.lift or 0), s.name)))
