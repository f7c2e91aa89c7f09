"""Methods against an oracle (SliceNav, analyses 1 and 2): the same candidates, the same oracle, paired resampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.benchmark.bootstrap import OracleRisk, basic_interval
from core.benchmark.methods import REFERENCE, Method
from core.benchmark.metrics import best_means, check_order, paper_style, regret
from core.benchmark.task import Listing, Task
from core.errors import InputError
from core.scoring.diversity import ild, keep_ild
from core.scoring.evidence import Evidence
from core.scoring.scope import Scope
from core.seed_table import SeedTable

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]

RESAMPLES = 1_000
CURVE_POINTS = 40
FRONTIER_POINTS = 9


@dataclass(frozen=True)
class Candidates:
    """U, and what of the oracle did not get into it.

    Attributes:
        rows: (U,) rows of the oracle table, ids ascending.
        oracle_slices: Slices of the oracle in all.
        tested: Oracle slices that the seed has tested, so that they are no gaps.
        beyond: Oracle slices outside the scope: outside the ODD in-ODD, inside it out-of-ODD.
        missing: Missing slices of the scope, None where they are too many to matter (out-of-ODD).
    """

    rows: Ints
    oracle_slices: int
    tested: int
    beyond: int
    missing: int | None


def covered(oracle: SeedTable, evidence: Evidence, scope: Scope) -> Candidates:
    """The slices that are missing in the seed and covered by the oracle.

    Raises:
        InputError: There is none, with the reason.
    """
    inside = oracle.in_base
    fits = ~inside if scope.outside else inside
    known = np.isin(oracle.ids, evidence.observed.ids)
    rows = np.flatnonzero(fits & ~known)
    tested, beyond = int((fits & known).sum()), int((~fits).sum())
    where = "outside the ODD" if scope.outside else "inside the ODD"
    if not rows.size:
        raise InputError(
            f"Nothing can be compared: no slice {where} is missing in the seed and covered by the oracle. Of its {len(oracle.n):,} slices, "
            f"{tested:,} were tested in the seed and {beyond:,} lie {'inside' if scope.outside else 'outside'} the ODD."
        )
    missing = None if scope.outside else evidence.observed.odd.base_space.size - len(evidence.observed.n)
    return Candidates(rows, len(oracle.n), tested, beyond, missing)


@dataclass(frozen=True)
class Row:
    """One method at one budget.

    Attributes:
        method, label: Which.
        k, k_eff, saturated: Budget; see `metrics.Score`.
        regret, low, high: Regret@K with its interval; no interval where saturated.
        ild: ILD@K.
        difference, difference_low, difference_high: Regret minus the reference's, paired; None for the reference and where saturated.
        native: Candidates that the method itself lists.
        paper_regret, paper_ild: The figures of its own list alone, see `metrics.paper_style`.
    """

    method: str
    label: str
    k: int
    k_eff: int
    saturated: bool
    regret: float
    low: float | None
    high: float | None
    ild: float
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    native: int
    paper_regret: float
    paper_ild: float


@dataclass(frozen=True)
class Point:
    """One point of a curve or a frontier."""

    method: str
    label: str
    k: int
    regret: float
    ild: float
    floor: float | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods compared.

    Attributes:
        rows: By budget, then by method.
        curves: Regret and ILD of each method at many budgets.
        frontier: Ridge under rising diversity floors, at each budget below U.
        listings: The lists by method.
        size: U.
        mean_risk: Mean oracle risk of the candidates.
        samples: Oracle samples behind them.
        thinnest: Fewest samples behind a candidate.
        how: How the intervals were made.
        notes: What methods said of their run.
    """

    rows: tuple[Row, ...]
    curves: tuple[Point, ...]
    frontier: tuple[Point, ...]
    listings: dict[str, Listing]
    size: int
    mean_risk: float
    samples: int
    thinnest: int
    how: str
    notes: tuple[str, ...]


def compare(
    task: Task,
    oracle: OracleRisk,
    methods: Sequence[Method],
    *,
    resamples: int = RESAMPLES,
    curves: bool = True,
    progress: Progress | None = None,
) -> Comparison:
    """Runs methods on a task and judges them by an oracle.

    Args:
        task: Candidates, evidence and budgets.
        oracle: Risk of the candidates.
        methods: Which; the reference is needed for differences.
        resamples: Bootstrap draws; 0 makes no intervals.
        curves: Whether curves and frontier are wanted.
        progress: Called with steps done and in all.
    """
    steps = len(methods) + 2
    listings: dict[str, Listing] = {}
    notes = []
    for i, m in enumerate(methods):
        if progress is not None:
            progress(i, steps)
        listings[m.name] = m.run(task)
        for order in listings[m.name].orders:
            check_order(order, task.size)
        if listings[m.name].note:
            notes.append(f"{m.label}: {listings[m.name].note}")
    if progress is not None:
        progress(len(methods), steps)
    open_budgets = [k for k in task.budgets if k < task.size]
    draws = _draws(oracle, listings, open_budgets, resamples, task.number)
    rows = [_row(task, oracle.risk, m, listings, k, draws) for k in task.budgets for m in methods]
    if progress is not None:
        progress(len(methods) + 1, steps)
    lines = [p for m in methods for p in _curve(task, oracle.risk, m, listings[m.name])] if curves else []
    frontier = [p for k in open_budgets for p in ridge_frontier(task, oracle.risk, k)] if curves else []
    if progress is not None:
        progress(steps, steps)
    return Comparison(
        rows=tuple(rows),
        curves=tuple(lines),
        frontier=tuple(frontier),
        listings=listings,
        size=task.size,
        mean_risk=float(np.sort(oracle.risk).mean()),
        samples=int(oracle.n.sum()),
        thinnest=int(oracle.n.min()),
        how=_how(oracle, resamples, open_budgets),
        notes=tuple(notes),
    )


def _how(oracle: OracleRisk, resamples: int, budgets: Sequence[int]) -> str:
    if not resamples:
        return "No intervals were asked for."
    return oracle.how if budgets else "There are no intervals: every K reaches all candidates."


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _draws(
    oracle: OracleRisk, listings: dict[str, Listing], budgets: Sequence[int], times: int, seed: int
) -> dict[tuple[str, int], Floats]:
    """How far the regret (B,) of each method and budget is off in draws of the oracle, the same draws for all."""
    if not times or not budgets:
        return {}
    true = _regrets(oracle.centre[None], listings, budgets)
    parts = [_regrets(block, listings, budgets) for block in oracle.resamples(times, seed)]
    return {key: np.concatenate([p[key] for p in parts]) - true[key] for key in true}


def _regrets(risks: Floats, listings: dict[str, Listing], budgets: Sequence[int]) -> dict[tuple[str, int], Floats]:
    """Regrets (b,) of each method and budget under risks (b, U)."""
    out: dict[tuple[str, int], Floats] = {}
    best = {k: best_means(risks, k) for k in budgets}
    for m, listing in listings.items():
        found = {k: np.zeros(len(risks)) for k in budgets}
        for order in listing.orders:
            sums = np.cumsum(risks[:, order[: max(budgets)]], axis=1)
            for k in budgets:
                found[k] += sums[:, k - 1] / k
        for k in budgets:
            out[m, k] = best[k] - found[k] / len(listing.orders)
    return out


def _row(task: Task, risk: Floats, method: Method, listings: dict[str, Listing], k: int, draws: dict[tuple[str, int], Floats]) -> Row:
    listing = listings[method.name]
    k_eff, saturated = min(k, task.size), k >= task.size
    value = _mean([regret(risk, order, k) for order in listing.orders])
    low = high = difference = d_low = d_high = None
    mine, theirs = draws.get((method.name, k)), draws.get((REFERENCE, k))
    if mine is not None:
        low, high = basic_interval(value, mine)
    if REFERENCE in listings and method.name != REFERENCE and not saturated:
        difference = value - regret(risk, listings[REFERENCE].orders[0], k)
        if mine is not None and theirs is not None:
            d_low, d_high = basic_interval(difference, mine - theirs, -1.0)
    paper = [paper_style(risk, task.codes, task.dims, order, listing.native, k) for order in listing.orders]
    return Row(
        method=method.name,
        label=method.label,
        k=k,
        k_eff=k_eff,
        saturated=saturated,
        regret=value,
        low=low,
        high=high,
        ild=_mean([ild(task.codes[order[:k_eff]], task.dims) for order in listing.orders]),
        difference=difference,
        difference_low=d_low,
        difference_high=d_high,
        native=listing.native,
        paper_regret=_mean([p[0] for p in paper]),
        paper_ild=_mean([p[1] for p in paper]),
    )


def curve_budgets(size: int, points: int = CURVE_POINTS) -> list[int]:
    """About so many budgets from 2 to U, denser at small ones."""
    if size < 2:
        return [size]
    spread = np.geomspace(2, size, points)
    return sorted({round(float(k)) for k in spread} | {size})


def _curve(task: Task, risk: Floats, method: Method, listing: Listing) -> list[Point]:
    out = []
    for k in curve_budgets(task.size):
        value = _mean([regret(risk, order, k) for order in listing.orders])
        spread = _mean([ild(task.codes[order[:k]], task.dims) for order in listing.orders])
        out.append(Point(method.name, method.label, k, value, spread))
    return out


def ridge_frontier(task: Task, risk: Floats, k: int, points: int = FRONTIER_POINTS) -> list[Point]:
    """Regret and ILD of ridge under rising diversity floors, from none to the most diverse list of k that exchanges reach.

    Args:
        task: The candidates.
        risk: (U,) oracle risks, used to judge only.
        k: Budget, below U.
        points: Floors to try.
    """
    score = task.ridge.predict(task.codes)
    free = keep_ild(task.codes, score, k, 0.0, task.dims)
    most = keep_ild(task.codes, score, k, 1.0, task.dims)
    out: list[Point] = []
    for floor in np.linspace(free.ild, most.ild, points) if most.ild > free.ild else [free.ild]:
        kept = free if floor <= free.ild else keep_ild(task.codes, score, k, min(float(floor), most.ild), task.dims)
        value = float(best_means(risk, k)) - float(np.sort(risk[kept.order]).mean())
        point = Point("ridge-floor", "Ridge, ILD floor", k, max(0.0, value), kept.ild, float(floor))
        if not out or (point.regret, point.ild) != (out[-1].regret, out[-1].ild):
            out.append(point)
    return out
