"""Those who label, and their events: only ever added, each exactly once, on the disk before anybody is told that it is stored.

An event is refused, and what stands there instead is told, where it was made on a screen that no longer was true: the same person,
in another tab, labelled this place of the queue, took its label back, or chose other threats since. What was said of another place
of the queue (a hidden repeat of the case), and comments, stand in nobody's way: the event gets the next free number.
Events of different annotators never meet.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import uuid4

import sqlalchemy as sa

from core.errors import InputError, Problem
from core.storage import schema
from core.storage.database import Database
from core.storage.ids import is_id, new_id
from core.storage.label_events import LABELS, Annotator, Event, Kind, NewEvent
from core.storage.names import clean, folded, refuse_taken
from core.storage.schema_cases import case_sets
from core.storage.schema_labels import annotators, label_events

_a, _e = annotators.c, label_events.c
_KINDS: tuple[Kind, ...] = ("label", "revoke", "comment", "tags", "consensus")
_SLOT = re.compile(r"(main|repeat|gold|review|(training|calibration):[1-9][0-9]{0,3})")
_UID = re.compile(r"[0-9A-Za-z_-]{8,64}")
_MOST = 500
"""Parameters in one query."""
_LONGEST_ID = 1_500
"""Characters of a case id as it is stored; PostgreSQL cannot index much longer ones."""
_LONGEST_PAYLOAD = 20_000
_MOST_YEARS = 90


@dataclass(frozen=True)
class Conflict:
    """An event that was not stored, since what it was about had changed.

    Attributes:
        new: The event.
        present: What stands in its way, None for a label to be taken back that was never there, and for a uid that is somebody else's.
    """

    new: NewEvent
    present: Event | None


@dataclass(frozen=True)
class Recorded:
    """What became of some events.

    Attributes:
        stored: Added now.
        known: There already: the same event sent once more.
        conflicts: Not stored.
    """

    stored: tuple[Event, ...]
    known: tuple[Event, ...] = ()
    conflicts: tuple[Conflict, ...] = ()

    @property
    def acked(self) -> tuple[str, ...]:
        """Uids of all that is stored and durable."""
        return tuple(e.new.uid for e in (*self.stored, *self.known))

    @property
    def settled(self) -> tuple[str, ...]:
        """Uids that need not be sent again: stored ones, and conflicts, which stay conflicts."""
        return (*self.acked, *(c.new.uid for c in self.conflicts))


@dataclass(frozen=True, eq=False)
class Labels:
    """The annotators of the workspace, and everything that they said of cases.

    Attributes:
        db: Where it lies.
    """

    db: Database
    _salts: dict[str, str] = field(default_factory=dict, repr=False)

    def register(self, name: str, experience_years: float, researcher: bool) -> Annotator:
        """Add a person.

        Args:
            name: Unique whatever its case.
            experience_years: Of driving, 0 to 90.
            researcher: Whether the person belongs to the project.

        Raises:
            InputError: The name is empty, too long or taken, or the years make no sense.
        """
        name = clean(name, "person")
        if not (math.isfinite(experience_years) and 0 <= experience_years <= _MOST_YEARS):
            raise InputError(f"Driving experience is a number of years from 0 to {_MOST_YEARS}; got {experience_years:g}.")
        with self.db.write(lock="annotators", durable=True) as c:
            taken = {folded(x) for x in c.execute(sa.select(_a.name)).scalars()}
            refuse_taken(name, taken, "person")
            person = Annotator(new_id(c, _a.id), name, float(experience_years), researcher, schema.now())
            c.execute(annotators.insert().values(**vars(person), salt=uuid4().hex))
        return person

    def annotators(self) -> tuple[Annotator, ...]:
        """Everybody who registered, in that order."""
        with self.db.read() as c:
            return tuple(self._people(c))

    def annotator(self, annotator_id: str) -> Annotator:
        """One of them.

        Raises:
            InputError: There is no such person.
        """
        with self.db.read() as c:
            return self._person(c, annotator_id)

    def salts(self) -> dict[str, str]:
        """What each person's names for others are made with, in the order in which they registered; it never leaves the server."""
        with self.db.read() as c:
            return {r.id: r.salt for r in c.execute(sa.select(_a.id, _a.salt).order_by(_a.registered_at, _a.id))}

    def salt(self, annotator_id: str) -> str:
        """That of one person.

        Raises:
            InputError: There is no such person.
        """
        if annotator_id not in self._salts:
            with self.db.read() as c:
                self._person(c, annotator_id)
                self._salts[annotator_id] = c.execute(sa.select(_a.salt).where(_a.id == annotator_id)).scalar_one()
        return self._salts[annotator_id]

    def append(self, annotator_id: str, set_id: str, events: Sequence[NewEvent]) -> Recorded:
        """Add events in their order, all of them in one durable transaction.

        Args:
            annotator_id: Who did it.
            set_id: Case set that it is about.
            events: What was done. One that is there already is not added again, whenever it is sent.

        Raises:
            InputError: There is no such annotator or set, an event is malformed, or the database cannot be written. Nothing was
                stored then.
        """
        _check(events)
        if not events:
            return Recorded(())
        with self.db.write(lock=f"labels:{annotator_id}:{set_id}", durable=True) as c:
            self._person(c, annotator_id)
            self._known_set(c, set_id)
            return self._append(c, annotator_id, set_id, events)

    def events(self, set_id: str, annotator_id: str | None = None, *, after: int = 0) -> tuple[Event, ...]:
        """Everything that was done with a case set, the oldest first; by one person, or by all.

        Args:
            set_id: Case set.
            annotator_id: The person; None for all.
            after: Only events of larger numbers. What one person did in one set is stored in the order of its numbers, so that who knows
                all up to a number misses nothing; what several did is not.
        """
        who = [] if annotator_id is None else [_e.annotator_id == annotator_id]
        if after and annotator_id is not None:
            who = [
                _e.number > after,
                sa.func.coalesce(_e.annotator_id, "") == annotator_id,
            ]  # by numbers: they are few
        with self.db.read() as c:
            return tuple(self._rows(c, _e.set_id == set_id, *who))

    def sent(self, set_id: str, annotator_id: str, uids: Collection[str]) -> tuple[Event, ...]:
        """Those events of one person in a set that have one of these uids."""
        with self.db.read() as c:
            found = [e for some in _batches(list(uids)) for e in self._rows(c, _e.uid.in_(some))]
        return tuple(e for e in found if (e.annotator_id, e.set_id) == (annotator_id, set_id))

    def people_in(self, set_id: str) -> tuple[str, ...]:
        """Ids of all who did anything with a set, in the order in which they began."""
        first = sa.func.min(_e.number)
        with self.db.read() as c:
            return tuple(
                c.execute(sa.select(_e.annotator_id).where(_e.set_id == set_id).group_by(_e.annotator_id).order_by(first)).scalars()
            )

    def stamp(self, set_id: str) -> int:
        """A number that grows with every event of a set, so that what was worked out can be kept until there are more.

        It is how many there are: the largest number would stay where an event is stored after one that has a larger number, which
        two people can bring about.
        """
        with self.db.read() as c:
            return int(c.execute(sa.select(sa.func.count()).select_from(label_events).where(_e.set_id == set_id)).scalar_one())

    def _append(self, c: sa.Connection, annotator_id: str, set_id: str, events: Sequence[NewEvent]) -> Recorded:
        by_uid = {e.new.uid: e for some in _batches([e.uid for e in events]) for e in self._rows(c, _e.uid.in_(some))}
        cases = _Cases(
            e
            for some in _batches([e.case_id for e in events])
            for e in self._rows(c, _e.annotator_id == annotator_id, _e.set_id == set_id, _e.case_id.in_(some))
        )
        stored, known, conflicts = list[Event](), list[Event](), list[Conflict]()
        for new in events:
            there = by_uid.get(new.uid)
            if there is not None and _is_same(there, annotator_id, set_id, new):
                known.append(there)
                continue
            if there is not None and (there.annotator_id, there.set_id) != (annotator_id, set_id):
                conflicts.append(Conflict(new, None))
                continue
            against = there or self._decided_since(c, set_id, new) or cases.against(new)
            if against is not None:
                conflicts.append(Conflict(new, None if against == "nothing there" else against))
                continue
            event = self._insert(c, annotator_id, set_id, cases.numbered(new))
            stored.append(event)
            by_uid[new.uid] = event
            cases.add(event)
        return Recorded(tuple(stored), tuple(known), tuple(conflicts))

    def _decided_since(self, c: sa.Connection, set_id: str, new: NewEvent) -> Event | None:
        """What anybody decided of a case since the person looked who decides now; "seen" is the number of the last decision then."""
        if new.kind != "consensus" or "seen" not in new.payload:
            return None
        self.db.take(c, f"consensus:{set_id}")  # always after the lock of the person, so two can never wait for each other
        found = list(self._rows(c, _e.set_id == set_id, _e.case_id == new.case_id, _e.kind == "consensus"))
        return found[-1] if found and found[-1].number != new.payload["seen"] else None

    def _insert(self, c: sa.Connection, annotator_id: str, set_id: str, new: NewEvent) -> Event:
        at = schema.now()
        row = {k: getattr(new, k) for k in ("uid", "case_id", "seq", "kind", "label", "slot", "guidance_version", "interface_version")}
        row |= {"annotator_id": annotator_id, "set_id": set_id, "payload": dict(new.payload), "at": at}
        number = c.execute(label_events.insert().values(row).returning(_e.number)).scalar_one()
        return Event(annotator_id, set_id, new, at, number)

    def _rows(self, c: sa.Connection, *where: sa.ColumnElement[bool]) -> Iterator[Event]:
        for r in c.execute(sa.select(label_events).where(*where).order_by(_e.number)):
            new = NewEvent(r.uid, r.case_id, r.seq, r.kind, r.label, r.slot, r.payload, r.guidance_version, r.interface_version)
            yield Event(r.annotator_id, r.set_id, new, r.at, r.number)

    def _people(self, c: sa.Connection, *where: sa.ColumnElement[bool]) -> list[Annotator]:
        rows = c.execute(sa.select(annotators).where(*where).order_by(_a.registered_at, _a.id))
        return [Annotator(r.id, r.name, r.experience_years, r.researcher, r.registered_at) for r in rows]

    def _person(self, c: sa.Connection, annotator_id: str) -> Annotator:
        found = self._people(c, _a.id == annotator_id) if is_id(annotator_id) else []
        if not found:
            raise InputError(f'Nobody is registered as "{annotator_id}" in this workspace; register first.')
        return found[0]

    def _known_set(self, c: sa.Connection, set_id: str) -> None:
        if not is_id(set_id) or c.execute(sa.select(case_sets.c.id).where(case_sets.c.id == set_id)).first() is None:
            raise InputError(f'There is no saved case set "{set_id}" in this workspace; choose one from the list.')


_LANES: dict[Kind, str] = {"label": "label", "revoke": "label", "tags": "tags", "consensus": "consensus"}
"""Kinds of events that answer the same question, so that one made before another one was known must not come after it."""


class _Cases:
    """What one annotator did with some cases, while events are added."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._seqs: dict[str, set[int]] = {}
        self._newest: dict[tuple[str, str, str], Event] = {}
        self._labels: dict[tuple[str, str], Event] = {}
        self._judged: dict[str, Event] = {}
        self._decided: dict[str, Event] = {}
        for e in events:
            self.add(e)

    def add(self, event: Event) -> None:
        new = event.new
        self._seqs.setdefault(new.case_id, set()).add(new.seq)
        if new.kind in _LANES:
            self._newest[new.case_id, new.slot, _LANES[new.kind]] = event
        if new.kind == "label":
            self._labels[new.case_id, new.slot] = self._judged[new.case_id] = event
        elif new.kind == "revoke":
            self._labels.pop((new.case_id, new.slot), None)
        elif new.kind == "consensus":
            self._decided[new.case_id] = event

    def numbered(self, new: NewEvent) -> NewEvent:
        """The event under a number that is free."""
        taken = self._seqs.get(new.case_id, set())
        return replace(new, seq=1 + max(taken)) if new.seq in taken else new

    def against(self, new: NewEvent) -> Event | Literal["nothing there"] | None:
        """What stands against an event, None if nothing does."""
        label = self._labels.get((new.case_id, new.slot))
        if new.kind == "revoke":
            if label is not None and _revokes(new, label):
                return None
            return label or self._newest.get((new.case_id, new.slot, "label")) or "nothing there"
        if new.kind == "label" and (there := label or self._decided.get(new.case_id)):
            return there  # whoever decided a case has seen the labels of others and can no longer give one of their own
        if new.kind == "consensus" and (judged := self._judged.get(new.case_id)):
            return judged  # a third person decides, never one of those who labelled
        newest = self._newest.get((new.case_id, new.slot, _LANES.get(new.kind, "")))
        return newest if newest is not None and newest.new.turn >= new.turn else None


def _revokes(new: NewEvent, label: Event) -> bool:
    """Whether a revoke means this label, and not one that another tab put in its place."""
    if "uid" in new.payload:
        return bool(new.payload["uid"] == label.new.uid)
    return bool(new.payload.get("seq") == label.new.seq)


def _is_same(there: Event, annotator_id: str, set_id: str, new: NewEvent) -> bool:
    """Whether an event says what is there under its uid; else a uid was made twice, and to call it known would lose one of them."""
    said, says = ((e.case_id, e.kind, e.label, e.slot) for e in (there.new, new))  # its number may have been changed
    return (there.annotator_id, there.set_id) == (annotator_id, set_id) and said == says


def _batches(keys: Sequence[str]) -> Iterator[list[str]]:
    wanted = list(dict.fromkeys(keys))
    for i in range(0, len(wanted), _MOST):
        yield wanted[i : i + _MOST]


def _check(events: Sequence[NewEvent]) -> None:
    problems: list[Problem] = []
    for i, e in enumerate(events, 1):
        labelled = e.kind in ("label", "consensus")
        rules = [
            ("uid", e.uid, bool(_UID.fullmatch(e.uid)), "8 to 64 letters, digits, - or _"),
            ("case_id", e.case_id[:60], 2 < len(json.dumps(e.case_id)) <= _LONGEST_ID, f"up to {_LONGEST_ID:,} characters"),
            ("seq", e.seq, 1 <= e.seq < 1_000_000, "1 to 999,999"),
            ("kind", e.kind, e.kind in _KINDS, ", ".join(_KINDS)),
            ("label", e.label, e.label in LABELS if labelled else e.label is None, ", ".join(LABELS) if labelled else "none"),
            ("slot", e.slot[:60], bool(_SLOT.fullmatch(e.slot)), "main, repeat, gold, review, training:1, calibration:1 and so on"),
            ("payload", ", ".join(map(str, e.payload))[:60], _fits(e), f"JSON values of up to {_LONGEST_PAYLOAD:,} characters"),
        ]
        problems += [Problem(i, column, str(got), allowed) for column, got, fine, allowed in rules if not fine]
    if problems:
        raise InputError("An event is malformed; nothing was stored.", problems)


def _fits(event: NewEvent) -> bool:
    try:
        return len(json.dumps(dict(event.payload), allow_nan=False)) <= _LONGEST_PAYLOAD
    except (TypeError, ValueError, RecursionError):
        return False
