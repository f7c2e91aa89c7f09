"""Coroutines in tests: in a thread of their own, since the browser of other tests keeps a loop running in the main one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def alone(main: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns, run to its end in a new loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, main).result()
