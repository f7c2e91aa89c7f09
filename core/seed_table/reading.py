"""Opens a table of evaluation results in whatever format it comes, as text, without guessing silently."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from core.errors import InputError, Problem
from core.seed_table.delimited import open_delimited
from core.seed_table.dialect import Payload, binary_format, chunks, is_json, load, to_utf8, unpack
from core.seed_table.formats import open_excel, open_json, open_parquet
from core.seed_table.raw import Content, Dialect, RawColumn, RawTable, refuse_if_all_broken

__all__ = ["Dialect", "RawColumn", "RawTable", "TableFile", "open_table"]


@dataclass(frozen=True, eq=False)
class TableFile:
    """An opened table whose format, encoding and columns are known; records are read on demand.

    Attributes:
        name: Name to show.
        size: Bytes of the file as it came.
        sha256: Hex digest of the file as it came.
        dialect: How the file was understood.
        columns: Names of the columns that can be read, stripped, none empty, each once.
        notes: What was found and done, in plain sentences.
    """

    name: str
    size: int
    sha256: str
    dialect: Dialect
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    _content: Content = field(repr=False)

    def read(self, columns: Sequence[str] | None = None) -> RawTable:
        """All records with these columns, or with all columns.

        Raises:
            InputError: A column does not exist, or not a single record can be read.
        """
        wanted = self.columns if columns is None else tuple(dict.fromkeys(columns))
        allowed = ", ".join(self.columns)
        unknown = [
            Problem(None, c, c, f"one of {allowed}", next(iter(get_close_matches(c, self.columns, 1)), ""), "unknown_column")
            for c in wanted
            if c not in self.columns
        ]
        if unknown:
            raise InputError(f'"{self.name}" has no such column{"s" if len(unknown) > 1 else ""}:', unknown)
        return refuse_if_all_broken(self._content.read(wanted))

    def head(self, rows: int = 200) -> RawTable:
        """The first records, broken ones included in the count."""
        return self._content.read(self.columns, rows)

    def rows_as_csv(self, numbers: Sequence[int], reasons: Sequence[str]) -> bytes:
        """The original records with these numbers as UTF-8 CSV: row, reason, then every column unchanged.

        A record that could not be split into fields has empty cells, and its text in a last column "raw".

        Raises:
            ValueError: The sequences differ in length, or there is no record with one of the numbers.
        """
        found = self._content.records(set(numbers))
        fields = self._content.fields
        broken = any(isinstance(r, str) for r in found.values())
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(["row", "reason", *fields, *(["raw"] if broken else [])])
        for number, reason in zip(numbers, reasons, strict=True):
            if number not in found:
                raise ValueError(f"There is no record {number} in {self.name}.")
            record = found[number]
            if isinstance(record, str):
                writer.writerow([number, reason, *[""] * len(fields), record])
            else:
                writer.writerow([number, reason, *record, *([""] if broken else [])])
        return out.getvalue().encode(errors="replace")  # JSON can spell half a surrogate pair


def open_table(
    source: Path | bytes, name: str = "", *, sheet: str | None = None, separator: str | None = None, encoding: str | None = None
) -> TableFile:
    """Open a table: CSV, TSV, Excel, Parquet or JSON Lines, each also gzipped, recognised by content.

    Args:
        source: Path of the file, or its bytes.
        name: Name to show; the file's own by default.
        sheet: Excel sheet to read; the first that is not empty by default.
        separator: Character between fields; found by default.
        encoding: Text encoding; found by default.

    Raises:
        InputError: The file is missing, empty, damaged, or no table.
    """
    data = source if isinstance(source, bytes) else load(Path(source))
    name = name or ("table" if isinstance(source, bytes) else Path(source).name)
    if not len(data):
        raise InputError(f'"{name}" is empty: the file has no bytes.')
    with ThreadPoolExecutor(1) as pool:  # hashing releases the interpreter lock
        digest = pool.submit(_sha256, data)
        try:
            content, dialect, notes = _open(data, name, sheet, separator, encoding)
        except InputError as e:
            raise InputError(f'"{name}" cannot be read as a table. {e.args[0]}', e.problems) from e
    return TableFile(name, len(data), digest.result(), dialect, content.columns, notes, content)


def _sha256(data: Payload) -> str:
    h = hashlib.sha256()
    for piece in chunks(data):
        h.update(piece)
    return h.hexdigest()


def _open(
    data: Payload, name: str, sheet: str | None, separator: str | None, encoding: str | None
) -> tuple[Content, Dialect, tuple[str, ...]]:
    data, packed = unpack(data)
    packed_notes = ("The file was unpacked from gzip.",) if packed else ()
    if not len(data):
        raise InputError("The gzip file holds no bytes.")
    kind = binary_format(data)
    content: Content
    if kind is not None and (separator is not None or encoding is not None):
        raise InputError(f"Separator and encoding belong to text files; this is {kind}.")
    if sheet is not None and kind != "excel":
        raise InputError(f'Only a workbook has sheets; there is no sheet "{sheet}" here.')
    if kind == "parquet":
        content, notes = open_parquet(data)
        dialect = Dialect("parquet")
    elif kind == "excel":
        content, title, notes = open_excel(data, sheet)
        dialect = Dialect("excel", sheet=title)
    else:
        text = to_utf8(data, encoding)
        if separator is None and is_json(text.sample(), name):
            content, notes = open_json(text.data, text.start)
            dialect = Dialect("jsonl", text.encoding, "", text.bom)
        else:
            content, notes = open_delimited(text, separator)
            dialect = Dialect("csv", text.encoding, content.separator, text.bom)
        notes = [*text.notes, *notes]
    return content, replace(dialect, compression="gzip" if packed else ""), (*packed_notes, *notes)
