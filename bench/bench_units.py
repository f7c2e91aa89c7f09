"""Units, average precision and mask regions at the size of COCO's validation images. CPU seconds of one process."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from core.error_slices import average_precision as inside  # noqa: E402
from core.error_slices.average_precision import average_precision, compare_models  # noqa: E402
from core.error_slices.detections import Boxes, ClassName, DetectionSet, Image  # noqa: E402
from core.error_slices.masks import of_box  # noqa: E402
from core.error_slices.matching import make_units  # noqa: E402
from core.error_slices.population import population, visible  # noqa: E402
from core.error_slices.recall_curves import class_curves, coco_order  # noqa: E402
from core.error_slices.units import SIDE_OF, UnitSettings  # noqa: E402

IMAGES, TRUTH, PREDICTIONS, CLASSES = 5_000, 36_000, 100_000, 80
MASKS = 500
T = TypeVar("T")


def made(images: int, truth: int, predictions: int, *, classes: int = CLASSES, masks: bool = False, seed: int = 0) -> DetectionSet:
    """Made-up boxes of classes of unequal size, two thirds of the predictions near an instance; only the predictions depend on the seed."""
    rng = np.random.default_rng(0)

    def boxes(n: int) -> np.ndarray:
        corner = rng.uniform(0, 1, (n, 2)) * [500, 380]
        return np.hstack([corner, corner + rng.uniform(8, 120, (n, 2))])

    image, cls, xyxy = np.sort(rng.integers(0, images, truth)), (classes * rng.random(truth) ** 2).astype(int), boxes(truth)
    ignore = rng.random(truth) < 0.01
    rng = np.random.default_rng(1 + seed)
    near = rng.integers(0, truth, predictions)
    far = rng.random(predictions) < 1 / 3
    said = np.where(far[:, None], boxes(predictions), xyxy[near] + rng.normal(0, 6, (predictions, 4)))
    said[:, 2:] = np.maximum(said[:, 2:], said[:, :2] + 1)
    wrong = rng.random(predictions) < 0.1
    said_cls = np.where(wrong, rng.integers(0, classes, predictions), cls[near])
    size = (480, 640)
    return DetectionSet(
        "made up",
        "made up",
        "segmentation" if masks else "detection",
        tuple(ClassName(str(k), f"class {k}") for k in range(classes)),
        tuple(Image(str(k), f"{k}.jpg", 640, 480) for k in range(images)),
        Boxes.of(image, cls, xyxy, masks=tuple(of_box(b, size) for b in xyxy) if masks else None, ignore=ignore),
        Boxes.of(image[near], said_cls, said, score=rng.random(predictions), masks=tuple(of_box(b, size) for b in said) if masks else None),
        synthetic=True,
    )


def timed(what: str, run: Callable[[], T], limit: float) -> T:
    """What a function returns; prints its CPU seconds beside what they may be."""
    start = time.process_time()
    out = run()
    print(f"{what}: {time.process_time() - start:.2f} CPU-s (at most {limit:g})")
    return out


def coverage(classes: int) -> None:
    """How often 95 % intervals hold the truth, where a set of 128 images is all there is and new sets are drawn from it."""
    images, outer, inner = 128, 100, 100
    pair = [made(images, 900, 1200, classes=classes, seed=seed) for seed in (0, 1)]
    curves = [class_curves(d, coco_order(d), images) for d in pair]

    def both(weights: np.ndarray) -> np.ndarray:
        """Shape (2, 3, r): mAP, mAP50, mAR of the first model, and what the second has more."""
        a, b = (inside._mean(inside._measure_all(c, weights, None)) for c in curves)
        return np.stack([a, b - a])

    truth = both(np.ones((1, images), np.int64))[..., 0]
    rng = np.random.default_rng(5)
    held = {"ours": np.zeros((2, 3)), "percentiles": np.zeros((2, 3))}
    for drawn in rng.multinomial(images, np.full(images, 1 / images), size=outer):
        found = both(np.vstack([drawn[None], rng.multinomial(images, drawn / images, size=inner)]))
        ours = [[inside._estimate(row, -1, 0, 0) for row in rows] for rows in found]
        held["ours"] += [[e.low <= t <= e.high for e, t in zip(es, ts, strict=True)] for es, ts in zip(ours, truth, strict=True)]
        low, high = np.quantile(found[..., 1:], [0.025, 0.975], axis=-1)
        held["percentiles"] += (low <= truth) & (truth <= high)
    for name, counts in held.items():
        of_value, of_difference = ((counts / outer)[k].round(2).tolist() for k in (0, 1))
        print(f"coverage of 95 % intervals, {classes} classes, {name}: mAP, mAP50, mAR {of_value}; differences {of_difference}")


def main() -> None:
    """Prints seconds of each step."""
    detections = made(IMAGES, TRUTH, PREDICTIONS)
    cut = UnitSettings(confidence=0)
    print(f"{IMAGES:,} images, {TRUTH:,} boxes of ground truth, {PREDICTIONS:,} predictions, {CLASSES} classes, made up")
    units = timed("units, every prediction", lambda: make_units(detections, cut), 2)
    timed("what matchers see, both sides", lambda: [visible(units, side) for side in ("gt", "pred")], 0.5)
    timed("50 populations", lambda: [population(units, error, {1, 2, 3}) for error in SIDE_OF for _ in range(9)], 1)
    timed("average precision, 400 resamples", lambda: average_precision(detections), 10)
    timed("two models, 400 resamples", lambda: compare_models(detections, detections), 25)
    masked = made(100, MASKS, MASKS, masks=True)
    for classes in (5, 70):
        coverage(classes)
    timed(f"units of {MASKS} instances with masks of 640 × 480 px", lambda: make_units(masked, cut), 2)


if __name__ == "__main__":
    main()
