"""Image files beside what a detector wrote: found by name, sized by their header, known by their hash."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from core.error_slices.detections import Image
from core.error_slices.sources.json_files import is_text
from core.error_slices.sources.parsed import ParsedImage, Remarks
from core.errors import InputError

SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm"}
_ORIENTATION = 0x0112
Progress = Callable[[int, int], None]
"""Called with how many images are read, and of how many."""


@dataclass(frozen=True)
class ImageFile:
    """What an image file tells without its pixels.

    Attributes:
        width: Pixels as viewers show it, turned by its orientation mark.
        height: Pixels likewise.
        sha256: Of its bytes.
        turned: Whether its orientation mark swaps width and height.
    """

    width: int
    height: int
    sha256: str
    turned: bool


def _header(path: Path) -> tuple[int, int, bool]:
    from PIL import Image as Picture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Picture.open(path) as picture:
                width, height = picture.size
                turned = picture.getexif().get(_ORIENTATION, 1) in {5, 6, 7, 8}
        except (Picture.DecompressionBombError, SyntaxError, ValueError, EOFError) as e:
            raise OSError(str(e)) from e
    return (height, width, True) if turned else (width, height, False)


def header_size(path: Path) -> tuple[int, int] | None:
    """Width and height of an image as viewers show it, from its header alone; None if it cannot be read."""
    try:
        return _header(path)[:2]
    except OSError:
        return None


def describe(path: Path) -> ImageFile:
    """Size from the header and hash of the bytes.

    Raises:
        OSError: It is no image that can be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as f:
        while chunk := f.read(1 << 20):
            digest.update(chunk)
    width, height, turned = _header(path)
    return ImageFile(width, height, digest.hexdigest(), turned)


class ImageFolder:
    """Images below a folder, found by the names that annotation files use.

    Attributes:
        root: The folder.
        paths: The images, in order.
        badly_named: Images whose path is no UTF-8 text, so that no file could name them; not among the others.
    """

    def __init__(self, root: Path) -> None:
        """Lists the folder.

        Raises:
            InputError: It is no folder.
        """
        if not root.is_dir():
            raise InputError(f"{root.name}: there is no such folder of images.")
        self.root = root
        found = sorted(Path(top, name) for top, _, names in os.walk(root) for name in names if Path(name).suffix.lower() in SUFFIXES)
        self.paths = tuple(p for p in found if is_text(str(p)))
        self.badly_named = tuple(p for p in found if not is_text(str(p)))
        self._by_name: dict[str, list[Path]] = {}
        for path in self.paths:
            self._by_name.setdefault(path.name, []).append(path)

    def find(self, file_name: str) -> Path | None:
        """The file of a name: at its place below the folder, else the one file of that name; never anything outside the folder."""
        plain = PurePosixPath(file_name.replace("\\", "/"))
        if not plain.name:
            return None
        if not plain.is_absolute() and ".." not in plain.parts:
            for skipped in range(len(plain.parts)):
                path = self.root.joinpath(*plain.parts[skipped:])
                if _is_file(path):
                    return path
        same = self._by_name.get(plain.name, [])
        return same[0] if len(same) == 1 else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no disk could hold
        return False


def with_files(
    images: list[ParsedImage], folder: ImageFolder | None, remarks: Remarks, progress: Progress | None = None, *, sized: bool = True
) -> tuple[Image, ...]:
    """The images with path, hash and, where the file does not tell it, size; unknown sizes are counted where boxes are `sized`."""
    out: list[Image] = []
    for i, image in enumerate(images):
        width, height, path, sha256 = image.width, image.height, None, ""
        if folder is not None:
            path = folder.find(image.file_name)
            if path is None:
                remarks.tell(
                    "images without a file", f"image {image.id}: no file {image.file_name or '(it names none)'} in {folder.root.name}."
                )
            else:
                try:
                    found = describe(path)
                except OSError:
                    remarks.tell(
                        "images that cannot be read",
                        f"image {image.id}: {path.name} is no image that can be read; its pixels are not used.",
                    )
                    path = None
                else:
                    sha256 = found.sha256
                    if found.turned:
                        remarks.count("images turned by their orientation mark")
                    if not (width and height):
                        width, height = found.width, found.height
                    elif (width, height) != (found.width, found.height):
                        remarks.tell(
                            "images of another size than the file says",
                            f"image {image.id}: the file says {width} × {height} px, {path.name} has {found.width} × {found.height}; "
                            "boxes lie in the wrong places unless it was only scaled for viewing.",
                        )
            if progress is not None:
                progress(i + 1, len(images))
        if sized and not (width and height):
            remarks.count("images of unknown size")
        out.append(Image(image.id, image.file_name, width, height, path, image.split, sha256))
    return tuple(out)
