"""How good a list of recommended slices is, judged by an oracle (SliceNav, section 4, evaluation metrics)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.odd import Codes
from core.scoring.diversity import ild

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Score:
    """A list at one budget.

    Attributes:
        k: Budget asked for.
        k_eff: min(k, |U|): slices that the numbers rest on.
        saturated: Whether k reaches |U|, so that every method recommends everything and regret is 0 for all.
        regret: Regret@K (Eq. 11).
        ild: Mean pairwise disagreement over the dimensions.
    """

    k: int
    k_eff: int
    saturated: bool
    regret: float
    ild: float


def best_means(risk: Floats, k: int) -> Floats:
    """Mean of the k largest risks in the last axis, in however many rows.

    Args:
        risk: (..., U).
        k: From 1 to U.
    """
    size = risk.shape[-1]
    top = risk if k == size else np.partition(risk, size - k, axis=-1)[..., size - k :]
    means: Floats = np.sort(top, axis=-1).mean(axis=-1)  # sorted, so that the sum does not depend on how the pivot fell
    return means


def regret(risk: Floats, order: Ints, k: int) -> float:
    """Regret@K: mean risk of the best K candidates minus that of the first K of a list (Eq. 11).

    Args:
        risk: (U,) oracle failure risks of the candidates.
        order: (U,) all candidates in the order of the list.
        k: Budget; beyond U everything is recommended and the regret is 0.

    Raises:
        ValueError: The order is no permutation of the candidates, or k is below 1.
    """
    check_order(order, risk.size)
    if k < 1:
        raise ValueError(f"A budget is at least 1; got {k}.")
    if k >= risk.size:
        return 0.0
    return max(0.0, float(best_means(risk, k)) - float(np.sort(risk[order[:k]]).mean()))


def check_order(order: Ints, size: int) -> None:
    """Raise unless an order names each of `size` candidates once.

    Raises:
        ValueError: It does not.
    """
    if order.shape != (size,) or not np.array_equal(np.sort(order), np.arange(size)):
        raise ValueError(f"A list must hold each of the {size} candidates once.")


def score(risk: Floats, codes: Codes, dims: tuple[int, ...], order: Ints, k: int) -> Score:
    """Regret and ILD of a list at one budget.

    Args:
        risk: (U,) oracle failure risks.
        codes: (U, D) candidates.
        dims: Positions of the dimensions whose disagreement counts.
        order: (U,) the list.
        k: Budget.
    """
    k_eff = min(k, risk.size)
    return Score(k, k_eff, k >= risk.size, regret(risk, order, k), ild(codes[order[:k_eff]], dims))


def paper_style(risk: Floats, codes: Codes, dims: tuple[int, ...], order: Ints, native: int, k: int) -> tuple[float, float]:
    """Regret and ILD as the paper's rows with K beyond the candidates must have been made; never a headline.

    Only what the method itself lists counts, nothing is appended, and Eq. 11 divides by K however short the list is. A list
    that ends early so stops changing in ILD and pays in regret for what it does not name.

    Args:
        risk: (U,) oracle failure risks.
        codes: (U, D) candidates.
        dims: Positions of the dimensions whose disagreement counts.
        order: (U,) the list with everything appended.
        native: How many of it the method listed itself.
        k: Budget.
    """
    best = float(np.sort(risk)[::-1][:k].sum())
    listed = order[: min(k, native)]
    return (best - float(np.sort(risk[listed]).sum())) / k, ild(codes[listed], dims)
