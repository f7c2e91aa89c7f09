"""Two tables of one ODD side by side: what each tested, and where the error differs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from core.scoring import wilson
from core.seed_table import SeedTable


@dataclass(frozen=True)
class Difference:
    """One slice that both tables tested; intervals are 95 % Wilson intervals of the error."""

    values: tuple[str, ...]
    n_a: int
    error_a: float
    low_a: float
    high_a: float
    n_b: int
    error_b: float
    low_b: float
    high_b: float

    @property
    def change(self) -> float:
        """Error of b minus error of a."""
        return self.error_b - self.error_a

    @property
    def apart(self) -> bool:
        """Whether the two intervals do not touch."""
        return self.low_b > self.high_a or self.low_a > self.high_b


@dataclass(frozen=True)
class Comparison:
    """Two tables of one ODD.

    Attributes:
        both: Slices that both tested, largest rise of the error first.
        only_a, only_b: Slices that one of them tested.
        error_a, error_b: Mean error over the slices that both tested, weighted by their samples; NaN without any.
    """

    both: tuple[Difference, ...]
    only_a: int
    only_b: int
    error_a: float
    error_b: float


def compare(a: SeedTable, b: SeedTable) -> Comparison:
    """Compares two tables slice by slice.

    Raises:
        InputError: They rest on different ODDs, so that their slices are not the same things.
    """
    if a.odd.hash != b.odd.hash:
        raise InputError(f"The tables rest on different ODDs ({a.odd.hash[:6]} and {b.odd.hash[:6]}), so their slices cannot be compared.")
    shared, at_a, at_b = np.intersect1d(a.ids, b.ids, assume_unique=True, return_indices=True)
    names = a.odd.codec.names(a.codes[at_a])
    dims = a.odd.active or tuple(range(len(a.odd.names)))
    rows = []
    for values, i, j in zip(names, at_a.tolist(), at_b.tolist(), strict=True):
        ea, na, eb, nb = float(a.error[i]), int(a.n[i]), float(b.error[j]), int(b.n[j])
        rows.append(Difference(tuple(values[k] for k in dims), na, ea, *wilson(ea, na), nb, eb, *wilson(eb, nb)))
    mean = [float(np.average(t.error[at], weights=t.n[at])) if shared.size else float("nan") for t, at in ((a, at_a), (b, at_b))]
    return Comparison(
        tuple(sorted(rows, key=lambda d: (-d.change, d.values))), len(a.ids) - shared.size, len(b.ids) - shared.size, mean[0], mean[1]
    )
