"""How a seed table grows: the slices that were imported, and the living results that were counted into it since.

A version names the last row of results that it rests on, so that every version can be made again, whatever came later.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import numpy as np
import sqlalchemy as sa

from core.errors import InputError
from core.odd import Odd
from core.seed_table.aggregate import aggregate
from core.seed_table.table import Floats, Ints, SeedTable
from core.storage.schema_evaluation import evaluation_results, seed_table_versions

VersionKind = Literal["counted", "undone", "corrected"]
_v, _r = seed_table_versions.c, evaluation_results
_COLUMNS = [x for x in _v if x.name != "table_id"]


@dataclass(frozen=True)
class TableVersion:
    """One step in the life of a table.

    Attributes:
        seq: Number; versions of all tables share one row of numbers.
        kind: A run was counted, undone, or a result of it corrected.
        run_id: That run.
        partial: Whether results of partly known slices count, as the person said when the run was counted.
        results_seq: Last row of results that it rests on.
        digest, rows, total: Of the table that it is.
        model: Whose results it holds.
        report: Results counted, and left out by reason.
        who: Who did it.
        at: UTC.
    """

    seq: int
    kind: VersionKind
    run_id: str
    partial: bool
    results_seq: int
    digest: str
    rows: int
    total: int
    model: str
    report: Mapping[str, Any]
    who: str
    at: datetime


@dataclass(frozen=True, eq=False)
class Evidence:
    """What results say about slices.

    Attributes:
        ids: (R,) slice of each result that counts.
        scores: (R,) its score.
        counted: Results that count, by run.
        left_out: Results that do not, by run and reason.
    """

    ids: Ints
    scores: Floats
    counted: Mapping[str, int]
    left_out: Mapping[str, Mapping[str, int]]


def versions_of(c: sa.Connection, table_id: str, up_to: int | None = None) -> list[TableVersion]:
    """Versions of a table, the oldest first."""
    where = [_v.table_id == table_id] + ([_v.seq <= up_to] if up_to is not None else [])
    return [TableVersion(*r) for r in c.execute(sa.select(*_COLUMNS).where(*where).order_by(_v.seq))]


def versions_by_table(c: sa.Connection, table_ids: Collection[str]) -> dict[str, list[TableVersion]]:
    """Versions of some tables, the oldest first."""
    out: dict[str, list[TableVersion]] = {t: [] for t in table_ids}
    for table_id, *rest in c.execute(sa.select(_v.table_id, *_COLUMNS).where(_v.table_id.in_(table_ids)).order_by(_v.seq)):
        out[table_id].append(TableVersion(*rest))
    return out


def living(versions: Iterable[TableVersion]) -> dict[str, bool]:
    """Runs that count, in the order in which they were counted first, each with whether partly known slices count."""
    out: dict[str, bool] = {}
    for v in versions:
        if v.kind == "counted":
            out[v.run_id] = v.partial
        elif v.kind == "undone":
            out.pop(v.run_id, None)
    return out


def evidence(c: sa.Connection, odd: Odd, runs: Mapping[str, bool], results_seq: int) -> Evidence:
    """What the results of some runs say about the slices of an ODD.

    The same call, in two runs or twice in one, is one piece of evidence: that of a person's word before a machine's, then of the
    later row, among those that show a slice. So is the same sample, asked again at another address or with other words: the newest
    answer counts.
    """
    groups: dict[str, list[Any]] = {}
    for row in _rows(c, runs, results_seq):
        groups.setdefault(row.key, []).append(row)
    place = _Placer(odd)
    newest: dict[str, tuple[int, str, int, float]] = {}
    counted: Counter[str] = Counter()
    left: dict[str, Counter[str]] = {r: Counter() for r in runs}
    for rows in groups.values():
        rows.sort(key=lambda r: (r.scored_by == "person", r.seq), reverse=True)
        said = rows[0] if rows[0].scored_by == "person" else None  # of the answer, wherever it was given
        taken = False
        for row in rows:
            status, score = (row.status, row.score) if said is None else (said.status, said.score)
            found = status if status != "scored" or score is None else place(row, runs[row.run_id])
            if taken or isinstance(found, str):
                left[row.run_id]["the same call is counted already" if taken else str(found)] += 1
                continue
            taken = True
            mine, other = (row.seq, row.run_id, found, float(score)), newest.get(row.sample or row.key)
            if other is not None:
                left[min(mine, other)[1]]["the same sample is counted already"] += 1
            newest[row.sample or row.key] = max(mine, other or mine)
    ids, scores = list[int](), list[float]()
    for _, run_id, place_id, value in newest.values():
        ids.append(place_id)
        scores.append(value)
        counted[run_id] += 1
    return Evidence(np.array(ids, dtype=np.int64), np.array(scores, dtype=np.float64), counted, left)


def _rows(c: sa.Connection, runs: Collection[str], up_to: int) -> Iterable[Any]:
    """The newest row of each sample of some runs, up to a number, without what no table needs; slices as JSON text."""
    newer = _r.alias("newer").c
    is_newer = sa.exists().where(
        newer.run_id == _r.c.run_id, newer.item_id == _r.c.item_id, newer.version > _r.c.version, newer.seq <= up_to
    )
    plain = [_r.c[n] for n in ("seq", "run_id", "key", "sample", "status", "score", "scored_by", "verdict")]
    texts = [sa.type_coerce(_r.c[n], sa.Text).label(n) for n in ("requested", "realised")]
    return c.execute(sa.select(*plain, *texts).where(_r.c.run_id.in_(runs), _r.c.seq <= up_to, ~is_newer).order_by(_r.c.seq))


class _Placer:
    """Finds the slice that a result is evidence for, or why it is for none; equal slices are worked out once."""

    def __init__(self, odd: Odd) -> None:
        self._odd = odd
        self._known: dict[str, int | str] = {}

    def __call__(self, row: Any, partial: bool) -> int | str:
        if row.verdict != "valid" and not (partial and row.verdict == "partial"):
            reasons = {"partial": "something of its slice is not known", "invalid": "it shows another slice"}
            return reasons.get(row.verdict, "fidelity not known")
        text = row.requested if row.realised == "null" else row.realised
        if text not in self._known:
            self._known[text] = self._place(json.loads(text))
        return self._known[text]

    def _place(self, values: Mapping[str, str]) -> int | str:
        names, unknown = [], sorted(set(values) - set(self._odd.names))
        if unknown:
            return f"the table has no dimension {unknown[0]}"
        for d in self._odd.dimensions:
            name = values.get(d.name) or (d.base[0].name if not d.active else None)
            if name is None:
                return f"its slice has no {d.name}"
            if name not in d.by_name:
                return f"the table's ODD has no {d.name} = {name}"
            names.append(name)
        return self._odd.codec.encode_names(names)


def grown(base: SeedTable, found: Evidence) -> SeedTable:
    """A table with further results, pooled slice by slice (n, mean and variance as if all samples had been read at once).

    The variance of a slice stays unknown where that of its imported samples is.
    """
    if not found.ids.size:
        return base
    more = aggregate(base.odd, found.ids, found.scores, None)
    ids = np.union1d(base.ids, more.ids)
    n1, m1, s1 = _spread(base, ids)
    n2, m2, s2 = _spread(more, ids)
    n = n1 + n2
    mean = np.clip(np.where(n1 == 0, m2, np.where(n2 == 0, m1, (n1 * m1 + n2 * m2) / n)), 0.0, 1.0)
    squares = s1 + s2 + (m1 - m2) ** 2 * (n1 * n2 / n)
    variance = np.full(ids.size, np.nan)
    np.divide(squares, n - 1, out=variance, where=n > 1)
    untouched = n2 == 0
    variance[untouched] = base.variance[np.searchsorted(base.ids, ids[untouched])]
    return SeedTable(base.odd, base.odd.codec.decode(ids), n.astype(np.int64), mean, variance, base.n_assumed)


def _spread(table: SeedTable, ids: Ints) -> tuple[Floats, Floats, Floats]:
    """Counts, means and sums of squares of a table over some ids (S,), 0 where it has none, NaN where it does not know."""
    place = np.searchsorted(ids, table.ids)
    out = np.zeros((3, ids.size))
    out[0, place], out[1, place] = table.n, table.mean
    out[2, place] = np.where(table.n == 1, 0.0, table.variance * (table.n - 1))
    return out[0], out[1], out[2]


def model_of(own: str, versions: Sequence[TableVersion]) -> str:
    """Whose results a table holds: the model that it was imported for, else that of the runs that count."""
    return own or (versions[-1].model if versions and living(versions) else "")


def refuse_other_model(name: str, own: str, model: str) -> None:
    """Refuse results of another model.

    Raises:
        InputError: The table is of another model.
    """
    if own and own != model:
        raise InputError(
            f'The table "{name}" holds results of the model "{own}", the run those of "{model}"; models never mix. '
            f'If both are the same model, name the connection\'s label "{own}" and evaluate again (answered calls are not repeated); '
            "else make a table of its own from the results."
        )
