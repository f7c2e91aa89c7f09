"""Tags of media and what people said of them."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the tables."""
    moment = sa.DateTime(timezone=True)
    sequence = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "media_tags",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("media", sa.String(64), nullable=False),
        sa.Column("odd_hash", sa.String(64), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_sha", sa.String(64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_media_tags"),
        sa.ForeignKeyConstraint(["odd_hash"], ["odds.hash"], name="fk_media_tags_odd_hash"),
        sa.UniqueConstraint("key", name="uq_media_tags_key"),
    )
    op.create_index("ix_media_tags_media", "media_tags", ["media"])
    op.create_table(
        "verification_queues",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("odd_hash", sa.String(64), nullable=False),
        sa.Column("manifest", sa.Text(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_verification_queues"),
        sa.ForeignKeyConstraint(["odd_hash"], ["odds.hash"], name="fk_verification_queues_odd_hash"),
    )
    op.create_table(
        "verification_items",
        sa.Column("queue_id", sa.String(16), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("media", sa.String(64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("queue_id", "number", name="pk_verification_items"),
        sa.ForeignKeyConstraint(["queue_id"], ["verification_queues.id"], name="fk_verification_items_queue_id"),
    )
    op.create_table(
        "verification_events",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("queue_id", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_verification_events"),
        sa.ForeignKeyConstraint(["queue_id"], ["verification_queues.id"], name="fk_verification_events_queue_id"),
    )
    op.create_index("ix_verification_events_queue_id", "verification_events", ["queue_id"])
    op.create_table(
        "verification_answers",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("statement", sa.String(64), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("queue_id", sa.String(16), nullable=True),
        sa.Column("media", sa.String(64), nullable=False),
        sa.Column("attribute", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("answer", sa.String(20), nullable=False),
        sa.Column("batch", sa.String(32), nullable=False),
        sa.Column("undoes", sa.String(32), nullable=True),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_verification_answers"),
        sa.ForeignKeyConstraint(["queue_id"], ["verification_queues.id"], name="fk_verification_answers_queue_id"),
        sa.UniqueConstraint("statement", "who", "number", name="uq_verification_answers_statement_who_number"),
    )
    op.create_index("ix_verification_answers_media", "verification_answers", ["media"])
    op.create_index("ix_verification_answers_queue_id", "verification_answers", ["queue_id"])
