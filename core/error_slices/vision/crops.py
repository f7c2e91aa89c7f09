"""The two pictures by which a model sees one unit: the whole frame with its box drawn in, and its surroundings enlarged."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from core.digest import sha256_bytes
from core.error_slices.detections import Image
from core.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MOST_PIXELS = 80_000_000
"""A file may claim to be larger than memory; such a one is refused before it is unpacked."""
_ORIENTATION = 0x0112
"""Exif's tag for how a camera was held."""
_OUTER, _INNER = (0, 0, 0), (255, 230, 0)
"""The box is drawn in two colours, so that it stands out on every ground."""


@dataclass(frozen=True)
class CropSettings:
    """How a unit is shown; part of the key of each call.

    Attributes:
        frame: Longest side of the whole frame, px.
        margin: Side of the surroundings as a multiple of that of the box.
        least: Longest side of the surroundings at least, px: smaller ones are enlarged.
        most: Longest side of the surroundings at most, px.
        quality: Of the JPEGs.
        thin: Longest side of the surroundings over the shortest at most, where the image has room: some models refuse slivers.
    """

    frame: int = 1_024
    margin: float = 1.5
    least: int = 224
    most: int = 672
    quality: int = 88
    thin: float = 4.0


@dataclass(frozen=True)
class UnitPictures:
    """JPEGs of one unit, in the order in which they are sent.

    Attributes:
        frame: The whole frame, with the box drawn in if there is one.
        crop: The surroundings, None for a whole image.
    """

    frame: bytes
    crop: bytes | None

    @property
    def urls(self) -> tuple[str, ...]:
        """As data URLs."""
        return tuple(f"data:image/jpeg;base64,{base64.b64encode(p).decode('ascii')}" for p in (self.frame, self.crop) if p is not None)


def rounded(xyxy: Sequence[float]) -> tuple[int, int, int, int]:
    """A box in whole pixels that holds it; what is shown, and what the key of a call holds."""
    import math

    x1, y1, x2, y2 = (float(x) for x in xyxy)
    return math.floor(x1), math.floor(y1), math.ceil(x2), math.ceil(y2)


def image_digest(image: Image) -> str:
    """SHA-256 of the file of an image.

    Raises:
        InputError: It has none, or it cannot be read.
    """
    return image.sha256 or _file_digest(image)


def check_unchanged(image: Image) -> None:
    """Whether the file of an image is still the one that was imported: an answer about another picture must not be kept under its name.

    Raises:
        InputError: It is not, or cannot be read.
    """
    if image.sha256 and _file_digest(image) != image.sha256:
        raise InputError(f'"{image.file_name}" is not the picture that was imported: its content has changed.')


def load_picture(image: Image) -> Picture:
    """The pixels of an image, RGB, turned as its boxes are.

    Files of cameras say how they were held. Boxes count pixels as viewers show them, unless the ground truth gives the size of the pixels
    as they are stored. Of 16 bits the upper eight are taken.

    Raises:
        InputError: It has no file, or one that is no image that can be read; named.
    """
    from PIL import Image as Pillow
    from PIL import ImageOps

    path = _path(image)
    try:
        with Pillow.open(path) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                raise ValueError(f"{opened.width:,} x {opened.height:,} pixels are more than {MOST_PIXELS:,}")
            turned: Picture = opened
            if opened.getexif().get(_ORIENTATION, 1) != 1:
                turned = ImageOps.exif_transpose(opened)
            as_stored = (image.width, image.height) == opened.size != turned.size
            found = _eight_bits(opened if as_stored else turned)
            if found.mode != "RGB":
                return found.convert("RGB")
            found.load()  # a conversion would copy it
            return found
    except (OSError, ValueError, SyntaxError, EOFError, Pillow.DecompressionBombError, Pillow.DecompressionBombWarning) as e:
        raise InputError(f'"{image.file_name}" is no image that can be read: {str(e)[:200] or type(e).__name__}.') from e


def unit_pictures(picture: Picture, image: Image, box: Sequence[int] | None, settings: CropSettings | None = None) -> UnitPictures:
    """The pictures of one unit.

    Args:
        picture: Pixels of the image, as `load_picture` gives them.
        image: Its size as the ground truth has it: boxes are scaled where the file has another one.
        box: Left, top, right, bottom, px of the ground truth; None for the whole image.
        settings: How it is shown.
    """
    settings = settings or CropSettings()
    if box is None:
        return UnitPictures(_jpeg(_fitted(picture, settings)[0], settings), None)
    sx = picture.width / image.width if image.width else 1.0
    sy = picture.height / image.height if image.height else 1.0
    x1, y1, x2, y2 = box[0] * sx, box[1] * sy, box[2] * sx, box[3] * sy
    frame, scale = _fitted(picture, settings)
    _draw(frame, tuple(v * scale for v in (x1, y1, x2, y2)))
    region = _around((x1, y1, x2, y2), picture.size, settings)
    part = picture.crop(region)
    longest = max(part.size)
    zoom = settings.least / longest if longest < settings.least else min(1.0, settings.most / longest)
    crop = _scaled(part, zoom)
    _draw(crop, ((x1 - region[0]) * zoom, (y1 - region[1]) * zoom, (x2 - region[0]) * zoom, (y2 - region[1]) * zoom))
    return UnitPictures(_jpeg(frame, settings), _jpeg(crop, settings))


def _eight_bits(picture: Picture) -> Picture:
    """A picture of 16 bits in eight, others as they are."""
    import numpy as np
    from PIL import Image as Pillow

    if not picture.mode.startswith("I"):
        return picture
    pixels = np.asarray(picture).astype(np.float64)
    return Pillow.fromarray((pixels / (256 if pixels.max(initial=0) > 255 else 1)).clip(0, 255).astype(np.uint8))


def _path(image: Image) -> Path:
    if image.path is None:
        raise InputError(f'The image "{image.file_name}" was not given, or is missing.')
    return image.path


def _file_digest(image: Image) -> str:
    path = _path(image)
    try:
        told = path.stat()
        return _digest(path, told.st_mtime_ns, told.st_size)
    except OSError as e:
        raise InputError(f'The image "{image.file_name}" cannot be read: {e.strerror or e}.') from e


@lru_cache(maxsize=16_384)
def _digest(path: Path, _changed: int, _size: int) -> str:
    return sha256_bytes(path.read_bytes())


def _around(box: tuple[float, float, float, float], size: tuple[int, int], settings: CropSettings) -> tuple[int, int, int, int]:
    """A region around a box, inside the image; at least 16 px a side and no sliver, where the image has room."""
    sides = []
    shortest = max(16.0, max(min(box[2] - box[0], size[0]), min(box[3] - box[1], size[1])) * settings.margin / settings.thin)
    for low, high, most in ((box[0], box[2], size[0]), (box[1], box[3], size[1])):
        length = min(float(most), max((high - low) * settings.margin, shortest))
        start = min(max((low + high - length) / 2, 0.0), most - length)
        sides.append((int(start), max(int(start) + 1, min(most, round(start + length)))))
    return sides[0][0], sides[1][0], sides[0][1], sides[1][1]


def _fitted(picture: Picture, settings: CropSettings) -> tuple[Picture, float]:
    """A whole frame, made smaller where it is large, and larger where models could hardly see it."""
    longest = max(picture.size)
    scale = settings.least / longest if longest < settings.least / 2 else min(1.0, settings.frame / longest)
    return _scaled(picture, scale), scale


def _scaled(picture: Picture, scale: float) -> Picture:
    from PIL import Image as Pillow

    if scale == 1.0:
        return picture.copy()
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(size, Pillow.Resampling.BICUBIC)


def _draw(picture: Picture, box: Sequence[float]) -> None:
    """Draw a box around what it holds, not over it."""
    from PIL import ImageDraw

    pen = ImageDraw.Draw(picture)
    x1, y1, x2, y2 = (round(v) for v in box)
    for step, colour in ((4, _OUTER), (3, _OUTER), (2, _INNER), (1, _INNER)):
        left, top = max(0, x1 - step), max(0, y1 - step)
        right, bottom = min(picture.width - 1, x2 + step - 1), min(picture.height - 1, y2 + step - 1)
        if right >= left and bottom >= top:
            pen.rectangle((left, top, right, bottom), outline=colour)


def _jpeg(picture: Picture, settings: CropSettings) -> bytes:
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=settings.quality)
    return out.getvalue()
