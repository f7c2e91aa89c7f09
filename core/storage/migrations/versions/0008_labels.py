"""Annotators, and what they say of cases."""

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Make the tables of labels."""
