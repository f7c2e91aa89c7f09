"""Thousands of calls to models through one event loop: paced, kept, repeated where that helps, stopped where it must end."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from core.errors import InputError, OddysseyError
from core.llm.calls import CallLog, StoredCall, addresses
from core.llm.endpoint import Endpoint, Profile
from core.llm.logprobs import tokens_json
from core.llm.messages import Ask, Failure, ModelError, Reply, Usage
from core.llm.pace import Bucket, Budget, Gate, Limits, need_of

Why = Literal["cancelled", "paused", "aborted"]
Make = Callable[[], Awaitable[Ask]]
Check = Callable[[], bool]

TICK = 0.1
"""Seconds between two looks at whether to stop."""
IN_A_ROW = 3
"""Refusals of the key or the model, or calls that no server answered, in a row that end a run."""
RATE_ATTEMPTS = 20
"""Times that a call may be refused for coming too fast; with waits that the server asks for these are no failures."""
_AGAIN: tuple[Failure, ...] = ("connection", "timeout", "rate", "server", "cut", "unreadable")


class StoppedError(OddysseyError):
    """No further call is sent.

    Attributes:
        why: cancelled by the user; paused by a budget or the server's wish, so that it can go on; aborted, since nothing works.
    """

    def __init__(self, message: str, why: Why) -> None:
        super().__init__(message)
        self.why = why


@dataclass
class Tally:
    """What was done so far.

    Attributes:
        cached: Calls whose answer was there already.
        repeated: Calls sent again since a process was ended while they were in flight.
        retries: Calls sent again after a failure.
        waits: Seconds that servers asked to wait, in all.
        adapted: Parameters that a server refused, in words.
    """

    cached: int = 0
    repeated: int = 0
    retries: int = 0
    waits: float = 0.0
    adapted: list[str] = field(default_factory=list)


class Lane:
    """The way to one model: its addresses, how many calls may be on it, and how fast.

    Args:
        endpoint: The model.
        limits: How calls are paced.
    """

    def __init__(self, endpoint: Endpoint, limits: Limits) -> None:
        from core.llm.client import Client

        self.endpoint = endpoint
        self.gate = Gate(limits.start, limits.most)
        self.requests, self.tokens = Bucket(limits.requests_per_minute), Bucket(limits.tokens_per_minute)
        self.clients = [Client(replace(endpoint, base_url=a)) for a in addresses(endpoint)]
        self.in_flight = [0] * len(self.clients)
        self.not_before = 0.0
        self.refusals = self.silences = 0

    async def send(self, ask: Ask) -> Reply:
        """One attempt, at the address with the fewest calls in flight."""
        i = min(range(len(self.clients)), key=self.in_flight.__getitem__)
        self.in_flight[i] += 1
        try:
            return await self.clients[i].achat(ask)
        finally:
            self.in_flight[i] -= 1

    async def close(self) -> None:
        """Close the connections."""
        for client in self.clients:
            with suppress(Exception):  # a connection that does not close cleanly is gone all the same
                await client.aclose()


class Runner:
    """Sends calls for many tasks of one event loop.

    A call whose answer is kept is not sent. Before one is sent a row says so, and its answer is committed before anybody gets it:
    after the process was ended at any moment, at most as many calls are repeated as were in flight, and they are counted.

    Args:
        log: Where calls are kept.
        limits: Pace and budget, the budget over all lanes.
        cancel: Asked before each call; True stops.
        pause: Asked before each call; calls wait while it says True.
    """

    def __init__(self, log: CallLog, limits: Limits, *, cancel: Check | None = None, pause: Check | None = None) -> None:
        self.limits, self.budget, self.tally = limits, Budget(limits), Tally()
        self.stopped: StoppedError | None = None
        self._log, self._cancel, self._pause = log, cancel, pause
        self._lanes: dict[tuple[str, str, str], Lane] = {}
        self._shared: dict[str, asyncio.Task[StoredCall]] = {}
        self._random = random.Random()  # noqa: S311 (jitter)

    def lane(self, endpoint: Endpoint) -> Lane:
        """The lane of an endpoint; one model at one address has one lane, whatever it is used for.

        Raises:
            InputError: The cost is capped, and the endpoint has no price, or one in another currency than a lane before it.
        """
        if self.limits.max_cost is not None and endpoint.price is None:
            raise InputError(
                f"The cost is capped, but the connection of {endpoint.name} has no price. Name the price, or cap calls or tokens."
            )
        prices = {x.endpoint.price.currency for x in self._lanes.values() if x.endpoint.price is not None}
        if self.limits.max_cost is not None and endpoint.price is not None and prices - {endpoint.price.currency}:
            others = ", ".join(sorted(c or "no currency" for c in prices))
            raise InputError(
                f"The cost is capped, but the price of {endpoint.name} is in {endpoint.price.currency or 'no currency'}, another in "
                f"{others}; they cannot be added up. Name both in one currency, or cap calls or tokens."
            )
        key = (endpoint.base_url, endpoint.model, endpoint.key)
        if key not in self._lanes:
            self._lanes[key] = Lane(endpoint, self.limits)
        return self._lanes[key]

    @property
    def in_flight(self) -> int:
        """Calls that are on their way."""
        return sum(lane.gate.inside for lane in self._lanes.values())

    async def close(self) -> None:
        """Close all connections."""
        for lane in self._lanes.values():
            await lane.close()

    def learned(self) -> list[tuple[Endpoint, Profile]]:
        """Endpoints whose servers refused something, each with the profile that it has now."""
        return [(x.endpoint, c.profile) for x in self._lanes.values() for c in x.clients[:1] if c.profile != x.endpoint.profile]

    async def ask(self, lane: Lane, key: str, make: Make) -> StoredCall:
        """The answer to a call, kept or new; the same call asked for twice at once is sent once.

        Args:
            lane: Where to send it.
            key: `call_key` of it.
            make: Makes the request; only called if the answer is not there yet.

        Returns:
            The call; "failed" if all attempts failed.

        Raises:
            Stopped: No further call is sent.
        """
        task = self._shared.get(key)
        if task is None:
            task = self._shared[key] = asyncio.create_task(self._ask(lane, key, make))
            task.add_done_callback(lambda _: self._shared.pop(key, None))
        return await task

    async def _ask(self, lane: Lane, key: str, make: Make) -> StoredCall:
        known = await asyncio.wrap_future(self._log.get(key))
        if known is not None and known.final:
            self.tally.cached += 1
            return known
        self.check()  # before the work of making the request
        ask = await make()
        sent = refused = 0
        while True:
            mark = await lane.gate.enter()
            try:
                call, error = await self._attempt(lane, key, ask, sent)
                if error is None:
                    lane.gate.succeeded()
                    return call
                sent += 1
                refused += error.kind == "rate"
                if not self._again(lane, error, mark, sent - refused, refused):
                    return call
            finally:
                lane.gate.leave()
            await self._back_off(error, sent)

    async def _attempt(self, lane: Lane, key: str, ask: Ask, sent: int) -> tuple[StoredCall, ModelError | None]:
        """Send a call once. A row says "in flight" exactly as long as that is so.

        Raises:
            StoppedError: It may not be sent.
        """
        number, taken = await self._clear(lane, ask)
        before = await asyncio.wrap_future(self._log.begin(key))
        if before is not None and before.final:  # somebody else was faster
            self.budget.calls -= 1
            self.budget.settle(number, Usage(), None)
            self.tally.cached += 1
            return before, None
        self.tally.repeated += before is not None and before.status == "in_flight"
        self.tally.retries += sent > 0
        start = time.perf_counter()
        error: ModelError | None = None
        try:
            reply = await lane.send(ask)
        except ModelError as e:
            self.budget.settle(number, Usage(), None)
            error = e
            call = StoredCall(key, "blocked" if e.kind == "blocked" else "failed", sent + 1, error=f"{e.kind}: {e}")
        else:
            self.budget.settle(number, reply.usage, lane.endpoint.price)
            lane.tokens.give_back(taken - reply.usage.prompt - reply.usage.completion)
            lane.refusals = lane.silences = 0
            self.tally.adapted += [words for words in reply.adapted if words not in self.tally.adapted]
            call = _answered(key, sent + 1, reply, time.perf_counter() - start)
        await asyncio.wrap_future(self._log.finish(call))
        return call, error

    async def _clear(self, lane: Lane, ask: Ask) -> tuple[int, int]:
        """Wait until a call may be sent; gives the number of its reservation and the tokens set aside.

        Raises:
            Stopped: It may not.
        """
        need = need_of(ask, lane.endpoint.price)
        await self._wait_until(lane, time.monotonic())
        while isinstance(found := self.budget.reserve(need), str):
            if found != "wait":
                raise self._stop(StoppedError(f"Paused: {found}.", "paused"))
            await self._sleep(TICK / 5)
        try:
            delay = max(lane.requests.take(1), lane.tokens.take(need.tokens))
            await self._wait_until(lane, time.monotonic() + delay)
        except BaseException:
            self.budget.calls -= 1
            self.budget.settle(found, Usage(), None)
            raise
        return found, need.tokens

    async def _wait_until(self, lane: Lane, moment: float) -> None:
        """Wait for a moment, for the server's wish, and for the end of a pause.

        Raises:
            Stopped: Meanwhile the run was stopped.
        """
        self.check()
        while (left := max(moment, lane.not_before) - time.monotonic()) > 0 or (self._pause is not None and self._pause()):
            await self._sleep(max(left, TICK / 2))

    async def _back_off(self, error: ModelError, sent: int) -> None:
        """Wait before the next attempt: exponential with full jitter. What a server asked for is waited for by the whole lane."""
        if error.kind != "rate" or error.retry_after is None:
            await self._sleep(self._random.uniform(0, min(self.limits.longest_wait, self.limits.first_wait * 2**sent)), quiet=True)

    def _again(self, lane: Lane, error: ModelError, mark: int, failures: int, refused: int) -> bool:
        """Whether to send a call again; books what its failure says of the lane.

        Raises:
            Stopped: The failure ends the run.
        """
        if error.kind == "rate":
            lane.gate.refused(mark)
            if error.retry_after is not None:
                if error.retry_after > self.limits.patience:
                    raise self._stop(StoppedError(f"Paused: the server asks to wait {error.retry_after:,.0f} s.", "paused"))
                until = time.monotonic() + error.retry_after
                self.tally.waits += max(0.0, until - max(lane.not_before, time.monotonic()))
                lane.not_before = max(lane.not_before, until)
            return refused < RATE_ATTEMPTS
        if error.kind in ("auth", "not_found"):
            lane.refusals += 1
            if lane.refusals >= IN_A_ROW:
                raise self._stop(StoppedError(f"Aborted after {IN_A_ROW} refusals in a row: {error}", "aborted"))
            return False
        lane.refusals = 0
        if error.kind in _AGAIN and failures < self.limits.attempts:
            return True
        if error.kind == "connection":
            lane.silences += 1
            if lane.silences >= IN_A_ROW:
                raise self._stop(StoppedError(f"Aborted, since {IN_A_ROW} calls in a row found no server: {error}", "aborted"))
        return False

    async def _sleep(self, seconds: float, quiet: bool = False) -> None:
        """Sleep, looking now and then whether to stop; `quiet` wakes early instead of raising."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(TICK, left))
            if quiet:
                if self.stopped is not None or (self._cancel is not None and self._cancel()):
                    return
            else:
                self.check()

    def check(self) -> None:
        """Look whether to stop.

        Raises:
            StoppedError: It is time to.
        """
        if self.stopped is None and self._cancel is not None and self._cancel():
            self._stop(StoppedError("Cancelled.", "cancelled"))
        if self.stopped is not None:
            raise StoppedError(str(self.stopped), self.stopped.why)

    def _stop(self, stop: StoppedError) -> StoppedError:
        """Send no further call; the first reason stays."""
        self.stopped = self.stopped or stop
        return stop


def _answered(key: str, attempts: int, reply: Reply, seconds: float) -> StoredCall:
    response: dict[str, Any] = {"text": reply.text, "reasoning": reply.reasoning, "cut": reply.cut}
    response |= {"model": reply.model, "fingerprint": reply.fingerprint}
    response |= {"tokens": tokens_json(reply.tokens)} if reply.tokens else {}
    usage = {"prompt": reply.usage.prompt, "completion": reply.usage.completion, "estimated": reply.usage.estimated}
    return StoredCall(key, "done", attempts, response, usage, round(seconds, 6))
