"""The exact K best missing slices of a space, whatever its size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.errors import InputError
from core.odd import Codes, SliceSpace
from core.odd.rules import Rule
from core.scoring.scorer import Scorer
from core.scoring.search.branch import Bounds, Cancel, Found, Ids, Progress, branch_and_bound
from core.scoring.search.neighbour_bounds import NeighbourBounds, neighbour_model
from core.scoring.search.problem import SearchSpace, search_space
from core.scoring.search.ridge_bounds import RidgeBounds, effect_spread, ridge_tables
from core.similarity import SimilarityTables

SEEDS = 48
"""Failing slices, and then best slices so far, around which a first guess is looked for."""
ROUNDS = 4


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

    Raises:
        InputError: The similarity is no sum over the dimensions, so there are no bounds.
    """
    odd, observed = scorer.evidence.observed.odd, scorer.evidence.observed
    if scorer.ridge is not None:
        tree = search_space(
            odd, space, [effect_spread(scorer.ridge, d, a) for d, a in enumerate(space.allowed)], need_outside, observed.ids, rules
        )
        tables = ridge_tables(scorer, tree)
        bounds: Bounds = RidgeBounds(tables)
        log_p = tables.rarity.log_p
    else:
        similarity = scorer.similarity
        if not isinstance(similarity, SimilarityTables):
            raise InputError(
                f"The similarity {similarity.mode} compares whole texts, so {space.size:,} slices would have to be embedded. "
                "Take the similarity calibrated, factored or exact, or fewer values."
            )
        importance = [_spread(similarity, d, space, observed.codes) for d in range(len(odd.names))]
        tree = search_space(odd, space, importance, need_outside, observed.ids, rules)
        model = neighbour_model(scorer, similarity, tree)
        bounds, log_p = NeighbourBounds(model), model.rarity.log_p
    return branch_and_bound(tree, bounds, log_p, k, _first_guess(tree, bounds, scorer, k), time_limit, progress, cancel)


def _spread(tables: SimilarityTables, k: int, space: SliceSpace, observed: Codes) -> float:
    """How much the values of a dimension differ in what they contribute to similarities, on average."""
    if k not in tables.dims or len(space.allowed[k]) < 2:
        return -1.0
    part = tables.tables[tables.dims.index(k)][np.ix_(space.allowed[k], observed[:, k])]
    return float(np.ptp(part, axis=0).mean())


def _first_guess(tree: SearchSpace, bounds: Bounds, scorer: Scorer, k: int) -> tuple[Ids, Ids]:
    """Ids and scores of slices that differ in one dimension from those that failed most, then from the best of these."""
    observed = scorer.evidence.observed
    seeds = observed.codes[np.lexsort((observed.ids, -scorer.evidence.error))[:SEEDS]]
    ids, q = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for _ in range(ROUNDS):
        around = [seeds]
        for d, values in zip(tree.order, tree.values, strict=True):
            moved = np.repeat(seeds, len(values), axis=0)
            moved[:, d] = np.tile(values, len(seeds))
            around.append(moved)
        codes = np.concatenate(around)
        new, first = np.unique(tree.odd.codec.encode(codes), return_index=True)
        fresh = ~np.isin(new, ids)
        new, codes = new[fresh], codes[first[fresh]]
        keep = tree.space.contains(codes) & ~tree.forbidden(new, codes)
        if not keep.any():
            break
        ids, q = np.concatenate([ids, new[keep]]), np.concatenate([q, bounds.leaves(codes[keep])])
        best = np.lexsort((ids, -q))
        seeds = tree.odd.codec.decode(ids[best[: max(SEEDS, k // 32)]])
    return ids, q
