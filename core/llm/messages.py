"""What is sent to a model and what comes back, free of any client library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from core.errors import OddysseyError

Failure = Literal["connection", "timeout", "rate", "auth", "not_found", "bad_request", "blocked", "server", "cut", "unreadable"]


@dataclass(frozen=True)
class Ask:
    """One call of chat completions, before the profile of the endpoint shapes it.

    Attributes:
        messages: As on the wire; images as data URLs in content parts.
        max_tokens: Limit of the answer.
        tools: Tool definitions as on the wire.
        schema: JSON schema that the answer must follow, with its name, None for free text.
        temperature: None leaves it to the server.
        seed: None leaves it to the server.
        timeout: Seconds at most, where less is left than the profile allows; None for the profile's.
        top_logprobs: Log-probabilities asked for at each token of the answer, 0 for none.
        top_p: Share of the probability that is sampled from; None leaves it to the server.
    """

    messages: Sequence[Mapping[str, Any]]
    max_tokens: int
    tools: Sequence[Mapping[str, Any]] = ()
    schema: tuple[str, Mapping[str, Any]] | None = None
    temperature: float | None = 0.0
    seed: int | None = 0
    timeout: float | None = None
    top_logprobs: int = 0
    top_p: float | None = None


@dataclass(frozen=True)
class Usage:
    """Tokens of one or more calls.

    Attributes:
        prompt, completion: Tokens.
        estimated: Whether the server told nothing and they were counted from the length of the text.
    """

    prompt: int = 0
    completion: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt + other.prompt, self.completion + other.completion, self.estimated or other.estimated)


@dataclass(frozen=True)
class ToolCall:
    """A tool call with its arguments made readable.

    Attributes:
        id: As the server gave it.
        name: Tool.
        raw: Arguments as they came, as text.
        arguments: Arguments as a mapping, None if they are no JSON object.
    """

    id: str
    name: str
    raw: str
    arguments: Mapping[str, Any] | None


@dataclass(frozen=True)
class Token:
    """A token of an answer with its log-probabilities, where the server told them.

    Attributes:
        text: As the server named it, marks for spaces turned into spaces.
        logprob: Of the token itself, minus infinity where the server said so or nothing.
        top: Likeliest tokens at this place with their log-probabilities, as the server listed them; () if it listed none.
    """

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Reply:
    """What a model answered.

    Attributes:
        text: Content without reasoning.
        reasoning: Reasoning text, "" if none.
        tool_calls: In order.
        cut: Whether the limit of tokens ended it.
        usage: Tokens.
        seconds: Wall time.
        model, fingerprint: As the server named them, "" if it did not.
        raw: The answer as it came, JSON-ready, for the record.
        adapted: Changes to the profile that this call needed, in words.
        tokens: Of the answer after its reasoning, with their log-probabilities; () where none were asked for or the server dropped them.
    """

    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    cut: bool = False
    usage: Usage = Usage()
    seconds: float = 0.0
    model: str = ""
    fingerprint: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)
    adapted: tuple[str, ...] = ()
    tokens: tuple[Token, ...] = ()


class ModelError(OddysseyError):
    """A model did not answer.

    Attributes:
        kind: What went wrong.
        status: HTTP status, None if there was no answer.
        retry_after: Seconds that the server asked to wait, None if it did not say.
    """

    def __init__(self, message: str, kind: Failure, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind, self.status, self.retry_after = kind, status, retry_after
