"""Tables that are not delimited text: Excel workbooks, Parquet files, JSON Lines and JSON arrays."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from core.errors import InputError, Problem
from core.seed_table.dialect import Payload
from core.seed_table.raw import ColumnBuilder, RawColumn, RawTable, broken_row, clean_header, factorise, numbers_without, take, text_of


@dataclass(frozen=True, eq=False)
class Held:
    """A table that is held in memory, with its original records.

    Attributes:
        table: Every column that can be read.
        fields: All columns, nested ones too.
        original: Cells, or the raw text of a broken record, by record number.
    """

    table: RawTable
    fields: tuple[str, ...]
    original: Mapping[int, Sequence[str] | str]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that can be read."""
        return tuple(self.table.columns)

    def read(self, columns: Sequence[str], limit: int | None = None) -> RawTable:
        """These columns of all records, or of the first `limit` ones."""
        return take(self.table, columns, limit)

    def records(self, numbers: Collection[int]) -> dict[int, list[str] | str]:
        """The original cells of the records with these numbers; the raw text of broken ones."""
        found = {i: self.original[i] for i in numbers if i in self.original}
        return {i: r if isinstance(r, str) else list(r) for i, r in found.items()}


@dataclass(frozen=True, eq=False)
class Parquet:
    """A Parquet file; columns are decoded when they are read."""

    data: Payload
    columns: tuple[str, ...]
    fields: tuple[str, ...]
    rows: int

    def read(self, columns: Sequence[str], limit: int | None = None) -> RawTable:
        """These columns of all records, or of the first `limit` ones."""
        table = self._load(columns)
        table = table if limit is None else table.slice(0, limit)
        picked = {c: _typed_column(table.column(i)) for i, c in enumerate(columns)}
        return RawTable(table.num_rows, picked, np.arange(1, table.num_rows + 1, dtype=np.int64))

    def records(self, numbers: Collection[int]) -> dict[int, list[str] | str]:
        """The original cells of the records with these numbers, nested ones as JSON."""
        wanted = sorted(i for i in numbers if 1 <= i <= self.rows)
        rows = self._load(self.fields).take(pa.array([i - 1 for i in wanted], pa.int64()))
        cells = [[_cell(x) for x in column.to_pylist()] for column in rows.columns]
        return {number: [column[i] for column in cells] for i, number in enumerate(wanted)}

    def _load(self, columns: Sequence[str]) -> pa.Table:
        import pyarrow.parquet as pq

        try:
            whole = pq.ParquetFile(pa.BufferReader(self.data)).schema_arrow.names
            at = {name: i for i, name in zip(range(len(whole)), self.fields, strict=True)}
            names = [whole[at[c]] for c in columns]
            if len(set(whole)) < len(whole):  # a name that stands there twice can only be picked by its place
                return pq.read_table(pa.BufferReader(self.data)).select([at[c] for c in columns])
            return pq.read_table(pa.BufferReader(self.data), columns=names).select(names)
        except (pa.ArrowException, OSError) as e:
            raise InputError(f"The Parquet file is damaged: {e}.") from e


def open_parquet(data: Payload) -> tuple[Parquet, list[str]]:
    """A Parquet file and notes on what was found.

    Raises:
        InputError: The file is damaged or holds no column that can be read.
    """
    import pyarrow.parquet as pq

    try:
        meta = pq.ParquetFile(pa.BufferReader(data))
        schema, rows = meta.schema_arrow, meta.metadata.num_rows
    except (pa.ArrowException, OSError) as e:
        raise InputError(f"The Parquet file is damaged: {e}.") from e
    fields, notes = clean_header(schema.names)
    nested = [f for f, t in zip(fields, schema.types, strict=True) if pa.types.is_nested(t)]
    columns = tuple(f for f in fields if f not in nested)
    return Parquet(data, _some(columns), fields, rows), [*notes, *_nested_notes(nested)]


def _typed_column(column: pa.ChunkedArray) -> RawColumn:
    """A typed column as factorised text."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return factorise(column.cast(pa.string()))
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        return factorise(column.cast(pa.string()))
    coded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    texts = pa.array([text_of(x) for x in coded.dictionary.to_pylist()], pa.string())
    return factorise(pa.chunked_array([pa.DictionaryArray.from_arrays(coded.indices, texts)]))


def open_excel(data: Payload, sheet: str | None) -> tuple[Held, str, list[str]]:
    """A sheet of a workbook, its name, and notes on what was found.

    Raises:
        InputError: The workbook is damaged, has no such sheet, or no sheet holds a table.
    """
    import openpyxl

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # openpyxl warns of styles that do not concern the cells
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            names = [w.title for w in book.worksheets]
            if sheet is not None and sheet not in names:
                raise InputError(f'The workbook has no sheet "{sheet}"; its sheets: {", ".join(names)}.')
            for name in [sheet] if sheet is not None else names:
                rows = [r for r in book[name].iter_rows(values_only=True) if any(text_of(x) is not None for x in r)]
                if rows:
                    break
            else:
                raise InputError("No sheet of the workbook holds a table.")
    except (KeyError, ValueError, TypeError, OSError, zipfile.BadZipFile, EOFError, SyntaxError) as e:
        raise InputError(f"The Excel workbook is damaged ({e}). Save it again.") from e
    if len(rows) < 2:
        raise InputError(f'The sheet "{name}" has a header but no records.')
    width = max(len(r) for r in rows)
    texts = [[text_of(x) for x in (*r, *[None] * (width - len(r)))] for r in rows]
    while width and all(r[width - 1] is None for r in texts):
        width -= 1
    fields, notes = clean_header([x or "" for x in texts[0][:width]])
    builders = [ColumnBuilder() for _ in fields]
    for row in texts[1:]:
        for builder, text in zip(builders, row[:width], strict=True):
            builder.add(text)
    total = len(texts) - 1
    columns = {f: b.build() for f, b in zip(fields, builders, strict=True)}
    original = {i: [x or "" for x in r[:width]] for i, r in enumerate(texts[1:], start=1)}
    if sheet is None and len(names) > 1:
        notes.insert(0, f'The workbook has {len(names)} sheets ({", ".join(names)}); "{name}" was read.')
    return Held(RawTable(total, columns, np.arange(1, total + 1, dtype=np.int64)), fields, original), name, notes


def open_json(data: Payload, start: int) -> tuple[Held, list[str]]:
    """JSON Lines, or one JSON array of objects, as UTF-8 from a byte on; and notes on what was found.

    Columns are the union of the keys in the order in which they turn up. A line that is no JSON object is a broken record.

    Raises:
        InputError: There is no record.
    """
    builders: dict[str, ColumnBuilder] = {}
    nested: dict[str, None] = {}
    broken: list[Problem] = []
    original: dict[int, dict[str, Any] | str] = {}
    total = rows = 0
    for text, value in _objects(bytes(data[start:]).decode("utf-8")):
        total += 1
        if not isinstance(value, dict):
            broken.append(broken_row(total, text, "no JSON object", 'an object such as {"weather": "clear", "score": 1}'))
            original[total] = text
            continue
        for key, x in value.items():
            if isinstance(x, (dict, list)):
                nested[key] = None
            elif key not in builders:
                builders[key] = ColumnBuilder(rows)
            if key in builders:
                builders[key].add(None if isinstance(x, (dict, list)) else text_of(x))
        rows += 1
        for builder in builders.values():
            builder.pad(rows)
        original[total] = value
    if not total:
        raise InputError("The file holds no record.")
    keys = list(dict.fromkeys([*builders, *nested]))
    fields, notes = clean_header(keys)
    flat = [(k, f) for k, f in zip(keys, fields, strict=True) if k not in nested]
    columns = {f: builders[k].build() for k, f in flat}
    if rows:
        _some(tuple(columns))
    cells = {i: r if isinstance(r, str) else [_cell(r.get(k)) for k in keys] for i, r in original.items()}
    table = RawTable(rows, columns, numbers_without(total, broken), tuple(broken))
    return Held(table, fields, cells), [*notes, *_nested_notes([f for k, f in zip(keys, fields, strict=True) if k in nested])]


def _objects(text: str) -> Iterator[tuple[str, Any]]:
    """Text and value of each record; the value is None where the text is no JSON."""
    if text.lstrip().startswith("["):
        try:
            items = json.loads(text)
        except ValueError as e:
            raise InputError(f"The JSON array is damaged: {e}.") from e
        for item in items:
            yield json.dumps(item, ensure_ascii=False), item
        return
    for line in text.split("\n"):
        if not line.strip():
            continue
        try:
            yield line.strip(), json.loads(line)
        except (ValueError, RecursionError):
            yield line.strip(), None


def _cell(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (dict, list)) else text_of(value) or ""


def _some(columns: tuple[str, ...]) -> tuple[str, ...]:
    if not columns:
        raise InputError("The file holds no column that can be read; nested values cannot be.")
    return columns


def _nested_notes(nested: Sequence[str]) -> list[str]:
    return [f'Column "{f}" holds nested values and cannot be used.' for f in nested]
