"""The score of a slice, phi(s) = w_rare(s) w_nb(s) (SliceNav, Eq. 3), for any array of slices."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from core.odd import Codes
from core.scoring.evidence import Evidence
from core.scoring.exposure import Rarity
from core.scoring.neighbours import Index, largest_error, nearest, neighbour_error
from core.similarity import Similarity, Units

if TYPE_CHECKING:
    from core.scoring.ridge import RidgeModel

SCALE = 1e12
"""Scores are compared after rounding to 1e-12, so that a tie is a tie on every machine."""
BLOCK = 2_000_000
"""Similarities computed at a time."""

Floats = npt.NDArray[np.float64]


def quantised(phi: Floats) -> npt.NDArray[np.int64]:
    """Phi in units of 1e-12, as compared."""
    return np.rint(phi * SCALE).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of n slices with all they were made of.

    Attributes:
        phi: w_rare * w_nb (n,).
        w_rare: Eq. 6 (n,).
        w_nb: 1 + eps_hat (Eq. 8) (n,).
        eps_hat: Estimated error, capped (Eq. 7) (n,).
        exposure: E(s) (Eq. 5) (n,).
        neighbours: (n, m) index into the observed slices (no more columns than there are such), most similar first, -1 for none.
        similarities: (n, m) in units of 1e-6.
    """

    phi: Floats
    w_rare: Floats
    w_nb: Floats
    eps_hat: Floats
    exposure: Floats
    neighbours: Index
    similarities: Units


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores slices. The fast search must agree with it bit by bit.

    Attributes:
        evidence: Observed slices and their error rates.
        similarity: Compares slices.
        rarity: Gives w_rare.
        ridge: Predicts the error instead of the neighbours, where the parameters say so.
    """

    evidence: Evidence
    similarity: Similarity
    rarity: Rarity
    ridge: RidgeModel | None = None

    def scores(self, codes: Codes) -> Scores:
        """Scores of slices (n, D), with their neighbours."""
        params, observed = self.rarity.params, self.evidence.observed
        e, w_rare = self.rarity.weights(codes)
        index, sims = nearest(self.similarity.matrix(codes, observed.codes), params.m, params.theta)
        eps_hat = self.predicted(codes) if self.ridge else neighbour_error(index, sims, self.evidence.error, params)
        w_nb = 1.0 + eps_hat
        return Scores(w_rare * w_nb, w_rare, w_nb, eps_hat, e, index, sims)

    def phi(self, codes: Codes) -> Floats:
        """Phi of slices (n, D); the same numbers as `scores`, without neighbours where they do not count."""
        _, w_rare = self.rarity.weights(codes)
        if self.ridge is None:
            sims = self.similarity.matrix(codes, self.evidence.observed.codes)
            eps_hat = largest_error(sims, self.evidence.error, self.rarity.params)
        else:
            eps_hat = self.predicted(codes)
        out: Floats = w_rare * (1.0 + eps_hat)
        return out

    def predicted(self, codes: Codes) -> Floats:
        """The error that the ridge predicts for slices (n, D), from 0 to the cap kappa."""
        if self.ridge is None:
            raise ValueError("These scores rest on neighbours; nothing is predicted.")
        return np.clip(self.ridge.predict(codes), 0.0, self.rarity.params.kappa)

    @property
    def rows(self) -> int:
        """Slices that are scored at a time, so that a long list does not fill the memory."""
        return max(1, BLOCK // max(len(self.evidence.observed.n), 1))

    def details(self, codes: Codes) -> Scores:
        """`scores` in blocks."""
        blocks = [self.scores(codes[i : i + self.rows]) for i in range(0, codes.shape[0], self.rows)] or [self.scores(codes)]
        return Scores(*(np.concatenate([getattr(b, f.name) for b in blocks]) for f in fields(Scores)))
