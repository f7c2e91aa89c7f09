"""Times of labels: from ready to key without a hidden tab, nearest ranks, what is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.labels.label_time import IDLE_S, LabelTime, label_time, label_times, nearest_rank


def test_by_hand() -> None:
    found = label_times([LabelTime(float(s)) for s in (10, 1, 9, 2, 8, 3, 7, 4, 6, 5)], repeats=200)
    assert (found.n, found.p50.value, found.p90.value, found.mean.value, found.mean_to_p90.value) == (10, 5, 9, 5.5, 5)
    assert found.minutes(151) == pytest.approx(151 * 5.5 / 60)
    assert found.mean.low is not None and found.mean.high is not None
    assert 3 < found.mean.low < 5.5 < found.mean.high < 8


def test_what_is_left_out_is_counted() -> None:
    times = [LabelTime(2.0), None, LabelTime(3.0, hidden_s=4.0), LabelTime(75.0), LabelTime(IDLE_S), None]
    found = label_times(times, repeats=20)
    assert (found.n, found.untimed, found.hidden, found.capped) == (3, 2, 1, 1)
    assert found.seconds == (2.0, 60.0, 60.0)


def test_nothing_to_time() -> None:
    found = label_times([None])
    assert (found.n, found.p50.value, found.mean.low, found.minutes(10), found.untimed) == (0, None, None, None, 1)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"t_ready_ms": 1000, "t_key_ms": 5900, "hidden_ms": 0, "keyboard": True}, LabelTime(4.9)),
        ({"t_ready_ms": 1000, "t_key_ms": 9000, "hidden_ms": 3000.0}, LabelTime(5.0, 3.0)),
        ({"t_ready_ms": 1000, "t_key_ms": 5900}, None),
        ({"t_ready_ms": None, "t_key_ms": 5900, "hidden_ms": 0}, None),
        ({"t_ready_ms": "soon", "t_key_ms": 5900, "hidden_ms": 0}, None),
        ({"t_ready_ms": 6000, "t_key_ms": 5900, "hidden_ms": 0}, None),
        ({"t_ready_ms": 0, "t_key_ms": float("nan"), "hidden_ms": 0}, None),
        ({"t_ready_ms": 0, "t_key_ms": 10, "hidden_ms": -5}, None),
        ({}, None),
    ],
)
def test_from_what_the_page_recorded(payload: dict[str, Any], expected: LabelTime | None) -> None:
    assert label_time(payload) == expected


@pytest.mark.parametrize(
    ("n", "percent", "at"), [(1, 50, 0), (2, 50, 0), (3, 50, 1), (10, 90, 8), (151, 50, 75), (151, 90, 135), (5, 100, 4), (5, 0, 0)]
)
def test_nearest_ranks(n: int, percent: int, at: int) -> None:
    assert nearest_rank(n, percent) == at


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30))
@settings(max_examples=40, deadline=None)
def test_percentiles_are_times_that_were_measured(seconds: list[float]) -> None:
    found = label_times([LabelTime(s) for s in seconds], repeats=20)
    capped = sorted(min(s, IDLE_S) for s in seconds)
    assert found.p50.value in capped and found.p90.value in capped
    assert sum(s <= (found.p90.value or 0) for s in capped) >= 0.9 * len(capped)
    assert (found.mean_to_p90.value or 0) <= (found.mean.value or 0) + 1e-9
    assert found.mean.value == pytest.approx(np.mean(capped))
