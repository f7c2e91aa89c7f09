"""Questions to models whose answers are JSON: kept, paced, asked twice where the answer cannot be read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.llm import Ask, Endpoint, Usage
from core.llm.calls import call_key
from core.llm.connections import learn
from core.llm.loop import wait_for
from core.llm.pace import Limits, cost_of
from core.llm.parsing import json_object
from core.llm.runner import Lane, Runner, StoppedError
from core.storage.store import Store

Pictures = Callable[[], Awaitable[Sequence[str]]]
Check = Callable[[Mapping[str, Any]], str]
_NUMBER = re.compile(r"([0-9]{1,6})(\.0*)?")


@dataclass(frozen=True)
class JsonAsk:
    """One question.

    Attributes:
        purpose: Part of the key, such as "slice_knowledge".
        ask: What is sent, without its pictures.
        images: Content hashes of its pictures and of how they are shown; part of the key.
        pictures: Makes the data URLs that go before the text of the last message; only called if the answer is not known.
        check: Why an answer cannot be used, "" if it can.
    """

    purpose: str
    ask: Ask
    images: tuple[str, ...] = ()
    pictures: Pictures | None = None
    check: Check = field(default=lambda _: "")


@dataclass(frozen=True)
class Asked:
    """What came of some questions.

    Attributes:
        answers: One each, None where none can be used.
        why: Reason of those, "" where there is an answer.
        calls: new, cached, repeated, retries.
        usage: Tokens of the new calls.
        cost: Of them, None where no price is named.
        stopped: Why it ended early, "" if it did not.
    """

    answers: tuple[dict[str, Any] | None, ...]
    why: tuple[str, ...]
    calls: Mapping[str, int]
    usage: Usage
    cost: float | None
    stopped: str


def ask_all(
    store: Store,
    endpoint: Endpoint,
    asks: Sequence[JsonAsk],
    *,
    limits: Limits | None = None,
    cancel: Callable[[], bool] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Asked:
    """Ask a model; an answer that is known is not asked for again.

    Args:
        store: Keeps the answers.
        endpoint: The model.
        asks: The questions.
        limits: Pace and budget.
        cancel: Asked now and then; True stops, and what is there is returned.
        progress: Told questions done and in all.

    Raises:
        InputError: The cost is capped, but the endpoint has no price.
    """
    with store.calls.journal() as journal:
        runner = Runner(journal, limits or Limits(start=2, most=4), cancel=cancel)
        found = wait_for(_all(runner, runner.lane(endpoint), asks, progress))
        for known, profile in runner.learned():
            learn(store, known, profile)
    tally, budget = runner.tally, runner.budget
    return Asked(
        answers=tuple(a for a, _ in found),
        why=tuple(why for _, why in found),
        calls={"new": budget.calls, "cached": tally.cached, "repeated": tally.repeated, "retries": tally.retries},
        usage=budget.usage,
        cost=cost_of(budget.usage, endpoint.price),
        stopped="" if runner.stopped is None else str(runner.stopped),
    )


async def _all(
    runner: Runner, lane: Lane, asks: Sequence[JsonAsk], progress: Callable[[int, int], None] | None
) -> list[tuple[dict[str, Any] | None, str]]:
    room = asyncio.Semaphore(2 * runner.limits.most)
    done = 0

    async def one(ask: JsonAsk) -> tuple[dict[str, Any] | None, str]:
        nonlocal done
        async with room:
            try:
                found = await _one(runner, lane, ask)
            except StoppedError as e:
                return None, str(e)
        done += 1
        if progress is not None:
            progress(done, len(asks))
        return found

    try:
        return list(await asyncio.gather(*(one(a) for a in asks)))
    finally:
        await runner.close()


async def _one(runner: Runner, lane: Lane, asked: JsonAsk) -> tuple[dict[str, Any] | None, str]:
    from core.errors import InputError

    why = ""
    for seed in (0, 1):
        ask = replace(asked.ask, seed=seed)
        content = {"messages": list(ask.messages), "schema": ask.schema}
        decode = {"max_tokens": ask.max_tokens, "temperature": ask.temperature, "seed": seed}

        async def make(ask: Ask = ask) -> Ask:
            return ask if asked.pictures is None else _with_pictures(ask, await asked.pictures())

        try:
            call = await runner.ask(lane, call_key(lane.endpoint, asked.purpose, "", content, asked.images, decode), make)
        except InputError as e:
            return None, str(e)
        if call.status != "done":
            return None, f"no answer: {call.error}"
        answer = json_object(call.text)
        if answer is None:
            why = "the answer was cut off before its end" if call.response.get("cut") else "the answer is no JSON object"
        elif not (why := asked.check(answer)):
            return answer, ""
    return None, why


def _with_pictures(ask: Ask, urls: Sequence[str]) -> Ask:
    last = ask.messages[-1]
    content = [*({"type": "image_url", "image_url": {"url": u}} for u in urls), {"type": "text", "text": last["content"]}]
    return replace(ask, messages=[*ask.messages[:-1], {**last, "content": content}])


def list_of(answer: Mapping[str, Any], name: str) -> list[Any]:
    """The list under a name; a model that calls it otherwise is understood if there is just one list."""
    if isinstance(found := answer.get(name), list):
        return found
    lists = [v for v in answer.values() if isinstance(v, list)]
    return lists[0] if len(lists) == 1 else []


def number_of(said: Any) -> int | None:
    """A number of a list as a model writes it: 3, 3.0, "3" or "3."; None for anything else."""
    found = _NUMBER.fullmatch(str(said).strip())
    return int(found.group(1)) if found and not isinstance(said, bool) else None


def needs_list(name: str) -> Check:
    """A check that there is a list."""
    return lambda answer: "" if isinstance(answer.get(name), list) or list_of(answer, name) else f'the answer has no list called "{name}"'


def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Schema of an object with just these keys, as strict schemas want it."""
    return {"type": "object", "properties": dict(properties), "required": list(properties), "additionalProperties": False}
