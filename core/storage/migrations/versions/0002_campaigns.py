"""Campaigns: test plans with their slices, their names, and the status of each slice."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables of campaigns."""
    moment = sa.DateTime(timezone=True)
    sequence = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "campaigns",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("table_id", sa.String(16), nullable=False),
        sa.Column("odd_hash", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("manifest", sa.Text(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_campaigns"),
        sa.ForeignKeyConstraint(["table_id"], ["seed_tables.id"], name="fk_campaigns_table_id"),
        sa.ForeignKeyConstraint(["odd_hash"], ["odds.hash"], name="fk_campaigns_odd_hash"),
    )
    op.create_index("ix_campaigns_odd_hash", "campaigns", ["odd_hash"])
    op.create_table(
        "campaign_slices",
        sa.Column("campaign_id", sa.String(16), nullable=False),
        sa.Column("slice_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("rank", sa.BigInteger(), nullable=False),
        sa.Column("slice_values", sa.Text(), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.Double(), nullable=False),
        sa.Column("phi", sa.Double(), nullable=False),
        sa.Column("eps_hat", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("campaign_id", "slice_id", name="pk_campaign_slices"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name="fk_campaign_slices_campaign_id"),
        sa.UniqueConstraint("campaign_id", "rank", name="uq_campaign_slices_campaign_id_rank"),
    )
    op.create_table(
        "campaign_events",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("campaign_id", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_campaign_events"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name="fk_campaign_events_campaign_id"),
    )
    op.create_index("ix_campaign_events_campaign_id", "campaign_events", ["campaign_id"])
    op.create_table(
        "campaign_status",
        sa.Column("seq", sequence, nullable=False),
        sa.Column("campaign_id", sa.String(16), nullable=False),
        sa.Column("slice_id", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_campaign_status"),
        sa.ForeignKeyConstraint(
            ["campaign_id", "slice_id"],
            ["campaign_slices.campaign_id", "campaign_slices.slice_id"],
            name="fk_campaign_status_campaign_id",
        ),
    )
    op.create_index("ix_campaign_status_campaign_id_slice_id", "campaign_status", ["campaign_id", "slice_id"])
