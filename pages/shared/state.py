"""The way from a page to the workspace. What is slow to open or read is kept for the process; nothing here is computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import streamlit as st

from core.seed_table.table import SeedTable
from core.settings import Settings
from core.storage import SavedTable, Store, open_store

_TABLE = "table"
"""Query parameter, session key and preference that name the table in use."""


def store() -> Store:
    """The workspace of this process, opened once.

    Raises:
        InputError: The workspace cannot be opened.
    """
    return _open(Settings.from_environment())


@st.cache_resource(show_spinner=False, hash_funcs={Settings: repr})
def _open(settings: Settings) -> Store:
    return open_store(settings)


def tables() -> tuple[SavedTable, ...]:
    """The saved tables, newest first, without those in the bin."""
    return tuple(sorted(store().tables.list(), key=lambda t: (t.changed_at, t.id), reverse=True))


def current_table() -> SavedTable | None:
    """The table in use: the one in the address (`?table=`), else this session's, else the last one chosen, else the newest."""
    known = {t.id: t for t in tables()}
    wanted = (st.query_params.get(_TABLE), st.session_state.get(_TABLE), store().preferences.get(_TABLE))
    return next((known[w] for w in wanted if w in known), next(iter(known.values()), None))


def choose_table(table_id: str) -> None:
    """Use a table from now on, in this session and when the app is opened again."""
    st.session_state[_TABLE] = table_id
    for key in (_TABLE, "rank", "campaign", "oracle"):  # a rank, an open campaign and an oracle belong to the table that is left
        st.query_params.pop(key, None)
    store().preferences.set(_TABLE, table_id)


def unknown_table() -> str:
    """The table that the address asks for if it is not in the workspace, else ""."""
    wanted = st.query_params.get(_TABLE, "")
    return "" if wanted in {t.id for t in tables()} else wanted


def pin(table: SavedTable) -> None:
    """Name the table in the address, so that it can be shared, and use it on other pages of this session too."""
    st.session_state[_TABLE] = table.id
    st.query_params[_TABLE] = table.id


def seed_table(table: SavedTable) -> SeedTable:
    """The slices of a saved table as it was when it was looked up; each content is read once."""
    return _load(store().db.name, table.id, table.digest, table.version)


@st.cache_resource(show_spinner=False, max_entries=8)
def _load(database: str, table_id: str, digest: str, _version: int) -> SeedTable:
    del database, digest  # only keys of the cache
    return store().tables.load(table_id, _version)  # not the newest: results may have been counted meanwhile


def settings() -> Settings:
    """Settings of this process."""
    return Settings.from_environment()


def workspace_folder() -> Path:
    """Where everything is kept."""
    return Settings.from_environment().home


def serial(key: str) -> list[Any]:
    """Which session speaks, and for the how manieth time: the browser may hear of two runs in the wrong order."""
    session, n = st.session_state.get(f"{key}.serial", (uuid4().hex[:8], 0))
    st.session_state[f"{key}.serial"] = (session, n + 1)
    return [session, n + 1]
