"""JSON files from outside: read with an error that says what is wrong and where."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from core.error_slices.sources.parsed import Xyxy
from core.errors import InputError

MOST_BYTES = 2 * 1024**3
"""Largest file that is read, since all of it is held in memory."""

MOST_PX = 1e6
"""Largest coordinate or size that an image can have; what is beyond it is a broken number."""


def read_text(path: Path) -> str:
    """The text of a file from outside.

    Raises:
        InputError: It is missing, empty, too large or no UTF-8 text.
    """
    if not path.is_file():
        raise InputError(f"{path.name}: there is no such file.")
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise InputError(f"{path.name}: the file has {size / 1e9:.1f} GB; at most {MOST_BYTES / 1e9:.1f} GB are read. Split it by images.")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise InputError(f"{path.name}: this is no UTF-8 text (byte {e.start:,}).") from e
    except OSError as e:
        raise InputError(f"{path.name}: cannot be read ({e.strerror}).") from e
    if not text.strip():
        raise InputError(f"{path.name}: the file is empty.")
    return text


def read_json(path: Path) -> Any:
    """The value of a JSON file.

    Raises:
        InputError: It cannot be read, or breaks off or is broken somewhere, which is named.
    """
    text = read_text(path)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as e:
        end = " The file ends there: it was cut off." if e.pos >= len(text.rstrip()) - 1 else ""
        raise InputError(f"{path.name}: broken JSON in line {e.lineno}, column {e.colno}: {e.msg}.{end}") from e
    except (ValueError, RecursionError) as e:
        raise InputError(f"{path.name}: broken JSON: {str(e)[:120] or 'nested too deeply'}.") from e
    if "\\ud" in text.casefold():  # halves of a surrogate pair can be spelled in JSON, but no later file can hold one alone
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as e:
            half = f"\\u{ord(e.object[e.start]):04x}"
            raise InputError(f"{path.name}: {half} is half of a character and no text; write the whole character in its place.") from e
    return value


def is_text(name: str) -> bool:
    """Whether a name from a disk can be written in UTF-8."""
    return name.isascii() or not any("\ud800" <= c <= "\udfff" for c in name)


def readable(name: str) -> str:
    """A name from a disk with marks in place of what is no text."""
    return name.encode("utf-8", "replace").decode()


def number(value: Any) -> float:
    """A number, also one written as text; NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def key_of(value: Any) -> str | None:
    """An id as text, whole numbers alike however they are written; None if it cannot be one."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str | int | float) and not isinstance(value, bool) and value == value:
        return str(value)
    return None


def xywh_to_xyxy(value: Any) -> Xyxy | None:
    """Corners of a COCO box, px, not clipped; None if it is no box: not four numbers that can be px, or a negative width or height."""
    if not isinstance(value, list | tuple) or len(value) != 4:
        return None
    x, y, w, h = map(number, value)
    box = (x, y, x + w, y + h)
    return box if w >= 0 and h >= 0 and in_reach(*box) else None


def in_reach(*values: float) -> bool:
    """Whether numbers can be coordinates of an image, px: finite, and not beyond all sizes."""
    return all(-MOST_PX <= v <= MOST_PX for v in values)  # comparisons with NaN are false


def size_of(width: Any, height: Any) -> tuple[int, int]:
    """Width and height of an image, px; 0 and 0 unless both are told and can be."""
    w, h = number(width), number(height)
    return (int(w), int(h)) if 1 <= w <= MOST_PX and 1 <= h <= MOST_PX else (0, 0)


def short(value: Any, most: int = 60) -> str:
    """A value as it stands in the file, cut to what a sentence can hold."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= most else text[: most - 1] + "…"
