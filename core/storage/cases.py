"""Sets of cases as the workspace knows them: what each was made from, and where it lies; cases and images are files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from core.errors import InputError
from core.storage import schema
from core.storage.ids import new_id
from core.storage.named import DigestedRecords
from core.storage.names import clean, free, refuse_taken
from core.storage.places import read_place, written_place
from core.storage.schema_cases import case_set_events, case_sets
from core.trajectories.case_set import CaseSet, open_case_set

_s, _e = case_sets.c, case_set_events.c


@dataclass(frozen=True)
class SavedCaseSet:
    """What is known of a set of cases without opening it.

    Attributes:
        id: Eight hex digits.
        name: Its present name, unique among the sets that are not deleted.
        digest: Of its cases and images.
        folder: Where it lies.
        cases: Number of cases.
        synthetic: Whether any of them is made up, which every screen says.
        created_at: UTC.
        changed_at: Time of the last event, UTC.
        deleted: Whether it lies in the bin.
    """

    id: str
    name: str
    digest: str
    folder: Path
    cases: int
    synthetic: bool
    created_at: datetime
    changed_at: datetime
    deleted: bool


@dataclass(frozen=True, eq=False)
class CaseSets(DigestedRecords[SavedCaseSet]):
    """The sets of cases of the workspace.

    Attributes:
        parent: Folder in which each has a folder.
    """

    parent: Path
    noun = "case set"
    lock = "case sets"
    table = case_sets
    events_table = case_set_events
    event_key = "set_id"

    def save(self, name: str, content: CaseSet, *, who: str = "", free_name: bool = False) -> SavedCaseSet:
        """Keep what is known of a set whose folder is written.

        Args:
            name: For people.
            content: The set, opened.
            who: Who does it.
            free_name: Give the name a number where it is taken, instead of refusing it.

        Raises:
            InputError: The name is empty, too long or taken (a free one is suggested).
        """
        name, at = clean(name, self.noun), schema.now()
        with self.db.write(lock=self.lock) as c:
            taken = self._names(c, but="")
            if free_name:
                name = free(name, taken)
            refuse_taken(name, taken, self.noun)
            set_id = new_id(c, _s.id)
            row = {
                "id": set_id,
                "digest": content.digest,
                "folder": written_place(content.folder, self.parent),
                "cases": len(content.cases),
                "synthetic": content.synthetic,
                "report": content.report,
                "created_at": at,
            }
            c.execute(case_sets.insert().values(row))
            self._append(c, set_id, "created", name, who, at)
            return self._get(c, set_id)

    def report(self, set_id: str) -> dict[str, Any]:
        """What the importer did.

        Raises:
            InputError: There is no such set.
        """
        with self.db.read() as c:
            self._get(c, set_id)
            found: dict[str, Any] = c.execute(sa.select(_s.report).where(_s.id == set_id)).scalar_one()
        return found

    def open(self, set_id: str) -> CaseSet:
        """The cases of a set.

        Raises:
            InputError: There is no such set, its files are gone, or they are not those that were imported.
        """
        saved = self.get(set_id)
        if not saved.folder.is_dir():
            raise InputError(f'The files of the case set "{saved.name}" are gone from the workspace; import them again.')
        content = open_case_set(saved.folder)
        if content.digest != saved.digest:
            raise InputError(
                f'The files of the case set "{saved.name}" changed since they were imported: its digest is {content.digest[:12]}, '
                f"was {saved.digest[:12]}. Labels belong to what was shown; import the changed files as a new set."
            )
        return content

    def _all(self, c: sa.Connection, where: sa.ColumnElement[bool] | None = None) -> tuple[SavedCaseSet, ...]:
        query = (
            sa.select(*[x for x in _s if x.name != "report"], _e.kind, _e.name, _e.at)
            .join_from(case_sets, case_set_events)
            .where(_e.seq.in_(self._newest()), sa.true() if where is None else where)
            .order_by(_s.created_at.desc(), _s.id)
        )
        return tuple(
            SavedCaseSet(
                id=r.id,
                name=r.name,
                digest=r.digest,
                folder=read_place(r.folder, self.parent),
                cases=r.cases,
                synthetic=r.synthetic,
                created_at=r.created_at,
                changed_at=r.at,
                deleted=r.kind == "deleted",
            )
            for r in c.execute(query)
        )
