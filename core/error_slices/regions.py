"""Where a predicted mask and the true one differ: the evaluation units of a segmenter (GH-ESD, sections 3.1 and 5.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.error_slices.assign import IGNORED, Matching
from core.error_slices.detections import BoolArray, DetectionSet, FloatArray, Rle
from core.error_slices.masks import Masks, area_of, decode
from core.error_slices.paired import own_truth
from core.error_slices.sources.coco_masks import box_of
from core.error_slices.units import Regions

LEAST_PIXELS = 16
LEAST_SHARE = 0.02
"""Differing spots smaller than 16 px or than 2 % of the true mask are the jitter of outlines; they do not widen the region."""


@dataclass(frozen=True)
class ErrorRegion:
    """Where one predicted mask and the true one differ.

    Attributes:
        iou: Of the masks.
        xyxy: Box around what differs, px; around the true mask where nothing does.
        under_xyxy: Box around what was missed of the true mask; None where nothing was.
        over_xyxy: Box around what the prediction has too much; None likewise.
        under: Share of the true mask that was missed.
        over: Share of the prediction that is too much.
        fraction: Share of the box that differs; little where only an outline jitters, whose box is as large as the object's.
    """

    iou: float
    xyxy: tuple[float, float, float, float]
    under_xyxy: tuple[float, float, float, float] | None
    over_xyxy: tuple[float, float, float, float] | None
    under: float
    over: float
    fraction: float


def error_region(truth: BoolArray, pred: BoolArray) -> ErrorRegion:
    """Compare two masks of one image, both of shape (height, width); a missing one is empty.

    Small spots (see `LEAST_PIXELS`) are left out of the boxes, unless nothing else differs.
    """
    box = _box(truth | pred)
    if box is None:
        return ErrorRegion(0.0, (0.0, 0.0, 0.0, 0.0), None, None, 0.0, 0.0, 0.0)
    left, top, right, bottom = (int(v) for v in box)
    truth, pred = truth[top:bottom, left:right], pred[top:bottom, left:right]
    area, said, both = int(truth.sum()), int(pred.sum()), int((truth & pred).sum())
    parts = [_large(truth ^ pred, area), _large(truth & ~pred, area), _large(pred & ~truth, area)]
    whole, under, over = (_moved(_box(p), left, top) for p in parts)
    around = whole or _moved(_box(truth), left, top) or box
    pixels = (around[2] - around[0]) * (around[3] - around[1])
    return ErrorRegion(
        iou=both / (area + said - both),
        xyxy=around,
        under_xyxy=under,
        over_xyxy=over,
        under=(area - both) / area if area else 0.0,
        over=(said - both) / said if said else 0.0,
        fraction=float(parts[0].sum()) / pixels,
    )


def _large(pixels: BoolArray, area: int) -> BoolArray:
    """The connected spots that are large enough; all of them if none is."""
    from scipy import ndimage

    labels, n = ndimage.label(pixels, structure=np.ones((3, 3)))
    if n < 2:
        return pixels
    large = np.bincount(labels.ravel(), minlength=n + 1) >= max(LEAST_PIXELS, LEAST_SHARE * area)
    large[0] = False
    return np.asarray(large[labels], bool) if large.any() else pixels


def _box(pixels: BoolArray) -> tuple[float, float, float, float] | None:
    """Box around the pixels that hold, None if none does."""
    rows, columns = np.flatnonzero(pixels.any(1)), np.flatnonzero(pixels.any(0))
    if not len(rows):
        return None
    return float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)


def _moved(box: tuple[float, float, float, float] | None, left: int, top: int) -> tuple[float, float, float, float] | None:
    return None if box is None else (box[0] + left, box[1] + top, box[2] + left, box[3] + top)


def region_units(detections: DetectionSet, matching: Matching, masks: Masks) -> tuple[dict[str, Any], Regions]:
    """Units of masks, as columns: instances of the ground truth with the mask that was found for them or none, then the other predictions.

    In sets whose file pairs masks itself, the two of a pair stay together whatever their IoU.

    The reference of each is the unit of its instance or, without one, of its prediction; among the units, those of the ground truth come
    first and those of the predictions follow.
    """
    real = np.flatnonzero(matching.truth_kind != IGNORED)
    said = np.flatnonzero((matching.kind != "") & (matching.kind != IGNORED))
    partner = np.where(matching.truth_kind == "TP", matching.truth_ref, -1)
    if detections.paired:  # the file says which masks belong together, however little they overlap
        own = own_truth(detections)
        of_pair = said[own[said] >= 0]
        of_pair = of_pair[detections.predictions.cls[of_pair] == detections.truth.cls[own[of_pair]]]
        partner[own[of_pair]] = of_pair
    alone = np.flatnonzero(~np.isin(said, partner))
    truth = np.r_[real, np.full(len(alone), -1)]
    pred = np.r_[partner[real], said[alone]]
    known = _KNOWN.setdefault(detections, {})
    found = []
    for pair in zip(truth.tolist(), pred.tolist(), strict=True):
        if pair not in known:
            known[pair] = _region(masks, *pair)
        found.append(known[pair])
    value = np.array([r.iou for r in found])
    image = np.r_[detections.truth.image[real], detections.predictions.image[said[alone]]]
    names = [f"g{detections.truth.ids[r]}" for r in real.tolist()] + [f"d{detections.predictions.ids[r]}" for r in said[alone].tolist()]
    area = np.array([(r.xyxy[2] - r.xyxy[0]) * (r.xyxy[3] - r.xyxy[1]) for r in found])
    own = np.r_[detections.truth.xyxy[real], detections.predictions.xyxy[said[alone]]]  # of a mask without pixels
    columns = {
        "ids": [f"{detections.images[i].id}:s{name}" for i, name in zip(image.tolist(), names, strict=True)],
        "side": "seg",
        "image": image,
        "cls": np.r_[detections.truth.cls[real], detections.predictions.cls[said[alone]]],
        "xyxy": np.where((area > 0)[:, None], np.array([r.xyxy for r in found]).reshape(-1, 4), own),
        "kind": "SEG",
        "fn_cause": "",
        "score": np.nan if not len(detections.predictions) else np.where(pred >= 0, detections.predictions.score[pred], np.nan),
        "iou": np.where((truth >= 0) & (pred >= 0), value, np.nan),
        "loss": 1 - value,
        "ref": np.r_[np.arange(len(real)), len(real) + alone],
        "row": np.arange(len(found)),
    }
    regions = Regions(
        truth,
        pred,
        _boxes([r.under_xyxy for r in found]),
        _boxes([r.over_xyxy for r in found]),
        np.array([r.under for r in found]),
        np.array([r.over for r in found]),
        np.array([r.fraction for r in found]),
    )
    return columns, regions


_KNOWN: WeakKeyDictionary[DetectionSet, dict[tuple[int, int], ErrorRegion]] = WeakKeyDictionary()
"""Regions by rows of the ground truth and the predictions, which stay as they are when the confidence cut moves."""


def _region(masks: Masks, truth: int, pred: int) -> ErrorRegion:
    """The region of an instance and a prediction, -1 for none."""
    if truth < 0 or pred < 0:
        return _alone(masks.truth[truth] if pred < 0 else masks.pred[pred], missed=pred < 0)
    mine, other = masks.truth[truth], masks.pred[pred]
    around = [b for b in (box_of(mine), box_of(other)) if b is not None]  # an empty one can only belong by the word of a file
    boxes = np.array(around or [(0.0, 0.0, 0.0, 0.0)], np.float64)
    left, top = boxes[:, :2].min(0).astype(int).tolist()
    right, bottom = boxes[:, 2:].max(0).astype(int).tolist()
    part = np.s_[top:bottom, left:right]
    found = error_region(decode(mine)[part], decode(other)[part])
    return replace(
        found,
        xyxy=_moved(found.xyxy, left, top) or found.xyxy,
        under_xyxy=_moved(found.under_xyxy, left, top),
        over_xyxy=_moved(found.over_xyxy, left, top),
    )


def _alone(mask: Rle, *, missed: bool) -> ErrorRegion:
    """The region of a mask without a partner: all of it."""
    box = box_of(mask) or (0.0, 0.0, 0.0, 0.0)
    pixels = (box[2] - box[0]) * (box[3] - box[1])
    here = box if pixels else None
    share = area_of(mask) / pixels if pixels else 0.0
    return ErrorRegion(0.0, box, here if missed else None, None if missed else here, float(missed), float(not missed), share)


def _boxes(found: list[tuple[float, float, float, float] | None]) -> FloatArray:
    """Shape (n, 4), NaN for none."""
    return np.array([(np.nan,) * 4 if b is None else b for b in found], np.float64).reshape(-1, 4)
