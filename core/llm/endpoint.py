"""Where a model answers, and what is known of how its server speaks the OpenAI wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Role = Literal["llm", "vlm", "judge", "tagger", "images"]
"""What an endpoint is used for: controller, model under test, judge, tagger of media, maker of images."""
ROLES: tuple[Role, ...] = get_args(Role)

Mode = Literal["tools", "plan", "none"]
"""How a controller gets a plan out of it: tool calls, one JSON answer, or not at all."""


@dataclass(frozen=True)
class Price:
    """What a million tokens cost, in the user's own currency; nothing is built in.

    Attributes:
        input, output: Per million tokens.
        image: Per image made.
        currency: As the user writes it.
    """

    input: float = 0.0
    output: float = 0.0
    image: float = 0.0
    currency: str = ""


@dataclass(frozen=True)
class Profile:
    """What a server takes, learned by the probe or by its refusals, and editable.

    Attributes:
        mode: How it gives a plan.
        limit_field: Name of the limit on the tokens of an answer.
        strict: Whether tools may say strict.
        temperature, seed, parallel_tool_calls, tool_choice: Whether the parameter may be sent.
        response_format: The strictest form that it takes.
        vision: Whether it takes images; None if not tried.
        timeout: Seconds for one call.
        extra_body: Sent along unchanged.
        system: Whether it takes a system message; else it stands in the first message of the user.
        stream_usage: Whether a stream may be asked to tell its usage.
        image_format: Whether the images endpoint may be asked for base64.
        bounds: Whether schemas limit the lengths of lists and texts, for models that come to no end without.
        image_hosts: Hosts beside its own from which images may be fetched that it answers with an address for.
        logprobs, top_p: Whether the parameter may be sent.
        top_logprobs: Log-probabilities a token that it gives at most.
    """

    mode: Mode = "tools"
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    strict: bool = True
    temperature: bool = True
    seed: bool = True
    parallel_tool_calls: bool = True
    tool_choice: bool = True
    response_format: Literal["json_schema", "json_object", "none"] = "json_schema"
    vision: bool | None = None
    timeout: float = 90.0
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    system: bool = True
    stream_usage: bool = True
    image_format: bool = True
    image_hosts: tuple[str, ...] = ()
    bounds: bool = False
    logprobs: bool = True
    top_logprobs: int = 20
    top_p: bool = True


@dataclass(frozen=True)
class Endpoint:
    """A model behind an OpenAI-compatible server.

    Attributes:
        base_url: Such as http://localhost:8000/v1.
        model: Name on the wire.
        key: Secret; never stored, shown, logged or hashed.
        label: Name under which its results count; the model's where none is given.
        kind: "azure" uses the client for Azure deployments.
        api_version: For Azure.
        profile: How it speaks.
        price: None if the user named none: then no cost can be told.
        borrowed: Role whose endpoint this is, where a role without one of its own uses it; "" for its own.
    """

    base_url: str
    model: str
    key: str = field(default="", repr=False)
    label: str = ""
    kind: Literal["openai", "azure"] = "openai"
    api_version: str = ""
    profile: Profile = Profile()
    price: Price | None = None
    borrowed: Role | Literal[""] = ""

    @property
    def name(self) -> str:
        """Name under which results count."""
        return self.label or self.model

    def public(self) -> dict[str, Any]:
        """What a record may tell of it: everything but the key."""
        from dataclasses import asdict

        return {k: v for k, v in asdict(self).items() if k != "key"}
