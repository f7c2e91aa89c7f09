"""SliceScorer: ranks the missing slices of an ODD, exactly and reproducibly (SliceNav, Eq. 3)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.odd import Codes, Odd, SliceSpace
from core.odd.rules import Rule, count_space, hit_by_any
from core.scoring.diversity import ild, keep_ild
from core.scoring.evidence import Evidence, gather_evidence
from core.scoring.exposure import Floats, Marginals, Rarity, marginals, rarity_of
from core.scoring.neighbours import Index
from core.scoring.parameters import ScoringParameters
from core.scoring.scope import IN_ODD, Scope
from core.scoring.scorer import SCALE, Scorer, quantised
from core.scoring.search import Cancel, Found, Progress, top_k
from core.scoring.search.problem import is_member
from core.seed_table import SeedTable
from core.similarity import Similarity, SimilarityTables, Units

if TYPE_CHECKING:
    from core.scoring.ridge import RidgeModel

MAX_CANDIDATES = 5_000_000
"""Largest space that is enumerated."""
ENUMERATED = 20_000
"""Spaces of at most so many slices are enumerated even where a search could do."""
POOLS, LEAST_POOL = (20, 200), 5_000
"""A list that keeps a diversity floor is chosen from the best so many times its length, more where that is too few, and from no fewer
than `LEAST_POOL`."""


@dataclass(frozen=True)
class Search:
    """What was searched.

    Attributes:
        space: Slices of the scope under the filter; out of the ODD, those inside it are counted too.
        candidates: Slices that could be returned: missing, of the scope, not implausible.
        observed: Tested slices that the scores rest on (under no filter).
        nodes: Slices whose score was computed, and prefixes of slices whose bound was.
        complete: Whether the ranking is proven exact.
        seconds: Wall time.
        method: "enumeration" or "branch and bound".
        implausible: Slices left out because a rule of the ODD calls them implausible.
        gap: Where not complete: no slice left out scores more than the last one returned plus this.
    """

    space: int
    candidates: int
    observed: int
    nodes: int
    complete: bool
    seconds: float
    method: str = "enumeration"
    implausible: int = 0
    gap: float = 0.0


@dataclass(frozen=True)
class Diversity:
    """A list that keeps a diversity floor: some of the best slices gave way to others.

    Attributes:
        floor: Least ILD asked for.
        before, after: ILD of the K best, and of the list.
        swaps: Slices that stand in for ones with a better score.
        reached: Whether `after` is at least the floor.
        pool: Slices that were chosen from, the best ones of the ranking.
    """

    floor: float
    before: float
    after: float
    swaps: int
    reached: bool
    pool: int


@dataclass(frozen=True, eq=False)
class Ranking:
    """The best K missing slices, rank 1 first; arrays have K rows.

    Attributes:
        evidence: What the scores rest on.
        params: Parameters used.
        similarity: What the similarities are (JSON-ready).
        marginals: P_k(v) with counts.
        scope: Which slices it chooses from.
        rarity: How w_rare was computed.
        dims: Positions of the dimensions that are compared and written out: the active ones, outside the ODD all.
        where: The filter on candidates, value names per dimension.
        ridge: What predicts the error where the parameters say so, else None.
        diversity: What a diversity floor did to the list, None without one.
        search: Size of the search.
        ids, codes: The slices, (K,) and (K, D).
        phi, w_rare, w_nb, eps_hat, exposure: Scores, (K,).
        neighbours: (K, m) index into `evidence.observed` (no more columns than there are such), most similar first, -1 for none.
        similarities: (K, m) in units of 1e-6.
    """

    evidence: Evidence
    params: ScoringParameters
    similarity: dict[str, Any]
    marginals: Marginals
    scope: Scope
    rarity: Rarity
    dims: tuple[int, ...]
    where: dict[str, tuple[str, ...]]
    search: Search
    ids: npt.NDArray[np.int64]
    codes: Codes
    phi: Floats
    w_rare: Floats
    w_nb: Floats
    eps_hat: Floats
    exposure: Floats
    neighbours: Index
    similarities: Units
    ridge: RidgeModel | None = None
    diversity: Diversity | None = None

    @property
    def odd(self) -> Odd:
        """The ODD that was ranked."""
        return self.evidence.observed.odd

    @property
    def slices(self) -> int:
        """Slices of the scope under the filter, tested or not; out of the ODD, those inside it are no part of it."""
        if self.scope.kind != "out":
            return self.search.space
        allowed = candidate_space(self.odd, self.where, self.scope).allowed
        return self.search.space - prod(int(base[codes].sum()) for base, codes in zip(self.odd.is_base, allowed, strict=True))

    def __len__(self) -> int:
        return int(self.ids.size)


def candidate_space(odd: Odd, where: Mapping[str, Sequence[str]], scope: Scope = IN_ODD) -> SliceSpace:
    """The slices of a scope that a filter lets through.

    Raises:
        InputError: A dimension or a value is unknown.
    """
    allowed = scope.values(odd)
    for name, values in where.items():
        if name not in odd.names:
            raise InputError(f'The filter names "{name}"; dimensions are {", ".join(odd.names)}.')
        k = odd.names.index(name)
        unknown = [v for v in values if v not in allowed[k]]
        if unknown or not values:
            kind = "values of this scope" if scope.outside else "base values"
            raise InputError(f'The filter on {name} has "{", ".join(unknown)}"; {kind} are {", ".join(allowed[k])}.')
        allowed[k] = list(values)
    return odd.codec.space(allowed)


def make_scorer(
    evidence: Evidence, params: ScoringParameters, similarity: Similarity, scope: Scope = IN_ODD, values: Sequence[Units] | None = None
) -> Scorer:
    """What scores the slices of a scope.

    Args:
        evidence: Observed slices of the scope.
        params: Parameters.
        similarity: Compares slices over the dimensions of the scope.
        scope: Which slices are ranked.
        values: Outside the ODD: for each dimension, cosines of values (V_k, V_k) in units of 1e-6.

    Raises:
        InputError: The form of the rarity does not work for this scope.
        ValueError: Slices outside the ODD without cosines of values.
    """
    if scope.outside and values is None:
        raise ValueError("Outside the ODD, similarities of values are needed.")
    odd = evidence.observed.odd
    known = marginals(evidence.observed, params, values if scope.outside else None)
    ridge = None
    if params.risk == "ridge":
        from core.scoring.ridge import fit_ridge, varied_dims

        dims = varied_dims(evidence.observed, scope.dims(odd))
        alike = [values[k] for k in dims] if scope.outside and values is not None else None
        ridge = fit_ridge(evidence.observed, dims, evidence.error, alike)
    return Scorer(evidence, similarity, rarity_of(scope.space(odd), known, params), ridge)


def rank_missing(
    seed: SeedTable,
    params: ScoringParameters,
    similarity: Similarity,
    *,
    top: int | None = None,
    where: Mapping[str, Sequence[str]] | None = None,
    scope: Scope = IN_ODD,
    values: Sequence[Units] | None = None,
    rules: Sequence[Rule] = (),
    time_limit: float | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    floor: float | None = None,
) -> Ranking:
    """Ranks missing slices by phi(s) = w_rare(s) w_nb(s) (SliceNav, Eq. 3-8).

    Slices are compared by phi rounded to 1e-12, then by id. A filter chooses candidates; it never changes a score. Small
    spaces are enumerated; in larger ones an exact search finds the first K (see `core.scoring.search`).

    Args:
        seed: Tested slices.
        params: Parameters and support policy.
        similarity: Similarity over the dimensions of the scope.
        top: Number of slices to return; None returns all.
        where: Values that candidates may have, per dimension.
        scope: Inside the ODD, outside it, or both.
        values: Outside the ODD: for each dimension, cosines of values (V_k, V_k) in units of 1e-6.
        rules: Implausible combinations to leave out.
        time_limit: Seconds for a search; None lets it end.
        progress: Called with slices settled and in all.
        cancel: Asked now and then; True stops a search with what it has.
        floor: Least ILD of the list (needs `top`): slices give way to more different ones until it is kept.

    Raises:
        InputError: No evidence, a filter that names nothing, or a space too large for what was asked.
    """
    start = time.perf_counter()
    odd, filters = seed.odd, {k: tuple(dict.fromkeys(v)) for k, v in (where or {}).items()}
    if top is not None and top < 1:
        raise InputError(f"The number of slices to rank must be at least 1; got {top}.")
    if time_limit is not None and not time_limit >= 0:
        raise InputError(f"A time limit is a number of seconds of at least 0; got {time_limit:g}.")
    evidence = gather_evidence(seed, params, scope)
    space = candidate_space(odd, filters, scope)
    scorer = make_scorer(evidence, params, similarity, scope, values)
    if floor is not None and (top is None or not 0 <= floor <= 1):
        raise InputError(f"A diversity floor is a number from 0 to 1 for a list of a given length; got {floor} for {top or 'all'}.")
    searchable = isinstance(similarity, SimilarityTables) or scorer.ridge is not None

    def first(wanted: int | None) -> Found:
        if wanted is None or not searchable or space.size <= max(ENUMERATED, 2 * wanted):
            return _enumerated(scorer, space, wanted, scope.kind == "out", rules, progress)
        return top_k(
            scorer,
            space,
            wanted,
            need_outside=scope.kind == "out",
            rules=rules,
            time_limit=time_limit,
            progress=progress,
            cancel=cancel,
        )

    diversity = None
    if floor is None or top is None:
        found = first(top)
        codes = found.codes
    else:
        found, codes, diversity = _kept(first, top, floor, scope.dims(odd))
    search = _search(odd, space, scope, evidence.observed, rules, found, time.perf_counter() - start)
    return _ranking(scorer, scope, filters, search, codes, diversity)


def _kept(first: Callable[[int], Found], top: int, floor: float, dims: Sequence[int]) -> tuple[Found, Codes, Diversity]:
    """A list that keeps a floor, from a pool that grows where it must; the search behind it, and what the floor did."""
    for factor in POOLS:
        found = first(max(factor * top, LEAST_POOL))
        by_id = np.argsort(found.ids)
        codes = found.codes[by_id]
        kept = keep_ild(codes, found.q[by_id] / SCALE, top, floor, dims)
        if kept.reached or len(codes) < factor * top or not found.complete:
            break
    if not found.complete and kept.order.size:
        # The list gave up some of what was found, so what is left out may lie further above its last slice.
        q = found.q[by_id]
        left = np.delete(q, kept.order)
        above = max(int(left.max(initial=0)), int(found.q[-1]) + round(found.gap * SCALE))
        found = replace(found, gap=max(above - int(q[kept.order].min()), 0) / SCALE)
    return found, codes[kept.order], Diversity(floor, ild(found.codes[:top], dims), kept.ild, kept.swaps, kept.reached, len(codes))


def _enumerated(scorer: Scorer, space: SliceSpace, top: int | None, need_outside: bool, rules: Sequence[Rule], progress: Any) -> Found:
    """All slices scored one by one: the reference of every search."""
    if space.size > MAX_CANDIDATES:
        raise InputError(
            f"There are {space.size:,} slices under this filter; at most {MAX_CANDIDATES:,} can be enumerated. "
            "Use fewer dimensions, merge values, or fix some values with a filter; the first K of a larger space are found "
            "with the similarity calibrated, factored or exact."
        )
    began = time.perf_counter()
    odd = scorer.evidence.observed.odd
    ids_of, q_of = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    done = 0
    for codes in space.chunks(scorer.rows):
        ids = odd.codec.encode(codes)
        free = ~is_member(ids, scorer.evidence.observed.ids)
        free &= ~hit_by_any(rules, codes)
        if need_outside:
            free &= ~odd.base_space.contains(codes)
        done += codes.shape[0]
        if free.any():
            ids_of.append(ids[free])
            q_of.append(quantised(scorer.phi(codes[free])))
        if progress is not None:
            progress(done, space.size)
    ids, q = np.concatenate(ids_of), np.concatenate(q_of)
    best = np.argsort(-q, kind="stable")[:top]
    codes = odd.codec.decode(ids[best]) if best.size else np.empty((0, len(odd.names)), dtype=np.int32)
    return Found(ids[best], codes, q[best], 0, int(ids.size), True, 0.0, time.perf_counter() - began)


def _search(odd: Odd, space: SliceSpace, scope: Scope, observed: SeedTable, rules: Sequence[Rule], found: Found, seconds: float) -> Search:
    """What was searched, counted exactly."""
    count = count_space(odd, space, rules)
    inside, there = odd.base_space.contains(observed.codes), space.contains(observed.codes) & ~hit_by_any(rules, observed.codes)
    candidates = count.outside - int((there & ~inside).sum())
    implausible = count.implausible_outside
    if scope.kind != "out":
        candidates += count.inside - int((there & inside).sum())
        implausible += count.implausible_inside
    return Search(
        space=space.size,
        candidates=candidates,
        observed=len(observed.n),
        nodes=found.nodes + found.leaves,
        complete=found.complete,
        seconds=seconds,
        method="branch and bound" if found.nodes else "enumeration",
        implausible=implausible,
        gap=found.gap,
    )


def _ranking(
    scorer: Scorer, scope: Scope, where: dict[str, tuple[str, ...]], search: Search, codes: Codes, diversity: Diversity | None
) -> Ranking:
    odd, s = scorer.evidence.observed.odd, scorer.details(codes)
    return Ranking(
        evidence=scorer.evidence,
        params=scorer.rarity.params,
        similarity=scorer.similarity.provenance(),
        marginals=scorer.rarity.marginals,
        scope=scope,
        rarity=scorer.rarity,
        dims=scope.dims(odd),
        where=where,
        search=search,
        ids=odd.codec.encode(codes),
        codes=codes,
        phi=s.phi,
        w_rare=s.w_rare,
        w_nb=s.w_nb,
        eps_hat=s.eps_hat,
        exposure=s.exposure,
        neighbours=s.neighbours,
        similarities=s.similarities,
        ridge=scorer.ridge,
        diversity=diversity,
    )
