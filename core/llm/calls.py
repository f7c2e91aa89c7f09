"""What is kept of a call to a model, and where: whoever keeps calls offers a `CallLog`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from core.digest import sha256_json
from core.llm.endpoint import Endpoint

CallStatus = Literal["in_flight", "done", "failed", "blocked"]
"""in_flight: sent, or about to be; done, blocked: the server's last word, never asked again; failed: to be asked again."""

FINAL = ("done", "blocked")


@dataclass(frozen=True)
class StoredCall:
    """A call as it is kept.

    Attributes:
        key: Hash of everything that shapes the answer.
        status: What became of it.
        attempts: Times that it was sent, also by a process that was ended before the answer came.
        response: The answer: text, reasoning, cut, model, fingerprint, and its first tokens where log-probabilities were asked for and
            came; {} if there is none.
        usage: Tokens: prompt, completion, estimated.
        latency: Seconds.
        error: Why there is no answer, "" if there is.
    """

    key: str
    status: CallStatus
    attempts: int = 0
    response: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)
    latency: float = 0.0
    error: str = ""

    @property
    def final(self) -> bool:
        """Whether the call need not be made again."""
        return self.status in FINAL

    @property
    def text(self) -> str:
        """Text of the answer, "" if there is none."""
        return str(self.response.get("text", ""))


class CallLog(Protocol):
    """Where calls are kept; each future is done once the thing is committed."""

    def get(self, key: str) -> Future[StoredCall | None]:
        """What is known of a call."""
        ...

    def begin(self, key: str) -> Future[StoredCall | None]:
        """Note that a call is about to be sent; gives what was known of it before."""
        ...

    def finish(self, call: StoredCall) -> Future[None]:
        """Keep what came of a call."""
        ...


def host_of(endpoint: Endpoint) -> str:
    """Host and path of the first address of an endpoint, without scheme, user and password."""
    first = addresses(endpoint)[0]
    return first.partition("://")[2].rpartition("@")[2].rstrip("/") or first


def addresses(endpoint: Endpoint) -> tuple[str, ...]:
    """The addresses of an endpoint: several, separated by commas or spaces, serve the same model side by side."""
    return tuple(endpoint.base_url.replace(",", " ").split()) or (endpoint.base_url,)


def call_key(
    endpoint: Endpoint, purpose: str, prompt: str, content: Mapping[str, Any], images: Sequence[str], decode: Mapping[str, Any]
) -> str:
    """Content hash of a call: equal keys mean that the same is asked of the same model.

    Args:
        endpoint: Model and server; neither key, label, price nor profile are part of it.
        purpose: Such as "vlm", "judge" or "tag".
        prompt: Fingerprint of the prompt's template.
        content: What fills it.
        images: SHA-256 of each image, in order.
        decode: Parameters of decoding.
    """
    what = {"model": endpoint.model, "host": host_of(endpoint), "purpose": purpose, "prompt": prompt}
    return sha256_json(what | {"content": dict(content), "images": list(images), "decode": dict(decode)})
