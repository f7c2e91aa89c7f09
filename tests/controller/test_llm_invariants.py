"""Whatever a model answers, a plan comes of it that can be run, holds only the vocabulary, and pays for nothing unasked."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from core.controller.guards import PAID, canonical, problems
from core.controller.llm import plan_llm
from core.controller.offline import plan_offline
from core.controller.tools import OPS
from core.llm import Endpoint, Profile
from core.llm.wire import read_reply
from core.odd import built_in

ODD = built_in()
VALUES = [f"{d.name}={v.name}" for d in ODD.dimensions for v in d.values]
WORDS = st.sampled_from([*VALUES, "time=moon", "underpass", "heavy rain", "rush hour", "night", "score=1", "="])
KEYS = st.sampled_from(["where", "extend", "top", "source", "per_slice", "reason", "score", "op"])
SCALARS = st.none() | st.booleans() | st.integers(-2, 30) | WORDS | st.text(max_size=5)
ARGUMENTS = st.one_of(
    st.fixed_dictionaries(
        {"where": st.lists(WORDS, max_size=3)}, optional={"extend": st.lists(WORDS, max_size=2), "top": st.integers(1, 9)}
    ),
    st.dictionaries(KEYS, SCALARS | st.lists(SCALARS, max_size=2), max_size=4),
)
NAMES = st.sampled_from([*OPS, *OPS, "done", "delete_table", ""])
STEPS = st.builds(lambda op, a: {"op": op, **a}, NAMES, ARGUMENTS)
TEXTS = st.one_of(
    st.none(),
    st.text(max_size=12),
    st.sampled_from(["Sure!", "<think>", '{"steps": [', "```json\n", "}"]),
    st.builds(
        lambda s, t, c: json.dumps({"steps": s, "unsupported_terms": t, "clarify": c}), st.lists(STEPS, max_size=4), SCALARS, SCALARS
    ),
)
CALLS = st.builds(
    lambda name, value, form: {"id": "x", "function": {"name": name, "arguments": form(value)}},
    NAMES,
    ARGUMENTS,
    st.sampled_from([json.dumps, lambda v: v, lambda v: json.dumps(json.dumps(v)), lambda v: json.dumps(v)[:-3], lambda v: None]),
)
MESSAGES = st.fixed_dictionaries({"content": TEXTS}, optional={"tool_calls": st.lists(CALLS, max_size=3)})
ANSWERS = st.lists(st.tuples(MESSAGES, st.sampled_from(["stop", "tool_calls", "length"])), min_size=1, max_size=8)
QUERIES = st.sampled_from(
    [
        "What nighttime scenarios are we missing?",
        "What tunnel and underpass scenarios need testing?",
        "Identify missing foggy highway slices, retrieve test images, and evaluate the model.",
        "hello",
    ]
)


class Parrot:
    """Stands for a client: it gives the answers in turn, over and over, read as those of a server are."""

    def __init__(self, answers, mode):
        self.endpoint = Endpoint("http://127.0.0.1:9/v1", "parrot", profile=Profile(mode=mode))
        self.answers, self.calls = answers, 0

    @property
    def profile(self):
        return self.endpoint.profile

    def chat(self, ask, on_text=None):
        message, finish = self.answers[self.calls % len(self.answers)]
        self.calls += 1
        return read_reply({"choices": [{"message": message, "finish_reason": finish}]}, ask, seconds=0.0)


@settings(deadline=None, max_examples=300)
@given(QUERIES, ANSWERS, st.sampled_from(["tools", "plan"]))
def test_any_answers_end_in_a_plan_that_holds_all_rules(query, answers, mode):
    seen = []
    parrot = Parrot(answers, mode)
    planned = plan_llm(query, ODD, parrot, observe=lambda s: seen.append(s) or "12 slices")
    plan, offline = planned.plan, plan_offline(query, ODD)
    assert problems(plan, ODD) == []
    assert plan == canonical(plan, ODD)
    assert bool(plan.fallback_reason) == (plan.controller == "offline")
    assert plan.controller == "llm" or plan.steps == offline.plan.steps
    assert plan.steps or planned.clarify
    assert not {s.op for s in seen} & set(PAID)
    if "evaluate the model" not in query:
        assert not [s for s in plan.steps if s.op in PAID]
    assert all(t.casefold() in query.casefold() for t in plan.unsupported_terms)
    assert parrot.calls <= 24
    json.dumps(planned.calls, allow_nan=False, ensure_ascii=False).encode()
