"""Trying a call again where that can help: as the server asks, else later and later, spread at random."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from core.llm.messages import Failure, ModelError

T = TypeVar("T")
AGAIN: frozenset[Failure] = frozenset({"rate", "timeout", "connection", "cut", "server"})
"""Failures that may pass: status 408, 409, 429 and 5xx, no answer in time, no connection, a broken one."""


@dataclass(frozen=True)
class Retry:
    """How often and how long to try.

    Attributes:
        attempts: Calls in all.
        base, cap: Seconds of the first and of the longest wait; a wait is drawn evenly from nothing to base × 2^n, at most cap ("full
            jitter"), so that many callers do not come back at once.
        longest: A server that asks to wait longer is not waited for.
        total: Seconds from the first call after which no further one begins, None for no limit.
    """

    attempts: int = 5
    base: float = 0.5
    cap: float = 30.0
    longest: float = 120.0
    total: float | None = None


def wait_before(error: ModelError, attempt: int, policy: Retry, elapsed: float, draw: Callable[[], float] = random.random) -> float | None:
    """Seconds to wait before the next call, None if there is to be none.

    Args:
        error: Of the last call.
        attempt: Calls so far.
        policy: How often and how long.
        elapsed: Seconds since the first call.
        draw: Evenly from [0, 1).
    """
    if error.kind not in AGAIN or attempt >= policy.attempts:
        return None
    wait = draw() * min(policy.cap, policy.base * 2 ** (attempt - 1))
    if error.retry_after is not None:
        if error.retry_after > policy.longest:
            return None
        wait += error.retry_after
    return None if policy.total is not None and elapsed + wait >= policy.total else wait


def with_retries(
    call: Callable[[], T],
    policy: Retry | None = None,
    *,
    on_wait: Callable[[ModelError, float], None] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """The result of a call that may fail for a while.

    Args:
        call: Raises `ModelError` when it fails.
        policy: How often and how long.
        on_wait: Told the failure and the seconds to wait, for a record.
        sleep: Waits.

    Raises:
        ModelError: That of the last call.
    """
    policy, start, attempt = policy or Retry(), time.monotonic(), 0
    while True:
        attempt += 1
        try:
            return call()
        except ModelError as e:
            wait = wait_before(e, attempt, policy, time.monotonic() - start)
            if wait is None:
                raise
            if on_wait:
                on_wait(e, wait)
            sleep(wait)


async def awith_retries(
    call: Callable[[], Awaitable[T]], policy: Retry | None = None, *, on_wait: Callable[[ModelError, float], None] | None = None
) -> T:
    """The same for an asynchronous call.

    Raises:
        ModelError: That of the last call.
    """
    policy, start, attempt = policy or Retry(), time.monotonic(), 0
    while True:
        attempt += 1
        try:
            return await call()
        except ModelError as e:
            wait = wait_before(e, attempt, policy, time.monotonic() - start)
            if wait is None:
                raise
            if on_wait:
                on_wait(e, wait)
            await asyncio.sleep(wait)
