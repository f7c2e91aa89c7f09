"""Sets of detections for tests of pages: made by hand, with failures that are planted and known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.error_slices.detections import Boxes, Classified, ClassName, DetectionSet, Image, SourceReport
from core.operators import slices
from core.storage import SavedDetections, Store

CLASSES = (ClassName("1", "person"), ClassName("2", "car"))


def detections(name: str = "Streets", missed: float = 0.9, images: int = 60, each: int = 8, seed: int = 0) -> DetectionSet:
    """Boxes on a grid, half of them small: the smaller, the more of them are missed, up to a rate; of the others a tenth is missed.

    One prediction of each image is false. A set with a lower rate misses a part of the same boxes.
    """
    rng = np.random.default_rng(seed)
    n = images * each
    image = np.repeat(np.arange(images), each)
    place = np.tile(np.arange(each), images)
    side = np.where(np.arange(n) % 2, rng.uniform(8, 30, n), rng.uniform(60, 110, n))
    left, top = 20 + 150 * (place % 4), 20 + 160 * (place // 4)
    xyxy = np.stack([left, top, left + side, top + side], 1)
    cls = rng.integers(0, 2, n)
    found = rng.random(n) >= np.where(side < 40, 0.1 + (missed - 0.1) * (30 - side) / 22, 0.1)
    said = Boxes.of(
        np.concatenate([image[found], np.arange(images)]),
        np.concatenate([cls[found], np.zeros(images, int)]),
        np.concatenate([xyxy[found], np.tile([600.0, 400, 630, 470], (images, 1))]),
        score=np.concatenate([np.full(int(found.sum()), 0.9), np.full(images, 0.6)]),
    )
    truth = Boxes.of(image, cls, xyxy, ids=[str(100 + i) for i in range(n)])
    pictures = tuple(Image(str(i), f"{i}.jpg", 640, 480) for i in range(images))
    report = SourceReport("coco", ("gt.json", "dt.json"), {"images": images}, ("One box lies outside its image.",), {"bus": 3})
    return DetectionSet(name, f"model of {name}", "detection", CLASSES, pictures, truth, said, report=report)


def detection_set(store: Store, name: str = "Streets", missed: float = 0.9, **changes: object) -> SavedDetections:
    """A set of the workspace made of such detections."""
    return slices.keep_detections(store, replace(detections(name, missed), **changes))  # type: ignore[arg-type]


def classifier_set(store: Store, name: str = "Birds") -> SavedDetections:
    """A classifier that fails on one group: 30 of 40 right on water, all 60 elsewhere."""
    n = 100
    label = np.arange(n) % 2
    water = np.arange(n) < 40
    wrong = np.arange(n) < 10
    said = Classified(np.arange(n), label, np.where(wrong, 1 - label, label), tuple("water" if w else "land" for w in water))
    none = Boxes.of([], [], [])
    pictures = tuple(Image(str(i), f"{i}.jpg", 100, 100, split="val" if i % 4 else "test") for i in range(n))
    content = DetectionSet(name, "classifier", "classification", CLASSES, pictures, none, none, classified=said)
    return slices.keep_detections(store, content)
