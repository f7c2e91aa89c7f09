"""A detector run on the images of a set, with progress and a way out."""

from __future__ import annotations

from core.storage import SavedDetections


def form(current: SavedDetections | None) -> None:
    """Weights and what they run on."""
