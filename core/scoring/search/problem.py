"""What the search needs to know of a space, laid out level by level of the tree of prefixes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.odd import Odd, SliceSpace
from core.odd.rules import Rule
from core.scoring.exposure import Floats, Rarity

LEAST_LOG = -750.0
"""Stands for log 0 in bounds: less than the logarithm of any positive number, and sums stay finite."""
UNDERFLOW = -700.0
"""A product of probabilities whose logarithm is less may have been rounded to 0, the exposure with it whatever tau is."""
ROUNDING = 1e-15
"""What rounding may do to w_rare before it is raised to gamma."""
MARGIN = 0.02
"""Rounding errors of a bound or a score are far below this share of the unit 1e-12 in which scores are compared."""


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """A space of slices as a tree: level j fixes the value of dimension `order[j]`; dimensions with one value are fixed at the root.

    Attributes:
        odd: Numbers the slices.
        space: Values that slices may have.
        need_outside: Whether a slice must have an extended value.
        taken: Ids that may not be returned, ascending.
        rules: Slices that they hit may not be returned.
        order: (L,) dimensions in the order in which they are fixed.
        values: For each level, the codes that its dimension may have, ascending.
        root: (D,) codes, the only or the smallest of each dimension.
        id_step: For each level, the weight of a code in the id.
        rest_id: (L + 1,) smallest contribution to the id of the levels from j on.
        rest_size: (L + 1,) number of slices below a prefix of length j.
        rest_outside: (L + 1,) whether a level from j on has an extended value.
        root_outside: Whether a fixed dimension has an extended value.
        outside: For each level, whether each of its values is extended.
        rule_levels: For each level, the rules that are decided there: each with the dimensions to look at.
    """

    odd: Odd
    space: SliceSpace
    need_outside: bool
    taken: npt.NDArray[np.int64]
    rules: tuple[Rule, ...]
    order: tuple[int, ...]
    values: tuple[npt.NDArray[np.int32], ...]
    root: npt.NDArray[np.int32]
    id_step: tuple[int, ...]
    rest_id: tuple[int, ...]
    rest_size: tuple[int, ...]
    rest_outside: tuple[bool, ...]
    root_outside: bool
    outside: tuple[npt.NDArray[np.bool_], ...]
    rule_levels: tuple[tuple[Rule, ...], ...]

    @property
    def levels(self) -> int:
        """Number of dimensions with a choice."""
        return len(self.order)

    def forbidden(self, ids: npt.NDArray[np.int64], codes: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """Whether each of the slices (n, D) may not be returned."""
        out: npt.NDArray[np.bool_] = is_member(ids, self.taken)
        for rule in self.rules:
            out |= rule.hits(codes)
        if self.need_outside:
            inside = np.ones(len(codes), dtype=bool)
            for k, base in enumerate(self.odd.is_base):
                inside &= base[codes[:, k]]
            out |= inside
        return out


def is_member(ids: npt.NDArray[np.int64], among: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether each id is among ascending ids."""
    if not among.size:
        return np.zeros(ids.size, dtype=bool)
    at = np.minimum(np.searchsorted(among, ids), among.size - 1)
    out: npt.NDArray[np.bool_] = among[at] == ids
    return out


def search_space(
    odd: Odd,
    space: SliceSpace,
    importance: Sequence[float],
    need_outside: bool,
    taken: npt.NDArray[np.int64],
    rules: Sequence[Rule],
) -> SearchSpace:
    """Lays out a space.

    Args:
        odd: Numbers the slices.
        space: Values that slices may have.
        importance: (D,) how much a dimension matters to the score; the one that matters most is fixed first.
        need_outside: Whether a slice must have an extended value.
        taken: Ids that may not be returned.
        rules: Slices that they hit may not be returned.
    """
    free = [k for k, a in enumerate(space.allowed) if len(a) > 1]
    order = tuple(sorted(free, key=lambda k: (-importance[k], k)))
    values = tuple(space.allowed[k] for k in order)
    radix = [int(r) for r in odd.codec.radix]
    outside = tuple(~odd.is_base[k][v] for k, v in zip(order, values, strict=True))
    root = np.array([a[0] for a in space.allowed], dtype=np.int32)
    rest_id, rest_size, rest_out = [0], [1], [False]
    for k, v, o in reversed(list(zip(order, values, outside, strict=True))):
        rest_id.insert(0, rest_id[0] + radix[k] * int(v[0]))
        rest_size.insert(0, rest_size[0] * len(v))
        rest_out.insert(0, rest_out[0] or bool(o.any()))
    fixed = set(range(len(space.allowed))) - set(order)
    decided: list[list[Rule]] = [[] for _ in range(len(order) + 1)]
    for rule in rules:
        if all(rule.matches[k][root[k]] for k in rule.matches if k in fixed):
            decided[max((j + 1 for j, k in enumerate(order) if k in rule.matches), default=0)].append(rule)
    return SearchSpace(
        odd=odd,
        space=space,
        need_outside=need_outside,
        taken=np.sort(taken),
        rules=tuple(rules),
        order=order,
        values=values,
        root=root,
        id_step=tuple(radix[k] for k in order),
        rest_id=tuple(rest_id),
        rest_size=tuple(rest_size),
        rest_outside=tuple(rest_out),
        root_outside=any(not odd.is_base[k][root[k]] for k in fixed),
        outside=outside,
        rule_levels=tuple(map(tuple, decided)),
    )


@dataclass(frozen=True, eq=False)
class RarityBound:
    """Upper bounds of w_rare below a prefix.

    Attributes:
        gamma: Exponent.
        tau: Exponent of the exposure; 0 stands for the form "log".
        low, high: Of the form "log".
        log_p: For each dimension, log P (V_k,), `LEAST_LOG` for 0.
        rest: (L + 1,) smallest sum of log P of the levels from j on.
        root: Sum of log P of the fixed dimensions.
        margin: What rounding may do to a sum of logarithms.
    """

    gamma: float
    tau: float
    low: float
    high: float
    log_p: tuple[Floats, ...]
    rest: npt.NDArray[np.float64]
    root: float
    margin: float

    def weight(self, log_p: Floats) -> Floats:
        """The largest w_rare of slices whose sum of log P is at least this."""
        if self.gamma == 0:
            return np.ones_like(log_p)
        x = log_p - self.margin
        if self.tau > 0:
            w = np.where(x < UNDERFLOW, 1.0, 1.0 - np.exp(np.minimum(self.tau * x, 0.0)))
        elif self.high > self.low:
            w = np.clip((self.high - x) / (self.high - self.low), 0.0, 1.0)
        else:
            return np.ones_like(log_p)
        w = np.minimum(w + ROUNDING, 1.0)
        out: Floats = w * w if self.gamma == 2 else w**self.gamma
        return out


def rarity_bound(rarity: Rarity, tree: SearchSpace) -> RarityBound:
    """Bounds of the rarity over the levels of a tree."""
    log_p = tuple(np.array([math.log(x) if x > 0 else LEAST_LOG for x in np.nan_to_num(p, nan=1.0).tolist()]) for p in rarity.marginals.p)
    rest = [0.0]
    for k, v in reversed(list(zip(tree.order, tree.values, strict=True))):
        rest.insert(0, rest[0] + float(log_p[k][v].min()))
    root = sum(float(log_p[k][tree.root[k]]) for k in range(len(log_p)) if k not in tree.order)
    scale = max(1.0, *(abs(float(p.min())) for p in log_p)) * len(log_p)
    params = rarity.params
    tau = params.tau if params.rarity == "paper" else 0.0
    return RarityBound(params.gamma, tau, rarity.low, rarity.high, log_p, np.array(rest), root, 4e-15 * scale)
