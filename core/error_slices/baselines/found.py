"""What a way of finding slices brings forth."""

from __future__ import annotations

from dataclasses import dataclass

from core.error_slices.detections import IntArray


@dataclass(frozen=True, eq=False)
class FoundSlice:
    """A slice that was found.

    Attributes:
        name: What it is, for people.
        units: Shape (m,): rows of the units in it, those that belong most first.
        error: Mean loss inside, None for an empty one.
        lift: That less the mean loss of all units, None likewise.
    """

    name: str
    units: IntArray
    error: float | None
    lift: float | None
