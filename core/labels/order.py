"""The order in which one person sees the cases, with hidden repeats and gold probes between them.

Everything follows from hashes of the person and the case, not from positions: where cases are added, those that were there keep
their order among themselves, on every machine and at any time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

from core.labels.pool import Entry
from core.labels.state import Slot

SHARE = 0.05
"""Repeats, and gold probes, per case."""
LEAST_CASES = 8
"""Below this number of cases there are no hidden checks: they would stand beside what they repeat."""
GAP = 30
"""Cases at least between a case and its repeat, or half of the cases where there are fewer than twice as many."""


def ranked(seed: str, purpose: str, case_ids: Collection[str]) -> list[str]:
    """Cases in an order that is different for each seed and purpose."""
    return sorted(case_ids, key=lambda c: (_hash(seed, purpose, c), c))


def checks_for(cases: int) -> int:
    """How many repeats, and how many gold probes, go with a number of cases."""
    return 0 if cases < LEAST_CASES else max(1, int(SHARE * cases + 0.5))


def labelling_order(cases: Sequence[Entry], gold: Sequence[Entry], seed: str, avoid: Collection[str] = ()) -> tuple[Slot, ...]:
    """The queue of one person.

    Args:
        cases: To be labelled.
        gold: Cases with a known answer, other than those.
        seed: Of the person.
        avoid: Gold cases that the person has seen before; taken last.

    Returns:
        Each case once as "main", 5 % of them again as "repeat" at least `GAP` cases later, and 5 % "gold" spread evenly. Two of
        these checks never stand side by side, and none comes first.
    """
    main = ranked(seed, "main", [e.case_id for e in cases])
    n = len(main)
    wanted, gap = checks_for(n), min(GAP, n // 2)
    after: dict[int, Slot] = {}  # at most one check behind each case, so that checks never touch
    place = {case_id: i for i, case_id in enumerate(main)}
    repeated = ranked(seed, "repeat", main[: n - gap])[:wanted]
    for case_id in sorted(repeated, key=place.__getitem__, reverse=True):  # those with the fewest places left choose first, so all get one
        free = [j for j in range(place[case_id] + gap, n) if j not in after]
        after[free[_hash(seed, "repeat place", case_id) % len(free)]] = Slot(case_id, "repeat")
    known = sorted(ranked(seed, "gold", [e.case_id for e in gold if e.gold is not None]), key=lambda c: c in avoid)[:wanted]
    for i, case_id in enumerate(known):
        near = range(i * n // len(known), (i + 1) * n // len(known))
        free = [j for j in near if j not in after] or [j for j in range(n) if j not in after]
        after[free[_hash(seed, "gold place", case_id) % len(free)]] = Slot(case_id, "gold")
    return tuple(s for i, case_id in enumerate(main) for s in (Slot(case_id), after.get(i)) if s is not None)


def _hash(*parts: str) -> int:
    return int.from_bytes(hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).digest()[:8])
