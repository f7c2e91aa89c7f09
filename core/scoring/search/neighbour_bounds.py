"""Bounds of phi under the neighbour prior (SliceNav, Eq. 3-8), additive similarity, in numpy.

Below a prefix, a slice owes its neighbour error to one observed slice a. Its similarity to a is at most the similarity of the
prefix plus the best of each open dimension, U_a; and to beat the K-th score it must be at least `need / eps_a`, which keeps it
from taking the rarest value everywhere. Weak duality turns that into a bound of its rarity: with lambda >= 0,

    sum log P  >=  log P(prefix) + sum over open dimensions of min_v (log P(v) - lambda T[v, a]) + lambda (required - reached).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from core.odd import Codes
from core.scoring.neighbours import theta_units
from core.scoring.scorer import SCALE, Scorer, quantised
from core.scoring.search.problem import MARGIN, RarityBound, SearchSpace, rarity_bound
from core.similarity import UNIT, SimilarityTables, Units

LAMBDAS = np.array([0.0, 15.0, 30.0, 50.0, 80.0, 120.0, 180.0, 280.0, 450.0])
"""Multipliers of the dual bound, per unit of similarity; any set is correct, a good one prunes more."""

PAIRS = 3_000_000
"""Entries of the arrays that are held at once."""


@dataclass(frozen=True, eq=False)
class NeighbourModel:
    """Tables of the similarity to the observed slices, for scores and bounds.

    Attributes:
        scorer: Gives the canonical scores.
        tree: The space.
        rarity: Bounds of w_rare.
        columns: For each dimension, contributions to the similarity to each observed slice (V_k, S) in units of 1e-6.
        failing: Observed slices that failed at all: no other sets a neighbour error.
        error: (S,) their error rates.
        least: Least similarity of a neighbour in units of 1e-6.
    """

    scorer: Scorer
    tree: SearchSpace
    rarity: RarityBound
    columns: tuple[Units, ...]
    failing: npt.NDArray[np.intp]
    error: npt.NDArray[np.float64]
    least: int

    @property
    def kappa(self) -> float:
        """Cap of the neighbour error."""
        return self.scorer.rarity.params.kappa

    @cached_property
    def root(self) -> Units:
        """Similarity that the fixed dimensions contribute (S,)."""
        out = np.zeros(self.error.size, dtype=np.int32)
        for k, column in enumerate(self.columns):
            if k not in self.tree.order:
                out += column[self.tree.root[k]]
        return out

    @cached_property
    def rest(self) -> Units:
        """(L + 1, S) most that the levels from j on can contribute."""
        out = np.zeros((self.tree.levels + 1, self.error.size), dtype=np.int32)
        for j in range(self.tree.levels - 1, -1, -1):
            out[j] = out[j + 1] + self.columns[self.tree.order[j]][self.tree.values[j]].max(axis=0)
        return out

    @cached_property
    def dual(self) -> npt.NDArray[np.float64]:
        """(lambdas, L + 1, S) sum over the levels from j on of min_v (log P(v) - lambda T[v, a])."""
        out = np.zeros((LAMBDAS.size, self.tree.levels + 1, self.error.size))
        for j in range(self.tree.levels - 1, -1, -1):
            k, v = self.tree.order[j], self.tree.values[j]
            for x, multiplier in enumerate(LAMBDAS):
                terms = self.rarity.log_p[k][v][:, None] - multiplier * (self.columns[k][v] / UNIT)
                out[x, j] = out[x, j + 1] + terms.min(axis=0)
        return out


def neighbour_model(scorer: Scorer, tables: SimilarityTables, tree: SearchSpace) -> NeighbourModel:
    """Lays out the similarity of a space to the observed slices."""
    observed = scorer.evidence.observed
    by_dim = dict(zip(tables.dims, tables.tables, strict=True))
    zero = np.zeros(len(observed.n), dtype=np.int32)
    columns = []
    for k, size in enumerate(tree.odd.codec.sizes):
        if k in by_dim:
            columns.append(np.ascontiguousarray(by_dim[k][:, observed.codes[:, k]]))
        else:
            columns.append(np.broadcast_to(zero, (size, zero.size)).copy())
    error = scorer.evidence.error
    least = max(theta_units(scorer.rarity.params.theta), 0)
    return NeighbourModel(scorer, tree, rarity_bound(scorer.rarity, tree), tuple(columns), np.flatnonzero(error > 0), error, least)


class NumpyNeighbourBounds:
    """Needs numpy alone; slower than the compiled ones, with the same results."""

    chunk = 600
    engine = "numpy"

    def __init__(self, model: NeighbourModel) -> None:
        self.model = model

    def leaves(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Scores of slices (n, D) in units of 1e-12."""
        rows = self.model.scorer.rows
        blocks = [quantised(self.model.scorer.phi(codes[i : i + rows])) for i in range(0, len(codes), rows)]
        return np.concatenate(blocks)

    def children(self, level: int, codes: Codes, log_p: npt.NDArray[np.float64], least: int) -> npt.NDArray[np.int64]:
        """See `Bounds.children`."""
        model, tree = self.model, self.model.tree
        n, width = len(codes), len(tree.values[level])
        rows = max(1, PAIRS // max(1, width * model.failing.size))
        out = np.empty((n, width), dtype=np.int64)
        for i in range(0, n, rows):
            out[i : i + rows] = self._children(level, codes[i : i + rows], log_p[i : i + rows], least)
        return out

    def _children(self, level: int, codes: Codes, log_p: npt.NDArray[np.float64], least: int) -> npt.NDArray[np.int64]:
        model, tree = self.model, self.model.tree
        d, values, a = tree.order[level], tree.values[level], model.failing
        child_log = log_p[:, None] + model.rarity.log_p[d][values][None, :]
        w = model.rarity.weight(child_log + model.rarity.rest[level + 1])
        target = (least - 0.5 - MARGIN) / SCALE
        q = np.where(w * (1.0 + model.kappa) < target, -1, in_units(w))  # a slice without a failing neighbour
        open_ = np.flatnonzero(q.ravel() >= 0)
        if not a.size or not open_.size:
            q[q < least] = -1
            return q
        reached = np.broadcast_to(model.root[a], (len(codes), a.size)).copy()
        for j in range(level):
            reached += model.columns[tree.order[j]][:, a][codes[:, tree.order[j]]]
        row, col = np.divmod(open_, values.size)
        now = reached[row] + model.columns[d][:, a][values[col]]
        most = np.minimum(now + model.rest[level + 1][a], UNIT)
        eps = model.error[a]
        weight = w.ravel()[open_]
        risk = most / UNIT * eps
        need = target / np.maximum(weight, 1e-300) - 1.0
        at, who = np.nonzero((most >= max(model.least, 1)) & (risk >= (need - 1e-9)[:, None]))
        if at.size:
            log_of = child_log.ravel()[open_][at]
            e = eps[who]
            required = np.maximum((need[at] - 1e-9) / e, model.least / UNIT)
            left = required - now[at, who] / UNIT
            bound = log_of + model.rarity.rest[level + 1]
            for x, multiplier in enumerate(LAMBDAS[1:], start=1):
                # Only a required similarity above 0 restricts the sum: below it the similarity is clipped.
                np.maximum(bound, np.where(required > 0, log_of + model.dual[x, level + 1, a[who]] + multiplier * left, bound), out=bound)
            score = in_units(model.rarity.weight(np.minimum(bound, 0.0)) * (1.0 + np.minimum(risk[at, who], model.kappa)))
            flat = q.ravel()
            np.maximum.at(flat, open_[at], score)
            q = flat.reshape(q.shape)
        q[q < least] = -1
        return q


def in_units(phi: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """An upper bound in units of 1e-12, rounding errors included."""
    return np.rint(phi * SCALE + MARGIN).astype(np.int64)
