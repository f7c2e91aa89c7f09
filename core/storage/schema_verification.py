"""Tables of what models and people say about media."""

from __future__ import annotations

import sqlalchemy as sa

from core.storage.schema import JsonText, SequenceNumber, UtcTime, metadata

media_tags = sa.Table(
    "media_tags",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("key", sa.String(64), nullable=False),
    sa.Column("media", sa.String(64), nullable=False),
    sa.Column("odd_hash", sa.String(64), sa.ForeignKey("odds.hash"), nullable=False),
    sa.Column("model", JsonText, nullable=False),
    sa.Column("prompt_sha", sa.String(64), nullable=False),
    sa.Column("content", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
    sa.UniqueConstraint("key"),
    sa.Index("ix_media_tags_media", "media"),
)
"""What a model said of media: one row for each thing that was asked, whoever asks it again."""

verification_queues = sa.Table(
    "verification_queues",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("odd_hash", sa.String(64), sa.ForeignKey("odds.hash"), nullable=False),
    sa.Column("manifest", JsonText, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
)
"""Samples of media that people are asked about; their names and whether they are deleted stand in the events."""

verification_items = sa.Table(
    "verification_items",
    metadata,
    sa.Column("queue_id", sa.String(16), sa.ForeignKey("verification_queues.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("media", sa.String(64), nullable=False),
    sa.Column("content", JsonText, nullable=False),
)
"""The media of a queue, with what was said of them when it was drawn."""

verification_events = sa.Table(
    "verification_events",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("queue_id", sa.String(16), sa.ForeignKey("verification_queues.id"), nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("name", JsonText, nullable=False),
    sa.Column("who", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
    sa.Index("ix_verification_events_queue_id", "queue_id"),
)
"""What was done to a queue: created, renamed, deleted, restored; each with the name that it had afterwards."""

verification_answers = sa.Table(
    "verification_answers",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("statement", sa.String(64), nullable=False),
    sa.Column("who", JsonText, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("queue_id", sa.String(16), sa.ForeignKey("verification_queues.id"), nullable=True),
    sa.Column("media", sa.String(64), nullable=False),
    sa.Column("attribute", JsonText, nullable=False),
    sa.Column("value", JsonText, nullable=False),
    sa.Column("answer", sa.String(20), nullable=False),
    sa.Column("batch", sa.String(32), nullable=False),
    sa.Column("undoes", sa.String(32), nullable=True),
    sa.Column("at", UtcTime, nullable=False),
    sa.UniqueConstraint("statement", "who", "number"),
    sa.Index("ix_verification_answers_media", "media"),
    sa.Index("ix_verification_answers_queue_id", "queue_id"),
)
"""Every answer that a person ever gave to "this value is right for this media"; a person's newest one counts."""
