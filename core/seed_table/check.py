"""Checks a file against an ODD and a plan: every bad row named, every exclusion counted, the rest aggregated to slices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.errors import InputError, Problem
from core.odd import Dimension, Odd
from core.seed_table.aggregate import aggregate
from core.seed_table.plan import EXCLUDE, ImportPlan
from core.seed_table.reading import RawColumn, RawTable, TableFile
from core.seed_table.remarks import inventory, warnings_of
from core.seed_table.report import CheckReport, Rejection
from core.seed_table.scores import SCALE_TEXT, ScoreReading, parse_numbers, read_scores
from core.seed_table.table import Floats, Ints
from core.seed_table.values import Reading, ValueReader

Mask = npt.NDArray[np.bool_]


class _Rejected:
    """Collects rejections and the mask of rows that are still good."""

    def __init__(self, raw: RawTable, keep: Mask) -> None:
        self.numbers, self.keep = raw.numbers.astype(np.int64), keep
        self.good: Mask = keep.copy()
        self.items: list[Rejection] = []

    def add(self, bad: Mask, problem: Problem) -> None:
        """Rejects the kept rows of a mask (R,) for one reason."""
        hit = bad & self.keep
        if hit.any():
            self.items.append(Rejection(problem, self.numbers[hit]))
            self.good &= ~hit

    def add_texts(self, codes: npt.NDArray[np.int32], reasons: Mapping[int, tuple[Problem, bool, str]]) -> None:
        """Rejects the kept rows that hold certain distinct texts, each text for its own reason, in one pass over the rows."""
        if not reasons:
            return
        named = np.zeros(max(int(codes.max(initial=-1)), *reasons) + 2, dtype=bool)
        named[list(reasons)] = True
        rows = np.flatnonzero(named[codes] & self.keep)
        rows = rows[np.argsort(codes[rows], kind="stable")]
        for group in np.split(rows, np.flatnonzero(np.diff(codes[rows])) + 1):
            if group.size:
                problem, safe, why = reasons[int(codes[group[0]])]
                self.items.append(Rejection(problem, self.numbers[group], safe, why))
        self.good[rows] = False


def check_table(file: TableFile, odd: Odd, plan: ImportPlan) -> CheckReport:
    """Reads, checks and aggregates a file.

    Args:
        file: The opened file.
        odd: The ODD whose values the rows must hold.
        plan: Columns, scale, counts and single decisions.

    Raises:
        InputError: The plan cannot work at all: a dimension without a column, no score, an undecided scale or model.
    """
    rows = read_rows(file, odd, plan)
    raw, plan, out, reading, good, ids = rows.raw, rows.plan, rows.out, rows.reading, rows.good, rows.ids
    seed = aggregate(odd, ids, rows.scores, rows.counts, plan.assume_n is not None)
    if reading is not None:
        plan = plan.model_copy(update={"scale": reading.scale})
    broken = tuple(
        Rejection(Problem(None, p.column, p.got, p.allowed, p.suggestion, p.kind), np.array([p.row or 0], dtype=np.int64))
        for p in raw.broken
    )
    rejections = (*out.items, *broken)
    rejected = np.unique(np.concatenate([r.numbers for r in rejections])) if rejections else np.empty(0, dtype=np.int64)
    report = CheckReport(
        odd=odd,
        plan=plan,
        seed=seed,
        rows=raw.rows + len(raw.broken),
        accepted=int(good.sum()),
        other_models=int((~out.keep).sum()),
        models=rows.models,
        rejections=rejections,
        rejected=rejected,
        readings=rows.readings,
        score=reading,
        inventory=inventory(raw, plan, good, ids),
        warnings=(),
    )
    return replace(report, warnings=warnings_of(report, raw, good, ids, rows.scores))


@dataclass(frozen=True, eq=False)
class Rows:
    """The records of a file as they were understood.

    Attributes:
        raw: All readable records.
        plan: The plan with the model filled in.
        models: Rows of each model.
        out: What is wrong with rows.
        readings: See `CheckReport`.
        reading: How the scores were read.
        good: (rows,) records without a problem.
        ids, scores, counts: Slice, score and samples of each good record; no counts where each is one sample.
    """

    raw: RawTable
    plan: ImportPlan
    models: dict[str, int]
    out: _Rejected
    readings: dict[str, tuple[tuple[Reading, int], ...]]
    reading: ScoreReading | None
    good: Mask
    ids: Ints
    scores: Floats
    counts: Ints | None


def read_rows(file: TableFile, odd: Odd, plan: ImportPlan, more: Sequence[str] = ()) -> Rows:
    """Reads every record of a file against an ODD and a plan; `more` columns are read beside those of the plan.

    Raises:
        InputError: The plan cannot work at all, or a column does not exist.
    """
    _check_plan(odd, plan)
    raw = _without_missing_words(file.read([*plan.used_columns(), *more]), plan)
    keep, models, plan = _chosen_model(raw, plan)
    out = _Rejected(raw, keep)
    if plan.model_column:
        out.add(raw.columns[plan.model_column].codes < 0, Problem(None, plan.model_column, "(empty)", "the name of a model", "", "empty"))
    codes, readings = _dimension_codes(raw, odd, plan, out)
    scores, reading = _scores(raw, plan, out)
    counts = _counts(raw, plan, out)
    good = out.good
    accepted = slice(None) if good.all() else good  # most tables are good, and copies of a million rows take time
    kept = None if counts is None else counts[accepted]
    return Rows(raw, plan, models, out, readings, reading, good, odd.codec.encode(codes[accepted]), scores[accepted], kept)


def _check_plan(odd: Odd, plan: ImportPlan) -> None:
    named = dict.fromkeys([*plan.columns, *plan.value_map])
    unknown = [
        Problem(None, d, d, f"one of {', '.join(odd.names)}", near(d, odd.names), "unknown_dimension")
        for d in named
        if d not in odd.by_name
    ]
    if unknown:
        raise InputError("The ODD has no such dimension:", unknown)
    lost = [
        Problem(None, d, v, listed([*odd.by_name[d].by_name]), near(v, [*odd.by_name[d].by_name]), "unknown_value")
        for d, texts in plan.value_map.items()
        for v in texts.values()
        if v != EXCLUDE and v not in odd.by_name[d].by_name
    ]
    if lost:
        raise InputError(
            "A text is to be read as a value that the ODD does not have; name one of its values, or add the value to it.", lost
        )
    open_dims = [d.name for d in odd.dimensions if d.active and not plan.columns.get(d.name)]
    if open_dims:
        raise InputError(
            f"No column is mapped to {', '.join(open_dims)}. "
            "Map each (--map dimension=column), or leave the dimension out of the ODD (--dims)."
        )
    if not plan.score and not (plan.truth and plan.predicted):
        raise InputError("No score: name a score column, or both a column with the right answer and one with the predicted answer.")
    if plan.count and plan.assume_n:
        raise InputError("Counts come from a column or are assumed, not both.")


def _without_missing_words(raw: RawTable, plan: ImportPlan) -> RawTable:
    """The table with the cells empty that hold a word for "no value", unless the user maps that very text to a value."""
    if not plan.missing_words:
        return raw
    words = {w.strip().casefold() for w in plan.missing_words}
    columns = {}
    for name, column in raw.columns.items():
        kept = {t for d, c in plan.columns.items() if c == name for t in plan.value_map.get(d, {})}
        gone = np.array([t.casefold() in words and t not in kept for t in column.texts()] + [True])
        columns[name] = RawColumn(np.where(gone[column.codes], np.int32(-1), column.codes), column.values) if gone[:-1].any() else column
    return replace(raw, columns=columns)


def _counted(column: RawColumn, keep: Mask) -> Ints:
    """Rows per distinct text among the kept ones."""
    codes = column.codes if keep.all() else column.codes[keep]
    return np.bincount(codes + 1, minlength=len(column.values) + 1)[1:].astype(np.int64)


def _chosen_model(raw: RawTable, plan: ImportPlan) -> tuple[Mask, dict[str, int], ImportPlan]:
    keep = np.ones(raw.rows, dtype=bool)
    if not plan.model_column:
        return keep, {}, plan
    column = raw.columns[plan.model_column]
    counts = _counted(column, keep)
    if len(column.values) > 500:
        raise InputError(f'Column "{plan.model_column}" names {len(column.values):,} models; is it the right column?')
    models = {m: n for m, n in sorted(zip(column.texts(), counts.tolist(), strict=True)) if n}
    if not plan.model and len(models) == 1:
        plan = plan.model_copy(update={"model": next(iter(models))})
    if not models:
        raise InputError(f'Column "{plan.model_column}" names no model: every cell is empty.')
    if plan.model not in models:
        names = ", ".join(f"{m} ({n:,} rows)" for m, n in models.items())
        got = f'"{plan.model}" is not among them' if plan.model else "choose one (--model)"
        raise InputError(f'Column "{plan.model_column}" names {len(models)} model{"s" * (len(models) > 1)}; {got}: {names}.')
    mine = column.codes == column.texts().index(plan.model)
    return mine | (column.codes < 0), models, plan  # a row without a model is nobody's: it is rejected, not left aside


def _dimension_codes(
    raw: RawTable, odd: Odd, plan: ImportPlan, out: _Rejected
) -> tuple[npt.NDArray[np.int32], dict[str, tuple[tuple[Reading, int], ...]]]:
    codes = np.zeros((raw.rows, len(odd.names)), dtype=np.int32)
    readings: dict[str, tuple[tuple[Reading, int], ...]] = {}
    for k, d in enumerate(odd.dimensions):
        name = plan.columns.get(d.name, "")
        if not name:
            codes[:, k] = odd.codec.code_of[k][d.base[0].name]
            continue
        column = raw.columns[name]
        codes[:, k], readings[d.name] = _one_dimension(column, name, d, odd, plan, out)
    return codes, readings


def _one_dimension(
    column: RawColumn, name: str, d: Dimension, odd: Odd, plan: ImportPlan, out: _Rejected
) -> tuple[npt.NDArray[np.int32], tuple[tuple[Reading, int], ...]]:
    k = odd.names.index(d.name)
    rows = _counted(column, out.keep)
    allowed = listed([v.name for v in d.values])
    distinct = int((rows > 0).sum())
    if distinct > MAX_DISTINCT:
        raise InputError(
            f'Column "{name}" has {distinct:,} distinct values, so it is no column of "{d.label}" (allowed: {allowed}). Map another column.'
        )
    texts = column.texts()
    reader = ValueReader(d, plan.value_map.get(d.name))
    lookup = np.full(len(texts) + 1, -1, dtype=np.int32)
    found: list[tuple[Reading, int]] = []
    reasons: dict[int, tuple[Problem, bool, str]] = {}
    for i, text in enumerate(texts):
        if not rows[i]:
            continue
        r = reader.read(text)
        found.append((r, int(rows[i])))
        if r.ok:
            lookup[i] = odd.codec.code_of[k][r.value]
        else:
            kind = {"excluded": "excluded", "ambiguous": "ambiguous_value"}.get(r.how, "unknown_value")
            reasons[i] = (Problem(None, name, text, allowed, r.suggestion, kind), r.safe, r.why)
    out.add_texts(column.codes, reasons)
    out.add(column.codes < 0, Problem(None, name, "(empty)", allowed, "", "empty"))
    return lookup[column.codes], tuple(found)


MAX_DISTINCT = 2_000
"""A column with more distinct texts is no column of categories: one message instead of as many problems."""
MAX_COUNT = 2**40
"""More samples than anybody has behind one row; such a number is an id or a time."""


def near(text: str, names: Sequence[str]) -> str:
    """The name that the text was most likely meant to be, "" if none is near."""
    return next(iter(get_close_matches(text, names, 1)), "")


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names in a row, the first ones only where there are many."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _scores(raw: RawTable, plan: ImportPlan, out: _Rejected) -> tuple[Floats, ScoreReading | None]:
    if not plan.score:
        return _correctness(raw, plan, out), None
    column = raw.columns[plan.score]
    rows = _counted(column, out.keep)
    reading = read_scores(column.values, rows, plan.scale)
    if not np.isfinite(reading.values[rows > 0]).any():
        raise InputError(f'Column "{plan.score}" holds no usable score: {_sample(column, rows)}. Choose another score column.')
    if not reading.confident:
        raise InputError(
            f'The scale of column "{plan.score}" is not clear. {reading.evidence} '
            "Say which it is: unit, percent or boolean (--score-scale)."
        )
    allowed = f"a score, {SCALE_TEXT[reading.scale]}"
    values = np.append(reading.values, np.nan)
    scores = values[column.codes]
    _reject_by_text(column, rows, ~np.isfinite(reading.values), plan.score, allowed, "not_a_number", out)
    with np.errstate(invalid="ignore"):
        outside = (reading.values < 0) | (reading.values > 1)
    _reject_by_text(column, rows, outside & np.isfinite(reading.values), plan.score, allowed, "out_of_range", out)
    out.add(column.codes < 0, Problem(None, plan.score, "(empty)", allowed, "", "empty"))
    return scores, reading


def _reject_by_text(
    column: RawColumn,
    rows: Ints,
    bad: Mask,
    name: str,
    allowed: str,
    kind: str,
    out: _Rejected,
    suggest: Callable[[str], str] = lambda text: "",
) -> None:
    """Rejects the rows of each bad distinct text under a problem of its own."""
    where = np.flatnonzero(bad & (rows > 0))
    texts: list[str] = column.values.take(pa.array(where)).to_pylist()
    reasons = {i: (Problem(None, name, t, allowed, suggest(t), kind), False, "") for i, t in zip(where.tolist(), texts, strict=True)}
    out.add_texts(column.codes, reasons)


def _sample(column: RawColumn, rows: Ints) -> str:
    some = [str(column.values[i].as_py()) for i in np.flatnonzero(rows > 0)[:3].tolist()]
    return f"it holds {', '.join(some)}" if some else "every cell is empty"


def _correctness(raw: RawTable, plan: ImportPlan, out: _Rejected) -> Floats:
    """1 where truth and prediction are the same text or the same number, else 0."""
    seen: dict[str, int] = {}
    sides = []
    for name in (plan.truth, plan.predicted):
        column = raw.columns[name]
        out.add(column.codes < 0, Problem(None, name, "(empty)", "an answer", "", "empty"))
        numbers = parse_numbers(column.values)
        keys = [t if np.isnan(x) else repr(float(x) + 0.0) for t, x in zip(column.texts(), numbers, strict=True)]
        lookup = np.array([*(seen.setdefault(key, len(seen)) for key in keys), -1], dtype=np.int64)
        sides.append(lookup[column.codes])
    return np.asarray(sides[0] == sides[1], dtype=np.float64)


def _counts(raw: RawTable, plan: ImportPlan, out: _Rejected) -> Ints | None:
    if plan.assume_n is not None:
        return np.full(raw.rows, plan.assume_n, dtype=np.int64)
    if not plan.count:
        return None
    column = raw.columns[plan.count]
    rows = _counted(column, out.keep)
    values = parse_numbers(column.values)
    allowed = "a whole number of at least 1"
    # "1,000" in a column of counts is a thousand to some and a decimal one to others: told, not guessed
    grouped = np.asarray(pc.match_substring_regex(column.values, r"^\d{1,3}(,\d{3})+$").to_numpy(zero_copy_only=False), dtype=bool)
    values[grouped] = np.nan
    _reject_by_text(
        column, rows, grouped, plan.count, f"{allowed}, without separators", "grouped_digits", out, lambda t: t.replace(",", "")
    )
    with np.errstate(invalid="ignore"):
        kinds = {
            "not_a_number": ~np.isfinite(values) & ~grouped,
            "zero_count": values == 0,
            "negative_count": values < 0,
            "fractional_count": np.isfinite(values) & (values > 0) & (values != np.floor(values)),
            "count_too_large": np.isfinite(values) & (values > MAX_COUNT),
        }
    for kind, bad in kinds.items():
        _reject_by_text(column, rows, bad, plan.count, allowed, kind, out)
    out.add(column.codes < 0, Problem(None, plan.count, "(empty)", allowed, "", "empty"))
    fine = ~np.logical_or.reduce([grouped, *kinds.values()])
    return np.append(np.where(fine, values, 0), 0).astype(np.int64)[column.codes]
