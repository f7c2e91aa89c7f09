"""Images as models take them everywhere: JPEG inside the request, no larger than models look at."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.digest import sha256_bytes
from core.errors import InputError

SIDE = 1_280
"""Longest side in pixels that is sent."""
QUALITY = 85
MAX_BYTES = 64 << 20
MAX_PIXELS = 100_000_000
"""A file may claim to be larger than memory; such a one is refused before it is unpacked."""
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")


@dataclass(frozen=True)
class Picture:
    """An image made ready.

    Attributes:
        sha256: Of the file as it lies there.
        url: Data URL of the JPEG.
        width, height: Of what is sent.
    """

    sha256: str
    url: str
    width: int
    height: int


def read_picture(path: str | Path, side: int = SIDE) -> Picture:
    """An image file, made ready.

    Raises:
        InputError: It is an address, cannot be read, is too large or no image.
    """
    data = picture_bytes(path)
    jpeg, width, height = as_jpeg(data, str(path), side)
    return Picture(sha256_bytes(data), "data:image/jpeg;base64," + base64.b64encode(jpeg).decode(), width, height)


def picture_bytes(path: str | Path) -> bytes:
    """The bytes of an image file.

    Raises:
        InputError: It is an address, missing, or too large.
    """
    if "://" in str(path):
        raise InputError(f'"{path}" is an address; only images in files can be sent to a model. Download it and name the file.')
    file = Path(path)
    try:
        if file.stat().st_size > MAX_BYTES:
            raise InputError(f'The image "{path}" is larger than {MAX_BYTES >> 20} MB.')
        return file.read_bytes()
    except (OSError, ValueError) as e:
        raise InputError(f'The image "{path}" cannot be read: {getattr(e, "strerror", None) or e}.') from e


def as_jpeg(data: bytes, name: str, side: int = SIDE) -> tuple[bytes, int, int]:
    """An image as JPEG, upright, shrunk to a longest side, with its width and height.

    Raises:
        InputError: It is no image, damaged, or too large to unpack.
    """
    from PIL import Image, ImageOps

    try:
        with Image.open(io.BytesIO(data)) as opened:
            if opened.width * opened.height > MAX_PIXELS:
                raise InputError(f'The image "{name}" has {opened.width:,} × {opened.height:,} pixels; at most {MAX_PIXELS:,} are taken.')
            opened.draft("RGB", (side, side))  # JPEG files are unpacked no larger than needed
            upright: Any = ImageOps.exif_transpose(opened)
            picture = upright.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as e:  # what Pillow raises on damaged files
        raise InputError(f'"{name}" is no image that can be read.') from e
    picture.thumbnail((side, side))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=QUALITY)
    return out.getvalue(), picture.width, picture.height
