"""Tables of the datastores of footage."""

from __future__ import annotations

import sqlalchemy as sa

from core.storage.schema import JsonText, SequenceNumber, UtcTime, metadata

datastores = sa.Table(
    "datastores",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False, index=True),
    sa.Column("folder", sa.String(100), nullable=False),
    sa.Column("odd_hash", sa.String(64), sa.ForeignKey("odds.hash"), nullable=False),
    sa.Column("source_sha", sa.String(64), nullable=False),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("synthetic", sa.Boolean, nullable=False),
    sa.Column("root", JsonText, nullable=False),
    sa.Column("provenance", JsonText, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
)
"""Imported manifests of footage; their rows lie in a folder, their names and whether they are deleted stand in the events."""

datastore_events = sa.Table(
    "datastore_events",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("datastore_id", sa.String(16), sa.ForeignKey("datastores.id"), nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("name", JsonText, nullable=False),
    sa.Column("who", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
    sa.Index("ix_datastore_events_datastore_id", "datastore_id"),
)
"""What was done to a datastore: created, renamed, deleted, restored; each with the name that it had afterwards."""
