"""Results of evaluations: one row per sample and run, corrections as further rows, nothing ever changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.errors import InputError
from core.storage import schema
from core.storage.database import Database
from core.storage.ids import is_id
from core.storage.schema_evaluation import evaluation_results, evaluations

_r, _e = evaluation_results.c, evaluations.c

LOCK = "evaluation_results"
"""Rows are appended under it, so that none with a lower number comes to light after a version of a table named the last one."""


@dataclass(frozen=True)
class ResultRow:
    """What came of one sample.

    Attributes:
        run_id: Run.
        item_id: Sample.
        key: Content hash of the call; the same call in two runs is one piece of evidence.
        status: scored, unscored, failed or blocked.
        score: In [0, 1], None unless scored.
        scored_by: Who judged.
        verdict: Fidelity: valid, partial or invalid.
        requested, realised: Slices; realised is None where not fully known.
        detail: The whole result, JSON-ready.
        who, why: Of a correction.
        sample: Hash of images, question and options, whoever answered by whatever way; the newest answer to it is the evidence. ""
            where the images are not known: then only the same call is the same sample.
        version: 0 for the first row of a sample.
        seq: Number of the row.
        at: UTC, None before it is stored.
    """

    run_id: str
    item_id: str
    key: str
    status: str
    score: float | None
    scored_by: str
    verdict: str
    requested: Mapping[str, str]
    realised: Mapping[str, str] | None
    detail: Mapping[str, Any] = field(default_factory=dict)
    who: str = ""
    why: str = ""
    version: int = 0
    seq: int = 0
    at: datetime | None = None
    sample: str = ""

    def row(self) -> dict[str, Any]:
        """The row as it is stored."""
        out = {k: v for k, v in vars(self).items() if k != "seq"}
        return out | {"at": self.at or schema.now(), "requested": dict(self.requested), "realised": self.realised and dict(self.realised)}


@dataclass(frozen=True)
class EvaluationRun:
    """A run of evaluations, or an import of results.

    Attributes:
        run_id: As the caller named it.
        model: Name under which the results count.
        judge: Name of the judge, "" if there was none.
        manifest: Model, judge, prompts, parameters.
        who: Who started it.
        at: UTC, of the last start.
    """

    run_id: str
    model: str
    judge: str
    manifest: Mapping[str, Any]
    who: str
    at: datetime


@dataclass(frozen=True, eq=False)
class Results:
    """The results of the workspace."""

    db: Database

    def begin(self, run_id: str, model: str, judge: str, manifest: Mapping[str, Any], who: str = "") -> None:
        """Note the start of a run, or that it goes on.

        Raises:
            InputError: The id cannot be one, or the run has results of another model, be it under the same name.
        """
        check_run_id(run_id)
        with self.db.write(lock="evaluations") as c:
            known = c.execute(sa.select(_e.model, _e.judge, _e.manifest).where(_e.run_id == run_id).order_by(_e.seq.desc())).first()
            if known is not None and known.model != model:
                raise InputError(
                    f'The run {run_id} holds results of the model "{known.model}"; "{model}" needs a run of its own: models never mix.'
                )
            if known is not None and (before := _wire_name(known.manifest)) and (now := _wire_name(manifest)) and before != now:
                raise InputError(
                    f'The run {run_id} holds results of "{before}" under the name "{model}", which now leads to "{now}". Give the run '
                    "another id, and the model a label of its own: models never mix."
                )
            if known is None or (known.judge, known.manifest) != (judge, dict(manifest)):
                row = {"run_id": run_id, "model": model, "judge": judge, "manifest": dict(manifest), "who": who, "at": schema.now()}
                c.execute(evaluations.insert().values(row))

    def run(self, run_id: str) -> EvaluationRun:
        """What is known of a run.

        Raises:
            InputError: There is none.
        """
        found = self.runs([run_id]) if is_id(run_id) else ()
        if not found:
            raise InputError(f'No evaluation "{run_id}" is kept in this workspace.')
        return found[0]

    def runs(self, run_ids: Collection[str] | None = None) -> tuple[EvaluationRun, ...]:
        """Runs by their last start, the newest first; all of them by default."""
        newest = sa.select(sa.func.max(_e.seq)).group_by(_e.run_id)
        query = sa.select(evaluations).where(_e.seq.in_(newest)).order_by(_e.seq.desc())
        if run_ids is not None:
            query = query.where(_e.run_id.in_(run_ids))
        with self.db.read() as c:
            return tuple(EvaluationRun(r.run_id, r.model, r.judge, r.manifest, r.who, r.at) for r in c.execute(query))

    def append(self, rows: Sequence[ResultRow]) -> None:
        """Append rows; one whose sample got another row of that version meanwhile is left out, as the first word stays."""
        if rows:
            with self.db.write(lock=LOCK) as c:
                self.db.add_all_if_absent(c, evaluation_results, [r.row() for r in rows])

    def rows(self, run_id: str) -> tuple[ResultRow, ...]:
        """The row that counts of each sample of a run, in the order in which the samples came first."""
        with self.db.read() as c:
            return newest_rows(c, [run_id])

    def stamp(self, run_id: str) -> int:
        """A number that changes whenever a result of a run is added or corrected, 0 before the first."""
        with self.db.read() as c:
            return int(c.execute(sa.select(sa.func.max(_r.seq)).where(_r.run_id == run_id)).scalar() or 0)

    def history(self, run_id: str, item_id: str) -> tuple[ResultRow, ...]:
        """Every row of a sample, the oldest first."""
        where = (_r.run_id == run_id, _r.item_id == item_id)
        with self.db.read() as c:
            return tuple(_read(r) for r in c.execute(sa.select(evaluation_results).where(*where).order_by(_r.version)))


def newest_rows(c: sa.Connection, run_ids: Collection[str], up_to: int | None = None) -> tuple[ResultRow, ...]:
    """The newest row of each sample of some runs, among those up to a number."""
    where: list[sa.ColumnElement[bool]] = [_r.run_id.in_(run_ids)]
    if up_to is not None:
        where.append(_r.seq <= up_to)
    last = (
        sa.select(_r.run_id, _r.item_id, sa.func.max(_r.version).label("last"), sa.func.min(_r.seq).label("first"))
        .where(*where)
        .group_by(_r.run_id, _r.item_id)
        .subquery()
    )
    join = sa.and_(_r.run_id == last.c.run_id, _r.item_id == last.c.item_id, _r.version == last.c.last)
    query = sa.select(evaluation_results).join_from(evaluation_results, last, join).order_by(last.c.first)
    return tuple(_read(r) for r in c.execute(query))


def last_seq(c: sa.Connection) -> int:
    """Number of the last row of results, 0 if there is none."""
    return int(c.execute(sa.select(sa.func.max(_r.seq))).scalar() or 0)


def check_run_id(run_id: str) -> None:
    """Refuse what cannot be the id of a run.

    Raises:
        InputError: It is empty, too long, or holds other characters.
    """
    if not is_id(run_id):
        raise InputError(f'A run cannot be called "{run_id[:80]}"; allowed: 1 to 64 letters, digits, "-" and "_".')


def _wire_name(manifest: Mapping[str, Any]) -> str:
    """Name by which the server of a run knows its model, "" where nothing was asked."""
    return str((manifest.get("model") or {}).get("model", ""))


def _read(r: sa.Row[Any]) -> ResultRow:
    return ResultRow(**{k: v for k, v in r._mapping.items()})
