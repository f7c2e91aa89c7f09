"""Datastores of footage as the workspace knows them: what each was made from, and where it lies; the rows are files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from core.errors import InputError
from core.odd import Odd
from core.storage import schema
from core.storage.ids import new_id
from core.storage.named import DigestedRecords
from core.storage.names import clean, free, refuse_taken
from core.storage.odds import Odds
from core.storage.places import read_root, written_place
from core.storage.schema_datastores import datastore_events, datastores

_d, _e = datastores.c, datastore_events.c


@dataclass(frozen=True)
class SavedDatastore:
    """What is known of a datastore without opening it.

    Attributes:
        id: Eight hex digits.
        name: Its present name, unique among the datastores that are not deleted.
        digest: Of all that it was made from.
        folder: Name of its folder below that of all datastores.
        odd_hash: Hash of the ODD of its tags.
        source_sha: SHA-256 of the manifest's file.
        rows: Number of rows.
        synthetic: Whether any of it is said to be made up, which every screen says.
        root: Folder that relative paths of media start from, None if not known.
        created_at: UTC.
        changed_at: Time of the last event, UTC.
        deleted: Whether it lies in the bin.
    """

    id: str
    name: str
    digest: str
    folder: str
    odd_hash: str
    source_sha: str
    rows: int
    synthetic: bool
    root: Path | None
    created_at: datetime
    changed_at: datetime
    deleted: bool


@dataclass(frozen=True, eq=False)
class Datastores(DigestedRecords[SavedDatastore]):
    """The datastores of the workspace.

    Attributes:
        parent: Folder in which each has a folder.
    """

    odds: Odds
    parent: Path
    noun = "datastore"
    lock = "datastores"
    table = datastores
    events_table = datastore_events
    event_key = "datastore_id"

    def save(
        self,
        name: str,
        *,
        digest: str,
        folder: str,
        odd: Odd,
        source_sha: str,
        rows: int,
        synthetic: bool,
        root: Path | None,
        provenance: dict[str, Any],
        who: str = "",
        free_name: bool = False,
    ) -> SavedDatastore:
        """Keep what is known of a datastore whose files are written.

        Args:
            name: For people.
            digest: Of all that it was made from.
            folder: Name of its folder.
            odd: The ODD of its tags.
            source_sha: SHA-256 of the manifest's file.
            rows: Number of rows.
            synthetic: Whether any of it is said to be made up.
            root: Folder that relative paths of media start from.
            provenance: Plan and report of the import.
            who: Who does it.
            free_name: Give the name a number where it is taken, instead of refusing it.

        Raises:
            InputError: The name is empty, too long or taken (a free one is suggested), or the ODD would not read back the same.
        """
        name, at = clean(name, self.noun), schema.now()
        with self.db.write(lock=self.lock) as c:
            taken = self._names(c, but="")
            if free_name:  # found here, since somebody else may import at the same moment
                name = free(name, taken)
            refuse_taken(name, taken, self.noun)
            datastore_id = new_id(c, _d.id)
            row = {
                "id": datastore_id,
                "digest": digest,
                "folder": folder,
                "odd_hash": self.odds.put_within(c, odd),
                "source_sha": source_sha,
                "rows": rows,
                "synthetic": synthetic,
                "root": written_place(root),
                "provenance": provenance,
                "created_at": at,
            }
            c.execute(datastores.insert().values(row))
            self._append(c, datastore_id, "created", name, who, at)
            return self._get(c, datastore_id)

    def provenance(self, datastore_id: str) -> dict[str, Any]:
        """Plan and report of the import.

        Raises:
            InputError: There is no such datastore.
        """
        with self.db.read() as c:
            self._get(c, datastore_id)
            found: dict[str, Any] = c.execute(sa.select(_d.provenance).where(_d.id == datastore_id)).scalar_one()
        return found

    def path(self, saved: SavedDatastore) -> Path:
        """Where its files lie.

        Raises:
            InputError: They are gone.
        """
        folder = self.parent / saved.folder
        if not folder.is_dir():
            raise InputError(f'The files of the datastore "{saved.name}" are gone from the workspace; import its manifest again.')
        return folder

    def _all(self, c: sa.Connection, where: sa.ColumnElement[bool] | None = None) -> tuple[SavedDatastore, ...]:
        query = (
            sa.select(*[x for x in _d if x.name != "provenance"], _e.kind, _e.name, _e.at)
            .join_from(datastores, datastore_events)
            .where(_e.seq.in_(self._newest()), sa.true() if where is None else where)
            .order_by(_d.created_at.desc(), _d.id)
        )
        return tuple(
            SavedDatastore(
                id=r.id,
                name=r.name,
                digest=r.digest,
                folder=r.folder,
                odd_hash=r.odd_hash,
                source_sha=r.source_sha,
                rows=r.rows,
                synthetic=r.synthetic,
                root=read_root(r.root),
                created_at=r.created_at,
                changed_at=r.at,
                deleted=r.kind == "deleted",
            )
            for r in c.execute(query)
        )
