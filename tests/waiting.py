"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(holds: Callable[[], bool], within: float = 120.0) -> None:
    """Wait for something. The time is far beyond what it takes, so that a busy machine fails no test."""
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, f"It did not come about within {within:.0f} s."
        time.sleep(0.02)
