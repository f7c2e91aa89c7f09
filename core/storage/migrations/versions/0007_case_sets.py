"""Sets of cases: where their folder lies and what became of them."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Make the tables of case sets."""
    moment = sa.DateTime(timezone=True)
    sequence = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "case_sets",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("cases", sa.BigInteger(), nullable=False),
        sa.Column("synthetic", sa.Boolean(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_case_sets"),
    )
    op.create_index("ix_case_sets_digest", "case_sets", ["digest"])
    op.create_table(
        "case_set_events",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("set_id", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_case_set_events"),
        sa.ForeignKeyConstraint(["set_id"], ["case_sets.id"], name="fk_case_set_events_set_id"),
    )
    op.create_index("ix_case_set_events_set_id", "case_set_events", ["set_id"])
