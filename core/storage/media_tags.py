"""What models said of media: one record for each thing asked, never changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from core.odd import Odd
from core.storage import schema
from core.storage.database import Database
from core.storage.odds import Odds
from core.storage.schema_verification import media_tags
from core.storage.verification_records import TagRecord

_t = media_tags.c
_MOST = 500
"""Parameters in one query."""


@dataclass(frozen=True, eq=False)
class MediaTags:
    """The tags of the workspace."""

    db: Database
    odds: Odds

    def add(self, records: Iterable[TagRecord], odd: Odd) -> int:
        """Keep records; one whose key is there already is left as it is. Returns how many were added."""
        at = schema.now()
        wanted = {r.key: r for r in reversed(tuple(records))}  # the first of a key counts
        with self.db.write(lock="media_tags") as c:
            self.odds.put_within(c, odd)
            known = {r.key for r in self._within(c, _t.key, wanted)}
            rows = [{**vars(r), "at": at} for r in reversed(wanted.values()) if r.key not in known]
            if rows:
                c.execute(media_tags.insert(), rows)
        return len(rows)

    def get(self, keys: Collection[str]) -> dict[str, TagRecord]:
        """The records of some keys, as far as they are there."""
        return {r.key: r for r in self._all(_t.key, keys)}

    def about(self, media: Collection[str]) -> tuple[TagRecord, ...]:
        """Everything that was said of some media, the oldest first."""
        return self._all(_t.media, media)

    def list(self, most: int = 100_000) -> tuple[TagRecord, ...]:
        """The newest records, the newest first."""
        with self.db.read() as c:
            rows = c.execute(sa.select(media_tags).order_by(_t.seq.desc()).limit(most)).all()
        return tuple(_record(r) for r in rows)

    def _all(self, column: sa.ColumnElement[str], values: Collection[str]) -> tuple[TagRecord, ...]:
        with self.db.read() as c:
            return self._within(c, column, values)

    def _within(self, c: sa.Connection, column: sa.ColumnElement[str], values: Collection[str]) -> tuple[TagRecord, ...]:
        wanted = sorted(set(values))
        found: list[Any] = []
        for i in range(0, len(wanted), _MOST):
            found += c.execute(sa.select(media_tags).where(column.in_(wanted[i : i + _MOST]))).all()
        return tuple(_record(r) for r in sorted(found, key=lambda r: r.seq))


def _record(r: Any) -> TagRecord:
    return TagRecord(r.key, r.media, r.odd_hash, r.model, r.prompt_sha, r.content, r.at)
