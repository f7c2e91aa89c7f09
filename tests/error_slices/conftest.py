"""What tests of error slices share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.settings import Settings
from core.storage import Store, open_store


@pytest.fixture
def store(workspace: Path) -> Iterator[Store]:
    """The store of the test's own workspace."""
    opened = open_store(Settings.from_environment())
    yield opened
    opened.close()
