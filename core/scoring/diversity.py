"""How different the slices of a list are (intra-list distance), and a floor under it by exchange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.odd import Codes
from core.scoring.scorer import quantised

Ints = npt.NDArray[np.int64]

_SHORT = 40
"""Slices on either side that are looked at for an exchange."""
_FINE = 1_000
"""The price of crowding is found to this fraction of itself."""


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
        swaps: Slices that stand in for ones with a better score.
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

    ILD falls with the sum of squared value counts of the list. Crowding gets a price: the sum of scores less price x sum of squares is
    raised by exchanges until none raises it, and the smallest price at which ILD reaches the floor is found by bisection. What is then
    left above the floor is spent on exchanges that raise the score. All in integers, so the same everywhere. The loss of score is small
    rather than proven least.

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
    q = quantised(score)
    order = np.argsort(-q, kind="stable").astype(np.int64)
    order = order[~np.isin(order, head)]
    best = order[: k - len(head)]
    plain = _List(x, q, head, best, order[k - len(head) :])
    chosen = best
    if plain.ild < floor and len(plain.rest) and len(best):
        kept = _List(x, q, head, chosen := _priced(plain, floor), np.setdiff1d(order, chosen))
        kept.spend(floor)
        chosen = np.sort(kept.chosen)
    chosen = chosen[np.argsort(-q[chosen], kind="stable")]
    whole = np.concatenate([head, chosen])
    got = _ild(_squares(x[whole]), len(whole), x.shape[1])
    return Swapped(whole, got, int((~np.isin(chosen, best)).sum()), got >= floor)


class _List:
    """A list under exchange: `chosen` and `rest` change places one at a time, `head` stays."""

    def __init__(self, x: Codes, q: Ints, head: Ints, chosen: Ints, rest: Ints) -> None:
        self.x, self.q, self.chosen, self.rest = x, q, chosen.copy(), rest.copy()
        whole = x[np.concatenate([head, chosen])]
        self.length, self.d = whole.shape
        self.counts = [np.bincount(whole[:, j], minlength=int(x[:, j].max(initial=0)) + 1).astype(np.int64) for j in range(self.d)]
        self.squares = _squares(whole)

    @property
    def ild(self) -> float:
        return _ild(self.squares, self.length, self.d)

    def crowding(self, members: Ints) -> Ints:
        """For each slice, how often its values stand in the list, added up over the dimensions."""
        out = np.zeros(len(members), dtype=np.int64)
        for j, c in enumerate(self.counts):
            out += c[self.x[members, j]]
        return out

    def change(self, leave: Ints, enter: Ints) -> Ints:
        """Change of the sum of squares by each exchange (leave, enter): a count c gives up 2c - 1, or takes 2c + 1."""
        out, into = self.chosen[leave], self.rest[enter]
        same: Ints = (self.x[out][:, None] == self.x[into][None]).sum(axis=2)
        moved: Ints = self.crowding(into)[None] - self.crowding(out)[:, None] + self.d - same
        return 2 * moved

    def exchange(self, i: int, j: int, change: int) -> None:
        """Exchanges the i-th of `chosen` for the j-th of `rest`."""
        for c, out, into in zip(self.counts, self.x[self.chosen[i]], self.x[self.rest[j]], strict=True):
            c[out] -= 1
            c[into] += 1
        self.chosen[i], self.rest[j] = self.rest[j], self.chosen[i]
        self.squares += change

    def settle(self, price: int) -> None:
        """Exchanges as long as one of the short lists raises score - price x squares."""
        while True:
            leave = _first(self.q[self.chosen] - 2 * price * self.crowding(self.chosen), _SHORT)
            enter = _first(2 * price * self.crowding(self.rest) - self.q[self.rest], _SHORT)
            change = self.change(leave, enter)
            gain = self.q[self.rest[enter]][None] - self.q[self.chosen[leave]][:, None] - price * change
            i, j = divmod(int(np.argmax(gain)), len(enter))
            if gain[i, j] <= 0:
                return
            self.exchange(int(leave[i]), int(enter[j]), int(change[i, j]))

    def spread(self, enough: float) -> None:
        """Exchanges whatever raises ILD, until it is enough or nothing raises it any further."""
        every = np.arange(len(self.rest))
        while self.ild < enough:
            found = (0, 0, 0)
            for start in range(0, len(self.chosen), 64):  # in blocks, so that a long list does not fill the memory
                change = self.change(np.arange(start, min(start + 64, len(self.chosen))), every)
                i, j = divmod(int(np.argmin(change)), len(every))
                found = min(found, (int(change[i, j]), start + i, j))
            if found[0] >= 0:
                return
            self.exchange(found[1], found[2], found[0])

    def spend(self, floor: float) -> None:
        """Exchanges for a better score as long as ILD stays at the floor."""
        while self.ild >= floor:
            leave, enter = _first(self.q[self.chosen], 3 * _SHORT), _first(-self.q[self.rest], 3 * _SHORT)
            change = self.change(leave, enter)
            gain = self.q[self.rest[enter]][None] - self.q[self.chosen[leave]][:, None]
            within = (self.d * self.length**2 - self.squares - change) / (self.d * self.length * (self.length - 1)) >= floor
            gain = np.where(within, gain, 0)
            i, j = divmod(int(np.argmax(gain)), len(enter))
            if gain[i, j] <= 0:
                return
            self.exchange(int(leave[i]), int(enter[j]), int(change[i, j]))


def _priced(state: _List, floor: float) -> Ints:
    """Bisection of the price; the chosen slices with the best total score among those that keep the floor, else the most diverse."""
    dearest = int(np.ptp(state.q)) + 1  # the least gain of diversity is then worth any loss of score
    low, high, price = 0, 0, max(dearest // (64 * state.length), 1)
    best: tuple[int, Ints] | None = None
    while not high or high - low > max(high // _FINE, 1):
        state.settle(price)
        if price == dearest:
            state.spread(floor)
        if state.ild >= floor:
            high, total = price, int(state.q[state.chosen].sum())
            best = (total, state.chosen.copy()) if best is None or total > best[0] else best
        elif price == dearest:
            return state.chosen
        else:
            low = price
        price = (low + high) // 2 if high else min(2 * price, dearest)
    return state.chosen if best is None else best[1]


def _first(key: Ints, most: int) -> Ints:
    """Positions of the `most` smallest keys, the first of equal ones."""
    if len(key) <= most:
        return np.arange(len(key))
    # A partition may order equal keys as it likes, so a stable sort of the few that can be among them has the last word.
    few = np.flatnonzero(key <= np.partition(key, most - 1)[most - 1])
    return few[np.argsort(key[few], kind="stable")[:most]]
