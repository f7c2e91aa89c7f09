"""What a user must know of a checked table beyond its rejected rows: notable readings, repeats, and the inventory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from core.seed_table.plan import ImportPlan
from core.seed_table.raw import RawTable
from core.seed_table.report import CheckReport, InventoryRow
from core.seed_table.scores import SCALE_TEXT
from core.seed_table.table import Floats, Ints

LOOKS_MISSING = frozenset({"na", "n/a", "none", "null", "nan", "-", "?", "missing"})
"""Words that some tools turn into missing values; here they stay values unless the plan says otherwise."""
MAX_INVENTORY = 500
"""A source or question column with more distinct texts names no sources; an inventory of it would be a list of rows."""

Mask = npt.NDArray[np.bool_]


def inventory(raw: RawTable, plan: ImportPlan, good: Mask, ids: Ints) -> tuple[InventoryRow, ...]:
    """Accepted rows and their distinct slices per source and question type (SliceNav, Table 5).

    Args:
        raw: The table.
        plan: Names the two columns; none gives no inventory.
        good: (R,) accepted rows.
        ids: (A,) slice of each accepted row.
    """
    names = [plan.source_column, plan.qa_column]
    if not any(names) or too_many_sources(raw, plan) or not ids.size:
        return ()
    keys, labels = np.zeros(ids.size, dtype=np.int64), []
    for name in names:
        column = raw.columns.get(name)
        texts = [*column.texts(), "(empty)"] if column is not None else [""]
        labels.append(texts)
        part = column.codes[good].astype(np.int64) % len(texts) if column is not None else 0  # -1 becomes the last text
        keys = keys * len(texts) + part
    groups, index, rows = np.unique(keys, return_inverse=True, return_counts=True)
    found, slot = np.unique(ids, return_inverse=True)
    pairs = np.unique(index * found.size + slot)
    slices = np.bincount(pairs // found.size, minlength=groups.size)
    out = [
        InventoryRow(labels[0][key // len(labels[1])], labels[1][key % len(labels[1])], int(n), int(s))
        for key, n, s in zip(groups.tolist(), rows, slices, strict=True)
    ]
    return tuple(sorted(out, key=lambda r: (r.source, r.qa_type)))


def too_many_sources(raw: RawTable, plan: ImportPlan) -> str:
    """The source or question column that names too many sources, "" if there is none."""
    named = [c for c in (plan.source_column, plan.qa_column) if c]
    return next((c for c in named if len(raw.columns[c].values) > MAX_INVENTORY), "")


def warnings_of(report: CheckReport, raw: RawTable, good: Mask, ids: Ints, scores: Floats) -> tuple[str, ...]:
    """Sentences that a user must see.

    Args:
        report: The report so far.
        raw: The table.
        good: (R,) accepted rows.
        ids: (A,) slice of each accepted row.
        scores: (A,) its score.
    """
    return (*_of_scores(report, ids, scores), *_of_values(report), *_of_rows(report, raw, good))


def _of_scores(report: CheckReport, ids: Ints, scores: Floats) -> Iterator[str]:
    plan, seed = report.plan, report.seed
    if report.score is not None and plan.scale != "unit":
        yield f'Scores in "{plan.score}" are read as {SCALE_TEXT[report.score.scale]}. {report.score.evidence}'
    if seed.n_assumed:
        yield f"The file gives no counts: n = {plan.assume_n} was assumed for each row, so intervals and support rest on that."
    slices = len(seed.n)
    if plan.shape == "slices" and slices < ids.size:
        yield f"{ids.size:,} rows name {slices:,} slices; rows of one slice were pooled, weighted by n."
    if plan.shape == "samples" and ids.size > 1 and slices == ids.size and not np.isin(scores, (0, 1)).all():
        yield (
            "Every slice has exactly one row. If a row is a slice and not a sample, "
            "name its count column (--count) or assume n (--assume-n)."
        )
    if slices > 1 and (seed.mean == seed.mean[0]).all():
        yield f"Every slice has the same mean score ({seed.mean[0]:.4g}), so errors cannot tell one slice from another."


def _of_values(report: CheckReport) -> Iterator[str]:
    if report.odd.source == "inferred":  # a declared ODD that names the word means it
        for d, found in report.readings.items():
            for r, n in found:
                if r.ok and r.text.casefold() in LOOKS_MISSING and r.how == "exact":
                    yield (
                        f'Column "{report.plan.columns[d]}" holds the word "{r.text}" in {n:,} rows; it is kept as a value. '
                        f'Say so if it means "no value" (--missing-word {r.text}).'
                    )
    seed, outside = report.seed, ~report.seed.in_base
    if outside.any():
        yield (
            f"{int(outside.sum()):,} slices ({int(seed.n[outside].sum()):,} samples) hold values outside the base ODD; "
            "they are kept in the table but do not count as in-ODD evidence."
        )


def _of_rows(report: CheckReport, raw: RawTable, good: Mask) -> Iterator[str]:
    plan = report.plan
    if plan.sample_column:
        samples = raw.columns[plan.sample_column].codes[good]
        named = samples[samples >= 0]
        twice = named.size - np.count_nonzero(np.bincount(named))
        if twice:
            yield f'{twice:,} rows repeat an id of column "{plan.sample_column}"; all were kept. Are they the same samples twice?'
    if crowded := too_many_sources(raw, plan):
        yield f'Column "{crowded}" names {len(raw.columns[crowded].values):,} sources or question types; no inventory was made of it.'
    if report.other_models:
        yield f"{report.other_models:,} rows of other models were left aside; this table is {plan.model}."
