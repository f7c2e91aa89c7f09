"""Tables that are not delimited text: Excel workbooks, Parquet files, JSON Lines and JSON arrays."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any

import numpy as np
import pyarrow as pa

from core.errors import InputError, Problem
from core.seed_table import dialect
from core.seed_table.dialect import Payload, lines, size_text
from core.seed_table.raw import ColumnBuilder, RawColumn, RawTable, broken_row, clean_header, factorise, numbers_without, take, text_of

MAX_ROWS = 200_000_000
"""Records a Parquet file may hold; a few bytes can stand for any number of equal ones."""

Found = dict[int, list[str] | str]


@dataclass(frozen=True, eq=False)
class Held:
    """A table that is held in memory as factorised columns.

    Attributes:
        table: Every column that can be read.
        fields: All columns, nested ones too.
        original: Finds the cells, or the raw text of broken records, by record numbers.
    """

    table: RawTable
    fields: tuple[str, ...]
    original: Callable[[Collection[int]], Found]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that can be read."""
        return tuple(self.table.columns)

    def read(self, columns: Sequence[str], limit: int | None = None) -> RawTable:
        """These columns of all records, or of the first `limit` ones."""
        return take(self.table, columns, limit)

    def records(self, numbers: Collection[int]) -> Found:
        """The original cells of the records with these numbers; the raw text of broken ones."""
        return self.original(set(numbers))


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
        picked = {c: _typed_column(table.column(i), c) for i, c in enumerate(columns)}
        return RawTable(table.num_rows, picked, np.arange(1, table.num_rows + 1, dtype=np.int64))

    def records(self, numbers: Collection[int]) -> Found:
        """The original cells of the records with these numbers, nested ones as JSON."""
        wanted = sorted(i for i in numbers if 1 <= i <= self.rows)
        rows = self._load(self.fields).take(pa.array([i - 1 for i in wanted], pa.int64()))
        cells = [_texts(column, field) for column, field in zip(rows.columns, self.fields, strict=True)]
        return {number: [column[i] for column in cells] for i, number in enumerate(wanted)}

    def _load(self, columns: Sequence[str]) -> pa.Table:
        import pyarrow.parquet as pq

        try:
            schema = pq.ParquetFile(pa.BufferReader(self.data)).schema_arrow
            whole, place = schema.names, {field: i for i, field in enumerate(self.fields)}
            coded = [n for n, t in zip(whole, schema.types, strict=True) if pa.types.is_string(t)]
            file = pq.ParquetFile(pa.BufferReader(self.data), read_dictionary=coded)
            names = [whole[place[c]] for c in columns]
            if len(set(whole)) < len(whole):  # a name that stands there twice can only be picked by its place
                return file.read().select([place[c] for c in columns])
            return file.read(columns=names).select(names)
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
        size = sum(meta.metadata.row_group(i).total_byte_size for i in range(meta.metadata.num_row_groups))
    except (pa.ArrowException, OSError) as e:
        raise InputError(f"The Parquet file is damaged: {e}.") from e
    if size > dialect.MAX_UNPACKED or rows > MAX_ROWS:
        raise InputError(
            f"The Parquet file unpacks to {size_text(size)} and {rows:,} records; "
            f"at most {size_text(dialect.MAX_UNPACKED)} and {MAX_ROWS:,} records can be read."
        )
    if not rows:
        raise InputError(f"The Parquet file has {len(schema.names)} columns but no records.")
    fields, notes = clean_header(schema.names)
    nested = [f for f, t in zip(fields, schema.types, strict=True) if pa.types.is_nested(t)]
    columns = tuple(f for f in fields if f not in nested)
    return Parquet(data, _some(columns), fields, rows), [*notes, *_nested_notes(nested)]


def _typed_column(column: pa.ChunkedArray, name: str) -> RawColumn:
    """A typed column as factorised text."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return factorise(column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(kind)
    try:
        if pa.types.is_null(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
            return factorise(column.cast(pa.string()))
        coded = column.dictionary_encode().unify_dictionaries().combine_chunks()
        return factorise(pa.chunked_array([pa.DictionaryArray.from_arrays(coded.indices, _written(coded.dictionary))]))
    except pa.ArrowException as e:
        raise InputError(f'Column "{name}" of the Parquet file ({kind}) cannot be read as text: {e}.') from e


def _written(values: pa.Array) -> pa.StringArray:
    """Distinct typed values as a person would write them."""
    if pa.types.is_float16(values.type) or pa.types.is_float32(values.type):
        # through text, since 0.1 as a short float is 0.10000000149011612 as a long one
        return pa.array([None if x is None else text_of(float(x)) for x in values.cast(pa.string()).to_pylist()], pa.string())
    try:
        return pa.array([text_of(x) for x in values.to_pylist()], pa.string())
    except (ValueError, OverflowError):  # a date that Python's calendar does not hold
        return values.cast(pa.string())


def _texts(column: pa.ChunkedArray, name: str) -> list[str]:
    """Every cell of a column as text, nested ones as JSON."""
    if pa.types.is_nested(column.type):
        return [_cell(x) for x in column.to_pylist()]
    coded = _typed_column(column, name)
    texts = [*coded.texts(), ""]  # -1 is the last one
    return [texts[i] for i in coded.codes.tolist()]


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
            name, rows = "", list[list[str | None]]()
            for name in [sheet] if sheet is not None else names:
                rows = _sheet_rows(book[name])
                if any(any(r) for r in rows):
                    break
            formulas = _formulas_without_result(data, name, rows)
    except InputError:
        raise
    except Exception as e:  # openpyxl meets damage with whatever its XML and zip layers raise
        raise InputError(f"The Excel workbook is damaged ({type(e).__name__}: {e}). Open it in Excel and save it again.") from e
    written = [i for i, r in enumerate(rows) if any(r)]
    if not written:
        raise InputError(f'The sheet "{sheet}" is empty.' if sheet is not None else "No sheet of the workbook holds a table.")
    if len(written) < 2:
        raise InputError(f'The sheet "{name}" has a header but no records.')
    width = max(k + 1 for i in written for k, x in enumerate(rows[i]) if x is not None)
    texts = [(rows[i] + [None] * width)[:width] for i in written]
    fields, notes = clean_header([x or "" for x in texts[0]])
    builders = [ColumnBuilder() for _ in fields]
    for row in texts[1:]:
        for builder, text in zip(builders, row, strict=True):
            builder.add(text)
    total = len(texts) - 1
    columns = {f: b.build() for f, b in zip(fields, builders, strict=True)}
    if blank := written[-1] + 1 - len(written):
        notes.insert(0, f"{blank} blank line{'s were' if blank > 1 else ' was'} skipped.")
    if formulas:
        notes.insert(0, f"{formulas} formulas have no stored result and count as empty cells. Open the workbook in Excel and save it.")
    if sheet is None and len(names) > 1:
        notes.insert(0, f'The workbook has {len(names)} sheets ({", ".join(names)}); "{name}" was read.')

    def original(numbers: Collection[int]) -> Found:
        return {i: [x or "" for x in texts[i]] for i in numbers if 1 <= i <= total}

    return Held(RawTable(total, columns, np.arange(1, total + 1, dtype=np.int64)), fields, original), name, notes


def _sheet_rows(sheet: Any) -> list[list[str | None]]:
    sheet.reset_dimensions()  # some programs write a wrong size, and cells beyond it would be lost
    return [[_excel_text(x) for x in row] for row in sheet.iter_rows(values_only=True)]


def _excel_text(value: Any) -> str | None:
    """Text of a cell; Excel keeps a date as the midnight it begins with."""
    return text_of(value.date() if isinstance(value, datetime) and value.time() == time() else value)


def _formulas_without_result(data: Payload, name: str, rows: list[list[str | None]]) -> int:
    """Number of formulas of a sheet that a program wrote without computing them."""
    import openpyxl

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sheets = [e for e in archive.namelist() if e.startswith("xl/worksheets/")]
        if not any(b"<f>" in (x := archive.read(e)) or b"<f " in x for e in sheets):
            return 0
    sheet = openpyxl.load_workbook(io.BytesIO(data), read_only=True)[name]
    sheet.reset_dimensions()
    pairs = zip(sheet.iter_rows(values_only=True), rows, strict=True)
    return sum(isinstance(f, str) and f.startswith("=") and x is None for row, texts in pairs for f, x in zip(row, texts, strict=True))


def open_json(data: Payload, start: int) -> tuple[Held, list[str]]:
    """JSON Lines, or one JSON array of objects, as UTF-8 from a byte on; and notes on what was found.

    Columns are the union of the keys in the order in which they turn up. A line that is no JSON object is a broken record.

    Raises:
        InputError: There is no record.
    """
    builders: dict[str, ColumnBuilder] = {}
    nested: dict[str, int] = {}
    broken: list[Problem] = []
    total = rows = 0
    for text, value in _objects(data, start):
        total += 1
        if not isinstance(value, dict):
            broken.append(broken_row(total, text, "no JSON object", 'an object such as {"weather": "clear", "score": 1}'))
            continue
        for key, x in value.items():
            builder = builders.get(key)
            if builder is None:
                builder = builders[key] = ColumnBuilder(rows)
            if x.__class__ is str:
                builder.put(rows, x)
            elif isinstance(x, (dict, list)):
                nested[key] = nested.get(key, 0) + 1
            else:
                builder.put(rows, text_of(x))
        rows += 1
    for builder in builders.values():
        builder.pad(rows)
    if not total:
        raise InputError("The file holds no record.")
    if not rows:
        raise InputError(f"None of the {total:,} records is a JSON object on a line of its own. The first ones:", broken[:20])
    keys = list(builders)
    fields, notes = clean_header(keys)
    columns = {f: builders[k].build() for k, f in zip(keys, fields, strict=True) if k not in nested}
    _some(tuple(columns))
    table = RawTable(rows, columns, numbers_without(total, broken), tuple(broken))

    def original(numbers: Collection[int]) -> Found:
        wanted = ((i, r) for i, r in enumerate(_objects(data, start), start=1) if i in numbers)
        return {i: [_cell(x.get(k)) for k in keys] if isinstance(x, dict) else text for i, (text, x) in wanted}

    return Held(table, fields, original), [*notes, *_nested_notes([f for k, f in zip(keys, fields, strict=True) if k in nested])]


def _objects(data: Payload, start: int) -> Iterator[tuple[str, Any]]:
    """Text and value of each record; the value is None where the text is no JSON."""
    if bytes(data[start : start + dialect.SAMPLE]).lstrip().startswith(b"["):
        try:
            items = json.loads(bytes(data[start:]))
        except (ValueError, RecursionError) as e:
            raise InputError(f"The JSON array is damaged: {e}.") from e
        for item in items:
            yield item if isinstance(item, str) else "" if isinstance(item, dict) else json.dumps(item), item
        return
    for line, _ in lines(data, start):
        text = line.decode().strip()
        if not text:
            continue
        try:
            yield text, json.loads(text)
        except (ValueError, RecursionError):
            yield text, None


def _cell(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (dict, list)) else text_of(value) or ""


def _some(columns: tuple[str, ...]) -> tuple[str, ...]:
    if not columns:
        raise InputError("The file holds no column that can be read; nested values cannot be.")
    return columns


def _nested_notes(nested: Sequence[str]) -> list[str]:
    return [f'Column "{f}" holds nested values and cannot be used.' for f in nested]
