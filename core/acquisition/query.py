"""Finds samples for a slice: tags first, then the meaning of the caption among the best, then a spread over sources.

Every step is exact and has a fixed order, so that the same datastore always gives the same samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.acquisition.candidates import Flag
from core.acquisition.datastore import TEMPLATE, Datastore
from core.acquisition.fidelity import flag_of
from core.odd import Odd
from core.odd.text import value_text

POOL = 5_000
"""Best rows by tags that the captions are compared for."""
NEAR = 2
"""A row that contradicts the slice in more dimensions than this is no near miss."""


@dataclass(frozen=True, eq=False)
class Found:
    """The best rows for a slice, best first; arrays (n,).

    Attributes:
        rows: Numbers in the datastore.
        matches: Dimensions that match.
        mismatches: Dimensions that contradict.
        similarity: Cosine of caption and slice, None if captions were not compared.
        dims: Number of dimensions asked for.
        matching: Rows of the whole datastore that match in all of them, copies left out.
    """

    rows: npt.NDArray[np.int32]
    matches: npt.NDArray[np.int64]
    mismatches: npt.NDArray[np.int64]
    similarity: npt.NDArray[np.float64] | None
    dims: int
    matching: int

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """Whether every dimension matches."""
        full: npt.NDArray[np.bool_] = self.matches == self.dims
        return full


def slice_words(requested: Mapping[str, str]) -> str:
    """The slice as the text that captions are compared with, in the form of the scorer's."""
    return ", ".join(value_text(d, v) for d, v in requested.items())


def find(
    store: Datastore, odd: Odd, requested: Mapping[str, str], vector: npt.NDArray[np.floating] | None = None, pool: int = POOL
) -> Found:
    """The best rows for a slice: most matches, then fewest contradictions, then likest caption, then id.

    Args:
        store: Where to look.
        odd: Tells parents of values.
        requested: Value per dimension.
        vector: (D,) of the slice's text from the encoder of the captions; None leaves captions out.
        pool: Rows that are ranked, and whose captions are compared.
    """
    grade = _grades(store, odd, requested)
    n = len(requested)
    counts = np.bincount(grade, minlength=n * (n + 2) + 1)
    above = np.cumsum(counts[::-1])[::-1]  # rows of at least each grade
    cut = int(np.flatnonzero(above >= min(pool, grade.size))[-1]) if grade.size else 0
    best = np.flatnonzero(grade > cut)
    level = np.flatnonzero(grade == cut)[: pool - best.size]
    at = np.sort(np.concatenate([best, level]))
    rows, points = store.live[at], grade[at].astype(np.int64)
    captions = store.captions if vector is not None else None
    similarity = None
    order = np.lexsort((rows, -points))
    if captions is not None and vector is not None:
        # Products of float16 numbers add up exactly in float64, in whatever order: no digit depends on the machine.
        picked = captions.vectors[captions.of_row[rows]].astype(np.float64)
        similarity = np.round(picked @ vector.astype(np.float16).astype(np.float64), 6)
        order = np.lexsort((rows, -similarity, -points))
        similarity = similarity[order]
    matches = points[order] // (n + 2)
    return Found(
        rows=rows[order],
        matches=matches,
        mismatches=n - matches - points[order] % (n + 2),
        similarity=similarity,
        dims=n,
        matching=int(counts[n * (n + 2)]),
    )


def _grades(store: Datastore, odd: Odd, requested: Mapping[str, str]) -> npt.NDArray[np.uint16]:
    """(L,) grade of each row that is no copy: matches times (n + 2), plus dimensions that neither match nor contradict."""
    n = len(requested)
    points: dict[Flag, int] = {"match": n + 2, "missing": 1, "ambiguous": 1, "mismatch": 0}
    total = np.zeros(store.live.size, dtype=np.uint16)
    for part in store.packed:
        if not set(part.dims) & set(requested):
            continue
        table = np.zeros(1, dtype=np.uint16)
        for d, size in zip(part.dims, part.sizes, strict=True):
            own = np.zeros(size, dtype=np.uint16)
            if d in requested:
                tags = (None, *store.entries[d])
                own[:] = [points["match" if t == TEMPLATE else flag_of(odd, d, requested[d], t)] for t in tags]
            table = (table[:, None] + own[None, :]).ravel()
        total += table.take(part.codes)
    absent = sum(points[flag_of(odd, d, v, None)] for d, v in requested.items() if d not in store.entries)
    total += np.uint16(absent)
    return total


@dataclass(frozen=True, eq=False)
class Picked:
    """Rows chosen for a slice.

    Attributes:
        at: Positions in `Found`, best first: matching rows, then near misses where those do not suffice.
        passed_over: Matching rows that gave way to rows of other sources.
    """

    at: tuple[int, ...]
    passed_over: int


def spread(found: Found, groups: npt.NDArray[np.int32], count: int, without: Collection[int] = ()) -> Picked:
    """Chooses rows of many sources: among equally good ones, one of each video or log before a second of any.

    Args:
        found: The best rows, best first.
        groups: (rows of the datastore,) source of each row, -1 where not known; such a row is a source of its own.
        count: Rows wanted.
        without: Positions in `found` that are not chosen, since they turned out to be of no use.
    """
    sources = groups[found.rows].tolist()
    full = [i for i in np.flatnonzero(found.valid).tolist() if i not in without]
    near = np.flatnonzero(~found.valid & (found.mismatches <= NEAR) & (found.matches > 0)).tolist()
    used: Counter[int] = Counter()
    grades: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for i in (*full, *near):
        grade = (int(found.matches[i]), int(found.mismatches[i]))
        if grade not in grades and sum(map(len, grades.values())) >= count:
            break
        grades.setdefault(grade, []).append((used[sources[i]] if sources[i] >= 0 else 0, i))
        used[sources[i]] += 1
    chosen: list[int] = []
    for level in grades.values():
        chosen += sorted(i for _, i in sorted(level)[: max(count - len(chosen), 0)])
    last = max((i for i in chosen if found.valid[i]), default=-1)
    return Picked(tuple(chosen), sum(1 for i in full if i < last and i not in chosen))
