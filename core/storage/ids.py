"""Short ids that fit into a URL."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")


def is_id(text: str) -> bool:
    """Whether a text can be an id or a hash at all; what came out of an address bar may be anything, even what no database takes."""
    return _ID.fullmatch(text) is not None


def new_id(c: sa.Connection, column: sa.ColumnElement[Any]) -> str:
    """Eight hex digits that do not stand in the column yet."""
    while True:
        found = uuid4().hex[:8]
        if c.execute(sa.select(column).where(column == found).limit(1)).first() is None:
            return found
