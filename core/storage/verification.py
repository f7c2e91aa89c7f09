"""What people say of tags: samples of media to look at, and answers that are only ever added to.

An answer belongs to a statement, "this value is right for this media", not to the queue it was given in: whoever judged a tag
in one queue has judged it in every other, and a single media can be judged without a queue.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

from core.errors import InputError, Problem
from core.odd import Odd
from core.storage import schema
from core.storage.ids import new_id
from core.storage.named import NamedRecords
from core.storage.names import MAX_NAME, clean, refuse_taken
from core.storage.odds import Odds
from core.storage.schema_verification import verification_answers, verification_events, verification_items, verification_queues
from core.storage.verification_records import ANSWERS, Answer, AnswerEvent, QueueItem, SavedQueue, Statement, Written

_q, _i, _e, _a = verification_queues.c, verification_items.c, verification_events.c, verification_answers.c
_TAKEN_BACK = "withdrawn"
_MOST = 500
"""Parameters in one query."""

Present = Mapping[Statement, Mapping[str, Answer]]
"""The answer that counts, per statement and person."""


@dataclass(frozen=True, eq=False)
class Verification(NamedRecords[SavedQueue]):
    """The queues of the workspace, and every answer."""

    odds: Odds
    noun = "queue"
    lock = "verification"
    table = verification_queues
    events_table = verification_events
    event_key = "queue_id"

    def save(self, name: str, *, odd: Odd, manifest: dict[str, Any], items: Sequence[QueueItem], who: str = "") -> SavedQueue:
        """Keep a sample of media to be judged.

        Raises:
            InputError: The name is empty, too long or taken, or there is nothing to judge.
        """
        name, at = clean(name, self.noun), schema.now()
        if not any(x.statements for x in items):
            raise InputError("Nothing in this sample carries a tag, so there is nothing to judge.")
        with self.db.write(lock=self.lock) as c:
            refuse_taken(name, self._names(c, but=""), self.noun)
            queue_id = new_id(c, _q.id)
            row = {"id": queue_id, "odd_hash": self.odds.put_within(c, odd), "manifest": manifest, "created_at": at}
            c.execute(verification_queues.insert().values(row))
            rows = [{"queue_id": queue_id, "number": n, "media": x.media, "content": x.as_dict()} for n, x in enumerate(items)]
            c.execute(verification_items.insert(), rows)
            self._append(c, queue_id, "created", name, who, at)
            return self._get(c, queue_id)

    def items(self, queue_id: str) -> tuple[QueueItem, ...]:
        """The media of a queue, in order.

        Raises:
            InputError: There is no such queue.
        """
        with self.db.read() as c:
            self._get(c, queue_id)
            found = c.execute(sa.select(_i.content).where(_i.queue_id == queue_id).order_by(_i.number)).scalars().all()
        return tuple(QueueItem.from_dict(x) for x in found)

    def answer(
        self, given: Mapping[Statement, Answer], who: str, *, queue_id: str = "", seen: Mapping[Statement, int] | None = None
    ) -> Written:
        """Add a person's answers, as one step that `undo` takes back as one.

        Args:
            given: Answer per statement. One that the person has given already adds nothing.
            who: Whose answers they are.
            queue_id: Queue in which they are given, "" if in none.
            seen: Rows that this person had on each statement when the answer was made, as `numbers` tells it. Where there are
                more by now, the answer was made before another one and is dropped. None takes them all.

        Raises:
            InputError: Nobody is named, an answer is none, or there is no such queue, or it is deleted.
        """
        who = _person(who)
        wrong = [Problem(None, s.attribute, str(a), ", ".join(ANSWERS)) for s, a in given.items() if a not in ANSWERS]
        if wrong:
            raise InputError("An answer is none; nothing was written.", wrong)
        with self.db.write(lock=self.lock) as c:
            if queue_id:
                self._living(c, queue_id)
            now = self._own(c, given, who)
            late = [s for s in given if seen is not None and now[s][0] != seen.get(s, 0)]
            same = [s for s in given if s not in late and now[s][1] == given[s]]
            new = {s: given[s] for s in given if s not in late and s not in same}
            self._add(c, new, now, who, queue_id)
        return Written(len(new), len(same), len(late))

    def undo(self, queue_id: str, who: str) -> tuple[Statement, ...]:
        """Take back this person's last step in a queue that was not taken back yet: what was answered before it counts again.

        Returns:
            The statements of that step, () if there is none.

        Raises:
            InputError: Nobody is named, or there is no such queue, or it is deleted.
        """
        who = _person(who)
        with self.db.write(lock=self.lock) as c:
            self._living(c, queue_id)
            rows = self._rows(c, _a.queue_id == queue_id, _a.who == who)
            gone = {r.undoes for r in rows}
            last = next((r.batch for r in reversed(rows) if not r.undoes and r.batch not in gone), None)
            if last is None:
                return ()
            step = [r.statement for r in rows if r.batch == last]
            now = self._own(c, step, who)
            self._add(c, self._without(c, step, who, last), now, who, queue_id, undoes=last)
        return tuple(step)

    def numbers(self, statements: Iterable[Statement], who: str) -> dict[Statement, int]:
        """Rows of one person on each statement, to be handed to `answer` as what was seen."""
        with self.db.read() as c:
            return {s: n for s, (n, _) in self._own(c, statements, _person(who)).items()}

    def present(self, statements: Iterable[Statement]) -> dict[Statement, dict[str, Answer]]:
        """The answers that count, per statement and person; statements without one are left out."""
        out: dict[Statement, dict[str, Answer]] = {}
        with self.db.read() as c:
            for e in self._newest_rows(c, list(dict.fromkeys(statements))):
                if e.answer is not None:
                    out.setdefault(e.statement, {})[e.who] = e.answer
        return out

    def about(self, media: Collection[str]) -> dict[Statement, dict[str, Answer]]:
        """The answers that count on anything said of some media."""
        out: dict[Statement, dict[str, Answer]] = {}
        with self.db.read() as c:
            for some in _batches(sorted(set(media))):
                for e in self._rows(c, _a.media.in_(some)):
                    by = out.setdefault(e.statement, {})
                    by.pop(e.who, None)
                    if e.answer is not None:
                        by[e.who] = e.answer
        return {s: by for s, by in out.items() if by}

    def log(self, queue_id: str) -> tuple[AnswerEvent, ...]:
        """Every answer that was given in a queue, and every step taken back, the oldest first.

        Raises:
            InputError: There is no such queue.
        """
        with self.db.read() as c:
            self._get(c, queue_id)
            return tuple(self._rows(c, _a.queue_id == queue_id))

    def stamp(self) -> int:
        """A number that grows with every row, so that what was worked out from the answers can be kept until there are more."""
        with self.db.read() as c:
            return int(c.execute(sa.select(sa.func.max(_a.seq))).scalar() or 0)

    def people(self) -> tuple[str, ...]:
        """Everybody who ever answered, by name."""
        with self.db.read() as c:
            return tuple(sorted(set(c.execute(sa.select(_a.who).distinct()).scalars())))

    def _add(
        self,
        c: sa.Connection,
        given: Mapping[Statement, Answer | None],
        now: Mapping[Statement, tuple[int, Answer | None]],
        who: str,
        queue_id: str,
        undoes: str = "",
    ) -> None:
        batch, at = uuid4().hex, schema.now()
        shared = {"who": who, "queue_id": queue_id or None, "batch": batch, "undoes": undoes or None, "at": at}
        rows = [{**shared, "statement": s.key, **vars(s), "number": now[s][0] + 1, "answer": a or _TAKEN_BACK} for s, a in given.items()]
        if rows:
            c.execute(verification_answers.insert(), rows)

    def _without(self, c: sa.Connection, statements: Sequence[Statement], who: str, batch: str) -> dict[Statement, Answer | None]:
        """A person's answers as they would stand without a step: the last one that was not taken back, from whichever queue."""
        rows = self._rows(c, _a.statement.in_([s.key for s in statements]), _a.who == who)
        gone = {batch, *(r.undoes for r in rows)}
        return dict.fromkeys(statements) | {r.statement: r.answer for r in rows if not r.undoes and r.batch not in gone}

    def _own(self, c: sa.Connection, statements: Iterable[Statement], who: str) -> dict[Statement, tuple[int, Answer | None]]:
        """How many rows a person has on each statement, and the answer that counts."""
        wanted = list(dict.fromkeys(statements))
        out: dict[Statement, tuple[int, Answer | None]] = dict.fromkeys(wanted, (0, None))
        out.update({e.statement: (e.number, e.answer) for e in self._newest_rows(c, wanted, _a.who == who)})
        return out

    def _newest_rows(self, c: sa.Connection, statements: Sequence[Statement], *where: sa.ColumnElement[bool]) -> list[AnswerEvent]:
        out: list[AnswerEvent] = []
        for some in _batches([s.key for s in statements]):
            newest = sa.select(sa.func.max(_a.seq)).where(_a.statement.in_(some), *where).group_by(_a.statement, _a.who)
            out += self._rows(c, _a.seq.in_(newest))
        return out

    def _rows(self, c: sa.Connection, *where: sa.ColumnElement[bool]) -> list[AnswerEvent]:
        rows = c.execute(sa.select(verification_answers).where(*where).order_by(_a.seq)).all()
        return [
            AnswerEvent(
                statement=Statement(r.media, r.attribute, r.value),
                who=r.who,
                number=r.number,
                answer=None if r.answer == _TAKEN_BACK else r.answer,
                batch=r.batch,
                undoes=r.undoes or "",
                queue_id=r.queue_id or "",
                at=r.at,
            )
            for r in rows
        ]

    def _living(self, c: sa.Connection, queue_id: str) -> None:
        saved = self._get(c, queue_id)
        if saved.deleted:
            raise InputError(f'The queue "{saved.name}" is deleted; restore it before you answer.')

    def _all(self, c: sa.Connection, where: sa.ColumnElement[bool] | None = None) -> tuple[SavedQueue, ...]:
        size = sa.select(sa.func.count()).where(_i.queue_id == _q.id).scalar_subquery().label("size")
        query = sa.select(verification_queues, _e.kind, _e.name, size).join_from(verification_queues, verification_events)
        query = query.where(_e.seq.in_(self._newest()), sa.true() if where is None else where).order_by(_q.created_at.desc(), _q.id)
        rows = c.execute(query).all()
        return tuple(SavedQueue(r.id, r.name, r.odd_hash, r.manifest, r.size, r.created_at, r.kind == "deleted") for r in rows)


def _batches(keys: list[str]) -> Iterator[list[str]]:
    for i in range(0, len(keys), _MOST):
        yield keys[i : i + _MOST]


def _person(who: str) -> str:
    out = " ".join(who.split())
    if not out or len(out) > MAX_NAME:
        raise InputError(f"An answer needs the name of who gives it (at most {MAX_NAME} characters), since people are compared.")
    return out
