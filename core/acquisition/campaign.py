"""From a ranking to a test plan: which untested slices to test, with how many samples, at what cost, and what that would cover."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from core.acquisition.choose import Chosen, choose
from core.acquisition.coverage import Coverage, coverage
from core.acquisition.request import Quota, Request, exact
from core.odd import Codes, Odd
from core.scoring import Ranking

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Skipped:
    """Ranked slices that the campaign does not take, by reason; each counts once.

    Attributes:
        scheduled: Another campaign has it.
        quota: One more would break an "at most" quota, or a share of the finished campaign.
        reserved: There was room when its turn came, but it was kept for slices of a worse rank that fill an "at least" quota.
        budget: It costs more than was left.
    """

    scheduled: int
    quota: int
    reserved: int
    budget: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.scheduled + self.quota + self.reserved + self.budget


@dataclass(frozen=True)
class Outcome:
    """What became of a quota.

    Attributes:
        quota: The quota.
        slices: It as a count for this campaign.
        have: Slices of the campaign with the value.
        available: Candidates with the value, those of other campaigns left out.
        blocked: Candidates that it kept out.
    """

    quota: Quota
    slices: int
    have: int
    available: int
    blocked: int

    @property
    def met(self) -> bool:
        """Whether the campaign keeps it."""
        return self.have <= self.slices if self.quota.kind == "most" else self.have >= self.slices


@dataclass(frozen=True, eq=False)
class Campaign:
    """An ordered test plan; arrays have one row per slice, best rank first.

    Attributes:
        odd: The domain whose codec numbers the slices.
        request: What was asked for.
        dims: Positions of the dimensions that are written out.
        rank: Ranks in the ranking, 1 first, (n,).
        ids, codes: The slices, (n,) and (n, D).
        phi, eps_hat: Score and the scorer's estimate of the error rate, (n,).
        samples: Samples to acquire per slice, (n,).
        cost: Cost of these samples, (n,).
        considered: Ranked slices that could be chosen from.
        candidates: Untested slices in all; more than `considered` where the ranking was cut.
        shared: Slices of it that other campaigns have too; 0 where they are left to those.
        skipped: What was left out, and why.
        quotas: What became of the quotas, in the order of the request.
        coverage: Values and pairs of values covered before and after.
        left: What is left of the budget.
        cheapest: Cost of the cheapest slice that could be chosen, in the unit of the budget; None without a slice.
    """

    odd: Odd
    request: Request
    dims: tuple[int, ...]
    rank: Ints
    ids: Ints
    codes: Codes
    phi: Floats
    eps_hat: Floats
    samples: Ints
    cost: Floats
    considered: int
    candidates: int
    shared: int
    skipped: Skipped
    quotas: tuple[Outcome, ...]
    coverage: tuple[Coverage, ...]
    left: float
    cheapest: float | None

    def __len__(self) -> int:
        return int(self.ids.size)

    @property
    def expected_risk(self) -> float:
        """Sum of the estimated error rates over the slices. An estimate of the scorer, not a measurement."""
        return float(self.eps_hat.sum())

    @property
    def expected_failures(self) -> float:
        """Sum of samples times estimated error rate: failing samples, if the estimates were right."""
        return float((self.samples * self.eps_hat).sum())

    def summary(self) -> dict[str, Any]:
        """Everything but the slices, as JSON-ready data."""
        return {
            "slices": len(self),
            "samples": int(self.samples.sum()),
            "cost": total(self.cost),
            "expected_risk": self.expected_risk,
            "expected_failures": self.expected_failures,
            "expected_is": "the scorer's estimate (eps_hat), not a measurement",
            "considered": self.considered,
            "candidates": self.candidates,
            "shared": self.shared,
            "skipped": vars(self.skipped),
            "quotas": [
                {"quota": str(q.quota), "slices": q.slices, "have": q.have, "available": q.available, "blocked": q.blocked, "met": q.met}
                for q in self.quotas
            ],
            "coverage": [vars(c) for c in self.coverage],
            "left": self.left,
        }


def plan(ranking: Ranking, request: Request, scheduled: Collection[int] = ()) -> Campaign:
    """Chooses slices of a ranking, best first, within the budget and the quotas of a request.

    Args:
        ranking: Untested slices, best first.
        request: Budget, samples, costs, quotas.
        scheduled: Ids of slices that other campaigns have; they are counted, and left out if the request says so.

    Raises:
        InputError: The request makes no sense for this ODD.
    """
    odd = ranking.odd
    request.check(odd)
    samples = request.per_slice
    taken_elsewhere = np.isin(ranking.ids, np.fromiter(scheduled, dtype=np.int64, count=len(scheduled)))
    open_ = ~taken_elsewhere if request.skip_scheduled else np.ones_like(taken_elsewhere)
    at = np.flatnonzero(open_)
    codes = ranking.codes[at]
    unit = unit_costs(odd, codes, request)
    weights, scale = _weights(request, unit, samples)
    has = np.array([codes[:, odd.names.index(q.dimension)] == _code(odd, q) for q in request.quotas], dtype=bool)
    has = has.reshape(len(request.quotas), at.size)
    chosen = choose(weights, int(exact(request.budget) * scale), request.quotas, has)
    keep = np.array([r == "taken" for r in chosen.reasons], dtype=bool)
    rows = at[keep]
    spent = sum(w for w, k in zip(weights, keep.tolist(), strict=True) if k)
    return Campaign(
        odd=odd,
        request=request,
        dims=ranking.dims,
        rank=rows + 1,
        ids=ranking.ids[rows],
        codes=ranking.codes[rows],
        phi=ranking.phi[rows],
        eps_hat=ranking.eps_hat[rows],
        samples=np.full(rows.size, samples, dtype=np.int64),
        cost=np.array([float(u * samples) for u, k in zip(unit, keep.tolist(), strict=True) if k], dtype=np.float64),
        considered=len(ranking),
        candidates=ranking.search.candidates,
        shared=int(taken_elsewhere[rows].sum()),
        skipped=_skipped(chosen, int((~open_).sum())),
        quotas=_outcomes(request.quotas, chosen, has, rows.size),
        coverage=coverage(ranking, ranking.codes[rows]),
        left=float(exact(request.budget) - Fraction(spent, scale)),
        cheapest=float(Fraction(min(weights), scale)) if weights else None,
    )


def unit_costs(odd: Odd, codes: Codes, request: Request) -> list[Fraction]:
    """Cost of one sample of each slice (n, D): the base cost times the factors of its values."""
    out = [exact(request.base_cost)] * codes.shape[0]
    for f in request.factors:
        with_it = codes[:, odd.names.index(f.dimension)] == odd.codec.code_of[odd.names.index(f.dimension)][f.value]
        times = exact(f.times)
        out = [c * times if w else c for c, w in zip(out, with_it.tolist(), strict=True)]
    return out


def total(cost: Floats) -> float:
    """Sum of costs as people add them: in decimals, so that three times 0.1 is 0.3."""
    return float(sum((exact(c) for c in cost.tolist()), Fraction(0)))


def _weights(request: Request, unit: list[Fraction], samples: int) -> tuple[list[int], int]:
    """What each slice takes from the budget as a whole number of 1/scale, and the scale."""
    if request.kind == "slices":
        return [1] * len(unit), 1
    if request.kind == "samples":
        return [samples] * len(unit), 1
    scale = lcm(*(u.denominator for u in set(unit))) if unit else 1
    return [int(u * samples * scale) for u in unit], scale


def _code(odd: Odd, q: Quota) -> int:
    return odd.codec.code_of[odd.names.index(q.dimension)][q.value]


def _skipped(chosen: Chosen, scheduled: int) -> Skipped:
    return Skipped(scheduled, *(chosen.reasons.count(r) for r in ("quota", "reserved", "budget")))


def _outcomes(quotas: tuple[Quota, ...], chosen: Chosen, has: npt.NDArray[np.bool_], size: int) -> tuple[Outcome, ...]:
    return tuple(Outcome(q, q.slices(size), chosen.have[j], int(has[j].sum()), chosen.blocked[j]) for j, q in enumerate(quotas))
