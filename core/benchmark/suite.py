"""Methods over many synthetic oracles: the table of docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.benchmark.compare import Comparison
from core.benchmark.methods import Method, floored
from core.benchmark.metrics import regret
from core.benchmark.task import Task

Floats = npt.NDArray[np.float64]

MATCHED = ("slicescorer", "sliceline", "lift", "knn")
"""Methods at whose own diversity ridge is tried."""


@dataclass(frozen=True)
class Run:
    """One oracle and one seed table drawn from it.

    Attributes:
        kind: Kind of oracle.
        number: Its seed.
        regret: (method, K) -> Regret@K.
        ild: (method, K) -> ILD@K.
        matched: (method, K) -> Regret@K of ridge that is at least as diverse as that method at each K.
    """

    kind: str
    number: int
    regret: dict[tuple[str, int], float]
    ild: dict[tuple[str, int], float]
    matched: dict[tuple[str, int], float]


def run_of(kind: str, number: int, task: Task, risk: Floats, result: Comparison) -> Run:
    """The figures of a comparison, and those of ridge at the diversity of each method in `MATCHED` that took part."""
    score = task.ridge.predict(task.codes)
    matched: dict[tuple[str, int], float] = {}
    for name in MATCHED:
        if name in result.listings:
            order = floored(task, score, result.listings[name]).orders[0]
            matched |= {(name, k): regret(risk, order, k) for k in task.budgets}
    rows = result.rows
    return Run(kind, number, {(r.method, r.k): r.regret for r in rows}, {(r.method, r.k): r.ild for r in rows}, matched)


@dataclass(frozen=True)
class Line:
    """Means of one method over some runs.

    Attributes:
        method, label: Which.
        k: Budget.
        regret, ild: Means.
        wins: Runs in which its regret is below the reference's.
        runs: Runs in all.
    """

    method: str
    label: str
    k: int
    regret: float
    ild: float
    wins: int
    runs: int


def means(runs: Sequence[Run], methods: Sequence[Method], budgets: Sequence[int], reference: str) -> list[Line]:
    """One line per method and budget."""
    out = []
    for m in methods:
        for k in budgets:
            regrets = [r.regret[m.name, k] for r in runs]
            wins = sum(a < r.regret[reference, k] for a, r in zip(regrets, runs, strict=True))
            spread = float(np.mean([r.ild[m.name, k] for r in runs]))
            out.append(Line(m.name, m.label, k, float(np.mean(regrets)), spread, wins, len(runs)))
    return out


def wins_at_all(runs: Sequence[Run], method: str, other: str, budgets: Sequence[int]) -> int:
    """Runs in which a method's regret is below another's at every budget."""
    return sum(all(r.regret[method, k] < r.regret[other, k] for k in budgets) for r in runs)


def matched_wins(runs: Sequence[Run], other: str, budgets: Sequence[int]) -> tuple[int, int]:
    """Runs in which ridge, at least as diverse as another method, has less regret: at every budget, and on the mean over budgets."""
    every = sum(all(r.matched[other, k] < r.regret[other, k] for k in budgets) for r in runs)
    mean = sum(sum(r.matched[other, k] for k in budgets) < sum(r.regret[other, k] for k in budgets) for r in runs)
    return every, mean
