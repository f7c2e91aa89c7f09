"""Results kept beside the pages: computed once per table and setting, by the same operators as the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from core import operators
from core.operators import RankResult, Triage
from core.scoring import ScoringParameters
from core.settings import Settings
from core.storage import SavedTable
from pages.shared import state

Filter = tuple[tuple[str, tuple[str, ...]], ...]


def as_filter(where: Mapping[str, Sequence[str]]) -> Filter:
    """A filter as a key of a cache; dimensions without a choice are left out."""
    return tuple((d, tuple(v)) for d, v in where.items() if v)


def ranking(table: SavedTable, params: ScoringParameters, mode: str | None, top: int, where: Filter = ()) -> RankResult:
    """The ranking of a saved table; shows progress while texts are embedded for the first time.

    Raises:
        InputError: See `core.operators.rank`.
    """
    return _ranking(table.digest, _Input(table), params, mode, top, where)


def triage(table: SavedTable, where: Filter = ()) -> Triage:
    """Failures and coverage of a saved table."""
    return _triage(table.digest, _Input(table), where)


class _Input:
    """A saved table as an argument that is no part of the key: the digest is."""

    def __init__(self, table: SavedTable) -> None:
        self.table = table


_UNKEYED: dict[Any, Any] = {_Input: lambda _: None, ScoringParameters: repr}


@st.cache_resource(show_spinner="Ranking every missing slice", max_entries=64, hash_funcs=_UNKEYED)
def _ranking(digest: str, given: _Input, params: ScoringParameters, mode: str | None, top: int, where: Filter) -> RankResult:
    del digest  # only a key
    seed, source = state.seed_table(given.table), provenance(given.table)
    return operators.rank(seed, params, Settings.from_environment(), mode=mode, top=top, where=dict(where), source=source)


@st.cache_resource(show_spinner=False, max_entries=64, hash_funcs=_UNKEYED)
def _triage(digest: str, given: _Input, where: Filter) -> Triage:
    del digest  # only a key
    return operators.triage(state.seed_table(given.table), dict(where))


def provenance(table: SavedTable) -> dict[str, Any]:
    """What is known of the file behind a table: name, counts, exclusions."""
    return dict(state.store().tables.provenance(table.id).report)
