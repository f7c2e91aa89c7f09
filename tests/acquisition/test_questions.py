from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.acquisition.fidelity import flag_of
from core.acquisition.questions import read_questions, shipped_questions, template_question
from core.errors import InputError
from core.odd import built_in

ODD = built_in()
DOC = shipped_questions()
CATEGORIES = [v.name for v in ODD.by_name["question_category"].values]
SCENE = [d for d in ODD.dimensions if d.name != "question_category"]
TAGS = st.fixed_dictionaries({d.name: st.sampled_from([None, *d.by_name, tuple(list(d.by_name)[:2])]) for d in SCENE})


def test_shipped_templates_name_what_the_odd_has_and_cover_every_category():
    assert DOC.check(ODD) == ()
    assert {t.category for t in DOC.templates} == set(CATEGORIES)


@given(st.sampled_from([[d.base for d in SCENE]]), st.data())
def test_every_slice_of_the_base_odd_can_be_asked_in_every_category(bases, data):
    tags = {d.name: data.draw(st.sampled_from(base)).name for d, base in zip(SCENE, bases, strict=True)}
    for category in CATEGORIES:
        assert template_question(ODD, tags, category, "k", DOC) is not None


@given(TAGS, st.sampled_from(CATEGORIES), st.text(max_size=8))
def test_the_right_answer_is_the_statement_of_the_tag_and_no_other_option_can_be(tags, category, key):
    made = template_question(ODD, tags, category, key, DOC)
    again = template_question(ODD, dict(reversed(tags.items())), category, key, DOC)
    assert made == again
    if made is None:
        return
    template = next(t for t in DOC.templates if t.id == made.template)
    value_of = {s: v for v, s in template.statements.items()}
    values = [value_of[o] for o in made.options]
    right = values["ABCD".index(made.answer)]
    assert (template.category, right) == (category, tags[made.dimension])
    assert 2 <= len(set(made.options)) == len(made.options) <= DOC.options
    for a in values:
        assert all(a == b or flag_of(ODD, made.dimension, a, b) == "mismatch" for b in values)


def test_what_is_missing_or_open_is_not_asked_about():
    assert template_question(ODD, {}, "scene_observation", "k", DOC) is None
    assert template_question(ODD, {"time": ("day", "dusk")}, "scene_observation", "k", DOC) is None
    assert template_question(ODD, {"time": "night"}, "no_category", "k", DOC) is None


def test_different_samples_get_different_questions_and_places_of_the_answer():
    tags = {"weather_visibility": "foggy", "time": "night", "environment": "highway", "road_condition": "wet", "traffic_type": "dense"}
    made = [template_question(ODD, tags, "scene_observation", f"{i}", DOC) for i in range(60)]
    assert len({m.template for m in made if m}) == 5
    assert len({m.answer for m in made if m and len(m.options) == 4}) == 4


HEAD = "name: x\nversion: 1\noptions: 4\n"
ONE = "templates: [{id: a, category: c, dimension: d, question: q, statements: {x: X, y: Y}}]"


def test_a_small_document_is_read():
    assert read_questions(HEAD + ONE).templates[0].statements == {"x": "X", "y": "Y"}


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "templates: []",
        HEAD + ONE.replace("Y}", "X}"),
        HEAD + ONE.replace(", y: Y", ""),
        HEAD + ONE.replace("question: q, ", ""),
        HEAD + ONE + "\nextra: 1",
        HEAD.replace("4", "1") + ONE,
        HEAD + "templates: [",
    ],
)
def test_templates_that_break_the_schema_are_refused(text):
    with pytest.raises(InputError):
        read_questions(text)


def test_the_digest_follows_the_content():
    assert read_questions(HEAD + ONE).sha256 == read_questions("# a remark\n" + HEAD + ONE).sha256
    assert read_questions(HEAD + ONE).sha256 != read_questions(HEAD + ONE.replace("question: q", "question: r")).sha256
