"""Exact top-K of spaces that are too large to enumerate."""

from core.scoring.search.branch import Cancel, Found, Progress
from core.scoring.search.top_k import top_k

__all__ = ["Cancel", "Found", "Progress", "top_k"]
