"""What a campaign would cover that the tests so far do not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt

from core.odd import Codes
from core.scoring import Ranking


@dataclass(frozen=True)
class Coverage:
    """Combinations of t values, each of another dimension, that occur in a tested slice.

    Attributes:
        t: 1 for values, 2 for pairs.
        possible: Combinations that the values considered make.
        before: Those in a tested slice.
        after: Those in a tested slice or one of the campaign.
    """

    t: int
    possible: int
    before: int
    after: int


def coverage(ranking: Ranking, added: Codes) -> tuple[Coverage, ...]:
    """Coverage of single values and of pairs, before and after a campaign.

    Counted over the dimensions that the ranking writes out and the values of its ODD, with the extended values that the
    ranking was asked about. Tested slices with other values count for the combinations of values that are inside.

    Args:
        ranking: The ranking that the campaign was made from.
        added: (n, D) slices of the campaign.
    """
    odd, dims = ranking.odd, ranking.dims
    allowed = _allowed(ranking, added)
    tested = ranking.evidence.observed.codes
    out = []
    for t in (1, 2):
        if t > len(dims):
            break
        possible = before = after = 0
        for group in combinations(dims, t):
            inside = np.ix_(*(allowed[k] for k in group))
            seen = np.zeros(tuple(odd.codec.sizes[k] for k in group), dtype=bool)
            seen[tuple(tested[:, k] for k in group)] = True
            possible += prod(int(allowed[k].sum()) for k in group)
            before += int(seen[inside].sum())
            seen[tuple(added[:, k] for k in group)] = True
            after += int(seen[inside].sum())
        out.append(Coverage(t, possible, before, after))
    return tuple(out)


def _allowed(ranking: Ranking, added: Codes) -> list[npt.NDArray[np.bool_]]:
    """For each dimension, whether each code is a value of what is covered."""
    out = [base.copy() for base in ranking.odd.is_base]
    for k, mask in enumerate(out):
        mask[added[:, k]] = True
    return out
