"""Which units a type of hypothesis is tested on and with what loss, and what a matcher may see of them (GH-ESD, section 3.1)."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import numpy as np

from core.error_slices.detections import BoolArray, DetectionSet, FloatArray, Half, IntArray
from core.error_slices.units import SIDE_OF, ErrorType, Population, Side, Units, Visible

OTHER_CLASSES = "units of other classes"
OTHER_HALF = "units of the other half of the images"
BADLY_PLACED = "badly placed predictions"
NOT_PLACED = "false positives that lie on no instance of their class"
NOT_CONFUSED = "other false and badly placed predictions"
EXPLAINED = "missed instances that a prediction of another class, or a badly placed one, explains"


def own_boxes(units: Units, rows: IntArray) -> FloatArray:
    """The box of each unit that does not depend on what was found, shape (m, 4), px.

    The box of a SEG unit lies around what differs of two masks: thin where little does, as large as the instance where it was missed. A
    matcher of shapes would tell the loss from it, so it is shown the instance, or the prediction where there is none.

    Args:
        units: All units.
        rows: Shape (m,): indices into the units.
    """
    out = units.xyxy[rows]
    if units.regions is not None:
        at = np.flatnonzero(units.side[rows] == "seg")
        row = units.row[rows[at]]
        truth, pred, source = units.regions.truth[row], units.regions.pred[row], units.detections
        real = truth >= 0
        out[at[real]] = source.truth.xyxy[truth[real]]
        out[at[~real]] = source.predictions.xyxy[pred[~real]]
    return out


def visible(units: Units, side: Side) -> Visible:
    """What a matcher may see of the units of one side; row i is unit `units.on(side)[i]`."""
    rows = units.on(side)
    source = units.detections
    told = source.truth if side == "gt" else None
    nothing = np.full(len(rows), np.nan)
    size = np.array([(i.width, i.height) for i in source.images], np.float64).reshape(-1, 2)
    return Visible(
        side=side,
        ids=tuple(units.ids[i] for i in rows.tolist()),
        image=units.image[rows],
        cls=units.cls[rows],
        xyxy=own_boxes(units, rows),
        size=size[units.image[rows]],
        truncated=nothing if told is None else told.truncated[units.row[rows]],
        occluded=nothing if told is None else told.occluded[units.row[rows]],
        classes=tuple(c.name for c in source.classes),
        images=source.images,
    )


def population(
    units: Units,
    error: ErrorType,
    classes: Collection[int] | None,
    *,
    fp_includes_loc: bool = False,
    missed_only: bool = False,
    half: Half | None = None,
) -> Population:
    """The units that a hypothesis of one type of error is tested on, with their loss.

    | type | units | loss |
    |---|---|---|
    | FN | instances of the ground truth | 1 if missed |
    | FP | predictions, without badly placed ones | 1 if false |
    | LOC | predictions with an instance of their class at `background_iou` or more | 1 - IoU |
    | CLS | right predictions and those of a wrong class | 1 if of a wrong class |
    | IMAGE | images | 1 - F1; of a classifier, 1 if wrong |
    | SEG | mask pairs and masks without a partner | 1 - mask IoU |

    Args:
        units: All units.
        error: Type of error; it fixes the side, so that sides are never mixed.
        classes: Indices of the target classes, None for all. Whole images of a detector have no class and always belong.
        fp_includes_loc: Count badly placed predictions as false positives.
        missed_only: Leave out missed instances that a prediction of another class, or a badly placed one, explains.
        half: Units of the images of one half only.
    """
    on = units.on(SIDE_OF[error])
    left_out: dict[str, int] = {}

    def keep(rows: IntArray, holds: BoolArray, otherwise: str) -> IntArray:
        if not holds.all():
            left_out[otherwise] = int((~holds).sum())
        return rows[holds]

    if half is not None:
        on = keep(on, _halves(units.detections)[units.image[on]] == half, OTHER_HALF)
    if classes is not None:
        whole = (units.kind[on] == "IMAGE") & (units.cls[on] == -1)
        on = keep(on, whole | np.isin(units.cls[on], list(classes)), OTHER_CLASSES)
    kind = units.kind[on]
    if error == "FN" and missed_only:
        on = keep(on, np.isin(units.fn_cause[on], ("", "miss")), EXPLAINED)
    elif error == "FP" and not fp_includes_loc:
        on = keep(on, kind != "LOC", BADLY_PLACED)
    elif error == "LOC":
        on = keep(on, np.isin(kind, ("TP", "LOC")), NOT_PLACED)
    elif error == "CLS":
        on = keep(on, np.isin(kind, ("TP", "FP_CLS")), NOT_CONFUSED)
    return Population(error, on, _loss(units, error, on), units.image[on], units.weight[on], left_out)


@lru_cache(maxsize=2)
def _halves(detections: DetectionSet) -> np.ndarray:
    """The half of each image; asked once a hypothesis."""
    return np.array([i.half for i in detections.images], dtype=np.str_)


def _loss(units: Units, error: ErrorType, rows: IntArray) -> FloatArray:
    """Loss of each unit of a population."""
    if error == "LOC":
        return np.asarray(1 - units.iou[rows])
    if error in ("IMAGE", "SEG"):
        return units.loss[rows]
    return np.asarray(units.kind[rows] != "TP", np.float64)
