"""Calls to models, results per sample, and versions of seed tables."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the tables."""
    moment = sa.DateTime(timezone=True)
    sequence = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "model_calls",
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("response", sa.Text(), nullable=False),
        sa.Column("usage", sa.Text(), nullable=False),
        sa.Column("latency", sa.Double(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_model_calls"),
    )
    op.create_table(
        "evaluations",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("manifest", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_evaluations"),
    )
    op.create_index("ix_evaluations_run_id", "evaluations", ["run_id"])
    op.create_table(
        "evaluation_results",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("sample", sa.String(64), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("scored_by", sa.String(20), nullable=False),
        sa.Column("verdict", sa.String(20), nullable=False),
        sa.Column("requested", sa.Text(), nullable=False),
        sa.Column("realised", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_evaluation_results"),
        sa.UniqueConstraint("run_id", "item_id", "version", name="uq_evaluation_results_run_id_item_id_version"),
    )
    op.create_table(
        "seed_table_versions",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("table_id", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("partial", sa.Boolean(), nullable=False),
        sa.Column("results_seq", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_seed_table_versions"),
        sa.ForeignKeyConstraint(["table_id"], ["seed_tables.id"], name="fk_seed_table_versions_table_id"),
    )
    op.create_index("ix_seed_table_versions_table_id", "seed_table_versions", ["table_id"])
