"""Nothing is paid that nobody asked for or confirmed, whoever made the plan and whatever was agreed to beforehand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.controller import Acquire, Evaluate, InOdd, OutOfOdd, Plan, Planned, Triage, resume, start
from core.controller.cues import asks_for
from core.controller.guards import problems
from core.errors import InputError
from tests.stub_llm import error

QUESTIONS = [
    "What nighttime scenarios are we missing?",
    "Find night samples in the datastore.",
    "Find missing night slices, retrieve test images from the datastore, and evaluate the model.",
    "Find untested night driving scenarios and generate synthetic test data.",
    "Find untested night driving scenarios, generate synthetic test data, and run VLM evaluation.",
]
FREE = st.sampled_from([Triage(), InOdd(where={"time": ["night"]}, top=2), OutOfOdd(extend={"time": ["dusk"]}, top=1)])
PAID = st.sampled_from([Acquire(source=s) for s in ("datastore", "datastore_then_synthesis", "synthesis")] + [Evaluate()])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(FREE | PAID, min_size=1, max_size=9), st.sampled_from(QUESTIONS))
def test_a_plan_by_anybody_is_refused_or_pays_for_what_was_asked_only(with_models, stub, steps, query):
    context, before = with_models("vlm", "judge", "images"), len(stub.asked)
    plan = Plan.model_construct(query=query, controller="offline", steps=tuple(steps))
    if problems(plan, context.seed.odd):
        runs = context.store.runs.list()
        with pytest.raises(InputError, match="cannot be run"):
            start(query, context, planned=Planned(plan), auto_confirm=True)
        assert context.store.runs.list() == runs
        return
    state = start(query, context, planned=Planned(plan), auto_confirm=True)
    paths = [r.path for r in stub.asked[before:]]
    asked = asks_for(query)
    if "synthesis" not in asked:
        assert not any(p.endswith("/images/generations") for p in paths)
    if "evaluate" not in asked:
        assert not any(p.endswith("/chat/completions") for p in paths)
    if not asked & {"acquire", "evaluate", "synthesis"} and any(s.op == "acquire" for s in steps):
        assert state.steps[next(i for i, s in enumerate(steps) if s.op == "acquire")].status == "waiting"


def test_images_wait_where_samples_were_asked_for_from_the_datastore_only(with_models, stub):
    query = QUESTIONS[1]
    plan = Plan(query=query, controller="offline", steps=(InOdd(where={"time": ["night"]}), Acquire(source="synthesis")))
    state = start(query, with_models("images"), planned=Planned(plan), auto_confirm=True)
    assert (state.steps[1].status, stub.asked) == ("waiting", [])
    assert state.steps[1].estimate["images"] == 10


def test_samples_that_failed_are_not_called_done(with_models, stub, store):
    context, good = with_models("vlm"), stub.script
    stub.script = lambda _: error(401, "no")
    query = "Identify missing foggy highway slices, retrieve test images, and evaluate the model."
    state = start(query, context, auto_confirm=True)
    assert "0 of 5 are done and will not be asked again. Failed, to be asked again: " in state.steps[2].note
    stub.script = good
    after = resume(store.runs.get(state.id), replace(context), {2: "do"})
    assert (after.steps[2].status, after.steps[2].rows, after.steps[2].counts["failed"]) == ("done", 5, 0)
