"""Proposes which column holds what, from names, synonyms and contents. The user confirms."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from math import prod

import numpy as np

from core.odd import Odd
from core.seed_table.plan import ImportPlan
from core.seed_table.reading import RawColumn, RawTable
from core.seed_table.scores import parse_numbers, read_scores
from core.seed_table.values import ValueReader, normal

ROLE_NAMES: dict[str, tuple[str, ...]] = {
    "score": (
        "score", "judge score", "llm score", "mean score", "driving score", "accuracy", "acc", "correct", "correctness",
        "is correct", "result", "rating", "reward", "y", "mean", "mean accuracy", "success",
    ),
    "count": ("n", "count", "samples", "n samples", "num samples", "sample count", "support", "n rows", "num examples"),
    "model_column": ("model", "model name", "model id", "vlm", "system"),
    "source_column": ("dataset", "source", "source dataset", "data source", "benchmark"),
    "qa_column": ("qa type", "question type", "qa", "answer type", "format"),
    "sample_column": ("sample id", "id", "uid", "question id", "qa id", "image id", "frame id", "sample", "example id", "route id"),
    "truth": ("truth", "ground truth", "gt", "label", "answer", "target", "class", "expected", "reference"),
    "predicted": ("predicted", "prediction", "pred", "response", "output", "model answer"),
}  # fmt: skip
"""Usual names of the columns that are not dimensions, most telling first; compared without case and separators."""

CONTENT = 0.5
"""Share of rows that must read as values of a dimension before content alone proposes a column."""
FEW_VALUES = 20
"""A column with at most this many distinct texts is proposed as a dimension of an inferred ODD."""
FLAGS = 3
"""Numbers with more distinct values than this are a measurement, not a category such as 0 and 1."""
MOST_SLICES = 1_000_000
"""The dimensions that are proposed for an inferred ODD span at most this many slices."""


def propose_plan(head: RawTable, odd: Odd | None) -> ImportPlan:
    """A plan for a file.

    Args:
        head: The first rows of the file, all columns.
        odd: The ODD to map to; None proposes no dimension.

    Returns:
        A plan whose undecided parts are empty.
    """
    columns = dict(head.columns)
    dims = _dimensions(columns, odd) if odd is not None else {}
    free = [c for c in columns if c not in dims.values()]
    roles: dict[str, str] = {}
    for role, names in ROLE_NAMES.items():
        if role in ("truth", "predicted") and roles.get("score"):
            continue
        found = next((c for c in _named(free, names) if _fits(role, columns[c])), "")
        if found:
            roles[role] = found
            free.remove(found)
    if not (roles.get("truth") and roles.get("predicted")):
        roles.pop("truth", None)
        roles.pop("predicted", None)
    return ImportPlan.model_validate({"columns": dims, **roles})


def dimension_candidates(table: RawTable, plan: ImportPlan) -> list[str]:
    """Columns that could be dimensions of an inferred ODD, in the order of the table.

    A candidate has a few distinct texts, no other role in the plan, and is no measurement: numbers with more than `FLAGS`
    distinct values must be binned before they are categories. Where all candidates together span more than `MOST_SLICES`
    slices, those with the most values are left out until they do not, so that what is proposed can be ranked.
    """
    taken = set(plan.used_columns()) - set(plan.columns.values())
    sizes = {c: len(col.values) for c, col in table.columns.items() if c not in taken and 2 <= len(col.values) <= FEW_VALUES}
    found = [c for c in sizes if not _measured(table.columns[c])]
    while prod(sizes[c] for c in found) > MOST_SLICES:
        found.remove(max(reversed(found), key=sizes.__getitem__))
    return found


def _named(columns: Iterable[str], names: tuple[str, ...]) -> list[str]:
    """The columns that bear one of the names, most telling name first."""
    known = {normal(c): c for c in reversed(list(columns))}
    return [known[name] for name in names if name in known]


def _fits(role: str, column: RawColumn) -> bool:
    """Whether the contents can be what the name promises."""
    if role == "score":
        reading = read_scores(column.values, np.bincount(column.codes[column.codes >= 0], minlength=len(column.values)))
        return bool(len(column.values)) and bool(np.isfinite(reading.values).mean() >= CONTENT)
    if role == "count":
        return bool(len(column.values)) and bool(np.isfinite(parse_numbers(column.values)).mean() >= CONTENT)
    return True


def _measured(column: RawColumn) -> bool:
    """Whether the texts are measurements: numbers, and fractions among them or more than a flag distinguishes."""
    numbers = parse_numbers(column.values)
    return bool(np.isfinite(numbers).all()) and (len(numbers) > FLAGS or bool((numbers != np.floor(numbers)).any()))


def _dimensions(columns: dict[str, RawColumn], odd: Odd) -> dict[str, str]:
    """Best one-to-one assignment of columns to dimensions, greedily by name and content."""
    scored = []
    for d in odd.dimensions:
        reader = ValueReader(d)
        for c, column in columns.items():
            name = max(difflib.SequenceMatcher(None, normal(c), normal(x)).ratio() for x in (d.name, d.label))
            rows = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
            read = [reader.knows(t) for t in column.texts()] if len(column.values) <= 500 else []
            content = float(rows[: len(read)][np.array(read, dtype=bool)].sum() / max(rows.sum(), 1)) if read else 0.0
            if name == 1.0 or content >= CONTENT:
                scored.append((2 * (name == 1.0) + name + content, d.name, c))
    out: dict[str, str] = {}
    for _, d_name, c in sorted(scored, key=lambda x: (-x[0], odd.names.index(x[1]), x[2])):
        if d_name not in out and c not in out.values():
            out[d_name] = c
    return {d: out[d] for d in odd.names if d in out}
