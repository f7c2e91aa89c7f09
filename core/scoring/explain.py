"""Why a slice has its rank, complete enough to recompute the score by hand."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from core.scoring.intervals import wilson
from core.scoring.neighbours import products
from core.scoring.rank import Ranking
from core.scoring.scorer import quantised
from core.similarity import UNIT


@dataclass(frozen=True)
class ValueExposure:
    """P_k(v) of one value: (count + alpha) / (total + alpha * values) (Eq. 4)."""

    dimension: str
    value: str
    count: int
    total: int
    values: int
    p: float


@dataclass(frozen=True)
class Neighbour:
    """One observed slice of N(s).

    Attributes:
        slice_id: Its id.
        values: Its values by dimension.
        differs_in: Dimensions in which it differs from the candidate.
        similarity: sim(s, s'), a multiple of 1e-6.
        error: eps(s').
        n: Its samples.
        low, high: 95 % Wilson interval of its error.
        product: similarity * error.
        provisional: Whether it has fewer samples than the minimum support.
        decisive: Whether its product is the largest and so sets eps_hat (Eq. 7).
    """

    slice_id: int
    values: dict[str, str]
    differs_in: tuple[str, ...]
    similarity: float
    error: float
    n: int
    low: float
    high: float
    product: float
    provisional: bool
    decisive: bool


@dataclass(frozen=True)
class Explanation:
    """The whole arithmetic of one recommendation.

    Attributes:
        rank: 1 is best.
        slice_id: Id of the slice.
        values: Value of each active dimension.
        exposures: P_k(v) of each active dimension.
        product: Product of the P_k(v).
        exposure: E(s) = product^tau.
        w_rare: (1 - E)^gamma.
        neighbours: N(s), most similar first.
        raw_error: max of the products, before the cap; 0 without neighbours.
        eps_hat: min(raw_error, kappa).
        capped: Whether kappa took effect.
        w_nb: 1 + eps_hat.
        phi: w_rare * w_nb.
        samples: Samples of the slice itself where it was tested too thinly and set to count as missing, else 0.
        why_not_higher: Comparison with the slice ranked above, "" for the first.
        parameters: alpha, tau, gamma, kappa, m, theta.
    """

    rank: int
    slice_id: int
    values: dict[str, str]
    exposures: tuple[ValueExposure, ...]
    product: float
    exposure: float
    w_rare: float
    neighbours: tuple[Neighbour, ...]
    raw_error: float
    eps_hat: float
    capped: bool
    w_nb: float
    phi: float
    samples: int
    why_not_higher: str
    parameters: dict[str, Any]

    @property
    def decisive(self) -> Neighbour | None:
        """The neighbour whose product sets eps_hat, None where no neighbour failed."""
        return next((n for n in self.neighbours if n.decisive), None)

    def as_dict(self) -> dict[str, Any]:
        """The explanation as JSON-ready data."""
        return asdict(self)


def explain(ranking: Ranking, position: int) -> Explanation:
    """Explains the slice at a 0-based position of a ranking.

    Raises:
        IndexError: The ranking is shorter.
    """
    if not 0 <= position < len(ranking):
        raise IndexError(f"The ranking has {len(ranking)} slices; got position {position}.")
    odd, params, codes = ranking.odd, ranking.params, ranking.codes[position]
    names = odd.codec.names(ranking.codes[position : position + 1])[0]
    exposures = tuple(
        ValueExposure(
            odd.names[k],
            names[k],
            int(ranking.marginals.counts[k][codes[k]]),
            ranking.marginals.total,
            ranking.marginals.sizes[k],
            float(ranking.marginals.p[k][codes[k]]),
        )
        for k in ranking.dims
    )
    neighbours = _neighbours(ranking, position)
    raw = max((n.product for n in neighbours), default=0.0)
    aside = ranking.evidence.set_aside
    at = np.flatnonzero(aside.ids == ranking.ids[position])
    return Explanation(
        rank=position + 1,
        slice_id=int(ranking.ids[position]),
        values={odd.names[k]: names[k] for k in ranking.dims},
        exposures=exposures,
        product=float(np.prod([x.p for x in exposures])),
        exposure=float(ranking.exposure[position]),
        w_rare=float(ranking.w_rare[position]),
        neighbours=neighbours,
        raw_error=raw,
        eps_hat=float(ranking.eps_hat[position]),
        capped=raw > params.kappa,
        w_nb=float(ranking.w_nb[position]),
        phi=float(ranking.phi[position]),
        samples=int(aside.n[at[0]]) if at.size else 0,
        why_not_higher=_why_not_higher(ranking, position),
        parameters={k: getattr(params, k) for k in ("alpha", "tau", "gamma", "kappa", "m", "theta")},
    )


def _neighbours(ranking: Ranking, position: int) -> tuple[Neighbour, ...]:
    observed, odd, codes = ranking.evidence.observed, ranking.odd, ranking.codes[position]
    row = slice(position, position + 1)
    values = products(ranking.neighbours[row], ranking.similarities[row], ranking.evidence.error)[0]
    best = int(np.argmax(values)) if values.size and values.max() > 0 else -1
    out = []
    for j, i in enumerate(ranking.neighbours[position].tolist()):
        if i < 0:
            continue
        names = odd.codec.names(observed.codes[i : i + 1])[0]
        error, n = float(observed.error[i]), int(observed.n[i])
        low, high = wilson(error, n)
        out.append(
            Neighbour(
                slice_id=int(observed.ids[i]),
                values={odd.names[k]: names[k] for k in ranking.dims},
                differs_in=tuple(odd.names[k] for k in ranking.dims if observed.codes[i, k] != codes[k]),
                similarity=float(ranking.similarities[position, j]) / UNIT,
                error=error,
                n=n,
                low=low,
                high=high,
                product=float(values[j]),
                provisional=bool(ranking.evidence.provisional[i]),
                decisive=j == best,
            )
        )
    return tuple(out)


def _why_not_higher(ranking: Ranking, position: int) -> str:
    """One sentence that names the factor in which the slice falls behind the one above it."""
    if position == 0:
        return ""
    above = position - 1
    q = quantised(ranking.phi[above : position + 1])
    if q[0] == q[1]:
        return (
            f"It ties with rank {above + 1} (both {ranking.phi[position]:.6f}); ties go by slice id, and {ranking.ids[above]} comes first."
        )
    parts = []
    for label, a, b in (
        ("neighbour error", ranking.eps_hat[above], ranking.eps_hat[position]),
        ("rarity", ranking.w_rare[above], ranking.w_rare[position]),
    ):
        if a != b:
            parts.append((label, f"{label} is {b:.6f} against {a:.6f} ({b - a:+.6f})", b < a))
    behind = [text for _, text, worse in parts if worse]
    ahead = [text for _, text, worse in parts if not worse]
    tail = f"; in its favour, {' and '.join(ahead)}, which is not enough" if ahead else ""
    return f"Against rank {above + 1}, its {' and '.join(behind)}{tail}."
