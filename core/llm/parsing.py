"""Reads what models write around JSON: fences, prose, reasoning, arguments in the wrong type. Never crashes, never makes anything up.

Whatever comes out stands literally in what came in; text that holds no JSON object gives None, not a guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"```[a-zA-Z0-9_+-]*[ \t]*\r?\n?(.*?)```", re.DOTALL)
_TRIES = 64
"""Opening braces that are tried before a text counts as prose: bounds the time that a hostile answer takes."""


def without_reasoning(text: str) -> tuple[str, str]:
    """Answer and reasoning of a text with <think> blocks.

    A block that was never closed reasons to the end; one that was never opened (its tag stood in the prompt) from the start.
    A text that begins with JSON is left as it is: tags in it are data.
    """
    if text.lstrip()[:1] in ("{", "["):
        return text, ""
    kept, thoughts = "", []
    start, inside = 0, False
    for tag in _TAG.finditer(text):
        part, start = text[start : tag.start()], tag.end()
        if inside:
            thoughts.append(part)
        elif tag.group(1):
            kept, thoughts = "", [*thoughts, kept + part]
        else:
            kept += part
        inside = not tag.group(1)
    rest = text[start:]
    kept, thoughts = (kept, [*thoughts, rest]) if inside else (kept + rest, thoughts)
    return (kept.strip() if thoughts else text), "\n".join(t for t in (x.strip() for x in thoughts) if t)


def loads(text: str) -> Any:
    """The value of a JSON text, None if it is none; NaN, infinities and half surrogates are no JSON here.

    Raises nothing: also not on nesting or integers beyond Python's limits.
    """
    try:
        value = json.loads(text, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair would break every later hash and file
    except (ValueError, RecursionError):
        return None
    return value


def json_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in a text with fences or prose around it, None if there is none."""
    answer, _ = without_reasoning(text)
    for candidate in (answer, *_FENCE.findall(answer)):
        if isinstance(value := loads(candidate), dict):
            return value
    decoder = json.JSONDecoder(parse_constant=_refuse)
    at = answer.find("{")
    for _ in range(_TRIES):
        if at < 0:
            return None
        try:
            value, end = decoder.raw_decode(answer, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(checked := loads(answer[at:end]), dict):
                return checked
        at = answer.find("{", end)
    return None


def arguments(value: Any) -> tuple[str, dict[str, Any] | None]:
    """Arguments of a tool call, as text and as a mapping.

    Servers send them as JSON text (right), as an object, as nothing, or encoded twice; models put fences and prose around them.

    Returns:
        The text as it came, and the mapping; None if it holds no JSON object.
    """
    if value is None:
        return "", {}
    if isinstance(value, Mapping):
        raw = json.dumps(value, ensure_ascii=False, default=str)
        return raw, loads(raw)
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, default=str), None
    if not value.strip():
        return value, {}
    inner = value
    for _ in range(3):
        decoded = loads(inner)
        if isinstance(decoded, dict):
            return value, decoded
        if not isinstance(decoded, str):
            break
        inner = decoded
    return value, json_object(inner)


def clean(value: Any, hide: str = "") -> Any:
    """The same JSON-ready data with half surrogate pairs replaced, so that it can be hashed and written.

    Args:
        value: What came back.
        hide: A secret that is taken out wherever a server repeats it.
    """
    if isinstance(value, str):
        kept = value if value.isascii() else value.encode("utf-8", "replace").decode()
        return kept.replace(hide, "…") if hide and hide in kept else kept
    if isinstance(value, Mapping):
        return {clean(str(k), hide): clean(v, hide) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [clean(v, hide) for v in value]
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    return clean(str(value), hide)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
