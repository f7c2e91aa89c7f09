"""Reads CSV and its relatives: pyarrow does the bulk, the standard library's reader defines what a record is."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from core.errors import InputError, Problem
from core.seed_table.dialect import Payload, Stream, Text, chunks, find_separator, forget, lines
from core.seed_table.raw import RawTable, broken_row, clean_header, factorise, numbers_without

csv.field_size_limit(2**31 - 1)  # a long free text is no error

_WINDOW = 1 << 20
_BLOCKS = (1 << 20, 1 << 24, 1 << 28, 2**31 - 1)
_QUOTE = 34


@dataclass(frozen=True)
class Record:
    """One record of the text.

    Attributes:
        fields: Its fields, empty for a blank line.
        raw: Its text without the line end.
        lines: Number of physical lines it spans.
        end: Offset of the byte behind it.
    """

    fields: list[str]
    raw: str
    lines: int
    end: int


def iterate(data: Payload, start: int, separator: str) -> Iterator[Record]:
    """Every record from `start` on, blank lines included."""
    taken: list[bytes] = []
    end = start

    def feed() -> Iterator[str]:
        nonlocal end
        for line, behind in lines(data, start):
            end = behind
            taken.append(line)
            yield line.decode()

    for fields in csv.reader(feed(), delimiter=separator):
        yield Record(fields, b"".join(taken).decode().rstrip("\r\n"), len(taken), end)
        taken.clear()


@dataclass(frozen=True, eq=False)
class Delimited:
    """An opened CSV-like file.

    Attributes:
        data: UTF-8 bytes.
        start: Offset of the first record below the header.
        separator: One ASCII character.
        columns: Clean column names.
        quoted: Whether the file holds quotes at all.
        multiline: Whether a quoted cell holds a line break.
    """

    data: Payload
    start: int
    separator: str
    columns: tuple[str, ...]
    quoted: bool
    multiline: bool

    @property
    def fields(self) -> tuple[str, ...]:
        """All columns; in text files each can be read."""
        return self.columns

    def read(self, columns: Sequence[str], limit: int | None = None) -> RawTable:
        """These columns of all records, or of the first `limit` ones."""
        data, start = (self.data, self.start) if limit is None else (self._first(limit), 0)
        table, broken = self._parse(data, start, columns, threads=True)
        if broken:  # only the single-threaded parser knows record numbers
            table, broken = self._parse(data, start, columns, threads=False)
        rows = table.num_rows
        with ThreadPoolExecutor(2) as pool:  # arrow works without the interpreter lock
            read = dict(zip(columns, pool.map(lambda c: factorise(table[c]), columns), strict=True))
        return RawTable(rows, read, numbers_without(rows + len(broken), broken), tuple(broken))

    def records(self, numbers: Collection[int]) -> dict[int, list[str] | str]:
        """The original cells of these records; the raw text of those with another number of fields."""
        wanted, width = set(numbers), len(self.columns)
        last = max(wanted, default=0)
        found: dict[int, list[str] | str] = {}
        for number, (fields, raw) in enumerate(self._raw(wanted), start=1):
            if number in wanted:
                found[number] = fields if len(fields) == width else raw
            if number >= last:
                break
        return found

    def _raw(self, wanted: set[int]) -> Iterator[tuple[list[str], str]]:
        if self.multiline:
            for record in iterate(self.data, self.start, self.separator):
                if record.fields:
                    yield record.fields, record.raw
            return
        number = 0
        for line, _ in lines(self.data, self.start):
            if line in (b"\n", b"\r\n", b"\r"):
                continue
            number += 1
            if number not in wanted:
                yield [], ""
                continue
            text = line.decode().rstrip("\r\n")
            yield next(csv.reader([text], delimiter=self.separator), []), text

    def _first(self, limit: int) -> bytes:
        end, count = self.start, 0
        for record in iterate(self.data, self.start, self.separator):
            if count >= limit:
                break
            count += bool(record.fields)
            end = record.end
        return self.data[self.start : end]

    def _parse(self, data: Payload, start: int, columns: Sequence[str], threads: bool) -> tuple[pa.Table, list[Problem]]:
        text = pa.dictionary(pa.int32(), pa.string())
        names = list(self.columns)
        needed = list(dict.fromkeys(columns)) or names[:1]
        if not any(piece.strip(b"\r\n") for piece in chunks(data, start, 4096)):
            return pa.table({c: pa.array([], text) for c in names}), []
        broken: list[Problem] = []
        width = len(names)

        def skip(row: pacsv.InvalidRow) -> str:
            got = f"{row.actual_columns} field{'s' if row.actual_columns != 1 else ''}"
            broken.append(broken_row(row.number or 0, row.text, got, f"{width} fields, as in the header"))
            return "skip"

        for block in _BLOCKS:
            broken.clear()
            try:
                table = pacsv.read_csv(
                    Stream(data, start),
                    pacsv.ReadOptions(column_names=names, use_threads=threads, block_size=block),
                    pacsv.ParseOptions(
                        delimiter=self.separator,
                        quote_char='"' if self.quoted else False,
                        newlines_in_values=self.multiline,
                        invalid_row_handler=skip,
                    ),
                    pacsv.ConvertOptions(
                        check_utf8=False,  # done when the file was opened
                        strings_can_be_null=False,
                        include_columns=needed,
                        column_types=dict.fromkeys(needed, text),
                    ),
                )
            except pa.ArrowInvalid as e:
                # a record longer than a block
                if "block" in str(e) and block != _BLOCKS[-1]:
                    continue
                raise InputError(f"The file cannot be split into records ({e}).") from e
            return table, broken
        raise AssertionError("unreachable: the last block size returns or raises")


def open_delimited(text: Text, separator: str | None) -> tuple[Delimited, list[str]]:
    """Find separator, header and quoting of a text file; second, notes on what was found.

    Raises:
        InputError: No header, no record, a separator that cannot be one, or a quote that is never closed.
    """
    notes: list[str] = []
    start = text.start
    sample = text.sample()
    if hint := re.match(r"sep=(.)\r?\n", sample, re.IGNORECASE):
        start += len(hint.group(0).encode())
        sample = sample[len(hint.group(0)) :]
        separator = separator or hint.group(1)
        notes.append(f'A first line "sep={hint.group(1)}" was obeyed and skipped.')
    if separator is None:
        separator = find_separator(sample)
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n':
        raise InputError(f'"{separator}" cannot separate fields. Give one character, such as , ; | or a tab.')
    header: Record | None = None
    blank = 0
    for record in iterate(text.data, start, separator):
        if any(f.strip() for f in record.fields):
            header = record
            break
        blank += 1
    if header is None:
        raise InputError("The file is empty: it holds no header and no records.")
    columns, changed = clean_header(header.fields)
    notes += changed
    if header.lines > 1 and _damaged(header, separator):
        raise InputError("A quote that opens in the header is never closed.")
    body = header.end
    quoted = b'"' in bytes(text.data[start:body]) or any(b'"' in piece for piece in chunks(text.data, body))
    regular, multiline = _scan_quotes(text.data, body, separator) if quoted else (True, False)
    if not regular or _may_have_blanklines(text.data, body):
        more, multiline = _scan_exactly(text.data, body, separator)
        blank += more
    if blank:
        notes.append(f"{blank} blank line{'s were' if blank > 1 else ' was'} skipped.")
    if next((r for r in iterate(text.data, body, separator) if r.fields), None) is None:
        raise InputError(f"The file holds a header ({len(columns)} columns) but no records.")
    if all(_is_number(c) for c in columns):
        notes.append("The first line holds only numbers; it was taken as the header all the same.")
    return Delimited(text.data, body, separator, columns, quoted, multiline), notes


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[\d.,]+(e[-+]?\d+)?", text, re.IGNORECASE) is not None


def _scan_quotes(data: Payload, start: int, separator: str) -> tuple[bool, bool]:
    """Whether every quote stands where RFC 4180 wants it, and whether a quoted cell holds a line break.

    Where each odd quote follows a field's start (or the quote that it doubles) and each even one precedes a field's end,
    counting quotes is the same as parsing, and can be done on whole arrays.
    """
    view = np.frombuffer(data, np.uint8)[start:]
    bounds = np.zeros(256, dtype=bool)
    bounds[[_QUOTE, 10, 13, ord(separator)]] = True
    parity, multiline = 0, False
    for low in range(0, len(view), _WINDOW):
        window = view[low : low + _WINDOW]
        quotes = np.flatnonzero(window == _QUOTE)
        if parity or quotes.size:
            breaks = np.flatnonzero((window == 10) | (window == 13))
            multiline = multiline or bool(((np.searchsorted(quotes, breaks) + parity) & 1).any())
        opens = (np.arange(quotes.size) + parity) & 1 == 0
        before, after = quotes[opens] + low - 1, quotes[~opens] + low + 1
        if not (bounds[view[before[before >= 0]]].all() and bounds[view[after[after < len(view)]]].all()):
            return False, multiline
        parity = (parity + quotes.size) & 1
        forget(data, start + low, start + low + _WINDOW)
    return parity == 0, multiline


def _may_have_blanklines(data: Payload, start: int) -> bool:
    """Whether two line ends follow each other, other than as CRLF."""
    view = np.frombuffer(data, np.uint8)[start - 1 :]
    for low in range(0, len(view), _WINDOW):
        window = view[low : low + _WINDOW + 1]  # one byte further, so that no pair is cut
        first, second = window[:-1], window[1:]
        ends = first == 10
        if (ends & (second == 10)).any() or ((window == 13).any() and ((ends | (first == 13)) & (second == 13)).any()):
            return True
    return False


def _scan_exactly(data: Payload, start: int, separator: str) -> tuple[int, bool]:
    """Number of blank lines, and whether a record spans lines; record by record."""
    blank = number = 0
    multiline = False
    last: Record | None = None
    for record in iterate(data, start, separator):
        if not record.fields:
            blank += 1
            continue
        number += 1
        last = record
        if record.lines > 1:
            multiline = True
            if _damaged(record, separator):
                break
    if last is not None and _damaged(last, separator, only_open=last.lines == 1):
        begin = last.raw[:80].replace("\n", " ").replace("\r", " ")
        raise InputError(
            f"A quote that opens in record {number} is not closed where the cell ends, so the records below cannot be told apart. "
            "Close it, or double quotes inside a quoted cell.",
            [Problem(number, "(whole row)", begin, "a closing quote before the next separator or line end", kind="broken_quote")],
        )
    return blank, multiline


def _damaged(record: Record, separator: str, only_open: bool = False) -> bool:
    """Whether the record breaks the rules of quoting; with `only_open`, whether its last quote stays open."""
    try:
        for _ in csv.reader(io.StringIO(record.raw, newline=""), delimiter=separator, strict=True):
            pass
    except csv.Error as e:
        return not only_open or "unexpected end" in str(e)
    return False
