"""Hypotheses about a set of detections beyond the library: added and retracted, never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.errors import InputError, Problem
from core.storage import schema
from core.storage.database import Database
from core.storage.ids import is_id
from core.storage.schema_slices import detection_sets, slice_hypotheses

_h = slice_hypotheses.c


@dataclass(frozen=True, eq=False)
class SliceHypotheses:
    """The hypotheses that people and models proposed for sets of detections.

    Attributes:
        db: Where they lie.
    """

    db: Database

    def add(self, set_id: str, documents: Sequence[Mapping[str, Any]], who: str = "") -> None:
        """Add hypotheses, all or none.

        Args:
            set_id: Of the detections.
            documents: Each with its "id".
            who: Who does it.

        Raises:
            InputError: There is no such set, or an id is there already; retract that one first.
        """
        at = schema.now()
        with self.db.write(lock=f"slice hypotheses {set_id}") as c:
            require_set(c, set_id)
            present = self._present(c, set_id)
            seen, problems = set(present), list[Problem]()
            for document in documents:
                name = str(document["id"])
                if name in seen:
                    problems.append(Problem(None, "id", name, "an id that no hypothesis of these detections has", kind="taken"))
                seen.add(name)
            if problems:
                raise InputError("Nothing was added", problems)
            rows = [
                {"set_id": set_id, "hypothesis_id": str(d["id"]), "kind": "added", "document": dict(d), "who": who, "at": at}
                for d in documents
            ]
            if rows:
                c.execute(slice_hypotheses.insert(), rows)

    def retract(self, set_id: str, hypothesis_id: str, who: str = "") -> None:
        """Take a hypothesis out of the list; what was said of it stays.

        Raises:
            InputError: There is no such set or no such hypothesis.
        """
        with self.db.write(lock=f"slice hypotheses {set_id}") as c:
            require_set(c, set_id)
            if (document := self._present(c, set_id).get(hypothesis_id)) is None:
                raise InputError(f'There is no hypothesis "{hypothesis_id}" that was added to these detections.')
            row = {"hypothesis_id": hypothesis_id, "kind": "retracted", "document": document, "who": who, "at": schema.now()}
            c.execute(slice_hypotheses.insert().values(set_id=set_id, **row))

    def of(self, set_id: str) -> tuple[dict[str, Any], ...]:
        """Documents of the hypotheses that stand, in the order in which they were added."""
        with self.db.read() as c:
            return tuple(self._present(c, set_id).values())

    def since(self, set_id: str) -> dict[str, datetime]:
        """Since when each id means what it means now, where it once meant something else."""
        if not is_id(set_id):
            return {}
        meant, out = dict[str, Any](), dict[str, datetime]()
        with self.db.read() as c:
            for r in c.execute(sa.select(_h.hypothesis_id, _h.document, _h.at).where(_h.set_id == set_id).order_by(_h.seq)):
                if meant.setdefault(r.hypothesis_id, r.document) != r.document:
                    meant[r.hypothesis_id], out[r.hypothesis_id] = r.document, r.at
        return out

    def _present(self, c: sa.Connection, set_id: str) -> dict[str, dict[str, Any]]:
        out = dict[str, dict[str, Any]]()
        if not is_id(set_id):
            return out
        for r in c.execute(sa.select(_h.hypothesis_id, _h.kind, _h.document).where(_h.set_id == set_id).order_by(_h.seq)):
            if r.kind == "added":
                out[r.hypothesis_id] = r.document
            else:
                out.pop(r.hypothesis_id, None)
        return out


def require_set(c: sa.Connection, set_id: str) -> None:
    """See that there is such a set of detections.

    Raises:
        InputError: There is none.
    """
    known = is_id(set_id) and c.execute(sa.select(detection_sets.c.id).where(detection_sets.c.id == set_id)).first()
    if not known:
        raise InputError(f'There is no saved set of detections "{set_id}" in this workspace; choose one from the list.')
