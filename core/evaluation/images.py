"""Images as models take them everywhere: JPEG in a data URL, at most 1,280 px a side."""

from __future__ import annotations

import asyncio
import base64
import io
import os
from collections import OrderedDict
from pathlib import Path

from core.digest import sha256_bytes
from core.errors import InputError

LONGEST_SIDE = 1_280
QUALITY = 85
MOST_PIXELS = 80_000_000
"""A file may claim to be larger than memory; such a one is refused before it is unpacked."""
ORIENTATION = 0x0112
"""Exif's tag for how a camera was held."""
MOST_BYTES = 100_000_000
"""Size of a file that is read at most."""
VIDEO = {".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v"}


def read_image(name: str, root: Path | None = None) -> bytes:
    """The bytes of an image file.

    Args:
        name: Path; relative ones are looked for in `root`.
        root: Folder, None for the present one.

    Raises:
        InputError: It is no file on this machine, too large, or a video.
    """
    if "://" in name:
        raise InputError(f'The image "{name[:200]}" lies on the network; download it and name the file.')
    path = Path(name) if root is None else root / name
    if path.suffix.lower() in VIDEO:
        raise InputError(f'"{path.name}" is a video; name single frames as images.')
    try:
        if os.path.getsize(path) > MOST_BYTES:
            raise InputError(f'The image "{path.name}" is larger than {MOST_BYTES // 10**6} MB.')
        return path.read_bytes()
    except OSError as e:
        raise InputError(f'The image "{name}" cannot be read: {e.strerror or e}.') from e
    except ValueError as e:
        raise InputError(f"The path of an image cannot be one: {e}.") from e


def data_url(data: bytes, name: str = "") -> str:
    """An image as a data URL: turned upright, made smaller where a side is longer than 1,280 px, JPEG of quality 85.

    Raises:
        InputError: It is no image that can be read.
    """
    from PIL import Image, ImageOps

    try:
        with Image.open(io.BytesIO(data)) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                raise ValueError(f"{opened.width:,} x {opened.height:,} pixels are more than {MOST_PIXELS:,}")
            opened.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))  # large JPEGs are decoded at a fraction of their size
            image: Image.Image = opened
            if opened.getexif().get(ORIENTATION, 1) != 1:
                image = ImageOps.exif_transpose(opened)
            if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
                layered = image.convert("RGBA")
                image = Image.new("RGB", layered.size, "white")
                image.paste(layered, mask=layered.getchannel("A"))
            image = image if image.mode == "RGB" else image.convert("RGB")
            image.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.BICUBIC)
            image.load()  # what was neither turned nor made smaller is not unpacked yet, and the file closes here
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning) as e:
        raise InputError(f'"{name}" is no image that can be read: {str(e)[:200] or type(e).__name__}.') from e
    out = io.BytesIO()
    image.save(out, "JPEG", quality=QUALITY)
    return f"data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode('ascii')}"


class Gallery:
    """Images made ready in threads; those used last are kept, since several questions may be about one image."""

    def __init__(self, kept: int = 64) -> None:
        self._kept = kept
        self._made: OrderedDict[str, asyncio.Task[str]] = OrderedDict()

    async def url(self, name: str, sha: str, root: Path | None) -> str:
        """The data URL of an image with this content hash.

        Raises:
            InputError: It cannot be read, or has another content by now.
        """
        made = self._made.get(sha)
        if made is None:
            made = self._made[sha] = asyncio.create_task(asyncio.to_thread(_checked_url, name, sha, root))
        self._made.move_to_end(sha)
        while len(self._made) > self._kept:
            self._made.popitem(last=False)
        try:
            return await asyncio.shield(made)
        except InputError:
            self._made.pop(sha, None)  # the same content may lie under another name
            raise


def _checked_url(name: str, sha: str, root: Path | None) -> str:
    data = read_image(name, root)
    if sha_of(data) != sha:
        raise InputError(f'The image "{name}" is not the one that was acquired: its content has changed.')
    return data_url(data, name)


def sha_of(data: bytes) -> str:
    """Content hash of an image file."""
    return sha256_bytes(data)
