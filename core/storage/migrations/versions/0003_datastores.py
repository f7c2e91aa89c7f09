"""Datastores of footage."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables."""
    moment = sa.DateTime(timezone=True)
    sequence = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "datastores",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("folder", sa.String(100), nullable=False),
        sa.Column("odd_hash", sa.String(64), nullable=False),
        sa.Column("source_sha", sa.String(64), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("synthetic", sa.Boolean(), nullable=False),
        sa.Column("root", sa.Text(), nullable=False),
        sa.Column("provenance", sa.Text(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_datastores"),
        sa.ForeignKeyConstraint(["odd_hash"], ["odds.hash"], name="fk_datastores_odd_hash"),
    )
    op.create_index("ix_datastores_digest", "datastores", ["digest"])
    op.create_table(
        "datastore_events",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("datastore_id", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_datastore_events"),
        sa.ForeignKeyConstraint(["datastore_id"], ["datastores.id"], name="fk_datastore_events_datastore_id"),
    )
    op.create_index("ix_datastore_events_datastore_id", "datastore_events", ["datastore_id"])
