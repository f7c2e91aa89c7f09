"""Tiny ODDs, seeds and tasks, small enough to be computed by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from core.benchmark import Task
from core.odd import Codes, Odd, infer_odd
from core.scoring import Scope, ScoringParameters
from core.seed_table import SeedTable
from core.similarity import exact_similarity

Cells = Mapping[tuple[str, ...], tuple[int, float]]
"""Slices by their values, with n and error."""


@pytest.fixture
def odd() -> Odd:
    """Six slices: time × weather."""
    return infer_odd({"time": ["day", "night"], "weather": ["clear", "fog", "rain"]})


@pytest.fixture
def make_table() -> Callable[[Odd, Cells], SeedTable]:
    """A table from slices with n and error."""

    def make(odd: Odd, cells: Cells) -> SeedTable:
        slices = [dict(zip(odd.names, s, strict=True)) for s in cells]
        return SeedTable.from_slices(odd, slices, [n for n, _ in cells.values()], [1 - e for _, e in cells.values()])

    return make


@pytest.fixture
def make_task() -> Callable[..., Task]:
    """A task over all missing slices, with the share of equal values as similarity."""

    def make(seed: SeedTable, budgets: Sequence[int] = (1, 2), codes: Codes | None = None, **params: object) -> Task:
        odd = seed.odd
        if codes is None:
            everything = np.concatenate(list(odd.base_space.chunks()))
            codes = everything[~np.isin(odd.codec.encode(everything), seed.ids)]
        similarity = exact_similarity(odd, odd.active)
        return Task(seed, ScoringParameters(**params), similarity, Scope(), codes, tuple(budgets))  # type: ignore[arg-type]

    return make


@pytest.fixture
def listed() -> Callable[[Task, np.ndarray], list[tuple[str, ...]]]:
    """The slices of a list by name."""
    return lambda task, order: task.odd.codec.names(task.codes[order])
