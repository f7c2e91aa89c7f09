"""Exposure and rarity (SliceNav, Eq. 4-6, and section 3.5 for values that were never seen)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.odd import SliceSpace
from core.scoring.parameters import ScoringParameters
from core.seed_table import SeedTable
from core.similarity import UNIT, Units

Floats = npt.NDArray[np.float64]
COUNTED = -1
"""In `Marginals.star`: the probability of this value rests on its own count."""


@dataclass(frozen=True, eq=False)
class Marginals:
    """Smoothed marginal probabilities of the values.

    Attributes:
        total: N, the total support of the observed slices.
        counts: For each dimension, n_k(v) of each code (V_k,).
        sizes: (K,) |V_k|, the number of values that are counted: the base values, and outside the ODD also the extended values seen.
        p: For each dimension, P_k(v) of each code (V_k,); NaN for values that are not ranked.
        star: For each dimension, the code of v* where P_k(v) was taken from it, else `COUNTED` (V_k,).
        alike: For each dimension, sim(v, v*) in units of 1e-6 where P_k(v) was taken from v*, else 0 (V_k,).
    """

    total: int
    counts: tuple[npt.NDArray[np.int64], ...]
    sizes: tuple[int, ...]
    p: tuple[Floats, ...]
    star: tuple[npt.NDArray[np.int32], ...]
    alike: tuple[Units, ...]


def marginals(observed: SeedTable, params: ScoringParameters, values: Sequence[Units] | None = None) -> Marginals:
    """Marginal support with Laplace smoothing, P_k(v) = (n_k(v) + alpha) / (N + alpha |V_k|) (Eq. 4).

    Outside the ODD, a value that was never seen has no count. It gets P_k(v*) sim(v, v*) beta, v* the most similar value
    that was seen (section 3.5; ties go to the first by name), or with novel="unseen" the probability of a count of zero.

    Args:
        observed: S_obs with n(s).
        params: alpha, beta and novel.
        values: For each dimension, cosines of values (V_k, V_k) in units of 1e-6; None ranks base values only.
    """
    odd, total = observed.odd, observed.total
    counts, sizes, probs, stars, alikes = [], [], [], [], []
    for k, size in enumerate(odd.codec.sizes):
        c = np.zeros(size, dtype=np.int64)
        np.add.at(c, observed.codes[:, k], observed.n)
        known = odd.is_base[k] | ((c > 0) & (values is not None))
        v = int(known.sum())
        p = np.where(known, (c + params.alpha) / (total + params.alpha * v), np.nan)
        star, alike = np.full(size, COUNTED, dtype=np.int32), np.zeros(size, dtype=np.int32)
        if values is not None and params.novel == "unseen":
            p[~known] = params.alpha / (total + params.alpha * v)
        elif values is not None:
            seen = np.flatnonzero(c > 0)
            for code in np.flatnonzero(~known):
                star[code] = seen[np.argmax(values[k][code, seen])]
                alike[code] = max(int(values[k][code, star[code]]), 0)
                p[code] = p[star[code]] * (alike[code] / UNIT) * params.beta
        counts.append(c)
        sizes.append(v)
        probs.append(p)
        stars.append(star)
        alikes.append(alike)
    return Marginals(total, tuple(counts), tuple(sizes), tuple(probs), tuple(stars), tuple(alikes))


def exposure(codes: npt.NDArray[np.integer], m: Marginals, tau: float) -> Floats:
    """E(s) = (prod_k P_k(s_k))^tau of slices (n, K) (Eq. 5). Returns (n,)."""
    product = np.ones(codes.shape[0])
    for k, p in enumerate(m.p):
        product *= p[codes[:, k]]
    return product**tau


def log_exposure(codes: npt.NDArray[np.integer], log_p: Sequence[Floats]) -> Floats:
    """sum_k log P_k(s_k) of slices (n, K), added up in the order of the dimensions. Returns (n,)."""
    out = np.zeros(codes.shape[0])
    for k, p in enumerate(log_p):
        out += p[codes[:, k]]
    return out


@dataclass(frozen=True, eq=False)
class Rarity:
    """w_rare of a slice.

    Attributes:
        params: tau, gamma and the form.
        marginals: P_k(v).
        log_p: For each dimension, log P_k(v) (V_k,); for the form "log" only.
        low, high: Smallest and largest log exposure (tau left out) of the space; for the form "log" only.
    """

    params: ScoringParameters
    marginals: Marginals
    log_p: tuple[Floats, ...] = ()
    low: float = 0.0
    high: float = 0.0

    def weights(self, codes: npt.NDArray[np.integer]) -> tuple[Floats, Floats]:
        """E(s) and w_rare(s) of slices (n, K): (1 - E)^gamma (Eq. 6), or ((high - log E) / (high - low))^gamma. Each (n,)."""
        e = exposure(codes, self.marginals, self.params.tau)
        if self.params.rarity == "paper":
            return e, (1.0 - e) ** self.params.gamma
        return e, self.scaled(log_exposure(codes, self.log_p)) ** self.params.gamma

    def scaled(self, log_e: Floats) -> Floats:
        """Log E on the scale from 1 (the smallest exposure of the space) to 0 (the largest); 1 where all are equal."""
        if self.low == self.high:
            return np.ones_like(log_e)
        return np.clip((self.high - log_e) / (self.high - self.low), 0.0, 1.0)


def rarity_of(space: SliceSpace, m: Marginals, params: ScoringParameters) -> Rarity:
    """The rarity of the slices of a space.

    Args:
        space: The whole space of the scope, before any filter: a filter never changes a score.
        m: P_k(v) of its values.
        params: The form of the rarity.

    Raises:
        InputError: The form "log", and some probability is 0.
    """
    if params.rarity == "paper":
        return Rarity(params, m)
    zero = [f"{d}={space.codec.values[k][c]}" for k, d in enumerate(space.codec.dimensions) for c in space.allowed[k] if m.p[k][c] <= 0]
    if zero:
        raise InputError(
            f"{', '.join(zero[:5])}: no tested value is similar at all, so the probability is 0 and has no logarithm. "
            "Take novel=unseen with rarity=log, or rarity=paper."
        )
    log_p = tuple(np.array([math.log(x) if x > 0 else -math.inf for x in p]) for p in m.p)
    low, high = 0.0, 0.0
    for p, a in zip(log_p, space.allowed, strict=True):
        low, high = low + float(p[a].min()), high + float(p[a].max())
    return Rarity(params, m, log_p, low, high)
