"""Small evaluation units for tests of screens, made by hand: no matching is involved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from core.error_slices.detections import Boxes, ClassName, DetectionSet, Image
from core.error_slices.units import Population, Units, UnitSettings

NAMES = ("car", "person")


def units_of(
    rows: list[dict[str, Any]], sizes: list[tuple[int, int]], paths: list[Path] | None = None, truth: Boxes | None = None
) -> Units:
    """Units from rows with id, image, box and kind; what is not given has a neutral value."""
    images = tuple(Image(str(i), f"{i}.jpg", w, h, paths[i] if paths else None) for i, (w, h) in enumerate(sizes))
    none = Boxes.of([], [], [])
    content = DetectionSet(
        "t", "m", "detection", tuple(ClassName(str(k), n) for k, n in enumerate(NAMES)), images, none if truth is None else truth, none
    )

    def column(name: str, neutral: Any, dtype: Any) -> np.ndarray:
        return np.array([r.get(name, neutral) for r in rows], dtype)

    return Units(
        detections=content,
        settings=UnitSettings(),
        ids=tuple(r["id"] for r in rows),
        side=column("side", "gt", "U5"),
        image=column("image", 0, np.int64),
        cls=column("cls", 0, np.int64),
        xyxy=column("box", (10.0, 10.0, 30.0, 20.0), np.float64).reshape(-1, 4),
        kind=column("kind", "TP", "U8"),
        fn_cause=column("cause", "", "U5"),
        score=column("score", np.nan, np.float64),
        iou=column("iou", np.nan, np.float64),
        loss=column("loss", np.nan, np.float64),
        ref=column("ref", -1, np.int64),
        row=np.arange(len(rows)),
        weight=np.ones(len(rows)),
    )


def population_of(loss: list[float], units: list[int] | None = None) -> Population:
    """A population of missed or found units, each in an image of its own."""
    n = len(loss)
    return Population("FN", np.array(units if units is not None else range(n)), np.array(loss), np.arange(n), np.ones(n))


def small_set(folder: Path, images: int = 60, name: str = "small set", pictures: bool = True) -> DetectionSet:
    """Made-up detections: on each image three small and three large boxes; most of the small ones are missed, few of the large ones."""
    from PIL import Image as Pillow

    rng = np.random.default_rng(5)
    folder.mkdir(parents=True, exist_ok=True)
    files, truth, found, which, of, score = [], [], [], [], [], []
    for i in range(images):
        path = folder / f"{i}.jpg"
        if pictures:
            Pillow.fromarray(rng.integers(0, 255, (120, 160, 3), np.uint8)).save(path)
        files.append(Image(str(i), path.name, 160, 120, path if pictures else None, sha256=f"{i:064x}" if pictures else ""))
        for k in range(6):
            side = rng.uniform(6, 12) if k < 3 else rng.uniform(36, 48)
            x, y = 2 + 52 * (k % 3), 4 + 58 * (k // 3)
            truth.append([x, y, x + side, y + side])
            which.append(i)
            if rng.random() > (0.85 if k < 3 else 0.1):
                found.append([x + 0.5, y, x + side, y + side])
                of.append(i)
                score.append(rng.uniform(0.3, 0.99))
    classes = (ClassName("0", "car"), ClassName("1", "person"))
    n = len(truth)
    return DetectionSet(
        name,
        "m1",
        "detection",
        classes,
        tuple(files),
        Boxes.of(which, [k % 2 for k in range(n)], truth),
        Boxes.of(of, [truth.index([b[0] - 0.5, *b[1:]]) % 2 for b in found], found, score=score),
        synthetic=True,
    )
