"""Tag combinations: slices are conjunctions of up to three yes-or-no tags, as in HiBug2 and its kind (GH-ESD, section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from core.error_slices.baselines.found import FoundSlice
from core.error_slices.detections import BoolArray, FloatArray, IntArray
from core.error_slices.ties import mixed


def tags_of(scores: Mapping[str, FloatArray], cls: IntArray, classes: tuple[str, ...], gamma: float = 0.5) -> dict[str, BoolArray]:
    """Tags of n units: each hypothesis above gamma, and each class that occurs.

    Args:
        scores: By hypothesis, shape (n,); NaN is no.
        cls: Shape (n,): index into the classes, -1 for none.
        classes: Their names.
        gamma: See above.
    """
    tags = {name: np.asarray(np.nan_to_num(c, nan=0.0) > gamma, bool) for name, c in scores.items()}
    return tags | {f"class {classes[i]}": np.asarray(cls == i, bool) for i in np.unique(cls[cls >= 0]).tolist()}


def tag_slices(
    tags: Mapping[str, BoolArray], loss: FloatArray, *, most_tags: int = 3, least_units: int = 15, least_lift: float = 0.1
) -> tuple[FoundSlice, ...]:
    """All conjunctions of tags with enough units and a mean loss above that of all; largest lift first.

    A conjunction of the very units of a shorter one is left out. Tags cannot rank the units of a slice, so they keep a fixed mixed order.

    Args:
        tags: By name, shape (n,).
        loss: Shape (n,).
        most_tags: Tags of a conjunction, 3 at most.
        least_units: See above.
        least_lift: See above; it must be exceeded.
    """
    if not tags or not len(loss):
        return ()
    overall = float(loss.mean())
    # A conjunction has no more units than any part of it, so parts with too few are not extended.
    level: dict[tuple[str, ...], BoolArray] = {(name,): column for name, column in sorted(tags.items()) if column.sum() >= least_units}
    singles = dict(level)
    seen: set[bytes] = set()
    out = []
    for size in range(1, min(most_tags, 3) + 1):
        for names, column in level.items():
            key = np.packbits(column).tobytes()
            if key in seen:
                continue
            seen.add(key)
            error = float(loss[column].mean())
            if error - overall > least_lift:
                out.append(FoundSlice(" and ".join(names), mixed(np.flatnonzero(column)), error, error - overall))
        if size < most_tags:
            level = {
                (*names, last[0]): both
                for names, column in level.items()
                for last, other in singles.items()
                if last[0] > names[-1] and all(part in level for part in combinations((*names, last[0]), size))
                for both in (column & other,)
                if both.sum() >= least_units
            }
    return tuple(sorted(out, key=lambda s: (-(s.lift or 0), s.name)))
