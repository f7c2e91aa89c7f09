"""One call of a model over the OpenAI wire, with the swaps that servers of different make need."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from core.llm.adapt import Change, adapt, bare
from core.llm.download import checked_image, download
from core.llm.endpoint import Endpoint, Profile
from core.llm.failures import body_text, model_error
from core.llm.loop import wait_for
from core.llm.messages import Ask, ModelError, Reply
from core.llm.stream import collect
from core.llm.wire import chat_body, read_reply

NO_KEY = "not-needed"
"""Sent where an endpoint has no key: the openai package refuses to start without one, local servers take anything."""
CONNECT = 10.0
"""Seconds to reach a server at most."""


class Client:
    """Calls one endpoint through the openai package; safe to share between threads and event loops.

    One HTTP attempt a call. Only where the server refuses a parameter is the call repeated at once without it, and where that
    helped the profile remembers. Waiting and trying again is up to `with_retries`.

    Args:
        endpoint: Where the model is.
        on_adapt: Told the new profile when a refusal has changed it; runs in the thread, or the task, of the call.
    """

    def __init__(self, endpoint: Endpoint, on_adapt: Callable[[Profile], None] | None = None) -> None:
        self.endpoint = endpoint
        self._on_adapt = on_adapt
        self._lock = threading.Lock()
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"Client({self.endpoint.model!r} at {self.endpoint.base_url!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def profile(self) -> Profile:
        """What is known of the server by now."""
        return self.endpoint.profile

    def chat(self, ask: Ask, on_text: Callable[[str], None] | None = None) -> Reply:
        """One call of chat completions; see `achat`."""
        before = self.profile
        try:
            return wait_for(self._chat(ask, on_text))
        finally:
            self._tell(before)

    async def achat(self, ask: Ask, on_text: Callable[[str], None] | None = None) -> Reply:
        """One call of chat completions.

        Args:
            ask: What is asked.
            on_text: Given, the answer is streamed and its pieces go there as they come. For prose: calls of tools are not streamed.

        Raises:
            ModelError: No answer that can be read.
        """
        before = self.profile
        try:
            return await self._chat(ask, on_text)
        finally:
            self._tell(before)

    def image(self, prompt: str, *, size: str = "1024x1024", seed: int | None = None) -> bytes:
        """One image; see `aimage`."""
        before = self.profile
        try:
            return wait_for(self._image(prompt, size, seed))
        finally:
            self._tell(before)

    async def aimage(self, prompt: str, *, size: str = "1024x1024", seed: int | None = None) -> bytes:
        """The bytes of one image made from a prompt.

        Args:
            prompt: What to show.
            size: Width x height in pixels.
            seed: Sent along where the server takes one.

        Raises:
            ModelError: No image came back.
        """
        before = self.profile
        try:
            return await self._image(prompt, size, seed)
        finally:
            self._tell(before)

    def models(self) -> tuple[str, ...]:
        """Names of the models that the server lists, in its order.

        Raises:
            ModelError: It lists none, as some gateways do.
        """
        return wait_for(self._models())

    def adopt(self, profile: Profile) -> None:
        """Use another profile from now on, and tell it on as if a refusal had taught it."""
        before = self.profile
        self._learn(before, profile)
        self._tell(before)

    def close(self) -> None:
        """Close the connections of the waiting calls."""
        wait_for(self.aclose())

    async def aclose(self) -> None:
        """Close the connections that belong to the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _chat(self, ask: Ask, on_text: Callable[[str], None] | None) -> Reply:
        start = time.perf_counter()

        def body(profile: Profile) -> dict[str, Any]:
            made = chat_body(ask, self.endpoint.model, profile)
            if on_text is not None:
                made["stream"] = True
                made |= {"stream_options": {"include_usage": True}} if profile.stream_usage else {}
            return made

        async def send(made: Mapping[str, Any]) -> Any:
            if on_text is None:
                return await self._post("/chat/completions", made)
            return await collect(await self._post("/chat/completions", made, stream=True), on_text)

        answer, adapted = await self._adapting(body, send, ask.timeout)
        try:
            return read_reply(answer, ask, seconds=time.perf_counter() - start, adapted=adapted, hide=self._secret)
        except ModelError as e:
            raise self._hidden(e) from None

    async def _image(self, prompt: str, size: str, seed: int | None) -> bytes:
        def body(profile: Profile) -> dict[str, Any]:
            made: dict[str, Any] = {"model": self.endpoint.model, "prompt": prompt, "size": size, "n": 1}
            made |= {"response_format": "b64_json"} if profile.image_format else {}
            made |= {"seed": seed} if profile.seed and seed is not None else {}
            return made | dict(profile.extra_body)

        answer, _ = await self._adapting(body, lambda made: self._post("/images/generations", made))
        entries = answer.get("data") if isinstance(answer, Mapping) else None
        entry = entries[0] if isinstance(entries, list) and entries and isinstance(entries[0], Mapping) else {}
        coded, url = entry.get("b64_json"), entry.get("url")
        if not coded and isinstance(url, str) and url.startswith("data:"):
            coded = url.partition("base64,")[2]
        try:
            if isinstance(coded, str) and coded:
                return checked_image(base64.b64decode(coded, validate=True))
            if isinstance(url, str) and url:
                async with asyncio.timeout(self.profile.timeout):
                    return await download(url, self.endpoint)
        except TimeoutError:
            raise ModelError("The image did not come in time.", "timeout") from None
        except ModelError as e:
            raise self._hidden(e) from None
        except binascii.Error:
            pass
        raise ModelError("The server answered with no image.", "unreadable")

    async def _models(self) -> tuple[str, ...]:
        async def get(_: Mapping[str, Any]) -> Any:
            return await self._open().get("/models", cast_to=object)

        answer, _ = await self._adapting(lambda _: {}, get)
        entries = answer.get("data") if isinstance(answer, Mapping) else None
        names = [str(e["id"]) for e in entries or () if isinstance(e, Mapping) and e.get("id")]
        if not names:
            raise ModelError("The server lists no models; write the name of the model yourself.", "unreadable")
        return tuple(names)

    async def _adapting(
        self, body: Callable[[Profile], dict[str, Any]], send: Callable[[Mapping[str, Any]], Any], limit: float | None = None
    ) -> tuple[Any, list[str]]:
        """Send, leave out what is refused, send again; the profile is kept only if that led to an answer."""
        profile = start = self.profile
        rules, words = list[str](), list[str]()
        seconds = min(profile.timeout, limit) if limit is not None else profile.timeout
        while True:
            made = body(profile)
            try:
                async with asyncio.timeout(seconds):
                    answer = await send(made)
            except Exception as e:
                change = self._change(e, profile, made, rules)
                if change is None:
                    failure = e if isinstance(e, ModelError) else model_error(e, url=self.endpoint.base_url, timeout=seconds)
                    if failure is None:
                        raise
                    raise self._hidden(failure) from None
                profile = change.profile
                rules.append(change.rule)
                words.append(change.words)
                continue
            if rules:
                self._learn(start, profile)
            return answer, words

    def _change(self, error: Exception, profile: Profile, body: Mapping[str, Any], tried: list[str]) -> Change | None:
        import openai

        if not isinstance(error, openai.APIStatusError) or error.status_code not in (400, 404, 422, 500, 501):
            return None
        text = f"{body_text(error.body, error.message)} {error.message}"
        change = adapt(profile, body, text, error.param if isinstance(error.param, str) else "", tried)
        return change or (bare(profile, body, text, tried) if error.status_code in (400, 422) else None)

    async def _post(self, path: str, body: Mapping[str, Any], stream: bool = False) -> Any:
        from openai import AsyncStream

        if stream:
            return await self._open().post(path, body=dict(body), cast_to=object, stream=True, stream_cls=AsyncStream[object])
        return await self._open().post(path, body=dict(body), cast_to=object)

    def _open(self) -> Any:
        """The client of the package for the running event loop: connections cannot move between loops."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = _new(self.endpoint)
        return client

    def _hidden(self, error: ModelError) -> ModelError:
        """The error without the key, should a server repeat it."""
        text = str(error)
        if not self._secret or self._secret not in text:
            return error
        return ModelError(text.replace(self._secret, "…"), error.kind, error.status, error.retry_after)

    @property
    def _secret(self) -> str:
        """The key, where it is long enough to be recognised in a text."""
        key = self.endpoint.key.strip()
        return key if len(key) >= 4 else ""

    def _learn(self, before: Profile, after: Profile) -> None:
        """Keep what changed, beside what other calls have learned meanwhile."""
        changed = {f.name: getattr(after, f.name) for f in fields(Profile) if getattr(after, f.name) != getattr(before, f.name)}
        with self._lock:
            self.endpoint = replace(self.endpoint, profile=replace(self.profile, **changed))

    def _tell(self, before: Profile) -> None:
        if self._on_adapt is not None and self.profile != before:
            self._on_adapt(self.profile)


def _azure(address: str, versioned: bool) -> str:
    """The address of a resource as its client wants it, also where more or less of it was copied from the portal."""
    bare = re.sub(r"/openai(/deployments(/[^/]*)?)?/*$", "", address)
    return bare if versioned or urlsplit(bare).path.strip("/") else f"{bare.rstrip('/')}/openai/v1"


def _new(endpoint: Endpoint) -> Any:
    """A client of the package that never tries again by itself and takes nothing from the environment but proxies."""
    import openai

    key = endpoint.key.strip() or NO_KEY
    if not (key.isascii() and key.isprintable()):
        raise ModelError("The key holds characters that cannot be sent; copy it again.", "auth")
    address = endpoint.base_url.replace(",", " ").split()[0] if endpoint.base_url.strip(", ") else endpoint.base_url  # the first of several
    if endpoint.kind == "azure":
        address = _azure(address, bool(endpoint.api_version))
    timeout = openai.Timeout(endpoint.profile.timeout, connect=min(CONNECT, endpoint.profile.timeout))
    client: Any
    if endpoint.kind == "azure" and endpoint.api_version:
        client = openai.AsyncAzureOpenAI(
            azure_endpoint=address, api_version=endpoint.api_version, api_key=key, max_retries=0, timeout=timeout
        )
    else:  # Azure's newer address (…/openai/v1) speaks like every other server
        client = openai.AsyncOpenAI(base_url=address, api_key=key, max_retries=0, timeout=timeout)
    client.organization = client.project = None  # of an account elsewhere, as the environment may name it
    return client
