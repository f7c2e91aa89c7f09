"""Average precision and recall as COCO counts them, for the images as they are and for any number of resamples of them at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.error_slices.assign import best_first, box_iou, find_pairs, greedy, on_ignored
from core.error_slices.detections import BoolArray, DetectionSet, FloatArray, IntArray
from core.error_slices.masks import Masks

IOUS = np.linspace(0.5, 0.95, 10)
RECALLS = np.linspace(0, 1, 101)
MOST = 100
"""Predictions of one class in one image that count, best first."""
CELLS = 2_000_000
"""Resamples times predictions that are held in memory at once."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class ClassCurve:
    """What decides the precision and recall of one class, n predictions by falling confidence, t IoU thresholds.

    Attributes:
        image: Shape (n,): image of each prediction.
        right: Shape (t, n): whether it has taken an instance.
        counted: Shape (t, n): whether it is right or wrong; not where it lies on an ignore region.
        instances: Shape (images,): instances of the class in each image, without ignore regions.
    """

    image: IntArray
    right: BoolArray
    counted: BoolArray
    instances: IntArray


def coco_order(detections: DetectionSet) -> IntArray:
    """Place of each image in COCO's order, which settles equal confidences: by number where all ids are numbers, else as text."""
    ids = [i.id for i in detections.images]
    numbers = all(i.removeprefix("-").isdecimal() for i in ids)
    order = sorted(range(len(ids)), key=lambda k: (int(ids[k]), "") if numbers else (0, ids[k]))
    place = np.empty(len(ids), np.int64)
    place[order] = np.arange(len(ids))
    return place


def class_curves(detections: DetectionSet, place: IntArray, images: int) -> dict[str, ClassCurve]:
    """The curve of each class that the ground truth has, by name; with its id where a name stands twice.

    Args:
        detections: Boxes, or masks of a segmenter.
        place: Shape (images of the set,): new index of each image, -1 to leave it out; ties of confidence go by it.
        images: How many images there are by the new index.
    """
    truth, said = detections.truth, detections.predictions
    truth_image, image = place[truth.image], place[said.image]
    rows = np.flatnonzero((image >= 0) & ~np.isnan(said.score))
    order = rows[best_first(image[rows], said.score[rows], MOST, said.cls[rows])]
    iou = Masks(detections).pair_iou if detections.task == "segmentation" else None
    pairs = find_pairs(
        order,
        image,
        said.cls,
        truth_image,
        truth.cls,
        truth.ignore,
        iou or (lambda p, g, ignore: box_iou(said.xyxy[p], truth.xyxy[g], ignore)),
    )
    right, counted = np.zeros((len(IOUS), len(said)), bool), np.ones((len(IOUS), len(said)), bool)
    for t, least in enumerate(IOUS.tolist()):
        right[t, greedy(pairs, truth.ignore, least)[0]] = True
        region, _ = on_ignored(pairs, truth.ignore, least, len(said))
        counted[t] = right[t] | (region < 0)
    out = {}
    ranked = order[np.argsort(-said.score[order], kind="stable")]
    real = ~truth.ignore & (truth_image >= 0)
    for k, name in enumerate(detections.classes):
        instances = np.bincount(truth_image[real & (truth.cls == k)], minlength=images)
        if instances.any():
            mine = ranked[said.cls[ranked] == k]
            out[f"{name.name} ({name.id})" if name.name in out else name.name] = ClassCurve(
                image[mine], right[:, mine], counted[:, mine], instances
            )
    return out


def measure(curve: ClassCurve, weights: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Average precision over IoU .5 to .95, at .5, and average recall of one class.

    Args:
        curve: Of the class.
        weights: Shape (r, images): how often each image stands in each resample.

    Returns:
        Three arrays of shape (r,); NaN where a resample has no instance of the class.
    """
    parts = []
    step = max(1, CELLS // max(1, len(curve.image)))
    for at in range(0, len(weights), step):
        parts.append(_measure(curve, weights[at : at + step], exact=at == 0))
    ap, ap50, ar = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return ap, ap50, ar


def _measure(curve: ClassCurve, weights: IntArray, *, exact: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The measures of some resamples; exact recall steps for the first row if asked for."""
    instances = weights @ curve.instances
    some = instances > 0
    ap = np.zeros((len(IOUS), len(weights)))
    ar = np.zeros_like(ap)
    drawn = weights[:, curve.image]
    all_counted = bool(curve.counted.all())
    total = np.cumsum(drawn, axis=1)
    for t in range(len(IOUS)):
        hits = np.flatnonzero(curve.right[t])
        if not len(hits):
            continue
        if not all_counted:
            total = np.cumsum(drawn * curve.counted[t], axis=1)
        found = np.cumsum(drawn[:, hits], axis=1)
        # Between two hits precision only falls, so its envelope over the hits is the envelope over all.
        precision = found / (total[:, hits] + np.spacing(1))
        envelope = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        recall = found / np.maximum(instances, 1)[:, None]
        # How many of the 101 recall levels are reached; rounding matters to the last digit only in the row that is shown as the value.
        reached = np.floor(recall * 100 + 1e-9) + 1
        if exact:
            reached[0] = np.searchsorted(RECALLS, recall[0], side="right")
        ap[t] = (np.diff(reached, axis=1, prepend=0) * envelope).sum(1) / len(RECALLS)
        ar[t] = recall[:, -1]
    nothing = np.where(some, 0.0, np.nan)
    return ap.mean(0) + nothing, ap[0] + nothing, ar.mean(0) + nothing


def draw_images(images: int, many: int, seed: int) -> IntArray:
    """How often each image stands in each resample, shape (many + 1, images); the first row is the images as they are."""
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(images, np.full(images, 1 / images), size=many) if images else np.zeros((many, 0), np.int64)
    return np.vstack([np.ones((1, images), np.int64), drawn])
