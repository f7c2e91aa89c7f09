"""The workspace of a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from core.settings import Settings
from core.storage import Store, open_store


@contextmanager
def workspace() -> Iterator[Store]:
    """The store that the environment names, closed in the end."""
    store = open_store(Settings.from_environment())
    try:
        yield store
    finally:
        store.close()
