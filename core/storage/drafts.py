"""Unfinished imports, every version kept, so that a closed tab or a lost connection loses nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.errors import ConflictError, InputError
from core.storage import schema
from core.storage.database import Database
from core.storage.ids import is_id, new_id

_t = schema.drafts.c


@dataclass(frozen=True)
class Draft:
    """One version of an unfinished import.

    Attributes:
        id: Of the draft.
        version: 1 for the first.
        upload_sha: SHA-256 of the file that is being imported.
        decisions: What the user has decided so far, JSON-ready.
        closed: Whether the import was finished or given up.
        saved_at: UTC.
    """

    id: str
    version: int
    upload_sha: str
    decisions: dict[str, Any]
    closed: bool
    saved_at: datetime


@dataclass(frozen=True, eq=False)
class Drafts:
    """The unfinished imports of the workspace."""

    db: Database

    def new_id(self) -> str:
        """An id that no draft has."""
        with self.db.read() as c:
            return new_id(c, _t.draft_id)

    def save(self, draft_id: str, upload_sha: str, decisions: dict[str, Any], expected_version: int) -> int:
        """Append a version.

        Args:
            draft_id: From `new_id`.
            upload_sha: SHA-256 of an uploaded file.
            decisions: JSON-ready.
            expected_version: The version that the caller has seen, 0 for a new draft.

        Returns:
            The new version.

        Raises:
            ConflictError: Another tab saved or closed the draft since; nothing was changed.
            InputError: The file was never uploaded, or the id cannot be one.
        """
        if not is_id(draft_id):
            raise InputError(f'"{draft_id}" cannot be the id of an import; allowed: up to 64 letters, digits, - and _.')
        with self.db.write(lock=f"draft:{draft_id}") as c:
            found = _last(c, draft_id)
            version = found.version if found else 0
            if found and found.closed and version >= expected_version:
                raise ConflictError(f"This import was finished or closed at {_clock(found)}. Start again from the file, or reopen it.")
            if version != expected_version:
                at = f" at {_clock(found)}" if found else ""
                raise ConflictError(
                    f"This import was changed in another tab{at} (version {version}; this tab has seen {expected_version}). "
                    "Nothing was overwritten; load the newest version."
                )
            known = c.execute(sa.select(schema.files.c.sha256).where(schema.files.c.sha256 == upload_sha)).first()
            if known is None:
                raise InputError(f"The file {upload_sha[:12]} of this import was never uploaded; upload it first.")
            return _append(c, draft_id, version + 1, upload_sha, decisions, closed=False)

    def latest(self, draft_id: str) -> Draft | None:
        """The newest version, None if there is no such draft."""
        with self.db.read() as c:
            return _last(c, draft_id)

    def history(self, draft_id: str) -> tuple[Draft, ...]:
        """Every version, the oldest first."""
        with self.db.read() as c:
            query = sa.select(schema.drafts).where(_t.draft_id == draft_id).order_by(_t.version)
            return tuple(_draft(r) for r in c.execute(query)) if is_id(draft_id) else ()

    def open(self) -> tuple[Draft, ...]:
        """The newest version of each draft that is not closed, the most recently saved first."""
        newest = sa.select(_t.draft_id, sa.func.max(_t.version).label("version")).group_by(_t.draft_id).subquery()
        query = (
            sa.select(schema.drafts)
            .join(newest, sa.and_(_t.draft_id == newest.c.draft_id, _t.version == newest.c.version))
            .where(_t.closed.is_(False))
            .order_by(_t.saved_at.desc(), _t.draft_id)
        )
        with self.db.read() as c:
            return tuple(_draft(r) for r in c.execute(query))

    def close(self, draft_id: str) -> None:
        """Append that the import is finished or given up; on a closed draft nothing happens."""
        self._set_closed(draft_id, True)

    def reopen(self, draft_id: str) -> None:
        """Undo `close`; on an open draft nothing happens."""
        self._set_closed(draft_id, False)

    def _set_closed(self, draft_id: str, closed: bool) -> None:
        with self.db.write(lock=f"draft:{draft_id}") as c:
            found = _last(c, draft_id)
            if found is None:
                raise InputError(f'There is no unfinished import "{draft_id}".')
            if found.closed != closed:
                _append(c, draft_id, found.version + 1, found.upload_sha, found.decisions, closed)


def _clock(draft: Draft) -> str:
    return f"{draft.saved_at:%H:%M:%S} UTC"


def _append(c: sa.Connection, draft_id: str, version: int, sha: str, decisions: dict[str, Any], closed: bool) -> int:
    row = {"draft_id": draft_id, "version": version, "upload_sha": sha, "decisions": decisions, "closed": closed, "saved_at": schema.now()}
    c.execute(schema.drafts.insert().values(row))
    return version


def _last(c: sa.Connection, draft_id: str) -> Draft | None:
    if not is_id(draft_id):
        return None
    row = c.execute(sa.select(schema.drafts).where(_t.draft_id == draft_id).order_by(_t.version.desc()).limit(1)).first()
    return None if row is None else _draft(row)


def _draft(row: sa.Row[Any]) -> Draft:
    return Draft(row.draft_id, row.version, row.upload_sha, row.decisions, row.closed, row.saved_at)
