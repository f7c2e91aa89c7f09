"""Methods of ranking compared on many synthetic oracles, of the built-in ODD or any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from core.benchmark import (
    ALL_KINDS,
    REFERENCE,
    Line,
    Method,
    OracleRisk,
    Run,
    Task,
    choose_methods,
    compare,
    means,
    skewed_seed,
    synthetic_oracle,
    wins_at_all,
)
from core.benchmark.compare import Progress
from core.errors import InputError
from core.odd import Odd, built_in, slice_text
from core.operators.benchmark import BUDGETS, check_budgets
from core.operators.rank import versions
from core.scoring import Scope, ScoringParameters
from core.settings import Settings
from core.similarity import choose_similarity
from core.similarity.encoder import Encoder

OBSERVED = 300
"""Slices of a seed table."""
ORACLE_N = 1_000
"""Samples that a slice of a synthetic oracle is said to have; its risks are exact, so no interval is made of them."""


@dataclass(frozen=True, eq=False)
class SuiteResult:
    """Methods over synthetic oracles.

    Attributes:
        runs: One per kind and seed.
        lines: Means over all runs.
        by_kind: Means over the runs of each kind.
        methods: In order.
        budgets: K values.
        observed: Slices of each seed table.
        similarity: What compares slices.
        notes: What a reader must know.
    """

    runs: tuple[Run, ...]
    lines: tuple[Line, ...]
    by_kind: dict[str, tuple[Line, ...]]
    methods: tuple[Method, ...]
    budgets: tuple[int, ...]
    observed: int
    similarity: dict[str, Any]
    notes: tuple[str, ...]

    def wins(self, method: str, other: str) -> int:
        """Runs in which a method's regret is below another's at every budget."""
        return wins_at_all(self.runs, method, other, self.budgets)

    def as_object(self) -> dict[str, Any]:
        """JSON-ready."""
        names = [m.name for m in self.methods]
        return {
            "synthetic": True,
            "lines": [asdict(x) for x in self.lines],
            "by_kind": {k: [asdict(x) for x in v] for k, v in self.by_kind.items()},
            "wins_at_all_budgets": {a: {b: self.wins(a, b) for b in names if b != a} for a in names},
            "runs": len(self.runs),
            "observed": self.observed,
            "budgets": list(self.budgets),
            "similarity": self.similarity,
            "notes": list(self.notes),
            "versions": versions(),
        }


def suite(
    kinds: Sequence[str],
    seeds: int,
    settings: Settings,
    *,
    odd: Odd | None = None,
    mode: str | None = "text",
    budgets: Sequence[int] = BUDGETS,
    methods: Sequence[str] = (),
    observed: int = OBSERVED,
    progress: Progress | None = None,
) -> SuiteResult:
    """Runs methods on synthetic oracles, each with a seed table drawn from it.

    Args:
        kinds: Kinds of oracle.
        seeds: Runs per kind, numbered from 0.
        settings: Where models and caches lie.
        odd: The ODD, the built-in one by default.
        mode: Similarity mode.
        budgets: K values.
        methods: Names; nothing takes all.
        observed: Slices of each seed table.
        progress: Called with runs done and in all.

    Raises:
        InputError: A kind, method or budget is impossible.
        MissingPackageError: The similarity or a method needs a package.
    """
    odd = odd or built_in()
    unknown = [k for k in kinds if k not in ALL_KINDS]
    if unknown or not kinds or seeds < 1:
        raise InputError(
            f"There is no synthetic oracle {', '.join(unknown)}; allowed: {', '.join(ALL_KINDS)}, and at least one run of each."
        )
    ks = check_budgets(budgets)
    chosen, left_out = choose_methods(methods)
    dims = odd.active or tuple(range(len(odd.names)))
    similarity = choose_similarity(odd, dims, mode, settings, [odd.base_space])
    vectors = slice_vectors(odd, settings) if "semantic" in kinds else None
    runs: list[Run] = []
    for kind in kinds:
        for number in range(seeds):
            if progress is not None:
                progress(len(runs), len(kinds) * seeds)
            oracle = synthetic_oracle(kind, odd, number, vectors)
            seed = skewed_seed(oracle, observed)
            missing = ~np.isin(odd.codec.encode(oracle.codes), seed.ids)
            task = Task(seed, ScoringParameters(), similarity, Scope(), oracle.codes[missing], ks, number)
            risk = OracleRisk(oracle.risk[missing], np.full(int(missing.sum()), ORACLE_N, dtype=np.int64))
            runs.append(Run.of(kind, number, compare(task, risk, chosen, resamples=0, curves=False)))
    return SuiteResult(
        runs=tuple(runs),
        lines=tuple(means(runs, chosen, ks, REFERENCE)),
        by_kind={k: tuple(means([r for r in runs if r.kind == k], chosen, ks, REFERENCE)) for k in dict.fromkeys(kinds)},
        methods=chosen,
        budgets=ks,
        observed=observed,
        similarity=similarity.provenance(),
        notes=left_out,
    )


def slice_vectors(odd: Odd, settings: Settings) -> npt.NDArray[np.float32]:
    """Embeddings (N, D) of the texts of all base slices, in the order of their ids.

    Raises:
        MissingPackageError: The text encoder is not installed.
    """
    codes = np.concatenate(list(odd.base_space.chunks()))
    return Encoder.from_settings(settings).encode(slice_text(odd, codes, odd.active or range(len(odd.names))))
