"""What every table reader yields: factorised text columns, numbered records, and what could not be read."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.errors import InputError, Problem

Format = Literal["csv", "excel", "parquet", "jsonl"]

WHOLE_ROW = "(whole row)"
"""Stands for the column in a problem that concerns a record as such."""

SHOWN = 200
"""Characters of a broken record that its problem quotes; the download carries all of it."""


@dataclass(frozen=True)
class Dialect:
    """How a file was understood.

    Attributes:
        format: Kind of file; JSON arrays count as "jsonl".
        encoding: Name of the text encoding, "" for binary formats.
        separator: Character between two fields, "" where there is none.
        bom: Whether a byte order mark stood at the start (it is removed).
        compression: "gzip" if the file was packed.
        sheet: Name of the Excel sheet that was read, else "".
    """

    format: Format
    encoding: str = ""
    separator: str = ""
    bom: bool = False
    compression: Literal["", "gzip"] = ""
    sheet: str = ""


@dataclass(frozen=True, eq=False)
class RawColumn:
    """One column as factorised text.

    Attributes:
        codes: (rows,) index into `values`; -1 where the cell is empty or null.
        values: (V,) distinct texts without surrounding whitespace, each used at least once.
    """

    codes: npt.NDArray[np.int32]
    values: pa.StringArray

    def texts(self) -> list[str]:
        """The distinct values as Python strings; meant for columns with few of them."""
        texts: list[str] = self.values.to_pylist()
        return texts


@dataclass(frozen=True, eq=False)
class RawTable:
    """Records that could be read, column by column, and those that could not.

    Attributes:
        rows: Number of readable records.
        columns: Columns by name, in the order of the file.
        numbers: (rows,) 1-based record numbers in the file; blank lines and the header are not counted.
        broken: Records that could not be split into fields or parsed, in the order of the file.
    """

    rows: int
    columns: Mapping[str, RawColumn]
    numbers: npt.NDArray[np.int64]
    broken: tuple[Problem, ...] = ()


class Content(Protocol):
    """The records of one opened file, whatever its format."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that can be read."""
        ...

    @property
    def fields(self) -> tuple[str, ...]:
        """All columns of the file, also those that cannot be read as text (nested ones)."""
        ...

    def read(self, columns: Sequence[str], limit: int | None = None) -> RawTable:
        """These columns of all records, or of the first `limit` ones."""
        ...

    def records(self, numbers: Collection[int]) -> dict[int, list[str] | str]:
        """The original cells, one per field, of the records with these numbers; the raw text of broken ones."""
        ...


def factorise(column: pa.ChunkedArray) -> RawColumn:
    """A column of text, or of dictionary-encoded text, with whitespace stripped and empty cells as -1."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    merged = column.unify_dictionaries().combine_chunks()
    codes: npt.NDArray[np.int32] = merged.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    given = merged.dictionary.cast(pa.string())
    values = pc.utf8_trim_whitespace(given.fill_null(""))
    used = np.zeros(len(values) + 1, dtype=bool)  # the last place takes the -1 of empty cells
    used[codes] = True
    if used[:-1].all() and values.equals(given) and pc.index(values, "").as_py() == -1:
        return RawColumn(codes, values)
    kept = pc.if_else(pa.array(used[:-1]) if len(values) else pa.array([], pa.bool_()), values, "")
    distinct = pc.if_else(pc.equal(kept, ""), pa.scalar(None, pa.string()), kept).dictionary_encode()
    target = np.append(distinct.indices.fill_null(-1).to_numpy(zero_copy_only=False), -1).astype(np.int32)
    return RawColumn(target[codes], distinct.dictionary)


class ColumnBuilder:
    """Factorises the cells of one column as they come, so that a million cells need no million strings.

    Args:
        empty: Number of empty cells to begin with, for a column that turns up late.
    """

    def __init__(self, empty: int = 0) -> None:
        self._codes = array("i", [-1]) * empty
        self._seen: dict[str, int] = {}

    def add(self, text: str | None) -> None:
        """Append one cell."""
        self._codes.append(-1 if text is None else self._seen.setdefault(text, len(self._seen)))

    def put(self, row: int, text: str | None) -> None:
        """Append the cell of a row, counted from 0; the rows left out before it get empty cells."""
        if len(self._codes) != row:
            self.pad(row)
        self._codes.append(-1 if text is None else self._seen.setdefault(text, len(self._seen)))

    def pad(self, rows: int) -> None:
        """Append empty cells until there are `rows`."""
        if len(self._codes) < rows:
            self._codes.extend(array("i", [-1]) * (rows - len(self._codes)))

    def build(self) -> RawColumn:
        """The finished column."""
        try:
            values = pa.array(self._seen, pa.string())
        except UnicodeEncodeError:  # half a surrogate pair, which JSON can spell but no text can hold
            values = pa.array([t.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for t in self._seen], pa.string())
        codes = pa.array(np.frombuffer(self._codes, dtype=np.int32), mask=np.frombuffer(self._codes, dtype=np.int32) < 0)
        return factorise(pa.chunked_array([pa.DictionaryArray.from_arrays(codes, values)]))


def text_of(value: Any) -> str | None:
    """A typed cell as a person would write it: 1 for 1.0, true, ISO dates; None for an empty one."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value.is_integer() and abs(value) < 1e16 else repr(value)
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return str(value)


def take(table: RawTable, columns: Sequence[str], limit: int | None) -> RawTable:
    """Some columns and the first records of a table that is held in memory."""
    if limit is None:
        return RawTable(table.rows, {c: table.columns[c] for c in columns}, table.numbers, table.broken)
    # `limit` counts records of the file, broken ones included, as it does for files that are read lazily
    rows = int(np.searchsorted(table.numbers, limit, side="right"))
    picked = {}
    for c in columns:
        column = table.columns[c]
        codes = pa.array(column.codes[:rows], mask=column.codes[:rows] < 0)
        picked[c] = factorise(pa.chunked_array([pa.DictionaryArray.from_arrays(codes, column.values)]))
    broken = tuple(p for p in table.broken if p.row is not None and p.row <= limit)
    return RawTable(rows, picked, table.numbers[:rows], broken)


def numbers_without(total: int, broken: Iterable[Problem]) -> npt.NDArray[np.int64]:
    """Record numbers 1 to `total` without those of the broken records."""
    gone = np.array([p.row - 1 for p in broken if p.row is not None], dtype=np.int64)
    return np.delete(np.arange(1, total + 1, dtype=np.int64), gone)


def broken_row(number: int, text: str, got: str, allowed: str) -> Problem:
    """The problem of a record that could not be read."""
    shown = text if len(text) <= SHOWN else text[:SHOWN] + "..."
    return Problem(number, WHOLE_ROW, f"{got}: {shown}", allowed, kind="broken_row")


def refuse_if_all_broken(table: RawTable) -> RawTable:
    """The table itself if it holds a record.

    Raises:
        InputError: Every record is broken; the first twenty are listed.
    """
    if table.rows == 0 and table.broken:
        raise InputError(f"None of the {len(table.broken):,} records could be read. The first ones:", table.broken[:20])
    return table


def clean_header(names: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Column names without surrounding whitespace, none empty, each once; and notes on what was changed."""
    notes: list[str] = []
    stripped = [n.strip() for n in names]
    changed = sum(a != b for a, b in zip(names, stripped, strict=True))
    if changed:
        notes.append(f"Spaces around {changed} column name{'s' if changed > 1 else ''} were removed.")
    taken = set(stripped)
    used: set[str] = set()
    out: list[str] = []
    for k, name in enumerate(stripped, start=1):
        base, new, repeat = name or f"column {k}", name or f"column {k}", 1
        while new in used or (new != name and new in taken):
            repeat += 1
            new = f"{base} ({repeat})"
        if not name:
            notes.append(f'Column {k} has no name; it is called "{new}".')
        elif new != name:
            notes.append(f'The column name "{name}" stands there again as column {k}; that one is called "{new}".')
        used.add(new)
        out.append(new)
    return tuple(out), notes
