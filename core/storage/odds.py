"""ODD documents, kept for ever under their hash, so that an old result can always be read with its own ODD."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from core.errors import InputError
from core.odd import Odd, from_document, to_document
from core.storage import schema
from core.storage.database import Database
from core.storage.ids import is_id


@dataclass(frozen=True, eq=False)
class Odds:
    """The ODDs of the workspace."""

    db: Database

    def put(self, odd: Odd) -> str:
        """Keep an ODD; the same document again changes nothing.

        Returns:
            Its hash.

        Raises:
            InputError: The document would not read back the same, so results could not be reproduced from it.
        """
        with self.db.write() as c:
            return self.put_within(c, odd)

    def put_within(self, c: sa.Connection, odd: Odd) -> str:
        """`put` inside a transaction of the caller."""
        document = to_document(odd)
        if from_document(document, odd.source).hash != odd.hash:
            raise InputError(f'The ODD "{odd.name}" would read back as another one; remove spaces at the ends of its names.')
        row = {"hash": odd.hash, "document": document, "source": odd.source, "created_at": schema.now()}
        self.db.add_if_absent(c, schema.odds, row)
        return odd.hash

    def get(self, odd_hash: str, source: str | None = None) -> Odd:
        """The ODD of a hash.

        Args:
            odd_hash: As `put` gave it.
            source: Source to give the ODD instead of the one under which it was first kept; a source is not part of the hash.

        Raises:
            InputError: There is none, or the document no longer has its hash.
        """
        with self.db.read() as c:
            return self.get_within(c, odd_hash, source)

    def get_within(self, c: sa.Connection, odd_hash: str, source: str | None = None) -> Odd:
        """`get` inside a transaction of the caller."""
        row = c.execute(sa.select(schema.odds).where(schema.odds.c.hash == odd_hash)).first() if is_id(odd_hash) else None
        if row is None:
            raise InputError(f'No ODD with the hash "{odd_hash}" is kept in this workspace.')
        odd = _read(row)
        return odd if source is None else replace(odd, source=source)

    def all(self) -> tuple[Odd, ...]:
        """All ODDs, the oldest first.

        Raises:
            InputError: A document no longer has its hash.
        """
        with self.db.read() as c:
            rows = c.execute(sa.select(schema.odds).order_by(schema.odds.c.created_at, schema.odds.c.hash)).all()
        return tuple(_read(r) for r in rows)


def _read(row: sa.Row[Any]) -> Odd:
    odd = from_document(row.document, row.source)
    if odd.hash != row.hash:
        raise InputError(f'The stored ODD "{odd.name}" ({row.hash[:12]}) is damaged: its content has another hash. Restore a backup.')
    return odd
