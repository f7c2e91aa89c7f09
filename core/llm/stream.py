"""Puts a streamed answer together again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.llm.messages import ModelError


async def collect(events: Any, on_text: Callable[[str], None]) -> dict[str, Any]:
    """A chat completion of its events, as if it had come in one piece; pieces of its text go to `on_text` as they come.

    Raises:
        ModelError: The stream ended before the server said that the answer is done, or told of an error.
    """
    text: list[str] = []
    thoughts: list[str] = []
    whole: dict[str, Any] = {"object": "chat.completion", "usage": None}
    finish: str | None = None
    try:
        async for event in events:
            if not isinstance(event, dict):
                continue
            if event.get("error") and not event.get("choices"):
                raise ModelError(f"The server broke off its answer: {str(event['error'])[:300]}", "server")
            whole |= {k: event[k] for k in ("id", "model", "system_fingerprint", "usage") if event.get(k)}
            choices = event.get("choices")
            choice: dict[str, Any] = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
            delta: dict[str, Any] = found if isinstance(found := choice.get("delta"), dict) else {}
            if isinstance(piece := delta.get("content"), str) and piece:
                text.append(piece)
                on_text(piece)
            if isinstance(piece := delta.get("reasoning_content") or delta.get("reasoning"), str) and piece:
                thoughts.append(piece)
            finish = choice.get("finish_reason") or finish
    finally:
        await events.close()
    if finish is None:  # a dropped connection can look like an orderly end
        raise ModelError("The connection broke off in the middle of the answer.", "cut")
    message = {"role": "assistant", "content": "".join(text), "reasoning_content": "".join(thoughts)}
    return whole | {"choices": [{"index": 0, "finish_reason": finish, "message": message}]}
