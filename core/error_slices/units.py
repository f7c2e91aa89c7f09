"""Evaluation units: instances that were found, missed, invented or badly placed (GH-ESD, section 3.1), and who may see what of them.

Matching is in `matching`, which units belong to which type of hypothesis in `population`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from core.error_slices.detections import DetectionSet, FloatArray, Image, IntArray

Side = Literal["gt", "pred", "image", "seg"]
Kind = Literal["TP", "FN", "FP_BKG", "FP_CLS", "FP_DUP", "FP_BOTH", "LOC", "IMAGE", "SEG"]
FnCause = Literal["", "miss", "cls", "loc", "both"]
ErrorType = Literal["FN", "FP", "LOC", "CLS", "IMAGE", "SEG"]
SIDE_OF: dict[ErrorType, Side] = {"FN": "gt", "FP": "pred", "LOC": "pred", "CLS": "pred", "IMAGE": "image", "SEG": "seg"}
"""The side of the units that a type of error is tested on; sides are never mixed in one test."""


@dataclass(frozen=True)
class UnitSettings:
    """How predictions are compared with ground truth; every one of these is visible on the screen.

    Attributes:
        confidence: Predictions below it are left out before matching.
        iou: Least IoU of a match.
        background_iou: IoU below which a prediction touches nothing.
        most_detections: Predictions of an image that count, best first.
    """

    confidence: float = 0.25
    iou: float = 0.5
    background_iou: float = 0.1
    most_detections: int = 100


@dataclass(frozen=True, eq=False)
class Regions:
    """Where predicted and true masks differ, one row a SEG unit, s of them. Never shown to a matcher that needs no model.

    Attributes:
        truth: Shape (s,): row of the ground truth, -1 for a predicted mask without a partner.
        pred: Shape (s,): row of the prediction, -1 for an instance that was missed.
        under_xyxy: Shape (s, 4): box around what was missed of the true mask (under-segmented), px; NaN where nothing was.
        over_xyxy: Shape (s, 4): box around what the prediction has too much (over-segmented), px; NaN likewise.
        under: Shape (s,): share of the true mask that was missed.
        over: Shape (s,): share of the prediction that is too much.
        fraction: Shape (s,): share of the unit's box that differs; little where only an outline jitters.
    """

    truth: IntArray
    pred: IntArray
    under_xyxy: FloatArray
    over_xyxy: FloatArray
    under: FloatArray
    over: FloatArray
    fraction: FloatArray


@dataclass(frozen=True, eq=False)
class Units:
    """Evaluation units of a detection set under some settings, n of them, as columns.

    A true positive stands twice: as a unit of the ground truth and as one of the predictions.

    Attributes:
        detections: What they were made from.
        settings: How.
        ids: Shape (n,): "{image id}:g{annotation id}", ":d{prediction id}", ":m" for a whole image, ":sg{annotation id}" for a
            mask of the ground truth with its partner, ":sd{prediction id}" for a predicted mask without one.
        side: Shape (n,): values of `Side`.
        image: Shape (n,): index into the images.
        cls: Shape (n,): index into the classes; -1 for a whole image of a detector.
        xyxy: Shape (n, 4): px, not clipped; the whole image for image units.
        kind: Shape (n,): values of `Kind`; IMAGE and SEG units carry their loss only.
        fn_cause: Shape (n,): why a false negative was missed, values of `FnCause`: "cls" and "loc" where a prediction of another class, or
            a badly placed one, explains it, "both" where one of each does; "miss" where nothing does; "" for other kinds.
        score: Shape (n,): confidence of predictions, NaN otherwise. Never shown to a matcher.
        iou: Shape (n,): with the match or the best ground truth that explains the unit, NaN where there is none. Never shown to a matcher.
        loss: Shape (n,): loss of IMAGE units (1 - F1 of the image; 0 or 1 for a classifier) and SEG units (1 - mask IoU); NaN otherwise,
            since the loss of a box depends on the type of hypothesis (see `population`).
        ref: Shape (n,): index of the unit of the other side that explains it, -1 for none. Never shown to a matcher.
        row: Shape (n,): index into truth, predictions, images or classified rows, or regions, by side.
        weight: Shape (n,): 1 unless units were sampled.
        left_out: How many of what made no unit, by a name that a screen can show: predictions below the cut, beyond the most, on ignore
            regions; ignore regions of the ground truth.
        regions: Of the SEG units, None where there are none.
    """

    detections: DetectionSet
    settings: UnitSettings
    ids: tuple[str, ...]
    side: np.ndarray
    image: IntArray
    cls: IntArray
    xyxy: FloatArray
    kind: np.ndarray
    fn_cause: np.ndarray
    score: FloatArray
    iou: FloatArray
    loss: FloatArray
    ref: IntArray
    row: IntArray
    weight: FloatArray
    left_out: dict[str, int] = field(default_factory=dict)
    regions: Regions | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def on(self, side: Side) -> IntArray:
        """Indices of the units of one side, in order."""
        return np.flatnonzero(self.side == side)


@dataclass(frozen=True, eq=False)
class Visible:
    """All that a matcher may see of the units of one side: boxes, classes and pictures, n units.

    The score, the IoU, the kind and the match of a unit are not here, so that no matcher can leak the outcome that it is tested against.

    Attributes:
        side: Whose boxes; neighbours are boxes of the same side, since a true positive always overlaps a ground-truth box.
        ids: Shape (n,): ids of the units.
        image: Shape (n,): index into `images`.
        cls: Shape (n,): index into `classes`, -1 for none.
        xyxy: Shape (n, 4): px, not clipped; of a SEG unit the box of its instance, since that of the region tells the loss.
        size: Shape (n, 2): width and height of its image, px; 0 where not known.
        truncated: Shape (n,): as in the ground truth; NaN on other sides.
        occluded: Shape (n,): as in the ground truth; NaN on other sides.
        classes: Names of the classes.
        images: The images.
    """

    side: Side
    ids: tuple[str, ...]
    image: IntArray
    cls: IntArray
    xyxy: FloatArray
    size: FloatArray
    truncated: FloatArray
    occluded: FloatArray
    classes: tuple[str, ...]
    images: tuple[Image, ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class Population:
    """The units that one hypothesis is tested on, m of them, all of one side.

    Attributes:
        error: Type of error.
        units: Shape (m,): indices into the units.
        loss: Shape (m,): 0 or 1, or between them for LOC, IMAGE and SEG.
        image: Shape (m,): index into the images, the cluster of the null.
        weight: Shape (m,): 1 unless units were sampled.
        left_out: How many of what do not belong, by a name that a screen can show.
    """

    error: ErrorType
    units: IntArray
    loss: FloatArray
    image: IntArray
    weight: FloatArray
    left_out: dict[str, int] = field(default_factory=dict)
