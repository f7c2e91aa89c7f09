"""Saved seed tables: their slices never change, and what is done to them is a list of events, so that everything can be undone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.errors import InputError
from core.seed_table.table import SeedTable
from core.storage import schema
from core.storage.ids import new_id
from core.storage.named import NamedRecords
from core.storage.names import clean, refuse_taken
from core.storage.odds import Odds
from core.storage.slices import pack, unpack

_t, _e = schema.seed_tables.c, schema.seed_table_events.c
_SUMMARY = [c for c in _t if c.name not in ("data", "decisions", "report")]


@dataclass(frozen=True)
class SavedTable:
    """What is known of a saved table without reading its slices.

    Attributes:
        id: Eight hex digits.
        name: Its present name, unique among the tables that are not deleted.
        digest: `SeedTable.digest` when it was saved.
        odd_hash: Hash of its ODD.
        upload_sha: SHA-256 of the file that it came from, None if from none.
        model: Model that was tested, "" if not told.
        synthetic: Whether the results are made up (the demo), which every screen says.
        n_assumed: Whether the counts were named by the user.
        rows: Number of slices.
        total: Samples over all slices.
        created_at: UTC.
        changed_at: Time of the last event, UTC.
        deleted: Whether it lies in the bin.
    """

    id: str
    name: str
    digest: str
    odd_hash: str
    upload_sha: str | None
    model: str
    synthetic: bool
    n_assumed: bool
    rows: int
    total: int
    created_at: datetime
    changed_at: datetime
    deleted: bool


@dataclass(frozen=True)
class Provenance:
    """How a table was made.

    Attributes:
        decisions: The choices of the import, as saved.
        report: The report of the check, as saved.
    """

    decisions: dict[str, Any]
    report: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Tables(NamedRecords[SavedTable]):
    """The seed tables of the workspace."""

    odds: Odds
    noun = "table"
    lock = "seed_tables"
    table = schema.seed_tables
    events_table = schema.seed_table_events
    event_key = "table_id"

    def save(
        self,
        name: str,
        table: SeedTable,
        *,
        upload_sha: str | None,
        decisions: dict[str, Any],
        report: dict[str, Any],
        model: str,
        synthetic: bool,
        who: str = "",
    ) -> SavedTable:
        """Keep a table with its ODD and its provenance, all or nothing.

        Raises:
            InputError: The name is empty, too long or taken (a free one is suggested), the file was never uploaded, or the ODD
                would not read back the same.
        """
        name, data, at = clean(name, self.noun), pack(table), schema.now()
        with self.db.write(lock=self.lock) as c:
            refuse_taken(name, self._names(c, but=""), self.noun)
            if upload_sha is not None and not c.execute(sa.select(schema.files.c.size).where(schema.files.c.sha256 == upload_sha)).first():
                raise InputError(f"The file {upload_sha[:12]} of this table was never uploaded; upload it first.")
            table_id = new_id(c, _t.id)
            row = {
                "id": table_id,
                "digest": table.digest,
                "odd_hash": self.odds.put_within(c, table.odd),
                "odd_source": table.odd.source,
                "upload_sha": upload_sha,
                "model": model,
                "synthetic": synthetic,
                "n_assumed": table.n_assumed,
                "rows": len(table.n),
                "total": table.total,
                "decisions": decisions,
                "report": report,
                "data": data,
                "created_at": at,
            }
            c.execute(schema.seed_tables.insert().values(row))
            self._append(c, table_id, "created", name, who, at)
            return self._get(c, table_id)

    def load(self, table_id: str) -> SeedTable:
        """The slices of a table, with its own ODD; also of a deleted one.

        Raises:
            InputError: There is no such table, or it no longer has its digest.
        """
        with self.db.read() as c:
            saved = self._get(c, table_id)
            row = c.execute(sa.select(_t.data, _t.odd_source).where(_t.id == table_id)).one()
        odd = self.odds.get(saved.odd_hash, row.odd_source)
        try:
            table = unpack(row.data, odd, saved.n_assumed)
            cause = f"its content has the digest {table.digest[:12]}"
        except ValueError as e:
            table, cause = None, str(e)
        if table is None or table.digest != saved.digest:
            raise InputError(
                f'The saved table "{saved.name}" ({saved.id}) is damaged: it was saved with the digest {saved.digest[:12]}, but {cause}. '
                "Nothing was computed from it. Restore a backup, or import its file again."
            )
        return table

    def provenance(self, table_id: str) -> Provenance:
        """How a table was made.

        Raises:
            InputError: There is no such table.
        """
        with self.db.read() as c:
            self._get(c, table_id)
            row = c.execute(sa.select(_t.decisions, _t.report).where(_t.id == table_id)).one()
        return Provenance(row.decisions, row.report)

    def _all(self, c: sa.Connection, where: sa.ColumnElement[bool] | None = None) -> tuple[SavedTable, ...]:
        query = (
            sa.select(*_SUMMARY, _e.kind, _e.name, _e.at)
            .join_from(schema.seed_tables, schema.seed_table_events)
            .where(_e.seq.in_(self._newest()), sa.true() if where is None else where)
            .order_by(_t.created_at.desc(), _t.id)
        )
        return tuple(
            SavedTable(
                id=r.id,
                name=r.name,
                digest=r.digest,
                odd_hash=r.odd_hash,
                upload_sha=r.upload_sha,
                model=r.model,
                synthetic=r.synthetic,
                n_assumed=r.n_assumed,
                rows=r.rows,
                total=r.total,
                created_at=r.created_at,
                changed_at=r.at,
                deleted=r.kind == "deleted",
            )
            for r in c.execute(query)
        )
