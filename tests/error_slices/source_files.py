"""Small sources on disk, made for the tests of readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def left_out(counts: dict[str, int], what: str) -> int:
    """How many of something a report says were left out."""
    return sum(n for kind, n in counts.items() if kind.startswith(what) and "left out" in kind)


def coco(**changes: Any) -> dict[str, Any]:
    """A COCO ground truth of two images and two classes whose ids count from nothing in particular."""
    made: dict[str, Any] = {
        "images": [
            {"id": 7, "file_name": "a.jpg", "width": 100, "height": 80},
            {"id": 9, "file_name": "sub/b.jpg", "width": 60, "height": 40},
        ],
        "categories": [{"id": 3, "name": "car"}, {"id": 0, "name": "person"}],
        "annotations": [
            {"id": 11, "image_id": 7, "category_id": 3, "bbox": [10, 20, 30, 15.5], "area": 400, "iscrowd": 0},
            {"id": 12, "image_id": 7, "category_id": 0, "bbox": [50, 10, 8, 20], "area": 160, "iscrowd": 0},
        ],
    }
    return {**made, **changes}


def found(**changes: Any) -> dict[str, Any]:
    """A prediction of the car of `coco`."""
    return {"image_id": 7, "category_id": 3, "bbox": [11, 20, 30, 15], "score": 0.75, **changes}


def written(path: Path, value: Any) -> Path:
    """A file with a JSON value, or with text as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def picture(path: Path, size: tuple[int, int], *, orientation: int = 1) -> Path:
    """An image file of that width and height, with an orientation mark where it is not 1."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    made = Image.new("RGB", size, (sum(map(ord, path.name)) % 200, 60, 90))
    exif = made.getexif()
    if orientation != 1:
        exif[0x0112] = orientation
    made.save(path, exif=exif)
    return path
