"""What became of every row of a file that was read as a seed table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.errors import Problem
from core.odd import Odd
from core.seed_table.plan import ImportPlan
from core.seed_table.scores import ScoreReading
from core.seed_table.table import Ints, SeedTable
from core.seed_table.values import Reading


@dataclass(frozen=True, eq=False)
class Rejection:
    """Rows that are left out for one reason.

    Attributes:
        problem: What is wrong, without a row number.
        numbers: Record numbers of the rows, ascending.
        safe: Whether the suggestion is a plain slip that may be applied unasked.
        why: Reason behind the suggestion, for people.
    """

    problem: Problem
    numbers: Ints
    safe: bool = False
    why: str = ""


@dataclass(frozen=True)
class InventoryRow:
    """Accepted rows of one source dataset and question type (SliceNav, Table 5)."""

    source: str
    qa_type: str
    rows: int
    slices: int


@dataclass(frozen=True, eq=False)
class CheckReport:
    """What became of every row of the file.

    Attributes:
        odd: The ODD that the rows were read against.
        plan: The decisions, with the scale that was recognised filled in.
        seed: Tested slices made from the accepted rows.
        rows: Records in the file, readable or not.
        accepted: Rows that the table rests on.
        other_models: Rows of models that were not chosen.
        models: Rows of each model named in the model column.
        rejections: Rows left out, grouped by problem; a row may have several problems.
        rejected: Record numbers left out, each once.
        readings: For each mapped dimension, the distinct texts with their rows and what they were read as.
        score: How the scores were read, None where they were made from truth and prediction.
        inventory: Rows and slices per source and question type; empty where the file names neither.
        warnings: Sentences that a user must see.
    """

    odd: Odd
    plan: ImportPlan
    seed: SeedTable
    rows: int
    accepted: int
    other_models: int
    models: dict[str, int]
    rejections: tuple[Rejection, ...]
    rejected: Ints
    readings: dict[str, tuple[tuple[Reading, int], ...]]
    score: ScoreReading | None
    inventory: tuple[InventoryRow, ...]
    warnings: tuple[str, ...]

    def problems(self) -> Iterator[Problem]:
        """Every problem of every rejected row, by row."""
        groups = sorted(self.rejections, key=lambda r: (r.problem.column, r.problem.kind, r.problem.got))
        if not groups:
            return
        numbers = np.concatenate([r.numbers for r in groups])
        group = np.repeat(np.arange(len(groups)), [r.numbers.size for r in groups])
        order = np.argsort(numbers, kind="stable")  # a million bad rows are sorted here, and told only as far as somebody reads on
        for number, g in zip(numbers[order], group[order], strict=True):
            yield replace(groups[g].problem, row=int(number))

    @property
    def problem_count(self) -> int:
        """Number of problems; a row may have several."""
        return sum(int(r.numbers.size) for r in self.rejections)

    @property
    def observed(self) -> int:
        """Tested slices inside the ODD."""
        return int(self.seed.in_base.sum())

    @property
    def missing(self) -> int:
        """Slices of the ODD without a single sample."""
        return self.odd.base_space.size - self.observed

    def summary(self) -> dict[str, Any]:
        """Counts for the manifest and the store."""
        return {
            "rows": self.rows,
            "accepted": self.accepted,
            "rejected": int(self.rejected.size),
            "rejected_by_kind": _by_kind(self.rejections),
            "other_models": self.other_models,
            "models": self.models,
            "observed_slices": self.observed,
            "missing_slices": self.missing,
            "outside_odd_slices": int((~self.seed.in_base).sum()),
            "outside_odd_samples": int(self.seed.n[~self.seed.in_base].sum()),
            "score_scale": self.plan.scale,
            "n_assumed": self.seed.n_assumed,
            "inventory": [vars(r) for r in self.inventory],
            "warnings": list(self.warnings),
        }


def _by_kind(rejections: Sequence[Rejection]) -> dict[str, int]:
    out: dict[str, int] = {}
    for r in rejections:
        out[r.problem.kind] = out.get(r.problem.kind, 0) + int(r.numbers.size)
    return dict(sorted(out.items()))
