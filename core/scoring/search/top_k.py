"""The exact K best missing slices of a space, whatever its size."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Literal

import numpy as np

from core.errors import InputError
from core.odd import Codes, SliceSpace
from core.odd.rules import Rule
from core.scoring.scorer import Scorer
from core.scoring.search.branch import Bounds, Cancel, Found, Progress, branch_and_bound
from core.scoring.search.neighbour_bounds import NumpyNeighbourBounds, neighbour_model
from core.scoring.search.problem import SearchSpace, search_space
from core.similarity import SimilarityTables

Engine = Literal["auto", "numpy", "numba"]

SEEDS = 64
"""Failing slices, and then best slices so far, around which a first guess is looked for."""


def top_k(
    scorer: Scorer,
    space: SliceSpace,
    k: int,
    *,
    need_outside: bool = False,
    rules: Sequence[Rule] = (),
    time_limit: float | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    engine: Engine = "auto",
) -> Found:
    """The K best missing slices of a space: ids, order and ties are those of an enumeration.

    Args:
        scorer: Scores slices; observed slices are never returned.
        space: Values that slices may have.
        k: How many slices.
        need_outside: Whether a slice must have an extended value.
        rules: Slices that they hit are never returned.
        time_limit: Seconds after which the search stops with what it has and a certificate; None lets it end.
        progress: Called with the slices settled and the slices in all.
        cancel: Asked now and then; True stops the search as the time limit does.
        engine: "numba" compiles the inner loops, "numpy" does without; "auto" takes numba where it is installed.

    Raises:
        InputError: The similarity is no sum over the dimensions, so there are no bounds.
    """
    odd, observed = scorer.evidence.observed.odd, scorer.evidence.observed
    tables = scorer.similarity
    if not isinstance(tables, SimilarityTables):
        raise InputError(
            f"The similarity {tables.mode} compares whole texts, so {space.size:,} slices would have to be embedded. "
            "Take the similarity calibrated, factored or exact, or fewer values."
        )
    importance = [_spread(tables, k, space, observed.codes) for k in range(len(odd.names))]
    tree = search_space(odd, space, importance, need_outside, observed.ids, rules)
    model = neighbour_model(scorer, tables, tree)
    bounds: Bounds = NumpyNeighbourBounds(model)
    start = _first_guess(tree, bounds, scorer, k)
    return branch_and_bound(tree, bounds, model.rarity.log_p, k, start, time_limit, progress, cancel)


def numba_installed() -> bool:
    """Whether the inner loops can be compiled."""
    return find_spec("numba") is not None


def _spread(tables: SimilarityTables, k: int, space: SliceSpace, observed: Codes) -> float:
    """How much the values of a dimension differ in what they contribute to similarities, on average."""
    if k not in tables.dims or len(space.allowed[k]) < 2:
        return -1.0
    part = tables.tables[tables.dims.index(k)][np.ix_(space.allowed[k], observed[:, k])]
    return float(np.ptp(part, axis=0).mean())


def _first_guess(tree: SearchSpace, bounds: Bounds, scorer: Scorer, k: int) -> Codes:
    """Slices that differ in one dimension from those that failed most, then from the best of these."""
    observed = scorer.evidence.observed
    worst = np.lexsort((observed.ids, -scorer.evidence.error))[:SEEDS]
    seeds = observed.codes[worst]
    out = np.empty((0, len(tree.root)), dtype=np.int32)
    for _ in range(3):
        around = [seeds]
        for d, values in zip(tree.order, tree.values, strict=True):
            moved = np.repeat(seeds, len(values), axis=0)
            moved[:, d] = np.tile(values, len(seeds))
            around.append(moved)
        codes = np.concatenate([out, *around])
        ids, first = np.unique(tree.odd.codec.encode(codes), return_index=True)
        codes = codes[first]
        keep = tree.space.contains(codes) & ~tree.forbidden(ids, codes)
        out = codes[keep]
        if not len(out):
            return out
        q = bounds.leaves(out)
        best = np.argsort(-q, kind="stable")
        out = out[best[: 4 * k]]
        seeds = out[: max(SEEDS, k // 8)]
    return out
