"""How different the slices of a list are (intra-list distance), and a floor under it by exchange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.odd import Codes

Ints = npt.NDArray[np.int64]

SCALE = 1e12
"""Scores are compared after rounding to 1e-12, as in the ranking."""
_BY_SCORE, _BY_CROWDING = 80, 40
"""Slices looked at for an exchange: those that cost least, and those that gain most."""
_STEP = 1_000
"""Cost, in units of 1e-12, of an exchange that loses nothing, so that of such the largest gain goes first."""


def ild(codes: Codes, dims: Sequence[int]) -> float:
    """ILD: mean share of the dimensions in which two different slices of a list differ (SliceNav, section 4), in closed form.

    ILD = mean over the dimensions of (K^2 - sum_v count_v^2) / (K (K - 1)).

    Args:
        codes: (K, D) slices of the list.
        dims: Positions of the dimensions that count.

    Returns:
        From 0 to 1; 0 for fewer than two slices.
    """
    return _ild(_squares(codes[:, list(dims)]), len(codes), len(dims))


def _ild(squares: int, k: int, d: int) -> float:
    return (d * k * k - squares) / (d * k * (k - 1)) if k > 1 else 0.0


def _squares(x: Codes) -> int:
    return sum(int((np.bincount(x[:, k]).astype(np.int64) ** 2).sum()) for k in range(x.shape[1])) if len(x) else 0


@dataclass(frozen=True, eq=False)
class Swapped:
    """A list that keeps a diversity floor.

    Attributes:
        order: (k,) positions of the chosen slices: the prefix, then by score.
        ild: ILD of the whole list.
        swaps: Exchanges made.
        reached: Whether ild is at least the floor. If not, no exchange of one slice for another raises it any further.
    """

    order: Ints
    ild: float
    swaps: int
    reached: bool


def keep_ild(
    codes: Codes, score: npt.NDArray[np.float64], k: int, floor: float, dims: Sequence[int], prefix: Sequence[int] | Ints = ()
) -> Swapped:
    """The k slices with the best scores, exchanged one at a time until ILD reaches the floor.

    Each exchange is the one that loses the least score per unit of ILD gained, among a short list (the whole where that holds none).
    Every exchange raises ILD, so the search ends; it is greedy, and the loss it ends with is small rather than proven least.

    Args:
        codes: (n, D) candidates, each once, in the order of their ids, which breaks ties.
        score: (n,) scores, larger is better.
        k: Length of the list; all candidates if there are fewer.
        floor: Least ILD.
        dims: Positions of the dimensions that count.
        prefix: Positions that head the list and stay, such as a shorter list that has its own floor.

    Raises:
        ValueError: The prefix is longer than the list, or holds a slice twice.
    """
    head = np.asarray(prefix, dtype=np.int64)
    if len(head) > k or len(np.unique(head)) < len(head):
        raise ValueError(f"The prefix must hold at most {k} different slices; got {len(head)}.")
    x = np.ascontiguousarray(codes[:, list(dims)])
    q = np.rint(score * SCALE).astype(np.int64)
    order = np.argsort(-q, kind="stable").astype(np.int64)
    order = order[~np.isin(order, head)]
    chosen, rest = order[: k - len(head)].copy(), order[k - len(head) :].copy()
    whole = np.concatenate([head, chosen])
    length, d = len(whole), x.shape[1]
    counts = [np.bincount(x[whole, j], minlength=int(x[:, j].max()) + 1 if len(x) else 1).astype(np.int64) for j in range(d)]
    squares, swaps = _squares(x[whole]), 0
    while _ild(squares, length, d) < floor and len(chosen) and len(rest):
        picked = _exchange(x, q, chosen, rest, counts)
        if picked is None:
            break
        i, j, change = picked
        for c, out, into in zip(counts, x[chosen[i]], x[rest[j]], strict=True):
            c[out] -= 1
            c[into] += 1
        chosen[i], rest[j] = rest[j], chosen[i]
        squares, swaps = squares + change, swaps + 1
    reached = _ild(squares, length, d)
    chosen.sort()
    chosen = chosen[np.argsort(-q[chosen], kind="stable")]
    return Swapped(np.concatenate([head, chosen]), reached, swaps, reached >= floor)


def _exchange(x: Codes, q: Ints, chosen: Ints, rest: Ints, counts: list[Ints]) -> tuple[int, int, int] | None:
    """Positions in `chosen` and `rest` to exchange, and the change of the sum of squares (negative); None if none lowers it."""
    crowd = [np.zeros(len(s), dtype=np.int64) for s in (chosen, rest)]
    for j, c in enumerate(counts):
        for total, members in zip(crowd, (chosen, rest), strict=True):
            total += c[x[members, j]]
    leave = np.union1d(_first(q[chosen], _BY_SCORE), _first(-crowd[0], _BY_CROWDING))
    enter = np.union1d(_first(-q[rest], _BY_SCORE), _first(crowd[1], _BY_CROWDING))
    found = _best(x, q, chosen[leave], rest[enter], counts)
    if found is not None:
        return int(leave[found[0]]), int(enter[found[1]]), found[2]
    every, best = np.arange(len(rest)), None
    for start in range(0, len(chosen), 64):  # in blocks, so that a long list does not fill the memory
        found = _best(x, q, chosen[start : start + 64], rest[every], counts)
        if found is not None and (best is None or found[3] < best[3]):
            best = (start + found[0], found[1], found[2], found[3])
    return None if best is None else best[:3]


def _best(x: Codes, q: Ints, leave: Ints, enter: Ints, counts: list[Ints]) -> tuple[int, int, int, float] | None:
    """The pair that loses least per unit gained, the change of the sum of squares, and the loss per unit."""
    change = np.zeros((len(leave), len(enter)), dtype=np.int64)
    for j, c in enumerate(counts):
        out, into = x[leave, j], x[enter, j]
        # Taking one away from a count c changes its square by 1 - 2c, adding one to another by 1 + 2c.
        change += np.where(out[:, None] == into[None], 0, 2 - 2 * c[out][:, None] + 2 * c[into][None])
    loss = np.maximum(q[leave][:, None] - q[enter][None], 0) + _STEP
    price = np.where(change < 0, loss / np.maximum(-change, 1), np.inf)
    at = int(np.argmin(price))
    i, j = divmod(at, len(enter))
    return (i, j, int(change[i, j]), float(price[i, j])) if change[i, j] < 0 else None


def _first(key: Ints, most: int) -> Ints:
    """Positions of the `most` smallest keys, the first of equal ones."""
    if len(key) <= most:
        return np.arange(len(key))
    # Scores fill an int64 up to 1e12 * 1.8, so the place is compared apart, by a stable sort of the few that can be among them.
    limit = np.partition(key, most - 1)[most - 1]
    few = np.flatnonzero(key <= limit)
    return few[np.argsort(key[few], kind="stable")[:most]]
