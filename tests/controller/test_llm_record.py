"""What a model answers without measure or sense is neither repeated nor obeyed, and the record of its calls is whole."""

from __future__ import annotations

import json

import pytest

from core.controller.llm import plan_llm
from core.llm import Ask, Client, Profile
from core.odd import built_in
from tests.stub_llm import call, completion, text

ODD = built_in()
ENDLESS = {
    "values": lambda r: call("in_odd", {"where": ["time=" + "x" * 1_000_000]}),
    "names of dimensions": lambda r: call("in_odd", {"where": {"x" * 1_000_000: ["night"]}}),
    "names of tools": lambda r: call("x" * 1_000_000, {}),
    "arguments that do not fit": lambda r: call("triage", {"x" * 1_000_000: "y" * 1_000_000}),
    "words": lambda r: text("x" * 1_000_000),
    "terms": lambda r: call("done", {"unsupported_terms": ["x" * 1_000_000], "clarify": "y" * 1_000_000}),
    "a plan": lambda r: text(json.dumps({"steps": [{"op": "in_odd", "where": ["x" * 1_000_000]}]})),
}


@pytest.mark.parametrize("mode", ["tools", "plan"])
@pytest.mark.parametrize("answer", ENDLESS.values(), ids=ENDLESS)
def test_an_answer_without_measure_is_never_sent_back_or_told_in_full(stub_llm, mode, answer):
    stub_llm.script = answer
    with Client(stub_llm.endpoint(profile=Profile(mode=mode))) as client:
        planned = plan_llm("What nighttime scenarios are we missing?", ODD, client, observe=str)
    assert max(len(json.dumps(r.body)) for r in stub_llm.asked) < 200_000
    told = [planned.plan.fallback_reason, planned.clarify, *planned.plan.notes, *planned.plan.unsupported_terms]
    assert max(map(len, told)) < 1_000


@pytest.mark.parametrize("told", [{"prompt_tokens": -9, "completion_tokens": -9}, {"prompt_tokens": True, "completion_tokens": "7"}, []])
def test_usage_that_cannot_be_is_estimated(stub_llm, told):
    stub_llm.script = [completion({"content": "hi"}, usage=told)]
    with Client(stub_llm.endpoint()) as client:
        usage = client.chat(Ask([{"role": "user", "content": "hello"}], 10)).usage
    assert usage.estimated
    assert usage.prompt > 0 and usage.completion > 0


@pytest.mark.parametrize("mode", ["tools", "plan"])
def test_every_value_of_a_plan_has_a_reading(stub_llm, mode):
    step = {"op": "out_of_odd", "extend": ["time=dusk", "time=dawn"], "where": ["weather_visibility=foggy", "environment=highway"]}
    args = {k: v for k, v in step.items() if k != "op"}
    stub_llm.script = lambda r: text(json.dumps({"steps": [step]})) if mode == "plan" else call("out_of_odd", args)
    with Client(stub_llm.endpoint(profile=Profile(mode=mode))) as client:
        planned = plan_llm("What dusk scenarios are we missing on highways?", ODD, client, observe=str)
    assert planned.plan.controller == "llm"
    read = {(r.dimension, r.value): r.how for r in planned.readings}
    assert read[("time", "dawn")] == read[("weather_visibility", "foggy")] == "model"
    assert {("time", "dusk"), ("environment", "highway")} <= {k for k, how in read.items() if how != "model"}


def test_a_fault_of_ours_ends_in_the_offline_plan_too(stub_llm, monkeypatch):
    def fault(*_: object) -> None:
        raise KeyError("no such thing")

    monkeypatch.setattr("core.controller.llm.read_plan", fault)
    stub_llm.script = [text('{"steps": []}')]
    with Client(stub_llm.endpoint(profile=Profile(mode="plan"))) as client:
        planned = plan_llm("What nighttime scenarios are we missing?", ODD, client, observe=str)
    assert planned.plan.controller == "offline"
    assert planned.plan.fallback_reason == "The model's answer met an error in the product (KeyError)."
    assert len(planned.calls) == 1


def test_a_call_is_recorded_with_all_that_was_sent(stub_llm):
    stub_llm.script = lambda r: call("triage", {"where": []}) if r.number == 0 else call("done", {"unsupported_terms": [], "clarify": None})
    with Client(stub_llm.endpoint()) as client:
        planned = plan_llm("Where does it fail?", ODD, client, observe=str)
    first = stub_llm.asked[0].body
    strict = [{**t["function"], "strict": True} for t in planned.calls[0]["tools"]]
    assert strict == [t["function"] for t in first["tools"]]
    assert planned.calls[0]["with"] == {k: first[k] for k in ("max_tokens", "temperature", "seed")}
    assert [m for c in planned.calls for m in c["sent"]] == stub_llm.asked[-1].body["messages"]
    assert "tools" not in planned.calls[1]
