"""Whatever is asked of whatever vocabulary: the plan can be run, stays in the vocabulary, and quotes the question."""

from collections import OrderedDict
from itertools import pairwise
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from core.controller import suggest
from core.controller.cues import cues
from core.controller.guards import canonical, only_asked, problems
from core.controller.offline import asks_for, plan_offline
from core.controller.words import key, stem, tokens
from core.odd import Dimension, Odd, Value, built_in
from core.settings import Settings
from core.similarity import encoder as encoders

PHRASES = sorted({p for d in built_in().dimensions for v in d.values for p in (v.name, *v.synonyms)})
GLUE = """not except without no and or , ; at in on the other than regardless of but gaps missing fail outside our ODD inside edge cases
    fetch images of generate run the model them evaluate top 20 3 per slice clear what should we test only just underpass ice snow don't
    excluded left out does not matter""".split()
QUERIES = st.lists(st.sampled_from(PHRASES) | st.sampled_from(GLUE), max_size=14).map(" ".join) | st.text(max_size=60)


def runnable(query, odd):
    planned = plan_offline(query, odd)
    plan = planned.plan
    assert problems(plan, odd) == []
    assert canonical(plan, odd) == plan
    assert only_asked(plan, asks_for(query)) == plan
    assert bool(plan.steps) != bool(planned.clarify)
    assert all(r.phrase in query for r in planned.readings)
    assert all(v in odd.by_name[r.dimension].by_name for r in planned.readings if r.dimension for v in [r.value])
    assert all(s.value in odd.by_name[s.dimension].by_name for s in planned.suggestions)
    assert not unused(planned) & {r.phrase.casefold() for r in planned.readings}
    assert plan_offline(query, odd) == planned


def unused(planned):
    """Phrases that the plan says it did not use."""
    notes = [n for n in planned.plan.notes if n.startswith("Not used: ")]
    return {p.casefold() for n in notes for p in n.removeprefix("Not used: ").removesuffix(".").strip('"').split('", "')}


ASKED = (
    "gaps|where does it fail|outside our ODD|edge cases|fetch images of|generate images of|acquire samples of|evaluate the model on|"
    "stay inside the ODD|but not|except|regardless of|top 20|3 per slice"
).split("|")
SENTENCES = st.tuples(st.lists(st.sampled_from(ASKED), max_size=4), st.lists(st.sampled_from(PHRASES), max_size=4)).flatmap(
    lambda parts: st.permutations([*parts[0], *parts[1]]).map(" ".join)
)


@settings(max_examples=200, deadline=None)
@given(QUERIES | SENTENCES)
def test_any_question_to_the_built_in_odd(query):
    runnable(query, built_in())


NAMES = st.text(min_size=1, max_size=8).filter(str.strip)


@st.composite
def odds(draw):
    dims = []
    for name in draw(st.lists(NAMES, min_size=1, max_size=3, unique_by=str.casefold)):
        values = []
        for i, v in enumerate(draw(st.lists(NAMES, min_size=1, max_size=4, unique_by=str.casefold))):
            extended = i > 0 and draw(st.booleans())
            parent = values[0].name if extended and draw(st.booleans()) else ""
            synonyms = tuple(draw(st.lists(NAMES | st.sampled_from(PHRASES), max_size=1)))
            values.append(Value(v, "extended" if extended else "base", parent, synonyms=synonyms))
        dims.append(Dimension(name, name, tuple(values), extendable=draw(st.booleans())))
    extras = {"unsupported_terms": {draw(NAMES): draw(NAMES)}, "proxies": [{"term": draw(NAMES), "use": {draw(NAMES): [draw(NAMES)]}}]}
    return Odd("own", 1, tuple(dims), draw(st.sampled_from([{}, extras])))


class ByMeaning:
    """A text model to which everything means much the same, so that some left-over phrase is always read by its meaning."""

    id = "same@1"

    def embed(self, texts):
        return np.ones((len(texts), 2), dtype=np.float32)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from("slippery seaside gloom murk Slippery gaps missing untested the in and , rain".split()), max_size=8).map(
        " ".join
    )
)
def test_no_phrase_is_both_read_and_not_used(query):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoders, "installed", lambda: True)
        patch.setattr(encoders.Encoder, "from_settings", classmethod(lambda cls, settings: cls(ByMeaning())))
        patch.setattr(suggest, "_MATRICES", OrderedDict())
        planned = plan_offline(query, built_in(), Settings(Path("nowhere"), "sqlite://"))
    assert not unused(planned) & {r.phrase.casefold() for r in planned.readings}


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(odds(), st.data())
def test_any_question_to_any_odd(odd, data):
    words = [odd.name, *odd.names, *(v.name for d in odd.dimensions for v in d.values)]
    query = " ".join(data.draw(st.lists(st.sampled_from(words) | st.sampled_from(GLUE), max_size=10)))
    runnable(query, odd)


@given(st.text(max_size=40))
def test_tokens_are_in_order_and_lie_in_the_text(text):
    found = tokens(text)
    assert all(0 <= t.start < t.end <= len(text) for t in found)
    assert all(a.end <= b.end and a.start <= b.start for a, b in pairwise(found))
    cues(found)


@given(st.sampled_from(PHRASES))
def test_a_phrase_of_the_vocabulary_is_one_key_in_any_case(phrase):
    assert key(phrase.upper().replace("_", "-")) == key(phrase)


@pytest.mark.parametrize("words", ["fog foggy fogs foggier", "city cities", "tunnel tunnels", "centre center", "signalised signalized"])
def test_forms_of_a_word_share_their_stem(words):
    assert len({stem(w) for w in words.split()}) == 1


@pytest.mark.parametrize(("a", "b"), [("rain", "train"), ("training", "raining"), ("parking", "park"), ("bus", "bu"), ("day", "daily")])
def test_different_words_do_not(a, b):
    assert stem(a) != stem(b)
