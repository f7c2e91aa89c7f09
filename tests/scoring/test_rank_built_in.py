"""The built-in ODD with the tables that ship: brute force on a random seed table, sizes under filters, rounding, determinism."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core import operators
from core.odd import built_in
from core.scoring import ScoringParameters, rank_missing
from core.scoring.evidence import gather_evidence
from core.scoring.neighbours import nearest, neighbour_error
from core.seed_table import SeedTable
from core.settings import Settings
from core.similarity import UNIT, Similarity, choose_similarity

ODD = built_in()


def random_seed(slices: int, seed: int) -> SeedTable:
    rng = np.random.default_rng(seed)
    base = next(ODD.base_space.chunks(10_000))
    codes = base[np.sort(rng.choice(len(base), slices, replace=False))]
    return SeedTable(ODD, codes, rng.integers(1, 40, slices), rng.random(slices), np.full(slices, np.nan))


def shipped() -> Similarity:
    return choose_similarity(ODD, ODD.active, "calibrated", Settings.from_environment(), [ODD.base_space])


@pytest.mark.parametrize("slices", [1, 40, 150])
def test_phi_equals_brute_force_over_all_3840_slices(slices: int) -> None:
    seed, p, sim = random_seed(slices, slices), ScoringParameters(), shipped()
    ranking = rank_missing(seed, p, sim)
    base = next(ODD.base_space.chunks(10_000))
    assert len(base) == 3_840
    sims = sim.matrix(base, seed.codes).tolist()
    observed, error, total = set(seed.ids.tolist()), seed.error.tolist(), seed.total
    expected = []
    for row, codes, here in zip(sims, base.tolist(), ODD.codec.encode(base).tolist(), strict=True):
        if here in observed:
            continue
        e = 1.0
        for k, d in enumerate(ODD.dimensions):
            support = int(seed.n[seed.codes[:, k] == codes[k]].sum())
            e *= (support + p.alpha) / (total + p.alpha * len(d.base))
        near = sorted(range(slices), key=lambda j, row=row: (-row[j], j))[: p.m]  # type: ignore[misc]
        best = max((row[j] / UNIT * error[j] for j in near if row[j] / UNIT >= p.theta), default=0.0)
        expected.append((here, (1 - e**p.tau) ** p.gamma * (1 + min(best, p.kappa))))
    expected.sort(key=lambda x: (-round(x[1] * 1e12), x[0]))
    assert ranking.ids.tolist() == [i for i, _ in expected]
    assert np.abs(ranking.phi - [x for _, x in expected]).max() <= 1e-12


@pytest.mark.parametrize(
    ("where", "space"),
    [({}, 3_840), ({"weather_visibility": ["foggy"], "environment": ["highway"]}, 240), ({"environment": ["construction"]}, 960)],
)
def test_sizes_of_the_searched_spaces(where: dict[str, list[str]], space: int) -> None:
    ranking = rank_missing(random_seed(30, 3), ScoringParameters(), shipped(), where=where)
    assert ranking.search.space == space
    tested = ODD.codec.space([where.get(d.name, [v.name for v in d.base]) for d in ODD.dimensions]).contains(random_seed(30, 3).codes)
    assert ranking.search.candidates == space - int(tested.sum())


def test_what_rounding_similarities_to_a_millionth_can_change() -> None:
    """Where rounding cannot swap neighbours, phi moves by at most half a millionth times the largest factor."""
    rng = np.random.default_rng(5)
    seed, p = random_seed(60, 9), ScoringParameters()
    exact = rng.random((500, 60))
    rounded = np.rint(exact * UNIT).astype(np.int32)
    eps_rounded = neighbour_error(*nearest(rounded, p.m, p.theta), seed.error, p)
    order = np.sort(exact, axis=1)[:, ::-1]
    clear = (order[:, p.m - 1] - order[:, p.m] > 2e-6) & (np.abs(exact - p.theta) > 1e-6).all(axis=1)
    assert clear.mean() > 0.99
    for i in np.flatnonzero(clear):
        near = np.argsort(-exact[i], kind="stable")[: p.m]
        products = [exact[i, j] * seed.error[j] for j in near if exact[i, j] >= p.theta]
        assert math.isclose(min(max(products, default=0), p.kappa), eps_rounded[i], abs_tol=0.5e-6)


def test_the_same_slices_in_any_order_give_the_same_bytes() -> None:
    seed = random_seed(80, 1)
    records = seed.to_records()
    shuffled = [records[i] for i in np.random.default_rng(2).permutation(len(records))]
    again = SeedTable.from_slices(ODD, shuffled, [r["n"] for r in shuffled], [r["mean"] for r in shuffled])
    settings = Settings.from_environment()
    a, b = (operators.rank(s, ScoringParameters(), settings, top=200) for s in (seed, again))
    assert operators.as_csv(a.ranking) == operators.as_csv(b.ranking)
    assert a.manifest == b.manifest


def test_the_default_similarity_is_named_with_its_reason_in_the_manifest() -> None:
    result = operators.rank(random_seed(20, 4), ScoringParameters(), Settings.from_environment())
    assert result.manifest["similarity"]["mode"] == "calibrated"
    assert "ship" in result.manifest["similarity"]["why"]
    assert result.manifest["odd"]["sha256"] == ODD.hash
    assert len(gather_evidence(random_seed(20, 4), ScoringParameters()).observed.n) == result.manifest["seed_table"]["slices"]
