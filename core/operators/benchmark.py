"""Methods of ranking compared on an oracle; says on what everything rests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from core.benchmark import REFERENCE, Candidates, Comparison, Method, OracleRisk, Task, choose_methods, covered
from core.benchmark.compare import RESAMPLES, Progress, compare
from core.errors import InputError, Problem
from core.odd import Odd
from core.operators.rank import versions
from core.operators.sides import Side, align
from core.scoring import ScoringParameters, gather_evidence
from core.scoring.scope import Scope
from core.seed_table import SeedTable
from core.settings import Settings
from core.similarity import choose_similarity, value_cosines

BUDGETS = (100, 500, 1000)
"""Usual K, those of design and paper."""


class SharedSamplesError(InputError):
    """Seed and oracle hold the same samples, so that the oracle judges nothing new."""


@dataclass(frozen=True, eq=False)
class BenchmarkResult:
    """A comparison with all that it rests on.

    Attributes:
        task: What the methods were given.
        risk: What they were judged by.
        comparison: The figures.
        candidates: U, and what was dropped.
        shared: Sample ids in both tables; None where one has none, so that it could not be checked.
        notes: What a reader must know.
        manifest: Input, parameters, similarity, versions.
    """

    task: Task
    risk: OracleRisk
    comparison: Comparison
    candidates: Candidates
    shared: int | None
    notes: tuple[str, ...]
    manifest: dict[str, Any]


def benchmark(
    seed: Side,
    oracle: Side,
    settings: Settings,
    *,
    params: ScoringParameters | None = None,
    mode: str | None = None,
    budgets: Sequence[int] = BUDGETS,
    methods: Sequence[str] = (),
    scope: Literal["in", "out"] = "in",
    allow_shared: bool = False,
    resamples: int = RESAMPLES,
    number: int = 0,
    curves: bool = True,
    progress: Progress | None = None,
) -> BenchmarkResult:
    """Ranks the slices that the seed misses and the oracle covers with several methods, and judges the lists by the oracle.

    Args:
        seed: What the methods know.
        oracle: What they are judged by.
        settings: Where models and caches lie.
        params: Parameters of SliceScorer; the paper's by default.
        mode: Similarity mode, None for the default.
        budgets: K values.
        methods: Names; nothing takes all that work here.
        scope: "in" ranks slices of the ODD (analysis 1), "out" those outside it (analysis 2).
        allow_shared: Go on although the tables share samples.
        resamples: Bootstrap draws.
        number: Seeds chance and bootstrap.
        curves: Whether curves and frontier are wanted.
        progress: Called with work done and in all.

    Raises:
        InputError: A budget or method is impossible, samples are shared, or no candidate is covered.
        MissingPackageError: A named method or the similarity needs a package.
    """
    ks = check_budgets(budgets)
    params = params or ScoringParameters()
    chosen, left_out = choose_methods(methods, scope == "out")
    seed, oracle = align(seed, oracle)
    shared = shared_samples(seed, oracle)
    if shared and not allow_shared:
        some = sorted(seed.rows.sample_ids() & oracle.rows.sample_ids())[:3] if seed.rows and oracle.rows else []
        raise SharedSamplesError(
            f"Seed and oracle share {shared:,} sample ids (such as {', '.join(some)}), so the oracle would judge what the seed has shown. "
            "Take an oracle of other samples, or allow it knowingly (--allow-shared)."
        )
    task, found = task_of(seed.table, oracle.table, params, settings, mode, ks, scope, number, progress)
    risk = _risk(oracle, found)
    result = compare(task, risk, chosen, resamples=resamples, curves=curves, progress=progress)
    notes = (*_notes(seed, oracle, shared), *left_out, *result.notes)
    return BenchmarkResult(task, risk, result, found, shared, notes, _manifest(seed, oracle, task, chosen, shared, resamples))


def check_budgets(budgets: Sequence[int]) -> tuple[int, ...]:
    """The budgets ascending, each once.

    Raises:
        InputError: There is none, or one is below 1.
    """
    wrong = [Problem(None, "k", str(k), "a whole number of at least 1") for k in budgets if k < 1]
    if wrong or not budgets:
        raise InputError("A budget K is impossible." if wrong else "Give at least one budget K.", wrong)
    return tuple(sorted(set(budgets)))


def shared_samples(seed: Side, oracle: Side) -> int | None:
    """Sample ids in both; None where a side has none at hand."""
    if seed.rows is None or oracle.rows is None or seed.rows.samples is None or oracle.rows.samples is None:
        return None
    return len(seed.rows.sample_ids() & oracle.rows.sample_ids())


def task_of(
    seed: SeedTable,
    oracle: SeedTable,
    params: ScoringParameters,
    settings: Settings,
    mode: str | None,
    budgets: tuple[int, ...],
    kind: Literal["in", "out"],
    number: int = 0,
    progress: Progress | None = None,
) -> tuple[Task, Candidates]:
    """The task that a seed and an oracle over one ODD make, and its candidates.

    Raises:
        InputError: No candidate is covered, or the similarity does not work here.
    """
    odd = seed.odd
    scope = _scope(odd, kind, oracle)
    evidence = gather_evidence(seed, params, scope)
    found = covered(oracle, evidence, scope)
    codes = oracle.codes[found.rows]
    needed = [codes, evidence.observed.codes]
    similarity = choose_similarity(odd, scope.dims(odd), mode, settings, needed, progress)
    values = value_cosines(odd, settings, progress) if scope.outside else None
    return Task(seed, params, similarity, scope, codes, budgets, number, values), found


def _scope(odd: Odd, kind: Literal["in", "out"], oracle: SeedTable) -> Scope:
    """Inside the ODD, or outside it with the extended values that the oracle holds."""
    if kind == "in":
        return Scope()
    outside = oracle.codes[~oracle.in_base]
    extend = {}
    for k, d in enumerate(odd.dimensions):
        seen = {odd.codec.values[k][c] for c in np.unique(outside[:, k]).tolist()}
        values = tuple(v.name for v in d.values if v.tier == "extended" and v.name in seen)
        if values:
            extend[d.name] = values
    return Scope("out", extend)


def _risk(oracle: Side, found: Candidates) -> OracleRisk:
    table = oracle.table
    ids = table.ids[found.rows]
    scores = None if oracle.rows is None else oracle.rows.scores_of(ids)
    return OracleRisk(table.error[found.rows], table.n[found.rows], scores)


def _notes(seed: Side, oracle: Side, shared: int | None) -> list[str]:
    out = []
    if shared is None:
        whose = [s.name for s in (seed, oracle) if s.rows is None or s.rows.samples is None]
        reasons = [f"{s.name}: {s.why_no_rows}" for s in (seed, oracle) if s.why_no_rows]
        told = f" ({'; '.join(reasons)})" if reasons else ""
        out.append(f"Shared samples could not be looked for: no sample ids in {' and '.join(dict.fromkeys(whose))}{told}.")
    elif shared:
        out.append(f"{shared:,} sample ids are in both tables; you allowed it.")
    if seed.model != oracle.model:
        out.append(f'The seed is of the model "{seed.model or "not named"}", the oracle of "{oracle.model or "not named"}".')
    if seed.table.n_assumed or oracle.table.n_assumed:
        out.append("Counts were assumed, not given, so intervals rest on that.")
    return out


def _manifest(seed: Side, oracle: Side, task: Task, methods: Sequence[Method], shared: int | None, resamples: int) -> dict[str, Any]:
    odd = task.odd

    def told(side: Side) -> dict[str, Any]:
        t = side.table
        about = {"sha256": t.digest, "slices": len(t.n), "samples": t.total, "n_assumed": t.n_assumed}
        return {"name": side.name, "model": side.model, "synthetic": side.synthetic, "table": about, "input": dict(side.source or {})}

    return {
        "seed": told(seed),
        "oracle": told(oracle),
        "shared_samples": shared,
        "odd": {"name": odd.name, "version": odd.version, "source": odd.source, "sha256": odd.hash, "base_slices": odd.base_space.size},
        "scope": task.scope.as_dict(),
        "dimensions": [odd.names[k] for k in task.dims],
        "parameters": task.params.as_dict(),
        "similarity": task.similarity.provenance(),
        "budgets": list(task.budgets),
        "methods": [m.name for m in methods],
        "reference": REFERENCE,
        "bootstrap": {"resamples": resamples, "seed": task.number},
        "versions": {**versions(), "sliceline": _version("sliceline")},
    }


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
