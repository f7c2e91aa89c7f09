"""Annotators, and what they say of cases."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Make the tables of labels."""
    moment = sa.DateTime(timezone=True)
    sequence = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "annotators",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("salt", sa.String(32), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("experience_years", sa.Double(), nullable=False),
        sa.Column("researcher", sa.Boolean(), nullable=False),
        sa.Column("registered_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_annotators"),
    )
    op.create_table(
        "label_events",
        sa.Column("number", sequence, nullable=False),
        sa.Column("uid", sa.String(64), nullable=False),
        sa.Column("annotator_id", sa.String(16), nullable=False),
        sa.Column("set_id", sa.String(16), nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("label", sa.String(1), nullable=True),
        sa.Column("slot", sa.String(40), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("guidance_version", sa.Text(), nullable=False),
        sa.Column("interface_version", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_label_events"),
        sa.ForeignKeyConstraint(["annotator_id"], ["annotators.id"], name="fk_label_events_annotator_id"),
        sa.ForeignKeyConstraint(["set_id"], ["case_sets.id"], name="fk_label_events_set_id"),
        sa.UniqueConstraint("uid", name="uq_label_events_uid"),
        sa.UniqueConstraint("annotator_id", "set_id", "case_id", "seq", name="uq_label_events_annotator_id_set_id_case_id_seq"),
    )
    op.create_index("ix_label_events_set_id", "label_events", ["set_id"])
