"""What a question wants left out is never put in: left out, or without effect and told where it is not sure."""

from itertools import product

import pytest

from core.controller.offline import plan_offline
from core.odd import built_in

NO_RAIN = {"snowy", "foggy", "clear"}


def planned(query):
    return plan_offline(query, built_in())


def where(query):
    """Filter of the ranking inside the ODD."""
    step = planned(query).plan.last("in_odd")
    return {d: set(vs) for d, vs in step.where.items()}


BEFORE = """apart from|aside from|besides|bar|barring|except|except for|excepting|excluding|excluding anything with|
    except those in|other than|minus|with the exception of|leaving out|leaving aside|ignoring|skipping|without|
    not counting|save for|but no need for|but skip|but ignore|but leave out|but exclude|but not in|
    but nothing with|but we do not care about|but I am not interested in|but don't show me anything with|
    but forget about|but filter out|but no need to look at|anything but|but we already have plenty of|away from|
    except anything to do with|omitting all cases of|w/o""".split("|")
AFTER = """can be skipped|can be ignored|could safely be left out|excluded|left out|is excluded|may be omitted|is not needed|not included|
    is of no interest|we can ignore|you can skip|need not be considered|is already well covered|aside""".split("|")


@pytest.mark.parametrize("words", [w.strip() for w in BEFORE])
def test_words_before_a_value(words):
    assert where(f"What should we test next, {words} rain?") == {"weather_visibility": NO_RAIN}


@pytest.mark.parametrize("words", [w.strip() for w in AFTER])
def test_words_after_a_value(words):
    assert where(f"rain {words}; what is missing?") == {"weather_visibility": NO_RAIN}


@pytest.mark.parametrize(
    ("words", "values"),
    list(product(["except", "excluding", "ignoring", "other than in"], ["fog, rain and snow", "fog or rain or snow", "fog, rain, snow"])),
)
def test_words_before_a_list(words, values):
    assert where(f"What is missing, {words} {values}?") == {"weather_visibility": {"clear"}}


@pytest.mark.parametrize("words", ["can be skipped", "excluded", "can be left out", "are not needed"])
def test_words_after_a_list(words):
    rest = {"weather_visibility": NO_RAIN, "environment": {"city_downtown", "city_suburbs", "construction"}}
    assert where(f"rain and highways {words}: what is missing?") == rest


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "gaps excluding rain, highways and night",
            {"weather_visibility": NO_RAIN, "environment": {"city_downtown", "city_suburbs", "construction"}, "time": {"day"}},
        ),
        ("gaps other than in rain and at night", {"weather_visibility": NO_RAIN, "time": {"day"}}),
        ("gaps on wet roads, rain and fog excluded", {"road_condition": {"wet"}, "weather_visibility": {"snowy", "clear"}}),
        ("gaps at night with rain and fog left out", {"time": {"night"}, "weather_visibility": {"snowy", "clear"}}),
        ("straight road gaps away from junctions", {"road_type": {"non_intersection"}}),
        ("leave rain out: night gaps", {"weather_visibility": NO_RAIN, "time": {"night"}}),
        ("coverage gaps with the exception of snow and ice", {"road_condition": {"dry", "wet"}}),
        ("gaps in rain rather than snow", {"weather_visibility": {"rainy"}}),
    ],
)
def test_how_far_it_reaches(query, expected):
    assert where(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "Which rain scenarios did we skip?",
        "Which rain scenarios are ignored by our tests?",
        "What have we left out in rain?",
        "What did we omit when it rains?",
        "Where does accuracy drop in rain?",
        "We have nothing in rain",
        "We have no rain scenarios",
        "Do we have enough rain data?",
        "Which rain situations have been neglected so far?",
        "Where do we lack data in rain?",
    ],
)
def test_what_was_left_out_of_the_tests_is_wanted(query):
    assert where(query) == {"weather_visibility": {"rainy"}}


@pytest.mark.parametrize(
    "query",
    [
        "What's untested, besides the nasty stuff in rain?",
        "excluding the boring runs in rain, what is missing?",
        "gaps excluding fog, rain",
        "gaps except dreary drives in rain",
    ],
)
def test_what_is_not_sure_has_no_effect_and_is_told(query):
    found = planned(query)
    assert "rainy" not in {v for s in found.plan.steps for v in s.where.get("weather_visibility", ())}
    assert "not sure" in " ".join(found.plan.notes) or "Left out" in " ".join(found.plan.notes)


def test_an_unsure_value_says_so_in_its_reading():
    found = planned("gaps, besides the nasty stuff in rain")
    assert [(r.phrase, r.note) for r in found.readings] == [("rain", "no effect: it is not sure whether it is wanted or to be left out")]
    assert 'say "only rain" or "not rain"' in " ".join(found.plan.notes)


def test_side_by_side_values_are_no_list():
    assert where("foggy nights excluded: what is missing?") == {}
    assert "combination" in " ".join(planned("foggy nights excluded: what is missing?").plan.notes)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("rain OR snow gaps", {"weather_visibility": {"rainy", "snowy"}}),
        ("gaps in rain and snow", {"weather_visibility": {"rainy", "snowy"}}),
        ("gaps on wet or snowy roads", {"road_condition": {"wet", "snow"}}),
        ("snow gaps", {"road_condition": {"snow"}}),
        ("in which weather do we miss tests, apart from snow", {"weather_visibility": {"foggy", "clear", "rainy"}}),
    ],
)
def test_a_word_of_two_dimensions_is_read_in_that_of_its_neighbours(query, expected):
    assert where(query) == expected
