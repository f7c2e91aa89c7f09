"""What events come to: the label that counts now, per person, case and place of the queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from core.storage.label_events import Event, Label

LABELLING_SLOTS = ("main", "repeat", "gold")
"""Places of the queue of labelling itself; "repeat" and "gold" are hidden checks and never count as labels of the case."""


@dataclass(frozen=True, order=True)
class Slot:
    """A place in somebody's queue.

    Attributes:
        case_id: The case that is shown.
        name: Which of its places, as in `NewEvent.slot`.
    """

    case_id: str
    name: str = "main"


@dataclass(frozen=True, eq=False)
class PersonState:
    """What one person's events come to.

    Attributes:
        annotator_id: The person.
        labels: The label that counts per place, in the order in which they were stored.
        revoked: How often a label was taken back per place.
        taken_back: Places whose label was taken back and that have none now, the one taken back last first.
        comments: Comments per case, the oldest first.
        tags: Chosen threats per case; the newest choice counts.
        decided: Consensus labels that the person gave per case; the newest last.
        next_seq: The number of the next event per case; 1 where there is none yet.
        last: The event stored last, None without one.
        next_turn: The turn of the next event per place; 1 where there is none yet.
    """

    annotator_id: str
    labels: Mapping[Slot, Event]
    revoked: Mapping[Slot, int]
    taken_back: tuple[Slot, ...]
    comments: Mapping[str, tuple[Event, ...]]
    tags: Mapping[str, tuple[str, ...]]
    decided: Mapping[str, tuple[Event, ...]]
    next_seq: Mapping[str, int]
    last: Event | None
    next_turn: Mapping[Slot, int] = field(default_factory=dict)

    def label(self, case_id: str, slot: str = "main") -> Label | None:
        """The label that counts, None without one."""
        event = self.labels.get(Slot(case_id, slot))
        return None if event is None else event.new.label


def fold(events: Iterable[Event]) -> dict[str, PersonState]:
    """What events of one case set come to, per person; in any order of people, each one's in the order of storing."""
    people: dict[str, list[Event]] = {}
    for e in events:
        people.setdefault(e.annotator_id, []).append(e)
    return {who: fold_one(who, found) for who, found in people.items()}


def fold_one(annotator_id: str, events: Iterable[Event]) -> PersonState:
    """What one person's events of one case set come to."""
    folding = Folding(annotator_id)
    folding.add(events)
    return folding.state()


class Folding:
    """One person's events of one case set, taken in as they come, so that a new one costs the same however many there are."""

    def __init__(self, annotator_id: str) -> None:
        """Nothing was done yet."""
        self.annotator_id = annotator_id
        self.size = 0
        self.last: Event | None = None
        self._labels: dict[Slot, Event] = {}
        self._revoked: dict[Slot, int] = {}
        self._taken_back: dict[Slot, None] = {}
        self._comments: dict[str, list[Event]] = {}
        self._tags: dict[str, tuple[str, ...]] = {}
        self._decided: dict[str, list[Event]] = {}
        self._next_seq: dict[str, int] = {}
        self._next_turn: dict[Slot, int] = {}

    def add(self, events: Iterable[Event]) -> None:
        """Take in events; all of them were stored after those before."""
        for e in sorted(events, key=lambda e: e.number):
            self.size, self.last = self.size + 1, e
            new, slot = e.new, Slot(e.new.case_id, e.new.slot)
            self._next_seq[new.case_id] = max(self._next_seq.get(new.case_id, 1), new.seq + 1)
            self._next_turn[slot] = max(self._next_turn.get(slot, 1), new.turn + 1)
            if new.kind == "label":
                self._labels.pop(slot, None)  # so that the order of the mapping is that of storing
                self._labels[slot] = e
                self._taken_back.pop(slot, None)
            elif new.kind == "revoke" and self._labels.pop(slot, None) is not None:
                self._taken_back[slot] = None
                self._revoked[slot] = self._revoked.get(slot, 0) + 1
            elif new.kind == "comment":
                self._comments.setdefault(new.case_id, []).append(e)
            elif new.kind == "tags":
                self._tags[new.case_id] = tuple(str(t) for t in new.payload.get("threats") or ())
            elif new.kind == "consensus":
                self._decided.setdefault(new.case_id, []).append(e)

    def state(self) -> PersonState:
        """What they come to by now."""
        return PersonState(
            annotator_id=self.annotator_id,
            labels=dict(self._labels),
            revoked=dict(self._revoked),
            taken_back=tuple(reversed(self._taken_back)),
            comments={c: tuple(found) for c, found in self._comments.items()},
            tags=dict(self._tags),
            decided={c: tuple(found) for c, found in self._decided.items()},
            next_seq=dict(self._next_seq),
            last=self.last,
            next_turn=dict(self._next_turn),
        )
