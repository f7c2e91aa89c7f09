"""Tags of media and what people said of them."""

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the tables."""
