"""Messages of Protocol Buffers read by field number, without their compiled descriptions.

Only what the importers need: scalars, packed and unpacked repeats, strings, bytes and messages inside messages. Fields that nobody
asks for are skipped, as the format wants (https://protobuf.dev/programming-guides/encoding/).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.trajectories.case import Floats

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MOST_FIELDS = 2_000_000
"""Fields of a message and of all messages in it beyond which it is not read: two-byte fields must not fill the memory."""

Kind = Literal["<f4", "<f8"]


class WireError(ValueError):
    """The bytes are no message; the text names the byte."""


@dataclass(frozen=True, slots=True)
class Field:
    """One occurrence of a field.

    Attributes:
        wire_type: How it is coded.
        value: The number of a varint, or the bytes of anything else.
        offset: Where the bytes begin in what was read first.
    """

    wire_type: int
    value: int | memoryview
    offset: int


class Message:
    """The fields of a message by number.

    Args:
        data: The bytes.
        offset: Where they begin in what was read first; for errors and for finding large fields again.
        left: How many fields may still be read; shared with the messages inside.

    Raises:
        WireError: The bytes end inside a field or are coded in an unknown way.
    """

    def __init__(self, data: bytes | memoryview, offset: int = 0, left: list[int] | None = None) -> None:
        self._fields: defaultdict[int, list[Field]] = defaultdict(list)
        self._left = [MOST_FIELDS] if left is None else left
        view = memoryview(data)
        at = 0
        while at < len(view):
            begin = at
            tag, at = _varint(view, at, offset)
            number, wire_type = tag >> 3, tag & 7
            if number == 0:
                raise WireError(f"a field with the number 0 at byte {offset + begin:,}")
            if wire_type == VARINT:
                value, at = _varint(view, at, offset)
                self._fields[number].append(Field(wire_type, value, offset + begin))
            elif wire_type in (BYTES, FIXED32, FIXED64):
                length = 4 if wire_type == FIXED32 else 8
                if wire_type == BYTES:
                    length, at = _varint(view, at, offset)
                if length > len(view) - at:
                    raise WireError(f"field {number} at byte {offset + begin:,} needs {length:,} bytes, {len(view) - at:,} are there")
                self._fields[number].append(Field(wire_type, view[at : at + length], offset + at))
                at += length
            else:
                raise WireError(f"field {number} at byte {offset + begin:,} has the wire type {wire_type}, which is not used any more")
            self._left[0] -= 1
            if self._left[0] < 0:
                raise WireError(f"more than {MOST_FIELDS:,} fields in the message at byte {offset:,}")

    def __contains__(self, number: int) -> bool:
        return number in self._fields

    def messages(self, number: int) -> list[Message]:
        """Every message of a repeated field."""
        return [Message(data, offset, self._left) for data, offset in self.blobs(number)]

    def message(self, number: int) -> Message:
        """The message of a field; empty if it is not there. Several are merged, as the format wants."""
        found = self.blobs(number)
        if len(found) == 1:
            return Message(*found[0], self._left)
        return Message(b"".join(bytes(data) for data, _ in found), found[0][1] if found else 0, self._left)

    def blobs(self, number: int) -> list[tuple[memoryview, int]]:
        """Bytes of every occurrence of a field with the offset where they begin."""
        out = []
        for f in self._fields.get(number, ()):
            if f.wire_type != BYTES or not isinstance(f.value, memoryview):
                raise WireError(f"field {number} at byte {f.offset:,} is a number, not bytes")
            out.append((f.value, f.offset))
        return out

    def strings(self, number: int) -> list[str]:
        """Every text of a repeated field."""
        try:
            return [bytes(data).decode("utf-8") for data, _ in self.blobs(number)]
        except UnicodeDecodeError as e:
            raise WireError(f"field {number} is no UTF-8 text: {e.reason}") from e

    def string(self, number: int) -> str:
        """The text of a field, "" if it is not there."""
        found = self.strings(number)
        return found[-1] if found else ""

    def integer(self, number: int, default: int = 0) -> int:
        """The number of an int32, int64, bool or enum field."""
        found = self._fields.get(number)
        if not found:
            return default
        value = found[-1].value
        if not isinstance(value, int):
            raise WireError(f"field {number} at byte {found[-1].offset:,} is not a whole number")
        return value - 2**64 if value >= 2**63 else value

    def floats(self, number: int, kind: Kind = "<f4") -> Floats:
        """The numbers of a repeated float ("<f4") or double ("<f8") field, packed or not, as shape (N,)."""
        size, single = (4, FIXED32) if kind == "<f4" else (8, FIXED64)
        parts = []
        for f in self._fields.get(number, ()):
            if not isinstance(f.value, memoryview) or f.wire_type not in (BYTES, single) or len(f.value) % size:
                raise WireError(f"field {number} at byte {f.offset:,} is no list of {size}-byte numbers")
            parts.append(np.frombuffer(f.value, dtype=kind))
        with np.errstate(invalid="ignore"):  # a signalling NaN is a NaN, which the importers look for
            return np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)

    def number(self, number: int, kind: Kind = "<f4") -> float | None:
        """The number of a single float or double field, None if it is not there."""
        found = self.floats(number, kind)
        return float(found[-1]) if len(found) else None


def _varint(view: memoryview, at: int, offset: int) -> tuple[int, int]:
    """A whole number in groups of seven bits, and where the next thing begins."""
    value = 0
    for k in range(10):
        if at + k >= len(view):
            raise WireError(f"the message ends inside a number at byte {offset + at:,}")
        byte = view[at + k]
        value |= (byte & 0x7F) << (7 * k)
        if byte < 0x80:
            return value & (2**64 - 1), at + k + 1
    raise WireError(f"a number of more than ten bytes at byte {offset + at:,}")
