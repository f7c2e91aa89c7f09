"""SliceScorer: ranks the missing slices of an ODD, exactly and reproducibly (SliceNav, Eq. 3)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.odd import Codes, Odd, SliceSpace
from core.scoring.evidence import Evidence, gather_evidence
from core.scoring.exposure import Marginals, exposure, marginals, rarity
from core.scoring.neighbours import Index, nearest, neighbour_error
from core.scoring.parameters import ScoringParameters
from core.seed_table import SeedTable
from core.similarity import Similarity, Units

SCALE = 1e12
"""Scores are compared after rounding to 1e-12, so that a tie is a tie on every machine."""
MAX_CANDIDATES = 5_000_000
"""Largest space that is enumerated."""
BLOCK = 2_000_000
"""Similarities computed at a time."""

Floats = npt.NDArray[np.float64]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Search:
    """What was searched.

    Attributes:
        space: Slices of the ODD under the filter.
        candidates: Missing ones among them.
        observed: Tested slices that the scores rest on (over the whole ODD).
        nodes: Slices whose score was computed.
        complete: Whether the ranking is proven exact.
        seconds: Wall time.
    """

    space: int
    candidates: int
    observed: int
    nodes: int
    complete: bool
    seconds: float


@dataclass(frozen=True, eq=False)
class Ranking:
    """The best K missing slices, rank 1 first; arrays have K rows.

    Attributes:
        evidence: What the scores rest on.
        params: Parameters used.
        similarity: What the similarities are (JSON-ready).
        marginals: P_k(v) with counts.
        dims: Positions of the dimensions that are written out: the active ones.
        where: The filter on candidates, value names per dimension.
        search: Size of the search.
        ids, codes: The slices, (K,) and (K, D).
        phi, w_rare, w_nb, eps_hat, exposure: Scores, (K,).
        neighbours: (K, m) index into `evidence.observed`, most similar first, -1 for none.
        similarities: (K, m) in units of 1e-6.
    """

    evidence: Evidence
    params: ScoringParameters
    similarity: dict[str, Any]
    marginals: Marginals
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
    extras: dict[str, Any] = field(default_factory=dict)

    @property
    def odd(self) -> Odd:
        """The ODD that was ranked."""
        return self.evidence.observed.odd

    def __len__(self) -> int:
        return int(self.ids.size)


def candidate_space(odd: Odd, where: Mapping[str, Sequence[str]]) -> SliceSpace:
    """The base slices that a filter lets through.

    Raises:
        InputError: A dimension or a base value is unknown.
    """
    allowed = [[v.name for v in d.base] for d in odd.dimensions]
    for name, values in where.items():
        if name not in odd.names:
            raise InputError(f'The filter names "{name}"; dimensions are {", ".join(odd.names)}.')
        base = [v.name for v in odd.by_name[name].base]
        unknown = [v for v in values if v not in base]
        if unknown or not values:
            raise InputError(f'The filter on {name} has "{", ".join(unknown)}"; base values are {", ".join(base)}.')
        allowed[odd.names.index(name)] = list(values)
    return odd.codec.space(allowed)


def rank_missing(
    seed: SeedTable,
    params: ScoringParameters,
    similarity: Similarity,
    *,
    top: int | None = None,
    where: Mapping[str, Sequence[str]] | None = None,
    progress: Progress | None = None,
) -> Ranking:
    """Ranks the missing in-ODD slices by phi(s) = w_rare(s) w_nb(s) (SliceNav, Eq. 3-8).

    Slices are compared by phi rounded to 1e-12, then by id. A filter chooses candidates; it never changes a score.

    Args:
        seed: Tested slices.
        params: Parameters and support policy.
        similarity: Similarity over the active dimensions.
        top: Number of slices to return; None returns all.
        where: Base values that candidates may have, per dimension.
        progress: Called with candidates done and in all.

    Raises:
        InputError: No evidence, a filter that names nothing, or a space beyond `MAX_CANDIDATES`.
    """
    start = time.perf_counter()
    odd, filters = seed.odd, {k: tuple(dict.fromkeys(v)) for k, v in (where or {}).items()}
    if top is not None and top < 1:
        raise InputError(f"The number of slices to rank must be at least 1; got {top}.")
    evidence = gather_evidence(seed, params)
    space = candidate_space(odd, filters)
    if space.size > MAX_CANDIDATES:
        raise InputError(
            f"The ODD has {space.size:,} slices under this filter; at most {MAX_CANDIDATES:,} can be enumerated. "
            "Use fewer dimensions, merge values, or fix some values with a filter."
        )
    probabilities = marginals(evidence.observed, params.alpha)
    scorer = _Scorer(evidence, params, similarity, probabilities)
    all_ids, all_q = [], []
    done = 0
    for codes in space.chunks(max(1, BLOCK // max(len(evidence.observed.n), 1))):
        ids = odd.codec.encode(codes)
        free = ~_member(ids, evidence.observed.ids)
        done += codes.shape[0]
        if free.any():
            all_ids.append(ids[free])
            all_q.append(quantised(scorer.scores(codes[free])[0]))
        if progress is not None:
            progress(done, space.size)
    ids = np.concatenate(all_ids) if all_ids else np.empty(0, dtype=np.int64)
    q = np.concatenate(all_q) if all_q else np.empty(0, dtype=np.int64)
    best = ids[np.argsort(-q, kind="stable")[:top]]
    codes = odd.codec.decode(best) if best.size else np.empty((0, len(odd.names)), dtype=np.int32)
    phi, w_rare, w_nb, eps_hat, e, index, sims = scorer.details(codes)
    seconds = time.perf_counter() - start
    return Ranking(
        evidence=evidence,
        params=params,
        similarity=similarity.provenance(),
        marginals=probabilities,
        dims=odd.active or tuple(range(len(odd.names))),
        where=filters,
        search=Search(space.size, int(ids.size), len(evidence.observed.n), int(ids.size), True, seconds),
        ids=best,
        codes=codes,
        phi=phi,
        w_rare=w_rare,
        w_nb=w_nb,
        eps_hat=eps_hat,
        exposure=e,
        neighbours=index,
        similarities=sims,
    )


def quantised(phi: Floats) -> npt.NDArray[np.int64]:
    """Phi in units of 1e-12, as compared."""
    return np.rint(phi * SCALE).astype(np.int64)


def _member(ids: npt.NDArray[np.int64], sorted_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    at = np.minimum(np.searchsorted(sorted_ids, ids), sorted_ids.size - 1)
    out: npt.NDArray[np.bool_] = sorted_ids[at] == ids
    return out


@dataclass(frozen=True, eq=False)
class _Scorer:
    evidence: Evidence
    params: ScoringParameters
    similarity: Similarity
    marginals: Marginals

    def scores(self, codes: Codes) -> tuple[Floats, Floats, Floats, Floats, Floats, Index, Units]:
        """phi, w_rare, w_nb, eps_hat, exposure (n,), neighbours and their similarities (n, m)."""
        observed = self.evidence.observed
        e = exposure(codes, self.marginals, self.params.tau)
        w_rare = rarity(e, self.params)
        index, sims = nearest(self.similarity.matrix(codes, observed.codes), self.params.m, self.params.theta)
        eps_hat = neighbour_error(index, sims, observed.error, self.params)
        w_nb = 1.0 + eps_hat
        return w_rare * w_nb, w_rare, w_nb, eps_hat, e, index, sims

    def details(self, codes: Codes) -> tuple[Floats, Floats, Floats, Floats, Floats, Index, Units]:
        """`scores` in blocks, so that a long list does not fill the memory."""
        rows = max(1, BLOCK // max(len(self.evidence.observed.n), 1))
        blocks = [self.scores(codes[i : i + rows]) for i in range(0, codes.shape[0], rows)] or [self.scores(codes)]
        phi, w_rare, w_nb, eps_hat, e, index, sims = (np.concatenate(x) for x in zip(*blocks, strict=True))
        return phi, w_rare, w_nb, eps_hat, e, index, sims
