"""phi against an independent computation that follows the paper's equations one slice at a time."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.odd import Codes, Odd, from_document
from core.scoring import ScoringParameters, explain, rank_missing
from core.seed_table import SeedTable
from core.similarity import UNIT, Units


class RandomSimilarity:
    """Similarities from a seeded random table over the whole space, rounded to 1e-6, with many ties."""

    mode = "random"

    def __init__(self, odd: Odd, seed: int, levels: int) -> None:
        self.odd = odd
        n = odd.codec.size
        self.table = np.random.default_rng(seed).integers(0, levels + 1, (n, n)) * (UNIT // levels)

    def matrix(self, a: Codes, b: Codes) -> Units:
        return self.table[np.ix_(self.odd.codec.encode(a), self.odd.codec.encode(b))].astype(np.int32)

    def provenance(self) -> dict[str, Any]:
        return {"mode": self.mode}


def brute_force(seed: SeedTable, p: ScoringParameters, sim: RandomSimilarity) -> list[tuple[int, float]]:
    """(id, phi) of every missing in-ODD slice, best first, in plain Python."""
    odd = seed.odd
    observed = {}
    for record in seed.to_records():
        key = tuple(record[d] for d in odd.names)
        if all(odd.by_name[d].by_name[v].tier == "base" for d, v in zip(odd.names, key, strict=True)):
            observed[key] = (record["n"], 1 - record["mean"])
    threshold = p.support_threshold(sum(n for n, _ in observed.values()))
    if p.provisional == "missing":
        observed = {k: v for k, v in observed.items() if v[0] >= threshold}
    total = sum(n for n, _ in observed.values())
    out = []
    for s in product(*([v.name for v in d.base] for d in odd.dimensions)):
        if s in observed:
            continue
        e = 1.0
        for k, d in enumerate(odd.dimensions):
            support = sum(n for key, (n, _) in observed.items() if key[k] == s[k])
            e *= (support + p.alpha) / (total + p.alpha * len(d.base))
        w_rare = (1 - e**p.tau) ** p.gamma
        here = odd.codec.encode_names(s)
        near = sorted((-int(sim.table[here, odd.codec.encode_names(k)]), odd.codec.encode_names(k), k) for k in observed)[: p.m]
        candidates = [-u / UNIT * observed[k][1] for u, _, k in near if -u / UNIT >= p.theta]
        eps = min(max(candidates, default=0.0), p.kappa)
        out.append((here, w_rare * (1 + eps)))
    return sorted(out, key=lambda x: (-round(x[1] * 1e12), x[0]))


@st.composite
def cases(draw: st.DrawFn) -> tuple[SeedTable, ScoringParameters, RandomSimilarity]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    dims = {}
    for k, size in enumerate(sizes):
        values: list[Any] = [f"v{i}" for i in range(size)]
        if draw(st.booleans()):
            values.append({"name": "beyond", "tier": "extended"})
        dims[f"d{k}"] = {"values": values}
    odd = from_document({"dimensions": dims})
    ids = draw(st.lists(st.integers(0, odd.codec.size - 1), min_size=1, max_size=20, unique=True))
    codes = odd.codec.decode(np.array(sorted(ids)))
    n = draw(st.lists(st.integers(1, 30), min_size=len(ids), max_size=len(ids)))
    mean = draw(st.lists(st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 0.9, 1.0]), min_size=len(ids), max_size=len(ids)))
    seed = SeedTable(odd, codes, np.array(n, dtype=np.int64), np.array(mean), np.full(len(ids), np.nan))
    params = ScoringParameters(
        alpha=draw(st.sampled_from([0.5, 1.0, 3.0])),
        tau=draw(st.sampled_from([0.3, 0.6, 1.0])),
        gamma=draw(st.sampled_from([0.0, 1.0, 2.0])),
        kappa=draw(st.sampled_from([0.2, 0.8, 1.0])),
        m=draw(st.integers(1, 7)),
        theta=draw(st.sampled_from([0.0, 0.3, 0.75, 1.0])),
        min_support=draw(st.sampled_from([0, 5, 10, 0.1])),
        provisional=draw(st.sampled_from(["observed", "missing"])),
    )
    return seed, params, RandomSimilarity(odd, draw(st.integers(0, 99)), draw(st.sampled_from([4, 1000])))


def has_evidence(seed: SeedTable, params: ScoringParameters) -> bool:
    base = seed.select(seed.in_base)
    return len(base.n) > 0 and (params.provisional == "observed" or bool((base.n >= params.support_threshold(base.total)).any()))


@given(cases())
@settings(max_examples=150, deadline=None)
def test_scores_and_order_equal_brute_force(case: tuple[SeedTable, ScoringParameters, RandomSimilarity]) -> None:
    seed, params, sim = case
    if not has_evidence(seed, params):
        return
    expected = brute_force(seed, params, sim)
    ranking = rank_missing(seed, params, sim)
    assert ranking.ids.tolist() == [i for i, _ in expected]
    assert np.abs(ranking.phi - np.array([x for _, x in expected])).max(initial=0) <= 1e-12
    assert ranking.search.candidates == len(expected)


@given(cases())
@settings(max_examples=60, deadline=None)
def test_an_explanation_recomputes_its_score(case: tuple[SeedTable, ScoringParameters, RandomSimilarity]) -> None:
    seed, params, sim = case
    if not has_evidence(seed, params):
        return
    ranking = rank_missing(seed, params, sim, top=10)
    for i in range(len(ranking)):
        e = explain(ranking, i)
        p = [(x.count + params.alpha) / (x.total + params.alpha * x.values) for x in e.exposures]
        w_rare = (1 - math.prod(p) ** params.tau) ** params.gamma
        products = [x.similarity * x.error for x in e.neighbours]
        eps = min(max(products, default=0.0), params.kappa)
        assert math.isclose(e.phi, w_rare * (1 + eps), abs_tol=1e-12)
        assert e.capped == (max(products, default=0.0) > params.kappa)
        assert sum(x.decisive for x in e.neighbours) == (1 if max(products, default=0) > 0 else 0)
        assert e.decisive is None or math.isclose(e.decisive.product, max(products))
        assert all(x.similarity >= params.theta for x in e.neighbours)
        assert len(e.neighbours) <= params.m
        assert bool(e.why_not_higher) == (i > 0)


@given(cases(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_filter_chooses_candidates_and_never_changes_a_score(
    case: tuple[SeedTable, ScoringParameters, RandomSimilarity], data: st.DataObject
) -> None:
    seed, params, sim = case
    if not has_evidence(seed, params):
        return
    odd = seed.odd
    d = data.draw(st.sampled_from(odd.dimensions))
    keep = data.draw(st.lists(st.sampled_from([v.name for v in d.base]), min_size=1, unique=True))
    everything = rank_missing(seed, params, sim)
    some = rank_missing(seed, params, sim, where={d.name: keep})
    k = odd.names.index(d.name)
    inside = np.isin(everything.codes[:, k], [odd.codec.code_of[k][v] for v in keep])
    assert some.ids.tolist() == everything.ids[inside].tolist()
    assert np.array_equal(some.phi, everything.phi[inside])


@pytest.mark.parametrize("block", [1, 7, 10_000])
def test_the_size_of_the_blocks_does_not_show(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    odd = from_document({"dimensions": {f"d{k}": {"values": ["a", "b", "c"]} for k in range(4)}})
    ids = np.arange(0, 81, 7)
    rng = np.random.default_rng(0)
    seed = SeedTable(odd, odd.codec.decode(ids), rng.integers(1, 9, ids.size), rng.random(ids.size), np.full(ids.size, np.nan))
    sim = RandomSimilarity(odd, 1, 50)
    whole = rank_missing(seed, ScoringParameters(), sim)
    monkeypatch.setattr("core.scoring.scorer.BLOCK", block * ids.size)
    parts = rank_missing(seed, ScoringParameters(), sim)
    assert np.array_equal(whole.ids, parts.ids)
    assert np.array_equal(whole.phi, parts.phi)
    assert np.array_equal(whole.neighbours, parts.neighbours)
