"""Sets whose file says itself which prediction found which object (GESD), so that overlap decides nothing within a class."""

from __future__ import annotations

import numpy as np

from core.error_slices.assign import PairIou
from core.error_slices.detections import BoolArray, DetectionSet, FloatArray, IntArray


def only_paired(detections: DetectionSet, iou: PairIou) -> PairIou:
    """An overlap that is 0 between a prediction and an object of its class that is not its own.

    What the file calls found, missed or invented is then called so by the matching too; other classes still explain a wrong prediction.
    """
    truth, predictions = detections.truth, detections.predictions
    number = {key: i for i, key in enumerate(truth.ids)}
    own = np.array([number.get(key, -1) for key in predictions.ids], np.int64)

    def paired(pred: IntArray, gt: IntArray, ignore: BoolArray) -> FloatArray:
        other = (own[pred] != gt) & (predictions.cls[pred] == truth.cls[gt])
        return np.where(other, 0.0, iou(pred, gt, ignore))

    return paired
