"""One event loop in a thread of its own, so that the same asynchronous client also serves callers that wait.

One path for both: a total limit on the time of a call holds for both, also where a server sends a byte now and then.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_lock = threading.Lock()
_running: dict[int, asyncio.AbstractEventLoop] = {}
"""The loop of this process; a forked child has another id and starts its own."""


def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the shared loop and wait for its result; it is cancelled if the wait is interrupted."""
    loop = _loop()
    if asyncio._get_running_loop() is loop:  # it would wait for itself forever
        coroutine.close()
        raise RuntimeError("A waiting call was made from inside another one; use its asynchronous form there.")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def _loop() -> asyncio.AbstractEventLoop:
    with _lock:
        loop = _running.get(os.getpid())
        if loop is None or loop.is_closed():
            loop = _running[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="oddyssey-llm", daemon=True).start()
        return loop
