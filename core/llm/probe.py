"""What an endpoint can do, found out by asking it: the "Test connection" of the settings."""

from __future__ import annotations

import base64
import struct
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from core.llm.client import Client
from core.llm.endpoint import Endpoint, Mode, Profile, Role
from core.llm.messages import Ask, ModelError, Reply
from core.llm.parsing import json_object
from core.llm.retry import Retry, with_retries

WARM_UP = 180.0
"""Seconds that a first call may take: servers load the model and compile grammars then."""
TOKENS = 512
"""Limit of every answer of the probe; room for a model that reasons first."""
_TIMES = ["day", "night"]
_SCHEMA = {
    "type": "object",
    "properties": {"time": {"type": "string", "enum": _TIMES}},
    "required": ["time"],
    "additionalProperties": False,
}
_TOOL = {"type": "function", "function": {"name": "set_time", "description": "Set the time of day.", "parameters": _SCHEMA}}
_MODES: dict[Mode, str] = {
    "tools": "The controller will use tool calls.",
    "plan": "The controller will ask for the whole plan as JSON.",
    "none": "It gives no plan that can be read; the offline controller will make the plans.",
}
_FORMS = {"json_schema": "a JSON schema", "json_object": "the request for a JSON object", "none": "the request for JSON in words"}
_TRY = Retry(attempts=2, base=1.0, longest=20.0)


@dataclass(frozen=True)
class Probe:
    """What a test of a connection found.

    Attributes:
        profile: How the server speaks, as learned.
        models: That it lists, () if it lists none.
        findings: One sentence each, for people.
        ok: Whether the endpoint can serve its role.
        seconds: Of the first answer.
    """

    profile: Profile
    models: tuple[str, ...]
    findings: tuple[str, ...]
    ok: bool
    seconds: float = 0.0


@dataclass
class _Test:
    client: Client
    findings: list[str] = field(default_factory=list)

    def ask(self, words: str, **more: Any) -> Reply:
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": "You are being tested. Answer as briefly as you can."},
            {"role": "user", "content": more.pop("content", words)},
        ]
        reply = with_retries(lambda: self.client.chat(Ask(messages, TOKENS, **more)), _TRY)
        self.findings += [w for w in reply.adapted if w not in self.findings]
        return reply

    def change(self, **profile: Any) -> None:
        e = self.client.endpoint
        self.client.endpoint = replace(e, profile=replace(e.profile, **profile))


def probe(endpoint: Endpoint, role: Role | None = None) -> Probe:
    """Ask a server what it can do; about five short calls.

    Args:
        endpoint: Where it is; its profile is where the learning starts.
        role: What it is to serve, so that only what matters is tried: a judge sees no images, a maker of images makes one. None tries
            everything but making an image.

    Returns:
        What was found. A server that cannot be reached is a finding, not an exception.
    """
    patient = replace(endpoint, profile=replace(endpoint.profile, timeout=max(WARM_UP, endpoint.profile.timeout)))
    with Client(patient) as client:
        test = _Test(client)
        models, reached = _models(test)
        if urlsplit(endpoint.base_url).scheme == "http" and endpoint.key and not _local(endpoint.base_url):
            test.findings.append("The key travels unencrypted: the address begins with http://.")
        seconds, ok = (0.0, False) if not reached else _image(test) if role == "images" else _chat(test)
        if ok and role != "images":
            ok = _abilities(test, role)
        profile = replace(client.profile, timeout=endpoint.profile.timeout)
    return Probe(profile, models, tuple(test.findings), ok, seconds)


def _abilities(test: _Test, role: Role | None) -> bool:
    """Try what a role needs, leave the profile with it, and tell whether it can serve that role."""
    able = True
    if role in (None, "llm"):
        tools = _tools(test)
        mode: Mode = "tools" if tools else "plan"
        if not _json(test) and not tools:
            mode, able = "none", False
        test.change(mode=mode)
        test.findings.append(_MODES[mode])
    elif role in ("tagger", "judge"):
        _json(test)
    if role in (None, "vlm", "tagger"):
        able = _vision(test) or (able and role is None)
    return able


def _models(test: _Test) -> tuple[tuple[str, ...], bool]:
    """The models that the server lists, and whether it was reached."""
    name = test.client.endpoint.model
    try:
        models = test.client.models()
    except ModelError as e:
        reached = e.kind != "connection"
        test.findings.append(f"The names of its models are not listed: {e}" if reached and e.kind != "unreadable" else str(e))
        return (), reached
    listed = "" if name in models else f', but not "{name}"; the nearest are {_few(models)}'
    test.findings.append(f"The server lists {len(models)} model{'s' * (len(models) > 1)}{listed}.")
    return models, True


def _chat(test: _Test) -> tuple[float, bool]:
    start = time.perf_counter()
    try:
        reply = test.ask("Say OK.")
    except ModelError as e:
        test.findings.append(str(e))
        return time.perf_counter() - start, False
    seconds = time.perf_counter() - start
    test.findings.append(
        f"The model answers: {seconds:.1f} s for the first answer{', with its reasoning apart' if reply.reasoning else ''}."
    )
    if reply.cut and not reply.text:
        test.findings.append(f"It reasons for more than {TOKENS} tokens before it answers; calls will be slow.")
    if reply.usage.estimated:
        test.findings.append("The server does not tell how many tokens a call used; they are estimated from the length of the text.")
    return seconds, True


def _tools(test: _Test) -> bool:
    try:
        reply = test.ask("Call set_time with the time at which stars are seen.", tools=[_TOOL])
    except ModelError as e:
        test.findings.append(f"Tools are refused. {e}")
        return False
    if not reply.tool_calls:
        test.findings.append("Tools are taken, but the model answers in words instead of calling one.")
        return False
    good = any(c.name == "set_time" and (c.arguments or {}).get("time") in _TIMES for c in reply.tool_calls)
    test.findings.append("Tool calls work." if good else "The model calls tools, but with arguments that do not fit.")
    return good


def _json(test: _Test) -> bool:
    """Find the strictest form of JSON answers that works; the profile is left with it."""
    while True:
        try:
            text = test.ask('Answer with JSON such as {"time": "day"}: the time at which stars are seen.', schema=("Time", _SCHEMA)).text
            words = f'It answered "{text[:60]}".'
        except ModelError as e:
            text, words = "", str(e)
        form = test.client.profile.response_format
        value = json_object(text)
        if value is not None and set(value) == {"time"} and value["time"] in _TIMES:
            test.findings.append(f"The model keeps to {_FORMS[form]}.")
            return True
        test.findings.append(f"The model does not keep to {_FORMS[form]}. {words}")
        if form == "none":
            return False
        test.change(response_format="json_object" if form == "json_schema" else "none")


def _vision(test: _Test) -> bool:
    url = "data:image/png;base64," + base64.b64encode(_red()).decode()
    content = [{"type": "text", "text": "Which colour fills this image? One word."}, {"type": "image_url", "image_url": {"url": url}}]
    try:
        reply = test.ask("", content=content)
    except ModelError as e:
        test.findings.append(f"Images are refused. {e}")
        test.change(vision=False)
        return False
    named = "red" in reply.text.casefold()
    words = "Images work." if named else f'Images are taken, but a red one was called "{reply.text[:40]}": the model may not see them.'
    test.findings.append(words)
    test.change(vision=True)
    return True


def _image(test: _Test) -> tuple[float, bool]:
    start = time.perf_counter()
    try:
        data = with_retries(lambda: test.client.image("A plain grey square.", seed=0), _TRY)
    except ModelError as e:
        test.findings.append(str(e))
        return time.perf_counter() - start, False
    seconds = time.perf_counter() - start
    test.findings.append(f"The server made an image of {len(data) / 1024:.0f} KB in {seconds:.1f} s.")
    return seconds, True


def _red(side: int = 64) -> bytes:
    """A red PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\xd0\x10\x10" * side) * side
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _few(models: Sequence[str]) -> str:
    return ", ".join(f'"{m}"' for m in models[:5]) + (", …" if len(models) > 5 else "")
