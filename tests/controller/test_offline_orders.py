"""Orders in other words than the usual ones, and everything near them that is none: nothing that costs something runs unasked."""

import pytest

from core.controller.offline import asks_for, plan_offline
from core.odd import built_in


def ops(query):
    return [s.op for s in plan_offline(query, built_in()).plan.steps]


def source(query):
    step = plan_offline(query, built_in()).plan.last("acquire")
    return step.source if step else None


@pytest.mark.parametrize(
    "query",
    [
        "Images should be retrieved for the top gaps",
        "The missing tunnel images are to be fetched",
        "Samples of foggy nights must be collected",
        "Please have footage of foggy nights collected",
        "We want pictures of wet roads found in the archive",
        "I'd like five images per slice drawn for the gaps",
        "Could images be generated for the untested dusk scenes?",
        "scrape up whatever we've got on crossroads in fog",
        "Pull everything there is on rainy highways",
        "We are short of data in suburbs. Fill the gaps.",
        "Please arrange for pictures of cyclists in fog",
        "Order some clips of roundabouts",
        "get hold of footage of wet roads",
    ],
)
def test_samples_are_asked_for(query):
    assert {"acquire"} == asks_for(query) - {"synthesis"}


@pytest.mark.parametrize(
    "query",
    [
        "The five riskiest gaps are to be evaluated",
        "Untested rainy slices should be evaluated",
        "I want the answers on wet roads graded",
        "We want the model evaluated on wet roads",
        "check the model's answers on the missing rain slices",
        "Put the model through the untested tunnels",
        "put it through its paces at night",
        "mark its answers on untested rain scenes",
        "Measure performance on gaps under clear sky",
        "measure how it does on the gaps in rain",
        "How would it score on the gaps? Actually measure it.",
        "Does it survive black ice? Try it out, don't just guess.",
        "Please make test with the VLM in snow",
        "Evaluate what's missing, but not the counterfactual questions",
        "Confront the model with fog we never tested",
        "Get the model's verdict on icy bridges",
        "An evaluation should follow for the gaps",
        "Find samples for the gaps and see how the model copes",
        "Samples for the gaps should be collected and then be evaluated",
        "We worry about bridges. Evaluate the model there.",
    ],
)
def test_an_evaluation_is_asked_for(query):
    assert {"acquire", "evaluate"} <= asks_for(query)


@pytest.mark.parametrize(
    "query",
    [
        "what should we evaluate next?",
        "Which gaps should be evaluated next?",
        "List the scenarios that should be evaluated",
        "What is missing and should be evaluated?",
        "What still has to be evaluated?",
        "Tell me which conditions need to be evaluated",
        "Which samples should be collected for night driving?",
        "Which images could be fetched for tunnels?",
        "Where should we measure it?",
        "How do we test it?",
        "before we measure it, which gaps are there?",
        "where should we check its answers?",
        "Measure the accuracy on conditions already tested",
        "Have we evaluated rain?",
        "Has night been evaluated?",
        "Were the samples for tunnels already evaluated?",
        "Did anyone collect images of snow?",
        "Should tunnels be evaluated?",
        "Evaluate nothing, just list the gaps in snow",
        "Fetch no images, list the gaps",
        "Don't fetch anything yet: which slices matter most?",
        "Is it worth collecting more night images?",
        "Judging from the results, where do we fail?",
        "What's missing? Score highest first.",
        "Show me a picture of our coverage",
        "In order to see gaps at night, what is needed?",
        "How does the model perform in tunnels?",
        "Tell me how the model does at night",
        "Who fills the gaps?",
        "Which gaps has nobody tried out?",
        "how can the gaps be filled?",
    ],
)
def test_nothing_that_costs_something_is_asked_for(query):
    assert asks_for(query) == frozenset()
    assert ops(query) or plan_offline(query, built_in()).clarify


@pytest.mark.parametrize(
    "query",
    [
        "Evaluate the model on the gaps, no synthetic images",
        "get samples for the gaps, nothing generated",
        "get samples for the gaps, only recorded footage",
        "acquire samples for the gaps; synthetic images are not allowed",
        "acquire samples for the gaps without any renderings",
    ],
)
def test_no_images_are_made_where_that_is_said(query):
    assert source(query) == "datastore"


@pytest.mark.parametrize(
    "query",
    [
        "Explain the failures on highways, not a list of new things to test",
        "I'm not after suggestions for what to test next, only what went wrong at night",
        "Just the failures please, no suggestions for new tests",
        "don't bother ranking gaps, just show the errors on highways",
        "I want to know the failures, not gaps",
    ],
)
def test_no_ranking_where_none_is_wanted(query):
    assert ops(query) == ["triage"]
    assert "No ranking" in " ".join(plan_offline(query, built_in()).plan.notes)


def test_a_ranking_stays_where_only_something_else_is_refused():
    assert "in_odd" in ops("What failures and gaps are there, not at night?")
    assert "in_odd" in ops("Not enough tests at night: where are gaps and failures?")


@pytest.mark.parametrize(
    ("query", "top"),
    [("Recommend three additional tests for wet roads", 3), ("Suggest 4 more experiments at night", 4), ("5 further test cases in fog", 5)],
)
def test_tests_are_slices_where_no_samples_are_asked_for(query, top):
    found = plan_offline(query, built_in()).plan
    assert found.last("in_odd").top == top
    assert found.notes == ()


def test_samples_in_the_passive_voice_are_counted():
    found = plan_offline("Three images should be retrieved for each of the ten most urgent untested slices.", built_in()).plan
    assert (found.last("in_odd").top, found.last("acquire").per_slice) == (10, 3)


@pytest.mark.parametrize(
    ("query", "dimensions"),
    [
        ("Go outside the domain, but only weather please", {"weather_visibility"}),
        ("leave the ODD, time of day only", {"time"}),
        ("Which weather outside our ODD is risky?", {"weather_visibility"}),
        ("beyond our ODD, just the environment", {"environment"}),
        ("beyond our ODD", {"time", "road_condition", "weather_visibility"}),
    ],
)
def test_a_broad_extension_can_be_restricted(query, dimensions):
    assert set(plan_offline(query, built_in()).plan.last("out_of_odd").extend) == dimensions


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("what went wrong when it was clear", ("weather_visibility", "clear")),
        ("failures on quiet streets", ("traffic_type", "sparse")),
        ("What if the sun is very low and blinds the camera? Gaps?", ("sky_conditions", "sun_glare")),
    ],
)
def test_everyday_words(query, value):
    assert [(r.dimension, r.value) for r in plan_offline(query, built_in()).readings] == [value]


@pytest.mark.parametrize(
    "query", ["failures around school buses", "gaps in ego behaviour", "gaps with snow plows", "gaps of the fog lights"]
)
def test_things_called_after_a_condition_are_none(query):
    assert plan_offline(query, built_in()).readings == ()


@pytest.mark.parametrize(
    "query",
    [
        "Which stocks are risky?",
        "What should I cook next?",
        "What are the biggest risks for pension funds?",
        "I have a problem with my marriage",
    ],
)
def test_what_is_about_something_else_is_asked_back(query):
    assert plan_offline(query, built_in()).clarify


@pytest.mark.parametrize(
    "query", ["What blind spots exist?", "top risks pls", "what scares you most?", "Where are we weak?", "biggest weaknesses, thx"]
)
def test_what_is_short_is_still_planned(query):
    assert ops(query) == ["triage", "in_odd"]
