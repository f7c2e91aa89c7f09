"""What people's events come to, kept in memory: a press reads what is new and not everything that a person ever did.

What one person did in one set is only ever added to, in the order of its numbers, so nothing that was read once has to be read again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from weakref import WeakKeyDictionary

from core.labels.state import Folding, PersonState
from core.storage import Store
from core.storage.labels import Labels

MOST_EVENTS = 200_000
"""Events kept in memory by one process, over all people and sets; those looked at longest ago go first."""


class _Kept:
    """The people of one workspace."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._people: OrderedDict[tuple[str, str], tuple[Folding, PersonState]] = OrderedDict()

    def person(self, labels: Labels, set_id: str, annotator_id: str) -> PersonState:
        key = (set_id, annotator_id)
        with self._lock:
            found = self._people.get(key)
        folding, state = found or (Folding(annotator_id), Folding(annotator_id).state())
        new = labels.events(set_id, annotator_id, after=_number(state))
        with self._lock:
            now = self._people.get(key)
            if now is not None and now is not found:  # another thread was here meanwhile
                folding, state = now
            folding.add(e for e in new if e.number > _number(folding))
            if folding.last is not state.last:
                state = folding.state()
            if folding.size:
                self._people[key] = (folding, state)
                self._people.move_to_end(key)
            while len(self._people) > 1 and sum(f.size for f, _ in self._people.values()) > MOST_EVENTS:
                self._people.popitem(last=False)
        return state


def _number(of: Folding | PersonState) -> int:
    return of.last.number if of.last else 0


_kept: WeakKeyDictionary[Store, _Kept] = WeakKeyDictionary()
_making = threading.Lock()


def person_of(store: Store, set_id: str, annotator_id: str) -> PersonState:
    """What one person's events of a set come to."""
    with _making:
        kept = _kept.setdefault(store, _Kept())
    return kept.person(store.labels, set_id, annotator_id)


def people_of(store: Store, set_id: str) -> dict[str, PersonState]:
    """What everybody's events of a set come to, in the order in which they began."""
    return {who: person_of(store, set_id, who) for who in store.labels.people_in(set_id)}
