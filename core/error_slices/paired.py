"""Sets whose file says itself which prediction found which object (GESD), so that overlap decides nothing within a class."""

from __future__ import annotations

import numpy as np

from core.error_slices.assign import PairIou
from core.error_slices.detections import BoolArray, DetectionSet, FloatArray, IntArray


def only_paired(detections: DetectionSet, iou: PairIou) -> PairIou:
    """An overlap that is 0 between a prediction and an object of its class that is not its own.

    What the file calls found, missed or invented is then called so by the matching too, boxes without area among it; other classes still
    explain a wrong prediction.
    """
    truth, predictions, own = detections.truth, detections.predictions, own_truth(detections)
    boxes_alone = detections.task == "detection"

    def paired(pred: IntArray, gt: IntArray, ignore: BoolArray) -> FloatArray:
        mine, same = own[pred] == gt, predictions.cls[pred] == truth.cls[gt]
        value = np.where(~mine & same, 0.0, iou(pred, gt, ignore))
        equal = boxes_alone & mine & same & (predictions.xyxy[pred] == truth.xyxy[gt]).all(1)
        return np.where(equal, 1.0, value)

    return paired


def own_truth(detections: DetectionSet) -> IntArray:
    """Row of the object of each prediction's id, shape (predictions,), -1 for none."""
    number = {key: i for i, key in enumerate(detections.truth.ids)}
    return np.array([number.get(key, -1) for key in detections.predictions.ids], np.int64)
