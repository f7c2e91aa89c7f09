"""Masks as COCO writes them: polygons, run lengths, compressed run lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.error_slices.detections import Rle
from core.error_slices.sources.json_files import in_reach, number
from core.error_slices.sources.parsed import Xyxy


def _polygons(value: Any) -> list[list[float]] | None:
    """Polygons with three corners or more, None if there is none or a coordinate is no number."""
    if not isinstance(value, list):
        return None
    rings = [value] if value and all(isinstance(v, int | float) for v in value) else value
    out: list[list[float]] = []
    for ring in rings:
        if not isinstance(ring, list):
            return None
        numbers = [number(v) for v in ring]
        if len(numbers) % 2 or not in_reach(*numbers):
            return None
        if len(numbers) >= 6:
            out.append(numbers)
    return out or None


def polygon_box(value: Any) -> Xyxy | None:
    """The box around polygons, px; None for anything else."""
    rings = _polygons(value)
    if rings is None:
        return None
    xs = [x for ring in rings for x in ring[::2]]
    ys = [y for ring in rings for y in ring[1::2]]
    return min(xs), min(ys), max(xs), max(ys)


def mask_of(value: Any, height: int, width: int) -> Rle | None:
    """The mask of a `segmentation` entry on an image of that size; None if it cannot be drawn."""
    if isinstance(value, dict):
        return _from_run_lengths(value)
    rings = _polygons(value)
    far = 4 * max(height, width) + 1000  # the time to draw a polygon grows with its length
    if rings is None or height <= 0 or width <= 0 or any(abs(v) > far for ring in rings for v in ring):
        return None
    from pycocotools import mask as coco_mask

    return _rle(coco_mask.merge(coco_mask.frPyObjects(rings, height, width)))


def _from_run_lengths(value: dict[str, Any]) -> Rle | None:
    from pycocotools import mask as coco_mask

    size, counts = value.get("size"), value.get("counts")
    if not isinstance(size, list) or len(size) != 2 or not all(isinstance(s, int) and 0 < s < 1 << 16 for s in size):
        return None
    height, width = size
    if isinstance(counts, str):
        mask = Rle((height, width), counts.encode())
        return mask if _fits(mask) else None
    if not isinstance(counts, list) or not all(isinstance(c, int) and c >= 0 for c in counts) or sum(counts) != height * width:
        return None
    return _rle(coco_mask.frPyObjects({"size": size, "counts": counts}, height, width))


def _fits(mask: Rle) -> bool:
    """Whether compressed run lengths add up to their image; drawing others reads beyond it."""
    total, position = 0, 0
    runs: list[int] = []
    data = mask.counts
    while position < len(data):
        value, shift, more = 0, 0, True
        while more:
            if position >= len(data) or not 48 <= data[position] < 112 or shift > 35:
                return False
            c = data[position] - 48
            value |= (c & 0x1F) << shift
            more = bool(c & 0x20)
            position += 1
            shift += 5
            if not more and c & 0x10:
                value -= 1 << shift
        if len(runs) > 2:
            value += runs[-2]
        if value < 0:
            return False
        runs.append(value)
        total += value
    return total == mask.size[0] * mask.size[1]


def _rle(value: dict[str, Any]) -> Rle:
    height, width = value["size"]
    return Rle((int(height), int(width)), bytes(value["counts"]))


def box_of(mask: Rle | None) -> Xyxy | None:
    """The box around a mask, px; None without a mask or for an empty one."""
    if mask is None:
        return None
    from pycocotools import mask as coco_mask

    x, y, w, h = np.asarray(coco_mask.toBbox({"size": list(mask.size), "counts": mask.counts}), float).tolist()
    return None if w <= 0 or h <= 0 else (x, y, x + w, y + h)
