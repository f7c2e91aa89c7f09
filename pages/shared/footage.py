"""The footage in use: which imported manifest samples are looked for in."""

from __future__ import annotations

import streamlit as st

from core import operators
from core.acquisition.datastore import Datastore
from core.storage import SavedDatastore
from pages.shared import state

_KEY = "datastore"


def saved() -> tuple[SavedDatastore, ...]:
    """The imported manifests, newest first, without those in the bin."""
    return tuple(state.store().datastores.list())


def current() -> SavedDatastore | None:
    """The one in use: the last one chosen, else the newest."""
    known = {x.id: x for x in saved()}
    return known.get(state.store().preferences.get(_KEY, ""), next(iter(known.values()), None))


def choose(datastore_id: str) -> None:
    """Look for samples in this one from now on."""
    state.store().preferences.set(_KEY, datastore_id)


def opened() -> Datastore | None:
    """The footage in use, None if there is none.

    Raises:
        InputError: Its files are gone or damaged.
    """
    used = current()
    return _open(state.store().db.name, used.id, used.digest, used.name) if used is not None else None


@st.cache_resource(show_spinner=False, max_entries=4)
def _open(database: str, datastore_id: str, digest: str, name: str) -> Datastore:
    del database, digest, name  # only keys of the cache
    return operators.open_datastore(state.store(), datastore_id)
