"""Chart specifications as functions of data; pages only show them."""

from core.plots.coverage import PairCounts, coverage_map, pair_counts
from core.plots.profile import recommendation_profile, shares
from core.plots.value_rows import value_rows

__all__ = ["PairCounts", "coverage_map", "pair_counts", "recommendation_profile", "shares", "value_rows"]
