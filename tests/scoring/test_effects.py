"""Purified effect tables: sums and margins, posterior deviations against the joint covariance, support, and what is named first."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from core.odd import infer_odd
from core.scoring import Effect, Effects, fit_ridge, ridge_effects, strongest
from core.scoring.ridge import MEAN_VARIANCE, RidgeModel, value_kernels
from core.seed_table import SeedTable
from core.similarity import UNIT
from tests.scoring.test_ridge import BUILT_IN, TWO, all_slices, sampled

ODD = infer_odd({"a": list("pqr"), "b": list("xyzw"), "c": ["no", "yes"]})


def model_of(slices: int = 14, seed: int = 1, **options: object) -> RidgeModel:
    rng = np.random.default_rng(0)
    base = all_slices(ODD)
    risk = 0.4 + rng.normal(0, 0.1, 3)[base[:, 0]] + rng.normal(0, 0.15, (4, 2))[base[:, 1], base[:, 2]]
    return fit_ridge(sampled(ODD, slices, seed, np.clip(risk, 0, 1), n=150), (0, 1, 2), **options)  # type: ignore[arg-type]


def joint(model: RidgeModel, shown: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and covariance of all raw effects (constant, singles, pairs), and the matrix that purifies them."""
    d = len(model.dims)
    odd = model.odd
    x = model.observed.codes[:, model.dims]
    c = [np.eye(odd.codec.sizes[k]) if model.kernels is None else model.kernels[i] for i, k in enumerate(model.dims)]
    t1, t2 = model.s1 / d, 2 * model.s2 / (d * (d - 1)) if d > 1 else 0.0
    keys = list(combinations(range(d), 2))
    names = [("m",)] + [(i, u) for i in range(d) for u in range(len(shown[i]))]
    names += [(i, j, u, v) for i, j in keys for u in range(len(shown[i])) for v in range(len(shown[j]))]

    def prior(e: tuple, f: tuple) -> float:
        if len(e) != len(f) or (len(e) == 2 and e[0] != f[0]) or (len(e) == 4 and e[:2] != f[:2]):
            return 0.0
        if len(e) == 1:
            return MEAN_VARIANCE
        if len(e) == 2:
            return t1 * c[e[0]][shown[e[0]][e[1]], shown[e[0]][f[1]]]
        i, j = e[:2]
        return t2 * c[i][shown[i][e[2]], shown[i][f[2]]] * c[j][shown[j][e[3]], shown[j][f[3]]]

    def data(e: tuple) -> np.ndarray:
        if len(e) == 1:
            return np.full(len(x), MEAN_VARIANCE)
        if len(e) == 2:
            return t1 * c[e[0]][shown[e[0]][e[1]], x[:, e[0]]]
        i, j, u, v = e
        return t2 * c[i][shown[i][u], x[:, i]] * c[j][shown[j][v], x[:, j]]

    cross = np.array([data(e) for e in names])
    k = sum(t1 * c[i][np.ix_(x[:, i], x[:, i])] for i in range(d)) + MEAN_VARIANCE + np.diag(model.noise)
    for i, j in keys:
        k = k + t2 * c[i][np.ix_(x[:, i], x[:, i])] * c[j][np.ix_(x[:, j], x[:, j])]
    first = np.array([[prior(e, f) for f in names] for e in names])
    covariance = first - cross @ np.linalg.solve(k, cross.T)
    mean = cross @ np.linalg.solve(k, model.observed.error - model.mean)
    mean[0] += model.mean
    at = {e: p for p, e in enumerate(names)}
    move = np.zeros((len(names), len(names)))
    for e, p in at.items():
        if len(e) == 4:
            i, j, u, v = e
            for q in range(len(shown[i])):
                for w in range(len(shown[j])):
                    move[p, at[i, j, q, w]] = ((q == u) - 1 / len(shown[i])) * ((w == v) - 1 / len(shown[j]))
        elif len(e) == 2:
            i, u = e
            for q in range(len(shown[i])):
                weight = (q == u) - 1 / len(shown[i])
                move[p, at[i, q]] = weight
                for a, b in keys:
                    if i in (a, b):
                        j = b if i == a else a
                        for w in range(len(shown[j])):
                            move[p, at[(a, b, q, w) if i == a else (a, b, w, q)]] = weight / len(shown[j])
        else:
            for f, q in at.items():
                sizes = [len(shown[z]) for z in (f[:1] if len(f) == 2 else f[:2])] if len(f) > 1 else [1]
                move[p, q] = 1 / np.prod(sizes)
    return move @ mean, move @ covariance @ move.T, first


def flat(effects: Effects) -> tuple[np.ndarray, np.ndarray]:
    tables = [*effects.singles, *effects.pairs.values()]
    effect = np.concatenate([[effects.mean], *(t.effect.ravel() for t in tables)])
    return effect, np.concatenate([[effects.mean_sd], *(t.sd.ravel() for t in tables)])


@pytest.mark.parametrize("slices", [1, 5, 14, 24])
def test_effects_and_deviations_are_those_of_the_joint_posterior(slices: int) -> None:
    model = model_of(slices)
    mean, covariance, _ = joint(model, [np.arange(v) for v in ODD.codec.sizes])
    effect, sd = flat(ridge_effects(model))
    assert np.abs(effect - mean).max() < 1e-7
    assert np.abs(sd - np.sqrt(np.maximum(np.diag(covariance), 0))).max() < 1e-7


def test_the_same_with_values_that_are_alike_and_fewer_values_shown() -> None:
    rng = np.random.default_rng(3)
    alike = []
    for v in ODD.codec.sizes:
        z = rng.normal(size=(v, 3)) + 1
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        alike.append(np.rint(z @ z.T * UNIT).astype(np.int32))
    model = model_of(alike=alike)
    assert model.kernels is not None
    assert all(np.array_equal(a, b) for a, b in zip(model.kernels, value_kernels(alike, ODD.codec.sizes), strict=True))
    space = ODD.codec.space([["p", "r"], ["w", "x", "y"], ["no", "yes"]])
    shown = [np.array([0, 2]), np.array([ODD.codec.code_of[1][v] for v in "wxy"]), np.array([0, 1])]
    mean, covariance, _ = joint(model, shown)
    effects = ridge_effects(model, space)
    assert effects.singles[1].values == ("w", "x", "y")
    effect, sd = flat(effects)
    assert np.abs(effect - mean).max() < 1e-7
    assert np.abs(sd - np.sqrt(np.maximum(np.diag(covariance), 0))).max() < 1e-7


def test_every_margin_is_zero_and_the_sum_is_the_prediction() -> None:
    seed = sampled(BUILT_IN, 120, 3)
    model = fit_ridge(seed, BUILT_IN.active)
    effects = ridge_effects(model)
    assert [s.values for s in effects.singles] == [tuple(v.name for v in BUILT_IN.dimensions[k].base) for k in BUILT_IN.active]
    assert all(abs(s.effect.sum()) < 1e-12 for s in effects.singles)
    for p in effects.pairs.values():
        assert np.abs(p.effect.sum(axis=0)).max() < 1e-12
        assert np.abs(p.effect.sum(axis=1)).max() < 1e-12
    base = all_slices(BUILT_IN)
    place = [{BUILT_IN.codec.code_of[k][v]: i for i, v in enumerate(s.values)} for k, s in zip(model.dims, effects.singles, strict=True)]
    at = np.array([[place[i][row[k]] for i, k in enumerate(model.dims)] for row in base.tolist()])
    total = effects.mean + sum(s.effect[at[:, i]] for i, s in enumerate(effects.singles))
    total = total + sum(p.effect[at[:, i], at[:, j]] for (i, j), p in effects.pairs.items())
    said = model.predict(base)
    assert np.abs(total - said).max() < 1e-9
    assert effects.mean == pytest.approx(said.mean())
    # The tables share out the variance over all combinations.
    squares = effects.strength() ** 2
    assert np.trace(squares) + np.triu(squares, 1).sum() == pytest.approx(said.var())
    assert sum(effects.shares()) == pytest.approx(1)


def test_support_is_counted_over_the_observed_slices() -> None:
    rows = [("p", "x", "no", 5), ("p", "y", "no", 7), ("q", "x", "yes", 11)]
    seed = SeedTable.from_slices(
        ODD, [dict(zip("abc", r[:3], strict=True)) for r in rows], [r[3] for r in rows], [0.5, 0.6, 0.7]
    )  # fmt: skip
    effects = ridge_effects(fit_ridge(seed, (0, 1, 2)))
    assert effects.singles[0].n.tolist() == [12, 11, 0]
    assert effects.singles[0].slices.tolist() == [2, 1, 0]
    p = effects.pair("a", "c")
    assert p.n.tolist() == [[12, 0], [0, 11], [0, 0]]
    assert p.slices.tolist() == [[2, 0], [0, 1], [0, 0]]
    turned = effects.pair("c", "a")
    assert turned.rows == ("no", "yes")
    assert turned.n.tolist() == np.array(p.n).T.tolist()
    assert np.array_equal(turned.effect, p.effect.T)
    assert (effects.samples, effects.slices) == (23, 3)
    with pytest.raises(KeyError):
        effects.pair("a", "a")


def test_a_planted_effect_is_named_first_and_its_mirror_is_not() -> None:
    base = all_slices(TWO)
    seed = SeedTable(TWO, base, np.full(4, 400), np.array([0.9, 0.88, 0.5, 0.52]), np.full(4, np.nan))
    effects = ridge_effects(fit_ridge(seed, (0, 1)))
    first = strongest(effects, 5, pairs=False)
    assert [e.values for e in first] == [("night",), (first[1].values[0],)]
    assert first[0].effect == pytest.approx(0.19, abs=0.02)
    assert first[0].clear
    assert not first[1].clear
    assert first[0].sentence() == f"night adds {first[0].effect:.3f} ± {first[0].sd:.3f} to the risk"
    pairs = strongest(effects, 5, pairs=True)
    assert len(pairs) <= 1  # a table of two by two has one number
    assert all(e.effect > 0 for e in pairs)


def test_sentences() -> None:
    one = Effect(("t",), ("night",), -0.1, 0.02, 3, 1)
    two = Effect(("t", "f"), ("night", "yes"), 0.1, 0.02, 3, 1)
    off = Effect(("t", "f"), ("night", "yes"), -0.1, 0.2, 3, 1)
    assert one.sentence() == "night takes 0.100 ± 0.020 off the risk"
    assert two.sentence(("night", "fog: yes")) == "night with fog: yes adds a further 0.100 ± 0.020"
    assert off.sentence() == "night with yes takes 0.100 ± 0.200 off what the two add"
    assert [one.clear, two.clear, off.clear] == [True, True, False]


def test_strongest_are_sorted_by_certainty_and_have_samples() -> None:
    effects = ridge_effects(model_of(12))
    for pairs in (False, True):
        found = strongest(effects, 100, pairs)
        ratios = [round(abs(e.effect) / e.sd, 6) for e in found]
        assert ratios == sorted(ratios, reverse=True)
        assert all(e.n > 0 for e in found)
        assert strongest(effects, 2, pairs) == found[:2]
        assert len({(e.dimensions, e.values) for e in found}) == len(found)
    two_values = [e for e in strongest(effects, 100, False) if e.dimensions == ("c",)]
    assert len(two_values) == 1


@pytest.mark.parametrize("dims", [(0,), (0, 1)])
def test_without_differences_every_effect_is_zero_and_nothing_is_named(dims: tuple[int, ...]) -> None:
    seed = SeedTable(TWO, all_slices(TWO), np.full(4, 9), np.ones(4), np.full(4, np.nan))
    effects = ridge_effects(fit_ridge(seed, dims))
    assert effects.mean == 0
    assert effects.mean_sd > 0
    assert len(effects.pairs) == len(dims) - 1
    assert not effects.strength().any()
    assert effects.shares() == (0, 0)
    assert strongest(effects, 3, False) == strongest(effects, 3, True) == ()


def test_more_slices_than_effects_have_the_same_deviations(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = infer_odd({"a": list("xyz"), "b": list("xyzw"), "c": ["no", "yes"]})
    seed = sampled(odd, 22, 3)
    by_effects = ridge_effects(fit_ridge(seed, (0, 2)))
    monkeypatch.setattr("core.scoring.ridge._features", lambda *_: None)
    by_slices = ridge_effects(fit_ridge(seed, (0, 2)))
    assert np.abs(flat(by_effects)[1] - flat(by_slices)[1]).max() < 1e-9
