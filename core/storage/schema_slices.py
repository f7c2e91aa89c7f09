"""Tables of error slices."""

from __future__ import annotations

import sqlalchemy as sa

from core.storage.schema import JsonText, SequenceNumber, UtcTime, metadata

detection_sets = sa.Table(
    "detection_sets",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False, index=True),
    sa.Column("truth_digest", sa.String(64), nullable=False, index=True),
    sa.Column("folder", JsonText, nullable=False),
    sa.Column("model", JsonText, nullable=False),
    sa.Column("task", sa.String(20), nullable=False),
    sa.Column("images", sa.BigInteger, nullable=False),
    sa.Column("truth", sa.BigInteger, nullable=False),
    sa.Column("predictions", sa.BigInteger, nullable=False),
    sa.Column("synthetic", sa.Boolean, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
)
"""One model's predictions on one set of images; boxes lie in a folder, names and whether a set is deleted stand in the events."""

detection_set_events = sa.Table(
    "detection_set_events",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("set_id", sa.String(16), sa.ForeignKey("detection_sets.id"), nullable=False, index=True),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("name", JsonText, nullable=False),
    sa.Column("who", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
)
"""What was done to a set: created, renamed, deleted, restored; each with the name that it had afterwards."""

slice_hypotheses = sa.Table(
    "slice_hypotheses",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("set_id", sa.String(16), sa.ForeignKey("detection_sets.id"), nullable=False, index=True),
    sa.Column("hypothesis_id", JsonText, nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("document", JsonText, nullable=False),
    sa.Column("who", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
)
"""Hypotheses about a set beyond the library: added and retracted, never changed."""

slice_judgements = sa.Table(
    "slice_judgements",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("uid", sa.String(64), nullable=False, unique=True),
    sa.Column("set_id", sa.String(16), sa.ForeignKey("detection_sets.id"), nullable=False, index=True),
    sa.Column("hypothesis_id", JsonText, nullable=False),
    sa.Column("unit_id", JsonText, nullable=False),
    sa.Column("verdict", sa.String(20), nullable=False),
    sa.Column("note", JsonText, nullable=False),
    sa.Column("payload", JsonText, nullable=False),
    sa.Column("who", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
)
"""What people say of a crop, or of a slice as a whole (no unit): appended only."""
