"""The single accepted records of a file, for what needs more than slices: shared samples, resampling, a split in halves."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from core.errors import InputError, Problem
from core.odd import Odd
from core.seed_table.aggregate import aggregate
from core.seed_table.check import Mask, near, read_rows
from core.seed_table.plan import ImportPlan
from core.seed_table.reading import RawColumn, TableFile
from core.seed_table.table import Floats, Ints, SeedTable


@dataclass(frozen=True, eq=False)
class AcceptedRows:
    """The records that a seed table rests on.

    Attributes:
        odd: Numbers the slices.
        ids: (R,) slice of each.
        scores: (R,) scores in [0, 1].
        counts: (R,) samples behind each; None where each is one sample.
        n_assumed: Whether the counts were named by the user.
        samples: What identifies the sample of each record, None where the plan names no such column.
        key: A further column that was asked for.
    """

    odd: Odd
    ids: Ints
    scores: Floats
    counts: Ints | None
    n_assumed: bool
    samples: RawColumn | None
    key: RawColumn | None = None

    def sample_ids(self) -> frozenset[str]:
        """Distinct sample ids; empty where there are none."""
        return frozenset() if self.samples is None else frozenset(self.samples.values.take(_used(self.samples)).to_pylist())

    def table(self, mask: Mask | None = None) -> SeedTable:
        """The slices of all records, or of those of a mask (R,)."""
        pick = slice(None) if mask is None else mask
        return aggregate(self.odd, self.ids[pick], self.scores[pick], None if self.counts is None else self.counts[pick], self.n_assumed)

    def select(self, mask: Mask) -> AcceptedRows:
        """The records of a mask (R,)."""

        def cut(column: RawColumn | None) -> RawColumn | None:
            return None if column is None else RawColumn(column.codes[mask], column.values)

        counts = None if self.counts is None else self.counts[mask]
        return AcceptedRows(self.odd, self.ids[mask], self.scores[mask], counts, self.n_assumed, cut(self.samples), cut(self.key))

    def scores_of(self, slices: Ints) -> Floats | None:
        """The single scores of some slices, slice by slice in their order; None where records are not samples.

        Args:
            slices: (U,) ids, ascending, each with a record.
        """
        if self.counts is not None:
            return None
        wanted = np.flatnonzero(np.isin(self.ids, slices))
        return self.scores[wanted[np.argsort(self.ids[wanted], kind="stable")]]


def _used(column: RawColumn) -> Ints:
    return np.unique(column.codes[column.codes >= 0]).astype(np.int64)


def accepted_rows(file: TableFile, odd: Odd, plan: ImportPlan, key: str = "") -> AcceptedRows:
    """The records of a file that `check_table` accepts under the same plan.

    Args:
        file: The opened file.
        odd: The ODD.
        plan: The plan.
        key: A further column to keep.

    Raises:
        InputError: The plan cannot work, or the column does not exist.
    """
    if key and key not in file.columns:
        raise InputError(
            "There is no such column:", [Problem(None, key, key, f"one of {', '.join(file.columns)}", near(key, file.columns))]
        )
    rows = read_rows(file, odd, plan, [key] if key else [])

    def kept(name: str) -> RawColumn | None:
        return RawColumn(rows.raw.columns[name].codes[rows.good], rows.raw.columns[name].values) if name else None

    assumed = rows.plan.assume_n is not None
    return AcceptedRows(odd, rows.ids, rows.scores, rows.counts, assumed, kept(plan.sample_column), kept(key))


def halves(rows: AcceptedRows, seed: int = 0) -> Mask:
    """Which records go to the second half, by a hash of the key, so that records of one key stay together in whatever order they come.

    Args:
        rows: With a key.
        seed: Another number splits otherwise.

    Raises:
        InputError: A key is empty, or a half would be.
        ValueError: The rows have no key.
    """
    if rows.key is None:
        raise ValueError("The rows have no key to split by.")
    empty = int((rows.key.codes < 0).sum())
    if empty:
        raise InputError(f"{empty:,} accepted rows are empty in the column to split by, so they belong to no half.")
    side = np.array([hashlib.sha256(f"{seed}|{t}".encode()).digest()[0] & 1 for t in rows.key.texts()], dtype=bool)
    second = side[rows.key.codes]
    if second.all() or not second.any():
        raise InputError("All rows fall into one half: the column to split by needs several values.")
    return second
