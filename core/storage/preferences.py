"""What the workspace remembers between visits, such as the table that was last looked at.

Values are appended and the newest counts; setting the same value again appends nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from core.storage import schema
from core.storage.database import Database

_t = schema.preferences.c
_UNSET = object()


@dataclass(frozen=True, eq=False)
class Preferences:
    """Small JSON values by key."""

    db: Database

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, `default` if it was never set."""
        with self.db.read() as c:
            value = _value(c, key)
        return default if value is _UNSET else value

    def set(self, key: str, value: Any) -> None:
        """Give a key a value; it must be JSON-ready."""
        with self.db.write(lock="preferences") as c:
            found = _value(c, key)
            if found is _UNSET or json.dumps(found) != json.dumps(value):  # 1 == True == 1.0 in Python, but not in JSON
                c.execute(schema.preferences.insert().values(key=key, value=value, set_at=schema.now()))

    def all(self) -> dict[str, Any]:
        """Every key with its value."""
        newest = sa.select(sa.func.max(_t.seq)).group_by(_t.key)
        with self.db.read() as c:
            return {r.key: r.value for r in c.execute(sa.select(_t.key, _t.value).where(_t.seq.in_(newest)).order_by(_t.key))}


def _value(c: sa.Connection, key: str) -> Any:
    row = c.execute(sa.select(_t.value).where(_t.key == key).order_by(_t.seq.desc()).limit(1)).first()
    return _UNSET if row is None else row.value
