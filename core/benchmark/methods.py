"""Every method behind one interface: a task goes in, all candidates in an order come out."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.benchmark import baselines
from core.benchmark.task import Listing, Task
from core.errors import InputError
from core.scoring.diversity import ild, keep_ild

Floats = npt.NDArray[np.float64]

REFERENCE = "slicescorer"
"""Differences are told against this method."""


@dataclass(frozen=True)
class Method:
    """A way to put candidates in order.

    Attributes:
        name: Short name for the command line.
        label: Name for people.
        what: How it ranks, in one line.
        run: Ranks.
        baseline: Whether it is there to be compared with.
        outside_only: Whether it says something only about slices outside the ODD.
    """

    name: str
    label: str
    what: str
    run: Callable[[Task], Listing]
    baseline: bool = False
    outside_only: bool = False


def _slicescorer(task: Task) -> Listing:
    return task.by_score(task.scores.phi)


def _variant(**changes: object) -> Callable[[Task], Listing]:
    return lambda task: _slicescorer(task.but(**changes))


def _ridge(task: Task) -> Listing:
    return task.by_score(task.ridge.predict(task.codes))


def _ridge_with_floor(task: Task) -> Listing:
    return floored(task, task.ridge.predict(task.codes), _slicescorer(task))


def floored(task: Task, score: Floats, model: Listing) -> Listing:
    """The best by score (U,), at each budget at least as diverse as another list; shorter lists are prefixes of longer ones."""
    order = model.orders[0]
    head = np.empty(0, dtype=np.int64)
    missed = []
    for k in task.budgets:
        if k >= task.size:
            break
        floor = ild(task.codes[order[:k]], task.dims)
        kept = keep_ild(task.codes, score, k, floor, task.dims, head)
        head = kept.order
        if not kept.reached:
            missed.append(f"{kept.ild:.3f} instead of {floor:.3f} at K = {k:,}")
    free = task.by_score(score)
    rest = free.orders[0]
    whole = np.concatenate([head, rest[~np.isin(rest, head)]])
    notes = [f"the floor was not reached: {', '.join(missed)}."] if missed else []
    if free.note:
        notes.append("all candidates have the same score, so only the floor and the order of the ids tell them apart.")
    return Listing(whole[None], task.size, " ".join(notes))


METHODS: Sequence[Method] = (
    Method(REFERENCE, "SliceScorer", "the paper's φ = rarity × (1 + neighbour error)", _slicescorer),
    Method("sliceline", "SliceLine", "predicates of SliceLine expanded to slices (App. B.2)", baselines.sliceline, baseline=True),
    Method("lift", "Marginal lift", "mean + lift of each value, after SliceFinder (App. B.3)", baselines.marginal_lift, baseline=True),
    Method("knn", "kNN, k = 1", "error of the most similar tested slice", baselines.nearest_error, baseline=True),
    Method("random", "Random", f"chance; mean over {baselines.CHANCE_ORDERS} seeded orders", baselines.chance, baseline=True),
    Method("coverage", "Coverage only", "rarity alone", lambda t: t.by_score(t.scores.w_rare), baseline=True),
    Method("neighbour", "Neighbour only", "neighbour error alone", lambda t: t.by_score(t.scores.eps_hat), baseline=True),
    Method("ridge", "Ridge", "risk from additive and pairwise effects (ours)", _ridge),
    Method("rare-ridge", "Rarity × ridge", "φ with ridge for the neighbour error (ours)", _variant(risk="ridge")),
    Method("ridge-floor", "Ridge, ILD floor", "ridge, at least as diverse as SliceScorer at each K (ours)", _ridge_with_floor),
    Method("log", "SliceScorer, log rarity", "rarity from the logarithm of the exposure (ours)", _variant(rarity="log")),
    Method("shrink", "SliceScorer, shrunk", "errors of thin slices drawn to the mean (ours)", _variant(shrink=True)),
    Method(
        "unseen",
        "SliceScorer, unseen",
        "a value never seen gets the probability of a zero count (ours)",
        _variant(novel="unseen"),
        outside_only=True,
    ),
)
BY_NAME = {m.name: m for m in METHODS}


def choose_methods(names: Sequence[str] = (), outside: bool = False) -> tuple[tuple[Method, ...], tuple[str, ...]]:
    """The methods with these names, or all that can be used here; the reference is always among them.

    Args:
        names: Names; nothing takes all.
        outside: Whether candidates lie outside the ODD.

    Returns:
        Methods in the usual order, and why any was left out.

    Raises:
        InputError: A name is unknown.
    """
    unknown = [n for n in names if n not in BY_NAME]
    if unknown:
        raise InputError(f"There is no method {', '.join(unknown)}; allowed: {', '.join(BY_NAME)}.")
    wanted = {REFERENCE, *names} if names else set(BY_NAME)
    notes = []
    if not outside and "unseen" in wanted:
        wanted.discard("unseen")
        if names:
            notes.append("unseen was left out: inside the ODD every value has a count, so it equals SliceScorer.")
    if not names and importlib.util.find_spec("sliceline") is None:
        wanted.discard("sliceline")
        notes.append("SliceLine was left out: the package sliceline is not installed (pip install sliceline).")
    return tuple(m for m in METHODS if m.name in wanted), tuple(notes)
