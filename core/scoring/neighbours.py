"""The neighbour-failure prior (SliceNav, Eq. 7-8)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from core.scoring.parameters import ScoringParameters
from core.similarity import UNIT, Units

Index = npt.NDArray[np.int32]


def theta_units(theta: float) -> int:
    """Least similarity in units of 1e-6 that is at least theta."""
    return math.ceil(round(theta * UNIT, 3))


def nearest(sims: Units, m: int, theta: float) -> tuple[Index, Units]:
    """The neighbour set N(s): the m most similar observed slices, those below theta left out.

    Args:
        sims: (n, S) similarities in units of 1e-6; observed slices in the order of their ids, which breaks ties.
        m: Size of the set at most.
        theta: Least similarity.

    Returns:
        Index into the observed slices (n, min(m, S)), most similar first, -1 where there is none; similarities of the same shape, 0 there.
    """
    s = sims.shape[1]
    m_eff = min(m, s)
    key = sims.astype(np.int64) * s + np.arange(s - 1, -1, -1, dtype=np.int64)
    if m_eff < s:
        key = -np.partition(-key, m_eff - 1, axis=1)[:, :m_eff]
    key = -np.sort(-key, axis=1)
    units, rank = np.divmod(key, s)
    index = (s - 1 - rank).astype(np.int32)
    keep = units >= max(theta_units(theta), 0)
    return np.where(keep, index, -1).astype(np.int32), np.where(keep, units, 0).astype(np.int32)


def neighbour_error(index: Index, sims: Units, error: npt.NDArray[np.float64], params: ScoringParameters) -> npt.NDArray[np.float64]:
    """eps_hat(s) = min(max over N(s) of sim * eps, kappa), 0 where N(s) is empty (Eq. 7).

    Args:
        index: (n, m) neighbours, -1 for none.
        sims: (n, m) similarities in units of 1e-6.
        error: (S,) error rates of the observed slices.
        params: kappa.

    Returns:
        (n,) estimates.
    """
    best: npt.NDArray[np.float64] = products(index, sims, error).max(axis=1, initial=0.0)
    return np.minimum(best, params.kappa)


def largest_error(sims: Units, error: npt.NDArray[np.float64], params: ScoringParameters) -> npt.NDArray[np.float64]:
    """eps_hat(s) as `nearest` and `neighbour_error` give it, without telling which neighbours there are.

    Args:
        sims: (n, S) similarities in units of 1e-6; observed slices in the order of their ids.
        error: (S,) error rates of the observed slices.
        params: m, theta, kappa.

    Returns:
        (n,) estimates.
    """
    n, s = sims.shape
    if s <= params.m:
        return neighbour_error(*nearest(sims, params.m, params.theta), error, params)
    least = np.partition(sims, s - params.m, axis=1)[:, s - params.m]
    among = sims >= least[:, None]
    tied = among.sum(axis=1) > params.m  # several are m-th: their ids decide
    clear = np.flatnonzero(~tied)
    index = np.nonzero(among[clear])[1].reshape(clear.size, params.m)
    near = np.take_along_axis(sims[clear], index, axis=1)
    value = np.where(near >= max(theta_units(params.theta), 0), near / UNIT * error[index], 0.0)
    out = np.empty(n)
    out[clear] = np.minimum(value.max(axis=1, initial=0.0), params.kappa)
    if tied.any():
        out[tied] = neighbour_error(*nearest(sims[tied], params.m, params.theta), error, params)
    return out


def products(index: Index, sims: Units, error: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Sim * eps of each neighbour (n, m), 0 for none."""
    return np.where(index >= 0, sims / UNIT * error[index], 0.0)
