"""What a campaign would cover that the tests so far do not."""

from __future__ import annotations

from dataclasses import dataclass

from core.odd import Codes
from core.scoring import Ranking, tway


@dataclass(frozen=True)
class Coverage:
    """Combinations of t values, each of another dimension, that occur together in a slice.

    Attributes:
        t: 1 for values, 2 for pairs.
        possible: Combinations of the values that the ranking chose from.
        before: Those in a tested slice.
        after: Those in a tested slice or one of the campaign.
    """

    t: int
    possible: int
    before: int
    after: int


def coverage(ranking: Ranking, added: Codes) -> tuple[Coverage, ...]:
    """Coverage of single values and of pairs, before and after a campaign.

    Counted over the dimensions and values of the ranking's scope; a filter on candidates does not narrow it.

    Args:
        ranking: The ranking that the campaign was made from.
        added: (n, D) slices of the campaign.
    """
    tested, space = ranking.evidence.observed.codes, ranking.scope.space(ranking.odd)
    found = [tway(tested, added, space, ranking.dims, t, few=0) for t in (1, 2) if t <= len(ranking.dims)]
    return tuple(Coverage(x.t, x.possible, x.covered, x.covered + x.added) for x in found)
