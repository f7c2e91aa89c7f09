"""Recognises what a file is: packing, format, text encoding, separator. Content decides, not the name."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import json
import mmap
import re
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import InputError
from core.seed_table.raw import Format

Payload = bytes | mmap.mmap

MAX_UNPACKED = 2 * 1024**3
"""Bytes a packed file may hold; more is taken for a zip bomb."""

CHUNK = 1 << 22
SAMPLE = 1 << 18
SEPARATORS = ("\t", ";", "|", ",")
"""Candidates; of two that fit equally well the earlier wins, since commas also stand inside numbers."""

_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16 LE, which it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_FOREIGN = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"ARROW1", "an Arrow/Feather file"),
    (b"BZh", "packed with bzip2"),
    (b"\xfd7zXZ", "packed with xz"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x7fELF", "a program"),
    (b"\xd0\xcf\x11\xe0", "an old Excel .xls file or a workbook with a password"),
)
READABLE = "CSV, TSV, Excel .xlsx, Parquet, JSON Lines, each also gzipped"


@dataclass(frozen=True)
class Text:
    """A text file as UTF-8.

    Attributes:
        data: UTF-8 bytes, maybe with a byte order mark before `start`.
        start: Offset of the first byte of the text.
        encoding: Encoding of the original.
        bom: Whether the original had a byte order mark.
        notes: What was done, in sentences.
    """

    data: Payload
    start: int
    encoding: str
    bom: bool
    notes: tuple[str, ...] = ()

    def sample(self) -> str:
        """The beginning of the text."""
        return bytes(self.data[self.start : self.start + SAMPLE]).decode("utf-8", "ignore")


def load(path: Path) -> Payload:
    """The bytes of a file, mapped into memory.

    Raises:
        InputError: There is no such file, or it cannot be read.
    """
    try:
        with path.open("rb") as f:
            return mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""
    except OSError as e:
        raise InputError(f'The file "{path}" cannot be read: {e.strerror or e}.') from e


def forget(data: Payload, begin: int, end: int) -> None:
    """Let go of mapped pages that were read, so that a big file does not stay in memory; they are read again if touched."""
    if isinstance(data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        begin -= begin % mmap.PAGESIZE
        data.madvise(mmap.MADV_DONTNEED, begin, min(end, len(data)) - begin)


def chunks(data: Payload, start: int = 0, size: int = CHUNK) -> Iterator[bytes]:
    """The bytes from `start` on, a few megabytes at a time."""
    for i in range(start, len(data), size):
        yield data[i : i + size]
        forget(data, i, i + size)


def lines(data: Payload, start: int) -> Iterator[tuple[bytes, int]]:
    """Physical lines with their ends (LF, CRLF or CR), and the offset behind each."""
    rest = b""
    end = start
    for piece in chunks(data, start):
        found = (rest + piece).splitlines(keepends=True)
        # a CR at the very end may be the first half of a CRLF
        rest = found.pop() if found and not found[-1].endswith(b"\n") else b""
        for line in found:
            end += len(line)
            yield line, end
    if rest:
        yield rest, end + len(rest)


class Stream(io.RawIOBase):
    """The bytes from `start` on as a file to read once, front to back, without keeping what was read."""

    def __init__(self, data: Payload, start: int = 0) -> None:
        super().__init__()
        self._data, self._at = data, start

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as there are bytes."""
        piece = self._data[self._at : self._at + len(buffer)]
        buffer[: len(piece)] = piece
        forget(self._data, self._at, self._at + len(piece))
        self._at += len(piece)
        return len(piece)


def _spooled(pieces: Iterator[bytes]) -> Payload:
    """Bytes kept in an unnamed temporary file rather than in memory, mapped like a file of the user's."""
    with tempfile.TemporaryFile() as f:
        for p in pieces:
            f.write(p)
        f.flush()
        return mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) if f.tell() else b""


def unpack(data: Payload) -> tuple[Payload, bool]:
    """The content of a gzip file and True; anything else as it is and False.

    Raises:
        InputError: The gzip stream is damaged or holds more than `MAX_UNPACKED` bytes.
    """
    if data[:2] != b"\x1f\x8b":
        return data, False

    def pieces() -> Iterator[bytes]:
        total = 0
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as f:
            while piece := f.read(CHUNK):
                total += len(piece)
                if total > MAX_UNPACKED:
                    raise InputError(f"The gzip file unpacks to more than {size_text(MAX_UNPACKED)}; split it or store it as Parquet.")
                yield piece

    try:
        return _spooled(pieces()), True
    except (OSError, EOFError, zlib.error) as e:
        raise InputError(f"The gzip file is damaged or was cut off ({e}). Pack or upload it again.") from e


def binary_format(data: Payload) -> Format | None:
    """The format by content, "parquet" or "excel"; None if it may be text.

    Raises:
        InputError: It is some other known kind of file, or a zip archive that is no workbook or a bomb.
    """
    head = bytes(data[:16])
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as z:
                entries = z.infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as e:
            raise InputError(f"The file begins like an Excel workbook or zip archive but is damaged ({e}). Save or upload it again.") from e
        if not any(e.filename == "xl/workbook.xml" for e in entries):
            raise InputError(f"This is a zip archive that is no Excel workbook. Unpack it first; readable are {READABLE}.")
        if sum(e.file_size for e in entries) > MAX_UNPACKED:
            raise InputError(f"The workbook unpacks to more than {size_text(MAX_UNPACKED)}; store the table as CSV or Parquet.")
        return "excel"
    for magic, kind in _FOREIGN:
        if head.startswith(magic):
            raise InputError(f"This file is {kind}, not a table. Readable are {READABLE}.")
    return None


def to_utf8(data: Payload, encoding: str | None = None) -> Text:
    """The text of a file as UTF-8; decodes in chunks where it is in another encoding.

    Raises:
        InputError: `encoding` is unknown or does not fit, or the file is no text.
    """
    head = bytes(data[:SAMPLE])
    mark, marked = next(((m, e) for m, e in _BOMS if head.startswith(m)), (b"", ""))
    if encoding is not None:
        try:
            b"text".decode(encoding, "replace")
            name = codecs.lookup(encoding).name.replace("iso8859-1", "latin-1").removesuffix("-sig")
        except (LookupError, UnicodeError) as e:  # no such codec, or one that does not make text of bytes
            raise InputError(f'Unknown encoding "{encoding}". Usual ones: utf-8, utf-16, latin-1, cp1252.') from e
        if marked and (name == marked or name == marked[:6]):
            name = marked
        else:
            mark = b""
    else:
        name = marked or _nul_pattern(head) or _eight_bit(data)
    notes = ["A byte order mark at the start was removed."] if mark else []
    if name == "utf-8":
        if encoding is not None or marked:
            _require(data, len(mark), name)
        text = Text(data, len(mark), name, bool(mark), tuple(notes))
    else:
        notes.append(f"The text was decoded as {_shown(name)}" + ("." if encoding or mark else ", because it is not UTF-8."))
        text = Text(_spooled(_decoded(data, len(mark), name)), 0, name, bool(mark), tuple(notes))
    _refuse_junk(text.sample())
    return text


def _shown(name: str) -> str:
    return {"latin-1": "Latin-1", "cp1252": "Windows-1252"}.get(name, name.upper())


def _decoded(data: Payload, start: int, name: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(name)()
    try:
        for piece in chunks(data, start):
            yield decoder.decode(piece).encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError as e:
        raise InputError(f"The file cannot be decoded as {_shown(name)} ({e}). Name its encoding, or save it as UTF-8.") from e


def _require(data: Payload, start: int, name: str) -> None:
    for _ in _decoded(data, start, name):
        pass


def _nul_pattern(head: bytes) -> str:
    """UTF-16 without a mark: the separators and digits of a table have a NUL on one side, never on the other."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    share = 0.05 * len(head) / 2
    if odd > share and even <= odd / 50:
        return "utf-16-le"
    if even > share and odd <= even / 50:
        return "utf-16-be"
    return ""


def _eight_bit(data: Payload) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    pending = False
    try:
        for piece in chunks(data):
            if pending or not piece.isascii():
                decoder.decode(piece)
                pending = bool(decoder.getstate()[0])
        decoder.decode(b"", final=True)
        return "utf-8"
    except UnicodeDecodeError:
        pass
    found = set[int]().union(*(set(piece) for piece in chunks(data)))
    if not found & set(range(0x80, 0xA0)):
        return "latin-1"
    return "latin-1" if found & {0x81, 0x8D, 0x8F, 0x90, 0x9D} else "cp1252"


def _refuse_junk(sample: str) -> None:
    control = sum(n for c, n in Counter(sample).items() if c < " " and c not in "\t\n\r\x0b\x0c\x1a")
    if "\0" in sample or control > len(sample) / 100:
        raise InputError(f"This is a binary file, not a table. Readable are {READABLE}.")
    if re.match(r"\s*<(!doctype|html|\?xml|svg)", sample, re.IGNORECASE):
        raise InputError(f"This is a web page or an XML file, not a table. Readable are {READABLE}.")


def is_json(sample: str, name: str) -> bool:
    """Whether the text is JSON Lines or a JSON array of objects."""
    start = sample.lstrip()
    if re.match(r"\[\s*[{\]]", start):
        return True
    named = name.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson", ".json"))
    if named and start.startswith(("{", "[")):
        return True
    for line in [x for x in start.split("\n")[:20] if x.strip()][: 20 if named else 1]:
        if line.lstrip().startswith("{"):
            with contextlib.suppress(ValueError, RecursionError):
                return isinstance(json.loads(line), dict)
            # a first line longer than the sample
            return "\n" not in sample
    return False


def find_separator(sample: str) -> str:
    """The character that splits the most records into as many fields as the header has.

    A record counts as consistent with its own header only, so the decimal commas of a semicolon file do not make a table.
    """
    cut = max(sample.rfind("\n"), sample.rfind("\r"))
    lines = (sample[:cut] if cut > 0 and len(sample) >= SAMPLE // 4 else sample).replace("\r\n", "\n").replace("\r", "\n")
    best, score = ",", (0.0, 1)
    for separator in SEPARATORS:
        widths: list[int] = []
        try:
            for fields in csv.reader(io.StringIO(lines), delimiter=separator):
                if fields:
                    widths.append(len(fields))
                if len(widths) > 500:
                    break
        except csv.Error:
            continue
        if not widths or widths[0] < 2:
            continue
        share = sum(w == widths[0] for w in widths[1:]) / max(1, len(widths) - 1)
        if (round(share, 1), widths[0]) > score:
            best, score = separator, (round(share, 1), widths[0])
    if score != (0.0, 1):
        return best
    # one column: whatever does not occur keeps every line whole
    return next((s for s in (",", *SEPARATORS) if s not in sample), ",")


def size_text(n: int) -> str:
    """A number of bytes as people say it."""
    return f"{n / 1024**3:.3g} GB" if n >= 1024**3 else f"{n / 1024**2:.3g} MB"
