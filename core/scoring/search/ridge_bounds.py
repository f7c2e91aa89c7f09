"""Bounds of phi under the ridge prior: a sum of single and pair tables instead of neighbours.

Below a prefix, the predicted error is at most that of the prefix plus, for each open dimension, the best of its value with the
values fixed so far and the best partner in the open dimensions before it. That bound is a sum over the open dimensions, so the
same weak duality as for neighbours tells how rare a slice can be that is predicted to fail as often as the K-th best needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from core.odd import Codes
from core.scoring.ridge import RISK_UNIT, Ints, RidgeModel
from core.scoring.scorer import SCALE, Scorer, quantised
from core.scoring.search.blocks import in_blocks
from core.scoring.search.neighbour_bounds import ENTRIES, SLACK, in_units
from core.scoring.search.problem import MARGIN, RarityBound, SearchSpace, rarity_bound

LAMBDAS = (5.0, 15.0, 40.0, 100.0, 250.0)
"""Multipliers of the dual bound, per unit of error."""


@dataclass(frozen=True, eq=False)
class RidgeTables:
    """The tables of a ridge over the levels of a tree.

    Attributes:
        scorer: Gives the canonical scores.
        tree: The space.
        rarity: Bounds of w_rare.
        root: What the fixed dimensions predict, the constant included.
        singles: For each level, one entry for each of its values, the pairs with fixed dimensions included.
        pairs: For levels i < j, entries (values of i, values of j).
    """

    scorer: Scorer
    tree: SearchSpace
    rarity: RarityBound
    root: int
    singles: tuple[Ints, ...]
    pairs: dict[tuple[int, int], Ints]

    @cached_property
    def place(self) -> tuple[npt.NDArray[np.int64], ...]:
        """For each level, the place of each code of its dimension among its values."""
        out = []
        for k, values in zip(self.tree.order, self.tree.values, strict=True):
            at = np.zeros(self.tree.odd.codec.sizes[k], dtype=np.int64)
            at[values] = np.arange(values.size)
            out.append(at)
        return tuple(out)

    @cached_property
    def partner(self) -> dict[tuple[int, int], Ints]:
        """For a prefix of length l and a level j >= l: the best partners of each of its values in the levels from l to j - 1."""
        out = {}
        for j, single in enumerate(self.singles):
            best = np.zeros_like(single)
            out[j, j] = best
            for i in range(j - 1, -1, -1):
                best = best + self.pairs[i, j].max(axis=0)
                out[i, j] = best
        return out


def ridge_tables(scorer: Scorer, tree: SearchSpace) -> RidgeTables:
    """Lays out the tables of a scorer that has a ridge.

    Raises:
        ValueError: It has none.
    """
    if scorer.ridge is None:
        raise ValueError("These scores rest on neighbours.")
    model = scorer.ridge
    fixed = {k: int(tree.root[k]) for k in range(len(tree.root)) if k not in tree.order}
    root = model.constant
    singles = {k: np.zeros(values.size, dtype=np.int64) for k, values in zip(tree.order, tree.values, strict=True)}
    values_of = dict(zip(tree.order, tree.values, strict=True))
    for k, table in zip(model.dims, model.singles, strict=True):
        if k in fixed:
            root += int(table[fixed[k]])
        else:
            singles[k] = singles[k] + table[values_of[k]]
    level_of = {k: j for j, k in enumerate(tree.order)}
    pairs = {(i, j): np.zeros((tree.values[i].size, tree.values[j].size), dtype=np.int64) for j in range(len(tree.order)) for i in range(j)}
    for (x, y), pair in model.pairs.items():
        a, b = model.dims[x], model.dims[y]
        if a in fixed and b in fixed:
            root += int(pair[fixed[a], fixed[b]])
        elif a in fixed:
            singles[b] = singles[b] + pair[fixed[a]][values_of[b]]
        elif b in fixed:
            singles[a] = singles[a] + pair[:, fixed[b]][values_of[a]]
        else:
            table = pair[np.ix_(values_of[a], values_of[b])]
            i, j = level_of[a], level_of[b]
            pairs[min(i, j), max(i, j)] = table if i < j else table.T
    return RidgeTables(scorer, tree, rarity_bound(scorer.rarity, tree), root, tuple(singles[k] for k in tree.order), pairs)


def effect_spread(model: RidgeModel, k: int, allowed: npt.NDArray[np.int32]) -> float:
    """How much the values of a dimension differ in what they predict."""
    if k not in model.dims or allowed.size < 2:
        return -1.0
    x = model.dims.index(k)
    out = float(np.ptp(model.singles[x][allowed]))
    for pair, table in model.pairs.items():
        if x in pair:
            part = table[allowed] if pair[0] == x else table.T[allowed]
            out += 0.5 * float(np.ptp(part, axis=0).mean())
    return out


class RidgeBounds:
    """Scores, and bounds of the scores below a prefix."""

    chunk = 2_000

    def __init__(self, tables: RidgeTables) -> None:
        self.tables = tables

    def leaves(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Scores of slices (n, D) in units of 1e-12."""
        return in_blocks(lambda i: quantised(self.tables.scorer.phi(codes[i : i + ENTRIES])), len(codes), ENTRIES)

    def children(self, level: int, codes: Codes, log_p: npt.NDArray[np.float64], least: int) -> npt.NDArray[np.int64]:
        """See `Bounds.children`."""
        widest = max((v.size for v in self.tables.tree.values[level:]), default=1)
        rows = max(1, ENTRIES // (2 * len(self.tables.tree.values[level]) * widest))
        return in_blocks(lambda i: self._children(level, codes[i : i + rows], log_p[i : i + rows], least), len(codes), rows)

    def _children(self, level: int, codes: Codes, log_p: npt.NDArray[np.float64], least: int) -> npt.NDArray[np.int64]:
        t, tree, kappa = self.tables, self.tables.tree, self.tables.scorer.rarity.params.kappa
        at = [t.place[i][codes[:, tree.order[i]]] for i in range(level)]
        now = np.full(len(codes), t.root, dtype=np.int64)
        for i in range(level):
            now += t.singles[i][at[i]]
            for h in range(i):
                now += t.pairs[h, i][at[h], at[i]]
        child = now[:, None] + t.singles[level][None, :]
        for i in range(level):
            child += t.pairs[i, level][at[i]]
        child_log = log_p[:, None] + t.rarity.log_p[tree.order[level]][tree.values[level]][None, :]
        least_log = child_log + t.rarity.rest[level + 1]
        w = t.rarity.weight(least_log)
        target = (least - 0.5 - MARGIN) / SCALE
        need = target / np.maximum(w, 1e-300) - 1.0 - SLACK
        dual = np.zeros((len(LAMBDAS), *child.shape))
        most = child.copy()
        for j in range(level + 1, tree.levels):
            open_ = np.broadcast_to(t.singles[j] + t.partner[level + 1, j], (len(codes), t.singles[j].size)).copy()
            for i in range(level):
                open_ += t.pairs[i, j][at[i]]
            gain = open_[:, None, :] + t.pairs[level, j][None, :, :]
            most += gain.max(axis=2)
            if t.rarity.gamma > 0:
                logs, errors = t.rarity.log_p[tree.order[j]][tree.values[j]], gain / RISK_UNIT
                for x, multiplier in enumerate(LAMBDAS):
                    dual[x] += (logs - multiplier * errors).min(axis=2)
        risk = np.clip(most / RISK_UNIT, 0.0, kappa)
        if t.rarity.gamma > 0:
            bound = least_log
            for x, multiplier in enumerate(LAMBDAS):
                # Only a needed error above 0 restricts the sum: below it the prediction is clipped.
                by_duality = child_log + dual[x] + multiplier * (need - child / RISK_UNIT)
                bound = np.where(need > 0, np.maximum(bound, by_duality), bound)
            w = t.rarity.weight(np.minimum(bound, 0.0))
        q = np.where(risk >= need, in_units(w * (1.0 + risk)), -1)
        q[q < least] = -1
        return q
