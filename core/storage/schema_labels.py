"""Tables of those who label and of what they do; nothing in them is ever changed or removed."""

from __future__ import annotations

import sqlalchemy as sa

from core.storage.schema import JsonText, SequenceNumber, UtcTime, metadata

annotators = sa.Table(
    "annotators",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("salt", sa.String(32), nullable=False),
    sa.Column("name", JsonText, nullable=False),
    sa.Column("experience_years", sa.Double, nullable=False),
    sa.Column("researcher", sa.Boolean, nullable=False),
    sa.Column("registered_at", UtcTime, nullable=False),
)
"""People who label. The salt never leaves the server: names of cases in the browser are made with it."""

label_events = sa.Table(
    "label_events",
    metadata,
    sa.Column("number", SequenceNumber, primary_key=True),
    sa.Column("uid", sa.String(64), nullable=False, unique=True),
    sa.Column("annotator_id", sa.String(16), sa.ForeignKey("annotators.id"), nullable=False),
    sa.Column("set_id", sa.String(16), sa.ForeignKey("case_sets.id"), nullable=False, index=True),
    sa.Column("case_id", JsonText, nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("label", sa.String(1), nullable=True),
    sa.Column("slot", sa.String(40), nullable=False),
    sa.Column("payload", JsonText, nullable=False),
    sa.Column("guidance_version", JsonText, nullable=False),
    sa.Column("interface_version", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
    sa.UniqueConstraint("annotator_id", "set_id", "case_id", "seq"),
)
"""Every label, every one taken back, every comment, every choice of threats and every consensus."""
