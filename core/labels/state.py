"""What events come to: the label that counts now, per person, case and place of the queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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


def fold_one(annotator_id: str, events: Sequence[Event]) -> PersonState:
    """What one person's events of one case set come to."""
    labels: dict[Slot, Event] = {}
    revoked: dict[Slot, int] = {}
    taken_back: dict[Slot, None] = {}
    comments: dict[str, tuple[Event, ...]] = {}
    tags: dict[str, tuple[str, ...]] = {}
    decided: dict[str, tuple[Event, ...]] = {}
    next_seq: dict[str, int] = {}
    last: Event | None = None
    for e in sorted(events, key=lambda e: e.number):
        new, slot, last = e.new, Slot(e.new.case_id, e.new.slot), e
        next_seq[new.case_id] = max(next_seq.get(new.case_id, 1), new.seq + 1)
        if new.kind == "label":
            labels.pop(slot, None)  # so that the order of the mapping is that of storing
            labels[slot] = e
            taken_back.pop(slot, None)
        elif new.kind == "revoke" and labels.pop(slot, None) is not None:
            taken_back[slot] = None
            revoked[slot] = revoked.get(slot, 0) + 1
        elif new.kind == "comment":
            comments[new.case_id] = (*comments.get(new.case_id, ()), e)
        elif new.kind == "tags":
            tags[new.case_id] = tuple(str(t) for t in new.payload.get("threats") or ())
        elif new.kind == "consensus":
            decided[new.case_id] = (*decided.get(new.case_id, ()), e)
    return PersonState(annotator_id, labels, revoked, tuple(reversed(taken_back)), comments, tags, decided, next_seq, last)
