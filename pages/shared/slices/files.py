"""What the browser fetches for a gallery: crops as small JPEGs, made when their page is shown, and whole images when one is opened.

They lie in the cache of the workspace under names made from their content, which tell nothing; nothing else of the data can be reached.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from core.error_slices.detections import Image
from core.error_slices.gallery import crop_jpeg, open_picture
from core.settings import Settings

_NAME = 32
"""Hex digits of the name of a file."""
_SHOWN = frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp"})
"""Endings of images that browsers show as they are."""
_ORIENTATION = 0x0112
NO_FILE = "No picture was given for this image."
Rect = tuple[int, int, int, int]


def root(settings: Settings) -> Path:
    """The folder whose files the browser may read; made if it is not there."""
    folder = settings.caches / "slices"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def put_crops(folder: Path, digest: str, wanted: Sequence[tuple[Image, Rect]]) -> list[tuple[str, str]]:
    """Lay out crops; each image is read once.

    Args:
        folder: What `root` gives.
        digest: Of the set of detections.
        wanted: Images, and the part of each that a crop shows.

    Returns:
        For each its name below the folder, and "" ; or "" and why there is none.
    """
    below = folder / digest[:16]
    below.mkdir(exist_ok=True)
    out: dict[int, tuple[str, str]] = {}
    missing: dict[Path, list[int]] = defaultdict(list)
    names = []
    for k, (image, rect) in enumerate(wanted):
        names.append(_named(digest, image, rect) + ".jpg")
        if image.path is None:
            out[k] = "", NO_FILE
        elif (below / names[k]).is_file():
            out[k] = f"{below.name}/{names[k]}", ""
        else:
            missing[image.path].append(k)
    for path, ks in missing.items():
        try:
            picture = open_picture(path)
            for k in ks:
                _write(below / names[k], crop_jpeg(picture, wanted[k][1]))
                out[k] = f"{below.name}/{names[k]}", ""
        except OSError as e:
            why = "The picture is not where it was." if not path.is_file() else f"The picture cannot be read: {_reason(e)}"
            out |= {k: ("", why) for k in ks}
    return [out[k] for k in range(len(wanted))]


def put_frame(folder: Path, digest: str, image: Image) -> tuple[str, str]:
    """Lay out a whole image: its own file as a hard link where browsers show it as it is, else as a JPEG; as `put_crops` for one."""
    if image.path is None:
        return "", NO_FILE
    below = folder / digest[:16]
    below.mkdir(exist_ok=True)
    own = image.path.suffix.lower() in _SHOWN and not _turned(image.path)
    name = _named(digest, image) + (image.path.suffix.lower() if own else ".jpg")
    if (below / name).is_file():
        return f"{below.name}/{name}", ""
    part = below / f".{uuid4().hex}"
    try:
        if own:
            try:
                os.link(image.path.resolve(strict=True), part)
            except OSError:  # another file system, or one without links
                shutil.copyfile(image.path, part)
            os.replace(part, below / name)
        else:
            picture = open_picture(image.path)
            _write(below / name, crop_jpeg(picture, (0, 0, *picture.size), max(picture.size)))
    except OSError as e:
        return "", f"The picture cannot be read: {_reason(e)}"
    return f"{below.name}/{name}", ""


def size_of(image: Image) -> tuple[int, int]:
    """Width and height, px; read from the file where the data does not tell, 1 × 1 where nothing does."""
    if image.width > 0 and image.height > 0:
        return image.width, image.height
    from PIL import Image as Pillow

    try:
        if image.path is not None:
            with Pillow.open(image.path) as opened:
                width, height = opened.size
                return int(width), int(height)
    except (OSError, ValueError, SyntaxError):
        pass  # said where the crop should stand
    return 1, 1


def sweep(folder: Path, digests: set[str]) -> None:
    """Give up what was laid out for sets that are not in the workspace any more."""
    for below in folder.iterdir():
        if below.is_dir() and below.name not in {d[:16] for d in digests}:
            shutil.rmtree(below, ignore_errors=True)


def _named(digest: str, image: Image, rect: Rect | None = None) -> str:
    content = image.sha256 or f"{digest}/{image.id}/{_stamp(image)}"
    return hashlib.sha256(f"{content}/{rect}".encode()).hexdigest()[:_NAME]


def _stamp(image: Image) -> Mapping[str, int] | None:
    try:
        found = image.path.stat() if image.path is not None else None
    except OSError:
        return None
    return None if found is None else {"size": found.st_size, "changed": found.st_mtime_ns}


def _turned(path: Path) -> bool:
    """Whether browsers would turn the image by what the camera wrote into it, which boxes do not heed."""
    from PIL import Image as Pillow

    try:
        with Pillow.open(path) as opened:
            return bool(opened.getexif().get(_ORIENTATION, 1) != 1)
    except (OSError, ValueError, SyntaxError):
        return False


def _write(path: Path, data: bytes) -> None:
    part = path.with_name(f".{uuid4().hex}")
    part.write_bytes(data)
    os.replace(part, path)


def _reason(e: OSError) -> str:
    return (e.strerror or str(e) or type(e).__name__).splitlines()[0][:160]
