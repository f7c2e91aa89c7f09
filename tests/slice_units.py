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
