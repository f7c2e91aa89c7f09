from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.acquisition.fidelity import fidelity, flag_of, verdict_of
from core.odd import built_in

ODD = built_in()
FLAGS = ("match", "missing", "ambiguous", "mismatch")


@pytest.mark.parametrize(
    ("dimension", "requested", "tag", "flag"),
    [
        ("weather_visibility", "rainy", "rainy", "match"),
        ("weather_visibility", "rainy", None, "missing"),
        ("weather_visibility", "rainy", "foggy", "mismatch"),
        ("weather_visibility", "rainy", "rain_heavy", "ambiguous"),  # child: heavier than asked for, or just that
        ("weather_visibility", "rain_heavy", "rainy", "ambiguous"),  # parent: some rain
        ("weather_visibility", "rain_heavy", "rain_light", "mismatch"),  # siblings exclude each other
        ("time", "day", ("day", "dusk"), "ambiguous"),
        ("time", "day", ("dawn", "dusk"), "ambiguous"),  # day is the parent of dawn
        ("weather_visibility", "snowy", ("rainy", "foggy"), "mismatch"),  # neither can be it
        ("weather_visibility", "snowy", ("unspecified",), "ambiguous"),  # stated, and nothing settled
        ("road_users_present", "unspecified", None, "match"),  # no statement was asked for, and none is made
        ("road_users_present", "unspecified", "unspecified", "match"),
        ("road_users_present", "unspecified", "pedestrians", "ambiguous"),  # belongs to another slice
        ("road_users_present", "pedestrians", "unspecified", "ambiguous"),
        ("road_users_present", "pedestrians", "cyclists", "mismatch"),
        ("no such dimension", "a", "b", "mismatch"),
    ],
)
def test_a_tag_stands_to_a_requested_value_as_it_should(dimension, requested, tag, flag):
    assert flag_of(ODD, dimension, requested, tag) == flag


def test_only_requested_dimensions_get_a_flag():
    tags = {"time": "night", "weather_visibility": "foggy", "road_condition": None}
    assert fidelity(ODD, {"time": "night", "road_condition": "wet"}, tags) == {"time": "match", "road_condition": "missing"}


@given(st.lists(st.sampled_from(FLAGS), max_size=8))
def test_one_contradiction_makes_a_candidate_invalid_and_only_full_matches_are_valid(flags):
    verdict = verdict_of({str(i): f for i, f in enumerate(flags)})
    assert (verdict == "invalid") == ("mismatch" in flags)
    assert (verdict == "valid") == all(f == "match" for f in flags)


@given(st.data())
def test_a_flag_other_than_match_or_ambiguous_never_comes_of_the_requested_value_itself(data):
    d = data.draw(st.sampled_from(ODD.dimensions))
    asked = data.draw(st.sampled_from(list(d.by_name)))
    others = data.draw(st.lists(st.sampled_from(list(d.by_name)), max_size=2))
    tag = tuple(dict.fromkeys([asked, *others]))
    assert flag_of(ODD, d.name, asked, asked) == "match"
    assert flag_of(ODD, d.name, asked, tag) == "ambiguous"
