"""Bring a database to the newest schema, once, whoever comes first; refuse one that is newer than the product."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

import sqlalchemy as sa

from core.errors import InputError
from core.storage.database import BUSY_SECONDS, Database
from core.storage.schema import VERSION_TABLE, metadata

MIGRATIONS = Path(__file__).parent / "migrations"

_one_at_a_time = threading.Lock()
"""Alembic keeps its context in a global, so threads take turns, also over different databases; processes do by the database."""


def known_versions() -> tuple[str, ...]:
    """Versions of the schema that this product knows, oldest first, read off the names of the files."""
    return tuple(sorted(p.name.split("_")[0] for p in (MIGRATIONS / "versions").glob("[0-9]*_*.py")))


def current_version(c: sa.Connection) -> str | None:
    """Version of the schema of a database, None if it holds none."""
    if not sa.inspect(c).has_table(VERSION_TABLE):
        return None
    version: str | None = c.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608 (a constant)
    return version


def migrate(db: Database) -> None:
    """Run the migrations that are missing, all in one transaction: a crash leaves the database as it was.

    Raises:
        InputError: The database was made by a newer version, or holds tables of something else; it is not touched.
    """
    head = known_versions()[-1]
    with _one_at_a_time:
        with db.read() as c:
            version = current_version(c)
            _check(db, c, version)
        if db.is_sqlite:
            _use_wal(db)
        if version == head:
            return
        with db.write(lock="migrations") as c:
            version = current_version(c)  # another process may have been faster
            _check(db, c, version)
            if version != head:
                _upgrade(c)


def _check(db: Database, c: sa.Connection, version: str | None) -> None:
    if version is not None and version not in known_versions():
        raise InputError(
            f'The database "{db.name}" was made by a newer version of Oddyssey (its schema is {version}; this one knows up to '
            f"{known_versions()[-1]}). Nothing was changed. Update Oddyssey, or choose another workspace with ODDYSSEY_HOME."
        )
    if version is None:
        taken = sorted(set(sa.inspect(c).get_table_names()) & set(metadata.tables))
        if taken:
            raise InputError(
                f'The database "{db.name}" holds tables of something else by the names {", ".join(taken)}. Nothing was changed. '
                "Choose an empty database with DATABASE_URL."
            )


def _use_wal(db: Database) -> None:
    """Switch to write-ahead logging, which lasts; the switch itself does not wait for other processes, so try until it works."""
    deadline = time.monotonic() + BUSY_SECONDS
    raw = db.engine.raw_connection()
    try:
        while True:
            try:
                raw.cursor().execute("PRAGMA journal_mode = WAL").close()
                return
            except sqlite3.OperationalError as e:
                busy = e.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                if not busy or time.monotonic() > deadline:
                    raise InputError(f'The database "{db.name}" cannot be written: {e}.') from e
                time.sleep(0.02)
    finally:
        raw.close()


def _upgrade(c: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = c
    command.upgrade(config, "head")
