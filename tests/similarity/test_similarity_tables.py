import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.odd import Dimension, Odd, Value, built_in
from core.similarity import UNCOVERED, UNIT, SimilarityTables, exact_similarity
from core.similarity.tables import mean_of_cosines


def _tables(odd, dims, rng, low=-200_000, high=700_000):
    out = []
    for k in dims:
        t = rng.integers(low, high, (odd.codec.sizes[k],) * 2)
        out.append((np.triu(t) + np.triu(t, 1).T).astype(np.int32))
    return SimilarityTables("calibrated", odd, tuple(dims), tuple(out), "m@1")


def _codes(odd, n, rng):
    return np.stack([rng.integers(0, v, n) for v in odd.codec.sizes], axis=1).astype(np.int32).reshape(n, len(odd.codec.sizes))


def test_sum_of_two_tables_by_hand(odd_of):
    odd = odd_of(2, 2)
    t0 = np.array([[600_000, 100_000], [100_000, 500_000]], np.int32)
    t1 = np.array([[450_000, -150_000], [-150_000, 400_000]], np.int32)
    s = SimilarityTables("calibrated", odd, (0, 1), (t0, t1))
    everything = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32)
    assert s.matrix(everything, everything).tolist() == [
        [1_000_000, 450_000, 550_000, 0],  # 1,050,000 is clipped to 1, -50,000 to 0
        [450_000, 1_000_000, 0, 500_000],
        [550_000, 0, 950_000, 350_000],
        [0, 500_000, 350_000, 900_000],
    ]


@pytest.mark.parametrize(("n", "p"), [(0, 3), (3, 0), (0, 0), (1, 1), (2_049, 2)])
def test_shapes_at_the_edges(odd_of, n, p):
    odd = odd_of(3, 2)
    rng = np.random.default_rng(0)
    s = _tables(odd, (0, 1), rng)
    a, b = _codes(odd, n, rng), _codes(odd, p, rng)
    m = s.matrix(a, b)
    assert m.shape == (n, p) and m.dtype == np.int32
    assert np.array_equal(m, _brute(s, a, b))


def _brute(s, a, b):
    out = np.zeros((len(a), len(b)), dtype=np.int32)
    for i, x in enumerate(a.tolist()):
        for j, y in enumerate(b.tolist()):
            out[i, j] = min(max(sum(int(t[x[k], y[k]]) for k, t in zip(s.dims, s.tables, strict=True)), 0), UNIT)
    return out


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(0, 2**32), st.data())
def test_matrix_equals_brute_force_on_random_odds(sizes, seed, data):
    odd = Odd("toy", 1, tuple(Dimension(f"d{k}", "", tuple(Value(f"v{i}") for i in range(n))) for k, n in enumerate(sizes)))
    dims = sorted(data.draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1)))
    rng = np.random.default_rng(seed)
    s = _tables(odd, dims, rng)
    a, b = _codes(odd, 7, rng), _codes(odd, 4, rng)
    assert np.array_equal(s.matrix(a, b), _brute(s, a, b))
    assert np.array_equal(s.matrix(a, b), s.matrix(b, a).T)


@given(st.integers(1, 40), st.data())
def test_exact_counts_equal_values_and_ties_exactly(k, data):
    odd = Odd("toy", 1, tuple(Dimension(f"d{i}", "", (Value("a"), Value("b"))) for i in range(k)))
    s = exact_similarity(odd, range(k))
    equal = data.draw(st.integers(0, k))
    zero = np.zeros((1, k), np.int32)
    order = data.draw(st.permutations(range(k)))
    other = np.ones((1, k), np.int32)
    other[0, list(order)[:equal]] = 0
    got = int(s.matrix(zero, other)[0, 0])
    assert got == min(UNIT, equal * -(-UNIT // k))
    assert 0 <= got - equal / k * UNIT < k
    assert s.matrix(zero, zero)[0, 0] == UNIT


def test_exact_over_some_dimensions_ignores_the_others(odd_of):
    s = exact_similarity(odd_of(2, 2, 2), [0, 2])
    assert s.matrix(np.array([[0, 0, 0]]), np.array([[0, 1, 0], [0, 1, 1], [1, 0, 1]])).tolist() == [[UNIT, 500_000, 0]]
    assert s.provenance()["mode"] == "exact" and s.provenance()["dimensions"] == ["d0", "d2"] and s.provenance()["model"] is None


def test_exact_needs_a_dimension(odd_of):
    with pytest.raises(InputError, match="at least one dimension"):
        exact_similarity(odd_of(2), [])


def test_uncovered_values_are_all_named(odd_of):
    odd = odd_of(2, 2, extended=1)
    t = np.full((3, 3), UNCOVERED, np.int32)
    t[:2, :2] = 400_000
    s = SimilarityTables("calibrated", odd, (0, 1), (t, t))
    fine = np.array([[0, 1]], np.int32)
    assert s.matrix(fine, fine).tolist() == [[800_000]]
    with pytest.raises(InputError) as e:
        s.matrix(fine, np.array([[2, 0], [0, 2], [2, 2]], np.int32))
    assert [(p.column, p.got, p.allowed) for p in e.value.problems] == [("d0", "x00", "v00, v01"), ("d1", "x00", "v00, v01")]
    assert s.matrix(fine[:0], fine).shape == (0, 1)


def test_codes_outside_the_vocabulary_are_a_bug_and_not_read_from_the_end(odd_of):
    s = exact_similarity(odd_of(2), [0])
    with pytest.raises(ValueError, match="never negative"):
        s.matrix(np.array([[-1]]), np.array([[0]]))
    with pytest.raises(IndexError):
        s.matrix(np.array([[2]]), np.array([[0]]))


@pytest.mark.parametrize("table", [np.array([[1, 2], [3, 1]], np.int32), np.ones((2, 3), np.int32), np.ones((2, 2))])
def test_tables_must_be_symmetric_squares_of_int32(odd_of, table):
    with pytest.raises(ValueError, match="symmetric int32"):
        SimilarityTables("calibrated", odd_of(2), (0,), (table,))


def test_bind_moves_entries_by_name():
    ab = Odd("one", 1, (Dimension("x", "", (Value("a"), Value("c"))), Dimension("y", "", (Value("p"),))))
    more = Odd("two", 1, (Dimension("z", "", (Value("q"),)), Dimension("x", "", (Value("c"), Value("b"), Value("a")))))
    s = SimilarityTables("calibrated", ab, (0,), (np.array([[900_000, 300_000], [300_000, 800_000]], np.int32),), "m@1")
    bound = s.bind(more)
    assert bound.dims == (1,) and bound.covered_values == (("a", "c"),)
    rows = np.array([[0, 0], [0, 2]], np.int32)
    assert bound.matrix(rows, rows).tolist() == [[900_000, 300_000], [300_000, 800_000]]
    assert bound.sha256 == s.sha256
    with pytest.raises(InputError, match="do not cover 1 value"):
        bound.matrix(rows, np.array([[0, 1]], np.int32))


def test_calibrated_tables_refuse_other_dimensions_than_those_fitted(odd_of):
    odd = odd_of(2, 2, 2)
    s = _tables(odd, (0, 1, 2), np.random.default_rng(0))
    assert s.bind(odd).sha256 == s.sha256
    with pytest.raises(InputError, match="were made for the dimensions d0, d1, d2; asked for: d0, d2"):
        s.bind(odd.restricted(["d0", "d2"]))
    with pytest.raises(InputError, match="asked for: d1"):
        s.bind(odd, [1])


def test_factored_tables_of_fewer_dimensions_are_the_mean_over_those(odd_of):
    odd = odd_of(2, 3, 2)
    c = [np.full((v, v), off, np.int32) for v, off in ((2, 200_001), (3, 333_334), (2, 7))]
    for table in c:
        np.fill_diagonal(table, UNIT)
    whole = mean_of_cosines(odd, (0, 1, 2), c, "m@1", {})
    part = whole.bind(odd.restricted(["d0", "d2"]))
    direct = mean_of_cosines(odd.restricted(["d0", "d2"]), (0, 1), [c[0], c[2]], "m@1", {})
    rows = np.array([[0, 0], [0, 1], [1, 1]], np.int32)
    assert np.array_equal(part.matrix(rows, rows), direct.matrix(rows, rows)) and part.sha256 == direct.sha256
    assert part.matrix(rows, rows).tolist()[0] == [UNIT, 500_004, 100_004]  # (1 + 7e-6) / 2 and (.200001 + .000007) / 2, each half rounded
    three = np.array([[0, 0, 0], [1, 2, 1]], np.int32)
    assert whole.matrix(three, three).tolist() == [[UNIT, 177_780], [177_780, UNIT]]  # 66667 + 111111 + 2


def test_exact_binds_to_anything(odd_of):
    s = exact_similarity(odd_of(2, 2, 2), [0, 1, 2]).bind(odd_of(3, 4))
    assert s.dims == (0, 1) and s.matrix(np.array([[2, 3]]), np.array([[2, 0]])).tolist() == [[500_000]]


def test_sum_does_not_depend_on_blocks():
    odd = built_in()
    rng = np.random.default_rng(3)
    s = _tables(odd, range(9), rng, -50_000, 150_000)
    a, b = _codes(odd, 5_000, rng), _codes(odd, 20, rng)
    whole = s.matrix(a, b)
    assert np.array_equal(whole, np.concatenate([s.matrix(a[i : i + 37], b) for i in range(0, 5_000, 37)]))


def test_import_brings_in_nothing_heavy():
    names = "torch, sentence_transformers, transformers, scipy, huggingface_hub"
    code = f"""
import sys, core.similarity, core.similarity.build_assets
heavy = [m for m in "{names}".split(", ") if m in sys.modules]
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
