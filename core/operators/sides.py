"""The two sides of a benchmark, a seed and an oracle: read alike, brought to one ODD, with their single samples where there are any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.errors import InputError
from core.odd import Odd, infer_odd
from core.operators.table import NO_COLUMN, ROLES, Prepared, prepare
from core.operators.workspace import source_of
from core.seed_table import AcceptedRows, CheckReport, ImportPlan, SeedTable, TableFile, accepted_rows, halves, open_table
from core.seed_table.table import Ints
from core.seed_table.values import normal
from core.storage import Store


@dataclass(frozen=True, eq=False)
class Side:
    """A seed or an oracle.

    Attributes:
        name: File or table, for people.
        table: Its slices.
        rows: Its single records, None where they are not at hand; `why_no_rows` says why.
        model: Model that was tested, "" if not told.
        sample_column: Column that identifies samples, "" if there is none.
        source: What is known of the input, for the manifest.
        synthetic: Whether the results are made up.
        why_no_rows: Why there are no records.
    """

    name: str
    table: SeedTable
    rows: AcceptedRows | None
    model: str = ""
    sample_column: str = ""
    source: Mapping[str, Any] | None = None
    synthetic: bool = False
    why_no_rows: str = ""


def prepare_pair(
    seed: TableFile,
    oracle: TableFile,
    odd: Odd | None,
    *,
    dims: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    oracle_model: str = "",
) -> tuple[Prepared, Prepared]:
    """Settles ODD and plan of a seed and an oracle from one set of decisions.

    A decision that names a column is used for each file that has the column; a column that neither has is an error.

    Args:
        seed: The seed's file.
        oracle: The oracle's file.
        odd: The ODD, None to infer one from both tables together.
        dims: Dimensions to use.
        columns: Column of a dimension.
        overrides: Fields of `ImportPlan` that the user set.
        oracle_model: Model of the oracle, where it is another one or named differently.

    Raises:
        InputError: See `core.operators.prepare`.
    """
    said = dict(overrides or {})
    mine, theirs = _fitting(said, seed, oracle), _fitting(said, oracle, seed)
    if oracle_model:
        theirs["model"] = oracle_model
    first = prepare(seed, odd, dims=dims, columns=columns, overrides=mine)
    if odd is None and not dims and not columns:
        shared = [d for d, c in first.plan.columns.items() if c in oracle.columns]
        if not shared:
            raise InputError(f"No dimension of {seed.name} is a column of {oracle.name}; name the columns that both have (--dims).")
        lost = [d for d in first.plan.columns if d not in shared]
        first = prepare(seed, None, dims=shared, overrides=mine)
        note = f"Dimensions were chosen by content: {', '.join(shared)}. Name them (--dims) to choose others."
        if lost:
            note += f" {oracle.name} has no column {', '.join(lost)}, so that was left out."
        first = replace(first, notes=(note, *first.notes))
    names = tuple(first.plan.columns) if odd is None else dims
    second = prepare(oracle, odd, dims=names, columns=columns, overrides=theirs)
    if odd is None:
        both = _union(first.odd, second.odd)
        first, second = replace(first, odd=both), replace(second, odd=both)
    return first, second


def _fitting(said: Mapping[str, object], file: TableFile, other: TableFile) -> dict[str, object]:
    """The decisions but those that name a column which only the other file has."""
    return {k: v for k, v in said.items() if k not in ROLES or v in ("", None, NO_COLUMN) or v in file.columns or v not in other.columns}


def _union(a: Odd, b: Odd) -> Odd:
    """The inferred ODD of the values of both; spellings that differ in case or separators only are one value, as `a` has it."""
    values: dict[str, list[str]] = {}
    for d in a.dimensions:
        kept = {normal(v.name): v.name for v in b.by_name[d.name].values} if d.name in b.by_name else {}
        kept |= {normal(v.name): v.name for v in d.values}
        values[d.name] = list(kept.values())
    return infer_odd(values)


def reading_notes(prepared: Prepared, report: CheckReport) -> list[str]:
    """What reading a file had to say: rejected rows, and what was chosen or odd."""
    rejected = [f"{report.rejected.size:,} of {report.rows:,} rows were rejected."] if report.rejected.size else []
    return [*rejected, *prepared.file.notes, *prepared.notes, *report.warnings]


def side_of(prepared: Prepared, report: CheckReport) -> Side:
    """A checked file as a side.

    Raises:
        InputError: No row was accepted.
    """
    if not report.accepted:
        raise InputError(f"None of the {report.rows:,} rows of {prepared.file.name} can be used.", tuple(report.problems())[:20])
    rows = accepted_rows(prepared.file, report.odd, report.plan)
    return _side(prepared, report, report.seed, rows, prepared.file.name)


def split_sides(prepared: Prepared, report: CheckReport, column: str, number: int = 0) -> tuple[Side, Side]:
    """Two halves of one file, by a hash of a column, so that rows of one text stay together.

    Raises:
        InputError: There is no such column, it has empty cells, or a half would be empty.
    """
    if not report.accepted:
        raise InputError(f"None of the {report.rows:,} rows of {prepared.file.name} can be used.", tuple(report.problems())[:20])
    rows = accepted_rows(prepared.file, report.odd, report.plan, column)
    second = halves(rows, number)
    out = []
    for name, mask in (("first half", ~second), ("second half", second)):
        part = rows.select(mask)
        side = _side(prepared, report, part.table(), part, f"{prepared.file.name}, {name} by {column}")
        split = {"column": column, "number": number, "half": name, "rows": int(mask.sum())}
        out.append(replace(side, source={**(side.source or {}), "split": split}))
    return out[0], out[1]


def _side(prepared: Prepared, report: CheckReport, table: SeedTable, rows: AcceptedRows, name: str) -> Side:
    plan = report.plan
    return Side(name, table, rows, plan.model, plan.sample_column, source_of(prepared, report))


def saved_side(store: Store, table_id: str) -> Side:
    """A saved table as a side, its records read again from the upload where that still gives the same table."""
    saved = store.tables.get(table_id)
    table = store.tables.load(table_id, saved.version)
    known = store.tables.provenance(table_id)
    rows, why = None, "the table was saved without its file"
    plan = ImportPlan()
    if saved.upload_sha is not None:
        try:
            plan = ImportPlan.model_validate(known.decisions)
            rows = accepted_rows(open_table(store.uploads.path(saved.upload_sha), saved.name), table.odd, plan)
            why = "" if rows.table().digest == saved.base_digest else "its file gives another table today"
            why = why or ("results of evaluations were counted into it since" if saved.digest != saved.base_digest else "")
        except (InputError, ValueError) as e:
            why = f"its file cannot be read again: {e.args[0]}" if isinstance(e, InputError) else "its decisions cannot be read"
        rows = None if why else rows
    return Side(saved.name, table, rows, saved.model, plan.sample_column, dict(known.report), saved.synthetic, why)


def align(seed: Side, oracle: Side) -> tuple[Side, Side]:
    """Both sides over one ODD.

    Equal ODDs stay. Two inferred ones with the same dimensions become the ODD of the values of both.

    Raises:
        InputError: The ODDs differ in a way that no renumbering mends.
    """
    a, b = seed.table.odd, oracle.table.odd
    if a.hash == b.hash:
        return seed, oracle
    if set(a.names) != set(b.names):
        raise InputError(
            f"Seed and oracle cannot be compared: the seed has the dimensions {', '.join(a.names)}, the oracle {', '.join(b.names)}. "
            "Import the oracle with the seed's ODD."
        )
    if a.source == b.source == "inferred":
        both = _union(a, b)
        return _moved(seed, both), _moved(oracle, both)
    lost = [f"{d.name}={v.name}" for d in b.dimensions for v in d.values if v.name not in a.by_name[d.name].by_name]
    tiers = [d.name for d in b.dimensions for v in d.values if a.by_name[d.name].by_name.get(v.name, v).tier != v.tier]
    if lost or tiers:
        told = ", ".join([*lost, *(f"the tiers of {d}" for d in dict.fromkeys(tiers))][:8])
        raise InputError(f"Seed and oracle rest on different ODDs, which differ in {told}. Import the oracle with the seed's ODD.")
    return seed, _moved(oracle, a)


def _moved(side: Side, odd: Odd) -> Side:
    """The same side with its slices numbered by another ODD that has all their values."""
    ids = _renumbered(side.table.ids, side.table.odd, odd)
    order = np.argsort(ids)
    t = side.table
    table = SeedTable(odd, odd.codec.decode(ids[order]), t.n[order], t.mean[order], t.variance[order], t.n_assumed)
    rows = None if side.rows is None else replace(side.rows, odd=odd, ids=_renumbered(side.rows.ids, t.odd, odd))
    return replace(side, table=table, rows=rows)


def _renumbered(ids: Ints, old: Odd, new: Odd) -> Ints:
    codes = old.codec.decode(ids)
    out = np.empty_like(codes)
    for k, name in enumerate(new.names):
        j = old.names.index(name)
        known = {normal(v): c for v, c in new.codec.code_of[k].items()}
        lookup = np.array([new.codec.code_of[k].get(v, known.get(normal(v), -1)) for v in old.codec.values[j]], dtype=np.int32)
        out[:, k] = lookup[codes[:, j]]
    return new.codec.encode(out)
