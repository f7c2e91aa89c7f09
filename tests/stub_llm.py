"""A stub of an OpenAI-compatible server: it runs no model, it plays a script. For tests and benchmarks only.

It listens on 127.0.0.1 in a thread, records every request, and serves chat completions (also as a stream), models and
images/generations. A script is a list (one answer a call, in order) or a function of the request:

    with StubServer(["hello", error(429, "slow down", headers={"Retry-After": "1"}), call("in_odd", {"top": 5})]) as stub:
        client = Client(stub.endpoint())

An answer is a text (the content), or what `text`, `call`, `calls`, `error`, `image`, `Answer` make. When a list has run out the stub
answers 500 and says so. In a process of its own: `python -m tests.stub_llm --delay 0.05 --text B`; it prints its address.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import struct
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from core.llm import Endpoint, Profile, Role


@dataclass(frozen=True)
class Request:
    """One request as it came in.

    Attributes:
        path: Such as "/v1/chat/completions".
        body: JSON body, {} if there was none.
        headers: By name in lower case.
        at: time.monotonic() of its arrival.
        number: 0 for the first request that the script answers.
        query: Of the address.
    """

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    at: float
    number: int = -1
    query: dict[str, str] = field(default_factory=dict)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def last(self) -> str:
        """Text of the last message, parts joined."""
        content = self.messages[-1]["content"]
        return content if isinstance(content, str) else " ".join(p.get("text", "") for p in content)


@dataclass(frozen=True)
class Answer:
    """What the stub sends.

    Attributes:
        body: JSON-ready data, or text that is sent as it is.
        status: HTTP status.
        headers: Sent along.
        delay: Seconds before it answers.
        drop_after: Close the connection after so many bytes of the body (of the content, where it is streamed), None to send all.
        trickle: Seconds between single bytes, 0 to send all at once.
    """

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop_after: int | None = None
    trickle: float = 0.0


USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def completion(
    message: Mapping[str, Any], *, finish: str = "stop", usage: Any = USAGE, model: str = "stub-model", logprobs: Any = None, **answer: Any
) -> Answer:
    """A chat completion with any message."""
    body = {
        "id": "stub",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
            | ({"logprobs": logprobs} if logprobs else {})
        ],
    }
    return Answer(body if usage is None else {**body, "usage": usage}, **answer)


def text(content: str, **more: Any) -> Answer:
    """A completion with text."""
    return completion({"content": content}, **more)


Top = Sequence[tuple[str, float]]


def weighed(top: Top, *, before: Sequence[str] = (), shape: str = "chat", content: str | None = None, **more: Any) -> Answer:
    """A completion whose answering token has a list of likeliest tokens.

    Args:
        top: Tokens with log-probabilities; the first one was chosen.
        before: Tokens that come before it, such as blanks or reasoning.
        shape: "chat" as OpenAI sends them, "old" as plain completions do.
        content: Of the message; the chosen token if None.
        more: As for `completion`.
    """
    word = top[0][0]
    content = word.strip("\u0120\u2581 ") if content is None else content
    if shape == "old":
        lists = [{t: -0.01} for t in before] + [dict(top)]
        logprobs: dict[str, Any] = {"tokens": [*before, word], "token_logprobs": [-0.01] * len(before) + [top[0][1]], "top_logprobs": lists}
    else:
        entries = [{"token": t, "logprob": -0.01, "top_logprobs": [{"token": t, "logprob": -0.01}]} for t in before]
        listed = [{"token": t, "logprob": x, "bytes": list(t.encode())} for t, x in top]
        logprobs = {"content": [*entries, {**listed[0], "top_logprobs": listed}]}
    return completion({"content": content}, logprobs=logprobs, **more)


def call(name: str, arguments: Any, *, id: str = "call_1", **more: Any) -> Answer:
    """A completion with one tool call; arguments that are no text are sent as JSON text, as the wire wants it."""
    return calls([(name, arguments)], ids=[id], **more)


def calls(entries: Sequence[tuple[str, Any]], *, ids: Sequence[str] = (), content: str | None = None, **more: Any) -> Answer:
    """A completion with several tool calls."""
    made = [
        {
            "id": ids[i] if i < len(ids) else f"call_{i + 1}",
            "type": "function",
            "function": {"name": n, "arguments": a if isinstance(a, str) else json.dumps(a)},
        }
        for i, (n, a) in enumerate(entries)
    ]
    return completion({"content": content, "tool_calls": made}, **({"finish": "tool_calls"} | more))


def error(status: int, message: str, *, param: str | None = None, code: str | None = None, **answer: Any) -> Answer:
    """An error as OpenAI words it."""
    return Answer({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}, status, **answer)


def image(data: bytes | None = None, **answer: Any) -> Answer:
    """An image inside the answer; a tiny grey PNG if none is given."""
    return Answer({"created": 0, "data": [{"b64_json": base64.b64encode(data or png()).decode()}]}, **answer)


def png(width: int = 8, height: int = 8, colour: tuple[int, int, int] = (128, 128, 128)) -> bytes:
    """A PNG of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + bytes(colour) * width for _ in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


Scripted = Answer | str
Script = Sequence[Scripted] | Callable[[Request], Scripted]


class StubServer:
    """The stub; use it in a `with` block.

    Attributes:
        script: Answers of chat completions and images; a new one may be set while it runs, and starts from its beginning.
        models: Answer of /v1/models: names, or an `Answer`.
        requests: Every request so far, in order of arrival; those to /v1/models too.
    """

    def __init__(self, script: Script = (), *, models: Sequence[str] | Answer = ("stub-model",)) -> None:
        self._script: Script = script
        self.models = models
        self.requests: list[Request] = []
        self._answered = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._port = 0

    @property
    def script(self) -> Script:
        return self._script

    @script.setter
    def script(self, script: Script) -> None:
        self._script, self._answered = script, 0

    @property
    def url(self) -> str:
        """Base URL."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def asked(self) -> list[Request]:
        """The requests that the script answered: without those to /v1/models."""
        return [r for r in self.requests if r.number >= 0]

    def endpoint(self, model: str = "stub-model", *, key: str = "", profile: Profile | None = None, **more: Any) -> Endpoint:
        """An endpoint that leads here; its calls time out after 10 s."""
        return Endpoint(self.url, model, key=key, profile=profile or Profile(timeout=10.0), **more)

    def environment(self, *roles: Role, model: str = "stub-model") -> dict[str, str]:
        """Environment variables that point roles here."""
        return {f"ODDYSSEY_{r.upper()}_{k}": v for r in roles or ("llm",) for k, v in (("BASE_URL", self.url), ("MODEL", model))}

    def __enter__(self) -> StubServer:
        self._thread = threading.Thread(target=self._run, name="stub-llm", daemon=True)
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("The stub did not start.")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        app = web.Application(client_max_size=1 << 28)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
        await site.start()
        self._port = runner.addresses[0][1]
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        data = await request.read()
        path = "/" + request.match_info["path"]
        scripted = path.endswith(("/chat/completions", "/images/generations"))
        number = self._answered if scripted else -1
        self._answered += scripted
        headers = {k.lower(): v for k, v in request.headers.items()}
        seen = Request(path, json.loads(data) if data else {}, headers, time.monotonic(), number, dict(request.query))
        self.requests.append(seen)
        if path.endswith("/models"):
            listed = (
                {"object": "list", "data": [{"id": m, "object": "model"} for m in self.models]}
                if not isinstance(self.models, Answer)
                else {}
            )
            return await self._send(request, self.models if isinstance(self.models, Answer) else Answer(listed), False)
        if not scripted:
            return await self._send(request, error(404, f"The stub serves no {path}."), False)
        return await self._send(request, self._next(seen), bool(seen.body.get("stream")))

    def _next(self, request: Request) -> Answer:
        if callable(self.script):
            answer = self.script(request)
        elif request.number < len(self.script):
            answer = self.script[request.number]
        else:
            answer = error(500, f"The stub's script has {len(self.script)} answers; this is call {request.number + 1}.")
        return text(answer) if isinstance(answer, str) else answer

    async def _send(self, request: web.Request, answer: Answer, stream: bool) -> web.StreamResponse:
        if answer.delay:
            await asyncio.sleep(answer.delay)
        if stream and answer.status == 200 and isinstance(answer.body, dict):
            return await self._send_events(request, answer)
        raw = isinstance(answer.body, str | bytes)
        data = (answer.body if isinstance(answer.body, bytes) else answer.body.encode()) if raw else json.dumps(answer.body).encode()
        headers = {"Content-Type": "text/plain" if raw else "application/json", **answer.headers}
        response = web.StreamResponse(status=answer.status, headers=headers)
        response.content_length = len(data)
        await response.prepare(request)
        if answer.trickle:
            for i in range(len(data)):
                await response.write(data[i : i + 1])
                await asyncio.sleep(answer.trickle)
        else:
            await response.write(data if answer.drop_after is None else data[: answer.drop_after])
        return await self._end(request, response, answer)

    async def _send_events(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        """The same completion in pieces of eight characters; usage only if it was asked for."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **answer.headers})
        await response.prepare(request)
        choice = answer.body["choices"][0]
        content, base = choice["message"].get("content") or "", {k: answer.body[k] for k in ("id", "created", "model")}
        shown = content if answer.drop_after is None else content[: answer.drop_after]
        pieces: list[dict[str, Any]] = [
            base | {"choices": [{"index": 0, "delta": {"content": shown[i : i + 8]}, "finish_reason": None}]}
            for i in range(0, len(shown), 8)
        ]
        if answer.drop_after is None:
            pieces.append(base | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
            if (await request.json()).get("stream_options", {}).get("include_usage") and "usage" in answer.body:
                pieces.append(base | {"choices": [], "usage": answer.body["usage"]})
        for piece in pieces:
            await response.write(b"data: " + json.dumps({"object": "chat.completion.chunk", **piece}).encode() + b"\n\n")
        if answer.drop_after is None:
            await response.write(b"data: [DONE]\n\n")
        return await self._end(request, response, answer)

    async def _end(self, request: web.Request, response: web.StreamResponse, answer: Answer) -> web.StreamResponse:
        if answer.drop_after is not None and request.transport is not None:
            await asyncio.sleep(0.02)  # so that what was written leaves first
            request.transport.abort()
            return response
        await response.write_eof()
        return response


def main() -> None:
    """Serve the same text to every call until the process ends; prints the address."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--delay", type=float, default=0.0, help="seconds before every answer")
    options.add_argument("--text", default="stub", help="content of every answer")
    options.add_argument("--yes", action="store_true", help="answer yes, with log-probabilities of yes and no, instead of the text")
    given = options.parse_args()
    top = [("Yes", -0.2), ("No", -1.8), ("The", -6.0)]

    def script(_: Request) -> Answer:
        return weighed(top, delay=given.delay) if given.yes else text(given.text, delay=given.delay)

    with StubServer(script) as stub:
        print(stub.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
