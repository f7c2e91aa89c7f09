"""Ranks the gaps of a seed table and says on what everything rests."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import core
from core.odd import Codes, SliceSpace, slice_text
from core.odd.text import TEMPLATE
from core.scoring import Explanation, Ranking, ScoringParameters, candidate_space, explain, gather_evidence, rank_missing
from core.scoring.search import Progress
from core.seed_table import SeedTable
from core.settings import Settings
from core.similarity import Similarity, choose_similarity, default_choice

DEFAULT_TOP = 20


@dataclass(frozen=True, eq=False)
class RankResult:
    """A ranking with the manifest that lets somebody else repeat it."""

    ranking: Ranking
    manifest: dict[str, Any]

    def explanations(self) -> list[Explanation]:
        """The explanation of every slice of the ranking, best first."""
        return [explain(self.ranking, i) for i in range(len(self.ranking))]


def similarity_for(
    seed: SeedTable,
    params: ScoringParameters,
    settings: Settings,
    mode: str | None = None,
    progress: Progress | None = None,
) -> tuple[Similarity, str]:
    """The similarity over the active dimensions, and why it is this one.

    Raises:
        InputError, MissingPackageError: The mode does not work for this ODD or on this machine.
    """
    odd = seed.odd
    dims = odd.active or tuple(range(len(odd.names)))
    observed = gather_evidence(seed, params).observed
    needed: list[Codes | SliceSpace] = [odd.base_space, observed.codes]
    reason = "chosen by the user" if mode else default_choice(odd, dims, needed).reason
    return choose_similarity(odd, dims, mode, settings, needed, progress), reason


def rank(
    seed: SeedTable,
    params: ScoringParameters,
    settings: Settings,
    *,
    mode: str | None = None,
    top: int | None = DEFAULT_TOP,
    where: Mapping[str, Sequence[str]] | None = None,
    source: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> RankResult:
    """Ranks missing in-ODD slices.

    Args:
        seed: Tested slices.
        params: Parameters and support policy.
        settings: Where models and caches lie.
        mode: Similarity mode; None takes the default of the ODD.
        top: Slices to return; None returns all.
        where: Base values that candidates may have.
        source: What is known of the input (file name, SHA-256, counts), for the manifest.
        progress: Called with work done and in all.

    Raises:
        InputError: See `core.scoring.rank_missing`.
    """
    candidate_space(seed.odd, where or {})  # a wrong filter is said before anything slow starts
    similarity, reason = similarity_for(seed, params, settings, mode, progress)
    ranking = rank_missing(seed, params, similarity, top=top, where=where, progress=progress)
    return RankResult(ranking, manifest(seed, ranking, reason, top, source or {}))


def manifest(seed: SeedTable, ranking: Ranking, reason: str, top: int | None, source: Mapping[str, Any]) -> dict[str, Any]:
    """All that a result rests on: input, ODD, parameters, similarity, exclusions, versions. Holds no times."""
    evidence, odd, observed = ranking.evidence, ranking.odd, ranking.evidence.observed
    example = slice_text(odd, observed.codes[:1], ranking.dims)
    return {
        "input": dict(source),
        "seed_table": {"sha256": seed.digest, "slices": len(seed.n), "samples": seed.total, "n_assumed": seed.n_assumed},
        "evidence": {"sha256": observed.digest, "slices": len(observed.n), "samples": observed.total},
        "odd": {"name": odd.name, "version": odd.version, "source": odd.source, "sha256": odd.hash, "base_slices": odd.base_space.size},
        "parameters": ranking.params.as_dict(),
        "support": {
            "threshold": evidence.threshold,
            "provisional_slices": int(evidence.provisional.sum()) + len(evidence.set_aside.n),
            "provisional_count_as": ranking.params.provisional,
            "set_aside_slices": len(evidence.set_aside.n),
            "outside_odd_slices": len(evidence.outside.n),
            "outside_odd_samples": evidence.outside.total,
        },
        "similarity": {**ranking.similarity, "why": reason},
        "text": {"template": TEMPLATE, "example": example[0] if example else ""},
        "filter": {k: list(v) for k, v in ranking.where.items()},
        "top": top,
        "order": "phi rounded to 1e-12, descending; then slice id, ascending",
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Versions of the product and of what computes its numbers."""
    out = {"oddyssey": core.__version__, "python": platform.python_version()}
    for package in ("numpy", "pyarrow", "scipy", "sentence-transformers", "torch"):
        try:
            out[package] = version(package)
        except PackageNotFoundError:
            out[package] = "not installed"
    return out
