"""Runs of the controller: who asked what, where the record lies, and every state that the run was in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from core.errors import InputError
from core.storage import schema
from core.storage.database import Database
from core.storage.ids import is_id, new_id
from core.storage.schema_runs import run_events, runs

_r, _e = runs.c, run_events.c


@dataclass(frozen=True)
class SavedRun:
    """What is known of a run.

    Attributes:
        id: Eight hex digits.
        who: Who asked, "" if not told.
        query: The question.
        table_id: Saved table that it is about, None if it came from a file.
        folder: Its record: relative to the folder of runs, or a whole path.
        created_at: UTC.
        state: Its newest state, as the executor wrote it.
        changed_at: Time of that state, UTC.
    """

    id: str
    who: str
    query: str
    table_id: str | None
    folder: str
    created_at: datetime
    state: dict[str, Any]
    changed_at: datetime


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of the workspace.

    Attributes:
        db: Where they are listed.
        home: Folder of their records.
    """

    db: Database
    home: Path

    def begin(self, query: str, who: str = "", table_id: str | None = None, folder: str = "") -> SavedRun:
        """Take note of a question before anything is done about it.

        Args:
            query: The question.
            who: Who asks.
            table_id: Saved table that it is about.
            folder: Of its record, "" for one of its own in the folder of runs.
        """
        at = schema.now()
        with self.db.write(lock="runs") as c:
            run_id = new_id(c, _r.id)
            row = {"id": run_id, "who": who, "query": query, "table_id": table_id, "folder": folder or run_id, "created_at": at}
            c.execute(runs.insert().values(row))
            c.execute(run_events.insert().values(run_id=run_id, kind="begun", state={}, at=at))
        return self.get(run_id)

    def note(self, run_id: str, kind: str, state: dict[str, Any]) -> None:
        """Add a state."""
        with self.db.write() as c:
            c.execute(run_events.insert().values(run_id=run_id, kind=kind, state=state, at=schema.now()))

    def get(self, run_id: str) -> SavedRun:
        """A run.

        Raises:
            InputError: There is none of this id.
        """
        found = self._all(_r.id == run_id) if is_id(run_id) else ()
        if not found:
            raise InputError(f'There is no run "{run_id}" in this workspace; choose one from the list.')
        return found[0]

    def list(self, who: str | None = None, most: int = 200) -> tuple[SavedRun, ...]:
        """The newest runs first, of everybody or of one person."""
        runs = self._all(sa.true(), most=None if who is not None else most)
        return tuple(r for r in runs if who is None or r.who == who)[:most]

    def path(self, run: SavedRun) -> Path:
        """Where the record of a run lies."""
        return self.home / run.folder  # a whole path stays as it is

    def _all(self, where: sa.ColumnElement[bool], most: int | None = None) -> tuple[SavedRun, ...]:
        newest = sa.select(sa.func.max(_e.seq)).group_by(_e.run_id)
        query = sa.select(runs, _e.state, _e.at).join_from(runs, run_events).where(_e.seq.in_(newest), where)
        with self.db.read() as c:
            rows = c.execute(query.order_by(_r.created_at.desc(), _r.id).limit(most)).all()
        return tuple(SavedRun(r.id, r.who, r.query, r.table_id, r.folder, r.created_at, r.state, r.at) for r in rows)
