"""How a language model's calls and answers become a plan, within budgets and under the guards."""

from __future__ import annotations

import json
import time

import pytest

from core.controller import Acquire, Evaluate, InOdd, OutOfOdd, Triage
from core.controller.guards import canonical, problems
from core.controller.llm import plan_llm
from core.controller.offline import plan_offline
from core.controller.prompts import load_prompts
from core.controller.talk import Budget
from core.errors import InputError
from core.llm import Client, Profile
from core.odd import built_in
from tests.stub_llm import call, calls, completion, error, text

ODD = built_in()
WHOLE = "Identify missing foggy highway slices, retrieve test images, and evaluate the model."
GAPS = "What nighttime scenarios are we missing?"
UNDERPASS = "What tunnel and underpass scenarios need testing?"
PLAN = Profile(mode="plan", timeout=10.0)
NIGHT = call("in_odd", {"where": ["time=night"], "top": None, "reason": "gaps"})
DONE = call("done", {"unsupported_terms": [], "clarify": None})


def plan(stub, script, query=GAPS, *, profile=None, observe=lambda s: f"{s.op}: 12 slices", **more):
    stub.script = script
    with Client(stub.endpoint(profile=profile, key="sk-secret-0123")) as client:
        planned = plan_llm(query, ODD, client, observe=observe, **more)
    json.dumps(planned.calls, allow_nan=False)
    assert "sk-secret" not in json.dumps(planned.calls)
    assert planned.plan == canonical(planned.plan, ODD)
    assert problems(planned.plan, ODD) == []
    return planned


def steps(planned):
    return [s.model_copy(update={"reason": ""}) for s in planned.plan.steps]


def verdicts(planned):
    return [c["verdict"] for c in planned.calls]


def as_json(*entries, **more):
    return json.dumps({"steps": list(entries), "unsupported_terms": [], "clarify": None} | more)


def fell_back(planned, query=GAPS):
    offline = plan_offline(query, ODD)
    return bool(planned.plan.fallback_reason) and planned.plan.model_copy(update={"fallback_reason": ""}) == offline.plan


def test_a_tool_loop_makes_a_plan_step_by_step(stub_llm):
    seen = []
    planned = plan(
        stub_llm,
        [
            call("in_odd", {"where": ["environment=highway", "weather_visibility=foggy"], "top": 5, "reason": "gaps"}),
            call("acquire", {"source": "datastore", "per_slice": 2, "reason": ""}),
            call("evaluate", {"reason": ""}),
            DONE,
        ],
        WHOLE,
        observe=lambda s: seen.append(s.op) or "in_odd: 240 combinations",
    )
    where = {"weather_visibility": ["foggy"], "environment": ["highway"]}
    assert steps(planned) == [InOdd(where=where, top=5), Acquire(source="datastore", per_slice=2), Evaluate()]
    assert (planned.plan.controller, planned.plan.model, planned.plan.prompt_sha) == ("llm", "stub-model", load_prompts().sha)
    assert (planned.plan.fallback_reason, planned.plan.notes, verdicts(planned)) == ("", (), [["ok"]] * 4)
    assert seen == ["in_odd"]  # what costs something is only planned
    told = [m for m in stub_llm.asked[-1].messages if m["role"] == "tool"]
    assert json.loads(told[0]["content"]) == {"status": "done", "data": "in_odd: 240 combinations"}
    assert [json.loads(m["content"])["status"] for m in told[1:]] == ["planned", "planned"]


def test_the_question_is_sent_as_data_under_one_system_message(stub_llm):
    plan(stub_llm, [NIGHT, DONE])
    roles = [m["role"] for m in stub_llm.asked[-1].messages]
    assert roles == ["system", "user", "assistant", "tool"]
    assert stub_llm.asked[0].messages[1]["content"].endswith(json.dumps(GAPS))


def test_ids_of_tool_calls_come_back_untouched_and_missing_ones_get_nine_characters(stub_llm):
    first = call("triage", {}, id="a-b_C/9")
    plan(stub_llm, [first, call("in_odd", {}, id=""), DONE])
    messages = stub_llm.asked[-1].messages
    pairs = [(m["tool_calls"][0]["id"], t["tool_call_id"]) for m, t in zip(messages[2::2], messages[3::2], strict=True)]
    assert pairs[0] == ("a-b_C/9", "a-b_C/9")
    assert pairs[1][0] == pairs[1][1]
    assert len(pairs[1][0]) == 9
    assert pairs[1][0].isalnum()


def test_reasoning_is_never_sent_back(stub_llm):
    thinking = completion(
        {"content": "<think>secret</think>", "reasoning_content": "hidden", "tool_calls": NIGHT.body["choices"][0]["message"]["tool_calls"]}
    )
    plan(stub_llm, [thinking, DONE])
    sent = json.dumps(stub_llm.asked[-1].messages)
    assert "secret" not in sent
    assert "hidden" not in sent


def test_several_calls_in_one_turn_run_in_order(stub_llm):
    seen = []
    planned = plan(
        stub_llm,
        [calls([("triage", {}), ("in_odd", {"where": ["time=night"]}), ("done", {})])],
        observe=lambda s: seen.append(s.op) or s.op,
    )
    assert [s.op for s in planned.plan.steps] == seen == ["triage", "in_odd"]


def test_a_bad_call_among_good_ones_is_sent_back_alone(stub_llm):
    planned = plan(stub_llm, [calls([("triage", {}), ("in_odd", {"where": ["time=moon"]})]), NIGHT, DONE])
    assert [s.op for s in planned.plan.steps] == ["triage", "in_odd"]
    statuses = [json.loads(m["content"])["status"] for m in stub_llm.asked[1].messages if m["role"] == "tool"]
    assert statuses == ["done", "refused"]


def test_arguments_that_cannot_be_read_are_not_echoed(stub_llm):
    plan(stub_llm, [call("in_odd", '{"where": ["time='), NIGHT, DONE])
    echoed = stub_llm.asked[1].messages[2]["tool_calls"][0]["function"]
    assert echoed == {"name": "in_odd", "arguments": "{}"}


def test_the_error_goes_back_to_the_model_twice_and_then_the_offline_plan_is_used(stub_llm):
    bad = call("in_odd", {"where": ["time=night"], "score": 1})
    planned = plan(stub_llm, lambda _: bad)
    assert fell_back(planned)
    assert len(planned.calls) == 3
    assert "no such argument" in json.loads(stub_llm.asked[1].messages[-1]["content"])["problems"][0]
    assert "score" in planned.plan.fallback_reason


def test_two_repairs_per_bad_call_not_per_plan(stub_llm):
    bad = call("in_odd", {"score": 1})
    planned = plan(stub_llm, [bad, bad, call("triage", {}), bad, bad, NIGHT, DONE])
    assert [s.op for s in planned.plan.steps] == ["triage", "in_odd"]


def test_words_without_a_call_are_sent_back_and_then_the_whole_plan_is_asked_for(stub_llm):
    planned = plan(stub_llm, ["Sure!", "I would look at night.", "Night it is.", as_json({"op": "in_odd", "where": ["time=night"]})])
    assert steps(planned) == [InOdd(where={"time": ["night"]})]
    assert verdicts(planned) == [["no tool call"]] * 3 + [["ok"]]
    assert [c["purpose"] for c in planned.calls] == ["tools"] * 3 + ["plan"]
    assert "tools" not in stub_llm.asked[-1].body


def test_words_after_the_steps_end_the_plan_and_are_kept_as_prose(stub_llm):
    planned = plan(stub_llm, [NIGHT, "I ranked the night slices."])
    assert (steps(planned), planned.prose) == ([InOdd(where={"time": ["night"]})], "I ranked the night slices.")


def test_a_call_that_stands_in_the_text_counts(stub_llm):
    left = '<tool_call>\n{"name": "in_odd", "arguments": {"where": ["time=night"]}}\n</tool_call>'
    planned = plan(stub_llm, [left, '{"name": "done", "parameters": {}}'])
    assert steps(planned) == [InOdd(where={"time": ["night"]})]
    assert [m["role"] for m in stub_llm.asked[1].messages] == ["system", "user", "assistant", "user"]


def test_a_model_that_only_repeats_itself_is_done(stub_llm):
    planned = plan(stub_llm, lambda _: NIGHT)
    assert (steps(planned), planned.plan.fallback_reason) == ([InOdd(where={"time": ["night"]})], "")
    assert len(planned.calls) == 4


def test_paid_steps_that_nobody_asked_for_become_an_offer(stub_llm):
    planned = plan(stub_llm, [NIGHT, call("acquire", {"source": "synthesis", "per_slice": 9}), call("evaluate", {}), DONE])
    assert steps(planned) == [InOdd(where={"time": ["night"]})]
    assert planned.plan.notes == ("Offered, not asked for: finding or making samples and running the model under test.",)


def test_paid_steps_that_were_asked_for_are_asked_after_once(stub_llm):
    ranked = call("in_odd", {"where": ["environment=highway"]})
    planned = plan(stub_llm, [ranked, DONE, call("acquire", {"source": "datastore"}), call("evaluate", {}), DONE], WHOLE)
    assert [s.op for s in planned.plan.steps] == ["in_odd", "acquire", "evaluate"]
    assert "samples (acquire) and an evaluation (evaluate)" in stub_llm.asked[2].messages[-1]["content"]
    planned = plan(stub_llm, lambda r: DONE if len(r.messages) > 3 else ranked, WHOLE)
    assert [s.op for s in planned.plan.steps] == ["in_odd"]
    assert "the model did not plan it" in planned.plan.notes[0]
    planned = plan(stub_llm, [ranked, "Ready.", call("acquire", {"source": "datastore"}), call("evaluate", {}), "Now it is."], WHOLE)
    assert ([s.op for s in planned.plan.steps], planned.prose) == (["in_odd", "acquire", "evaluate"], "Now it is.")
    assert stub_llm.asked[-3].messages[-1]["role"] == "user"


def test_paid_steps_out_of_order_are_sent_back_in_the_loop_and_put_in_order_in_a_plan(stub_llm):
    planned = plan(
        stub_llm,
        [call("acquire", {"source": "datastore"}), NIGHT, call("acquire", {"source": "datastore"}), call("evaluate", {}), DONE],
        WHOLE,
    )
    assert [s.op for s in planned.plan.steps] == ["in_odd", "acquire", "evaluate"]
    mixed = as_json({"op": "evaluate"}, {"op": "acquire", "source": "datastore"}, {"op": "in_odd"})
    planned = plan(stub_llm, lambda _: text(mixed), WHOLE, profile=PLAN)
    assert [s.op for s in planned.plan.steps] == ["in_odd", "acquire", "evaluate"]
    assert planned.plan.notes == ("Steps were put in order: samples come after a ranking, answers after samples.",)


def test_aliases_need_no_repair(stub_llm):
    planned = plan(stub_llm, [as_json({"op": "out_of_odd", "extend": ["weather_visibility=heavy rain", "DUSK"]})], profile=PLAN)
    assert steps(planned) == [OutOfOdd(extend={"weather_visibility": ["rain_heavy"], "time": ["dusk"]})]
    assert verdicts(planned) == [["ok"]]


def test_unknown_values_are_sent_back_and_at_last_left_out_and_reported(stub_llm):
    wrong = {"op": "out_of_odd", "extend": ["environment=tunnel"], "where": ["environment=tunnel", "environment=underpass"]}
    planned = plan(stub_llm, lambda _: text(as_json(wrong)), UNDERPASS, profile=PLAN)
    assert steps(planned) == [OutOfOdd(extend={"environment": ["tunnel"]}, where={"environment": ["tunnel"]})]
    assert planned.plan.unsupported_terms == ("underpass",)
    assert (planned.plan.controller, len(planned.calls)) == ("llm", 3)
    loop = call("out_of_odd", {k: v for k, v in wrong.items() if k != "op"})
    planned = plan(stub_llm, lambda r: DONE if len(stub_llm.asked) % 4 == 0 else loop, UNDERPASS)
    assert planned.plan.unsupported_terms == ("underpass",)
    assert "underpass" not in str(planned.plan.steps)


def test_only_words_of_the_question_are_reported_as_unsupported(stub_llm):
    planned = plan(
        stub_llm, [as_json({"op": "in_odd"}, unsupported_terms=["Underpass", "lunar dust", "tunnel", "pass"])], UNDERPASS, profile=PLAN
    )
    assert planned.plan.unsupported_terms == ("underpass",)
    assert planned.plan.notes[0] == "Left out, as neither the question nor the vocabulary has it: lunar dust, pass."


def test_the_offline_reading_reports_what_the_model_forgot(stub_llm):
    planned = plan(stub_llm, [as_json({"op": "out_of_odd", "extend": ["environment=tunnel"]})], UNDERPASS, profile=PLAN)
    assert planned.plan.unsupported_terms == ("underpass",)
    assert {(r.how, r.value) for r in planned.readings} >= {("unsupported", "")}
    assert all(r.value in ("", "tunnel") for r in planned.readings)


def test_a_question_back_is_marked_as_the_models(stub_llm):
    for script, profile in [([call("done", {"clarify": "Which town?"})], None), ([as_json(clarify="Which town?")], PLAN)]:
        planned = plan(stub_llm, script, "hm", profile=profile)
        assert (planned.plan.steps, planned.clarify) == ((), 'The model asks: "Which town?"')


def test_an_empty_plan_without_a_question_back_is_sent_back(stub_llm):
    planned = plan(stub_llm, [DONE, DONE, DONE])
    assert fell_back(planned)
    planned = plan(stub_llm, [as_json(), as_json({"op": "triage"})], profile=PLAN)
    assert steps(planned) == [Triage()]


@pytest.mark.parametrize(
    "answer",
    [
        "```json\n{}\n```",
        "Here is the plan:\n{}\nI hope that it helps.",
        '<think>Let me see. {{"steps": []}}</think>{}',
        '{{"plan": {}}}',
    ],
)
def test_a_plan_is_read_through_what_stands_around_it(stub_llm, answer):
    plain = as_json({"op": "in_odd", "where": ["time=night"]})
    planned = plan(stub_llm, [answer.replace("{{", "{").replace("}}", "}").replace("{}", plain, 1)], profile=PLAN)
    assert (steps(planned), len(planned.calls)) == ([InOdd(where={"time": ["night"]})], 1)


def test_a_model_that_was_cut_off_while_it_reasoned_gets_more_room(stub_llm):
    planned = plan(stub_llm, [text("<think>Well, let me see", finish="length"), as_json({"op": "triage"})], profile=PLAN)
    assert steps(planned) == [Triage()]
    assert [r.body["max_tokens"] for r in stub_llm.asked] == [1_200, 4_800]
    assert verdicts(planned)[0][0] == "cut off"


def test_an_answer_without_an_end_is_asked_for_again_within_bounds(stub_llm):
    told = []
    stub_llm.script = [text('{"steps": [{"op": "in', finish="length"), as_json({"op": "triage"}), as_json({"op": "triage"})]
    with Client(stub_llm.endpoint(profile=PLAN), told.append) as client:
        assert [steps(plan_llm(GAPS, ODD, client, observe=str)) for _ in range(2)] == [[Triage()]] * 2
    assert [p.bounds for p in told] == [True]
    assert [r.body["max_tokens"] for r in stub_llm.asked] == [1_200] * 3
    schemas = [r.body["response_format"]["json_schema"]["schema"]["properties"] for r in stub_llm.asked]
    assert [s["steps"].get("maxItems") for s in schemas] == [None, 8, 8]
    step = schemas[1]["steps"]["items"]["properties"]
    assert (step["where"]["maxItems"], step["reason"]["maxLength"], schemas[1]["clarify"]["maxLength"]) == (6, 120, 120)


def test_more_than_eight_steps_end_in_the_offline_plan(stub_llm):
    many = [call("in_odd", {"where": [], "top": i + 1}) for i in range(12)]
    planned = plan(stub_llm, many)
    assert fell_back(planned)
    assert "at most 8" in planned.plan.fallback_reason


def test_an_operator_that_fails_is_a_problem_of_the_call(stub_llm):
    def observe(step):
        if step.op == "triage":
            raise InputError("There is nothing to look at.")
        return "ok"

    planned = plan(stub_llm, [call("triage", {}), NIGHT, DONE], observe=observe)
    assert [s.op for s in planned.plan.steps] == ["in_odd"]
    assert "nothing to look at" in str(verdicts(planned)[0])


def test_long_findings_are_cut_before_the_model_is_told(stub_llm):
    plan(stub_llm, [NIGHT, DONE], observe=lambda _: "x" * 10_000)
    assert len(stub_llm.asked[-1].messages[-1]["content"]) < 1_600


def test_the_time_of_the_operators_is_not_that_of_the_model(stub_llm):
    planned = plan(stub_llm, [call("triage", {}), NIGHT, DONE], observe=lambda s: time.sleep(1.2) or s.op, budget=Budget(seconds=2.0))
    assert (planned.plan.controller, [s.op for s in planned.plan.steps]) == ("llm", ["triage", "in_odd"])


@pytest.mark.parametrize(
    ("budget", "words"),
    [(Budget(turns=2), "more than 2 calls"), (Budget(tokens=20), "30 of 20 tokens"), (Budget(seconds=0.0), "more than 0 seconds")],
)
def test_a_budget_that_is_used_up_ends_in_the_offline_plan(stub_llm, budget, words):
    planned = plan(stub_llm, [call("triage", {}), NIGHT, DONE], budget=budget)
    assert fell_back(planned)
    assert words in planned.plan.fallback_reason


def test_an_endpoint_that_gives_no_plans_is_not_asked(stub_llm):
    assert fell_back(plan(stub_llm, ["never"], profile=Profile(mode="none")))
    assert stub_llm.asked == []


def test_a_server_that_refuses_tools_is_asked_for_the_plan_and_remembered(stub_llm):
    told = []
    stub_llm.script = [error(400, "this model does not support tools"), as_json({"op": "triage"}), as_json({"op": "triage"})]
    with Client(stub_llm.endpoint(), told.append) as client:
        for _ in range(2):
            assert steps(plan_llm(GAPS, ODD, client, observe=str)) == [Triage()]
    assert [p.mode for p in told] == ["plan"]
    assert ["tools" in r.body for r in stub_llm.asked] == [True, False, False]


def test_prose_is_asked_for_only_if_somebody_listens(stub_llm):
    pieces = []
    planned = plan(stub_llm, [as_json({"op": "triage"}), "It looks at failures first."], profile=PLAN, prose=pieces.append)
    assert planned.prose == "".join(pieces) == "It looks at failures first."
    assert stub_llm.asked[-1].body["stream"] is True
    assert [c["purpose"] for c in planned.calls] == ["plan", "prose"]


def test_prose_that_breaks_off_leaves_the_plan_as_it_is(stub_llm):
    broken = text("It looks at failures first, and then", drop_after=16)
    planned = plan(stub_llm, [as_json({"op": "triage"}), broken, broken, broken, broken], profile=PLAN, prose=lambda _: None)
    assert (steps(planned), planned.prose, planned.plan.fallback_reason) == ([Triage()], "", "")
    assert planned.calls[-1]["error"]["kind"] == "cut"


def test_every_call_is_in_the_record_with_what_was_sent_anew(stub_llm):
    planned = plan(stub_llm, [call("in_odd", {"score": 1}), NIGHT, DONE])
    assert [c["call"] for c in planned.calls] == [1, 2, 3]
    assert [[m["role"] for m in c["sent"]] for c in planned.calls] == [["system", "user"], ["assistant", "tool"], ["assistant", "tool"]]
    assert planned.calls[0]["answer"]["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == '{"score": 1}'
    assert planned.calls[0]["verdict"] == ['"score": got "1"; allowed: no such argument; in_odd takes where, top, reason.']
    assert planned.calls[0]["usage"] == {"prompt": 10, "completion": 5, "estimated": False}
