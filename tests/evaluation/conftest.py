"""A store, items, and a stub that plays the model under test and the judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.evaluation import Item
from core.settings import Settings
from core.storage import Store, open_store

NIGHT = {"weather": "rain", "time": "night"}
DAY = {"weather": "clear", "time": "day"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path / "home")})


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    opened = open_store(settings)
    yield opened
    opened.close()


@pytest.fixture
def mcq() -> Callable[..., Item]:
    """Makes multiple-choice questions; B is right."""

    def make(name: str, **more) -> Item:
        given = {"requested": NIGHT, "realised": NIGHT, "verdict": "valid"} | more
        return Item(name, (), f"Question {name}?", ("Go", "Stop"), "B", "MCQ", **given)

    return make


@pytest.fixture
def vqa() -> Callable[..., Item]:
    """Makes open questions."""

    def make(name: str, **more) -> Item:
        given = {"requested": NIGHT, "realised": NIGHT, "verdict": "valid"} | more
        return Item(name, (), f"Open question {name}?", (), "It stops.", "VQA", **given)

    return make


def judged(request) -> bool:
    """Whether a request goes to the judge."""
    return "Answer to be checked" in request.last or "could not be read" in request.last
