"""Rules on implausible combinations: read, checked, counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.odd import Dimension, Odd, Value, built_in, from_document, load_yaml, to_document, to_yaml
from core.odd.rules import Rule, count_space, hit_by_any, implausible_rules

YAML = """
dimensions:
  weather: {values: [clear, rain, {name: hail, tier: extended}]}
  road: {values: [dry, wet]}
  time: {values: [day, night]}
implausible:
  rules:
    - reason: Rain wets the road.
      all_of: {weather: [rain, hail], road: [dry]}
"""


def test_a_rule_hits_the_slices_with_one_of_its_values_in_every_dimension_it_names() -> None:
    odd = load_yaml(YAML)
    (rule,) = implausible_rules(odd)
    codes = np.concatenate(list(odd.codec.space(odd.codec.values).chunks()))
    hit = {n for n, h in zip(odd.codec.names(codes), rule.hits(codes), strict=True) if h}
    assert hit == {(w, "dry", t) for w in ("rain", "hail") for t in ("day", "night")}
    count = count_space(odd, odd.codec.space(odd.codec.values), [rule])
    assert (count.inside, count.outside, count.implausible_inside, count.implausible_outside) == (6, 2, 2, 2)


@pytest.mark.parametrize(
    ("old", "new", "got"),
    [("[rain, hail]", "[rain, hial]", "hial"), ("road: [dry]", "raod: [dry]", "raod"), ("road: [dry]", "road: []", "no value")],
)
def test_a_rule_that_could_never_hit_is_refused_with_the_names_there_are(old: str, new: str, got: str) -> None:
    with pytest.raises(InputError) as caught:
        load_yaml(YAML.replace(old, new))
    assert [p.got for p in caught.value.problems] == [got]
    assert caught.value.problems[0].allowed


def test_a_rule_without_a_reason_or_with_an_unknown_key_is_refused() -> None:
    with pytest.raises(InputError):
        load_yaml(YAML.replace("reason: Rain wets the road.", "why: Rain wets the road."))


def test_the_built_in_rules_survive_the_way_through_yaml_and_leave_the_hash_alone() -> None:
    odd = built_in()
    again = load_yaml(to_yaml(odd), "built-in")
    assert again.hash == odd.hash
    assert from_document(to_document(odd), "built-in").hash == odd.hash
    assert len(implausible_rules(odd)) == len(odd.extras["implausible"]["rules"])


def test_an_odd_with_fewer_dimensions_keeps_the_rules_that_still_say_something() -> None:
    odd = built_in().restricted(["weather_visibility", "sky_conditions", "time"])
    rules = implausible_rules(odd)
    assert 0 < len(rules) < len(implausible_rules(built_in()))
    assert load_yaml(to_yaml(odd)).names == odd.names


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_counts_are_those_of_an_enumeration(number: int) -> None:
    rng = np.random.default_rng(number)
    sizes = rng.integers(1, 5, int(rng.integers(1, 5)))
    dims = tuple(
        Dimension(f"d{k}", f"d{k}", tuple(Value(f"v{i}", tier="base" if i == 0 or rng.random() < 0.6 else "extended") for i in range(n)))
        for k, n in enumerate(sizes)
    )
    odd = Odd("random", 1, dims)
    rules = []
    for _ in range(int(rng.integers(0, 6))):
        picked = sorted(rng.choice(len(sizes), int(rng.integers(1, len(sizes) + 1)), replace=False).tolist())
        rules.append(Rule("made up", {k: rng.random(sizes[k]) < 0.5 for k in picked}))
    allowed = [[v for v in vals if v == "v0" or rng.random() < 0.8] for vals in odd.codec.values]
    space = odd.codec.space(allowed)
    codes = np.concatenate(list(space.chunks()))
    hit, inside = hit_by_any(rules, codes), odd.base_space.contains(codes)
    count = count_space(odd, space, rules)
    assert count.inside == int((inside & ~hit).sum())
    assert count.outside == int((~inside & ~hit).sum())
    assert count.implausible_inside == int((inside & hit).sum())
    assert count.implausible_outside == int((~inside & hit).sum())
