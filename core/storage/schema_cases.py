"""Tables of the sets of cases."""

from __future__ import annotations

import sqlalchemy as sa

from core.storage.schema import JsonText, SequenceNumber, UtcTime, metadata

case_sets = sa.Table(
    "case_sets",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False, index=True),
    sa.Column("folder", JsonText, nullable=False),
    sa.Column("cases", sa.BigInteger, nullable=False),
    sa.Column("synthetic", sa.Boolean, nullable=False),
    sa.Column("report", JsonText, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
)
"""Imported cases of trajectories; they lie in a folder, their names and whether they are deleted stand in the events."""

case_set_events = sa.Table(
    "case_set_events",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("set_id", sa.String(16), sa.ForeignKey("case_sets.id"), nullable=False, index=True),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("name", JsonText, nullable=False),
    sa.Column("who", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
)
"""What was done to a set: created, renamed, deleted, restored; each with the name that it had afterwards."""
