"""Tables of the controller's runs."""

from __future__ import annotations

import sqlalchemy as sa

from core.storage.schema import JsonText, SequenceNumber, UtcTime, metadata

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("who", JsonText, nullable=False),
    sa.Column("query", JsonText, nullable=False),
    sa.Column("table_id", sa.String(16), sa.ForeignKey("seed_tables.id"), nullable=True),
    sa.Column("folder", JsonText, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
)
"""Questions that were asked, each with the folder of its record."""

run_events = sa.Table(
    "run_events",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("run_id", sa.String(16), sa.ForeignKey("runs.id"), nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("state", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
    sa.Index("ix_run_events_run_id", "run_id"),
)
"""Every state that a run was in; the newest counts."""
