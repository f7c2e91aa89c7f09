"""What the scorer may rest on: the observed slices after the support policy (SliceNav, Eq. 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.scoring.parameters import ScoringParameters
from core.scoring.scope import IN_ODD, Scope
from core.scoring.shrinkage import Shrinkage, shrink
from core.seed_table import SeedTable


@dataclass(frozen=True, eq=False)
class Evidence:
    """Observed slices, and counts of all that was left out of them.

    Attributes:
        observed: S_obs with n(s) and mean scores: slices of the ODD; where slices outside it are ranked, all tested ones.
        provisional: (S,) observed slices below the minimum support; all False where those count as missing.
        set_aside: Slices below the minimum support that count as missing by the user's choice.
        outside: Slices with a value outside the base ODD; they are no in-ODD evidence. None where slices outside are ranked.
        threshold: Least number of samples of a slice that is not provisional.
        error: (S,) error rates that scores rest on: those of `observed`, shrunk where the parameters say so.
        shrinkage: How they were shrunk, None if not.
    """

    observed: SeedTable
    provisional: npt.NDArray[np.bool_]
    set_aside: SeedTable
    outside: SeedTable
    threshold: int
    error: npt.NDArray[np.float64]
    shrinkage: Shrinkage | None = None


def gather_evidence(seed: SeedTable, params: ScoringParameters, scope: Scope = IN_ODD) -> Evidence:
    """The evidence in a seed table under a support policy. The table itself is not changed.

    Raises:
        InputError: Nothing is left to rest on.
    """
    inside = np.ones_like(seed.in_base) if scope.outside else seed.in_base
    if not inside.any():
        raise InputError("No tested slice lies inside the ODD, so nothing can be ranked. Check the column mapping and the excluded rows.")
    base = seed.select(inside)
    threshold = params.support_threshold(base.total)
    weak = base.n < threshold
    drop = weak if params.provisional == "missing" else np.zeros_like(weak)
    if drop.all():
        raise InputError(
            f"Every tested slice has fewer than {threshold} samples, and such slices were set to count as missing. "
            "Lower the minimum support, or count provisional slices as observed."
        )
    observed = base.select(~drop)
    error, shrinkage = shrink(observed.error, observed.n) if params.shrink else (observed.error, None)
    return Evidence(observed, weak[~drop], base.select(drop), seed.select(~inside), threshold, error, shrinkage)
