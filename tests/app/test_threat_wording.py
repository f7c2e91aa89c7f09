"""Sentences of the pages about trajectory threats for none, one and several of everything, and for sets that are gone."""

from __future__ import annotations

import re

import pytest

from tests.apptest import open_page, text
from tests.cases import case
from tests.labels.desk import keep, person, say

VIEWS = {
    "cases": ("Cases", "Metrics", "Sets and import"),
    "review": ("Disagreements", "Agreement", "Progress", "Times", "Export"),
    "threats": ("Planners", "By threat", "By metric", "Overlap"),
}
ALL = [(page, view) for page, views in VIEWS.items() for view in views]
NOUNS = "case|scene|planner|label|verdict|row|reason|example|person|people|metric|flag|training case|flagged case|hidden check"
WRONG = re.compile(
    rf"(?<![\d.,@])(?:1 (?:(?:{NOUNS})s\b|people\b)|(?:0|[2-9]|\d\d+) (?:{NOUNS.replace('|people', '')})\b(?! of (?:cases|scenes)))"
)


@pytest.mark.parametrize(
    ("sentence", "right"),
    [
        ("1 cases", False),
        ("1 case", True),
        ("0 case", False),
        ("12 cases", True),
        ("11 case", False),
        ("1 people", False),
        ("0.1 cases", True),
    ],
)
def test_the_pattern_finds_wrong_numbers(sentence, right):
    assert (WRONG.search(sentence) is None) is right


@pytest.mark.parametrize("labels", ["", "Y", "U", "YN", "YU", "YY", "YNU"])
def test_numbers_and_nouns_agree_for_one_scene(store, labels):
    planners = "ab" if len(labels) > 1 else "a"
    set_id = keep(store, [case(f"s0-{p}") for p in planners])
    for name, label in zip(("Ann", "Bob", "Cyd"), labels, strict=False):
        say(store, set_id, person(store, name), dict.fromkeys((f"s0-{p}" for p in planners), label))
    for page, view in ALL:
        app = open_page(page, cases=set_id, view=view)
        assert not app.exception, (page, view)
        found = WRONG.search(text(app))
        assert found is None, (page, view, found)


@pytest.mark.parametrize(("page", "deleted"), [(p, d) for p in (*VIEWS, "label") for d in (False, True)])
def test_a_set_that_is_gone_is_said_with_the_one_that_is_shown(store, page, deleted):
    gone, there = keep(store, [case("s0-a")], name="Gone"), keep(store, [case("s1-a")], name="There")
    if deleted:
        store.cases.delete(gone)
    else:
        gone = "deadbeef"
    said = text(open_page(page, **{"set" if page == "label" else "cases": gone})).replace("&#34;", '"')
    reason = (
        'the case set "Gone", which lies in the bin' if deleted else 'the case set "deadbeef", which is not in this workspace (any more)'
    )
    assert reason in said
    assert page == "label" or "This is There." in said
    again = text(open_page(page, **{"set" if page == "label" else "cases": there}))
    assert "The address asks" not in again


def test_nobody_is_compared_before_two_people_labelled(store):
    set_id = keep(store, [case("s0-a"), case("s1-a")])
    assert "No label that counts yet." in text(open_page("review", cases=set_id))
    for name in ("Ann", "Bob"):
        say(store, set_id, person(store, name), {"s0-a": "Y"})
        said = text(open_page("review", cases=set_id))
        compared = name == "Bob"
        assert ("no case to compare yet" in said) is not compared
        assert ("on 1 case without an Unsure" in said) is compared
