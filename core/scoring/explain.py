"""Why a slice has its rank, complete enough to recompute the score by hand."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from core.odd import Codes
from core.scoring.exposure import COUNTED, log_exposure
from core.scoring.intervals import wilson
from core.scoring.neighbours import products
from core.scoring.rank import Ranking
from core.scoring.ridge import RISK_UNIT
from core.scoring.scorer import quantised
from core.similarity import UNIT

SHOWN = ("alpha", "tau", "gamma", "kappa", "m", "theta", "beta", "rarity", "novel", "risk", "shrink")
"""Parameters that an explanation names."""


@dataclass(frozen=True)
class ValueExposure:
    """P_k(v) of one value: (count + alpha) / (total + alpha * values) (Eq. 4), or P_k(v*) * similarity * beta (section 3.5).

    Attributes:
        dimension, value: Which.
        count: n_k(v), samples with this value.
        total: N, all samples.
        values: |V_k|, values that are counted.
        p: P_k(v).
        extended: Whether the value lies outside the ODD.
        star: v*, the most similar value seen, where P_k(v) was taken from it, else "".
        star_p: P_k(v*), 0 without v*.
        similarity: sim(v, v*), 0 without v*.
        rarer: Values that were seen and yet have a smaller P than this one, which never was; "" and empty for values that were seen.
    """

    dimension: str
    value: str
    count: int
    total: int
    values: int
    p: float
    extended: bool = False
    star: str = ""
    star_p: float = 0.0
    similarity: float = 0.0
    rarer: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contribution:
    """One term of the predicted error under the ridge.

    Attributes:
        dimensions: One or two dimensions; none for the mean.
        values: Their values.
        effect: What they add to the predicted error.
    """

    dimensions: tuple[str, ...]
    values: tuple[str, ...]
    effect: float


@dataclass(frozen=True)
class Neighbour:
    """One observed slice of N(s).

    Attributes:
        slice_id: Its id.
        values: Its values by dimension.
        differs_in: Dimensions in which it differs from the candidate.
        similarity: sim(s, s'), a multiple of 1e-6.
        error: eps(s') that the score rests on: as measured, or shrunk where the parameters say so.
        measured: eps(s') as measured.
        n: Its samples.
        low, high: 95 % Wilson interval of its measured error.
        product: similarity * error.
        provisional: Whether it has fewer samples than the minimum support.
        decisive: Whether its product is the largest and so sets eps_hat (Eq. 7).
    """

    slice_id: int
    values: dict[str, str]
    differs_in: tuple[str, ...]
    similarity: float
    error: float
    measured: float
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
        log_product, log_low, log_high: Rarity "log": log of the product, and its least and largest over the space; else 0.
        w_rare: (1 - E)^gamma, or ((log_high - log_product) / (log_high - log_low))^gamma.
        neighbours: N(s), most similar first.
        contributions: Risk "ridge": every term of the predicted error, the mean first, then the largest effects first; else empty.
        raw_error: Before the cap: max of the products (0 without neighbours), or the predicted error.
        eps_hat: min(raw_error, kappa), at least 0.
        capped: Whether kappa took effect.
        w_nb: 1 + eps_hat.
        phi: w_rare * w_nb.
        samples: Samples of the slice itself where it was tested too thinly and set to count as missing, else 0.
        why_not_higher: Comparison with the slice ranked above, "" for the first.
        parameters: alpha, tau, gamma, kappa, m, theta, beta, rarity, novel, risk, shrink.
    """

    rank: int
    slice_id: int
    values: dict[str, str]
    exposures: tuple[ValueExposure, ...]
    product: float
    exposure: float
    log_product: float
    log_low: float
    log_high: float
    w_rare: float
    neighbours: tuple[Neighbour, ...]
    contributions: tuple[Contribution, ...]
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
        """The neighbour whose product sets eps_hat, None where no neighbour failed or the ridge predicts."""
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
    exposures = tuple(_exposure(ranking, k, int(codes[k])) for k in ranking.dims)
    neighbours = _neighbours(ranking, position)
    contributions = _contributions(ranking, codes)
    raw = float(ranking.ridge.predict(codes[None])[0]) if ranking.ridge else max((n.product for n in neighbours), default=0.0)
    log_rare = params.rarity == "log"
    log_product = float(log_exposure(codes[None], ranking.rarity.log_p)[0]) if log_rare else 0.0
    aside = ranking.evidence.set_aside
    at = np.flatnonzero(aside.ids == ranking.ids[position])
    return Explanation(
        rank=position + 1,
        slice_id=int(ranking.ids[position]),
        values={odd.names[k]: names[k] for k in ranking.dims},
        exposures=exposures,
        product=float(np.prod([x.p for x in exposures])),
        exposure=float(ranking.exposure[position]),
        log_product=log_product,
        log_low=ranking.rarity.low if log_rare else 0.0,
        log_high=ranking.rarity.high if log_rare else 0.0,
        w_rare=float(ranking.w_rare[position]),
        neighbours=neighbours,
        contributions=contributions,
        raw_error=raw,
        eps_hat=float(ranking.eps_hat[position]),
        capped=raw > params.kappa,
        w_nb=float(ranking.w_nb[position]),
        phi=float(ranking.phi[position]),
        samples=int(aside.n[at[0]]) if at.size else 0,
        why_not_higher=_why_not_higher(ranking, position),
        parameters={k: getattr(params, k) for k in SHOWN},
    )


def _exposure(ranking: Ranking, k: int, code: int) -> ValueExposure:
    m, odd = ranking.marginals, ranking.odd
    names, star = odd.codec.values[k], int(m.star[k][code])
    unseen = m.counts[k][code] == 0 and not odd.is_base[k][code]
    rarer = np.flatnonzero((m.counts[k] > 0) & (m.p[k] < m.p[k][code])) if unseen else ()
    return ValueExposure(
        dimension=odd.names[k],
        value=names[code],
        count=int(m.counts[k][code]),
        total=m.total,
        values=m.sizes[k],
        p=float(m.p[k][code]),
        extended=not bool(odd.is_base[k][code]),
        star=names[star] if star != COUNTED else "",
        star_p=float(m.p[k][star]) if star != COUNTED else 0.0,
        similarity=int(m.alike[k][code]) / UNIT,
        rarer=tuple(names[c] for c in rarer),
    )


def _contributions(ranking: Ranking, codes: Codes) -> tuple[Contribution, ...]:
    model, odd = ranking.ridge, ranking.odd
    if model is None:
        return ()
    name = [odd.codec.values[k][codes[k]] for k in range(len(odd.names))]
    terms = [
        Contribution((odd.names[k],), (name[k],), int(t[codes[k]]) / RISK_UNIT) for k, t in zip(model.dims, model.singles, strict=True)
    ]
    for (i, j), t in model.pairs.items():
        a, b = model.dims[i], model.dims[j]
        terms.append(Contribution((odd.names[a], odd.names[b]), (name[a], name[b]), int(t[codes[a], codes[b]]) / RISK_UNIT))
    return (Contribution((), (), model.constant / RISK_UNIT), *sorted(terms, key=lambda c: (-abs(c.effect), c.dimensions)))


def _neighbours(ranking: Ranking, position: int) -> tuple[Neighbour, ...]:
    observed, odd, codes = ranking.evidence.observed, ranking.odd, ranking.codes[position]
    row = slice(position, position + 1)
    values = products(ranking.neighbours[row], ranking.similarities[row], ranking.evidence.error)[0]
    best = int(np.argmax(values)) if values.size and values.max() > 0 and ranking.ridge is None else -1
    out = []
    for j, i in enumerate(ranking.neighbours[position].tolist()):
        if i < 0:
            continue
        names = odd.codec.names(observed.codes[i : i + 1])[0]
        measured, n = float(observed.error[i]), int(observed.n[i])
        low, high = wilson(measured, n)
        out.append(
            Neighbour(
                slice_id=int(observed.ids[i]),
                values={odd.names[k]: names[k] for k in ranking.dims},
                differs_in=tuple(odd.names[k] for k in ranking.dims if observed.codes[i, k] != codes[k]),
                similarity=float(ranking.similarities[position, j]) / UNIT,
                error=float(ranking.evidence.error[i]),
                measured=measured,
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
    parts: list[tuple[str, bool]] = []
    for label, a, b in (
        ("predicted error" if ranking.ridge else "neighbour error", ranking.eps_hat[above], ranking.eps_hat[position]),
        ("rarity", ranking.w_rare[above], ranking.w_rare[position]),
    ):
        if a != b:
            parts.append((f"{label} is {_apart(float(b), float(a))}", b < a))
    behind = [text for text, worse in parts if worse]
    ahead = [text for text, worse in parts if not worse]
    tail = f"; in its favour, {' and '.join(ahead)}, which is not enough" if ahead else ""
    return f"Against rank {above + 1}, its {' and '.join(behind)}{tail}."


def _apart(own: float, other: float) -> str:
    """Two different numbers and their difference: at least six decimals, and so many that two digits of the difference show."""
    digits = max(6, math.ceil(-math.log10(abs(own - other))) + 1)
    return f"{own:.{digits}f} against {other:.{digits}f} ({own - other:+.{digits}f})"
