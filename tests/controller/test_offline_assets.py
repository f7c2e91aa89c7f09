"""The words that the offline controller is made of: they name what exists, and patterns mean what their language says."""

import pytest
from pydantic import ValidationError

from core.controller.cues import compiled, cues, verb_forms
from core.controller.language import Language, idioms, language
from core.controller.words import key, tokens
from core.odd import built_in


def test_everyday_phrases_belong_to_values_of_the_built_in_odd():
    known = {d.name: set(d.by_name) for d in built_in().dimensions}
    assert all(set(values) <= known[d] for d, values in language().phrases.items())


def test_no_everyday_phrase_names_two_dimensions():
    homes: dict[tuple[str, ...], set[str]] = {}
    for d, values in language().phrases.items():
        for phrases in values.values():
            for p in phrases:
                homes.setdefault(key(p), set()).add(d)
    assert {k: ds for k, ds in homes.items() if len(ds) > 1} == {}


def test_what_a_broad_question_adds_lies_outside_the_odd():
    odd = built_in()
    assert all(odd.by_name[d].by_name[v].tier == "extended" for d, vs in language().broad.items() for v in vs)


def test_the_document_takes_no_unknown_keys():
    with pytest.raises(ValidationError):
        Language.model_validate({**language().model_dump(), "more": 1})


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("get", "get getting gets got gotten"),
        ("generate", "generate generating generates generated"),
        ("look up", "look up|looking up|looks up|looked up"),
        ("try", "try trying tries tried"),
        ("fetch", "fetch fetching fetches fetched"),
        ("run", "run running runs ran"),
    ],
)
def test_forms_of_verbs(verb, forms):
    assert set(verb_forms(verb, True)) == set(forms.split("|") if "|" in forms else forms.split())
    assert verb_forms(verb, False) == verb_forms(verb, True)[:2]


def test_the_language_of_patterns():
    pattern = compiled([r"\b<get> ~2 ?<media>\b"])[0]
    assert pattern.search("get me some images") and pattern.search("getting images")
    assert not pattern.search("get me some of the images")  # three words between
    assert not pattern.search("got images")  # another form
    assert not pattern.search("get it , images")  # a sign between
    tempered = compiled([r"\b<get> ~4- ?<data>\b"])[0]
    assert tempered.search("get night data") and not tempered.search("get gaps in data")


@pytest.mark.parametrize(
    ("query", "family"),
    [
        ("beyond our ODD", "outside"),
        ("not in our ODD", "outside"),
        ("out-of-ODD", "outside"),
        ("conditions we never designed for", "outside"),
        ("inside the ODD", "inside"),
        ("do not leave our ODD", "inside"),
    ],
)
def test_inside_and_outside_exclude_each_other(query, family):
    assert {"inside", "outside"} & cues(tokens(query)).spans.keys() == {family}


def test_both_can_be_asked_for():
    assert {"inside", "outside"} <= cues(tokens("inside the ODD first, then beyond the ODD")).spans.keys()


def test_a_turn_of_phrase_is_found_as_a_range_of_words():
    assert idioms(tokens("please bridge the gap now")) == [(1, 4)]
