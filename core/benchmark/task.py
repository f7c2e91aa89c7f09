"""What every method is given: the evidence, and the candidates that it must put in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from core.odd import Codes, Odd
from core.scoring.evidence import Evidence, gather_evidence
from core.scoring.neighbours import Index, nearest
from core.scoring.parameters import ScoringParameters
from core.scoring.rank import make_scorer
from core.scoring.ridge import RidgeModel, fit_ridge, varied_dims
from core.scoring.scope import Scope
from core.scoring.scorer import Scorer, Scores, quantised
from core.seed_table import SeedTable
from core.similarity import Similarity, Units

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Listing:
    """The answer of a method.

    Attributes:
        orders: (R, U) permutations of the candidates, best first. R is 1 but for chance, whose figures are means over several.
        native: Candidates that the method listed itself; the rest was appended by id.
        note: What a reader must know of this very run, "" if nothing.
    """

    orders: Ints
    native: int
    note: str = ""


@dataclass(frozen=True, eq=False)
class Task:
    """A ranking problem, the same for every method.

    Attributes:
        seed: The seed table.
        params: Parameters of SliceScorer and support policy.
        similarity: Similarity of slices over `dims`.
        scope: Whether candidates lie inside or outside the ODD.
        codes: (U, K) candidates, ids ascending.
        budgets: The K of interest, ascending; lists with a floor keep it at each.
        number: Seeds chance.
        values: Outside the ODD: for each dimension, similarities of values (V_k, V_k).
    """

    seed: SeedTable
    params: ScoringParameters
    similarity: Similarity
    scope: Scope
    codes: Codes
    budgets: tuple[int, ...]
    number: int = 0
    values: Sequence[Units] | None = None

    @property
    def odd(self) -> Odd:
        """The ODD."""
        return self.seed.odd

    @property
    def size(self) -> int:
        """U, the number of candidates."""
        return len(self.codes)

    @cached_property
    def dims(self) -> tuple[int, ...]:
        """Positions of the dimensions that count: the active ones inside the ODD, all outside it."""
        return self.scope.dims(self.odd)

    @cached_property
    def evidence(self) -> Evidence:
        """The tested slices that count."""
        return gather_evidence(self.seed, self.params, self.scope)

    def but(self, **changes: Any) -> Task:
        """The same problem under other parameters of the scorer."""
        return replace(self, params=replace(self.params, **changes))

    @cached_property
    def scorer(self) -> Scorer:
        """SliceScorer under these parameters."""
        return make_scorer(self.evidence, self.params, self.similarity, self.scope, self.values)

    @cached_property
    def scores(self) -> Scores:
        """Its scores of the candidates."""
        return self.scorer.details(self.codes)

    @cached_property
    def most_similar(self) -> Index:
        """(U,) the most similar tested slice of each candidate, however dissimilar."""
        observed, rows = self.evidence.observed.codes, self.scorer.rows
        blocks = [self.codes[i : i + rows] for i in range(0, self.size, rows)]
        return np.concatenate([nearest(self.similarity.matrix(b, observed), 1, 0.0)[0][:, 0] for b in blocks])

    @cached_property
    def ridge(self) -> RidgeModel:
        """RiskRidge on the evidence."""
        dims = varied_dims(self.evidence.observed, self.dims)
        alike = None if self.values is None else [self.values[k] for k in dims]
        return fit_ridge(self.evidence.observed, dims, self.evidence.error, alike)

    def by_score(self, score: Floats) -> Listing:
        """All candidates by score (U,) rounded to 1e-12, then by id, as the ranking has them."""
        q = quantised(score)
        tie = self.size > 1 and int(q.min()) == int(q.max())
        note = "all candidates have the same score, so they stand in the order of their ids." if tie else ""
        return Listing(np.argsort(-q, kind="stable")[None], self.size, note)
