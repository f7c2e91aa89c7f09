"""Synthetic oracles: seeded hidden risks over the slices of any ODD, and seed tables drawn from them, for tests and teaching.

Nothing here was measured on a model. Each kind has a structure of its own, so that a method shows where it is strong:

    additive    every value adds to the log-odds of a failure
    pairwise    so does every pair of values
    clustered   eight weak spots, around which the risk falls off with the number of differing values
    semantic    smooth in the embedding of the slice's text (needs the text encoder)
    rules       seven rules of two or three values, each with a risk of its own
    mixed       additive, some pairs, and noise per slice
    iid         no structure at all: no method can beat chance, and none must seem to
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.odd import Codes, Odd
from core.seed_table import SeedTable

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

KINDS = ("additive", "pairwise", "clustered", "semantic", "rules", "mixed")
"""The kinds with a structure; the table in docs/benchmarks.md is the mean over them."""
IID = "iid"
ALL_KINDS = (*KINDS, IID)

MOST_SLICES = 100_000
"""Largest base ODD over which an oracle is drawn; each slice gets its own risk."""

SHARES: Mapping[str, Mapping[str, float]] = {
    "weather_visibility": {"snowy": 0.06, "foggy": 0.06, "clear": 0.6, "rainy": 0.28},
    "sky_conditions": {"cloudy": 0.5, "clear": 0.5},
    "time": {"day": 0.72, "night": 0.28},
    "environment": {"city_downtown": 0.45, "city_suburbs": 0.3, "construction": 0.07, "highway": 0.18},
    "road_condition": {"dry": 0.68, "wet": 0.25, "snow": 0.07},
    "road_type": {"intersection": 0.45, "non_intersection": 0.55},
    "traffic_type": {"sparse": 0.55, "dense": 0.45},
    "question_category": {
        "scene_observation": 0.34, "hazard_assessment": 0.24, "future_event_prediction": 0.14,
        "ego_action_reasoning": 0.18, "counterfactual_reasoning": 0.1,
    },
}  # fmt: skip
"""How often a test fleet meets the values of the built-in ODD."""


@dataclass(frozen=True, eq=False)
class SyntheticOracle:
    """A hidden risk per slice of the base ODD.

    Attributes:
        kind: One of `ALL_KINDS`.
        number: Seed of the generator.
        odd: The ODD.
        codes: (N, K) all base slices, ids ascending.
        risk: (N,) true failure rate of each.
    """

    kind: str
    number: int
    odd: Odd
    codes: Codes
    risk: Floats

    def table(self, n: int) -> SeedTable:
        """The oracle as a table with the true risks, as if each slice had been tested n times without noise."""
        size = len(self.risk)
        return SeedTable(self.odd, self.codes, np.full(size, n, dtype=np.int64), 1.0 - self.risk, np.full(size, np.nan))


def synthetic_oracle(kind: str, odd: Odd, number: int, vectors: npt.NDArray[Any] | None = None) -> SyntheticOracle:
    """Draw an oracle.

    The draws go through values and slices in the order of the ODD's document, so an oracle depends on kind, ODD and number only.

    Args:
        kind: One of `ALL_KINDS`.
        odd: Its base slices get risks; at most `MOST_SLICES`.
        number: Seed.
        vectors: (N, D) embeddings of the base slices in the order of their ids; needed for "semantic" only.

    Raises:
        InputError: The kind is unknown, the ODD too large or without active dimensions, or vectors are needed.
    """
    if kind not in ALL_KINDS:
        raise InputError(f'There is no synthetic oracle "{kind}"; allowed: {", ".join(ALL_KINDS)}.')
    if odd.base_space.size > MOST_SLICES:
        raise InputError(f"A synthetic oracle is drawn over at most {MOST_SLICES:,} slices; the ODD has {odd.base_space.size:,}.")
    if len(odd.active) < 2:
        raise InputError("A synthetic oracle needs an ODD with two or more values in at least two dimensions.")
    if kind == "semantic" and vectors is None:
        raise InputError("A semantic oracle needs the embeddings of the slices, and so the text encoder.")
    codes, places, order = _document_order(odd)
    rng = np.random.default_rng(1000 + number)
    ordered = None if vectors is None else np.asarray(vectors, dtype=np.float64)[order]
    risk = np.empty(len(order))
    risk[order] = _Generator(rng, places, ordered).draw(kind)
    return SyntheticOracle(kind, number, odd, codes, risk)


def opened(odd: Odd, extend: Mapping[str, Sequence[str]]) -> Odd:
    """The ODD with some extended values taken into it, so that an oracle covers slices outside the ODD as well.

    Dimensions, values and so the numbers of all slices stay the same.
    """
    dims = [
        replace(d, values=tuple(replace(v, tier="base") if v.name in extend.get(d.name, ()) else v for v in d.values))
        for d in odd.dimensions
    ]
    return replace(odd, name=f"{odd.name}-opened", dimensions=tuple(dims), source="own")


def _document_order(odd: Odd) -> tuple[Codes, Ints, Ints]:
    """All base slices in two orders.

    Returns:
        Codes (N, K) by id; places (N, A) of the values of the active dimensions in the document, slices in the order of the
        document; and the positions (N,) by id of the slices in the order of the document.
    """
    codes = np.concatenate(list(odd.base_space.chunks()))
    by_id = np.empty((len(codes), len(odd.active)), dtype=np.int64)
    for column, k in enumerate(odd.active):
        place = np.zeros(odd.codec.sizes[k], dtype=np.int64)
        for i, v in enumerate(odd.dimensions[k].base):
            place[odd.codec.code_of[k][v.name]] = i
        by_id[:, column] = place[codes[:, k]]
    order = np.lexsort(by_id.T[::-1])
    return codes, by_id[order], order


@dataclass(frozen=True, eq=False)
class _Generator:
    rng: np.random.Generator
    s: Ints
    """(N, A) places of the values, slices in the order of the document."""
    vectors: Floats | None

    def draw(self, kind: str) -> Floats:
        """Risks (N,)."""
        n = len(self.s)
        if kind == "additive":
            return _sigmoid(-1.3 + self._effects(0.6))
        if kind == "pairwise":
            return _sigmoid(-1.3 + self._effects(0.35) + self._pairs(0.28))
        if kind == "mixed":
            return _sigmoid(-1.2 + self._effects(0.45) + self._pairs(0.15) + self.rng.normal(0, 0.5, n))
        if kind == "clustered":
            return self._clusters()
        if kind == "rules":
            return self._rules()
        if kind == "semantic":
            return self._semantic()
        return self.rng.beta(1.2, 3.5, n)

    @property
    def _sizes(self) -> list[int]:
        return [int(x) + 1 for x in self.s.max(axis=0)]

    def _effects(self, spread: float) -> Floats:
        total: Floats = np.zeros(len(self.s))
        for k, size in enumerate(self._sizes):
            total = total + self.rng.normal(0, spread, size)[self.s[:, k]]
        return total

    def _pairs(self, spread: float) -> Floats:
        total: Floats = np.zeros(len(self.s))
        sizes = self._sizes
        for a in range(len(sizes)):
            for b in range(a + 1, len(sizes)):
                total = total + self.rng.normal(0, spread, (sizes[a], sizes[b]))[self.s[:, a], self.s[:, b]]
        return total

    def _clusters(self) -> Floats:
        spots = self.s[self.rng.choice(len(self.s), min(8, len(self.s)), replace=False)]
        apart = (self.s[:, None] != spots[None]).sum(axis=2)
        height = self.rng.uniform(0.5, 0.9, len(spots))
        risk: Floats = np.clip(0.12 + (height * np.exp(-((apart / 2.2) ** 2))).max(axis=1), 0, 1)
        return risk

    def _rules(self) -> Floats:
        dims, sizes = len(self._sizes), self._sizes
        risk = np.full(len(self.s), 0.12)
        for _ in range(7):
            chosen = self.rng.choice(dims, min(int(self.rng.integers(2, 4)), dims), replace=False)
            hit = np.all([self.s[:, d] == self.rng.integers(sizes[d]) for d in chosen], axis=0)
            risk = np.maximum(risk, np.where(hit, self.rng.uniform(0.5, 0.9), 0.0))
        return risk

    def _semantic(self) -> Floats:
        assert self.vectors is not None  # noqa: S101 (checked by the caller)
        centred = self.vectors - self.vectors.mean(axis=0)
        left, spread, _ = np.linalg.svd(centred, full_matrices=False)
        most = min(30, left.shape[1])
        left = left[:, :most]
        # The sign of a singular vector is up to the library; here the entry of largest size is positive.
        left = left * np.sign(left[np.abs(left).argmax(axis=0), np.arange(most)])
        z = (left * spread[:most]) @ self.rng.normal(size=most)
        return _sigmoid(-1.3 + 1.1 * z / z.std())


def _sigmoid(z: Floats) -> Floats:
    risk: Floats = 1.0 / (1.0 + np.exp(-z))
    return risk


def skewed_seed(oracle: SyntheticOracle, observed: int = 300, within: Odd | None = None) -> SeedTable:
    """A seed table as a fleet would bring it: skewed towards common values, at least ten samples per slice.

    Args:
        oracle: Gives the failure rates; its number seeds the draws, too.
        observed: Slices to observe.
        within: The ODD of the table where the oracle goes beyond it (`opened`): only its base slices are observed.

    Raises:
        InputError: The ODD has no more slices than that.
    """
    odd, home = oracle.odd, within or oracle.odd
    size = home.base_space.size
    if not 1 <= observed < size:
        raise InputError(f"Of {size:,} slices, from 1 to {size - 1:,} can be observed; got {observed:,}.")
    rng = np.random.default_rng(7 + oracle.number)
    codes, _, order = _document_order(odd)
    share = np.ones(len(codes))
    for k in odd.active:
        share = share * _shares(home, k)[codes[:, k]]
    p = share[order] / share.sum()
    picked = np.sort(rng.choice(len(p), observed, replace=False, p=p))
    n = np.full(observed, 10) + rng.poisson(np.clip(p[picked] / p[picked].mean() * 2, 0, 60))
    failed = rng.binomial(n, oracle.risk[order[picked]])
    by_id = np.argsort(order[picked])
    mean = 1.0 - failed / n
    slices = codes[order[picked]][by_id]
    return SeedTable(home, slices, n[by_id].astype(np.int64), mean[by_id], np.full(observed, np.nan))


def _shares(odd: Odd, k: int) -> Floats:
    """Share of each code of a dimension: `SHARES` where they name its base values, else 1, 1/2, 1/3 ... in the order of the document."""
    base = [v.name for v in odd.dimensions[k].base]
    named = SHARES.get(odd.names[k], {})
    known = set(base) == set(named)
    out = np.zeros(odd.codec.sizes[k])
    for i, v in enumerate(base):
        out[odd.codec.code_of[k][v]] = named[v] if known else 1.0 / (i + 1)
    shares: Floats = out / out.sum()
    return shares
