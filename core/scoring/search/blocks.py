"""Blocks of rows on all cores: numpy lets other threads run while it computes."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import numpy.typing as npt

MOST_THREADS = 8


def in_blocks(work: Callable[[int], npt.NDArray[np.int64]], n: int, rows: int) -> npt.NDArray[np.int64]:
    """Results for rows 0 to n - 1 in order; `work(i)` computes the block that starts at row i."""
    starts = range(0, n, rows)
    if len(starts) < 2:
        return work(0)
    return np.concatenate(list(_pool().map(work, starts)))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, min(MOST_THREADS, os.cpu_count() or 1)), thread_name_prefix="search")
