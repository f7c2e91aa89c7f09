"""Chart specifications as functions of data; pages only show them."""

from core.plots.coverage import CELL, PairCounts, coverage_map, pair_counts
from core.plots.exposure import RARE, exposure_strip
from core.plots.profile import drawn_shares, recommendation_profile, shares
from core.plots.style import named, plain
from core.plots.value_rows import value_rows

__all__ = [
    "CELL",
    "RARE",
    "PairCounts",
    "coverage_map",
    "drawn_shares",
    "exposure_strip",
    "named",
    "pair_counts",
    "plain",
    "recommendation_profile",
    "shares",
    "value_rows",
]
