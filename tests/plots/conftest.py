from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from core.odd import Dimension, Odd, Value
from core.scoring import Ranking, ScoringParameters, rank_missing
from core.seed_table import SeedTable
from core.similarity import exact_similarity


def small_odd() -> Odd:
    """Weather x time x road: 3 x 2 x 2 base slices, and one value outside."""
    weather = (Value("clear"), Value("light_rain"), Value("fog"), Value("hail", tier="extended"))
    return Odd(
        "small",
        1,
        (
            Dimension("weather", "Weather", weather),
            Dimension("time", "Time of day", (Value("night"), Value("day"))),
            Dimension("road", "Road", (Value("wet"), Value("dry"))),
        ),
    )


@pytest.fixture
def seed() -> SeedTable:
    """Four tested slices with 100 samples, and one with 7 outside the ODD."""
    slices = [
        ("clear", "day", "dry"),
        ("clear", "night", "dry"),
        ("light_rain", "day", "wet"),
        ("clear", "day", "wet"),
        ("hail", "day", "wet"),
    ]
    named = [dict(zip(("weather", "time", "road"), s, strict=True)) for s in slices]
    return SeedTable.from_slices(small_odd(), named, [50, 20, 20, 10, 7], [0.9, 0.5, 0.25, 1.0, 0.0])


@pytest.fixture
def ranking(seed: SeedTable) -> Ranking:
    return rank_missing(seed, ScoringParameters(), exact_similarity(seed.odd, seed.odd.active), top=3)


def axes(spec: Any) -> Iterator[dict[str, Any]]:
    """Every axis of a chart, however deep it lies."""
    if isinstance(spec, dict):
        for key, value in spec.items():
            if key == "axis" and isinstance(value, dict):
                yield value
            yield from axes(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from axes(value)
