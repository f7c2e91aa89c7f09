"""Small tables in memory, opened, prepared and checked in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from core.odd import Odd, infer_odd
from core.operators import check, prepare
from core.seed_table import CheckReport, open_table

Check = Callable[..., CheckReport]


@pytest.fixture
def odd() -> Odd:
    """Two dimensions: 3 weathers by 2 times, 6 slices."""
    return infer_odd({"weather": ["clear", "rain", "snow"], "time": ["day", "night"]})


@pytest.fixture
def checked(odd: Odd) -> Check:
    """Check a text: `checked("weather,time,score\\n...", score="score")`; `domain=None` infers the ODD."""

    def run(
        text: str | bytes,
        *,
        domain: Odd | None = odd,
        dims: Sequence[str] = (),
        columns: Mapping[str, str] | None = None,
        **overrides: Any,
    ) -> CheckReport:
        data = text.encode() if isinstance(text, str) else text
        return check(prepare(open_table(data, "table.csv"), domain, dims=dims, columns=columns, overrides=overrides))

    return run


def kinds(report: CheckReport) -> dict[str, int]:
    """Problems by kind."""
    found: dict[str, int] = report.summary()["rejected_by_kind"]
    return found
