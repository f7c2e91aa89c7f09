import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.odd import built_in, slice_text
from core.similarity import UNIT
from core.similarity.encoder import Encoder
from core.similarity.text import MAX_TEXTS, cosines, count_texts, quantise, text_similarity


def _unit(n, d, seed):
    v = np.random.default_rng(seed).standard_normal((n, d))
    return (v / np.linalg.norm(v, axis=1, keepdims=True)).astype(np.float32)


def test_cosine_by_hand():
    v = quantise(np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]]))
    assert v[0].tolist() == [2**20, 0] and v[1].tolist() == [629_146, 838_861]  # .6 and .8 of 1,048,576, rounded
    assert cosines(v, v).tolist() == [[UNIT, 600_000, 0], [600_000, UNIT, 0], [0, 0, UNIT]]


@given(st.integers(1, 400), st.integers(0, 2**32))
def test_quantisation_stays_within_its_bound(d, seed):
    a, b = _unit(5, d, seed), _unit(4, d, seed + 1)
    plain = np.clip(a.astype(np.float64) @ b.astype(np.float64).T, 0, 1)
    # Each component is off by 2^-21 at most, so by Cauchy-Schwarz a dot product by 2 sqrt(D) 2^-21 and a little; then half a unit.
    bound = 2 * np.sqrt(d) * 2.0**-21 * (1 + 1e-4) + d * 2.0**-42 + 0.5e-6 + 1e-7
    assert np.abs(cosines(quantise(a), quantise(b)) / UNIT - plain).max() <= bound


@given(st.integers(0, 2**32), st.permutations(range(24)))
def test_dot_products_are_exact_integers_in_any_order_of_components(seed, order):
    a, b = quantise(_unit(3, 24, seed)), quantise(_unit(3, 24, seed + 1))
    by_hand = [[sum(int(x) * int(y) for x, y in zip(r, c, strict=True)) for c in b.tolist()] for r in a.tolist()]
    assert (a.astype(np.float64) @ b.astype(np.float64).T).tolist() == by_hand
    assert np.array_equal(cosines(a[:, order], b[:, order]), cosines(a, b))


def test_matrix_is_the_cosine_of_the_texts(odd_of, stub):
    odd = odd_of(3, 2, 2)
    space = odd.base_space
    s = text_similarity(odd, (0, 2), [space], Encoder(stub))
    codes = next(space.chunks())
    v = stub.embed(slice_text(odd, codes, (0, 2))).astype(np.float64)
    assert np.abs(s.matrix(codes, codes) / UNIT - np.clip(v @ v.T, 0, 1)).max() < 1e-5
    assert s.provenance() == {
        "mode": "text",
        "model": "stub@1",
        "dimensions": ["d0", "d2"],
        "template": "<dimension>: <value>, <dimension>: <value>, ... with _ read as a space",
        "texts": 6,  # d1 is not written: 3 x 2 texts for 12 slices
    }
    assert sum(map(len, stub.asked[:-1])) == 6


def test_shuffles_and_blocks_change_nothing(odd_of, stub, stub_class):
    odd = odd_of(4, 3, 5, 2)
    codes = next(odd.base_space.chunks())
    s = text_similarity(odd, range(4), [codes], Encoder(stub))
    whole = s.matrix(codes, codes[:30])
    order = np.random.default_rng(0).permutation(len(codes))
    other = text_similarity(odd, range(4), [codes[order][:50], codes[order][40:], codes[:1]], Encoder(stub_class()))
    assert np.array_equal(other.matrix(codes[order], codes[:30]), whole[order])
    assert np.array_equal(np.concatenate([s.matrix(codes[i : i + 1], codes[:30]) for i in range(len(codes))]), whole)
    assert np.array_equal(s.matrix(codes[:30], codes), whole.T)


def test_a_slice_that_was_not_embedded_is_named(odd_of, stub):
    odd = odd_of(2, 2)
    s = text_similarity(odd, (0, 1), [np.array([[0, 0]], np.int32)], Encoder(stub))
    with pytest.raises(InputError, match='2 slices were not embedded, the first is "d0: v01, d1: v00"'):
        s.matrix(np.array([[0, 0], [1, 0], [1, 1]], np.int32), np.array([[0, 0]], np.int32))


def test_nothing_to_embed(odd_of, stub):
    odd = odd_of(2, 2)
    none = np.empty((0, 2), np.int32)
    s = text_similarity(odd, (0, 1), [none], Encoder(stub))
    assert s.matrix(none, none).shape == (0, 0) and stub.asked == []
    assert text_similarity(odd, (0, 1), [], Encoder(stub)).matrix(none, none).shape == (0, 0)


def test_too_many_texts_are_refused_before_anything_is_embedded(stub):
    odd = built_in()
    everything = odd.codec.space(odd.codec.values)
    assert count_texts(range(9), [everything]) == 91_445_760
    assert count_texts(odd.active, [odd.base_space]) == 3_840
    with pytest.raises(InputError, match="91,445,760 texts; at most 100,000") as e:
        text_similarity(odd, range(9), [everything], Encoder(stub))
    assert "calibrated" in str(e.value) and "exact" in str(e.value) and stub.asked == []
    assert MAX_TEXTS == 100_000


def test_needs_a_dimension(odd_of, stub):
    with pytest.raises(InputError, match="at least one dimension"):
        text_similarity(odd_of(2), (), [], Encoder(stub))
