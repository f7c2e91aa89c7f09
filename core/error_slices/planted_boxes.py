"""Made-up boxes of road scenes, without pictures, for the bench where there is no data; made-up data says so."""

from __future__ import annotations

import numpy as np

from core.error_slices.detections import FloatArray, Image
from core.error_slices.units import Visible

WIDTH, HEIGHT = 960, 600
CLASSES = ("car", "truck", "bus", "person", "bicycle", "motorcycle", "traffic light", "traffic sign")
_SHARE = np.array([0.4, 0.07, 0.04, 0.22, 0.08, 0.04, 0.07, 0.08])
_SHAPE = np.array([1.5, 1.3, 1.2, 0.4, 0.9, 0.9, 0.45, 0.95])
"""Width over height."""
_TALL = np.array([0.11, 0.2, 0.22, 0.13, 0.11, 0.11, 0.06, 0.05])
"""Height at ten metres, as a share of the image's."""


def made_up_boxes(images: int = 200, seed: int = 0) -> Visible:
    """Boxes of the ground truth of made-up scenes: a road, seen ahead; nearer things are larger and lower, some stand in groups.

    Args:
        images: Number of scenes.
        seed: The same seed makes the same boxes.
    """
    rng = np.random.default_rng(seed)
    image, cls, box = [], [], []
    for i in range(images):
        many = 1 + min(60, int(rng.gamma(1.6, 6)))
        kind = rng.choice(len(CLASSES), many, p=_SHARE)
        metres = 5 + rng.gamma(2.0, 8.0, many)
        across = rng.uniform(-0.1, 1.1, many)
        for j in range(1, many):
            if rng.random() < 0.35:  # stands beside the one before, and is likely of its kind
                metres[j] = max(4.0, metres[j - 1] + rng.normal(0, 1.0))
                across[j] = across[j - 1] + rng.normal(0, 0.35) / metres[j] * 6
                kind[j] = kind[j - 1] if rng.random() < 0.6 else kind[j]
        box.append(_boxes(kind, metres, across, rng))
        image.append(np.full(many, i))
        cls.append(kind)
    places, kinds, boxes = np.concatenate(image), np.concatenate(cls), np.concatenate(box)
    keep = (np.minimum(boxes[:, 2:], [WIDTH, HEIGHT]) - np.maximum(boxes[:, :2], 0) > 2).all(1)
    places, kinds, boxes = places[keep], kinds[keep], np.clip(boxes[keep], 0, [WIDTH, HEIGHT, WIDTH, HEIGHT])
    n = len(places)
    return Visible(
        side="gt",
        ids=tuple(f"{i}:g{j}" for j, i in enumerate(places.tolist())),
        image=places.astype(np.int64),
        cls=kinds.astype(np.int64),
        xyxy=boxes,
        size=np.tile([float(WIDTH), float(HEIGHT)], (n, 1)),
        truncated=np.full(n, np.nan),
        occluded=np.full(n, np.nan),
        classes=CLASSES,
        images=tuple(Image(str(i), f"{i}.png", WIDTH, HEIGHT) for i in range(images)),
    )


def _boxes(kind: np.ndarray, metres: FloatArray, across: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Corners of the boxes of one scene, px, shape (n, 4), not clipped."""
    tall = _TALL[kind] * HEIGHT * 10 / metres * rng.lognormal(0, 0.12, len(kind))
    wide = tall * _SHAPE[kind] * rng.lognormal(0, 0.18, len(kind))
    ground = HEIGHT * (0.45 + 2.4 / metres)
    high = np.isin(kind, [CLASSES.index("traffic light"), CLASSES.index("traffic sign")])
    bottom = np.where(high, HEIGHT * (0.45 - 1.2 / metres), ground)
    left = across * WIDTH - wide / 2
    return np.column_stack([left, bottom - tall, left + wide, bottom])
