"""Results kept beside the pages: computed once per table and setting, by the same operators as the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from core import operators
from core.operators import RankResult, Triage
from core.scoring import IN_ODD, Scope, ScoringParameters
from core.similarity import Agreement
from core.storage import SavedTable
from pages.shared import jobs, state
from pages.shared.jobs import Job

PATIENCE = 60.0
"""Seconds that a page lets a search run before it shows what was found, with how far from exact it may be."""
Filter = tuple[tuple[str, tuple[str, ...]], ...]


def as_filter(where: Mapping[str, Sequence[str]]) -> Filter:
    """A filter as a key of a cache; dimensions without a choice are left out."""
    return tuple((d, tuple(v)) for d, v in where.items() if v)


def ranking(
    table: SavedTable,
    params: ScoringParameters,
    mode: str | None,
    top: int,
    where: Filter = (),
    show: Callable[[Job], None] | None = None,
    scope: Scope = IN_ODD,
    plausible_only: bool = False,
    floor: float | None = None,
) -> RankResult:
    """The ranking of a saved table.

    Args:
        table: The saved table.
        params: Parameters and support policy.
        mode: Similarity mode, None for the default of the ODD.
        top: Slices to return at most.
        where: Base values that candidates may have.
        show: Shows progress while texts are embedded for the first time; a bar by default.
        scope: Inside the ODD, outside it, or both.
        plausible_only: Whether combinations that the ODD calls implausible are left out.
        floor: Least ILD of the list, None for none.

    Raises:
        InputError: See `core.operators.rank`.
    """
    seed, source, settings = state.seed_table(table), provenance(table), state.settings()

    def work(report: jobs.Report) -> RankResult:
        return operators.rank(
            seed,
            params,
            settings,
            mode=mode,
            top=top,
            where=dict(where),
            scope=scope,
            plausible_only=plausible_only,
            time_limit=PATIENCE,
            source=source,
            progress=report,
            floor=floor,
        )

    key = ("rank", state.store().db.name, settings, table.id, table.digest, params, mode, top, where, scope, plausible_only, floor)
    result: RankResult = _shown(key, work, show)
    return result


def agreement(table: SavedTable, params: ScoringParameters, mode: str, other: str) -> Agreement:
    """How far two similarity modes agree on a saved table.

    Raises:
        InputError, MissingPackageError: See `core.operators.compare_modes`.
    """
    seed, settings = state.seed_table(table), state.settings()

    def work(report: jobs.Report) -> Agreement:
        return operators.compare_modes(seed, params, settings, mode, other, report)

    support = (params.min_support, params.provisional)
    result: Agreement = _shown(("agreement", state.store().db.name, settings, table.id, table.digest, support, mode, other), work)
    return result


def triage(table: SavedTable, where: Filter = ()) -> Triage:
    """Failures and coverage of a saved table."""
    return _triage(state.store().db.name, table.digest, _Input(table), where)


def _shown(key: tuple[Any, ...], work: Callable[[jobs.Report], Any], show: Callable[[Job], None] | None = None) -> Any:
    """The result of a job, with a bar where the page shows nothing of its own."""
    if show is not None:
        return jobs.outcome(key, work, show)
    place = st.empty()
    result = jobs.outcome(key, work, lambda job: bar(job, place))
    place.empty()
    return result


def bar(job: Job, place: Any) -> None:
    """Progress of a job: how much of its present step is done."""
    share = min(job.done / job.total, 1.0) if job.total else 0.0
    text = f"{job.done:,} of {job.total:,} texts and slices in this step are done." if job.total else "Reading the table and the encoder."
    place.progress(share, text=text)


class _Input:
    """A saved table as an argument that is no part of the key: the digest is."""

    def __init__(self, table: SavedTable) -> None:
        self.table = table


@st.cache_resource(show_spinner=False, max_entries=64, hash_funcs={_Input: lambda _: None})
def _triage(database: str, digest: str, given: _Input, where: Filter) -> Triage:
    del database, digest  # only keys
    return operators.triage(state.seed_table(given.table), dict(where))


def provenance(table: SavedTable) -> dict[str, Any]:
    """What is known of the file behind a table: name, counts, exclusions."""
    return dict(state.store().tables.provenance(table.id).report)
