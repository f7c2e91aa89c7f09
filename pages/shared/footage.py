"""The footage in use: which imported manifest samples are looked for in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.acquisition.datastore import Datastore

_KEY = "datastore"


def opened() -> Datastore | None:
    """The footage in use, None if there is none."""
    return None
