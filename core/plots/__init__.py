"""Chart specifications as functions of data; pages only show them."""

from core.plots.coverage import CELL, PairCounts, coverage_map, pair_counts
from core.plots.exposure import RARE, exposure_strip
from core.plots.failures import failure_frame, failure_intervals, scale_end
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
    "failure_frame",
    "failure_intervals",
    "named",
    "pair_counts",
    "plain",
    "recommendation_profile",
    "scale_end",
    "shares",
    "value_rows",
]
