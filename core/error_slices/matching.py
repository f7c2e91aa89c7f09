"""From a detection set to evaluation units: what was found, missed, invented or badly placed (GH-ESD, section 3.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.error_slices.assign import IGNORED, Matching, PairIou, best_first, box_iou, find_pairs, match_all
from core.error_slices.detections import BoolArray, Boxes, DetectionSet, FloatArray, IntArray
from core.error_slices.masks import Masks
from core.error_slices.paired import only_paired
from core.error_slices.regions import region_units
from core.error_slices.units import Regions, Units, UnitSettings

BELOW = "predictions below the confidence cut"
BEYOND = "predictions beyond the most of an image"
UNSCORED = "predictions without a confidence"
NO_MASK = "instances without a mask, compared by their box"
MISFIT = "instances whose mask has another size than their image, compared by their box"
ON_REGION = "predictions on ignore regions"
REGIONS = "ignore regions of the ground truth"
DEFAULTS = UnitSettings()
UNCUT = UnitSettings(confidence=0)


def match_image(
    truth_xyxy: FloatArray,
    truth_cls: IntArray,
    truth_ignore: BoolArray,
    pred_xyxy: FloatArray,
    pred_cls: IntArray,
    score: FloatArray,
    settings: UnitSettings = UNCUT,
) -> Matching:
    """Match the predictions of one image, m ground truths and n predictions.

    Args:
        truth_xyxy: Shape (m, 4), px.
        truth_cls: Shape (m,); -1 for an ignore region of any class.
        truth_ignore: Shape (m,).
        pred_xyxy: Shape (n, 4), px.
        pred_cls: Shape (n,).
        score: Shape (n,).
        settings: All of them are heeded.
    """
    truth = Boxes.of(np.zeros(len(truth_cls)), truth_cls, truth_xyxy, ignore=truth_ignore)
    return match_boxes(truth, Boxes.of(np.zeros(len(pred_cls)), pred_cls, pred_xyxy, score=score), settings)[0]


def overlap_of(truth: Boxes, predictions: Boxes) -> PairIou:
    """IoU of pairs of boxes by their rows."""
    return lambda p, g, ignore: box_iou(predictions.xyxy[p], truth.xyxy[g], ignore)


def match_boxes(truth: Boxes, predictions: Boxes, settings: UnitSettings, iou: PairIou | None = None) -> tuple[Matching, dict[str, int]]:
    """Match the predictions of all images.

    Args:
        truth: Ground truth.
        predictions: All of them.
        settings: The confidence cut comes before the matching.
        iou: IoU of pairs; of the boxes if None.

    Returns:
        The matching, and how many predictions did not enter it.
    """
    unscored = np.isnan(predictions.score)
    enough = predictions.score >= settings.confidence
    rows = np.flatnonzero(enough)
    order = rows[best_first(predictions.image[rows], predictions.score[rows], settings.most_detections)]
    pairs = find_pairs(
        order,
        predictions.image,
        predictions.cls,
        truth.image,
        truth.cls,
        truth.ignore,
        iou or overlap_of(truth, predictions),
    )
    matching = match_all(pairs, order, len(predictions), truth.ignore, settings.iou, settings.background_iou)
    left_out = {
        BELOW: int((~enough & ~unscored).sum()),
        BEYOND: len(rows) - len(order),
        UNSCORED: int(unscored.sum()),
        ON_REGION: int((matching.kind == IGNORED).sum()),
        REGIONS: int(truth.ignore.sum()),
    }
    return matching, {name: n for name, n in left_out.items() if n}


def make_units(detections: DetectionSet, settings: UnitSettings = DEFAULTS) -> Units:
    """The evaluation units of a detection set: ground truth first, then predictions, whole images and, of a segmenter, pairs of masks.

    A segmenter's instances are matched by the IoU of their masks. A classifier has units of whole images only.
    """
    if detections.classified is not None:
        return _join(detections, settings, [_classified(detections)], {})
    masks = Masks(detections) if detections.task == "segmentation" else None
    iou: PairIou | None = None if masks is None else masks.pair_iou
    if detections.paired:
        iou = only_paired(detections, iou or overlap_of(detections.truth, detections.predictions))
    matching, left_out = match_boxes(detections.truth, detections.predictions, settings, iou)
    parts = _boxes(detections, matching)
    parts.append(_images(detections, matching))
    regions = None
    if masks is not None:
        columns, regions = region_units(detections, matching, masks)
        parts.append(columns)
        left_out |= {name: n for name, n in ((NO_MASK, masks.missing), (MISFIT, masks.misfits)) if n}
    return _join(detections, settings, parts, left_out, regions)


def _boxes(detections: DetectionSet, matching: Matching) -> list[dict[str, Any]]:
    """Units of the ground truth and of the predictions."""
    truth, predictions, names = detections.truth, detections.predictions, detections.images
    real = np.flatnonzero(matching.truth_kind != IGNORED)
    said = np.flatnonzero((matching.kind != "") & (matching.kind != IGNORED))
    unit_of_truth, unit_of_said = np.full(len(truth) + 1, -1), np.full(len(predictions) + 1, -1)  # the last stands for row -1, no reference
    unit_of_truth[real] = np.arange(len(real))
    unit_of_said[said] = len(real) + np.arange(len(said))
    out = []
    for side, boxes, rows, kind, cause, iou, ref in (
        ("gt", truth, real, matching.truth_kind, matching.cause, matching.truth_iou, unit_of_said[matching.truth_ref]),
        ("pred", predictions, said, matching.kind, None, matching.iou, unit_of_truth[matching.ref]),
    ):
        letter = "g" if side == "gt" else "d"
        image = boxes.image[rows]
        out.append(
            {
                "ids": [f"{names[i].id}:{letter}{boxes.ids[r]}" for i, r in zip(image.tolist(), rows.tolist(), strict=True)],
                "side": side,
                "image": image,
                "cls": boxes.cls[rows],
                "xyxy": boxes.xyxy[rows],
                "kind": kind[rows],
                "fn_cause": "" if cause is None else cause[rows],
                "score": boxes.score[rows] if side == "pred" else np.nan,
                "iou": np.where(ref[rows] >= 0, iou[rows], np.nan),
                "loss": np.nan,
                "ref": ref[rows],
                "row": rows,
            }
        )
    return out


def _images(detections: DetectionSet, matching: Matching) -> dict[str, Any]:
    """Units of whole images of a detector: 1 - F1, and 0 where there was nothing to find and nothing was said."""
    n = len(detections.images)
    right = np.bincount(detections.truth.image[matching.truth_kind == "TP"], minlength=n)
    missed = np.bincount(detections.truth.image[matching.truth_kind == "FN"], minlength=n)
    wrong = np.bincount(detections.predictions.image[~np.isin(matching.kind, ("", "TP", IGNORED))], minlength=n)
    both = 2 * right + missed + wrong
    loss = np.divide(missed + wrong, both, out=np.zeros(n), where=both > 0)
    return _whole(detections, np.arange(n), np.arange(n), np.full(n, -1), loss)


def _classified(detections: DetectionSet) -> dict[str, Any]:
    """Units of a classifier: 1 where it is wrong."""
    said = detections.classified
    assert said is not None  # noqa: S101 (the caller looked)
    return _whole(detections, said.image, np.arange(len(said.image)), said.label, (said.label != said.prediction).astype(np.float64))


def _whole(detections: DetectionSet, image: IntArray, row: IntArray, cls: IntArray, loss: FloatArray) -> dict[str, Any]:
    """Columns of units of whole images."""
    size = np.array([(i.width, i.height) for i in detections.images], np.float64).reshape(-1, 2)[image]
    return {
        "ids": [f"{detections.images[i].id}:m" for i in image.tolist()],
        "side": "image",
        "image": image,
        "cls": cls,
        "xyxy": np.hstack([np.zeros_like(size), size]),
        "kind": "IMAGE",
        "fn_cause": "",
        "score": np.nan,
        "iou": np.nan,
        "loss": loss,
        "ref": -1,
        "row": row,
    }


TYPES: dict[str, Any] = {
    "side": "<U5",
    "image": np.int64,
    "cls": np.int64,
    "xyxy": np.float64,
    "kind": "<U7",
    "fn_cause": "<U4",
    "score": np.float64,
    "iou": np.float64,
    "loss": np.float64,
    "ref": np.int64,
    "row": np.int64,
}


def _join(
    detections: DetectionSet,
    settings: UnitSettings,
    parts: list[dict[str, Any]],
    left_out: dict[str, int],
    regions: Regions | None = None,
) -> Units:
    """Units from the columns of each side; a single value stands for all rows."""
    columns: dict[str, Any] = {}
    for name, kind in TYPES.items():
        shape = (4,) if name == "xyxy" else ()
        columns[name] = np.concatenate([np.broadcast_to(np.asarray(p[name], kind), (len(p["ids"]), *shape)) for p in parts])
    ids = tuple(i for p in parts for i in p["ids"])
    return Units(detections, settings, ids, **columns, weight=np.ones(len(ids)), left_out=left_out, regions=regions)
