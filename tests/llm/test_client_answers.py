"""What servers of different make answer and how it is read; what becomes of failures, and of streams that break."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from core.llm import Ask, Client, Endpoint, ModelError, Profile, Usage
from tests.stub_llm import Answer, call, calls, completion, error, text

ASK = Ask([{"role": "user", "content": "hi"}], 16)


def ask(stub, script, question=ASK, **endpoint):
    stub.script = script
    with Client(stub.endpoint(**endpoint)) as client:
        return client.chat(question)


def failure(stub, script, question=ASK, **endpoint):
    with pytest.raises(ModelError) as caught:
        ask(stub, script, question, **endpoint)
    return caught.value


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None, "completion_tokens": "5"}, "none"])
def test_usage_that_is_not_told_is_estimated_and_marked(stub_llm, usage):
    reply = ask(stub_llm, [text("four", usage=usage)])
    assert reply.usage == Usage(1, 1, estimated=True)


def test_images_count_in_estimates(stub_llm):
    content = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4_000}}]
    assert ask(stub_llm, [text("x", usage=None)], Ask([{"role": "user", "content": content}], 8)).usage.prompt == 801


@pytest.mark.parametrize(
    "message",
    [
        {"content": "yes", "reasoning_content": "why"},
        {"content": "yes", "reasoning": "why"},
        {"content": "<think>why</think>\n\nyes"},
        {"content": "why</think>yes"},
        {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "<think>why</think>yes"}]},
    ],
)
def test_reasoning_stands_apart_in_whatever_form_it_comes(stub_llm, message):
    reply = ask(stub_llm, [completion(message)])
    assert (reply.text, reply.reasoning) == ("yes", "why")


@pytest.mark.parametrize("sent", ['{"a": 1}', {"a": 1}, '"{\\"a\\": 1}"', '```json\n{"a": 1}\n```'])
def test_arguments_are_read_in_whatever_form_they_come(stub_llm, sent):
    message = {"content": None, "tool_calls": [{"id": "x y/1", "type": "function", "function": {"name": " f ", "arguments": sent}}]}
    (found,) = ask(stub_llm, [completion(message)]).tool_calls
    assert (found.id, found.name, found.arguments) == ("x y/1", "f", {"a": 1})


def test_calls_count_whatever_the_finish_reason_says(stub_llm):
    assert ask(stub_llm, [call("f", {}, finish="stop")]).tool_calls[0].arguments == {}
    cut = ask(stub_llm, lambda _: call("f", '{"where": ["time', finish="length"))
    assert (cut.tool_calls[0].arguments, cut.tool_calls[0].raw) == (None, '{"where": ["time')


def test_an_answer_that_ran_into_its_limit_is_cut(stub_llm):
    assert ask(stub_llm, [text("half an ans", finish="length")]).cut


def test_the_form_before_tools_is_read_too(stub_llm):
    (found,) = ask(stub_llm, [completion({"content": None, "function_call": {"name": "f", "arguments": "{}"}})]).tool_calls
    assert (found.id, found.name, found.arguments) == ("", "f", {})


def test_several_calls_come_in_order(stub_llm):
    assert [c.name for c in ask(stub_llm, [calls([("a", {}), ("b", {}), ("a", {})])]).tool_calls] == ["a", "b", "a"]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "plain text",
        "<html>502</html>",
        "[]",
        "{}",
        '{"choices": []}',
        '{"choices": null}',
        '{"choices": [{}]}',
        '{"choices": [7]}',
        "null",
        '{"choices": [{"message": 1}]}',
    ],
)
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
def test_answers_that_are_no_completion_are_unreadable(stub_llm, body, kind):
    assert failure(stub_llm, [Answer(body, headers={"Content-Type": kind})]).kind == "unreadable"


@pytest.mark.parametrize(
    "message",
    [{"content": None}, {}, {"content": 7}, {"content": "x", "tool_calls": 7}, {"content": "x", "tool_calls": [None, {"function": 1}, {}]}],
)
def test_odd_messages_are_read_as_far_as_they_go(stub_llm, message):
    reply = ask(stub_llm, [completion(message)])
    assert (reply.text in ("", "x"), reply.tool_calls) == (True, ())


def test_half_a_surrogate_pair_breaks_nothing_later(stub_llm):
    reply = ask(stub_llm, [Answer('{"choices": [{"message": {"content": "a\\ud800b"}}]}', headers={"Content-Type": "application/json"})])
    assert reply.text == "a?b"
    json.dumps(reply.raw, ensure_ascii=False).encode()


@pytest.mark.parametrize(("code", "kind"), [(429, "rate"), ("401", "auth"), (400, "bad_request"), (None, "server")])
def test_an_error_inside_an_answer_of_status_200_is_an_error(stub_llm, code, kind):
    assert failure(stub_llm, [Answer({"error": {"message": "no", "code": code}})]).kind == kind


IN_AN_HOUR = "in an hour"
"""Stands for that time of day, worked out when the test runs, which may be long after it was collected."""


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (error(400, "bad"), "bad_request"),
        (error(401, "bad key"), "auth"),
        (error(403, "forbidden"), "auth"),
        (error(404, "no such model"), "not_found"),
        (error(408, "slow"), "timeout"),
        (error(409, "conflict"), "server"),
        (error(413, "too large"), "bad_request"),
        (error(429, "slow down"), "rate"),
        (error(429, "You exceeded your current quota", code="insufficient_quota"), "auth"),
        (error(500, "oops"), "server"),
        (error(500, "image input is not supported - hint: mmproj"), "bad_request"),
        (error(503, "overloaded"), "server"),
        (Answer("<html>", 502), "server"),
        (Answer({"detail": [{"msg": "field required"}]}, 422), "bad_request"),
        (error(400, "filtered", code="content_filter"), "blocked"),
        (
            error(
                400,
                "The response was filtered due to the prompt triggering Azure OpenAI's content management policy",
                code="content_filter",
            ),
            "blocked",
        ),
        (error(400, "Your request was rejected by the safety system", code="moderation_blocked"), "blocked"),
        (completion({"content": ""}, finish="content_filter"), "blocked"),
    ],
)
def test_each_failure_has_its_kind(stub_llm, answer, kind):
    e = failure(stub_llm, [answer])
    assert (e.kind, e.status) == (kind, answer.status if answer.status != 200 else None)


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"Retry-After": "7"}, 7, 7),
        ({"Retry-After": "0.5"}, 0.5, 0.5),
        ({"retry-after-ms": "250", "Retry-After": "7"}, 0.25, 0.25),
        ({"Retry-After": IN_AN_HOUR}, 3_500, 3_600),
        ({"Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"}, 0, 0),
        ({"Retry-After": "-3"}, 0, 0),
        ({"Retry-After": "soon"}, None, None),
        ({}, None, None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_read(stub_llm, headers, least, most):
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    headers = {name: later if value == IN_AN_HOUR else value for name, value in headers.items()}
    wait = failure(stub_llm, [error(429, "slow", headers=headers)]).retry_after
    assert wait is None if least is None else least <= wait <= most


@pytest.mark.parametrize("answer", [text("late", delay=5), text("drop by drop", trickle=0.05)])
def test_a_call_ends_in_time_also_where_bytes_trickle(stub_llm, answer):
    start = time.monotonic()
    assert failure(stub_llm, [answer], profile=Profile(timeout=0.4)).kind == "timeout"
    assert time.monotonic() - start < 4


def test_a_call_may_be_given_less_time_than_the_profile_allows(stub_llm):
    question = Ask([{"role": "user", "content": "hi"}], 16, timeout=0.2)
    assert "within 0.2 s" in str(failure(stub_llm, [text("late", delay=5)], question))


def test_a_server_that_is_not_there_is_a_failure_of_connection():
    with (
        Client(Endpoint("http://127.0.0.1:9/v1", "m")) as client,
        pytest.raises(ModelError, match=r"No server answers at http://127.0.0.1:9/v1") as e,
    ):
        client.chat(ASK)
    assert e.value.kind == "connection"


@pytest.mark.parametrize("after", [0, 1, 30])
def test_a_connection_that_breaks_in_the_answer_is_cut(stub_llm, after):
    assert failure(stub_llm, [text("a longer answer than that", drop_after=after)]).kind == "cut"


def streamed(stub, script, **endpoint):
    stub.script = script
    pieces = []
    with Client(stub.endpoint(**endpoint)) as client:
        return client.chat(ASK, pieces.append), pieces


def test_prose_is_streamed_and_put_together(stub_llm):
    reply, pieces = streamed(stub_llm, [text("a rather long piece of prose")])
    assert (reply.text, "".join(pieces), reply.usage) == ("a rather long piece of prose",) * 2 + (Usage(10, 5),)
    assert len(pieces) > 1
    assert stub_llm.asked[0].body["stream_options"] == {"include_usage": True}


def test_a_stream_without_usage_is_estimated(stub_llm):
    reply, _ = streamed(stub_llm, [error(400, "Unknown parameter: stream_options", param="stream_options"), text("prose")])
    assert (reply.text, reply.usage.estimated, "stream_options" in stub_llm.asked[1].body) == ("prose", True, False)


@pytest.mark.parametrize("after", [0, 8, 16])
def test_a_stream_that_breaks_off_is_cut(stub_llm, after):
    with pytest.raises(ModelError) as e:
        streamed(stub_llm, [text("a rather long piece of prose", drop_after=after)])
    assert e.value.kind == "cut"


def test_a_stream_that_ends_without_saying_so_is_cut(stub_llm):
    chunk = {"choices": [{"index": 0, "delta": {"content": "half"}, "finish_reason": None}]}
    with pytest.raises(ModelError) as e:
        streamed(stub_llm, [Answer(f"data: {json.dumps(chunk)}\n\n", headers={"Content-Type": "text/event-stream"})])
    assert e.value.kind == "cut"


def test_an_error_in_a_stream_is_a_failure(stub_llm):
    with pytest.raises(ModelError, match="overloaded") as e:
        streamed(stub_llm, [Answer('data: {"error": {"message": "overloaded"}}\n\n', headers={"Content-Type": "text/event-stream"})])
    assert e.value.kind == "server"
