"""Labelling, as pages use it: what comes next, what was pressed, what is taken back.

A page never sees the name of a case: it gets tokens, one a place of the queue, so that a hidden repeat looks like any other case
and nothing tells the planner. A token is made with the person's salt and comes back through `resolve`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from uuid import uuid4

from core.errors import InputError, Problem
from core.labels.order import labelling_order
from core.labels.pool import Entry, Role, entries_of
from core.labels.rounds import Calibration, calibration_of, calibration_slots, training_slots
from core.labels.state import LABELLING_SLOTS, PersonState, Slot
from core.operators.labelling_people import person_of
from core.storage import Store
from core.storage.label_events import Event, Label, NewEvent, Round
from core.storage.labels import Conflict, Recorded

WINDOW = 8
"""Cases that a page is given at once, so that the next ones are there before they are needed."""


@dataclass(frozen=True)
class QueueItem:
    """A case that waits for a label.

    Attributes:
        position: 1 for the first of the whole round.
        token: All that a browser knows of the case.
        case_id: For the server only.
        slot: For the server only; it tells hidden checks.
        seq: Number of the next event about this case; for the server only, since it tells that a case was there before.
        turn: Number of the next event about this place of the queue, see `NewEvent.turn`.
    """

    position: int
    token: str
    case_id: str
    slot: str
    seq: int
    turn: int = 1


@dataclass(frozen=True)
class Window:
    """What comes next for one person.

    Attributes:
        items: The next cases, one whose label was taken back first; empty where the round is done or has none.
        done: Places that carry a label.
        total: Places of the round, hidden checks with them.
        round: Which round.
        saved: The person's event stored last in this set, None without one.
    """

    items: tuple[QueueItem, ...]
    done: int
    total: int
    round: Round
    saved: Event | None


@dataclass(frozen=True)
class Feedback:
    """What a person is told of an answer in the training round.

    Attributes:
        label: What the person said.
        gold: What is right, None if the case has no gold.
        threats: Threats behind it.
        why: In words.
    """

    label: Label
    gold: Label | None
    threats: tuple[str, ...]
    why: str

    @property
    def right(self) -> bool:
        """Whether both agree."""
        return self.label == self.gold


def window(store: Store, set_id: str, annotator_id: str, *, round: Round = "labelling", n: int = WINDOW) -> Window:
    """The next places of a person's queue that carry no label.

    Args:
        store: The workspace.
        set_id: Case set.
        annotator_id: The person.
        round: "training", "calibration" or "labelling".
        n: Places at most.

    Raises:
        InputError: There is no such set or person, or the round has no queue.
    """
    person, salt = person_of(store, set_id, annotator_id), store.labels.salt(annotator_id)
    slots = queue(store, set_id, person, round)
    open_ = [s for s in slots if s not in person.labels]
    waiting = set(open_)
    again = dict.fromkeys(s for s in person.taken_back if s in waiting)
    first = _once_each([*again, *(s for s in open_ if s not in again)])[: max(n, 0)]
    done = len(slots) - len(open_)
    items = tuple(
        QueueItem(done + i, token_of(salt, set_id, s), s.case_id, s.name, person.next_seq.get(s.case_id, 1), person.next_turn.get(s, 1))
        for i, s in enumerate(first, 1)
    )
    return Window(items, done, len(slots), round, person.last)


def queue(store: Store, set_id: str, person: PersonState, round: Round) -> tuple[Slot, ...]:
    """All places of a round, in this person's order."""
    entries, who = entries_for(store, set_id), person.annotator_id
    if round == "training":
        return training_slots(entries, who)
    if round == "calibration":
        now = calibration_of(entries, person, who)
        return calibration_slots(entries, person, who, now.attempt + (now.state == "failed"))
    if round != "labelling":
        raise InputError(f'The round "{round}" has no queue; allowed: training, calibration, labelling.')
    seen = frozenset(s.case_id for s in person.labels if s.name.startswith("calibration:"))
    return _labelling_queue(store, set_id, who, frozenset(left_out(store, set_id)), frozenset(person.decided), seen)


@lru_cache(maxsize=256)
def _labelling_queue(
    store: Store, set_id: str, who: str, out: frozenset[str], decided: frozenset[str], seen: frozenset[str]
) -> tuple[Slot, ...]:
    usable = [e for e in entries_for(store, set_id) if not out & set(e.flags) and e.case_id not in decided]
    cases = [e for e in usable if e.role == "labelling"]
    return labelling_order(cases, [e for e in usable if e.role == "calibration"], who, avoid=seen)


def record(store: Store, set_id: str, annotator_id: str, events: Sequence[NewEvent]) -> Recorded:
    """Stores what a person did; what is told as stored is on the disk.

    The same events may be sent again and again.

    Raises:
        InputError: There is no such set, person or case, or an event is malformed; nothing was stored.
    """
    known = {e.case_id for e in entries_for(store, set_id)}
    if strange := [Problem(i, "case_id", e.case_id[:60], "a case of the set") for i, e in enumerate(events, 1) if e.case_id not in known]:
        raise InputError("Some events are about cases that this set does not have; nothing was stored.", strange)
    refused = _finished(store, set_id, annotator_id, events)
    done = store.labels.append(annotator_id, set_id, [e for e in events if e.uid not in {c.new.uid for c in refused}])
    return replace(done, conflicts=(*refused, *done.conflicts))


def undo(store: Store, set_id: str, annotator_id: str, uid: str = "", *, round: Round = "labelling", of: str = "") -> Recorded:
    """Takes back the label stored last in a round, or the one with the uid `of`; the case then comes first in the window.

    Args:
        store: The workspace.
        set_id: Case set.
        annotator_id: The person.
        uid: Of this event, so that sending it twice takes back one label; made here if "".
        round: Whose labels are looked at.
        of: Uid of the label.

    Returns:
        Nothing stored where there is no such label, or where calibration is finished.
    """
    person = person_of(store, set_id, annotator_id)
    if uid and (there := store.labels.sent(set_id, annotator_id, [uid])):
        return Recorded((), there)
    found = [e for s, e in person.labels.items() if _round_of(s) == round and (not of or e.new.uid == of)]
    if not found:
        return Recorded(())
    label = found[-1].new
    new = NewEvent(
        uid or uuid4().hex,
        label.case_id,
        person.next_seq[label.case_id],
        "revoke",
        slot=label.slot,
        payload={"seq": label.seq, "uid": label.uid, "turn": label.turn + 1},
        guidance_version=label.guidance_version,
        interface_version=label.interface_version,
    )
    return record(store, set_id, annotator_id, [new])


def comment(store: Store, set_id: str, annotator_id: str, case_id: str, text: str, *, slot: str = "main", uid: str = "") -> Recorded:
    """Adds a comment on a case.

    Raises:
        InputError: It is empty or very long.
    """
    text = text.strip()
    if not text or len(text) > 4_000:
        raise InputError(f"A comment has 1 to 4,000 characters; this one has {len(text):,}.")
    return _now(store, set_id, annotator_id, case_id, "comment", {"text": text}, slot, uid)


def tags(
    store: Store, set_id: str, annotator_id: str, case_id: str, threats: Sequence[str], *, slot: str = "main", uid: str = ""
) -> Recorded:
    """Chooses threats of a case; the newest choice counts, an empty one takes all of them back."""
    return _now(store, set_id, annotator_id, case_id, "tags", {"threats": list(dict.fromkeys(threats))}, slot, uid)


def calibration(store: Store, set_id: str, annotator_id: str) -> Calibration:
    """How a person stands in calibration on a set."""
    return calibration_of(entries_for(store, set_id), person_of(store, set_id, annotator_id), annotator_id)


def feedback(store: Store, set_id: str, annotator_id: str, case_id: str) -> Feedback | None:
    """What a person is told after an answer in the training round; None before there is one."""
    label = person_of(store, set_id, annotator_id).label(case_id, "training:1")
    entry = next((e for e in entries_for(store, set_id) if e.case_id == case_id), None)
    return None if label is None or entry is None else Feedback(label, entry.gold, entry.threats, entry.why)


def resolve(store: Store, set_id: str, annotator_id: str, tokens: Collection[str]) -> dict[str, Slot]:
    """The places that tokens stand for; a token that is none of this person in this set is left out."""
    attempts = calibration_of(entries_for(store, set_id), person_of(store, set_id, annotator_id), annotator_id).attempt + 1
    table = _table(store, set_id, annotator_id, attempts)
    return {t: table[t] for t in tokens if t in table}


def token_of(salt: str, set_id: str, slot: Slot) -> str:
    """The name of a place in one person's browser."""
    text = "\x1f".join([salt, set_id, slot.case_id, slot.name])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def left_out(store: Store, set_id: str) -> tuple[str, ...]:
    """Flags whose cases nobody is asked about; none unless somebody chose so."""
    return tuple(store.preferences.get(f"labels:{set_id}:left_out", ()))


def leave_out(store: Store, set_id: str, flags: Collection[str]) -> None:
    """Chooses flags whose cases nobody is asked about from now on; labels that they have stay."""
    store.preferences.set(f"labels:{set_id}:left_out", sorted(set(flags)))


def asked_about(store: Store, set_id: str) -> tuple[Entry, ...]:
    """The cases of a set that people are asked about: those for labelling, without those that are left out by choice."""
    out = set(left_out(store, set_id))
    return tuple(e for e in entries_for(store, set_id) if e.role == "labelling" and not out & set(e.flags))


@lru_cache(maxsize=16)
def entries_for(store: Store, set_id: str) -> tuple[Entry, ...]:
    """What labelling knows of the cases of a set; read once a process, since a set never changes.

    Raises:
        InputError: There is no such set, its files are gone or changed, or its cases cannot be labelled.
    """
    return entries_of(store.cases.open(set_id).cases)


@lru_cache(maxsize=128)
def _table(store: Store, set_id: str, annotator_id: str, attempts: int) -> Mapping[str, Slot]:
    """Every place that one person may be shown, by its token: a case has none but those of its role."""
    salt = store.labels.salt(annotator_id)
    names: Mapping[Role, Sequence[str]] = {
        "labelling": ("main", "repeat"),
        "training": ("training:1",),
        "calibration": ("gold", *(f"calibration:{k}" for k in range(1, attempts + 1))),
    }
    slots = (Slot(e.case_id, name) for e in entries_for(store, set_id) for name in names.get(e.role, ()))
    return {token_of(salt, set_id, s): s for s in slots}


def _once_each(slots: Sequence[Slot]) -> list[Slot]:
    """Places up to the first one whose case is among those before it: the number of its event depends on what is said there."""
    seen: set[str] = set()
    for i, slot in enumerate(slots):
        if slot.case_id in seen:
            return list(slots[:i])
        seen.add(slot.case_id)
    return list(slots)


def _round_of(slot: Slot) -> str:
    return "labelling" if slot.name in LABELLING_SLOTS else slot.name.split(":")[0]


def _finished(store: Store, set_id: str, annotator_id: str, events: Sequence[NewEvent]) -> list[Conflict]:
    """Labels of a finished calibration that somebody would take back after having seen how it ended."""
    if not any(e.kind == "revoke" and e.slot.startswith("calibration:") for e in events):
        return []
    person = person_of(store, set_id, annotator_id)
    now = calibration_of(entries_for(store, set_id), person, annotator_id)
    over = [f"calibration:{k}" for k in range(1, now.attempt + (now.state != "open"))]
    stored = {e.new.uid for e in store.labels.sent(set_id, annotator_id, [e.uid for e in events])}
    return [
        Conflict(e, person.labels.get(Slot(e.case_id, e.slot)))
        for e in events
        if e.kind == "revoke" and e.slot in over and e.uid not in stored
    ]


def _now(store: Store, set_id: str, annotator_id: str, case_id: str, kind: Any, payload: dict[str, Any], slot: str, uid: str) -> Recorded:
    seq = person_of(store, set_id, annotator_id).next_seq.get(case_id, 1)
    return record(store, set_id, annotator_id, [NewEvent(uid or uuid4().hex, case_id, seq, kind, slot=slot, payload=payload)])
