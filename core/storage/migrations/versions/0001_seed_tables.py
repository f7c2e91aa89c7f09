"""ODDs, uploads, drafts, seed tables with their events, preferences.

A migration is frozen once released, so it names plain column types and imports nothing of `core`. There is no way down:
a migration never drops what somebody has saved.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the first tables."""
    moment = sa.DateTime(timezone=True)
    sequence = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "odds",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("source", sa.String(20), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_odds"),
    )
    op.create_table(
        "files",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("stored_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_files"),
    )
    op.create_table(
        "uploads",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("uploaded_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_uploads"),
        sa.ForeignKeyConstraint(["sha256"], ["files.sha256"], name="fk_uploads_sha256"),
        sa.UniqueConstraint("sha256", "name", name="uq_uploads_sha256_name"),
    )
    op.create_table(
        "drafts",
        sa.Column("draft_id", sa.String(64), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("upload_sha", sa.String(64), nullable=False),
        sa.Column("decisions", sa.Text(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
        sa.Column("saved_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("draft_id", "version", name="pk_drafts"),
        sa.ForeignKeyConstraint(["upload_sha"], ["files.sha256"], name="fk_drafts_upload_sha"),
    )
    op.create_table(
        "seed_tables",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("odd_hash", sa.String(64), nullable=False),
        sa.Column("odd_source", sa.String(20), nullable=False),
        sa.Column("upload_sha", sa.String(64), nullable=True),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("synthetic", sa.Boolean(), nullable=False),
        sa.Column("n_assumed", sa.Boolean(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("decisions", sa.Text(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_seed_tables"),
        sa.ForeignKeyConstraint(["odd_hash"], ["odds.hash"], name="fk_seed_tables_odd_hash"),
        sa.ForeignKeyConstraint(["upload_sha"], ["files.sha256"], name="fk_seed_tables_upload_sha"),
    )
    op.create_table(
        "seed_table_events",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("table_id", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_seed_table_events"),
        sa.ForeignKeyConstraint(["table_id"], ["seed_tables.id"], name="fk_seed_table_events_table_id"),
    )
    op.create_index("ix_seed_table_events_table_id", "seed_table_events", ["table_id"])
    op.create_table(
        "preferences",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("set_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_preferences"),
    )
    op.create_index("ix_preferences_key", "preferences", ["key"])
