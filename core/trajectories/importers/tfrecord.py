"""TFRecord files: a frame of length and checksums around every record.

Each record is `uint64 length, uint32 masked CRC-32C of the length, data, uint32 masked CRC-32C of the data`, all little endian
(TensorFlow, tensorflow/core/lib/io/record_writer.h).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.errors import InputError
from core.trajectories.importers.crc32c import masked

LARGEST_RECORD = 256 * 2**20
"""Bytes of a record beyond which it is not read; one with eight images has about 5 MiB."""
HEAD = 12
TAIL = 4


@dataclass(frozen=True)
class Record:
    """One record.

    Attributes:
        number: From 0.
        offset: Where its data begin in the file.
        data: Its bytes.
        sound: Whether the checksum of the data holds.
    """

    number: int
    offset: int
    data: bytes
    sound: bool


def records(path: Path) -> Iterator[Record]:
    """The records of a file, one at a time; only one is in memory.

    Raises:
        InputError: The file cannot be opened, is compressed, ends inside a record, or a length is not what its checksum says. The
            text names the byte. A broken checksum of data is no error: the record comes with `sound` False, and reading goes on.
    """
    try:
        size = path.stat().st_size
        file = path.open("rb")
    except OSError as e:
        raise InputError(f'"{path}" cannot be read: {e.strerror or e}.') from e
    with file:
        at = number = 0
        while at < size:
            head = file.read(HEAD)
            if at == 0 and head[:2] == b"\x1f\x8b":
                raise InputError(f'"{path.name}" is compressed with gzip; unpack it first (gunzip), then import it.')
            if len(head) < HEAD:
                raise InputError(_cut(path, number, at, f"its head needs {HEAD} bytes, {len(head)} are there"))
            length, check = struct.unpack("<QI", head)
            if masked(head[:8]) != check:
                raise InputError(
                    f'"{path.name}" is no sound TFRecord file: at byte {at:,} (record {number}) the checksum of the length is '
                    f"{check:08x}, {masked(head[:8]):08x} expected. What follows cannot be found; fetch the file again."
                )
            if length > LARGEST_RECORD:
                raise InputError(
                    f'"{path.name}": record {number} at byte {at:,} claims {length:,} bytes; at most {LARGEST_RECORD:,} are read.'
                )
            if at + HEAD + length + TAIL > size:
                raise InputError(_cut(path, number, at, f"it needs {HEAD + length + TAIL:,} bytes, {size - at:,} are there"))
            data = file.read(length)
            tail = file.read(TAIL)
            if len(data) + len(tail) < length + TAIL:
                raise InputError(_cut(path, number, at, "the file became shorter while it was read"))
            yield Record(number, at + HEAD, data, masked(data) == struct.unpack("<I", tail)[0])
            at += HEAD + length + TAIL
            number += 1


def is_tfrecord(path: Path) -> bool:
    """Whether a file begins as a TFRecord file does; never raises."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return len(head) == HEAD and masked(head[:8]) == struct.unpack("<I", head[8:])[0]


def _cut(path: Path, number: int, at: int, why: str) -> str:
    return f'"{path.name}" ends inside record {number}, which begins at byte {at:,}: {why}. Nothing was imported; fetch the file again.'
