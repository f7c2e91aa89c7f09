"""Calls to models, results, and versions of seed tables."""

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the tables."""
