"""Ranks the gaps of a seed table and says on what everything rests."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import core
from core.digest import sha256_json
from core.errors import MissingPackageError
from core.odd import Codes, SliceSpace, slice_text
from core.odd.rules import implausible_rules
from core.odd.text import TEMPLATE
from core.scoring import IN_ODD, Explanation, Ranking, Scope, ScoringParameters, candidate_space, explain, gather_evidence, rank_missing
from core.scoring.search import Cancel, Progress
from core.seed_table import SeedTable
from core.settings import Settings
from core.similarity import Similarity, Units, choose_similarity, default_choice, exact_similarity, value_cosines

DEFAULT_TOP = 20


@dataclass(frozen=True, eq=False)
class RankResult:
    """A ranking with the manifest that lets somebody else repeat it."""

    ranking: Ranking
    manifest: dict[str, Any]

    def explanations(self, most: int | None = None) -> list[Explanation]:
        """The explanations of the first slices of the ranking, of all by default; best first."""
        return [explain(self.ranking, i) for i in range(len(self.ranking))[:most]]


def similarity_for(
    seed: SeedTable,
    params: ScoringParameters,
    settings: Settings,
    mode: str | None = None,
    progress: Progress | None = None,
    scope: Scope = IN_ODD,
) -> tuple[Similarity, str]:
    """The similarity over the dimensions of a scope, and why it is this one.

    Raises:
        InputError, MissingPackageError: The mode does not work for this ODD or on this machine.
    """
    odd, dims = seed.odd, scope.dims(seed.odd)
    observed = gather_evidence(seed, params, scope).observed
    needed: list[Codes | SliceSpace] = [scope.space(odd), observed.codes]
    reason = "chosen by the user" if mode else default_choice(odd, dims, needed).reason
    return choose_similarity(odd, dims, mode, settings, needed, progress), reason


def cosines_for(
    seed: SeedTable, params: ScoringParameters, settings: Settings, scope: Scope, progress: Progress | None = None
) -> tuple[Units, ...] | None:
    """Similarities of the values of each dimension, None where no score rests on them.

    Raises:
        MissingPackageError: They must be made from texts, and the encoder is not installed.
    """
    if not scope.outside:
        return None
    if params.novel == "unseen" and params.risk == "neighbour":
        return exact_similarity(seed.odd, range(len(seed.odd.names))).tables  # only their number counts
    try:
        return value_cosines(seed.odd, settings, progress)
    except MissingPackageError as e:
        raise MissingPackageError(f"{e} Without it, choose novel = unseen: then no score rests on how alike two values are.") from e


def rank(
    seed: SeedTable,
    params: ScoringParameters,
    settings: Settings,
    *,
    mode: str | None = None,
    top: int | None = DEFAULT_TOP,
    where: Mapping[str, Sequence[str]] | None = None,
    scope: Scope = IN_ODD,
    plausible_only: bool = False,
    time_limit: float | None = None,
    source: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    floor: float | None = None,
) -> RankResult:
    """Ranks missing slices.

    Args:
        seed: Tested slices.
        params: Parameters and support policy.
        settings: Where models and caches lie.
        mode: Similarity mode; None takes the default of the ODD.
        top: Slices to return; None returns all.
        where: Values that candidates may have.
        scope: Inside the ODD, outside it, or both.
        plausible_only: Leave out the combinations that the ODD calls implausible.
        time_limit: Seconds for the search of a large space; it then says how far from exact it may be.
        source: What is known of the input (file name, SHA-256, counts), for the manifest.
        progress: Called with work done and in all.
        cancel: Asked now and then; True stops the search of a large space.
        floor: Least ILD of the list; slices give way to more different ones until it is kept.

    Raises:
        InputError: See `core.scoring.rank_missing`.
    """
    candidate_space(seed.odd, where or {}, scope)  # a wrong filter is said before anything slow starts
    rules = implausible_rules(seed.odd) if plausible_only else ()
    similarity, reason = similarity_for(seed, params, settings, mode, progress, scope)
    values = cosines_for(seed, params, settings, scope, progress)
    ranking = rank_missing(
        seed,
        params,
        similarity,
        top=top,
        where=where,
        scope=scope,
        values=values,
        rules=rules,
        time_limit=time_limit,
        progress=progress,
        cancel=cancel,
        floor=floor,
    )
    return RankResult(ranking, manifest(seed, ranking, reason, top, source or {}, [r.reason for r in rules], values))


def manifest(
    seed: SeedTable,
    ranking: Ranking,
    reason: str,
    top: int | None,
    source: Mapping[str, Any],
    rules: Sequence[str] = (),
    values: Sequence[Units] | None = None,
) -> dict[str, Any]:
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
        "value_cosines_sha256": sha256_json([t.tolist() for t in values]) if values is not None else None,
        "text": {"template": TEMPLATE, "example": example[0] if example else ""},
        "scope": ranking.scope.as_dict(),
        "filter": {k: list(v) for k, v in ranking.where.items()},
        "diversity": asdict(ranking.diversity) if ranking.diversity else None,
        "implausible_rules": list(rules),
        "shrinkage": asdict(evidence.shrinkage) if evidence.shrinkage else None,
        "top": top,
        "search": {k: v for k, v in vars(ranking.search).items() if k not in ("seconds", "nodes")},
        "order": "phi rounded to 1e-12, descending; then slice id, ascending",
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Versions of the product and of what computes its numbers."""
    out = {"oddyssey": core.__version__, "python": platform.python_version()}
    for package in ("numpy", "pyarrow", "scipy", "numba", "sentence-transformers", "torch"):
        try:
            out[package] = version(package)
        except PackageNotFoundError:
            out[package] = "not installed"
    return out
