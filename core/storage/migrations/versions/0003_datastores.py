"""Datastores of footage."""

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables."""
