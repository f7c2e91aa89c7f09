"""Runs of the controller."""

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the tables."""
