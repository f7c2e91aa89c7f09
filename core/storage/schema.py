"""The tables of the store, as the newest migration leaves them.

Nothing here is ever updated or deleted: what changes in a person's eyes (a name, a draft, a preference) is a further row,
and the newest row counts. So every undo is possible, and two people never overwrite each other.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

VERSION_TABLE = "oddyssey_version"
"""Own name of Alembic's version table, so that a PostgreSQL database may be shared with other products."""


class JsonText(TypeDecorator[Any]):
    """Any JSON value, kept as ASCII text: loss-free for every string and every order of keys, the same on all back ends.

    PostgreSQL's own JSON types refuse the character U+0000 or reorder keys. NaN is refused with a ValueError.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str:
        """The value as JSON text."""
        return json.dumps(value, allow_nan=False, separators=(",", ":"))

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """The value of the JSON text."""
        return json.loads(value)


class UtcTime(TypeDecorator[datetime]):
    """A moment: aware and UTC in Python, also on SQLite, which keeps no time zone."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """The moment in UTC.

        Raises:
            ValueError: The time has no time zone.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("A stored time needs a time zone.")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """The moment in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def now() -> datetime:
    """The present moment, UTC."""
    return datetime.now(UTC)


SequenceNumber = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # SQLite numbers rows by itself only for INTEGER

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

odds = sa.Table(
    "odds",
    metadata,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("document", JsonText, nullable=False),
    sa.Column("source", sa.String(20), nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
)
"""ODD documents by their hash."""

files = sa.Table(
    "files",
    metadata,
    sa.Column("sha256", sa.String(64), primary_key=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("stored_at", UtcTime, nullable=False),
)
"""Contents that lie in the folder of uploads."""

uploads = sa.Table(
    "uploads",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("sha256", sa.String(64), sa.ForeignKey("files.sha256"), nullable=False),
    sa.Column("name", JsonText, nullable=False),
    sa.Column("uploaded_at", UtcTime, nullable=False),
    sa.UniqueConstraint("sha256", "name"),
)
"""Names under which a content was uploaded."""

drafts = sa.Table(
    "drafts",
    metadata,
    sa.Column("draft_id", sa.String(64), primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("upload_sha", sa.String(64), sa.ForeignKey("files.sha256"), nullable=False),
    sa.Column("decisions", JsonText, nullable=False),
    sa.Column("closed", sa.Boolean, nullable=False),
    sa.Column("saved_at", UtcTime, nullable=False),
)
"""Every version of every unfinished import."""

seed_tables = sa.Table(
    "seed_tables",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("odd_hash", sa.String(64), sa.ForeignKey("odds.hash"), nullable=False),
    sa.Column("odd_source", sa.String(20), nullable=False),
    sa.Column("upload_sha", sa.String(64), sa.ForeignKey("files.sha256"), nullable=True),
    sa.Column("model", JsonText, nullable=False),
    sa.Column("synthetic", sa.Boolean, nullable=False),
    sa.Column("n_assumed", sa.Boolean, nullable=False),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("total", sa.BigInteger, nullable=False),
    sa.Column("decisions", JsonText, nullable=False),
    sa.Column("report", JsonText, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
)
"""Seed tables as saved; their names and whether they are deleted stand in the events."""

seed_table_events = sa.Table(
    "seed_table_events",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("table_id", sa.String(16), sa.ForeignKey("seed_tables.id"), nullable=False, index=True),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("name", JsonText, nullable=False),
    sa.Column("who", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
)
"""What was done to a seed table: created, renamed, deleted, restored; each with the name that it had afterwards."""

preferences = sa.Table(
    "preferences",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("key", sa.String(200), nullable=False, index=True),
    sa.Column("value", JsonText, nullable=False),
    sa.Column("set_at", UtcTime, nullable=False),
)
"""Every value that a preference ever had."""

campaigns = sa.Table(
    "campaigns",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("table_id", sa.String(16), sa.ForeignKey("seed_tables.id"), nullable=False),
    sa.Column("odd_hash", sa.String(64), sa.ForeignKey("odds.hash"), nullable=False, index=True),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("manifest", JsonText, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
)
"""Test plans as saved, with all that they were made from; their names and whether they are deleted stand in the events."""

campaign_slices = sa.Table(
    "campaign_slices",
    metadata,
    sa.Column("campaign_id", sa.String(16), sa.ForeignKey("campaigns.id"), primary_key=True),
    sa.Column("slice_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("rank", sa.BigInteger, nullable=False),
    sa.Column("slice_values", JsonText, nullable=False),
    sa.Column("samples", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.Double, nullable=False),
    sa.Column("phi", sa.Double, nullable=False),
    sa.Column("eps_hat", sa.Double, nullable=False),
    sa.UniqueConstraint("campaign_id", "rank"),
)
"""The slices of a campaign."""

campaign_events = sa.Table(
    "campaign_events",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("campaign_id", sa.String(16), sa.ForeignKey("campaigns.id"), nullable=False, index=True),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("name", JsonText, nullable=False),
    sa.Column("who", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
)
"""What was done to a campaign: created, renamed, deleted, restored; each with the name that it had afterwards."""

campaign_status = sa.Table(
    "campaign_status",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("campaign_id", sa.String(16), nullable=False),
    sa.Column("slice_id", sa.BigInteger, nullable=False),
    sa.Column("status", sa.String(20), nullable=False),
    sa.Column("note", JsonText, nullable=False),
    sa.Column("who", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
    sa.ForeignKeyConstraint(["campaign_id", "slice_id"], ["campaign_slices.campaign_id", "campaign_slices.slice_id"]),
    sa.Index("ix_campaign_status_campaign_id_slice_id", "campaign_id", "slice_id"),
)
"""Every status that a slice of a campaign ever had; the newest counts."""
