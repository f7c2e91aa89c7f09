"""Rows that need a decision: grouped by problem, with what may be done about each; and the decisions, applied to a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.errors import InputError, Problem
from core.odd import Odd
from core.operators.table import Prepared
from core.seed_table import EXCLUDE, CheckReport, Rejection
from core.seed_table.table import Ints

ADD, LEAVE_OUT = "(add to the ODD)", "(leave out)"
"""Said instead of a value: take the text itself as a new value, or leave the rows out."""
_VALUE_KINDS = ("unknown_value", "ambiguous_value")
_SHOWN, _TEXTS = 3, 3
_WHY = {
    "empty": "Empty cell",
    "out_of_range": "Outside 0 to 1; never clamped",
    "not_a_number": "Not a number",
    "zero_count": "No sample behind it",
    "negative_count": "A count below 0",
    "fractional_count": "Not a whole number",
    "count_too_large": "Too large for a count",
    "ambiguous_number": "Two readings are possible",
    "broken_row": "Cannot be split into cells",
}


@dataclass(frozen=True, eq=False)
class Fix:
    """One problem that several rows share.

    Attributes:
        key: Stable name of the problem within its file.
        dimension: Dimension whose value it is, "" for any other problem; those rows can only be left out.
        text: The text of the file, for a value.
        column: Column of the file.
        got: What stands there, for people.
        numbers: Record numbers, ascending.
        use: Value to read it as, "" if none is near.
        safe: Whether that is a plain slip, which may be applied unasked.
        why: The reason, for people.
    """

    key: str
    dimension: str
    text: str
    column: str
    got: str
    numbers: Ints
    use: str
    safe: bool
    why: str

    @property
    def rows(self) -> str:
        """Record numbers in short: "14, 88, 90 and 12 more", "1,207 to 1,216"."""
        n = self.numbers
        if n.size > _SHOWN and int(n[-1] - n[0]) == n.size - 1:
            return f"{n[0]:,} to {n[-1]:,}"
        more = f" and {n.size - _SHOWN:,} more" if n.size > _SHOWN else ""
        return ", ".join(f"{i:,}" for i in n[:_SHOWN].tolist()) + more


def fixes(report: CheckReport) -> tuple[Fix, ...]:
    """The problems of a report that are not decided yet, most rows first.

    A text that is no value is a problem of its own; other problems are grouped by column and kind.
    """
    of_column = {c: d for d, c in report.plan.columns.items()}
    out, grouped = [], dict[tuple[str, str], list[Rejection]]()
    for r in report.rejections:
        p = r.problem
        if p.kind in _VALUE_KINDS:
            why = r.why or "No value is near"
            key = f"{p.column}|{p.kind}|{p.got}"
            out.append(Fix(key, of_column[p.column], p.got, p.column, p.got, r.numbers, p.suggestion, r.safe, why))
        elif p.kind != "excluded":
            grouped.setdefault((p.column, p.kind), []).append(r)
    for (column, kind), items in grouped.items():
        texts = list(dict.fromkeys(r.problem.got for r in items))
        got = ", ".join(texts[:_TEXTS]) + (f" and {len(texts) - _TEXTS:,} more" if len(texts) > _TEXTS else "")
        numbers = np.unique(np.concatenate([r.numbers for r in items]))
        out.append(Fix(f"{column}|{kind}", "", "", column, got, numbers, "", False, _WHY.get(kind, items[0].problem.allowed)))
    return tuple(sorted(out, key=lambda f: (not f.dimension, -f.numbers.size, f.key)))


def undecided(found: Iterable[Fix]) -> Ints:
    """Record numbers of all rows of some problems, each once."""
    numbers = [f.numbers for f in found]
    merged: npt.NDArray[np.int64] = np.unique(np.concatenate(numbers)) if numbers else np.empty(0, dtype=np.int64)
    return merged


@dataclass(frozen=True)
class Decided:
    """What decisions amount to: `value_map` and `added` by dimension, and the keys of problems whose rows are left out knowingly."""

    value_map: dict[str, dict[str, str]]
    added: dict[str, list[str]]
    left_out: tuple[str, ...]


def decide(odd: Odd, chosen: Sequence[tuple[Fix, str]], before: Decided) -> Decided:
    """Adds decisions to earlier ones.

    Args:
        odd: Holds the values that may be used.
        chosen: Each problem with a value of its dimension, `ADD` or `LEAVE_OUT`.
        before: What was decided before.

    Raises:
        InputError: A value does not belong to its dimension, or nothing was chosen; nothing is decided then.
    """
    value_map = {d: dict(m) for d, m in before.value_map.items()}
    added = {d: list(v) for d, v in before.added.items()}
    left_out = list(before.left_out)
    problems = []
    for fix, use in chosen:
        allowed: Mapping[str, object] = odd.by_name[fix.dimension].by_name if fix.dimension else {}
        if use == LEAVE_OUT:
            if fix.dimension:
                value_map.setdefault(fix.dimension, {})[fix.text] = EXCLUDE
            else:
                left_out.append(fix.key)
        elif use == ADD and fix.dimension:
            added.setdefault(fix.dimension, []).append(fix.text)
        elif use in allowed:
            value_map.setdefault(fix.dimension, {})[fix.text] = use
        else:
            names = ", ".join([*allowed, *([ADD] if fix.dimension else []), LEAVE_OUT])
            problems.append(Problem(None, fix.column, use, names, fix.use, "decision"))
    if problems:
        raise InputError("These decisions cannot be applied; choose what to use in their rows.", problems)
    return Decided(value_map, {d: list(dict.fromkeys(v)) for d, v in added.items()}, tuple(dict.fromkeys(left_out)))


def rejected_rows(prepared: Prepared, report: CheckReport) -> bytes:
    """The rejected records as they stand in the file, as CSV, each with its reasons."""
    reasons: dict[int, list[str]] = {}
    for p in report.problems():
        reasons.setdefault(p.row or 0, []).append(str(p))
    numbers = sorted(reasons)
    return prepared.file.rows_as_csv(numbers, [" ".join(reasons[i]) for i in numbers])
