"""Records with a name that people give: renamed, put into the bin and taken out of it again, each step kept as an event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Generic, Literal, Protocol, TypeVar

import sqlalchemy as sa

from core.errors import InputError
from core.storage import schema
from core.storage.database import Database
from core.storage.ids import is_id
from core.storage.names import clean, folded, free, refuse_taken

EventKind = Literal["created", "renamed", "deleted", "restored"]


class Named(Protocol):
    """What is known of a record without reading its content."""

    @property
    def id(self) -> str:
        """Eight hex digits."""
        ...

    @property
    def name(self) -> str:
        """Its present name, unique among the records that are not deleted."""
        ...

    @property
    def deleted(self) -> bool:
        """Whether it lies in the bin."""
        ...


class WithDigest(Named, Protocol):
    """A record that is also known by the digest of its content."""

    @property
    def digest(self) -> str:
        """Of its content."""
        ...


Saved = TypeVar("Saved", bound=Named)
Digested = TypeVar("Digested", bound=WithDigest)


@dataclass(frozen=True)
class NamedEvent:
    """One thing done to a record as a whole.

    Attributes:
        record_id: Id of the record.
        kind: What was done.
        name: Name of the record afterwards.
        who: Who did it, "" if not known.
        at: UTC.
    """

    record_id: str
    kind: EventKind
    name: str
    who: str
    at: datetime


@dataclass(frozen=True, eq=False)
class NamedRecords(ABC, Generic[Saved]):
    """Records whose names, and whether they are deleted, stand in a table of events.

    Attributes:
        db: Where they lie.
        noun: What one is called in messages.
        lock: Name of the lock under which they are written.
        table: The records; its column `id` names one.
        events_table: The events, with columns seq, kind, name, who, at.
        event_key: Column of the events that holds the id of the record.
    """

    db: Database
    noun: ClassVar[str]
    lock: ClassVar[str]
    table: ClassVar[sa.Table]
    events_table: ClassVar[sa.Table]
    event_key: ClassVar[str]

    @abstractmethod
    def _all(self, c: sa.Connection, where: sa.ColumnElement[bool] | None = None) -> tuple[Saved, ...]:
        """The records, deleted ones too, the one saved last first."""

    def get(self, record_id: str) -> Saved:
        """A record without its content; also a deleted one.

        Raises:
            InputError: There is no such record.
        """
        with self.db.read() as c:
            return self._get(c, record_id)

    def list(self, include_deleted: bool = False) -> tuple[Saved, ...]:
        """The records, the one saved last first."""
        with self.db.read() as c:
            return tuple(x for x in self._all(c) if include_deleted or not x.deleted)

    def rename(self, record_id: str, name: str, who: str = "") -> Saved:
        """Give a record another name; the name that it has already changes nothing.

        Raises:
            InputError: The name cannot be used, or there is no such record, or it is deleted.
        """
        name = clean(name, self.noun)
        with self.db.write(lock=self.lock) as c:
            saved = self._get(c, record_id)
            if saved.deleted:
                raise InputError(f'The {self.noun} "{saved.name}" is deleted; restore it before you rename it.')
            if name != saved.name:
                refuse_taken(name, self._names(c, but=record_id), self.noun)
                self._append(c, record_id, "renamed", name, who, schema.now())
            return self._get(c, record_id)

    def delete(self, record_id: str, who: str = "") -> Saved:
        """Put a record into the bin, where it stays; one that lies there already is left as it is.

        Raises:
            InputError: There is no such record.
        """
        with self.db.write(lock=self.lock) as c:
            saved = self._get(c, record_id)
            if not saved.deleted:
                self._append(c, record_id, "deleted", saved.name, who, schema.now())
            return self._get(c, record_id)

    def restore(self, record_id: str, name: str | None = None, who: str = "") -> Saved:
        """Take a record out of the bin; one that does not lie there is left as it is.

        Args:
            record_id: Of the record.
            name: Name for it from now on, if its own has been taken meanwhile.
            who: Who does it.

        Raises:
            InputError: Its name has been taken (a free one is suggested), or there is no such record.
        """
        with self.db.write(lock=self.lock) as c:
            saved = self._get(c, record_id)
            if saved.deleted:
                name = saved.name if name is None else clean(name, self.noun)
                refuse_taken(name, self._names(c, but=record_id), self.noun)
                self._append(c, record_id, "restored", name, who, schema.now())
            return self._get(c, record_id)

    def events(self, record_id: str) -> tuple[NamedEvent, ...]:
        """Everything that was done to a record as a whole, the oldest first.

        Raises:
            InputError: There is no such record.
        """
        e = self.events_table.c
        with self.db.read() as c:
            self._get(c, record_id)
            rows = c.execute(sa.select(e.kind, e.name, e.who, e.at).where(e[self.event_key] == record_id).order_by(e.seq)).all()
        return tuple(NamedEvent(record_id, r.kind, r.name, r.who, r.at) for r in rows)

    def free_name(self, name: str) -> str:
        """The name itself if no record has it, else the name with the first free number."""
        with self.db.read() as c:
            return free(clean(name, self.noun), self._names(c, but=""))

    def _append(self, c: sa.Connection, record_id: str, kind: EventKind, name: str, who: str, at: datetime) -> None:
        row = {self.event_key: record_id, "kind": kind, "name": name, "who": who, "at": at}
        c.execute(self.events_table.insert().values(row))

    def _newest(self) -> sa.Select[tuple[int]]:
        """The last event of each record, by its number."""
        e = self.events_table.c
        return sa.select(sa.func.max(e.seq)).group_by(e[self.event_key])

    def _get(self, c: sa.Connection, record_id: str) -> Saved:
        found = self._all(c, self.table.c.id == record_id) if is_id(record_id) else ()
        if not found:
            raise InputError(f'There is no saved {self.noun} "{record_id}" in this workspace; choose one from the list.')
        return found[0]

    def _names(self, c: sa.Connection, but: str) -> set[str]:
        """Folded names of the living records but one."""
        return {folded(x.name) for x in self._all(c) if not x.deleted and x.id != but}


@dataclass(frozen=True, eq=False)
class DigestedRecords(NamedRecords[Digested]):
    """Named records that a digest names as well."""

    def find(self, which: str) -> Digested | None:
        """The record of an id, a name or a digest, the living and newest first; None if there is none."""
        with self.db.read() as c:
            found = [x for x in self._all(c) if which in (x.id, x.digest) or (not x.deleted and folded(which) == folded(x.name))]
        return min(found, key=lambda x: x.deleted, default=None)
