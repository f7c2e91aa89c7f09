"""Where the model fails among what was tested, and which values were hardly tested (SliceNav, section 3.3, triage)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from core.scoring.intervals import wilson
from core.scoring.rank import candidate_space
from core.seed_table import SeedTable


@dataclass(frozen=True)
class Failure:
    """Error of all tested slices that share one value, or a pair of values.

    Attributes:
        dimensions: One or two dimensions.
        values: Their values.
        slices: Tested slices.
        n: Samples.
        error: Mean error, weighted by n.
        low, high: 95 % Wilson interval.
        lift: Error minus the error over all samples.
    """

    dimensions: tuple[str, ...]
    values: tuple[str, ...]
    slices: int
    n: int
    error: float
    low: float
    high: float
    lift: float

    def as_dict(self) -> dict[str, Any]:
        """The row as JSON-ready data."""
        return {**vars(self), "dimensions": list(self.dimensions), "values": list(self.values)}


@dataclass(frozen=True)
class ValueCoverage:
    """How much of one base value was tested.

    Attributes:
        dimension, value: The value.
        n: Samples with it.
        share: n over all samples.
        slices: Tested slices with it.
        possible: Slices of the ODD with it.
    """

    dimension: str
    value: str
    n: int
    share: float
    slices: int
    possible: int


@dataclass(frozen=True)
class Triage:
    """Summary of the tested slices.

    Attributes:
        n: Samples inside the ODD.
        slices: Tested slices inside the ODD.
        error, low, high: Mean error with its 95 % Wilson interval.
        by_value: One row per base value that was tested, worst lower bound first.
        by_pair: One row per tested pair of values, worst lower bound first.
        coverage: One row per base value, tested or not, in the order of the ODD.
        pairs_tested, pairs_possible: Pairs of values with at least one sample, and in all.
        left_out: Samples outside the ODD or the filter.
    """

    n: int
    slices: int
    error: float
    low: float
    high: float
    by_value: tuple[Failure, ...]
    by_pair: tuple[Failure, ...]
    coverage: tuple[ValueCoverage, ...]
    pairs_tested: int
    pairs_possible: int
    left_out: int


def triage(seed: SeedTable, where: Mapping[str, Sequence[str]] | None = None) -> Triage:
    """Failures and coverage of the tested in-ODD slices. Intervals are one at a time, not corrected for their number.

    Args:
        seed: Tested slices.
        where: Base values to keep, per dimension.

    Raises:
        InputError: The filter names something that is not in the ODD.
    """
    odd = seed.odd
    space = candidate_space(odd, where or {})
    keep = seed.in_base & space.contains(seed.codes)
    table = seed.select(keep)
    dims = odd.active or tuple(range(len(odd.names)))
    fails = table.error * table.n
    total = table.total
    error = float(fails.sum() / total) if total else 0.0
    low, high = wilson(error, total)
    by_value = [f for k in dims for f in _failures(table, (k,), error)]
    by_pair = [f for pair in combinations(dims, 2) for f in _failures(table, pair, error)]
    coverage = []
    for k in dims:
        for v in odd.dimensions[k].base:
            code = odd.codec.code_of[k][v.name]
            hit = table.codes[:, k] == code
            n = int(table.n[hit].sum())
            possible = space.size // space.sizes[k] if code in space.allowed[k] else 0
            coverage.append(ValueCoverage(odd.names[k], v.name, n, n / total if total else 0.0, int(hit.sum()), possible))
    pairs = sum(space.sizes[a] * space.sizes[b] for a, b in combinations(dims, 2))
    order = lambda f: (-f.low, -f.n, f.dimensions, f.values)  # noqa: E731
    return Triage(
        n=total,
        slices=len(table.n),
        error=error,
        low=low,
        high=high,
        by_value=tuple(sorted(by_value, key=order)),
        by_pair=tuple(sorted(by_pair, key=order)),
        coverage=tuple(coverage),
        pairs_tested=len(by_pair),
        pairs_possible=pairs,
        left_out=seed.total - total,
    )


def _failures(table: SeedTable, dims: tuple[int, ...], overall: float) -> list[Failure]:
    odd = table.odd
    key: npt.NDArray[np.int64] = np.zeros(len(table.n), dtype=np.int64)
    for k in dims:
        key = key * odd.codec.sizes[k] + table.codes[:, k]
    out = []
    for value in np.unique(key).tolist():
        hit = key == value
        n = int(table.n[hit].sum())
        error = float((table.error[hit] * table.n[hit]).sum() / n)
        first = table.codes[np.flatnonzero(hit)[0]]
        low, high = wilson(error, n)
        out.append(
            Failure(
                tuple(odd.names[k] for k in dims),
                tuple(odd.codec.values[k][first[k]] for k in dims),
                int(hit.sum()),
                n,
                error,
                low,
                high,
                error - overall,
            )
        )
    return out
