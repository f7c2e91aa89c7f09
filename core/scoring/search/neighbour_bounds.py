"""Bounds of phi under the neighbour prior (SliceNav, Eq. 3-8), additive similarity.

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
from core.scoring.search.blocks import in_blocks
from core.scoring.search.problem import MARGIN, RarityBound, SearchSpace, rarity_bound
from core.similarity import UNIT, SimilarityTables, Units

LAMBDAS = np.array([15.0, 30.0, 50.0, 80.0, 120.0, 180.0, 280.0, 450.0])
"""Multipliers of the dual bound, per unit of similarity; any set is correct, a good one prunes more."""

SLACK = 1e-9
"""Rounding errors of a needed error rate are far below this."""
MOST_RIVALS, MOST_ALIVE = 48, 600
"""Rivals of an observed slice that are looked at, and observed slices that matter beyond which none is."""
FEW, BATCH = 12, 10_000
"""Observed slices of one child, and pairs of children and observed slices at a time, for which rivals are looked at."""
MOST_SINGLE, ERROR_BINS = 64, 8
"""Observed slices that matter beyond which those of equal open dimensions are bounded as one, and the ranges of error rates that are
kept apart in this."""
ENTRIES = 500_000
"""Entries of the arrays that a thread holds at once."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Observed slices that a bound treats as one.

    Attributes:
        members: (A,) observed slices, group by group.
        starts: (G,) where each group starts.
        one: (G,) one of each group.
        error: (G,) largest error rate of each group.
    """

    members: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    one: npt.NDArray[np.intp]
    error: npt.NDArray[np.float64]

    @cached_property
    def size(self) -> npt.NDArray[np.intp]:
        """(G,) how many are in each group."""
        size: npt.NDArray[np.intp] = np.diff(np.r_[self.starts, self.members.size])
        return size

    def inside(self, at: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """The members of some groups, group by group."""
        size = self.size[at]
        first = np.repeat(self.starts[at] - (np.cumsum(size) - size), size)
        return self.members[first + np.arange(first.size)]


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
    def floats(self) -> list[npt.NDArray[np.float32]]:
        """`columns`, and last `root`, as floats; whole numbers up to 2^24 and their sums stay exact."""
        return [c.astype(np.float32) for c in (*self.columns, self.root)]

    @cached_property
    def rest(self) -> Units:
        """(L + 1, S) most that the levels from j on can contribute."""
        out = np.zeros((self.tree.levels + 1, self.error.size), dtype=np.int32)
        for j in range(self.tree.levels - 1, -1, -1):
            out[j] = out[j + 1] + self.columns[self.tree.order[j]][self.tree.values[j]].max(axis=0)
        return out

    @cached_property
    def groups(self) -> list[Groups]:
        """(L + 1,) the failing observed slices in groups of equal values in the levels from j on, and of like error rates."""
        error = self.error[self.failing]
        bins = np.searchsorted(np.sort(error), error) * ERROR_BINS // max(error.size, 1)
        out = []
        for j in range(self.tree.levels + 1):
            key = [self.scorer.evidence.observed.codes[self.failing, k] for k in self.tree.order[j:]]
            order = np.lexsort([*key, bins])
            ordered = np.stack([*key, bins])[:, order]
            starts = np.flatnonzero(np.r_[True, (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)])
            members = self.failing[order]
            out.append(Groups(members, starts, members[starts], np.maximum.reduceat(self.error[members], starts)))
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


class NeighbourBounds:
    """Scores, and bounds of the scores below a prefix."""

    chunk = 600

    def __init__(self, model: NeighbourModel) -> None:
        self.model = model
        self.rivals: Rivals | None = None

    def leaves(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Scores of slices (n, D) in units of 1e-12."""
        rows = max(1, ENTRIES // max(1, self.model.error.size))
        return in_blocks(lambda i: quantised(self.model.scorer.phi(codes[i : i + rows])), len(codes), rows)

    def children(self, level: int, codes: Codes, log_p: npt.NDArray[np.float64], least: int) -> npt.NDArray[np.int64]:
        """See `Bounds.children`."""
        if self.rivals is None and least > 0:
            # What is needed only grows from here on, so no other observed slice can come to matter.
            alive = np.flatnonzero(self.model.error >= (least - 0.5 - MARGIN) / SCALE - 1.0 - 2 * SLACK)
            self.rivals = Rivals(self.model, np.intersect1d(alive, self.model.failing))
        rows = max(1, ENTRIES // max(1, len(self.model.tree.values[level]) * self.model.failing.size))
        return in_blocks(lambda i: self._children(level, codes[i : i + rows], log_p[i : i + rows], least), len(codes), rows)

    def _children(self, level: int, codes: Codes, log_p: npt.NDArray[np.float64], least: int) -> npt.NDArray[np.int64]:
        model, tree = self.model, self.model.tree
        d, values = tree.order[level], tree.values[level]
        child_log = log_p[:, None] + model.rarity.log_p[d][values][None, :]
        w = model.rarity.weight(child_log + model.rarity.rest[level + 1])
        target = (least - 0.5 - MARGIN) / SCALE
        q = in_units(w)  # of a slice that no failing neighbour speaks of
        need = target / np.maximum(w, 1e-300) - 1.0 - SLACK  # the neighbour error without which the K-th score is out of reach
        # A similarity is at most 1, so the error rate itself must be large enough.
        a = model.failing[model.error[model.failing] >= min(float(need.min()), model.kappa)]
        hopeful = need <= model.kappa
        row = col = who = np.empty(0, dtype=np.intp)
        # Rivals speak of single slices; where they are of no use, groups do.
        if a.size > MOST_SINGLE and hopeful.any() and not (self.rivals and self.rivals.useful):
            groups = model.groups[level + 1]
            row, col, at, now, error = self._groups(level, codes, np.where(hopeful, need, np.inf))
            if row.size:
                score = self._score(level, now, error, child_log[row, col], need[row, col], groups.one[at])
                # What is left of a child is looked into where it is little.
                still = score >= max(least, 1)
                child, size = row * values.size + col, groups.size[at]
                small = np.bincount(child[still], size[still], minlength=q.size)[child] <= MOST_SINGLE
                np.maximum.at(q, (row[~small], col[~small]), score[~small])
                into = np.flatnonzero(still & small)
                who = groups.inside(at[into])
                row, col = np.repeat(row[into], size[into]), np.repeat(col[into], size[into])
        elif a.size and hopeful.any():
            row, col, who = self._pairs(level, codes, np.where(hopeful, need, np.inf), a)
        if row.size:
            now = self._now(level, codes[row], values[col], who)
            score = self._score(level, now, model.error[who], child_log[row, col], need[row, col], who)
            if self.rivals is not None:
                still = score >= max(least, 1)
                # A child falls only with all its slices; with many of them that hardly ever happens.
                child = row * values.size + col
                few = np.bincount(child[still], minlength=q.size)[child] <= FEW
                at = np.flatnonzero(still & few)
                for open_ in np.array_split(at, 1 + at.size // BATCH):
                    beaten = self.rivals.beat(level, codes[row[open_]], values[col[open_]], who[open_])
                    score[open_[beaten]] = 0
            np.maximum.at(q, (row, col), score)
        q[q < least] = -1
        return q

    def _pairs(
        self, level: int, codes: Codes, need: npt.NDArray[np.float64], a: npt.NDArray[np.intp]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Children (row, column) and observed slices that could give them the error they need; some more, never fewer."""
        model, tree = self.model, self.model.tree
        d = tree.order[level]
        reach = np.broadcast_to(model.floats[-1][a] + model.rest[level + 1][a], (len(codes), a.size)).astype(np.float32)
        for j in range(level):
            reach += model.floats[tree.order[j]][:, a][codes[:, tree.order[j]]]
        risk = reach[:, None, :] + model.floats[d][tree.values[level]][:, a][None, :, :]
        risk *= (model.error[a] / UNIT).astype(np.float32)
        row, col, at = np.nonzero(risk >= (np.maximum(need, 0.0) - 1e-5)[:, :, None].astype(np.float32))
        return row, col, a[at]

    def _groups(
        self, level: int, codes: Codes, need: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp], Units, npt.NDArray[np.float64]]:
        """As `_pairs`, of groups of observed slices: the group, and its largest similarity so far and error rate."""
        model, tree = self.model, self.model.tree
        d, groups = tree.order[level], model.groups[level + 1]
        now = np.broadcast_to(model.floats[-1][groups.members], (len(codes), groups.members.size)).copy()
        for j in range(level):
            now += model.floats[tree.order[j]][:, groups.members][codes[:, tree.order[j]]]
        reached = now[:, None, :] + model.floats[d][tree.values[level]][:, groups.members][None, :, :]
        best = np.maximum.reduceat(reached, groups.starts, axis=2)
        risk = (best + model.rest[level + 1][groups.one].astype(np.float32)) * (groups.error / UNIT).astype(np.float32)
        row, col, at = np.nonzero(risk >= (np.maximum(need, 0.0) - 1e-5)[:, :, None].astype(np.float32))
        return row, col, at, best[row, col, at].astype(np.int32), groups.error[at]

    def _now(self, level: int, codes: Codes, value: npt.NDArray[np.int32], who: npt.NDArray[np.intp]) -> Units:
        """Similarity of children (n,) to the observed slices `who` (n,) as far as their values are fixed."""
        model, order = self.model, self.model.tree.order
        now: Units = model.root[who] + model.columns[order[level]][value, who]
        for j in range(level):
            now += model.columns[order[j]][codes[:, order[j]], who]
        return now

    def _score(
        self,
        level: int,
        now: Units,
        error: npt.NDArray[np.float64],
        log_p: npt.NDArray[np.float64],
        need: npt.NDArray[np.float64],
        who: npt.NDArray[np.intp],
    ) -> npt.NDArray[np.int64]:
        """Bounds of children (n,) that owe their error to observed slices alike to `who` (n,) in the open dimensions; 0 where they cannot.

        The similarity so far and the error rate are those of these slices at most.
        """
        model = self.model
        most = np.minimum(now + model.rest[level + 1][who], UNIT)
        risk = np.minimum(most / UNIT * error, model.kappa)
        possible = (most >= model.least) & (risk >= need)
        required = np.maximum(need / error, model.least / UNIT)
        left = required - now / UNIT
        bound = log_p + model.rarity.rest[level + 1]
        # Only a required similarity above 0 restricts the sum: below it the similarity is clipped.
        restricted = np.flatnonzero(possible & (required > 0))
        if restricted.size:
            best = bound[restricted]
            for x, multiplier in enumerate(LAMBDAS):
                dual = log_p[restricted] + model.dual[x, level + 1, who[restricted]] + multiplier * left[restricted]
                np.maximum(best, dual, out=best)
            bound[restricted] = best
        return np.where(possible, in_units(model.rarity.weight(np.minimum(bound, 0.0)) * (1.0 + risk)), 0)


class Rivals:
    """Tells when an observed slice is certainly no neighbour: m others are closer whatever the open dimensions hold.

    Only a few likely rivals of each slice are looked at: those most alike to it in the open dimensions.
    """

    def __init__(self, model: NeighbourModel, alive: npt.NDArray[np.intp]) -> None:
        self.model, self.alive = model, alive
        self.m = model.scorer.rarity.params.m
        self.place = np.full(model.error.size, -1, dtype=np.int64)
        self.place[alive] = np.arange(alive.size)
        # With m or fewer observed slices each is a neighbour; with very many that matter, other bounds do the work.
        self.useful = self.m < model.error.size and alive.size <= MOST_ALIVE
        self.index: list[npt.NDArray[np.int64]] = []
        self.lead: list[Units] = []
        if not self.useful:
            return
        lead = np.zeros((alive.size, model.error.size), dtype=np.int32)
        for j in range(model.tree.levels, -1, -1):
            if j < model.tree.levels:
                column = model.columns[model.tree.order[j]][model.tree.values[j]]
                worst = np.full_like(lead, np.iinfo(np.int32).max)
                for row in column:
                    np.minimum(worst, row[None, :] - row[alive][:, None], out=worst)
                lead += worst
            at = np.argsort(-lead, axis=1, kind="stable")[:, : min(MOST_RIVALS, lead.shape[1])]
            self.index.insert(0, at)
            self.lead.insert(0, np.take_along_axis(lead, at, axis=1))

    def beat(self, level: int, codes: Codes, value: npt.NDArray[np.int32], who: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Whether the slices `who` (n,) are certainly no neighbours below children (n,)."""
        model, order = self.model, self.model.tree.order
        if not self.useful or not who.size:
            return np.zeros(who.size, dtype=bool)
        a = self.place[who]
        rivals = self.index[level + 1][a]
        column = model.columns[order[level]]
        own = model.root[who] + column[value, who]
        other = model.root[rivals] + column[value[:, None], rivals]
        for j in range(level):
            column, c = model.columns[order[j]], codes[:, order[j]]
            own += column[c, who]
            other += column[c[:, None], rivals]
        lead = other - own[:, None] + self.lead[level + 1][a]
        closer = (lead > 0) | ((lead == 0) & (rivals < who[:, None]))
        # Two similarities of 1 tie, so the argument holds below 1 only.
        out: npt.NDArray[np.bool_] = (closer.sum(axis=1) >= self.m) & (own + model.rest[level + 1][who] < UNIT)
        return out


def in_units(phi: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """An upper bound in units of 1e-12, rounding errors included."""
    return np.rint(phi * SCALE + MARGIN).astype(np.int64)
