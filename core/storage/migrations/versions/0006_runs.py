"""Runs of the controller: what was asked, where its record lies, and every state that it was in."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the tables of runs."""
    moment = sa.DateTime(timezone=True)
    sequence = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "runs",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("table_id", sa.String(16), nullable=True),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.ForeignKeyConstraint(["table_id"], ["seed_tables.id"], name="fk_runs_table_id"),
    )
    op.create_table(
        "run_events",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("run_id", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_run_events"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_events_run_id"),
    )
    op.create_index("ix_run_events_run_id", "run_events", ["run_id"])
