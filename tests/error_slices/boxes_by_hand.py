"""Boxes written down by hand for tests of matchers."""

from __future__ import annotations

import numpy as np

from core.error_slices.detections import Image
from core.error_slices.hypotheses import Hypothesis, OfflineMatcher
from core.error_slices.matchers.registry import score_offline
from core.error_slices.units import Visible

CLASSES = ("car", "person", "bicycle", "truck")


def boxes(
    xyxy, cls=None, image=None, *, side="gt", size=(1000, 500), classes=CLASSES, truncated=None, occluded=None, images=None
) -> Visible:
    """Boxes of one side; all cars of one image of 1000 × 500 px unless told."""
    corners = np.asarray(xyxy, np.float64).reshape(-1, 4)
    n = len(corners)
    at = np.zeros(n, np.int64) if image is None else np.asarray(image, np.int64)
    many = int(at.max()) + 1 if n else 1
    return Visible(
        side=side,
        ids=tuple(f"u{i}" for i in range(n)),
        image=at,
        cls=np.zeros(n, np.int64) if cls is None else np.asarray(cls, np.int64),
        xyxy=corners,
        size=np.tile(np.asarray(size, np.float64), (n, 1)),
        truncated=np.full(n, np.nan) if truncated is None else np.asarray(truncated, np.float64),
        occluded=np.full(n, np.nan) if occluded is None else np.asarray(occluded, np.float64),
        classes=classes,
        images=images or tuple(Image(str(i), f"{i}.png", *size) for i in range(many)),
    )


ERROR = {"gt": "FN", "pred": "FP", "image": "IMAGE", "seg": "SEG"}


def matched(visible, name, features=None, **params):
    """Scores of one matcher."""
    h = Hypothesis("h", "A statement.", ERROR[visible.side], "intrinsic_difficulty", offline=OfflineMatcher(name, params))
    return score_offline(visible, [h], features=features)["h"]


def logistic(x):
    return 1 / (1 + np.exp(-x))
