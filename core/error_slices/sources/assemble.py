"""From what a reader took to a detection set: classes mapped, images found, everything left out counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from core.error_slices.detections import Boxes, Classified, DetectionSet, SourceReport
from core.error_slices.sources.class_map import ClassTable, counted, map_classes
from core.error_slices.sources.image_files import ImageFolder, Progress, with_files
from core.error_slices.sources.parsed import Parsed, ParsedBoxes

NOTHING_SAID = "There is no prediction: every object counts as missed."
NEVER_SAID = "Never predicted, so all of it counts as missed:"


def table_of(parsed: Parsed, class_map: Mapping[str, str] | None = None) -> ClassTable:
    """The mapping of classes of a source.

    Raises:
        InputError: `class_map` names classes that are not there.
    """
    if parsed.labelled is not None:
        predicted, truth = [r.prediction for r in parsed.labelled], [r.label for r in parsed.labelled]
    else:
        predicted, truth = parsed.predictions.cls, parsed.truth.cls
    return map_classes(parsed.predicted, parsed.classes, counted(predicted), counted(truth), class_map, parsed.by_id, parsed.complete)


def boxes_of(side: ParsedBoxes, classes: np.ndarray | None = None, keep: np.ndarray | None = None) -> Boxes:
    """Columns of one side.

    Args:
        side: Its boxes, n of them.
        classes: Shape (n,): index into the classes of the set, those of the file by default.
        keep: Shape (n,): which boxes stay, all by default.
    """
    n = len(side)
    kept = np.arange(n) if keep is None else np.flatnonzero(keep)
    xyxy = np.asarray(side.xyxy, np.float64).reshape(-1, 4)
    area = np.asarray(side.area, np.float64)
    drawn = np.prod(xyxy[:, 2:] - xyxy[:, :2], axis=1)
    area = np.where(np.isnan(area), drawn, area)
    cls = np.asarray(side.cls, np.int64) if classes is None else classes

    def of(values: list[float]) -> np.ndarray:
        return np.asarray(values, np.float64)[kept]

    return Boxes.of(
        np.asarray(side.image, np.int64)[kept],
        cls[kept],
        xyxy[kept],
        ids=[side.ids[i] for i in kept],
        score=of(side.score),
        ignore=np.asarray(side.ignore, bool)[kept],
        area=area[kept],
        truncated=of(side.truncated),
        occluded=of(side.occluded),
        masks=tuple(side.masks[i] for i in kept) if any(m is not None for m in side.masks) else None,
        slices=tuple(side.slices[i] for i in kept) if any(side.slices) else None,
    )


def _look_at_boxes(parsed: Parsed, boxes: Boxes, size: np.ndarray, side: str) -> None:
    """Counts what is odd about boxes and yet kept as it is."""
    if not len(boxes):
        return
    x1, y1, x2, y2 = boxes.xyxy.T
    width, height = size[boxes.image].T
    known = (width > 0) & (height > 0)
    slack = 0.5
    outside = known & ((x1 < -slack) | (y1 < -slack) | (x2 > width + slack) | (y2 > height + slack))
    beyond = known & ((x2 <= 0) | (y2 <= 0) | (x1 >= width) | (y1 >= height))
    flat = (x2 <= x1) | (y2 <= y1)
    tiny = ~flat & ((x2 - x1 < 1) | (y2 - y1 < 1))
    checks = (
        ("that reach over the border of their image, kept as they are", outside & ~beyond),
        ("that lie outside their image, kept as they are", beyond),
        ("without area, which nothing can match, kept as they are", flat),
        ("narrower than a pixel, kept as they are", tiny),
    )
    for what, found in checks:
        if n := int(found.sum()):
            parsed.remarks.count(f"{side} {what}", n)


def _look_at_sides(parsed: Parsed, truth: Boxes, predictions: Boxes, table: ClassTable) -> None:
    remarks = parsed.remarks
    n = len(parsed.images)
    remarks.count("images without ground truth", n - len(np.unique(truth.image)))
    remarks.count("images without predictions", n - len(np.unique(predictions.image)))
    if ignored := int(truth.ignore.sum()):
        remarks.count("ignore regions of the ground truth", ignored)
    if not len(truth):
        remarks.say("no ground truth", "There is no box of ground truth: every prediction counts as a false positive.")
    if not len(predictions):
        remarks.say("no predictions", NOTHING_SAID)
    drawn = np.prod(truth.xyxy[:, 2:] - truth.xyxy[:, :2], axis=1)
    large = truth.area > drawn * 1.02 + 1
    if large.any():
        remarks.count("boxes of ground truth with a stated area larger than the box, kept as stated", int(large.sum()))
    if parsed.complete:
        for sentence in never_meant(table):
            remarks.say("classes of the ground truth alone", sentence)
    hit = set(predictions.cls.tolist())
    never = [t.name for i, t in enumerate(table.truth) if t.boxes and i not in hit and not (parsed.complete and not t.sources)]
    if never and len(predictions):
        remarks.say("never predicted", f"{NEVER_SAID} {', '.join(never[:12])}{' …' if len(never) > 12 else ''}.")


def unmapped_of(table: ClassTable) -> dict[str, int]:
    """Classes of the predictions that stand for nothing, with how many predictions are left out for it."""
    return {r.name: r.boxes for r in table.unmapped if r.boxes}


def never_meant(table: ClassTable) -> tuple[str, ...]:
    """A sentence on the classes of the ground truth that no class of the detector stands for, if there are any."""
    names = [f"{t.name} ({t.boxes:,})" for t in table.unmatched_truth]
    more = " …" if len(names) > 12 else ""
    return (f"No class of the detector stands for these, so all of them count as missed: {', '.join(names[:12])}{more}.",) if names else ()


def without_predictions(problems: Sequence[str]) -> tuple[str, ...]:
    """Sentences of a report that still hold when the predictions are replaced by others."""
    return tuple(p for p in problems if p != NOTHING_SAID and not p.startswith(NEVER_SAID))


def assemble(
    parsed: Parsed,
    *,
    images: Path | None = None,
    class_map: Mapping[str, str] | None = None,
    model: str = "",
    name: str = "",
    progress: Progress | None = None,
) -> DetectionSet:
    """The detection set of a source.

    Args:
        parsed: What a reader took.
        images: Folder of the images, for their pixels, hashes and unknown sizes.
        class_map: Class of the predictions to class of the ground truth, "" to leave one out; by name where it says nothing.
        model: Name of the model.
        name: Of the set, made from the files by default.
        progress: Called after each image file.

    Raises:
        InputError: `class_map` names classes that are not there, or `images` is no folder.
    """
    table = table_of(parsed, class_map)
    place = images or parsed.image_folder
    folder = None if place is None else ImageFolder(place)
    pictures = with_files(parsed.images, folder, parsed.remarks, progress, sized=parsed.labelled is None)
    index = {c.id: i for i, c in enumerate(parsed.classes)}
    targets = np.array([index[r.target_id] if r.target_id else -1 for r in table.rows], np.int64)
    size = np.array([(p.width, p.height) for p in pictures], np.float64).reshape(-1, 2)
    remarks = parsed.remarks
    for r in table.rows:
        if not r.target and r.boxes:
            why = "you left the class out" if r.how == "left out" else "no class of the ground truth has this name"
            hint = f'; did you mean "{r.proposal}"?' if r.proposal else ""
            remarks.say("classes left out", f'Class "{r.name}": {r.boxes:,} predictions left out, since {why}{hint}.')
    for source in table.unused:
        remarks.say("mapping of classes", f'The mapping names the class "{source}", which no prediction has.')
    truth, predictions, classified = boxes_of(ParsedBoxes()), boxes_of(ParsedBoxes()), None
    if parsed.labelled is not None:
        classified = _classified(parsed, targets)
    else:
        mapped = targets[np.asarray(parsed.predictions.cls, np.int64)] if len(parsed.predictions) else np.empty(0, np.int64)
        truth, predictions = boxes_of(parsed.truth), boxes_of(parsed.predictions, mapped, mapped >= 0)
        if lost := int((mapped < 0).sum()):
            remarks.count("predictions of classes left out", lost)
        _look_at_boxes(parsed, truth, size, "boxes of ground truth")
        _look_at_boxes(parsed, predictions, size, "predictions")
        _look_at_sides(parsed, truth, predictions, table)
    read = {"images": len(pictures)}
    if classified is None:
        read |= {"boxes of ground truth": len(truth), "predictions": len(predictions)}
    else:
        read |= {"images with label and prediction": len(classified.image)}
    said = model or parsed.model
    return DetectionSet(
        name=name or " · ".join(x for x in (said, parsed.dataset or Path(parsed.files[0]).stem) if x),
        model=said,
        task=parsed.task,
        classes=tuple(parsed.classes),
        images=pictures,
        truth=truth,
        predictions=predictions,
        classified=classified,
        report=SourceReport(parsed.format, tuple(parsed.files), {**read, **remarks.counts}, remarks.problems, unmapped_of(table)),
        dataset=parsed.dataset,
        licence=parsed.licence,
        synthetic=parsed.synthetic,
        paired=parsed.paired,
    )


def _classified(parsed: Parsed, targets: np.ndarray) -> Classified:
    rows = parsed.labelled or []
    mapped = [(r, int(targets[r.prediction])) for r in rows]
    kept = [(r, p) for r, p in mapped if p >= 0]
    if len(kept) < len(rows):
        parsed.remarks.count("predictions of classes left out", len(rows) - len(kept))
    return Classified(
        image=np.array([r.image for r, _ in kept], np.int64),
        label=np.array([r.label for r, _ in kept], np.int64),
        prediction=np.array([p for _, p in kept], np.int64),
        group=tuple(r.group for r, _ in kept),
    )
