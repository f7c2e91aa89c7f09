"""Methods to be compared with, adapted to rank slices that were never tested (SliceNav, appendix B)."""

from __future__ import annotations

import importlib.util

import numpy as np
import numpy.typing as npt

from core.benchmark.task import Listing, Task
from core.errors import MissingPackageError
from core.seed_table import SeedTable

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CHANCE_ORDERS = 20
"""Permutations that the figures of chance are means over."""
SLICELINE = {"alpha": 0.95, "k": 1000, "min_sup": 1}
"""Table 4 of the paper; max_l is the number of dimensions."""


def chance(task: Task) -> Listing:
    """`CHANCE_ORDERS` seeded permutations."""
    rng = np.random.default_rng(task.number)
    return Listing(np.stack([rng.permutation(task.size) for _ in range(CHANCE_ORDERS)]), task.size)


def nearest_error(task: Task) -> Listing:
    """Embedding kNN with k = 1: the error of the most similar tested slice, whatever its similarity."""
    return task.by_score(task.evidence.observed.error[task.most_similar])


def marginal_lift(task: Task) -> Listing:
    """The marginal-lift model (appendix B.3, after SliceFinder)."""
    return task.by_score(lift_errors(task.evidence.observed, task.dims, task.codes))


def lift_errors(observed: SeedTable, dims: tuple[int, ...], codes: npt.NDArray[np.integer]) -> Floats:
    """clip(mean + sum_k lift(k, v_k), 0, 1) of slices (n, K), expectations weighted by samples; a value never seen lifts nothing.

    Args:
        observed: Tested slices.
        dims: Positions of the dimensions that count.
        codes: Slices to predict.
    """
    failures = observed.error * observed.n
    mean = float(failures.sum() / observed.total)
    out = np.full(len(codes), mean)
    for k in dims:
        size = observed.odd.codec.sizes[k]
        n = np.bincount(observed.codes[:, k], weights=observed.n, minlength=size)
        failed = np.bincount(observed.codes[:, k], weights=failures, minlength=size)
        lift = np.where(n > 0, failed / np.maximum(n, 1) - mean, 0.0)
        out += lift[codes[:, k]]
    clipped: Floats = np.clip(out, 0.0, 1.0)
    return clipped


def sliceline(task: Task) -> Listing:
    """SliceLine's predicates expanded to full slices (appendix B.2), slices that match none appended by id.

    A slice takes its matching predicate with the highest score, the first found of equal ones. Slices are ranked by the number of
    values that their predicate names (descending), its rank of discovery, its score (descending), and their id.

    Raises:
        MissingPackageError: The package sliceline is not installed.
    """
    predicates, scores = _discover(task)
    chosen = np.full(task.size, -1, dtype=np.int64)
    best = np.full(task.size, -np.inf)
    for j, (predicate, value) in enumerate(zip(predicates, scores, strict=True)):
        match = np.ones(task.size, dtype=bool)
        for k, code in predicate.items():
            match &= task.codes[:, k] == code
        better = match & (value > best)
        chosen[better], best[better] = j, value
    matched, rest = np.flatnonzero(chosen >= 0), np.flatnonzero(chosen < 0)
    specificity = np.array([len(p) for p in predicates], dtype=np.int64)
    found = chosen[matched]
    matched = matched[np.lexsort((matched, -best[matched], found, -specificity[found]))] if matched.size else matched
    note = f"{len(predicates):,} predicates found; {len(matched):,} of {task.size:,} candidates match one."
    return Listing(np.concatenate([matched, rest])[None], len(matched), note)


def _discover(task: Task) -> tuple[list[dict[int, int]], list[float]]:
    """Predicates as dimension -> code, in the order of discovery, and their scores."""
    if importlib.util.find_spec("sliceline") is None:
        raise MissingPackageError(
            "The baseline SliceLine needs the package sliceline: pip install sliceline. Leave it out (--methods) to go without."
        )
    from sliceline.slicefinder import Slicefinder

    observed = task.evidence.observed
    finder = Slicefinder(alpha=SLICELINE["alpha"], k=SLICELINE["k"], max_l=len(task.dims), min_sup=SLICELINE["min_sup"], verbose=False)
    finder.fit(observed.codes[:, task.dims], observed.error)
    top = finder.top_slices_
    predicates = [{k: int(v) for k, v in zip(task.dims, row, strict=True) if v is not None} for row in (top if len(top) else ())]
    return predicates, [float(s["slice_score"]) for s in finder.top_slices_statistics_]
