"""Between our own messages and the OpenAI wire: what is sent under a profile, and how an answer is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from core.llm.endpoint import Profile
from core.llm.logprobs import answer_tokens
from core.llm.messages import Ask, ModelError, Reply, ToolCall, Usage
from core.llm.parsing import arguments, clean, without_reasoning

CHARACTERS_PER_TOKEN = 4
"""Used only where a server tells no usage; the count is marked as estimated then."""
TOKENS_PER_IMAGE = 800


def chat_body(ask: Ask, model: str, profile: Profile) -> dict[str, Any]:
    """Body of one call of chat completions, without what the server is known to refuse."""
    body: dict[str, Any] = {"model": model, "messages": _messages(ask.messages, profile), profile.limit_field: ask.max_tokens}
    if profile.temperature and ask.temperature is not None:
        body["temperature"] = ask.temperature
    if profile.seed and ask.seed is not None:
        body["seed"] = ask.seed
    if profile.top_p and ask.top_p is not None:
        body["top_p"] = ask.top_p
    if profile.logprobs and ask.top_logprobs:
        body |= {"logprobs": True, "top_logprobs": min(ask.top_logprobs, profile.top_logprobs)}
    if ask.tools:
        body["tools"] = [_tool(t, profile.strict) for t in ask.tools]
        if profile.tool_choice:
            body["tool_choice"] = "required"  # a hint: several servers ignore it, so nothing rests on it
        if profile.parallel_tool_calls:
            body["parallel_tool_calls"] = False
    if ask.schema:
        name, schema = ask.schema
        if profile.response_format == "json_schema":
            form: dict[str, Any] = (
                {"name": name, "schema": schema, "strict": True} if profile.strict else {"name": name, "schema": _loose(schema)}
            )
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        elif profile.response_format == "json_object":
            body["response_format"] = {"type": "json_object"}
    return body | dict(profile.extra_body)


def _tool(tool: Mapping[str, Any], strict: bool) -> dict[str, Any]:
    function = {k: v for k, v in tool["function"].items() if k != "strict"}
    return {**tool, "function": {**function, "strict": True} if strict else _loose(function)}


def _loose(schema: Any) -> Any:
    """A schema without what only strict ones need, and some servers refuse; what comes back is checked here anyway."""
    if isinstance(schema, Mapping):
        return {k: _loose(v) for k, v in schema.items() if not (k == "additionalProperties" and v is False)}
    return [_loose(v) for v in schema] if isinstance(schema, list | tuple) else schema


def _messages(messages: Sequence[Mapping[str, Any]], profile: Profile) -> list[dict[str, Any]]:
    """The messages with exactly one system message, first; or inside the first message of the user where the server takes none."""
    system = "\n\n".join(str(m["content"]) for m in messages if m.get("role") == "system")
    rest = [dict(m) for m in messages if m.get("role") != "system"]
    if not system:
        return rest
    if profile.system:
        return [{"role": "system", "content": system}, *rest]
    first = next((i for i, m in enumerate(rest) if m.get("role") == "user"), None)
    if first is None:
        return [{"role": "user", "content": system}, *rest]
    content = rest[first].get("content")
    parts = [{"type": "text", "text": system}, *content] if isinstance(content, list) else f"{system}\n\n{content}"
    return [*rest[:first], {**rest[first], "content": parts}, *rest[first + 1 :]]


def read_reply(body: Any, ask: Ask, *, seconds: float, adapted: Sequence[str] = (), hide: str = "") -> Reply:
    """An answer of chat completions as a `Reply`; branches on what is there, not on finish_reason.

    Args:
        body: As it came.
        ask: What was asked.
        seconds: Wall time.
        adapted: What was left out for this server, in words.
        hide: The key, which no answer may bring into a record.

    Raises:
        ModelError: The body is no chat completion, tells of an error, or the content filter held the answer back.
    """
    body = clean(body, hide)
    if not isinstance(body, dict):
        raise ModelError(f"The server answered with something that is no chat completion: {_short(body)}", "unreadable")
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    message = (choice or {}).get("message")
    if choice is None or not isinstance(message, dict):
        if error := body.get("error"):
            raise _error_inside(error)
        raise ModelError(f"The server answered without a message: {_short(body)}", "unreadable")
    text, thoughts = without_reasoning(_content(message))
    reasoning = "\n".join(t for t in (_first_text(message, "reasoning_content", "reasoning"), thoughts) if t)
    calls = tuple(_tool_calls(message))
    finish = choice.get("finish_reason")
    if finish == "content_filter" and not calls and not text:
        raise ModelError("The server's content filter held the answer back.", "blocked")
    return Reply(
        text=text,
        reasoning=reasoning,
        tool_calls=calls,
        cut=finish in ("length", "max_tokens") and not calls,
        usage=_usage(body.get("usage"), ask, text + reasoning + "".join(c.raw for c in calls)),
        seconds=seconds,
        model=str(body.get("model") or ""),
        fingerprint=str(body.get("system_fingerprint") or ""),
        raw=body,
        adapted=tuple(adapted),
        tokens=answer_tokens(choice, text) if ask.top_logprobs else (),
    )


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content or _first_text(message, "refusal")
    if isinstance(content, dict):  # JSON that was asked for, decoded by the server
        return json.dumps(content, ensure_ascii=False)
    if isinstance(content, list):  # parts, as some servers answer
        return "".join(p if isinstance(p, str) else str(p.get("text") or "") for p in content if isinstance(p, str | dict))
    return _first_text(message, "refusal")


def _first_text(message: Mapping[str, Any], *names: str) -> str:
    return next((t for n in names if isinstance(t := message.get(n), str) and t), "")


def _tool_calls(message: Mapping[str, Any]) -> list[ToolCall]:
    entries = message.get("tool_calls")
    entries = list(entries) if isinstance(entries, list) else []
    if not entries and isinstance(old := message.get("function_call"), dict):  # the form before tools
        entries = [{"id": "", "function": old}]
    calls = []
    for entry in entries:
        function = entry.get("function") if isinstance(entry, dict) else None
        if isinstance(function, dict):
            raw, read = arguments(function.get("arguments"))
            calls.append(ToolCall(str(entry.get("id") or ""), str(function.get("name") or "").strip(), raw, read))
    return calls


def _usage(told: Any, ask: Ask, answer: str) -> Usage:
    prompt, completion = ((told or {}).get(k) if isinstance(told, dict) else None for k in ("prompt_tokens", "completion_tokens"))
    prompt, completion = (n if type(n) is int and n >= 0 else None for n in (prompt, completion))  # no budget grows by what is told
    if prompt is not None and completion is not None:
        return Usage(prompt, completion)
    guess = tokens_of(ask.messages) + _tokens(str(list(ask.tools)) if ask.tools else "")
    return Usage(guess if prompt is None else prompt, _tokens(answer) if completion is None else completion, True)


def tokens_of(messages: Sequence[Mapping[str, Any]]) -> int:
    """Estimated tokens of messages: four characters each, 800 an image."""
    total = 0
    for m in messages:
        content = m.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
        total += sum(TOKENS_PER_IMAGE if p.get("type") == "image_url" else _tokens(str(p.get("text", ""))) for p in parts)
        total += _tokens(str(m["tool_calls"])) if m.get("tool_calls") else 0
    return total


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _error_inside(error: Any) -> ModelError:
    """An error that came with status 200, as gateways send it."""
    code = error.get("code") if isinstance(error, dict) else None
    text = error.get("message") if isinstance(error, dict) else error
    status = int(code) if isinstance(code, int) or (isinstance(code, str) and code.isascii() and code.isdigit()) else None
    kind = "rate" if status == 429 else "auth" if status in (401, 403) else "bad_request" if status == 400 else "server"
    return ModelError(f"The server answered with an error: {_short(text)}", kind, status)  # type: ignore[arg-type]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 300 else text[:297] + "..."
