"""One call over the wire: what is sent, what servers of different make refuse, keys, images, event loops and threads."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.llm import Ask, Client, Endpoint, ModelError, Profile, Usage
from tests.loops import alone
from tests.stub_llm import USAGE, Answer, StubServer, call, error, image, png, text

ASK = Ask([{"role": "user", "content": "hi"}], 16)
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}}
WITH_TOOLS = Ask([{"role": "user", "content": "hi"}], 16, tools=[TOOL])
WITH_SCHEMA = Ask([{"role": "user", "content": "hi"}], 16, schema=("s", {"type": "object"}))
KEY = "sk-very-secret-0123456789"


def ask(stub, script, question=ASK, **endpoint):
    stub.script = script
    with Client(stub.endpoint(**endpoint)) as client:
        return client.chat(question)


def failure(stub, script, question=ASK, **endpoint):
    with pytest.raises(ModelError) as caught:
        ask(stub, script, question, **endpoint)
    return caught.value


def test_a_plain_call_sends_and_reads_what_it_should(stub_llm):
    reply = ask(stub_llm, [text("hello", model="m-7")])
    assert stub_llm.asked[0].body == {
        "model": "stub-model",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 16,
        "temperature": 0.0,
        "seed": 0,
    }
    assert (reply.text, reply.reasoning, reply.tool_calls, reply.cut, reply.model, reply.usage) == (
        "hello",
        "",
        (),
        False,
        "m-7",
        Usage(10, 5),
    )
    assert reply.raw["choices"][0]["message"]["content"] == "hello"


def test_tools_are_sent_strict_one_at_a_time_with_a_hint_to_call_one(stub_llm):
    ask(stub_llm, [call("f", {})], WITH_TOOLS)
    body = stub_llm.asked[0].body
    assert body["tools"][0]["function"]["strict"] is True
    assert (body["tool_choice"], body["parallel_tool_calls"]) == ("required", False)


def test_a_schema_is_sent_in_the_strictest_form_that_the_server_takes(stub_llm):
    for form, sent in [
        ("json_schema", {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}, "strict": True}}),
        ("json_object", {"type": "json_object"}),
        ("none", None),
    ]:
        ask(stub_llm, lambda _: text("{}"), WITH_SCHEMA, profile=Profile(response_format=form))
        assert stub_llm.asked[-1].body.get("response_format") == sent


def test_without_strict_schemas_lack_what_only_strict_ones_need(stub_llm):
    schema = {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": False}}, "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    loose = {"type": "object", "properties": {"a": {"type": "object"}}}
    refusal = error(400, 'Unknown name "additionalProperties": Cannot find field.')
    stub_llm.script = lambda r: refusal if "additionalProperties" in json.dumps(r.body) else text("{}")
    with Client(stub_llm.endpoint()) as client:
        client.chat(Ask([{"role": "user", "content": "hi"}], 16, tools=[tool], schema=("s", schema)))
    body = stub_llm.asked[-1].body
    assert body["tools"][0]["function"] == {"name": "f", "parameters": loose}
    assert body["response_format"]["json_schema"] == {"name": "s", "schema": loose}


def test_there_is_exactly_one_system_message_and_it_comes_first(stub_llm):
    question = Ask([{"role": "system", "content": "a"}, {"role": "user", "content": "hi"}, {"role": "system", "content": "b"}], 16)
    ask(stub_llm, ["x"], question)
    assert stub_llm.asked[0].messages == [{"role": "system", "content": "a\n\nb"}, {"role": "user", "content": "hi"}]


def test_extra_parameters_of_the_profile_go_along(stub_llm):
    ask(stub_llm, ["x"], profile=Profile(extra_body={"reasoning_effort": "low"}))
    assert stub_llm.asked[0].body["reasoning_effort"] == "low"


SYSTEM = Ask([{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}], 16)
REFUSALS = [
    (
        ASK,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "max_tokens",
        "limit_field",
    ),
    (ASK, "Unrecognized request argument supplied: max_tokens", None, "limit_field"),
    (
        ASK,
        "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.",
        "temperature",
        "temperature",
    ),
    (ASK, "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted'}]", None, "seed"),
    (WITH_TOOLS, "Unknown field: strict", None, "strict"),
    (WITH_TOOLS, "Invalid schema for function 'f': 'required' is required to be supplied", "tools[0].function.parameters", "strict"),
    (WITH_TOOLS, "parallel_tool_calls is not supported", "parallel_tool_calls", "parallel_tool_calls"),
    (WITH_TOOLS, 'tool_choice="required" is not supported', None, "tool_choice"),
    (WITH_SCHEMA, "This response_format type is unavailable: json_schema is not supported", None, "response_format"),
    (SYSTEM, "System role not supported", None, "system"),
]


@pytest.mark.parametrize(("question", "message", "param", "field"), REFUSALS)
@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_parameter_is_left_out_once_and_remembered(stub_llm, question, message, param, field, status):
    told = []
    stub_llm.script = [error(status, message, param=param), "fine", "again"]
    with Client(stub_llm.endpoint(), told.append) as client:
        first, second = client.chat(question), client.chat(question)
        assert getattr(client.profile, field) != getattr(Profile(), field)
        assert told == [client.profile]
    assert (first.text, second.text, len(first.adapted), second.adapted) == ("fine", "again", 1, ())
    refused, without, later = (r.body for r in stub_llm.asked)
    assert refused != without == later


def test_what_is_left_out_is_really_gone(stub_llm):
    stub_llm.script = [
        error(400, f"Unknown parameter: {p}", param=p) for p in ("max_tokens", "temperature", "seed", "tool_choice", "parallel_tool_calls")
    ]
    stub_llm.script += [error(422, "tools.0.function.strict: Extra inputs are not permitted"), call("f", {})]
    with Client(stub_llm.endpoint()) as client:
        reply = client.chat(WITH_TOOLS)
    assert set(stub_llm.asked[-1].body) == {"model", "messages", "max_completion_tokens", "tools"}
    assert "strict" not in stub_llm.asked[-1].body["tools"][0]["function"]
    assert len(reply.adapted) == 6


def test_json_answers_step_down_from_schema_to_object_to_words(stub_llm):
    refusal = error(400, "response_format is not supported", param="response_format")
    reply = ask(stub_llm, [refusal, refusal, "{}"], WITH_SCHEMA)
    assert [r.body.get("response_format", {}).get("type") for r in stub_llm.asked] == ["json_schema", "json_object", None]
    assert len(reply.adapted) == 2


def test_a_system_message_moves_into_that_of_the_user(stub_llm):
    parts = [{"type": "text", "text": "hi"}]
    for content, moved in [("hi", "s\n\nhi"), (parts, [{"type": "text", "text": "s"}, *parts])]:
        question = Ask([{"role": "system", "content": "s"}, {"role": "user", "content": content}], 16)
        ask(stub_llm, lambda _: text("x"), question, profile=Profile(system=False))
        assert stub_llm.asked[-1].messages == [{"role": "user", "content": moved}]


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 16. This model supports at most 8 completion tokens.",
        "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens (max_tokens 16).",
        "Messages must alternate between user and assistant",
        "",
    ],
)
def test_other_complaints_are_no_refusal_of_a_parameter(stub_llm, message):
    assert failure(stub_llm, [error(400, message), "never asked"]).kind == "bad_request"
    assert len(stub_llm.asked) == 1


def test_a_refusal_that_names_nothing_is_tried_once_without_what_is_optional(stub_llm):
    reply = ask(stub_llm, [error(400, "Bad request"), call("f", {})], WITH_TOOLS)
    assert set(stub_llm.asked[1].body) == {"model", "messages", "max_tokens", "temperature", "tools"}
    assert reply.tool_calls[0].name == "f"


def test_what_did_not_help_is_not_learned(stub_llm):
    told = []
    stub_llm.script = [
        error(400, "Unknown parameter: seed", param="seed"),
        error(400, "max_tokens: unknown"),
        error(400, "max_completion_tokens: unknown"),
    ]
    with Client(stub_llm.endpoint(), told.append) as client, pytest.raises(ModelError):
        client.chat(ASK)
    assert (client.profile, told, len(stub_llm.asked)) == (stub_llm.endpoint().profile, [], 3)


def test_a_parameter_that_the_profile_forces_cannot_be_left_out_and_is_not_tried_forever(stub_llm):
    refusal = error(400, "Unknown parameter: seed", param="seed")
    assert failure(stub_llm, lambda _: refusal, profile=Profile(extra_body={"seed": 3})).kind == "bad_request"
    assert len(stub_llm.asked) == 2


def test_calls_that_learn_at_the_same_time_keep_what_the_others_learned(stub_llm):
    def script(request):
        for name in ("seed", "temperature"):
            if name in request.body and request.body["messages"][0]["content"] == name:
                return error(400, f"Unknown parameter: {name}", param=name, delay=0.05)
        return text("ok", delay=0.05)

    stub_llm.script = script
    with Client(stub_llm.endpoint()) as client, ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda n: client.chat(Ask([{"role": "user", "content": n}], 8)), ["seed", "temperature"]))
        assert (client.profile.seed, client.profile.temperature) == (False, False)


def test_the_key_is_sent_and_appears_nowhere_else(stub_llm):
    def leaky(request):
        sent = request.headers["authorization"]
        return [
            error(401, f"Incorrect API key provided: {sent}"),
            Answer({"error": {"message": sent}}),
            Answer({"choices": [], "echo": sent}),
        ][request.number]

    stub_llm.script = leaky
    endpoint = stub_llm.endpoint(key=f" {KEY}\n")
    with Client(endpoint) as client:
        for _ in range(3):
            with pytest.raises(ModelError) as e:
                client.chat(ASK)
            assert KEY not in str(e.value) + repr(e.value)
            assert e.value.__cause__ is None
        assert KEY not in repr(client) + repr(endpoint) + json.dumps(endpoint.public())
    assert {r.headers["authorization"] for r in stub_llm.asked} == {f"Bearer {KEY}"}


def test_without_a_key_and_without_what_the_environment_says_of_other_accounts(stub_llm, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somewhere-else")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    ask(stub_llm, ["x"])
    headers = stub_llm.asked[0].headers
    assert headers["authorization"] == "Bearer not-needed"
    assert {"openai-organization", "openai-project"} & set(headers) == set()


@pytest.mark.parametrize("key", ["schlüssel", "two\nlines"])
def test_a_key_that_cannot_be_sent_is_told_without_it(stub_llm, key):
    e = failure(stub_llm, ["x"], key=key)
    assert (e.kind, key in str(e)) == ("auth", False)


def test_azure_is_asked_by_deployment_and_version(stub_llm):
    stub_llm.script = ["x", "y"]
    azure = Endpoint(stub_llm.url.removesuffix("/v1"), "my deployment", key=KEY, kind="azure", api_version="2026-01-01")
    with Client(azure) as client:
        assert client.chat(ASK).text == "x"
    seen = stub_llm.asked[0]
    assert (seen.path, seen.query) == ("/openai/deployments/my deployment/chat/completions", {"api-version": "2026-01-01"})
    assert seen.headers["api-key"] == KEY
    with Client(Endpoint(stub_llm.url, "m", key=KEY, kind="azure")) as client:  # the newer address speaks like every other server
        assert client.chat(ASK).text == "y"
    assert stub_llm.asked[1].path == "/v1/chat/completions"


def test_images_come_as_bytes(stub_llm):
    stub_llm.script = [image(), error(400, "Unknown parameter: 'response_format'", param="response_format"), image(png(2, 2))]
    with Client(stub_llm.endpoint()) as client:
        assert client.image("a road", seed=5) == png()
        assert client.image("a road", size="512x512") == png(2, 2)
        assert client.profile.image_format is False
    assert stub_llm.asked[0].body == {
        "model": "stub-model",
        "prompt": "a road",
        "size": "1024x1024",
        "n": 1,
        "response_format": "b64_json",
        "seed": 5,
    }
    assert stub_llm.asked[-1].body == {"model": "stub-model", "prompt": "a road", "size": "512x512", "n": 1}


@pytest.mark.parametrize("body", [{}, {"data": []}, {"data": [{}]}, {"data": [{"b64_json": "?"}]}, {"data": [{"b64_json": ""}]}, [], "x"])
def test_an_answer_without_an_image_is_unreadable(stub_llm, body):
    stub_llm.script = [Answer(body)]
    with Client(stub_llm.endpoint()) as client, pytest.raises(ModelError) as e:
        client.image("a road")
    assert e.value.kind == "unreadable"


def test_the_models_that_a_server_lists(stub_llm):
    stub_llm.models = ["a", "b"]
    with Client(stub_llm.endpoint()) as client:
        assert client.models() == ("a", "b")
        for listed in (Answer({"data": []}), Answer({"data": None}), error(404, "no"), Answer("x")):
            stub_llm.models = listed
            with pytest.raises(ModelError):
                client.models()


def test_one_client_serves_several_event_loops_and_threads(stub_llm):
    stub_llm.script = lambda r: text(r.last)
    client = Client(stub_llm.endpoint())

    async def many(n):
        try:
            return [r.text for r in await asyncio.gather(*(client.achat(Ask([{"role": "user", "content": str(i)}], 8)) for i in range(n)))]
        finally:
            await client.aclose()

    assert alone(many(5)) == alone(many(5)) == [str(i) for i in range(5)]
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda i: client.chat(Ask([{"role": "user", "content": str(i)}], 8)).text, range(12)))
    client.close()
    assert got == [str(i) for i in range(12)]
    assert client.chat(Ask([{"role": "user", "content": "after closing"}], 8)).text == "after closing"
    client.close()


def test_one_attempt_a_call(stub_llm):
    failure(stub_llm, lambda _: error(503, "no"))
    assert len(stub_llm.asked) == 1


def test_the_stub_says_when_its_script_has_run_out(stub_llm):
    assert "script has 0 answers; this is call 1" in str(failure(stub_llm, []))
    assert USAGE["total_tokens"] == USAGE["prompt_tokens"] + USAGE["completion_tokens"]
    with StubServer(models=["m"]) as other:
        assert other.url != stub_llm.url


def test_of_several_addresses_a_single_client_takes_the_first(stub_llm):
    stub_llm.script = ["x"]
    with Client(Endpoint(f"{stub_llm.url},http://127.0.0.1:9/v1", "m")) as client:
        assert client.chat(ASK).text == "x"


def test_a_waiting_call_inside_another_is_told_instead_of_waiting_forever(stub_llm):
    stub_llm.script = ["some prose"]
    with Client(stub_llm.endpoint()) as client, pytest.raises(RuntimeError, match="inside another"):
        client.chat(ASK, lambda _: client.chat(ASK))
