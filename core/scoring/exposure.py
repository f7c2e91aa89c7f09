"""Exposure and rarity (SliceNav, Eq. 4-6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.scoring.parameters import ScoringParameters
from core.seed_table import SeedTable

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Marginals:
    """Smoothed marginal probabilities of the base values.

    Attributes:
        total: N, the total support of the observed slices.
        counts: For each dimension, n_k(v) of each code (V_k,).
        sizes: (K,) |V_k|, the number of base values.
        p: For each dimension, P_k(v) of each code (V_k,); NaN for values outside the base ODD.
    """

    total: int
    counts: tuple[npt.NDArray[np.int64], ...]
    sizes: tuple[int, ...]
    p: tuple[Floats, ...]


def marginals(observed: SeedTable, alpha: float) -> Marginals:
    """Marginal support with Laplace smoothing, P_k(v) = (n_k(v) + alpha) / (N + alpha |V_k|) (Eq. 4)."""
    odd, total = observed.odd, observed.total
    counts, sizes, probs = [], [], []
    for k, size in enumerate(odd.codec.sizes):
        c = np.zeros(size, dtype=np.int64)
        np.add.at(c, observed.codes[:, k], observed.n)
        base = odd.is_base[k]
        v = int(base.sum())
        counts.append(c)
        sizes.append(v)
        probs.append(np.where(base, (c + alpha) / (total + alpha * v), np.nan))
    return Marginals(total, tuple(counts), tuple(sizes), tuple(probs))


def exposure(codes: npt.NDArray[np.int32], m: Marginals, tau: float) -> Floats:
    """E(s) = (prod_k P_k(s_k))^tau of slices (n, K) (Eq. 5). Returns (n,)."""
    product = np.ones(codes.shape[0])
    for k, p in enumerate(m.p):
        product *= p[codes[:, k]]
    return product**tau


def rarity(e: Floats, params: ScoringParameters) -> Floats:
    """w_rare(s) = (1 - E(s))^gamma of exposures (n,) (Eq. 6). Returns (n,)."""
    return (1.0 - e) ** params.gamma
