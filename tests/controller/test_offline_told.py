"""What a question says and nothing is made of is told: words without a use, orders that were not understood, values in doubt."""

import re

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from core.controller.cues import cues, is_cue_word
from core.controller.language import idle_stems, language, negation_words
from core.controller.offline import plan_offline
from core.controller.spelling import _ordinary, spelled
from core.controller.words import stem, tokens
from core.odd import Dimension, Odd, Value, built_in

NO_RAIN = {"weather_visibility": {"snowy", "foggy", "clear"}}


def planned(query):
    return plan_offline(query, built_in())


def where(query):
    """Filter of the ranking inside the ODD."""
    return {d: set(vs) for d, vs in planned(query).plan.last("in_odd").where.items()}


def told(query):
    """Words that the plan says it did not use."""
    notes = " ".join(n for n in planned(query).plan.notes if n.startswith("Not used: "))
    return " ".join(re.findall('"([^"]*)"', notes)).casefold()


@pytest.mark.parametrize(
    "query",
    """What is missing? Keep the rain out of it|leave rain out of this; list the gaps|Recommend slices and take rain off the list
    rule out rain: what is missing?|gaps; drop the rain|gaps, no need to look at rain|gaps: hold the rain|gaps: rain (no thanks)
    gaps, rain: no|What is missing, with rain put aside?|gaps but give rain a miss|list gaps. Rain is off the table
    gaps: keep all the rain scenes out of the ranking|gaps; strike rain off|gaps; get rid of rain|gaps; keep rain away
    gaps; throw rain out please|gaps; rain should be kept out|gaps; cross rain off the list""".replace("\n", "|").split("|"),
)
def test_a_value_between_a_verb_and_its_particle_or_with_an_answer_is_left_out(query):
    assert where(query.strip()) == NO_RAIN


def test_an_answer_is_about_the_value_before_it_alone():
    assert where("gaps: fog (yes), rain (no thanks)") == {"weather_visibility": {"foggy"}}
    assert where("gaps: fog & rain (no thanks)") == NO_RAIN
    assert 'not sure whether "fog"' in " ".join(planned("gaps: fog & rain (no thanks)").plan.notes)


@pytest.mark.parametrize(
    "query",
    [
        "gaps off rain",
        "no to rain; list gaps",
        "gaps, no real rain please",
        "gaps; do not test rain",
        "gaps; rain nope",
        "gaps with rain off the cards",
    ],
)
def test_a_value_near_a_word_that_looks_negative_and_is_not_understood_has_no_effect(query):
    assert where(query) in ({}, NO_RAIN)
    assert re.search("not sure|Left out", " ".join(planned(query).plan.notes))


@pytest.mark.parametrize("words", ["out", "off", "away", "aside", "nope", "no", "never", "not", "none", "without", "stop"])
@pytest.mark.parametrize("pattern", ["gaps; {} the rain", "gaps; rain {}", "gaps; {} to rain", "gaps; rain is {}"])
def test_a_bare_negative_beside_a_value_never_makes_it_the_only_one(words, pattern):
    assert where(pattern.format(words)) in ({}, NO_RAIN)


@pytest.mark.parametrize(
    "query",
    ["find out what is missing in rain", "what's out there in rain that we miss?", "where can't it cope in rain",
     "Which scenarios are not yet tested in rain?",
     "where is the model not robust in rain?", "What should we poke next when it's raining and dark outside?",
     "haven't we tested rain?", "gaps with the lights off in rain",
     "which scenarios turned out badly in rain and what is missing?"],
)  # fmt: skip
def test_other_uses_of_those_words_leave_nothing_out(query):
    assert where(query)["weather_visibility"] == {"rainy"}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("hardly anyone is on the road: what is missing at night?", "hardly anyone"),
        ("What is missing at night with a wrong-way driver?", "wrong-way driver"),
        ("What is missing at night near a school bus?", "school bus"),
        ("What is missing at night in the runway area?", "runway"),
        ("What is missing at night, a judge asks", "judge"),
    ],
)
def test_words_that_mean_something_elsewhere_are_told_where_they_mean_nothing(query, words):
    assert words in told(query)


def test_what_is_said_of_a_wrong_way_driver_is_no_question_about_failures():
    assert "triage" not in cues(tokens("a wrong-way driver"))
    assert "triage" in cues(tokens("where is it wrong"))


BASES = """What is missing at night in tunnels|Which foggy night scenarios are we missing
Fetch images for the riskiest gaps and evaluate the model on them""".replace("\n", "|").split("|")


@settings(max_examples=300, deadline=None)
@example("forgo", 0, "Which foggy night scenarios are we missing")
@example("hardly", 0, "What is missing at night in tunnels")
@given(st.sampled_from(sorted(_ordinary())) | st.sampled_from(sorted(language().domain)), st.integers(0, 6), st.sampled_from(BASES))
def test_no_word_vanishes(word, at, base):
    words = base.split()
    query = " ".join([*words[:at], word, *words[at:]])
    found = planned(query)
    toks, slips = spelled(tokens(query))
    asked = cues(toks)
    i = [t.text for t in tokens(query)].index(word)
    read = any(word in r.phrase.casefold().split() for r in (*found.readings, *found.suggestions))
    known = word in language().stop or stem(word) in idle_stems() or len(word) == 1
    cue = any(s.start <= i < s.end for spans in asked.spans.values() for s in spans) and (
        is_cue_word(word) or any(s.at == i for s in slips)
    )
    mentioned = stem(word) in {stem(w) for d in built_in().dimensions for w in tokens_of(d)}
    negated = word in negation_words() and re.search("Left out|not sure|combination", " ".join(found.plan.notes))  # "forgo foggy"
    assert found.clarify or read or known or cue or mentioned or negated or word in told(query).split(), query


def tokens_of(dimension):
    """Words that a dimension is called."""
    return [t.text for text in (dimension.name, dimension.label) for t in tokens(text)]


def test_a_number_that_was_read_is_not_told():
    assert told("a dozen night gaps") == told("top 5 candidates at night") == ""


@pytest.mark.parametrize("query", ["gaps with stop&go traffic", "gaps with stop + go traffic", "gaps with stop & go traffic"])
def test_and_has_signs(query):
    assert [r.value for r in planned(query).readings] == ["stop_and_go"]


def test_a_sign_within_a_name_is_no_and():
    assert [t.text for t in tokens("C++ 5+ +5 + x")] == ["c", "+", "+", "5", "+", "+", "5", "and", "x"]


def test_a_question_back_tells_what_was_recognised():
    found = planned("tunnel with purple flying elephants and golden umbrellas")
    assert '"tunnel" (environment=tunnel) was recognised' in found.clarify and "No condition" not in found.clarify
    assert planned("purple elephants").clarify.startswith("No condition")


NEITHER = 'Nothing is fetched or evaluated: say "find samples" or "evaluate the model" for that.'
UNDERSTOOD_LESS = """Samples for the dry untested slices, please|Please arrange the datas for all gaps at night
    It is necessary to me to have the images for the gaps by day|We miss night tests. Could you see what the datastore has?
    please test the model now on the gaps at night|Do the full loop for our gaps, from samples to scores|eval ext. odd: dusk
    The gaps at night should be tested and the answers be graded|Package of clips for the night gaps, around five per gap"""
TELLING = """Which scenarios lack test coverage at night?|test cases missing at night
    What is the sample size of the table at night?|Where do we lack data at night?|Which conditions are missing from our data?
    What should we evaluate next at night?|Which night slices were never evaluated?
    Where does it fail in images taken at night?|I'd like a clear picture of the gaps at night|What did the last evaluation miss at night?
    Which night gaps are in none of the samples?|List night gaps, but fetch no images
    gaps at night; do not evaluate anything|Do we have enough footage at night?"""


@pytest.mark.parametrize("query", UNDERSTOOD_LESS.replace("\n", "|").split("|"))
def test_an_order_for_samples_or_an_evaluation_that_was_not_understood_is_told_once(query):
    plan = planned(query.strip()).plan
    assert not {"acquire", "evaluate"} & {s.op for s in plan.steps}
    assert sum(NEITHER in n for n in plan.notes) == 1


@pytest.mark.parametrize("query", TELLING.replace("\n", "|").split("|"))
def test_words_of_samples_that_ask_for_nothing_are_no_such_order(query):
    plan = planned(query.strip()).plan
    assert plan.steps and not any("Nothing is" in n for n in plan.notes)


def test_samples_without_the_evaluation_that_was_meant_are_told():
    plan = planned("Find samples for night gaps and let the answers be judged").plan
    assert [s.op for s in plan.steps] == ["in_odd", "acquire"]
    assert 'Nothing is evaluated: say "evaluate the model" for that.' in plan.notes


@pytest.mark.parametrize("query", ["Find samples for gaps at night", "Evaluate the model on gaps at night"])
def test_what_the_note_says_to_say_is_understood(query):
    plan = planned(query).plan
    assert "acquire" in {s.op for s in plan.steps} and not any("Nothing is" in n for n in plan.notes)


def test_a_word_that_stands_twice_is_told_once():
    odd = Odd("own", 1, (Dimension("0", "0", (Value("0", "base"),)),), {}, "own")
    found = plan_offline("0 0 ice not ice", odd)
    assert [r.how for r in found.readings if r.phrase == "ice"] == ["unsupported"]
    assert [n for n in found.plan.notes if n.startswith("Not used")] == []
