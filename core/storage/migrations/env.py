"""Alembic's entry point: migrates over the connection, and inside the transaction, that `core.storage.migrate` hands in."""

from __future__ import annotations

from alembic import context

from core.storage.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
context.run_migrations()
