"""Two seed tables side by side: which slices both hold, and where the second one fails more."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from core.errors import InputError
from core.scoring import wilson
from core.seed_table import SeedTable


@dataclass(frozen=True)
class SidePair:
    """A slice that both tables hold.

    Attributes:
        slice: Its values by dimension.
        n: Samples in the first and in the second table.
        error: Error rates.
        low: Lower ends of their Wilson intervals.
        high: Upper ends.
        change: Second error minus first; above 0 the second table is worse.
        change_low: Lower end of the 95 % interval of the change (Newcombe's, made of the two Wilson intervals).
        change_high: Its upper end.
    """

    slice: Mapping[str, str]
    n: tuple[int, int]
    error: tuple[float, float]
    low: tuple[float, float]
    high: tuple[float, float]
    change: float
    change_low: float
    change_high: float


@dataclass(frozen=True)
class Comparison:
    """Two tables compared.

    Attributes:
        both: Slices in both, the largest worsening first.
        only_first: Number of slices of the first table alone.
        only_second: Number of slices of the second table alone.
        same_odd: Whether both rest on the same ODD; otherwise slices are matched by the names of their values.
        n_assumed: Whether counts of either were named by a person, so that intervals rest on that.
    """

    both: tuple[SidePair, ...]
    only_first: int
    only_second: int
    same_odd: bool
    n_assumed: bool


def compare(first: SeedTable, second: SeedTable) -> Comparison:
    """Compares two tables slice by slice.

    Raises:
        InputError: Their dimensions differ, so that their slices are not the same things.
    """
    names = first.odd.names
    if set(names) != set(second.odd.names):
        raise InputError(
            f"These tables cannot be compared: one has the dimensions {', '.join(names)}, the other {', '.join(second.odd.names)}."
        )
    one, two = _rows(first, names), _rows(second, names)
    both = [_pair(dict(zip(names, s, strict=True)), one[s], two[s]) for s in one if s in two]
    both.sort(key=lambda p: (-p.change, tuple(p.slice.values())))
    assumed = first.n_assumed or second.n_assumed
    return Comparison(tuple(both), len(one) - len(both), len(two) - len(both), first.odd.hash == second.odd.hash, assumed)


def _rows(table: SeedTable, names: tuple[str, ...]) -> dict[tuple[str, ...], tuple[int, float]]:
    order = [table.odd.names.index(d) for d in names]
    slices = table.odd.codec.names(table.codes)
    return {tuple(s[k] for k in order): (n, e) for s, n, e in zip(slices, table.n.tolist(), table.error.tolist(), strict=True)}


def _pair(values: Mapping[str, str], a: tuple[int, float], b: tuple[int, float]) -> SidePair:
    (n1, e1), (n2, e2) = a, b
    (l1, u1), (l2, u2) = wilson(e1, n1), wilson(e2, n2)
    change = e2 - e1
    low = change - math.hypot(e2 - l2, u1 - e1)
    high = change + math.hypot(u2 - e2, e1 - l1)
    return SidePair(values, (n1, n2), (e1, e2), (l1, l2), (u1, u2), change, low, high)
