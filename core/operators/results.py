"""Results in seed tables: counted in, taken out, and what that moves among the gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from core.errors import InputError
from core.odd import Odd
from core.operators.evaluate import Evaluated
from core.operators.rank import DEFAULT_TOP, RankResult, rank
from core.scoring import IN_ODD, Scope, ScoringParameters, candidate_space
from core.seed_table import SeedTable
from core.settings import Settings
from core.storage import SavedTable, Store, TableVersion


@dataclass(frozen=True)
class Counting:
    """What counting a run into a table does.

    Attributes:
        counted: Results that count.
        left_out: Results that do not, by reason.
    """

    counted: int
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class Shift:
    """A gap that changed its place in the list.

    Attributes:
        values: The slice.
        slice_id: Its id under the codec of the ODD.
        rank_before, rank_after: 1 first, None where it is not in the list.
        phi_before, phi_after: Score, None where it is not in the list.
    """

    values: Mapping[str, str]
    slice_id: int
    rank_before: int | None
    rank_after: int | None
    phi_before: float | None
    phi_after: float | None


@dataclass(frozen=True)
class Moved:
    """What a run changed among the gaps.

    Attributes:
        run_id: The run.
        version_before, version_after: Versions of the table.
        digest_before, digest_after: Of the table.
        top: Length of both lists.
        filled: Slices that were gaps before and are tested now; with their rank, where they were in the list.
        entered: Slices of the new list that were not in the old one.
        left: Slices of the old list that are still gaps, but no longer in the list.
        changed: Slices of both lists whose rank changed.
        unchanged: Slices of both lists with the same rank.
        missing_before, missing_after: Gaps in all, None where nothing was tested.
        samples: Samples that the table gained.
    """

    run_id: str
    version_before: int
    version_after: int
    digest_before: str
    digest_after: str
    top: int
    filled: tuple[Shift, ...]
    entered: tuple[Shift, ...]
    left: tuple[Shift, ...]
    changed: tuple[Shift, ...]
    unchanged: int
    missing_before: int | None
    missing_after: int | None
    samples: int

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return asdict(self)


def counting(store: Store, table_id: str, run_id: str, *, partial: bool = False) -> Counting:
    """What counting a run into a table would do; nothing is written.

    Raises:
        InputError: There is no such table.
    """
    found = store.tables.evidence(table_id, run_id, partial)
    return Counting(found.counted.get(run_id, 0), dict(found.left_out.get(run_id, {})))


def count_results(store: Store, table_id: str, run: Evaluated | str, *, partial: bool = False, who: str = "") -> SavedTable:
    """Count the scored results of a run into the living seed table of the same model.

    Only samples that show their slice in every dimension count. The table's digest, rows and total become those of the grown
    table; the imported slices stay as they were, and `undo_results` takes the run out again.

    Args:
        store: The workspace.
        table_id: Of the table.
        run: The run, or its id.
        partial: Also count samples of whose slice something is not known, or of made images that nobody verified, under the slice
            that was asked for. Recorded with the version.
        who: Who does it.

    Raises:
        InputError: There is no such table or run, or the table is of another model.
    """
    return store.tables.count_run(table_id, _run_id(run), partial=partial, who=who)


def undo_results(store: Store, run: Evaluated | str, *, table_id: str | None = None, who: str = "") -> tuple[SavedTable, ...]:
    """Take a run out of the tables that it is counted into, or out of one of them; counting it again brings it back.

    Raises:
        InputError: It is not counted into any.
    """
    return store.tables.undo_run(_run_id(run), table_id=table_id, who=who)


def table_from_results(
    store: Store, name: str, odd: Odd, runs: Sequence[Evaluated | str], *, partial: bool = False, synthetic: bool = False, who: str = ""
) -> SavedTable:
    """A seed table of results alone, for a model that has none yet.

    Args:
        store: The workspace.
        name: Of the table.
        odd: Numbers the slices.
        runs: Runs of one model.
        partial: See `count_results`.
        synthetic: Whether the results are made up, which every screen says.
        who: Who does it.

    Raises:
        InputError: No run is named, the runs are of several models, none of their results counts, or the name is taken.
    """
    ids = list(dict.fromkeys(_run_id(r) for r in runs))
    models = sorted({store.results.run(r).model for r in ids})
    if len(models) != 1:
        told = f"these are of {', '.join(models)}" if models else "none is named"
        raise InputError(f"A table is made of runs of one model; {told}.")
    empty = SeedTable(odd, np.empty((0, len(odd.names)), np.int32), np.empty(0, np.int64), np.empty(0), np.empty(0))
    found = store.tables.evidence_for(odd, dict.fromkeys(ids, partial))
    if not found.ids.size:
        reasons = {k: n for left in found.left_out.values() for k, n in left.items()}
        told = "; ".join(f"{n:,}: {k}" for k, n in reasons.items()) or "there are none"
        raise InputError(f"None of the results counts, so there is no table to make ({told}).")
    report = {"runs": ids, "notes": ["The table holds results of evaluations alone."]}
    saved = store.tables.save(name, empty, upload_sha=None, decisions={}, report=report, model=models[0], synthetic=synthetic, who=who)
    for run_id in ids:
        saved = store.tables.count_run(saved.id, run_id, partial=partial, who=who)
    return saved


def moved(
    store: Store,
    table: SavedTable | str,
    run: Evaluated | str,
    params: ScoringParameters,
    settings: Settings,
    *,
    top: int = DEFAULT_TOP,
    mode: str | None = None,
    where: Mapping[str, Sequence[str]] | None = None,
    scope: Scope = IN_ODD,
) -> Moved:
    """What changed among the gaps when a run was counted: both rankings side by side.

    Raises:
        InputError: The run was never counted into the table, or nothing was tested before or after it.
    """
    table_id, run_id = table if isinstance(table, str) else table.id, _run_id(run)
    before, after = _around(store.tables.versions(table_id), run_id)
    seeds = [store.tables.load(table_id, v.seq if v is not None else 0) for v in (before, after)]
    lists = [rank(s, params, settings, mode=mode, top=top, where=where, scope=scope) if len(s.n) else None for s in seeds]
    places = [_places(r) for r in lists]
    odd = seeds[0].odd
    space = candidate_space(odd, where or {}, scope)
    tested = [_observed(r) for r in lists]
    new = [i for i in sorted(tested[1] - tested[0]) if space.contains(odd.codec.decode([i]))[0]]
    both = [i for i in places[0] if i in places[1]]

    def shifts(ids: Sequence[int]) -> tuple[Shift, ...]:
        names = odd.codec.names(odd.codec.decode(np.array(ids, dtype=np.int64))) if len(ids) else []
        out = []
        for i, values in zip(ids, names, strict=True):
            (rb, pb), (ra, pa) = places[0].get(i, (None, None)), places[1].get(i, (None, None))
            out.append(Shift(dict(zip(odd.names, values, strict=True)), i, rb, ra, pb, pa))
        return tuple(out)

    missing = [r.ranking.search.candidates if r is not None else None for r in lists]
    return Moved(
        run_id=run_id,
        version_before=before.seq if before is not None else 0,
        version_after=after.seq,
        digest_before=seeds[0].digest,
        digest_after=seeds[1].digest,
        top=top,
        filled=shifts(sorted(new, key=lambda i: places[0].get(i, (10**9, 0.0))[0])),
        entered=shifts([i for i in places[1] if i not in places[0]]),
        left=shifts([i for i in places[0] if i not in places[1] and i not in tested[1]]),
        changed=shifts([i for i in both if places[0][i][0] != places[1][i][0]]),
        unchanged=sum(places[0][i][0] == places[1][i][0] for i in both),
        missing_before=missing[0],
        missing_after=missing[1],
        samples=seeds[1].total - seeds[0].total,
    )


def _run_id(run: Evaluated | str) -> str:
    return run if isinstance(run, str) else run.run_id


def _around(versions: Sequence[TableVersion], run_id: str) -> tuple[TableVersion | None, TableVersion]:
    """The versions before and after the last time that a run was counted."""
    places = [i for i, v in enumerate(versions) if v.kind == "counted" and v.run_id == run_id]
    if not places:
        raise InputError(f"The run {run_id} was never counted into this table, so nothing moved.")
    return (versions[places[-1] - 1] if places[-1] else None), versions[places[-1]]


def _observed(result: RankResult | None) -> set[int]:
    return set() if result is None else set(result.ranking.evidence.observed.ids.tolist())


def _places(result: RankResult | None) -> dict[int, tuple[int, float]]:
    """Rank and score by slice."""
    if result is None:
        return {}
    r = result.ranking
    return {int(i): (k + 1, float(p)) for k, (i, p) in enumerate(zip(r.ids, r.phi, strict=True))}
