"""Detections to find error slices in, hypotheses about them, and what people say of slices and crops."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the tables of error slices."""
    moment = sa.DateTime(timezone=True)
    sequence = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "detection_sets",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("truth_digest", sa.String(64), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("task", sa.String(20), nullable=False),
        sa.Column("images", sa.BigInteger(), nullable=False),
        sa.Column("truth", sa.BigInteger(), nullable=False),
        sa.Column("predictions", sa.BigInteger(), nullable=False),
        sa.Column("synthetic", sa.Boolean(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_detection_sets"),
    )
    op.create_index("ix_detection_sets_digest", "detection_sets", ["digest"])
    op.create_index("ix_detection_sets_truth_digest", "detection_sets", ["truth_digest"])
    op.create_table(
        "detection_set_events",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("set_id", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_detection_set_events"),
        sa.ForeignKeyConstraint(["set_id"], ["detection_sets.id"], name="fk_detection_set_events_set_id"),
    )
    op.create_index("ix_detection_set_events_set_id", "detection_set_events", ["set_id"])
    op.create_table(
        "slice_hypotheses",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("set_id", sa.String(16), nullable=False),
        sa.Column("hypothesis_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_slice_hypotheses"),
        sa.ForeignKeyConstraint(["set_id"], ["detection_sets.id"], name="fk_slice_hypotheses_set_id"),
    )
    op.create_index("ix_slice_hypotheses_set_id", "slice_hypotheses", ["set_id"])
    op.create_table(
        "slice_judgements",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("uid", sa.String(64), nullable=False),
        sa.Column("set_id", sa.String(16), nullable=False),
        sa.Column("hypothesis_id", sa.Text(), nullable=False),
        sa.Column("unit_id", sa.Text(), nullable=False),
        sa.Column("verdict", sa.String(20), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_slice_judgements"),
        sa.UniqueConstraint("uid", name="uq_slice_judgements_uid"),
        sa.ForeignKeyConstraint(["set_id"], ["detection_sets.id"], name="fk_slice_judgements_set_id"),
    )
    op.create_index("ix_slice_judgements_set_id", "slice_judgements", ["set_id"])
