"""Methods over many synthetic oracles: the table of docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.benchmark.compare import Comparison
from core.benchmark.methods import Method

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Run:
    """One oracle and one seed table drawn from it.

    Attributes:
        kind: Kind of oracle.
        number: Its seed.
        regret: (method, K) -> Regret@K.
        ild: (method, K) -> ILD@K.
    """

    kind: str
    number: int
    regret: dict[tuple[str, int], float]
    ild: dict[tuple[str, int], float]

    @classmethod
    def of(cls, kind: str, number: int, result: Comparison) -> Run:
        """The figures of a comparison."""
        return cls(kind, number, {(r.method, r.k): r.regret for r in result.rows}, {(r.method, r.k): r.ild for r in result.rows})


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
