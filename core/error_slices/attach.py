"""Live detections put beside the ground truth of their images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np

from core.error_slices.detect import Detected
from core.error_slices.detections import BoolArray, Boxes, ClassName, DetectionSet, Image, IntArray, SourceReport, Task
from core.error_slices.sources.assemble import never_meant, unmapped_of, without_predictions
from core.error_slices.sources.class_map import ClassTable, counted, map_classes
from core.errors import InputError


def detector_classes(truth: DetectionSet, classes: tuple[ClassName, ...], class_map: Mapping[str, str] | None = None) -> ClassTable:
    """How classes of a detector would be mapped to those of the ground truth, before it has run.

    Raises:
        InputError: `class_map` names classes that are not there.
    """
    return map_classes(classes, truth.classes, {}, counted(truth.truth.cls.tolist()), class_map)


def with_detections(truth: DetectionSet, detected: Detected, class_map: Mapping[str, str] | None = None, *, name: str = "") -> DetectionSet:
    """A detection set from ground truth and what a detector found on its images.

    Images are the same where their file, their bytes or else their names are. Those that the detector has not seen are left out with their
    ground truth and counted, since what was not looked for was not missed.

    Args:
        truth: With images and ground truth; its own predictions are dropped.
        detected: What was found.
        class_map: Class of the detector to class of the ground truth, "" to leave one out; by name where it says nothing.
        name: Of the set, made from model and ground truth by default.

    Raises:
        InputError: No image of the detector is among those of the ground truth, or `class_map` names classes that are not there.
    """
    table = map_classes(
        detected.classes, truth.classes, counted(detected.predictions.cls.tolist()), counted(truth.truth.cls.tolist()), class_map
    )
    at = _places(truth.images, detected.images)
    if not (at >= 0).any():
        raise InputError(f'None of the {len(detected.images)} images that {detected.model} has seen is among those of "{truth.name}".')
    kept = np.unique(at[at >= 0])
    index = np.full(len(truth.images), -1)
    index[kept] = np.arange(len(kept))
    seen = {int(k): i for i, k in enumerate(at.tolist()) if k >= 0}
    classes = {c.id: k for k, c in enumerate(truth.classes)}
    targets = np.array([classes[r.target_id] if r.target_id else -1 for r in table.rows], np.int64)
    said = detected.predictions
    where, cls = at[said.image], targets[said.cls]
    use = (where >= 0) & (cls >= 0)
    task: Task = "segmentation" if truth.truth.masks is not None and said.masks is not None else "detection"
    counts = {
        "images that the detector has not seen, left out": len(truth.images) - len(kept),
        "images of the detector without ground truth, left out": int((at < 0).sum()),
        "images that could not be used": len(detected.failed),
        "predictions of classes left out": int((cls < 0).sum()),
    }
    report = SourceReport(
        f"{truth.report.format} + ultralytics",
        (*truth.report.files, detected.model),
        {
            "images": len(kept),
            "boxes of ground truth": int((index[truth.truth.image] >= 0).sum()),
            "predictions": int(use.sum()),
            **{k: n for k, n in counts.items() if n},
        },
        (*without_predictions(truth.report.problems), *never_meant(table), *(f"{f.name}: {f.why}; left out." for f in detected.failed)),
        unmapped_of(table),
    )
    return replace(
        truth,
        name=name or f"{detected.model} · {truth.dataset or truth.name}",
        model=detected.model,
        task=task,
        images=tuple(_filled(truth.images[k], detected.images[seen[k]]) for k in kept.tolist()),
        truth=_rows(truth.truth, index[truth.truth.image] >= 0, index, truth.truth.cls, masks=task == "segmentation"),
        predictions=_rows(said, use, _follow(at, index), cls, masks=task == "segmentation"),
        classified=None,
        report=report,
        paired=False,
    )


def _follow(at: IntArray, index: IntArray) -> IntArray:
    """New index of each image of the detector, -1 for none."""
    return np.where(at >= 0, index[at], -1)


def _places(truth: tuple[Image, ...], seen: tuple[Image, ...]) -> IntArray:
    """Index of the ground truth's image that each image of a detector is, -1 for none; each is taken once."""
    by: list[dict[str, int]] = [{}, {}, {}, {}]
    for k, image in enumerate(truth):
        for table, key in zip(by, _keys(image), strict=True):
            if key and key in table:
                table[key] = -1  # of two images with one name, neither is meant
            elif key:
                table[key] = k
    taken: set[int] = set()
    out = np.full(len(seen), -1, np.int64)
    for i, image in enumerate(seen):
        for table, key in zip(by, _keys(image), strict=True):
            k = table.get(key, -1) if key else -1
            if k >= 0 and k not in taken:
                out[i] = k
                taken.add(k)
                break
    return out


def _keys(image: Image) -> tuple[str, str, str, str]:
    """What an image is known by, surest first."""
    return (
        "" if image.path is None else str(image.path.resolve()),
        image.sha256,
        image.file_name,
        PurePosixPath(image.file_name.replace("\\", "/")).name,
    )


def _filled(image: Image, seen: Image) -> Image:
    """An image of the ground truth with what it does not know of itself."""
    told = bool(image.width and image.height)
    return replace(
        image,
        width=image.width if told else seen.width,
        height=image.height if told else seen.height,
        path=image.path or seen.path,
        sha256=image.sha256 or seen.sha256,
    )


def _rows(boxes: Boxes, use: BoolArray, index: IntArray, cls: IntArray, *, masks: bool) -> Boxes:
    """Some rows, with new indices of their images and classes."""
    rows = np.flatnonzero(use)
    pick = rows.tolist()
    return Boxes.of(
        index[boxes.image[rows]],
        cls[rows],
        boxes.xyxy[rows],
        ids=[boxes.ids[r] for r in pick],
        score=boxes.score[rows],
        ignore=boxes.ignore[rows],
        area=boxes.area[rows],
        truncated=boxes.truncated[rows],
        occluded=boxes.occluded[rows],
        masks=tuple(boxes.masks[r] for r in pick) if masks and boxes.masks is not None else None,
        slices=None if boxes.slices is None else tuple(boxes.slices[r] for r in pick),
    )
