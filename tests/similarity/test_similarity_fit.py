import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.errors import InputError
from core.odd import slice_text, value_text
from core.similarity import UNIT
from core.similarity.calibrated import MIN_TEST, FitSize, _solve, _split, factored_tables, fit_tables
from core.similarity.encoder import Encoder
from core.similarity.text import text_similarity

SMALL = FitSize(200, 60)


def test_an_additive_truth_is_found_again():
    rng = np.random.default_rng(0)
    sizes = [3, 2, 4]
    truth = []
    for v in sizes:
        t = rng.uniform(0.1, 0.3, (v, v))
        truth.append((t + t.T) / 2)
    everything = np.array([[a, b, c] for a in range(3) for b in range(2) for c in range(4)], np.int32)
    i, j = np.triu_indices(24)
    target = sum(t[everything[i, k], everything[j, k]] for k, t in enumerate(truth))
    many = 200  # so that the mild damping does not matter
    i, j, target = np.tile(i, many), np.tile(j, many), np.tile(target, many)
    tables = _solve(everything[i], everything[j], target, [np.arange(v, dtype=np.int32) for v in sizes], sizes)
    back = sum(t[everything[i, k], everything[j, k]] for k, t in enumerate(tables)) / UNIT
    assert np.abs(back - target).max() < 2e-3
    assert all(np.array_equal(t, t.T) and t.dtype == np.int32 for t in tables)


def test_quality_of_held_out_tuples_is_that_of_the_whole_space(odd_of, stub):
    odd = odd_of(6, 5, 4, 3)
    codes = next(odd.base_space.chunks())
    text = text_similarity(odd, range(4), [codes], Encoder(stub)).matrix(codes, codes)
    i, j = np.triu_indices(len(codes), 1)
    truth = text[i, j] / UNIT
    said, real = [], []
    for seed in range(6):  # about 30 held-out tuples each: one alone is a noisy witness
        tables = fit_tables(odd, range(4), "all", Encoder(stub), size=SMALL, seed=seed)
        q = tables.quality
        assert q["measured_on"] == "held-out tuples" and q["n_tuples_test"] >= MIN_TEST
        assert q["n_pairs"] == q["n_tuples_fit"] * (q["n_tuples_fit"] + 1) // 2
        guess = tables.matrix(codes, codes)[i, j] / UNIT
        said.append((q["r2"], q["mae"]))
        real.append((1 - ((truth - guess) ** 2).sum() / ((truth - truth.mean()) ** 2).sum(), np.abs(truth - guess).mean()))
    (r2, mae), (true_r2, true_mae) = np.mean(said, axis=0), np.mean(real, axis=0)
    assert true_r2 > 0.7
    assert abs(r2 - true_r2) < 0.03 and abs(mae - true_mae) < 0.005


def test_the_same_seed_gives_the_same_tables(odd_of, stub, stub_class):
    odd = odd_of(6, 5, 4, 3)
    one = fit_tables(odd, range(4), "all", Encoder(stub), size=SMALL)
    two = fit_tables(odd, range(4), "all", Encoder(stub_class()), size=SMALL)
    three = fit_tables(odd, range(4), "all", Encoder(stub), size=SMALL, seed=1)
    assert one.sha256 == two.sha256 != three.sha256 and dict(one.quality) == dict(two.quality)


def test_a_tiny_odd_is_fitted_on_all_its_tuples_and_says_so(odd_of, stub):
    odd = odd_of(2, 2)
    tables = fit_tables(odd, (0, 1), "all", Encoder(stub))
    assert tables.quality["n_tuples_fit"] == 4 and tables.quality["n_tuples_test"] == 0
    assert "too few" in tables.quality["measured_on"]
    assert tables.matrix(np.array([[0, 0]]), np.array([[1, 1]])).shape == (1, 1)


def test_one_slice_has_no_quality(odd_of, stub):
    q = fit_tables(odd_of(1), (0,), "all", Encoder(stub)).quality
    assert (q["r2"], q["mae"], q["spearman"]) == (None, None, None) and q["n_pairs"] == 1


def test_base_scope_covers_base_values_only(odd_of, stub):
    odd = odd_of(3, 2, extended=2)
    tables = fit_tables(odd, (0, 1), "base", Encoder(stub))
    assert tables.covered_values == (("v00", "v01", "v02"), ("v00", "v01"))
    assert not any("x0" in t for batch in stub.asked for t in batch)
    with pytest.raises(InputError, match="x00"):
        tables.matrix(np.array([[3, 0]]), np.array([[0, 0]]))


def test_dimensions_that_are_not_fitted_are_not_written(odd_of, stub):
    fit_tables(odd_of(3, 4, 2), (0, 2), "all", Encoder(stub))
    assert sorted(t for batch in stub.asked for t in batch) == [f"d0: v{i:02d}, d2: v{j:02d}" for i in range(3) for j in range(2)]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 2**32), st.data())
@hypothesis_settings(deadline=None)
def test_sets_of_tuples_are_disjoint_and_every_value_is_fitted(sizes, seed, data):
    from core.odd import Dimension, Odd, Value

    odd = Odd("toy", 1, tuple(Dimension(f"d{k}", "", tuple(Value(f"v{i}") for i in range(n))) for k, n in enumerate(sizes)))
    dims = tuple(sorted(data.draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1))))
    fit, test = _split(odd.base_space, dims, SMALL, np.random.default_rng(seed))
    ids, held = odd.codec.encode(fit), odd.codec.encode(test)
    assert np.all(np.diff(ids) > 0) and np.all(np.diff(held) > 0) and not set(ids) & set(held)
    assert len(held) == 0 or len(held) >= MIN_TEST
    for k in range(len(sizes)):
        assert len(np.unique(fit[:, k])) == (sizes[k] if k in dims else 1)


def test_a_dimension_with_many_values_is_covered_whole(odd_of, stub):
    odd = odd_of(300, 2)
    tables = fit_tables(odd, (0, 1), "all", Encoder(stub), size=FitSize(100, 30))
    assert all(ok.all() for ok in tables.covered)


def test_factored_is_the_mean_of_value_cosines(odd_of, stub):
    odd = odd_of(3, 2)
    tables = factored_tables(odd, (0, 1), Encoder(stub))
    v = [stub.embed([value_text(f"d{k}", n) for n in odd.codec.values[k]]).astype(np.float64) for k in (0, 1)]
    codes = next(odd.base_space.chunks())
    mean = sum(np.clip(v[k] @ v[k].T, 0, 1)[np.ix_(codes[:, k], codes[:, k])] for k in (0, 1)) / 2
    got = tables.matrix(codes, codes)
    assert np.abs(got / UNIT - mean).max() < 2e-5
    assert (got.diagonal() == UNIT).all()
    assert slice_text(odd, codes[:1], (0, 1)) == ["d0: v00, d1: v00"]


@pytest.mark.parametrize("make", [lambda o, e: fit_tables(o, (), "all", e), lambda o, e: factored_tables(o, (), e)])
def test_a_fit_needs_a_dimension(odd_of, stub, make):
    with pytest.raises(InputError, match="at least one dimension"):
        make(odd_of(2), Encoder(stub))
