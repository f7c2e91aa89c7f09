"""Opens a manifest of footage in whatever format it comes, nested JSON too, as flat columns of text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from core.digest import sha256_bytes
from core.errors import InputError, Problem
from core.seed_table import open_table
from core.seed_table.dialect import Payload, binary_format, chunks, is_json, lines, load, to_utf8, unpack
from core.seed_table.raw import ColumnBuilder, RawTable, broken_row, clean_header, numbers_without, text_of

WRAPPERS = ("frames", "images", "items", "samples", "scenes")
"""Keys under which a JSON document may keep its list of records."""
CATEGORY = ("category", "category_name")
"""Keys that name the sort of an object in a list of objects."""
LOOKED_AT = 20
"""Lines by which JSON Lines are told from a document."""
MOST_COLUMNS = 5_000
COUNTED = ".#"
"""Ends the name of the column that holds how many objects a list or a mapping of counts has."""


@dataclass(frozen=True, eq=False)
class Records:
    """A manifest as it came.

    Attributes:
        name: Name to show.
        sha256: Of the file as it came.
        size: Bytes.
        raw: Records; nested names are joined by dots, lists are JSON text, lists of objects are counts by category.
        notes: What was found and done, in sentences.
    """

    name: str
    sha256: str
    size: int
    raw: RawTable
    notes: tuple[str, ...]


def open_records(source: Path | bytes, name: str = "") -> Records:
    """Open a manifest: CSV, TSV, Excel, Parquet, JSON Lines or JSON, each also gzipped, recognised by content.

    Raises:
        InputError: The file is missing, empty, damaged, or holds no record.
    """
    data: Payload = source if isinstance(source, bytes) else load(Path(source))
    name = name or ("manifest" if isinstance(source, bytes) else Path(source).name)
    if not len(data):
        raise InputError(f'"{name}" is empty: the file has no bytes.')
    plain, _ = unpack(data)
    kind = binary_format(plain) if len(plain) else None
    if kind == "parquet" and (records := _nested_parquet(plain)) is not None:
        raw, notes = _flat(records)
    elif kind is None and is_json((text := to_utf8(plain)).sample(), name):
        raw, notes = _flat(_json(text.data, text.start, name))
    else:
        file = open_table(source, name)
        return Records(name, file.sha256, file.size, file.read(), file.notes)
    if not raw.rows:
        raise InputError(f'None of the {len(raw.broken):,} records of "{name}" is a JSON object. The first ones:', raw.broken[:20])
    return Records(name, _sha256(data), len(data), raw, tuple(notes))


def _sha256(data: Payload) -> str:
    if isinstance(data, bytes):
        return sha256_bytes(data)
    import hashlib

    h = hashlib.sha256()
    for piece in chunks(data):
        h.update(piece)
    return h.hexdigest()


def _json(data: Payload, start: int, name: str) -> Iterator[tuple[str, Any]]:
    """Text and value of each record of JSON Lines, of a JSON array, or of a document that holds a list of records."""
    if bytes(data[start : start + 4096]).lstrip().startswith(b"["):
        return (("", item) for item in _whole(data, start, name))
    head = [text for line, _ in islice(lines(data, start), LOOKED_AT) if (text := line.decode().strip())]
    if len(head) > 1 and any(isinstance(_value(text), dict) for text in head):  # objects on lines of their own
        return ((text, _value(text)) for line, _ in lines(data, start) if (text := line.decode().strip()))
    document = _whole(data, start, name)
    found = next((document[k] for k in WRAPPERS if isinstance(document.get(k), list)), [document])
    return (("", item) for item in found)


def _value(text: str) -> Any:
    """The value of a line, None if it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _whole(data: Payload, start: int, name: str) -> Any:
    try:
        return json.loads(bytes(data[start:]))
    except (ValueError, RecursionError) as e:
        raise InputError(f'"{name}" is no valid JSON: {e}.') from e


def _nested_parquet(data: Payload) -> Iterator[tuple[str, Any]] | None:
    """The records of a Parquet file with nested columns, None if it has none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        if not any(pa.types.is_nested(t) for t in file.schema_arrow.types):
            return None
    except (pa.ArrowException, OSError) as e:
        raise InputError(f"The Parquet file is damaged: {e}.") from e
    return (("", record) for batch in file.iter_batches() for record in batch.to_pylist())


def _flat(records: Iterator[tuple[str, Any]]) -> tuple[RawTable, list[str]]:
    builders: dict[str, ColumnBuilder] = {}
    broken: list[Problem] = []
    total = rows = twice = 0
    for text, value in records:
        total += 1
        if not isinstance(value, dict):
            shown = text or json.dumps(value, default=str)
            broken.append(broken_row(total, shown, "no JSON object", 'an object such as {"path": "a.jpg", "time": "night"}'))
            continue
        cells: dict[str, str | None] = {}
        for key, cell in _cells("", value):
            if key in cells:  # {"a.b": 1, "a": {"b": 2}} names one column twice
                twice += 1
                continue
            cells[key] = cell
            if (builder := builders.get(key)) is None:
                builder = builders[key] = ColumnBuilder(rows)
            builder.put(rows, cell)
        rows += 1
        if len(builders) > MOST_COLUMNS:
            raise InputError(f"The first {rows:,} records have more than {MOST_COLUMNS:,} different names; a manifest has the same in all.")
    if not total:
        raise InputError("The manifest holds no record.")
    for builder in builders.values():
        builder.pad(rows)
    fields, notes = clean_header(list(builders))
    if twice:
        notes.append(f"{twice:,} cells have the name of another one of the same record, written with dots; the first one counts.")
    columns = {f: b.build() for f, b in zip(fields, builders.values(), strict=True)}
    return RawTable(rows, columns, numbers_without(total, broken), tuple(broken)), notes


def _cells(prefix: str, record: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Flat names and texts of a record."""
    for key, value in record.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            if all(isinstance(v, int) and not isinstance(v, bool) for v in value.values()):
                yield f"{name}{COUNTED}", str(sum(value.values()))
            yield from _cells(f"{name}.", value)
        elif isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
            yield from _objects(name, value)
        elif isinstance(value, list):
            if not value:
                yield f"{name}{COUNTED}", "0"
            yield name, json.dumps(value, ensure_ascii=False, default=str) if value else None
        else:
            yield name, text_of(value)


def _objects(name: str, objects: list[dict[str, Any]]) -> Iterator[tuple[str, str | None]]:
    """A list of objects as their number and as counts by category."""
    counts: dict[str, int] = {}
    for item in objects:
        sort = next((str(item[k]) for k in CATEGORY if item.get(k)), "")
        if sort:
            counts[sort] = counts.get(sort, 0) + 1
    yield f"{name}{COUNTED}", str(len(objects))
    yield from ((f"{name}.{sort}", str(n)) for sort, n in counts.items())
