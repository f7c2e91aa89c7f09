"""Saved seed tables: imported slices that never change, and lists of events that can be undone: names, results counted in since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.errors import InputError
from core.odd import Odd
from core.seed_table.table import SeedTable
from core.storage import schema
from core.storage.evaluation import LOCK, ResultRow, check_run_id, last_seq, newest_rows
from core.storage.growth import (
    Evidence,
    TableVersion,
    VersionKind,
    evidence,
    grown,
    living,
    model_of,
    refuse_other_model,
    versions_by_table,
    versions_of,
)
from core.storage.ids import new_id
from core.storage.named import NamedRecords
from core.storage.names import clean, refuse_taken
from core.storage.odds import Odds
from core.storage.schema_evaluation import evaluation_results, evaluations, seed_table_versions
from core.storage.slices import pack, unpack

_t, _e = schema.seed_tables.c, schema.seed_table_events.c
_SUMMARY = [c for c in _t if c.name not in ("data", "decisions", "report")]


@dataclass(frozen=True)
class SavedTable:
    """What is known of a saved table without reading its slices.

    Attributes:
        id: Eight hex digits.
        name: Its present name, unique among the tables that are not deleted.
        digest: `SeedTable.digest` of what `load` gives.
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
        base_digest: Digest of the imported slices alone.
        version: Number of its newest version, 0 as it was imported.
        runs: Runs whose results are counted in.
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
    base_digest: str = ""
    version: int = 0
    runs: tuple[str, ...] = ()


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

    def load(self, table_id: str, version: int | None = None) -> SeedTable:
        """The slices of a table with the results counted into it, with its own ODD; also of a deleted one.

        Args:
            table_id: Of the table.
            version: Number of a version of it; 0 is the table as it was imported, None the newest.

        Raises:
            InputError: There is no such table or version, or it no longer has its digest.
        """
        with self.db.read() as c:
            saved = self._get(c, table_id)
            versions = versions_of(c, table_id, version)
            if version and (not versions or versions[-1].seq != version):
                raise InputError(f'The table "{saved.name}" has no version {version}.')
            base = self._base(c, saved)
            if not versions:
                return base
            table = grown(base, evidence(c, base.odd, living(versions), versions[-1].results_seq))
        if table.digest != versions[-1].digest:
            raise InputError(
                f'The results of the table "{saved.name}" ({saved.id}) are damaged: they should give the digest '
                f"{versions[-1].digest[:12]}, but give {table.digest[:12]}. Nothing was computed from them. Restore a backup."
            )
        return table

    def versions(self, table_id: str) -> tuple[TableVersion, ...]:
        """How a table grew, the oldest step first; none if nothing was ever counted in.

        Raises:
            InputError: There is no such table.
        """
        with self.db.read() as c:
            self._get(c, table_id)
            return tuple(versions_of(c, table_id))

    def evidence(self, table_id: str, run_id: str, partial: bool = False) -> Evidence:
        """What counting a run into a table would do; nothing is written.

        Raises:
            InputError: There is no such table.
        """
        with self.db.read() as c:
            base = self._base(c, self._get(c, table_id))
            return evidence(c, base.odd, living(versions_of(c, table_id)) | {run_id: partial}, last_seq(c))

    def evidence_for(self, odd: Odd, runs: Mapping[str, bool]) -> Evidence:
        """What runs say about the slices of an ODD, each with whether partly known slices count."""
        with self.db.read() as c:
            return evidence(c, odd, runs, last_seq(c))

    def count_run(self, table_id: str, run_id: str, *, partial: bool = False, who: str = "") -> SavedTable:
        """Count the scored results of a run into a table; one that counts already is brought up to its newest results.

        Args:
            table_id: Of the table.
            run_id: Of the run.
            partial: Whether results also count whose slice is not fully known, as long as nothing contradicts it.
            who: Who does it.

        Raises:
            InputError: There is no such table or run, the table is deleted, or its results are of another model.
        """
        with self.db.write(lock=self.lock) as c:
            saved = self._get(c, table_id)
            if saved.deleted:
                raise InputError(f'The table "{saved.name}" is deleted; restore it before you count results into it.')
            model = _model_of_run(c, run_id)
            refuse_other_model(saved.name, saved.model, model)
            return self._step(c, saved, "counted", run_id, partial, model, who)

    def undo_run(self, run_id: str, *, table_id: str | None = None, who: str = "") -> tuple[SavedTable, ...]:
        """Take the results of a run out of the tables that they are counted into, or out of one of them; the rows are kept.

        Raises:
            InputError: The run is not counted into any.
        """
        with self.db.write(lock=self.lock) as c:
            found = [t for t in self._holding(c, run_id) if table_id in (None, t.id)]
            if not found:
                raise InputError(f"The run {run_id} is not counted into {'any table' if table_id is None else 'this table'}.")
            return tuple(self._step(c, t, "undone", run_id, False, t.model, who) for t in found)

    def correct(self, row: ResultRow) -> tuple[SavedTable, ...]:
        """Append a person's word on a result, and a version to each table that the run is counted into, all or nothing.

        Returns:
            Those tables.

        Raises:
            InputError: The run has no such sample, or a later word on it was given meanwhile.
        """
        with self.db.write(lock=self.lock) as c:
            self.db.take(c, LOCK)
            known = [r for r in newest_rows(c, [row.run_id]) if r.item_id == row.item_id]
            if not known or known[0].version != row.version - 1:
                raise InputError(f"The result of the sample {row.item_id} was corrected meanwhile, or there is none; look at it again.")
            c.execute(evaluation_results.insert().values(row.row()))
            return tuple(self._step(c, t, "corrected", row.run_id, False, t.model, row.who) for t in self._holding(c, row.run_id))

    def _holding(self, c: sa.Connection, run_id: str) -> list[SavedTable]:
        return [t for t in self._all(c) if run_id in t.runs]

    def _step(self, c: sa.Connection, saved: SavedTable, kind: VersionKind, run_id: str, partial: bool, model: str, who: str) -> SavedTable:
        """Append a version unless it would say what the newest says already."""
        self.db.take(c, LOCK)
        past = versions_of(c, saved.id)
        runs = living(past)
        if kind == "counted":
            runs[run_id] = partial
        elif kind == "undone":
            runs.pop(run_id, None)
        base, up_to = self._base(c, saved), last_seq(c)
        found = evidence(c, base.odd, runs, up_to)
        table = grown(base, found)
        if kind == "counted" and run_id in saved.runs and table.digest == saved.digest and living(past) == runs:
            return saved
        report = {"counted": found.counted.get(run_id, 0), "left_out": dict(found.left_out.get(run_id, {}))}
        row = {"kind": kind, "run_id": run_id, "partial": runs.get(run_id, False), "results_seq": up_to, "digest": table.digest}
        row |= {"rows": len(table.n), "total": table.total, "model": model, "report": report, "who": who, "at": schema.now()}
        c.execute(seed_table_versions.insert().values(row | {"table_id": saved.id}))
        return self._get(c, saved.id)

    def _base(self, c: sa.Connection, saved: SavedTable) -> SeedTable:
        """The slices as they were imported.

        Raises:
            InputError: They no longer have their digest.
        """
        row = c.execute(sa.select(_t.data, _t.odd_source).where(_t.id == saved.id)).one()
        odd = self.odds.get_within(c, saved.odd_hash, row.odd_source)
        try:
            table = unpack(row.data, odd, saved.n_assumed)
            cause = f"its content has the digest {table.digest[:12]}"
        except ValueError as e:
            table, cause = None, str(e)
        if table is None or table.digest != saved.base_digest:
            raise InputError(
                f'The saved table "{saved.name}" ({saved.id}) is damaged: it was saved with the digest {saved.base_digest[:12]}, but '
                f"{cause}. Nothing was computed from it. Restore a backup, or import its file again."
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
        imported = tuple(
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
                base_digest=r.digest,
            )
            for r in c.execute(query)
        )
        versions = versions_by_table(c, [t.id for t in imported])
        return tuple(_with_versions(t, versions[t.id]) for t in imported)


def _with_versions(saved: SavedTable, versions: list[TableVersion]) -> SavedTable:
    """A table as it is after the results that were counted into it."""
    if not versions:
        return saved
    v = versions[-1]
    return replace(
        saved,
        digest=v.digest,
        rows=v.rows,
        total=v.total,
        model=model_of(saved.model, versions),
        changed_at=max(saved.changed_at, v.at),
        version=v.seq,
        runs=tuple(living(versions)),
    )


def _model_of_run(c: sa.Connection, run_id: str) -> str:
    check_run_id(run_id)
    query = sa.select(evaluations.c.model).where(evaluations.c.run_id == run_id).order_by(evaluations.c.seq.desc())
    found: str | None = c.execute(query).scalar()
    if found is None:
        raise InputError(f'No evaluation "{run_id}" is kept in this workspace.')
    return found
