"""RiskRidge: a case by hand, the tables against the kernel form, planted risks, and tables of one slice or one dimension."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import multivariate_normal

from core.errors import InputError
from core.odd import Odd, built_in, infer_odd
from core.scoring import ScoringParameters, fit_ridge, gather_evidence, make_scope, make_scorer, ridge, shrink
from core.scoring.ridge import GRID, RISK_UNIT, kernel_matrices, value_kernels
from core.seed_table import SeedTable
from core.settings import Settings
from core.similarity import UNIT, exact_similarity, value_cosines
from core.similarity.tables import UNCOVERED

TWO = infer_odd({"time": ["day", "night"], "fog": ["no", "yes"]})
BUILT_IN = built_in()


def all_slices(odd: Odd) -> np.ndarray:
    return np.concatenate(list(odd.base_space.chunks()))


def sampled(odd: Odd, slices: int, seed: int, risk: np.ndarray | None = None, n: int = 30) -> SeedTable:
    """Random tested slices whose errors are drawn from a risk (one per base slice), or at random."""
    rng = np.random.default_rng(seed)
    base = all_slices(odd)
    at = np.sort(rng.choice(len(base), slices, replace=False))
    p = rng.random(slices) if risk is None else risk[at]
    counts = rng.integers(max(n // 3, 1), 2 * n, slices)
    return SeedTable(odd, base[at], counts, 1 - rng.binomial(counts, p) / counts, np.full(slices, np.nan))


def brute(seed: SeedTable, dims: tuple[int, ...], codes: np.ndarray, kernels=None, error=None) -> tuple[np.ndarray, float]:
    """The kernel form as the prototype writes it, every grid point through a plain multivariate normal density."""
    x, z = seed.codes[:, dims], codes[:, dims]
    d = len(dims)

    def k(a, b):
        out1, out2 = np.zeros((len(a), len(b))), np.zeros((len(a), len(b)))
        for i, j in product(range(len(a)), range(len(b))):
            c = [float(a[i, t] == b[j, t]) if kernels is None else kernels[t][a[i, t], b[j, t]] for t in range(d)]
            out1[i, j] = sum(c) / d
            out2[i, j] = (sum(c) ** 2 - sum(v * v for v in c)) / (d * (d - 1)) if d > 1 else 0
        return out1, out2

    e, prior = shrink(seed.error, seed.n)
    y = (seed.error if error is None else error) - prior.mean
    noise = np.diag(np.maximum(e * (1 - e), 0.02) / seed.n)
    k1, k2 = k(x, x)
    best = (-math.inf, 0.0, 0.0)
    for s1, s2 in product(GRID, GRID if d > 1 else GRID[:1]):
        value = multivariate_normal.logpdf(y, cov=s1 * k1 + s2 * k2 + noise + 1e-3)
        if value > best[0] + 1e-9:
            best = (value, s1, s2)
    value, s1, s2 = best
    j1, j2 = k(z, x)
    solved = cho_solve(cho_factor(s1 * k1 + s2 * k2 + noise + 1e-3, lower=True), y)
    return prior.mean + (s1 * j1 + s2 * j2 + 1e-3) @ solved, value


def test_two_slices_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """(day, no) and (night, yes) share no value, so K1 = identity and K2 = identity; n = 100, errors 0 and 1.

    Mean 1/2 and s1 = s2 = .02 fixed: w = y / (.04 + noise) with y = -+1/2, since the constant cancels.
    """
    monkeypatch.setattr(ridge, "GRID", (0.02,))
    seed = SeedTable.from_slices(TWO, [{"time": "day", "fog": "no"}, {"time": "night", "fog": "yes"}], [100, 100], [1.0, 0.0])
    model = fit_ridge(seed, (0, 1))
    shrunk, prior = shrink(seed.error, seed.n)
    noise = max(float(shrunk[0] * (1 - shrunk[0])), 0.02) / 100
    w = 0.5 / (0.04 + noise)
    assert prior.mean == 0.5
    assert model.weights.tolist() == pytest.approx([-w, w])
    assert model.constant == RISK_UNIT // 2
    assert (model.singles[0] / RISK_UNIT).tolist() == pytest.approx([-0.01 * w, 0.01 * w], abs=1e-9)  # s1 / D
    assert (model.pairs[0, 1] / RISK_UNIT).tolist() == [pytest.approx([-0.02 * w, 0], abs=1e-9), pytest.approx([0, 0.02 * w], abs=1e-9)]
    # The untested (day, yes) gets half of each: the mean again. The tested ones keep .04 / (.04 + noise) of their distance to it.
    said = model.predict(all_slices(TWO))
    assert said[1] == pytest.approx(0.5, abs=1e-8)
    assert said[0] == pytest.approx(0.5 - 0.04 * w, abs=1e-8)


@pytest.mark.parametrize(("slices", "dims"), [(1, (0, 1, 2)), (12, (0, 2, 4)), (40, (0, 1, 2, 3, 4, 5, 6, 7)), (45, (1,))])
def test_the_tables_say_what_the_kernel_form_says(slices: int, dims: tuple[int, ...]) -> None:
    seed = sampled(BUILT_IN, slices, slices)
    codes = all_slices(BUILT_IN)[:: 3_840 // 60]
    model = fit_ridge(seed, dims)
    expected, value = brute(seed, dims, codes)
    assert np.abs(model.predict(codes) - expected).max() <= 1e-6
    assert model.log_likelihood == pytest.approx(value, abs=1e-6)
    assert len(model.pairs) == len(dims) * (len(dims) - 1) // 2


def test_more_slices_than_effects_are_solved_by_effects_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = infer_odd({"a": list("xyz"), "b": list("xyzw"), "c": list("xy")})
    seed, dims, base = sampled(odd, 22, 3), (0, 2), all_slices(odd)
    assert ridge._features(seed.codes[:, dims]) is not None
    model = fit_ridge(seed, dims)
    assert np.abs(model.predict(base) - brute(seed, dims, base)[0]).max() <= 1e-6
    monkeypatch.setattr(ridge, "_features", lambda *_: None)
    other = fit_ridge(seed, dims)
    assert (other.s1, other.s2, other.constant) == (model.s1, model.s2, model.constant)
    assert other.log_likelihood == pytest.approx(model.log_likelihood, abs=1e-8)
    assert np.array_equal(other.predict_units(base), model.predict_units(base))


def test_the_same_holds_where_values_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = infer_odd({"a": list("xyz"), "b": list("xyzw"), "c": list("xy")})
    seed, dims, base = sampled(odd, 22, 3), (0, 2), all_slices(odd)
    rng = np.random.default_rng(5)
    alike = []
    for size in (3, 2):
        v = rng.normal(size=(size, 4))
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        alike.append(np.rint(v @ v.T * UNIT).astype(np.int32))
    x = seed.codes[:, dims]
    kernels = ridge.value_kernels(alike, (3, 2))
    features = ridge._features(x, kernels)
    assert features is not None
    for made, wanted in zip(features, ridge.kernel_matrices(x, x, kernels), strict=True):
        assert np.abs(made @ made.T - wanted).max() < 1e-9
    model = fit_ridge(seed, dims, alike=alike)
    monkeypatch.setattr(ridge, "_features", lambda *_: None)
    other = fit_ridge(seed, dims, alike=alike)
    assert (other.s1, other.s2) == (model.s1, model.s2)
    assert np.abs(other.predict_units(base) - model.predict_units(base)).max() <= 10


def test_values_that_are_alike_lend_each_other_their_effects() -> None:
    rng = np.random.default_rng(5)
    dims = tuple(range(9))
    alike = []
    for k in dims:
        v = rng.normal(size=(BUILT_IN.codec.sizes[k], 4)) + 1.5
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        t = np.rint(v @ v.T * UNIT).astype(np.int32)
        np.fill_diagonal(t, UNIT)
        alike.append(t)
    whole = BUILT_IN.codec.space(BUILT_IN.codec.values)
    codes = BUILT_IN.codec.decode(np.sort(rng.choice(whole.size, 40, replace=False)))
    seed = sampled(BUILT_IN, 25, 6)
    model = fit_ridge(seed, dims, alike=alike)
    kernels = value_kernels(alike, [BUILT_IN.codec.sizes[k] for k in dims])
    expected, value = brute(seed, dims, codes, kernels)
    assert np.abs(model.predict(codes) - expected).max() <= 1e-6
    assert model.log_likelihood == pytest.approx(value, abs=1e-6)
    outside = ~BUILT_IN.is_base[0]
    assert np.all(model.singles[0][outside] != 0)
    # With equality a value never seen has no effect, and the prediction is still there.
    plain = fit_ridge(seed, dims)
    assert np.all(plain.singles[0][outside] == 0)
    assert plain.predict(codes).shape == (40,)


def test_kernels_of_values_have_no_negative_eigenvalue_and_uncovered_values_stand_alone() -> None:
    bad = np.array([[UNIT, UNIT, 0], [UNIT, UNIT, UNIT], [0, UNIT, UNIT]], dtype=np.int32)
    (c,) = value_kernels([bad], [3])
    assert np.linalg.eigvalsh(c).min() >= -1e-12
    hole = np.array([[UNIT, UNCOVERED], [UNCOVERED, UNCOVERED]], dtype=np.int32)
    assert value_kernels([hole], [2])[0].tolist() == [[1, 0], [0, 1]]
    with pytest.raises(ValueError, match="must have the shapes"):
        value_kernels([bad], [2])


@pytest.mark.parametrize("dims", [(0,), (0, 1), (0, 1, 2, 3)])
def test_equality_as_a_table_is_equality(dims: tuple[int, ...]) -> None:
    seed = sampled(BUILT_IN, 30, 9)
    same = [np.eye(BUILT_IN.codec.sizes[k], dtype=np.int32) * UNIT for k in dims]
    a, b = fit_ridge(seed, dims), fit_ridge(seed, dims, alike=same)
    base = all_slices(BUILT_IN)
    assert np.array_equal(a.predict_units(base), b.predict_units(base))


def test_a_planted_risk_is_found_better_than_the_mean_says() -> None:
    odd = infer_odd({"a": list("pqr"), "b": list("pqrs"), "c": list("pqr"), "d": list("pqrs")})
    base, rng = all_slices(odd), np.random.default_rng(0)
    together = rng.normal(0, 0.12, (3, 4))[base[:, 2], base[:, 3]]
    risk = 0.4 + together + rng.normal(0, 0.08, 3)[base[:, 0]] + rng.normal(0, 0.08, 4)[base[:, 1]]
    risk = np.clip(risk, 0.02, 0.98)
    seed = sampled(odd, 80, 2, risk, n=200)
    model = fit_ridge(seed, (0, 1, 2, 3))
    missing = ~np.isin(odd.codec.encode(base), seed.ids)
    left = np.mean((model.predict(base) - risk)[missing] ** 2) / np.mean((model.mean - risk)[missing] ** 2)
    assert left < 0.1
    assert model.s2 > 0


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_without_differences_the_prediction_is_the_mean(mean: float) -> None:
    base = all_slices(TWO)
    seed = SeedTable(TWO, base[:3], np.array([5, 1, 9]), np.full(3, mean), np.full(3, np.nan))
    model = fit_ridge(seed, (0, 1))
    assert (model.s1, model.s2) == (0, 0)
    assert np.all(model.predict(base) == 1 - mean)


def test_one_slice_gives_its_error_everywhere_and_one_dimension_has_no_pairs() -> None:
    seed = SeedTable.from_slices(TWO, [{"time": "day", "fog": "no"}], [4], [0.25])
    assert fit_ridge(seed, (0, 1)).predict(all_slices(TWO)).tolist() == [0.75] * 4
    model = fit_ridge(sampled(TWO, 3, 1), (1,))
    assert model.pairs == {}
    assert model.s2 == 0


def test_other_errors_can_be_fitted_in_place_of_the_tables() -> None:
    seed = sampled(BUILT_IN, 40, 8, n=4)
    shrunk, _ = shrink(seed.error, seed.n)
    codes = all_slices(BUILT_IN)[::100]
    model = fit_ridge(seed, BUILT_IN.active, shrunk)
    assert np.abs(model.predict(codes) - brute(seed, BUILT_IN.active, codes, error=shrunk)[0]).max() <= 1e-6


def test_the_order_of_the_rows_of_a_file_changes_no_bit() -> None:
    rows = [dict(zip(TWO.names, s, strict=True)) for s in (("day", "no"), ("night", "yes"), ("night", "no"))]
    n, mean = [40, 30, 20], [0.9, 0.1, 0.3]
    model = fit_ridge(SeedTable.from_slices(TWO, rows, n, mean), (0, 1))
    for order in ([2, 1, 0], [1, 0, 2]):
        other = fit_ridge(SeedTable.from_slices(TWO, [rows[i] for i in order], [n[i] for i in order], [mean[i] for i in order]), (0, 1))
        assert other.constant == model.constant
        assert all(np.array_equal(a, b) for a, b in zip(other.singles, model.singles, strict=True))
        assert np.array_equal(other.pairs[0, 1], model.pairs[0, 1])
        assert other.log_likelihood == model.log_likelihood


def test_equal_pairs_are_counted_as_matching_dimensions() -> None:
    base = all_slices(BUILT_IN)[:200:7][:, :8]
    h = (base[:, None] == base[None]).sum(axis=2)
    k1, k2 = kernel_matrices(base, base)
    np.testing.assert_allclose(k1, h / 8, atol=1e-15)
    np.testing.assert_allclose(k2, h * (h - 1) / 56, atol=1e-15)


def test_what_cannot_be_fitted_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = sampled(BUILT_IN, 30, 1)
    with pytest.raises(ValueError, match="ascending order"):
        fit_ridge(seed, (2, 1))
    with pytest.raises(ValueError, match="a tested slice"):
        fit_ridge(seed.select(np.zeros(30, dtype=bool)), (0, 1))
    monkeypatch.setattr(ridge, "MAX_UNKNOWNS", 20)
    with pytest.raises(InputError, match="got 30"):
        fit_ridge(seed, BUILT_IN.active)


def test_a_dimension_in_which_nothing_varies_is_left_out_so_that_pairs_stay_pairs() -> None:
    odd = infer_odd({"a": list("xyz"), "b": list("xyzw"), "c": list("xy")})
    seed = sampled(odd, 12, 3)
    seed = seed.select(seed.codes[:, 2] == 0)
    assert ridge.varied_dims(seed, (0, 1, 2)) == (0, 1)
    one = seed.select(np.arange(len(seed.n)) == 0)
    assert ridge.varied_dims(one, (0, 2)) == (0, 2)


def test_the_effects_are_those_of_the_active_dimensions_in_and_out_of_the_odd() -> None:
    odd = built_in()
    rng = np.random.default_rng(4)
    codes = np.concatenate(list(odd.base_space.chunks()))
    codes = codes[rng.choice(len(codes), 150, replace=False)]
    rows = [dict(zip(odd.names, v, strict=True)) for v in odd.codec.names(codes)]
    night = [r["time"] == "night" for r in rows]
    seed = SeedTable.from_slices(odd, rows, [30] * 150, [0.4 if n else 0.9 for n in night])
    params = ScoringParameters(risk="ridge")
    settings = Settings.from_environment()
    inside = make_scorer(gather_evidence(seed, params), params, exact_similarity(odd, odd.active)).ridge
    scope = make_scope(odd, "both")
    evidence, cosines = gather_evidence(seed, params, scope), value_cosines(odd, settings)
    outside = make_scorer(evidence, params, exact_similarity(odd, range(9)), scope, cosines).ridge
    assert inside is not None
    assert outside is not None
    assert inside.dims == outside.dims == odd.active
