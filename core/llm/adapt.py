"""What a server's refusal teaches: which parameter it does not take, and the profile without it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from core.llm.endpoint import Profile

_UNKNOWN_WORDS = r"unsupported|not (?:\w+ ){0,2}support|unknown|unrecogni[sz]ed|unexpected|extra (?:input|field|param)|instead"
_REFUSED = re.compile(
    _UNKNOWN_WORDS + r"|does not (?:take|accept|allow|know)|not (?:permitted|allowed|implemented|available|enabled)"
    r"|no longer|deprecated|invalid|cannot|can't|must not|requires|only the default",
    re.IGNORECASE,
)
"""Words of a refusal; a message that merely names a parameter is none."""
_TOO_MUCH = re.compile(r"context (?:length|window|size)|too (?:large|long|many|big)|exceed|at most|less than|greater than|maximum", re.I)
_UNKNOWN = re.compile(_UNKNOWN_WORDS, re.I)
_NO_TOOLS = re.compile(
    r"support\w* tools|tools? .{0,40}support|tool[ -]choice.{0,40}requires|enable-auto-tool-choice|tool-call-parser", re.I
)


class Change(NamedTuple):
    """A profile that a refusal led to; `rule` names it, so that it is tried only once a call."""

    profile: Profile
    rule: str
    words: str


class _Rule(NamedTuple):
    name: str
    pattern: str
    sent: bool
    change: dict[str, Any]
    words: str


def adapt(profile: Profile, body: Mapping[str, Any], text: str, param: str = "", tried: Collection[str] = ()) -> Change | None:
    """The profile without the parameter that a refusal names.

    Args:
        profile: Under which the body was made.
        body: That was refused.
        text: What the server said.
        param: Parameter that the server named in `error.param`, "" if none.
        tried: Rules that this call went through already.

    Returns:
        None if the refusal names nothing that was sent and can be left out.
    """
    if (fewer := _fewer(profile, body, text)) is not None and fewer.rule not in tried:
        return fewer
    for rule in _rules(profile, body):
        changed = replace(profile, **rule.change)
        if not rule.sent or rule.name in tried or changed == profile:
            continue
        named = bool(param and re.search(rule.pattern, param, re.I))
        told = bool(re.search(rule.pattern, text, re.I) and _REFUSED.search(text))
        size = rule.name == "limit" and _TOO_MUCH.search(text) and not _UNKNOWN.search(text)
        if (named or told) and not size:
            return Change(changed, rule.name, rule.words)
    return None


def bare(profile: Profile, body: Mapping[str, Any], text: str, tried: Collection[str] = ()) -> Change | None:
    """The profile with nothing optional beside tools, for a refusal that names nothing.

    Returns:
        None if no tools were sent, nothing optional stood beside them, or the server said that it has no tools.
    """
    changed = replace(profile, strict=False, parallel_tool_calls=False, tool_choice=False, seed=False)
    if "tools" not in body or "bare" in tried or tried or changed == profile or _NO_TOOLS.search(text):
        return None
    return Change(
        changed, "bare", "Tools are sent without strict, tool_choice, parallel_tool_calls and seed: the server refused, unsaid why."
    )


def tools_are_off(text: str) -> bool:
    """Whether a refusal says that the server, or the model, takes no tools at all."""
    return bool(_NO_TOOLS.search(text))


def _fewer(profile: Profile, body: Mapping[str, Any], text: str) -> Change | None:
    """The profile with as many log-probabilities a token as the server says that it gives."""
    asked = body.get("top_logprobs", 0)
    if not asked or not re.search(r"logprob", text, re.I) or not re.search(rf"{_TOO_MUCH.pattern}|between|max", text, re.I):
        return None
    most = max((n for n in map(int, re.findall(r"(?<![\w.-])\d{1,3}(?![\w-]|\.\d)", text)) if n < asked), default=0)
    if not most:
        return None
    return Change(
        replace(profile, top_logprobs=most), f"top_logprobs {most}", f"At most {most} log-probabilities a token: the server's limit."
    )


def _rules(profile: Profile, body: Mapping[str, Any]) -> list[_Rule]:
    other = "max_completion_tokens" if profile.limit_field == "max_tokens" else "max_tokens"
    asked = body.get("response_format")
    form = asked if isinstance(asked, Mapping) else {}  # images are asked for in a format that is a word
    kind = str(form.get("type", ""))
    strict = any(t.get("function", {}).get("strict") for t in body.get("tools", ())) or form.get("json_schema", {}).get("strict", False)
    system = any(m.get("role") == "system" for m in body.get("messages", ()))

    def without(name: str) -> _Rule:
        return _Rule(name, rf"\b{name}\b", name in body, {name: False}, f"Sent without {name}: the server refused it.")

    return [
        _Rule(
            "limit", r"\bmax_(completion_)?tokens\b", profile.limit_field in body, {"limit_field": other}, f"The limit is sent as {other}."
        ),
        without("parallel_tool_calls"),
        without("tool_choice"),
        _Rule(
            "strict",
            r"\bstrict\b|schema for function|additionalProperties",
            bool(strict),
            {"strict": False},
            "Sent without strict: the server refused it.",
        ),
        _Rule(
            "image_format",
            r"response_format|b64_json",
            isinstance(asked, str),
            {"image_format": False},
            "Images are asked for without response_format: the server refused it.",
        ),
        without("temperature"),
        without("seed"),
        without("top_p"),
        _Rule(
            "logprobs",
            r"logprobs|log[ -]?prob",
            "logprobs" in body,
            {"logprobs": False},
            "Sent without logprobs: the server refused to tell log-probabilities.",
        ),
        _Rule(
            f"response_format {kind}",
            r"response_format|json_schema|json_object|json mode|structured output|guided|grammar",
            bool(form),
            {"response_format": "json_object" if kind == "json_schema" else "none"},
            f"Sent without response_format {kind}: the server refused it.",
        ),
        _Rule(
            "stream_options",
            r"stream_options|include_usage",
            "stream_options" in body,
            {"stream_usage": False},
            "Streams do not tell their usage: the server refused stream_options.",
        ),
        _Rule(
            "system",
            r"system (role|message|prompt)|role[^a-z]{1,4}system",
            system,
            {"system": False},
            "What would be the system message stands in the first message of the user: the server refused it.",
        ),
    ]
