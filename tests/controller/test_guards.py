"""Rules of plans: one form for equal plans, only names of the ODD, the order of steps, nothing paid unasked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.controller import Acquire, Evaluate, InOdd, OutOfOdd, Plan, Triage
from core.controller.guards import canonical, only_asked, ordered, problems, values_of
from core.odd import built_in, infer_odd

ODD = built_in()
WORDS = st.one_of(
    st.sampled_from(["foggy", "Fog", "light_rain", "heavy rain", "tunnel", "underpass", "rush hour", "NIGHT", "", "  ", "rain", "night"]),
    st.text(max_size=6),
)
VALUES = st.dictionaries(
    st.sampled_from([*ODD.names[:4], "Weather and visibility", "weather", ""]), st.lists(WORDS, max_size=4), max_size=3
)
STEPS = st.one_of(
    st.builds(Triage, where=VALUES),
    st.builds(InOdd, where=VALUES, top=st.integers(1, 20)),
    st.builds(OutOfOdd, where=VALUES, extend=VALUES.filter(bool)),
    st.builds(Acquire),
    st.builds(Evaluate),
)
PLANS = st.builds(Plan, query=st.text(max_size=20), controller=st.just("llm"), steps=st.lists(STEPS, max_size=8).map(tuple))


def plan(*steps, **more):
    return Plan(query="q", controller="llm", steps=steps, **more)


def kinds(p):
    return [(x.column, x.got, x.kind) for x in problems(p, ODD)]


def test_aliases_become_names_in_the_order_of_the_odd():
    made = canonical(plan(OutOfOdd(extend={"time": ["Dusk", "dawn", "dusk"], "weather_visibility": ["heavy_rain", "light rain"]})), ODD)
    assert list(made.steps[0].extend) == ["weather_visibility", "time"]
    assert made.steps[0].extend["weather_visibility"] == ["rain_light", "rain_heavy"]
    assert sorted(made.steps[0].extend["time"]) == ["dawn", "dusk"]
    assert made.unsupported_terms == made.notes == ()


def test_the_label_of_a_dimension_is_its_name():
    assert canonical(plan(InOdd(where={"Weather and visibility": ["fog"]})), ODD).steps[0].where == {"weather_visibility": ["foggy"]}


def test_a_word_of_several_values_selects_them_all():
    shared = [d.name for d in ODD.dimensions if len(values_of(d, "rush hour")) > 1]
    assert shared == ["traffic_type"]
    made = canonical(plan(OutOfOdd(extend={"traffic_type": ["rush hour"]})), ODD).steps[0].extend["traffic_type"]
    assert made == values_of(ODD.by_name["traffic_type"], "rush hour")


def test_a_value_under_the_wrong_dimension_moves_to_its_own_and_that_is_said():
    made = canonical(plan(InOdd(where={"time": ["night", "foggy"], "scene": ["construction"]})), ODD)
    assert made.steps[0].where == {"weather_visibility": ["foggy"], "time": ["night"], "environment": ["construction"]}
    assert made.notes == ('"foggy" was taken as a value of weather_visibility.', '"construction" was taken as a value of environment.')


def test_what_the_vocabulary_lacks_is_reported_and_in_no_step():
    made = canonical(plan(InOdd(where={"environment": ["underpass", "tunnel"], "moon": ["crater"]}), unsupported_terms=("Underpass",)), ODD)
    assert made.steps[0].where == {"environment": ["tunnel"]}
    assert made.unsupported_terms == ("Underpass", "crater")
    gone = canonical(plan(OutOfOdd(extend={"environment": ["underpass"]}), InOdd()), ODD)
    assert [s.op for s in gone.steps] == ["in_odd"]
    assert gone.unsupported_terms == ("underpass",)
    assert "left out" in gone.notes[0]


def test_free_steps_stand_once_until_an_evaluation_changes_the_table():
    twice = plan(Triage(reason="a"), Triage(reason="b"), InOdd(), Acquire(), Evaluate(), Triage(reason="c"), Triage())
    assert [s.op for s in canonical(twice, ODD).steps] == ["triage", "in_odd", "acquire", "evaluate", "triage"]
    assert [s.op for s in canonical(plan(InOdd(), Acquire(), Acquire()), ODD).steps] == ["in_odd", "acquire", "acquire"]


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ("A B A", "B A"),
        ("A B A acquire", "B A acquire"),
        ("A A", "A"),
        ("A triage A", "A triage"),
        ("A acquire B A", "A acquire B"),
        ("A acquire evaluate A", "A acquire evaluate A"),
        ("triage A triage B", "triage A B"),
    ],
)
def test_a_ranking_named_again_stands_where_the_samples_need_it(steps, left):
    made = {"A": InOdd(), "B": InOdd(where={"time": ["night"]}), "acquire": Acquire(), "evaluate": Evaluate(), "triage": Triage()}
    assert canonical(plan(*(made[s] for s in steps.split())), ODD).steps == tuple(made[s] for s in left.split())


@given(PLANS)
def test_canonical_is_canonical_and_uses_only_the_vocabulary(p):
    made = canonical(p, ODD)
    assert canonical(made, ODD) == made
    assert not [x for x in problems(made, ODD) if x.kind in ("unknown_dimension", "unknown_value")]
    words = {w for s in p.steps for f in (getattr(s, "where", {}), getattr(s, "extend", {})) for ws in f.values() for w in ws}
    for step in made.steps:
        for name, values in {**getattr(step, "where", {}), **getattr(step, "extend", {})}.items():
            for v in values:
                assert any(v in values_of(ODD.by_name[name], w) for w in words)
    assert len(made.steps) <= len(p.steps)


@given(PLANS, st.randoms())
def test_the_order_in_which_values_are_named_makes_no_difference(p, random):
    def shuffled(values):
        out = {k: random.sample(v, len(v)) for k, v in values.items()}
        return dict(random.sample(sorted(out.items()), len(out)))

    mixed = [s.model_copy(update={k: shuffled(getattr(s, k)) for k in ("where", "extend") if hasattr(s, k)}) for s in p.steps]
    a, b = canonical(p, ODD), canonical(p.model_copy(update={"steps": tuple(mixed)}), ODD)
    assert a.steps == b.steps
    assert {t.casefold() for t in a.unsupported_terms} == {t.casefold() for t in b.unsupported_terms}


@pytest.mark.parametrize(
    "steps",
    [
        (),
        (Triage(), InOdd(where={"time": ["night"]}), Acquire(), Evaluate(), Triage()),
        (InOdd(), Acquire(), OutOfOdd(extend={"time": ["dusk"]}, where={"time": ["dusk"], "environment": ["highway"]}), Evaluate()),
        (OutOfOdd(extend={"time": ["dusk"], "environment": ["tunnel"]}, where={"time": ["night"]}),),
    ],
)
def test_plans_that_can_be_run_have_no_problems(steps):
    assert kinds(plan(*steps)) == []


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ((Acquire(),), [("steps[0]", "acquire", "order")]),
        ((Triage(), Acquire()), [("steps[1]", "acquire", "order")]),
        ((InOdd(), Evaluate()), [("steps[1]", "evaluate", "order")]),
        ((InOdd(), Evaluate(), Acquire()), [("steps[1]", "evaluate", "order")]),
        ((InOdd(), Acquire(), Acquire()), [("steps[2]", "another acquire", "repeated")]),
        ((InOdd(), Acquire(), Evaluate(), Evaluate()), [("steps[3]", "another evaluate", "repeated")]),
        ((InOdd(where={"time": ["dusk"]}),), [("steps[0].where.time", "dusk", "tier")]),
        ((Triage(where={"environment": ["tunnel"]}),), [("steps[0].where.environment", "tunnel", "tier")]),
        ((OutOfOdd(extend={"time": ["night"]}),), [("steps[0].extend.time", "night", "tier")]),
        ((OutOfOdd(extend={"time": ["dusk"]}, where={"time": ["dawn"]}),), [("steps[0].where.time", "dawn", "tier")]),
        ((OutOfOdd(extend={"time": ["dusk"]}, where={"time": ["night"]}),), [("steps[0].where", "time=night", "empty")]),
        ((InOdd(where={"time": []}),), [("steps[0].where.time", "no value", "empty")]),
        ((InOdd(where={"moon": ["x"]}),), [("steps[0].where", "moon", "unknown_dimension")]),
        ((InOdd(where={"time": ["nigth"]}),), [("steps[0].where.time", "nigth", "unknown_value")]),
    ],
)
def test_each_problem_is_found_with_its_place(steps, found):
    assert kinds(plan(*steps)) == found


def test_problems_suggest_what_may_have_been_meant():
    assert problems(plan(InOdd(where={"time": ["nigth"]})), ODD)[0].suggestion == "night"
    assert problems(plan(InOdd(where={"weather_visibility": ["rain_heavy"]})), ODD)[0].suggestion == "rainy"


def test_the_question_category_cannot_be_extended():
    name = next(d.name for d in ODD.dimensions if not d.extendable)
    value = ODD.by_name[name].base[0].name
    assert {k for _, _, k in kinds(plan(OutOfOdd(extend={name: [value]})))} == {"tier"}


def test_an_inferred_odd_has_nothing_outside():
    found = problems(plan(OutOfOdd(extend={"time": ["night"]})), infer_odd({"time": ["day", "night"]}))
    assert [(x.got, x.kind, x.allowed) for x in found] == [("night", "tier", "nothing: time has no extended values")]


def test_more_than_eight_steps_are_a_problem_even_if_built_around_the_model():
    long = Plan.model_construct(query="q", controller="llm", steps=tuple(Triage(reason=str(i)) for i in range(9)))
    assert [x.kind for x in problems(long, ODD)] == ["too_many"]


@pytest.mark.parametrize(
    ("ops", "right"),
    [
        ("acquire in_odd", "in_odd acquire"),
        ("evaluate acquire in_odd triage", "in_odd acquire evaluate triage"),
        ("evaluate in_odd acquire", "in_odd acquire evaluate"),
        ("in_odd acquire triage evaluate", "in_odd acquire triage evaluate"),
        ("acquire evaluate", "acquire evaluate"),
        ("evaluate", "evaluate"),
    ],
)
def test_paid_steps_move_behind_what_they_need(ops, right):
    made = {"acquire": Acquire(), "evaluate": Evaluate(), "in_odd": InOdd(), "triage": Triage()}
    done = ordered(plan(*(made[o] for o in ops.split())))
    assert [s.op for s in done.steps] == right.split()
    assert bool(done.notes) == (ops != right)


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ((), ["in_odd"]),
        (("acquire",), ["in_odd", "acquire"]),
        (("synthesis",), ["in_odd", "acquire"]),
        (("evaluate",), ["in_odd", "acquire", "evaluate"]),
        (("acquire", "evaluate"), ["in_odd", "acquire", "evaluate"]),
    ],
)
def test_paid_steps_stay_only_where_they_are_asked_for(asked, left):
    made = only_asked(plan(InOdd(), Acquire(source="datastore"), Evaluate()), asked)
    assert [s.op for s in made.steps] == left
    assert bool(made.notes) == (len(left) < 3)
    assert all(n.startswith("Offered, not asked for") for n in made.notes)


def test_images_are_made_only_if_asked_for():
    made = only_asked(plan(InOdd(), Acquire(source="synthesis", per_slice=2)), {"acquire"})
    assert made.steps[1] == Acquire(source="datastore", per_slice=2)
    assert made.notes == ("Samples come from the datastore only: images to be made were not asked for.",)
    kept = plan(InOdd(), Acquire())
    assert only_asked(kept, {"acquire", "synthesis"}) == kept
