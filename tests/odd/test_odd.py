"""The built-in ODD holds what the issue and the paper say; codecs, documents and inference keep their promises."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.odd import SliceCodec, built_in, from_document, infer_odd, load_yaml, slice_text, to_document, to_yaml

NAMES = st.text(alphabet="abcxyzé _-", min_size=1, max_size=6).filter(lambda s: s.strip() == s)
VOCABULARIES = st.lists(st.lists(NAMES, min_size=1, max_size=4, unique=True), min_size=1, max_size=5)


def test_the_built_in_odd_has_the_sizes_of_the_paper() -> None:
    odd = built_in()
    assert odd.base_space.size == 3_840
    assert odd.codec.size == 91_445_760
    assert len(odd.names) == 9
    assert [odd.names[k] for k in odd.active] == [n for n in odd.names if n != "road_users_present"]


@pytest.mark.parametrize(
    ("fixed", "size"),
    [({"weather_visibility": ["foggy"], "environment": ["highway"]}, 240), ({"environment": ["construction"]}, 960)],
)
def test_filtered_spaces_have_the_sizes_of_the_design(fixed: dict[str, list[str]], size: int) -> None:
    odd = built_in()
    space = odd.codec.space([fixed.get(d.name, [v.name for v in d.base]) for d in odd.dimensions])
    assert space.size == size
    assert sum(len(block) for block in space.chunks(100)) == size


def test_every_dimension_and_value_of_the_built_in_odd_is_documented() -> None:
    odd = built_in()
    for d in odd.dimensions:
        assert set(d.standards) == {"iso34503", "iso21448", "sae_j3016"}
        for v in d.values:
            assert v.definition and v.concept
            assert v.tier == "base" or v.parent in {b.name for b in d.base}


@given(VOCABULARIES)
def test_ids_follow_the_lexicographic_order_of_the_tuples(vocabulary: list[list[str]]) -> None:
    codec = SliceCodec(tuple(f"d{k}" for k in range(len(vocabulary))), tuple(tuple(sorted(v)) for v in vocabulary))
    tuples = sorted(product(*vocabulary))
    ids = [codec.encode_names(t) for t in tuples]
    assert ids == list(range(codec.size))
    assert codec.names(codec.decode(np.array(ids))) == tuples
    assert np.array_equal(codec.encode(codec.decode(ids)), ids)


def test_ids_reach_to_the_end_of_64_bits_and_no_further() -> None:
    two = tuple((f"d{k}", ("a", "b")) for k in range(63))
    codec = SliceCodec(tuple(n for n, _ in two), tuple(v for _, v in two))
    assert codec.size == 2**63
    assert codec.encode_names(["b"] * 63) == 2**63 - 1
    assert codec.names(codec.decode([2**63 - 1])) == [("b",) * 63]
    with pytest.raises(InputError, match=r"2\^63"):
        SliceCodec((*codec.dimensions, "one_more"), (*codec.values, ("a", "b")))


@pytest.mark.parametrize("bad", [-1, 12])
def test_an_id_outside_the_vocabulary_is_refused(bad: int) -> None:
    codec = SliceCodec(("a", "b"), (("x", "y", "z"), ("1", "2", "3", "4")))
    with pytest.raises(InputError, match="run from 0 to 11"):
        codec.decode([bad])


def test_a_document_reads_back_the_same_and_any_edit_changes_the_hash() -> None:
    odd = built_in()
    assert load_yaml(to_yaml(odd)).hash == odd.hash
    document = to_document(odd)
    document["dimensions"]["time"]["values"][0]["definition"] += " Edited."
    assert from_document(document).hash != odd.hash


def test_added_values_and_dropped_dimensions_get_a_hash_of_their_own() -> None:
    odd = built_in()
    more = odd.with_values({"time": ["eclipse"]})
    fewer = odd.restricted(["time", "environment"])
    assert len({odd.hash, more.hash, fewer.hash}) == 3
    assert more.base_space.size == 3_840 // 2 * 3
    assert fewer.names == ("time", "environment")


def test_words_that_yaml_would_turn_into_something_else_stay_words() -> None:
    odd = load_yaml("dimensions:\n  answer:\n    values: [no, yes, null, NA, 1, 1.0, ~, on]\n")
    assert [v.name for v in odd.dimensions[0].values] == ["no", "yes", "null", "NA", "1", "1.0", "~", "on"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [1,", "not valid YAML"),
        ("- a", "must be a mapping"),
        ("name: x", "dimensions"),
        ("dimensions: {}", "dimensions"),
        ("dimensions: {a: {values: []}}", r"dimensions\.a\.values"),
        ("dimensions: {a: {values: [x, X]}}", "each value once"),
        ("dimensions: {a: {values: [{name: x, tier: extended}]}}", "no base value"),
        ("dimensions: {a: {values: [x, {name: y, tier: extended, parent: z}]}}", 'got "z"'),
        ("dimensions: {a: {values: [x], colour: red}}", "colour"),
        ("dimensions: {a: {values: [x]}, a: {values: [y]}}", "2 times"),
        ("dimensions: {a: {values: [{name: x, tier: inner}]}}", "tier"),
    ],
)
def test_a_broken_document_names_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_yaml(text)


def test_all_problems_of_a_document_are_listed_at_once() -> None:
    with pytest.raises(InputError) as e:
        load_yaml("dimensions: {a: {values: [x, X]}, b: {values: [{name: y, tier: extended}]}}")
    assert {p.column for p in e.value.problems} >= {"dimensions.a.values", "dimensions.b.values"}


def test_an_inferred_odd_is_the_product_of_what_occurs() -> None:
    odd = infer_odd({"time": ["night", "day", "day"], "fog": ["none", "NA"]})
    assert odd.base_space.size == 4
    assert odd.codec.values == (("day", "night"), ("NA", "none"))


@pytest.mark.parametrize(
    ("columns", "says"),
    [({}, "at least one column"), ({"a": []}, "no value"), ({"a": [str(i) for i in range(100_000)]}, "100,000 distinct")],
)
def test_columns_that_are_no_dimension_are_refused(columns: dict[str, list[str]], says: str) -> None:
    with pytest.raises(InputError, match=says):
        infer_odd(columns)


def test_the_text_of_a_slice_names_the_active_dimensions_only() -> None:
    odd = built_in()
    text = slice_text(odd, next(odd.base_space.chunks())[:1], odd.active)[0]
    assert text.startswith("weather visibility: clear, sky conditions: clear, time: day")
    assert "road users" not in text
    assert "_" not in text
