"""Slices beside each other: how far two hypotheses name the same units, and what two models make of the same slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.error_slices.average_precision import RESAMPLES, ModelComparison, compare_models
from core.error_slices.detections import FloatArray, IntArray
from core.error_slices.hypotheses import Hypothesis
from core.error_slices.recall_curves import draw_images
from core.error_slices.units import SIDE_OF, ErrorType
from core.error_slices.verification.rates import error_rate
from core.error_slices.verification.settings import ErrorRate, Tested
from core.errors import InputError
from core.operators.slice_report import SliceReport, SliceRow
from core.operators.slices import open_detections
from core.scoring.intervals import percentiles
from core.storage import Store

TOP = 50
"""Units of highest score whose overlap is told."""
LEAST_IMAGES = 8
"""Images with units of a model, below which a difference has no interval: resamples of a handful of images vary too little."""


@dataclass(frozen=True)
class Overlap:
    """How far two hypotheses name the same units.

    Attributes:
        first: Id of one.
        second: Id of the other.
        shared: Units that both are about, with a score from both; 0 on different sides.
        members: Jaccard index of the two slices (score above gamma) among them, None where both are empty.
        errors: Jaccard index of the errors in them, None likewise.
        top: Jaccard index of the units of highest score, None without shared units.
    """

    first: str
    second: str
    shared: int
    members: float | None
    errors: float | None
    top: float | None


def overlaps(report: SliceReport, rows: Sequence[SliceRow]) -> tuple[Overlap, ...]:
    """The overlap of every pair of hypotheses, in their order."""
    found = [_scored(r) for r in rows]
    gamma = report.settings.test.gamma
    out = []
    for i, a in enumerate(rows):
        for j in range(i + 1, len(rows)):
            out.append(_overlap(a, rows[j], found[i], found[j], gamma))
    return tuple(out)


def _scored(row: SliceRow) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Units with a score: index, score, logit, loss."""
    if row.population is None or row.scores is None:
        none = np.empty(0)
        return np.empty(0, np.int64), none, none, none
    s, known = row.scores, ~np.isnan(row.scores.c)
    return s.units[known], s.c[known], s.logit[known], row.population.loss[known]


def _overlap(
    a: SliceRow,
    b: SliceRow,
    of_a: tuple[IntArray, FloatArray, FloatArray, FloatArray],
    of_b: tuple[IntArray, FloatArray, FloatArray, FloatArray],
    gamma: float,
) -> Overlap:
    shared, at_a, at_b = np.intersect1d(of_a[0], of_b[0], assume_unique=True, return_indices=True)
    names = (a.hypothesis.id, b.hypothesis.id)
    if not len(shared):
        return Overlap(*names, 0, None, None, None)
    in_a, in_b = of_a[1][at_a] > gamma, of_b[1][at_b] > gamma
    wrong = (of_a[3][at_a] > 0.5, of_b[3][at_b] > 0.5)
    best = [np.isin(np.arange(len(shared)), np.argsort(-logit, kind="stable")[:TOP]) for logit in (of_a[2][at_a], of_b[2][at_b])]
    return Overlap(
        *names, len(shared), _jaccard(in_a, in_b), _jaccard(in_a & wrong[0], in_b & wrong[1]), _jaccard(best[0], best[1])
    )  # fmt: skip


def _jaccard(a: np.ndarray, b: np.ndarray) -> float | None:
    either = int(np.count_nonzero(a | b))
    return int(np.count_nonzero(a & b)) / either if either else None


@dataclass(frozen=True)
class Change:
    """A mean loss of two models on the same images.

    Attributes:
        a: Of the first.
        b: Of the second.
        difference: The second minus the first, None where one has no unit.
        low: Lower end of its 95 % interval by paired resamples of the images, None likewise and where one has units in fewer than eight.
        high: Upper end.
    """

    a: ErrorRate
    b: ErrorRate
    difference: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class SliceChange:
    """One hypothesis under two models.

    Attributes:
        hypothesis: What is claimed.
        a: What the tests found of the first, None where it could not be tested.
        b: Of the second.
        inside: Units in the slice.
        outside: The other scored units.
    """

    hypothesis: Hypothesis
    a: Tested | None
    b: Tested | None
    inside: Change
    outside: Change


@dataclass(frozen=True, eq=False)
class ModelSlices:
    """Two models on the same units.

    Attributes:
        a: Report of the first.
        b: Of the second.
        rows: One a hypothesis that either could be tested on, in the order of the first.
        overall: Mean loss of all units by type of error.
        resamples: Resamples of the images behind the intervals.
        only: Hypotheses that only one of them could be tested on.
    """

    a: SliceReport
    b: SliceReport
    rows: tuple[SliceChange, ...]
    overall: dict[ErrorType, Change]
    resamples: int
    only: int


def compare_slices(a: SliceReport, b: SliceReport, *, resamples: int = RESAMPLES, seed: int = 0) -> ModelSlices:
    """The error of two models inside and outside every slice, with intervals of the difference.

    Units of the ground truth are the same for both, so they are in the slice for both; predictions are each model's own.

    Args:
        a: The first, such as the model before a repair.
        b: The second, under the same settings.
        resamples: Resamples of the images, the same for both models and every hypothesis.
        seed: Of the resamples.

    Raises:
        InputError: They are not about the same images and ground truth, or were not computed alike.
    """
    if a.saved.truth_digest != b.saved.truth_digest:
        raise InputError(
            f'"{a.saved.name}" and "{b.saved.name}" do not have the same images and ground truth, so their slices hold different units. '
            "Import both models with the same ground truth."
        )
    if a.settings != b.settings:
        raise InputError("The two reports were not computed under the same settings.")
    images, gamma = len(a.units.detections.images), a.settings.test.gamma
    weights = draw_images(images, resamples, seed).T.astype(np.float64)
    others = {r.hypothesis.id: r for r in b.rows}
    rows, only = [], 0
    for row in a.rows:
        other = others.get(row.hypothesis.id)
        if other is None or (row.tested is None and other.tested is None):
            continue
        only += (row.tested is None) != (other.tested is None)
        first, second = _parts(row, gamma), _parts(other, gamma)
        changes = [_change(first[k], second[k], weights) for k in (0, 1)]
        rows.append(SliceChange(row.hypothesis, row.tested, other.tested, changes[0], changes[1]))
    overall = {}
    for error in SIDE_OF:
        found = [_whole(r, error) for r in (a, b)]
        if found[0] is not None and found[1] is not None:
            overall[error] = _change(found[0], found[1], weights)
    return ModelSlices(a, b, tuple(rows), overall, resamples, only)


def compare_precision(
    store: Store, a_id: str, b_id: str, *, resamples: int = RESAMPLES, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> ModelComparison:
    """Average precision and recall of two saved sets on the images that both have.

    Raises:
        InputError: See `core.error_slices.average_precision.compare_models`.
    """
    first, second = (open_detections(store, i) for i in (a_id, b_id))
    return compare_models(first, second, resamples=resamples, seed=seed, progress=progress)


Part = tuple[FloatArray, IntArray, FloatArray]
"""Loss, image and weight of some units."""


def _parts(row: SliceRow, gamma: float) -> tuple[Part, Part]:
    """Units inside the slice, and the other scored ones."""
    p, s = row.population, row.scores
    if p is None or s is None:
        none = (np.empty(0), np.empty(0, np.int64), np.empty(0))
        return none, none
    weight = p.weight if s.weight is None else p.weight * s.weight
    inside, outside = s.c > gamma, s.c <= gamma
    return (p.loss[inside], p.image[inside], weight[inside]), (p.loss[outside], p.image[outside], weight[outside])


def _whole(report: SliceReport, error: ErrorType) -> Part | None:
    """All units of the hypotheses of a type that are about every class."""
    about_all = (r for r in report.rows if r.hypothesis.error == error and r.hypothesis.classes == ("any",) and not r.hypothesis.half_only)
    row = next((r for r in about_all if r.population), None)
    if row is None or row.population is None:
        return None
    return row.population.loss, row.population.image, row.population.weight


def _change(a: Part, b: Part, weights: FloatArray, least: int = LEAST_IMAGES) -> Change:
    """Two mean losses and their difference over resamples of the images.

    Args:
        a: Units of the first model.
        b: Of the second.
        weights: Shape (images, r): how often each image stands in each resample, the first column all ones.
        least: Images that both need for an interval.
    """
    rates = [error_rate(loss, weight, image, len(weights)) for loss, image, weight in (a, b)]
    drawn = []
    for loss, image, weight in (a, b):
        n = weights.shape[0]
        top = np.bincount(image, weights=loss * weight, minlength=n) @ weights
        below = np.bincount(image, weights=weight, minlength=n) @ weights
        drawn.append(np.divide(top, below, out=np.full(weights.shape[1], np.nan), where=below > 0))
    found = drawn[1] - drawn[0]
    ends = percentiles(found[1:]) if min(rate.images for rate in rates) >= least else None
    value = None if np.isnan(found[0]) else float(found[0])
    return Change(rates[0], rates[1], value, *(ends or (None, None)))
