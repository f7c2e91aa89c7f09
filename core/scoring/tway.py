"""Combinatorial coverage: which combinations of t values were tested together, and which a list of slices would add.

The measure of test engineering (t-way or combinatorial coverage): share of the value pairs (t = 2) or triples (t = 3) that stand in at
least one tested slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt

from core.odd import Codes, SliceSpace

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Combination:
    """Coverage of the value combinations of t dimensions.

    Attributes:
        dimensions: Their names.
        possible: Combinations of their values in the space.
        covered: Combinations in at least one tested slice.
        added: Further ones in at least one slice of the list.
        still_open: The first few that are in neither, as value names, in the order of the ids.
    """

    dimensions: tuple[str, ...]
    possible: int
    covered: int
    added: int
    still_open: tuple[tuple[str, ...], ...]

    @property
    def open(self) -> int:
        """Combinations in no slice, of either."""
        return self.possible - self.covered - self.added


@dataclass(frozen=True)
class TWay:
    """Coverage over every choice of t dimensions.

    Attributes:
        t: Values that are taken together.
        possible, covered, added: Totals over the combinations.
        combinations: One per choice of dimensions, in the order of the ODD.
        slices, listed: Tested slices and slices of the list that were counted.
    """

    t: int
    possible: int
    covered: int
    added: int
    combinations: tuple[Combination, ...]
    slices: int
    listed: int

    @property
    def open(self) -> int:
        """Combinations in no slice."""
        return self.possible - self.covered - self.added


def tway(observed: Codes, listed: Codes, space: SliceSpace, dims: Sequence[int], t: int, few: int = 3) -> TWay:
    """Exact t-way coverage of the values of a space.

    A slice counts for every t of its values that the space allows, whatever its other values are.

    Args:
        observed: (S, D) tested slices.
        listed: (K, D) slices of a list that is looked at as if it were tested next.
        space: The values that are to be covered.
        dims: Positions of the dimensions that count.
        t: Values taken together; with fewer dimensions than t there is nothing to cover.
        few: Open combinations that are named per choice of dimensions.

    Raises:
        ValueError: t is below 1.
    """
    if t < 1:
        raise ValueError(f"t must be at least 1; got {t}.")
    codec = space.codec
    place = {k: np.full(codec.sizes[k], -1, dtype=np.int64) for k in dims}
    for k, at in place.items():
        at[space.allowed[k]] = np.arange(len(space.allowed[k]))
    tested, new = ({k: at[codes[:, k]] for k, at in place.items()} for codes in (observed, listed))
    out = []
    for chosen in combinations(dims, t):
        sizes = [len(space.allowed[k]) for k in chosen]
        have = _seen(tested, chosen, sizes)
        more = np.setdiff1d(_seen(new, chosen, sizes), have, assume_unique=True)
        names = tuple(codec.dimensions[k] for k in chosen)
        missing = _missing(np.union1d(have, more), prod(sizes), few)
        named = tuple(
            tuple(codec.values[k][space.allowed[k][i]] for k, i in zip(chosen, key, strict=True)) for key in _digits(missing, sizes)
        )
        out.append(Combination(names, prod(sizes), len(have), len(more), named))
    totals = (sum(c.possible for c in out), sum(c.covered for c in out), sum(c.added for c in out))
    return TWay(t, *totals, tuple(out), len(observed), len(listed))


def _seen(columns: dict[int, Ints], chosen: tuple[int, ...], sizes: list[int]) -> Ints:
    """The combinations in any slice, as numbers, ascending."""
    slices = len(columns[chosen[0]])
    key, ok = np.zeros(slices, dtype=np.int64), np.ones(slices, dtype=bool)
    for k, size in zip(chosen, sizes, strict=True):
        key = key * size + columns[k]
        ok &= columns[k] >= 0
    return np.unique(key[ok])


def _missing(sorted_keys: Ints, possible: int, few: int) -> Ints:
    """The first few numbers below `possible` that are not among the keys: they lie among the first len(keys) + few."""
    return np.setdiff1d(np.arange(min(possible, len(sorted_keys) + few)), sorted_keys)[:few]


def _digits(keys: Ints, sizes: list[int]) -> list[tuple[int, ...]]:
    """Numbers as places of values, the last dimension fastest."""
    out = []
    for key in keys.tolist():
        digits = []
        for size in reversed(sizes):
            key, digit = divmod(key, size)
            digits.append(digit)
        out.append(tuple(reversed(digits)))
    return out
