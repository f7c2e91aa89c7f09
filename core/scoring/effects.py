"""The tables of a RiskRidge as a person reads them: what a value adds to the risk, and what a pair adds beyond its two values.

The raw tables are not unique: a constant can be moved between them. Here they are purified (functional ANOVA with equal weights):
every single table has mean 0 over the values shown, every pair table mean 0 along each row and column, and their sum is unchanged.
Then the spread of the predicted risk over all combinations is exactly the sum of the mean squares of the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from core.odd import SliceSpace
from core.scoring.ridge import MEAN_VARIANCE, RISK_UNIT, RidgeModel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CLEAR = 1.96
"""An effect is told from 0 where it is at least so many standard deviations away."""


@dataclass(frozen=True, eq=False)
class SingleEffects:
    """What each value of one dimension adds to the risk, against the mean over the values shown.

    Attributes:
        dimension: Its name.
        values: (V,) values shown, in the order of the ODD.
        effect, sd: (V,) posterior mean and standard deviation.
        n, slices: (V,) samples and tested slices behind it.
    """

    dimension: str
    values: tuple[str, ...]
    effect: Floats
    sd: Floats
    n: Ints
    slices: Ints


@dataclass(frozen=True, eq=False)
class PairEffects:
    """What each pair of values adds beyond what its two values add.

    Attributes:
        dimensions: The two names.
        rows, columns: Values shown of the first and of the second dimension.
        effect, sd, n, slices: (rows, columns), as in `SingleEffects`.
    """

    dimensions: tuple[str, str]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    effect: Floats
    sd: Floats
    n: Ints
    slices: Ints


@dataclass(frozen=True, eq=False)
class Effects:
    """All purified tables of a model.

    Attributes:
        mean, mean_sd: Predicted risk of the mean combination, and its posterior standard deviation.
        singles: One table per dimension of the model.
        pairs: One table per two dimensions, keyed by their places in `singles`.
        samples, slices: What the model was fitted to.
    """

    mean: float
    mean_sd: float
    singles: tuple[SingleEffects, ...]
    pairs: dict[tuple[int, int], PairEffects]
    samples: int
    slices: int

    def pair(self, a: str, b: str) -> PairEffects:
        """The table of two dimensions, `a` in the rows.

        Raises:
            KeyError: They are equal, or not in the model.
        """
        place = {s.dimension: i for i, s in enumerate(self.singles)}
        i, j = place[a], place[b]
        p = self.pairs[min(i, j), max(i, j)]
        return p if i < j else PairEffects((a, b), p.columns, p.rows, p.effect.T, p.sd.T, p.n.T, p.slices.T)

    def strength(self) -> Floats:
        """(D, D) root mean square of each table, risk: single tables on the diagonal, pair tables off it."""
        out = np.diag([_rms(s.effect) for s in self.singles])
        for (i, j), p in self.pairs.items():
            out[i, j] = out[j, i] = _rms(p.effect)
        return out

    def shares(self) -> tuple[float, float]:
        """Shares of the spread (variance) of the predicted risk over all combinations that single and pair effects make; 0, 0 if none."""
        squares = self.strength() ** 2
        single, pair = float(np.trace(squares)), float(np.triu(squares, 1).sum())
        return (single / (single + pair), pair / (single + pair)) if single + pair > 0 else (0.0, 0.0)


@dataclass(frozen=True)
class Effect:
    """One entry of a table.

    Attributes:
        dimensions, values: One of each, or two.
        effect, sd: Posterior mean and standard deviation.
        n, slices: Samples and tested slices behind it.
    """

    dimensions: tuple[str, ...]
    values: tuple[str, ...]
    effect: float
    sd: float
    n: int
    slices: int

    @property
    def clear(self) -> bool:
        """Whether it is told from 0."""
        return self.sd > 0 and abs(self.effect) >= CLEAR * self.sd

    def sentence(self, names: Sequence[str] = ()) -> str:
        """The entry in words, such as "night adds 0.11 ± 0.03 to the risk"; ± is one standard deviation.

        Args:
            names: Its values as people know them; as they stand by default.
        """
        who, size = " with ".join(names or self.values), f"{abs(self.effect):.3f} ± {self.sd:.3f}"
        if len(self.values) == 1:
            return f"{who} adds {size} to the risk" if self.effect >= 0 else f"{who} takes {size} off the risk"
        return f"{who} adds a further {size}" if self.effect >= 0 else f"{who} takes {size} off what the two add"


def ridge_effects(model: RidgeModel, space: SliceSpace | None = None) -> Effects:
    """Purified tables of a model with their posterior standard deviations.

    Effects are linear in the process, so their joint posterior is normal. With A_k the likeness of the values shown to those of the
    observed slices (V_k, S), centred over the values, m_k its mean and t1, t2 the prior variances of one effect, the covariance
    with the observed errors is A_k (t1 + t2 sum of m_j over the other dimensions) for a single effect and t2 A_i A_j for a pair.

    Args:
        model: The model.
        space: Values shown; the base ODD by default. Each dimension of the model needs one at least.
    """
    odd = model.odd
    space = odd.base_space if space is None else space
    d = len(model.dims)
    t1, t2 = model.s1 / d, 2.0 * model.s2 / (d * (d - 1)) if d > 1 else 0.0
    shown = [_in_order(model, i, space) for i in range(d)]
    names = [tuple(odd.codec.values[k][c] for c in codes) for k, codes in zip(model.dims, shown, strict=True)]
    centred: list[Floats] = []
    mean: list[Floats] = []
    within: list[Floats] = []
    overall: list[float] = []
    for i, codes in enumerate(shown):
        c = np.eye(odd.codec.sizes[model.dims[i]]) if model.kernels is None else model.kernels[i]
        a = c[np.ix_(codes, model.observed.codes[:, model.dims[i]])]
        mean.append(a.mean(axis=0))
        centred.append(a - mean[-1])
        own = c[np.ix_(codes, codes)]
        overall.append(float(own.mean()))
        within.append(np.maximum(np.diag(own) - 2.0 * own.mean(axis=0) + overall[-1], 0.0))
    means, share = np.sum(mean, axis=0), sum(overall)
    cross = [centred[i] * (t1 + t2 * (means - mean[i])) for i in range(d)]
    prior = [within[i] * (t1 + t2 * (share - overall[i])) for i in range(d)]
    keys = list(combinations(range(d), 2))
    for i, j in keys:
        cross.append(t2 * (centred[i][:, None] * centred[j][None]).reshape(-1, len(model.noise)))
        prior.append(t2 * np.outer(within[i], within[j]).ravel())
    level = MEAN_VARIANCE + t1 * means + t2 * (means * means - np.sum(np.square(mean), axis=0)) / 2.0
    level_prior = MEAN_VARIANCE + t1 * share + t2 * (share * share - sum(g * g for g in overall)) / 2.0
    rows = np.vstack([*cross, level])
    learned = (rows * model.solve(rows.T).T).sum(axis=1)
    sd = np.sqrt(np.maximum(np.concatenate([*prior, [level_prior]]) - learned, 0.0))
    ends = np.cumsum([len(c) for c in cross])
    parts = np.split(sd, ends)
    constant, singles, pairs = _purified(model, shown)
    return Effects(
        constant,
        float(sd[-1]),
        tuple(SingleEffects(odd.names[model.dims[i]], names[i], singles[i], parts[i], *_support(model, shown, i)) for i in range(d)),
        {
            (i, j): PairEffects(
                (odd.names[model.dims[i]], odd.names[model.dims[j]]),
                names[i],
                names[j],
                pairs[i, j],
                parts[d + p].reshape(pairs[i, j].shape),
                *_support(model, shown, i, j),
            )
            for p, (i, j) in enumerate(keys)
        },
        model.observed.total,
        len(model.observed.n),
    )


def strongest(effects: Effects, top: int, pairs: bool) -> tuple[Effect, ...]:
    """The entries that are furthest from 0 in standard deviations.

    Of entries that mirror each other (the two values of a dimension, with opposite signs) the one that adds to the risk is named.
    Entries without a sample are left out.

    Args:
        effects: The tables.
        top: Entries at most.
        pairs: Whether to look at the pair tables, else at the single ones.
    """
    found = []
    if pairs:
        for p in effects.pairs.values():
            mirrored = 2 in p.effect.shape
            taken: set[bool] = set()
            for r, c in sorted(np.ndindex(p.effect.shape), key=lambda rc, p=p: (-int(p.n[rc]), rc)):  # type: ignore[misc]
                if p.sd[r, c] > 0 and p.n[r, c] and (p.effect[r, c] > 0 or not mirrored) and not (p.effect.shape == (2, 2) and taken):
                    taken.add(True)
                    found.append(_entry(p.dimensions, (p.rows[r], p.columns[c]), p, (r, c)))
    else:
        for s in effects.singles:
            for v, name in enumerate(s.values):
                if s.sd[v] > 0 and s.n[v] and (s.effect[v] > 0 or len(s.values) != 2):
                    found.append(_entry((s.dimension,), (name,), s, (v,)))
    found.sort(key=lambda e: (-round(abs(e.effect) / e.sd, 6), e.dimensions, e.values))
    return tuple(found[:top])


def _entry(dimensions: tuple[str, ...], values: tuple[str, ...], t: SingleEffects | PairEffects, at: tuple[int, ...]) -> Effect:
    return Effect(dimensions, values, float(t.effect[at]), float(t.sd[at]), int(t.n[at]), int(t.slices[at]))


def _in_order(model: RidgeModel, i: int, space: SliceSpace) -> Ints:
    """Codes shown of one dimension, in the order of the ODD."""
    k = model.dims[i]
    allowed, code_of = set(space.allowed[k].tolist()), model.odd.codec.code_of[k]
    return np.array([code_of[v.name] for v in model.odd.dimensions[k].values if code_of[v.name] in allowed], dtype=np.int64)


def _purified(model: RidgeModel, shown: list[Ints]) -> tuple[float, list[Floats], dict[tuple[int, int], Floats]]:
    """The model's own tables over the values shown, means moved down."""
    constant = model.constant / RISK_UNIT
    singles: list[Floats] = [t[codes] / RISK_UNIT for t, codes in zip(model.singles, shown, strict=True)]
    pairs = {}
    for (i, j), t in model.pairs.items():
        raw = t[np.ix_(shown[i], shown[j])] / RISK_UNIT
        down, across, all_of_it = raw.mean(axis=1), raw.mean(axis=0), float(raw.mean())
        pairs[i, j] = raw - down[:, None] - across[None] + all_of_it
        singles[i] = singles[i] + down - all_of_it
        singles[j] = singles[j] + across - all_of_it
        constant += all_of_it
    for i, single in enumerate(singles):
        constant += float(single.mean())
        singles[i] = single - single.mean()
    return constant, singles, pairs


def _support(model: RidgeModel, shown: list[Ints], *places: int) -> tuple[Ints, Ints]:
    """Samples and tested slices of each value shown, or of each pair of them."""
    sizes = [model.odd.codec.sizes[model.dims[i]] for i in places]
    at = tuple(model.observed.codes[:, model.dims[i]] for i in places)
    n, slices = np.zeros(sizes, dtype=np.int64), np.zeros(sizes, dtype=np.int64)
    np.add.at(n, at, model.observed.n)
    np.add.at(slices, at, 1)
    pick = np.ix_(*(shown[i] for i in places))
    return n[pick], slices[pick]


def _rms(table: Floats) -> float:
    return float(np.sqrt(np.mean(table * table)))
