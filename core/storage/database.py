"""One engine for many threads, short transactions, and database troubles told in words.

Reads see one consistent snapshot. Writes that first look and then insert take a named lock: SQLite has one writer at a time
anyway (BEGIN IMMEDIATE takes its place at once, so a read never has to be upgraded and fail), PostgreSQL uses an advisory lock
that ends with the transaction.

What can be computed or imported again survives the end of a process, not always that of the machine (SQLite's synchronous=NORMAL).
A durable write survives both: it is on the disk before the transaction ends.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError

from core.errors import InputError, MissingPackageError
from core.settings import Settings

BUSY_SECONDS = 30
"""How long a writer waits for its turn."""

_WRITE = "oddyssey_write"
_DURABLE = "oddyssey_durable"
_SYNCHRONOUS = "oddyssey_synchronous"
"""Key under which a connection to SQLite remembers what it is set to."""
_ALLOWED = "sqlite:///path/to/file.db, or postgresql://user:password@host/database"


@dataclass(frozen=True, eq=False)
class Database:
    """An engine with the two ways to use it.

    Attributes:
        engine: Shared by all threads of the process.
        turn: Held by the thread that writes to SQLite. Those that wait here go on at once; those that wait for the file look again after
            ever longer pauses.
    """

    engine: sa.Engine
    turn: threading.RLock = field(default_factory=threading.RLock)

    @property
    def is_sqlite(self) -> bool:
        """Whether the back end is SQLite."""
        return self.engine.dialect.name == "sqlite"

    @property
    def name(self) -> str:
        """The database in words, without its password."""
        if self.is_sqlite:
            return str(self.engine.url.database)
        return self.engine.url.set(query={}).render_as_string(hide_password=True)  # a query may hold a password too

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A connection inside a transaction that only reads.

        Raises:
            InputError: The database cannot be used (file damaged, server gone).
        """
        with self._told(["read"]), self.engine.connect() as c, c.begin():
            yield c

    @contextmanager
    def write(self, lock: str = "", *, durable: bool = False) -> Iterator[sa.Connection]:
        """A connection inside a transaction that is committed at the end, or rolled back if anything is raised.

        Args:
            lock: Name of what must not be changed by two at once; "" if a single insert needs no look before it.
            durable: Whether it must be on the disk when this ends, so that even a power cut leaves it there.

        Raises:
            InputError: The database cannot be used (disk full, file read-only, another writer for too long).
        """
        turn = self.turn if self.is_sqlite else nullcontext()
        deed = ["written; nothing of this change was saved"]
        with self._told(deed), turn, self.engine.connect() as c:
            c = c.execution_options(**{_WRITE: True, _DURABLE: durable})
            with c.begin():
                if durable and not self.is_sqlite:
                    c.exec_driver_sql("SET LOCAL synchronous_commit = on")  # whatever the server or the database is set to
                if lock:
                    self.take(c, lock)
                yield c
                if not self.is_sqlite:  # a server that goes away now may have written it, and could not say so any more
                    deed[0] = "reached; it is not known whether this change was saved"

    def take(self, c: sa.Connection, lock: str) -> None:
        """Take a further lock until the end of the transaction."""
        if not self.is_sqlite:
            c.execute(sa.select(sa.func.pg_advisory_xact_lock(_lock_number(lock))))

    def add_if_absent(self, c: sa.Connection, table: sa.Table, row: Mapping[str, Any]) -> bool:
        """Insert a row unless one with its key is there already; True if it was inserted."""
        insert = sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)
        return c.execute(insert.values(dict(row)).on_conflict_do_nothing()).rowcount == 1

    def add_all_if_absent(self, c: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert the rows whose keys are not there yet."""
        insert = sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)
        c.execute(insert.on_conflict_do_nothing(), [dict(r) for r in rows])

    @contextmanager
    def _told(self, deed: Sequence[str]) -> Iterator[None]:
        try:
            yield
        except (DatabaseError, sqlite3.Error) as e:  # the second from the pragmas of a new connection
            if (why := _trouble(e.orig if isinstance(e, DatabaseError) else e)) is None:
                raise
            raise InputError(f'The database "{self.name}" cannot be {deed[0]}: {why}.') from e


def make_database(settings: Settings) -> Database:
    """The database of the settings; nothing is opened yet.

    Raises:
        InputError: The URL is no URL, names another kind of database, or a SQLite one that lives in memory.
        MissingPackageError: The driver of PostgreSQL is not installed.
    """
    url = _url(settings)
    if url.get_backend_name() == "sqlite":
        engine = sa.create_engine(url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})
        sa.event.listen(engine, "connect", _set_up_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        return Database(engine)
    try:
        return Database(sa.create_engine(url, pool_size=10, max_overflow=20, pool_pre_ping=True))
    except ModuleNotFoundError as e:
        raise MissingPackageError('PostgreSQL needs the package psycopg: pip install "psycopg[binary]".') from e


def _url(settings: Settings) -> sa.URL:
    if settings.database_url == f"sqlite:///{settings.home / 'oddyssey.db'}":
        return sa.URL.create("sqlite", database=str(settings.home / "oddyssey.db"))  # a path may hold "?", which a URL may not
    try:
        url = sa.make_url(settings.database_url)
        kind = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError) as e:
        raise InputError(f"DATABASE_URL cannot be read as a URL; allowed: {_ALLOWED}.") from e
    if kind in ("postgres", "postgresql"):
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise InputError(f'DATABASE_URL: got a database of the kind "{kind}"; allowed: {_ALLOWED}.')
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise InputError(f"DATABASE_URL: a database in memory would lose everything at the end; allowed: {_ALLOWED}.")
    return url.set(database=str(Path(url.database).expanduser().resolve()))


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver's own way to begin transactions leaves DDL and reads outside them
    cursor = connection.cursor()
    for pragma in (f"busy_timeout = {BUSY_SECONDS * 1000}", "foreign_keys = ON", "synchronous = NORMAL"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    options = connection.get_execution_options()
    level = "FULL" if options.get(_DURABLE) else "NORMAL"
    if connection.info.get(_SYNCHRONOUS, "NORMAL") != level:  # refused inside a transaction, so it has to be before BEGIN
        connection.exec_driver_sql(f"PRAGMA synchronous = {level}")
        connection.info[_SYNCHRONOUS] = level
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(_WRITE) else "BEGIN")


def _lock_number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"oddyssey:{name}".encode()).digest()[:8], signed=True)


_SQLITE_TROUBLES = {
    sqlite3.SQLITE_BUSY: f"another process has been writing to it for more than {BUSY_SECONDS} s; try again",
    sqlite3.SQLITE_LOCKED: "it is locked; try again",
    sqlite3.SQLITE_READONLY: "it may only be read; make the file and its folder writable",
    sqlite3.SQLITE_IOERR: "the disk gives errors",
    sqlite3.SQLITE_FULL: "the disk is full; free some space and try again",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; check that the folder exists and may be written",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; put a backup in its place",
    sqlite3.SQLITE_NOTADB: "the file is not a SQLite database; name another one, or move it away",
}


def _trouble(cause: BaseException | None) -> str | None:
    """What is wrong around the database, in words; None if the statement itself is wrong, which is a bug."""
    if isinstance(cause, sqlite3.Error):
        code: int = getattr(cause, "sqlite_errorcode", 0)
        return _SQLITE_TROUBLES.get(code & 0xFF)  # the low byte is the kind, the rest refines it
    state = getattr(cause, "sqlstate", None)
    if type(cause).__name__ == "OperationalError" or str(state)[:2] in ("08", "28", "53", "57", "58"):
        lines = str(cause).strip().splitlines()
        return lines[0].rstrip(".") if lines else "the server does not answer"
    return None
