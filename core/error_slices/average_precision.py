"""How good a detector is, by class and in all, with intervals; and whether another one is better on the same images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.error_slices.detections import DetectionSet, FloatArray, IntArray
from core.error_slices.recall_curves import ClassCurve, Progress, class_curves, coco_order, draw_images, measure
from core.errors import InputError
from core.scoring.intervals import Z95

RESAMPLES = 400
ROUNDING = 1e-12
MOST_NAMED = 5
OTHER_CLASSES = "predictions of classes without ground truth"
UNSCORED = "predictions without a confidence"


@dataclass(frozen=True)
class Estimate:
    """A measure with the interval that resampling the images gives.

    It is value ± 1.96 standard deviations of the resamples, longer by their bias on the side where the bias says that the truth lies:
    average precision of few images is too high, so that of resamples is higher still, and percentiles of resamples would run away from the
    truth. Measured coverage stands in docs/benchmarks.md; with many classes of a few images each the interval is still too short.

    Attributes:
        value: As COCO computes it, None without an instance; a difference may be below 0.
        low: Lower end of the 95 % interval, None where more than a tenth of the resamples have no instance, or all are equal (but for
            differences).
        high: Upper end, None likewise.
        n: Instances of the ground truth, without ignore regions.
        images: Images that have one.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    images: int


@dataclass(frozen=True)
class ClassPrecision:
    """Measures of one class, or of the mean over classes.

    Attributes:
        name: Of the class, "" for the mean over those that the ground truth has.
        ap: Average precision over IoU .5 to .95 (COCO's mAP).
        ap50: At IoU .5.
        ar: Average recall over IoU .5 to .95, at most 100 predictions an image (COCO's mAR).
    """

    name: str
    ap: Estimate
    ap50: Estimate
    ar: Estimate


@dataclass(frozen=True)
class AveragePrecision:
    """How good a detector is.

    Attributes:
        model: Its name.
        mean: Over the classes that the ground truth has.
        classes: In the order of the file, those of the ground truth only.
        images: Images that were resampled.
        resamples: How often.
        left_out: How many of what did not enter, by a name that a screen can show.
    """

    model: str
    mean: ClassPrecision
    classes: tuple[ClassPrecision, ...]
    images: int
    resamples: int
    left_out: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelComparison:
    """Two detectors on the same images; the same resamples stand behind both, so that hard images weigh on both alike.

    Attributes:
        a: The first, on the images that both have.
        b: The second, likewise.
        mean: The second minus the first.
        classes: Likewise by class.
        left_out: How many of what did not enter, by a name that a screen can show.
    """

    a: AveragePrecision
    b: AveragePrecision
    mean: ClassPrecision
    classes: tuple[ClassPrecision, ...]
    left_out: dict[str, int]


def average_precision(
    detections: DetectionSet, *, resamples: int = RESAMPLES, seed: int = 0, progress: Progress | None = None
) -> AveragePrecision:
    """COCO's measures of a detector or, by masks, of a segmenter; every prediction counts, whatever its confidence.

    Args:
        detections: With boxes.
        resamples: Resamples of the images behind the intervals.
        seed: Of the resamples.
        progress: Called with classes done and in all.

    Raises:
        InputError: A classifier has no boxes.
    """
    _with_boxes(detections)
    images = len(detections.images)
    curves = class_curves(detections, coco_order(detections), images)
    drawn = _measure_all(curves, draw_images(images, resamples, seed), progress)
    return AveragePrecision(_label(detections), *_report(curves, drawn), images, resamples, _left_out(detections, curves))


def compare_models(
    a: DetectionSet, b: DetectionSet, *, resamples: int = RESAMPLES, seed: int = 0, progress: Progress | None = None
) -> ModelComparison:
    """Measure two detectors on the images that both have, and the difference by paired resamples of the images.

    Args:
        a: The first, such as the model before a repair.
        b: The second. Classes are the same where their names are.
        resamples: Resamples of the images behind the intervals.
        seed: Of the resamples.
        progress: Called with classes done and in all, of both together.

    Raises:
        InputError: A classifier has no boxes; there is no common image; or the ground truth of the common images differs.
    """
    for one in (a, b):
        _with_boxes(one)
    places, names = _common(a, b)
    _same_truth(a, b, places, names)
    weights = draw_images(len(names), resamples, seed)
    curves = [class_curves(one, place, len(names)) for one, place in zip((a, b), places, strict=True)]
    done = [0, sum(map(len, curves))]

    def step(_: int, __: int) -> None:
        done[0] += 1
        if progress is not None:
            progress(done[0], done[1])

    drawn = [_measure_all(c, weights, step) for c in curves]
    reports = [
        AveragePrecision(_label(one), *_report(c, d), len(names), resamples, _left_out(one, c))
        for one, c, d in zip((a, b), curves, drawn, strict=True)
    ]
    difference = {name: drawn[1][name] - drawn[0][name] for name in curves[0]}
    mean_of_differences = _mean(drawn[1]) - _mean(drawn[0])
    left_out = {f"images of {_label(one)} alone": len(one.images) - len(names) for one in (a, b)}
    return ModelComparison(
        reports[0],
        reports[1],
        *_report(curves[0], difference, mean_of_differences),
        {name: n for name, n in left_out.items() if n},
    )


def _with_boxes(detections: DetectionSet) -> None:
    if detections.classified is not None:
        raise InputError(f'"{detections.name}" holds what a classifier said; average precision needs boxes. Look at its groups instead.')


def _measure_all(curves: Mapping[str, ClassCurve], weights: IntArray, progress: Progress | None) -> dict[str, FloatArray]:
    """Measures by class, each of shape (3, r): average precision, at .5, average recall."""
    out = {}
    for done, (name, curve) in enumerate(curves.items()):
        out[name] = np.stack(measure(curve, weights))
        if progress is not None:
            progress(done + 1, len(curves))
    return out


def _mean(drawn: Mapping[str, FloatArray]) -> FloatArray:
    """Mean over the classes that a resample has, shape (3, r); NaN where it has none."""
    if not drawn:
        return np.full((3, 1), np.nan)
    table = np.stack(list(drawn.values()))
    known = ~np.isnan(table)
    mean = np.full(table.shape[1:], np.nan)
    np.divide(np.where(known, table, 0).sum(0), known.sum(0), out=mean, where=known.any(0))
    return mean


def _report(
    curves: Mapping[str, ClassCurve], drawn: Mapping[str, FloatArray], mean: FloatArray | None = None
) -> tuple[ClassPrecision, tuple[ClassPrecision, ...]]:
    """Measures of the mean and of each class; with the mean given, they are differences and may be negative."""
    least = 0.0 if mean is None else -1.0
    instances = {name: c.instances for name, c in curves.items()}
    total = np.sum(list(instances.values()), axis=0) if instances else np.zeros(0, np.int64)
    return (
        _estimates("", _mean(drawn) if mean is None else mean, total, least),
        tuple(_estimates(name, drawn[name], found, least) for name, found in instances.items()),
    )


def _estimates(name: str, drawn: FloatArray, instances: IntArray, least: float) -> ClassPrecision:
    """Measures of a class from its resamples, shape (3, r)."""
    n, images = int(instances.sum()), int((instances > 0).sum())
    ap, ap50, ar = (_estimate(row, least, n, images) for row in drawn)
    return ClassPrecision(name, ap, ap50, ar)


def _estimate(drawn: FloatArray, least: float, n: int, images: int) -> Estimate:
    """The first value with the interval that the others give, between `least` and 1."""
    value, others = float(drawn[0]), drawn[1:][~np.isnan(drawn[1:])]
    if np.isnan(value):
        return Estimate(None, None, None, n, images)
    if len(others) < max(2.0, 0.9 * (len(drawn) - 1)):
        return Estimate(value, None, None, n, images)
    half = Z95 * float(others.std(ddof=1))
    if half < ROUNDING and least == 0:
        return Estimate(value, None, None, n, images)
    bias = float(others.mean()) - value
    low, high = value - max(bias, 0) - half, value - min(bias, 0) + half
    return Estimate(value, max(least, low), min(1.0, high), n, images)


def _label(detections: DetectionSet) -> str:
    return detections.model or detections.name


def _left_out(detections: DetectionSet, curves: Mapping[str, ClassCurve]) -> dict[str, int]:
    """Predictions that COCO's measures know nothing of."""
    known = np.array([c.name in curves for c in detections.classes], bool)
    counts = {
        OTHER_CLASSES: int((~known[detections.predictions.cls]).sum()),
        UNSCORED: int(np.isnan(detections.predictions.score).sum()),
    }
    return {name: n for name, n in counts.items() if n}


def _common(a: DetectionSet, b: DetectionSet) -> tuple[tuple[IntArray, IntArray], list[str]]:
    """Of each set, the common index of its images, -1 for those of one set alone; and the ids in that order."""
    both = {i.id for i in a.images} & {i.id for i in b.images}
    if not both:
        raise InputError(f'"{a.name}" and "{b.name}" have no image in common; compare models on the same images.')
    order = coco_order(a)
    names = [a.images[k].id for k in np.argsort(order).tolist() if a.images[k].id in both]
    index = {name: k for k, name in enumerate(names)}
    places = tuple(np.array([index.get(i.id, -1) for i in one.images], np.int64) for one in (a, b))
    return (places[0], places[1]), names


def _same_truth(a: DetectionSet, b: DetectionSet, places: tuple[IntArray, IntArray], names: Sequence[str]) -> None:
    """Refuse to compare models that were measured against different ground truth."""
    found: list[dict[int, list[tuple[object, ...]]]] = []
    for one, place in zip((a, b), places, strict=True):
        of_image: dict[int, list[tuple[object, ...]]] = {}
        for row, at in enumerate(place[one.truth.image].tolist()):
            if at >= 0:
                k = int(one.truth.cls[row])
                box = tuple(np.round(one.truth.xyxy[row], 2).tolist())
                of_image.setdefault(at, []).append((one.classes[k].name if k >= 0 else "", bool(one.truth.ignore[row]), *box))
        found.append({at: sorted(rows, key=str) for at, rows in of_image.items()})
    differ = [name for at, name in enumerate(names) if found[0].get(at) != found[1].get(at)]
    if differ:
        raise InputError(
            f'The ground truth of "{a.name}" and "{b.name}" differs in {len(differ)} of {len(names)} common images, such as '
            f"{', '.join(differ[:MOST_NAMED])}. Import both models with the same ground truth to compare them."
        )
