"""What people say of a crop, or of a slice as a whole: only ever added, on the disk before anybody is told that it is stored."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from core.errors import InputError, Problem
from core.storage import schema
from core.storage.database import Database
from core.storage.ids import is_id
from core.storage.schema_slices import slice_judgements
from core.storage.slice_hypotheses import require_set

JudgementVerdict = Literal["accept", "reject", "unsure", "withdraw"]
JUDGEMENTS: tuple[JudgementVerdict, ...] = ("accept", "reject", "unsure", "withdraw")
_UID = re.compile(r"[0-9A-Za-z_-]{8,64}")
_LONGEST = {"hypothesis_id": 500, "unit_id": 1_500, "note": 4_000, "who": 200}
_LONGEST_PAYLOAD = 20_000
_MOST = 500
"""Parameters in one query."""
_j = slice_judgements.c


@dataclass(frozen=True)
class NewJudgement:
    """Something that a person says.

    Attributes:
        uid: Made where the key was pressed; the same one is stored once.
        hypothesis_id: Of which slice.
        unit_id: Of which unit; "" for the slice as a whole.
        verdict: accept: it fits; reject: it does not; unsure; withdraw: takes back what the person said before.
        note: In their words.
        who: Name of the person.
        payload: The matching score and the settings that were on the screen, and the seconds that it took.
    """

    uid: str
    hypothesis_id: str
    unit_id: str
    verdict: JudgementVerdict
    note: str = ""
    who: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Judgement(NewJudgement):
    """A judgement that is stored.

    Attributes:
        at: UTC.
    """

    at: datetime = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class SliceJudgements:
    """Everything that people said of slices.

    Attributes:
        db: Where it lies.
    """

    db: Database

    def append(self, set_id: str, new: Sequence[NewJudgement]) -> tuple[str, ...]:
        """Store judgements, all of them or none; one that is stored already is not stored again.

        Returns:
            The uids of all that are stored now.

        Raises:
            InputError: There is no such set, or a judgement cannot be stored; every one that cannot is named.
        """
        problems = [flaw for n, j in enumerate(new, 1) for flaw in _flaws(n, j)]
        if problems:
            raise InputError("Nothing was stored", problems)
        at = schema.now()
        with self.db.write(lock=f"slice judgements {set_id}", durable=True) as c:
            require_set(c, set_id)
            rows = [
                {
                    "uid": j.uid,
                    "set_id": set_id,
                    "hypothesis_id": j.hypothesis_id,
                    "unit_id": j.unit_id,
                    "verdict": j.verdict,
                    "note": j.note,
                    "payload": dict(j.payload),
                    "who": j.who,
                    "at": at,
                }
                for j in new
            ]
            for i in range(0, len(rows), _MOST):
                self.db.add_all_if_absent(c, slice_judgements, rows[i : i + _MOST])
        return tuple(j.uid for j in new)

    def all(self, set_id: str, hypothesis_id: str | None = None) -> tuple[Judgement, ...]:
        """Every judgement ever stored for a set, the oldest first."""
        if not is_id(set_id):
            return ()
        query = sa.select(slice_judgements).where(_j.set_id == set_id).order_by(_j.seq)
        if hypothesis_id is not None:
            query = query.where(_j.hypothesis_id == hypothesis_id)
        with self.db.read() as c:
            rows = c.execute(query).all()
        return tuple(Judgement(r.uid, r.hypothesis_id, r.unit_id, r.verdict, r.note, r.who, r.payload, at=r.at) for r in rows)

    def current(self, set_id: str, hypothesis_id: str | None = None, since: Mapping[str, datetime] | None = None) -> tuple[Judgement, ...]:
        """What each person last said of each slice and each unit, in the order of saying; what was withdrawn is not there.

        Args:
            set_id: Of the detections.
            hypothesis_id: Of which slice; of all otherwise.
            since: Times from which on judgements count, by hypothesis; always where it names none.
        """
        since = since or {}
        last = dict[tuple[str, str, str], Judgement]()
        for j in self.all(set_id, hypothesis_id):
            if j.hypothesis_id in since and j.at < since[j.hypothesis_id]:
                continue
            key = (j.who, j.hypothesis_id, j.unit_id)
            last.pop(key, None)
            if j.verdict != "withdraw":
                last[key] = j
        return tuple(last.values())

    def stamp(self, set_id: str) -> int:
        """A number that grows with every judgement of a set."""
        if not is_id(set_id):
            return 0
        with self.db.read() as c:
            found: int | None = c.execute(sa.select(sa.func.max(_j.seq)).where(_j.set_id == set_id)).scalar_one()
        return found or 0


def _flaws(n: int, j: NewJudgement) -> list[Problem]:
    out = []
    if not _UID.fullmatch(j.uid):
        out.append(Problem(n, "uid", j.uid, '8 to 64 letters, digits, "-" or "_"'))
    if j.verdict not in JUDGEMENTS:
        out.append(Problem(n, "verdict", j.verdict, ", ".join(JUDGEMENTS)))
    if not j.hypothesis_id:
        out.append(Problem(n, "hypothesis_id", "", "the id of a hypothesis"))
    out += [
        Problem(n, name, f"{len(v):,} characters", f"at most {most:,} characters")
        for name, most in _LONGEST.items()
        if len(v := str(getattr(j, name))) > most
    ]
    try:
        length = len(json.dumps(dict(j.payload), allow_nan=False))
    except (TypeError, ValueError):
        return [*out, Problem(n, "payload", "something else", "what JSON can say")]
    if length > _LONGEST_PAYLOAD:
        out.append(Problem(n, "payload", f"{length:,} characters", f"at most {_LONGEST_PAYLOAD:,} characters"))
    return out
