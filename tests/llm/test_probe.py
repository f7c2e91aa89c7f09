"""The test of a connection: what servers can do, in words, and the profile that follows."""

from __future__ import annotations

import pytest

from core.llm import Endpoint, Profile, probe
from tests.stub_llm import Answer, call, error, image, text

NIGHT = '{"time": "night"}'
TOOL_OK = call("set_time", {"time": "night"})


def found(stub, script, role=None, **endpoint):
    stub.script = script
    return probe(stub.endpoint(**endpoint), role)


def test_a_server_that_can_do_everything(stub_llm):
    p = found(stub_llm, ["OK", TOOL_OK, NIGHT, "Red."])
    assert (p.ok, p.models, p.profile.mode, p.profile.response_format, p.profile.vision) == (
        True,
        ("stub-model",),
        "tools",
        "json_schema",
        True,
    )
    assert p.profile.timeout == stub_llm.endpoint().profile.timeout
    assert p.findings[2:] == (
        "Tool calls work.",
        "The model keeps to a JSON schema.",
        "The controller will use tool calls.",
        "Images work.",
    )


def test_tools_that_are_ignored_lead_to_plan_mode(stub_llm):
    p = found(stub_llm, ["OK", "night", NIGHT], "llm")
    assert (p.ok, p.profile.mode) == (True, "plan")
    assert "Tools are taken, but the model answers in words instead of calling one." in p.findings


def test_vllm_without_its_flags_is_told_which(stub_llm):
    refusal = error(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')
    p = found(stub_llm, ["OK", refusal, NIGHT], "llm")
    assert (p.ok, p.profile.mode) == (True, "plan")
    assert any("On vLLM, tools need --enable-auto-tool-choice" in f for f in p.findings)
    assert p.profile.tool_choice  # nothing is learned from a refusal that leaving out did not mend


def test_json_steps_down_until_the_model_keeps_to_it(stub_llm):
    p = found(stub_llm, ["OK", "words", "It is night.", f"```json\n{NIGHT}\n```"], "llm")
    assert (p.profile.mode, p.profile.response_format) == ("plan", "json_object")
    refused = error(400, "response_format is not supported", param="response_format")
    p = found(stub_llm, lambda r: refused if "response_format" in r.body else text(NIGHT), "judge")
    assert (p.ok, p.profile.response_format) == (True, "none")


def test_a_model_that_gives_no_json_leaves_planning_to_the_offline_controller(stub_llm):
    p = found(stub_llm, lambda _: text("blah"), "llm")
    assert (p.ok, p.profile.mode) == (False, "none")
    assert p.findings[-1] == "It gives no plan that can be read; the offline controller will make the plans."


@pytest.mark.parametrize(
    ("answer", "ok", "vision", "words"),
    [
        (text("Red"), True, True, "Images work."),
        (text("I cannot see it."), True, True, "may not see them"),
        (error(500, "image input is not supported - hint: mmproj"), False, False, "Images are refused."),
        (error(400, "This model does not take images"), False, False, "Images are refused."),
    ],
)
def test_a_model_under_test_must_take_images(stub_llm, answer, ok, vision, words):
    p = found(stub_llm, ["OK", answer], "vlm")
    assert (p.ok, p.profile.vision) == (ok, vision)
    assert words in p.findings[-1]
    assert stub_llm.asked[-1].messages[-1]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")


def test_what_matters_not_for_a_role_is_not_tried(stub_llm):
    found(stub_llm, ["OK", NIGHT], "judge")
    assert len(stub_llm.asked) == 2
    assert not any("tools" in r.body for r in stub_llm.asked)


def test_a_maker_of_images_makes_one(stub_llm):
    assert found(stub_llm, [image()], "images").ok
    p = found(stub_llm, lambda _: error(404, "no images here"), "images")
    assert not p.ok
    assert "no images here" in p.findings[-1]


def test_refused_parameters_are_findings(stub_llm):
    p = found(
        stub_llm,
        [error(400, "Use max_completion_tokens instead of max_tokens, which is unsupported.", param="max_tokens"), "OK", NIGHT],
        "judge",
    )
    assert p.profile.limit_field == "max_completion_tokens"
    assert "The limit is sent as max_completion_tokens." in p.findings


def test_what_an_answer_shows_is_said(stub_llm):
    reasons = text("<think>hm</think>OK", usage=None)
    p = found(stub_llm, [reasons, NIGHT], "judge")
    assert any("with its reasoning apart" in f for f in p.findings)
    assert any("does not tell how many tokens" in f for f in p.findings)
    p = found(stub_llm, lambda r: text("<think>on and on", finish="length"), "judge")
    assert any("reasons for more than 512 tokens" in f for f in p.findings)


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (["other", "another"], 'not "stub-model"; the nearest are "other", "another"'),
        (Answer({"data": []}), "lists no models"),
        (error(404, "nothing here"), "not listed"),
    ],
)
def test_the_list_of_models_is_told_but_not_needed(stub_llm, models, words):
    stub_llm.models = models
    p = found(stub_llm, ["OK", NIGHT], "judge")
    assert p.ok
    assert words in p.findings[0]


def test_a_wrong_key_and_a_dead_server_are_findings(stub_llm):
    p = found(stub_llm, [error(401, "Incorrect key sk-123456")], key="sk-123456")
    assert (p.ok, p.findings[-1]) == (False, "The server refused the key (401): Incorrect key ….")
    p = probe(Endpoint("http://127.0.0.1:9/v1", "m"))
    assert (p.ok, p.models, p.profile) == (False, (), Profile())
    assert p.findings == ("No server answers at http://127.0.0.1:9/v1: All connection attempts failed.",)


def test_a_key_over_plain_http_is_warned_of_except_on_this_machine(stub_llm):
    assert not any("unencrypted" in f for f in found(stub_llm, ["OK", NIGHT], "judge", key="sk-123456").findings)
    p = probe(Endpoint("http://127.0.0.1.invalid:9/v1", "m", key="sk-123456"))
    assert any("unencrypted" in f for f in p.findings)
