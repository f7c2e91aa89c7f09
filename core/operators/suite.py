"""Methods of ranking compared many times over: on synthetic oracles, or on one real table split in halves in many ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from core.benchmark import (
    ALL_KINDS,
    MATCHED,
    REFERENCE,
    Line,
    Method,
    OracleRisk,
    Run,
    Task,
    choose_methods,
    compare,
    matched_wins,
    means,
    opened,
    run_of,
    skewed_seed,
    synthetic_oracle,
    wins_at_all,
)
from core.benchmark.compare import Progress
from core.errors import InputError
from core.odd import Odd, built_in, slice_text
from core.operators.benchmark import BUDGETS, benchmark, check_budgets
from core.operators.rank import versions
from core.operators.sides import reading_notes, split_sides
from core.operators.table import Prepared
from core.scoring import ScoringParameters, make_scope
from core.scoring.scope import IN_ODD
from core.seed_table import CheckReport
from core.settings import Settings
from core.similarity import choose_similarity, value_cosines
from core.similarity.encoder import Encoder

OBSERVED = 300
"""Slices of a seed table."""
ORACLE_N = 1_000
"""Samples that a slice of a synthetic oracle is said to have; its risks are exact, so no interval is made of them."""


@dataclass(frozen=True, eq=False)
class SuiteResult:
    """Methods over many oracles.

    Attributes:
        what: What the runs are, for people.
        synthetic: Whether the oracles are made up.
        runs: One per kind and seed, or per split.
        lines: Means over all runs.
        by_kind: Means over the runs of each kind.
        methods: In order.
        budgets: K values.
        similarity: What compares slices.
        notes: What a reader must know.
    """

    what: str
    synthetic: bool
    runs: tuple[Run, ...]
    lines: tuple[Line, ...]
    by_kind: dict[str, tuple[Line, ...]]
    methods: tuple[Method, ...]
    budgets: tuple[int, ...]
    similarity: dict[str, Any]
    notes: tuple[str, ...]

    def wins(self, method: str, other: str) -> int:
        """Runs in which a method's regret is below another's at every budget."""
        return wins_at_all(self.runs, method, other, self.budgets)

    def matched_wins(self) -> dict[str, tuple[int, int]]:
        """For each of `MATCHED` that took part, see `core.benchmark.matched_wins`."""
        names = {m.name for m in self.methods}
        return {m: matched_wins(self.runs, m, self.budgets) for m in MATCHED if m in names}

    def as_object(self) -> dict[str, Any]:
        """JSON-ready."""
        names = [m.name for m in self.methods]
        return {
            "what": self.what,
            "synthetic": self.synthetic,
            "lines": [asdict(x) for x in self.lines],
            "by_kind": {k: [asdict(x) for x in v] for k, v in self.by_kind.items()},
            "wins_at_all_budgets": {a: {b: self.wins(a, b) for b in names if b != a} for a in names},
            "ridge_at_own_ild": {m: {"all_budgets": a, "mean": b} for m, (a, b) in self.matched_wins().items()},
            "runs": len(self.runs),
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
    extend: Sequence[str] = (),
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
        extend: Extended values, as `make_scope` reads them: the oracles cover them too, and candidates are the slices outside the ODD.
        progress: Called with runs done and in all.

    Raises:
        InputError: A kind, method or budget is impossible.
        MissingPackageError: The similarity or a method needs a package.
    """
    odd = odd or built_in()
    unknown = [k for k in kinds if k not in ALL_KINDS]
    if unknown or not kinds:
        raise InputError(f"There is no synthetic oracle {', '.join(unknown) or 'named'}; allowed: {', '.join(ALL_KINDS)}.")
    if seeds < 1:
        raise InputError(f"At least one run of each kind of oracle is needed; got {seeds}.")
    kinds = tuple(dict.fromkeys(kinds))
    ks = check_budgets(budgets)
    scope = make_scope(odd, "out", extend) if extend else IN_ODD
    chosen, left_out = choose_methods(methods, scope.outside)
    whole = opened(odd, scope.extend) if scope.outside else odd
    similarity = choose_similarity(odd, scope.dims(odd), mode, settings, [scope.space(odd)])
    values = value_cosines(odd, settings) if scope.outside else None
    vectors = slice_vectors(whole, settings) if "semantic" in kinds else None
    runs: list[Run] = []
    for kind in kinds:
        for number in range(seeds):
            if progress is not None:
                progress(len(runs), len(kinds) * seeds)
            oracle = synthetic_oracle(kind, whole, number, vectors)
            seed = skewed_seed(oracle, observed, odd)
            missing = ~(odd.base_space.contains(oracle.codes) if scope.outside else np.isin(odd.codec.encode(oracle.codes), seed.ids))
            task = Task(seed, ScoringParameters(), similarity, scope, oracle.codes[missing], ks, number, values)
            risk = OracleRisk(oracle.risk[missing], np.full(int(missing.sum()), ORACLE_N, dtype=np.int64))
            runs.append(run_of(kind, number, task, risk.risk, compare(task, risk, chosen, resamples=0, curves=False)))
    named = ", ".join(dict.fromkeys(kinds))
    where = f"; candidates: {int(missing.sum()):,} slices outside the ODD" if scope.outside else ""
    what = f"{len(runs)} runs over made-up oracles ({named}), {observed:,} slices observed in each{where}; no model was tested"
    return _gathered(what, True, runs, chosen, ks, similarity.provenance(), left_out)


def _gathered(
    what: str, made_up: bool, runs: Sequence[Run], methods: tuple[Method, ...], ks: tuple[int, ...], similarity: dict[str, Any], notes: Any
) -> SuiteResult:
    kinds = dict.fromkeys(r.kind for r in runs)
    return SuiteResult(
        what=what,
        synthetic=made_up,
        runs=tuple(runs),
        lines=tuple(means(runs, methods, ks, REFERENCE)),
        by_kind={k: tuple(means([r for r in runs if r.kind == k], methods, ks, REFERENCE)) for k in kinds},
        methods=methods,
        budgets=ks,
        similarity=similarity,
        notes=tuple(notes),
    )


def split_suite(
    prepared: Prepared,
    report: CheckReport,
    column: str,
    splits: int,
    settings: Settings,
    *,
    mode: str | None = None,
    budgets: Sequence[int] = BUDGETS,
    methods: Sequence[str] = (),
    progress: Progress | None = None,
) -> SuiteResult:
    """Splits one table in halves in many ways, and compares methods on each: the first half is the seed, the second the oracle.

    The splits share rows, so their figures are not independent of each other; means over them have less chance in them than one.

    Args:
        prepared: The table.
        report: Its check.
        column: Rows of one text of this column stay together.
        splits: Number of splits, numbered from 0.
        settings: Where models and caches lie.
        mode: Similarity mode.
        budgets: K values.
        methods: Names; nothing takes all.
        progress: Called with splits done and in all.

    Raises:
        InputError: A split leaves no candidate, or something else is impossible.
    """
    if splits < 1:
        raise InputError(f"At least one split is needed; got {splits}.")
    ks = check_budgets(budgets)
    runs: list[Run] = []
    sizes: list[int] = []
    for number in range(splits):
        if progress is not None:
            progress(number, splits)
        seed, oracle = split_sides(prepared, report, column, number)
        result = benchmark(seed, oracle, settings, mode=mode, budgets=ks, methods=methods, resamples=0, number=number, curves=False)
        sizes.append(result.comparison.size)
        runs.append(run_of("split", number, result.task, result.risk.risk, result.comparison))
    chosen, left_out = choose_methods(methods)
    what = (
        f"{splits} splits of {prepared.file.name} in halves by {column}; {min(sizes):,} to {max(sizes):,} candidates. The splits share rows"
    )
    return _gathered(what, False, runs, chosen, ks, result.manifest["similarity"], [*reading_notes(prepared, report), *left_out])


def slice_vectors(odd: Odd, settings: Settings) -> npt.NDArray[np.float32]:
    """Embeddings (N, D) of the texts of all base slices, in the order of their ids.

    Raises:
        MissingPackageError: The text encoder is not installed.
    """
    codes = np.concatenate(list(odd.base_space.chunks()))
    return Encoder.from_settings(settings).encode(slice_text(odd, codes, odd.active or range(len(odd.names))))
