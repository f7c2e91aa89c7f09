"""The chart of intervals: what it says of each row, in the order given, on a scale that holds everything."""

from __future__ import annotations

from typing import Any

import pytest

from core.odd import infer_odd
from core.plots.failures import failure_frame, failure_intervals, labels, scale_end, verdict
from core.scoring import Failure, wilson

ODD = infer_odd({"fog": ["clear", "foggy"], "sky": ["clear", "cloudy"], "time": ["day", "night"]})


def failure(dims: tuple[str, ...], values: tuple[str, ...], error: float, n: int) -> Failure:
    low, high = wilson(error, n)
    return Failure(dims, values, 1, n, error, low, high, error - 0.3)


ROWS = [
    failure(("time",), ("night",), 0.8, 100),
    failure(("fog",), ("clear",), 0.3, 10),
    failure(("sky",), ("clear",), 0.1, 1000),
]
PAIR = failure(("fog", "time"), ("clear", "night"), 1.0, 1)


def values(spec: dict[str, Any], field: str) -> list[Any]:
    return next([r[field] for r in data] for data in spec["datasets"].values() if data and field in data[0])


def test_a_value_says_its_dimension_only_where_another_has_the_same_name() -> None:
    assert labels([*ROWS, PAIR], ODD) == ["night", "clear (fog)", "clear (sky)", "clear (fog) × night"]


def test_a_row_is_worse_or_better_only_if_its_whole_interval_is() -> None:
    assert [verdict(f, 0.3) for f in ROWS] == ["worse", "open", "better"]
    low, high = ROWS[0].low, ROWS[0].high
    assert [verdict(ROWS[0], x) for x in (low, high)] == ["open", "open"]


@pytest.mark.parametrize("dark", [True, False])
def test_the_chart_keeps_the_order_and_shows_n_and_both_ends(dark: bool) -> None:
    spec = failure_intervals(ROWS, ODD, 0.3, scale_end(ROWS, 0.3), dark).to_dict()
    assert values(spec, "what") == ["night", "clear (fog)", "clear (sky)"]
    assert values(spec, "low") == [f.low for f in ROWS]
    assert values(spec, "high") == [f.high for f in ROWS]
    assert values(spec, "text") == ["80.0%   n = 100", "30.0%   n = 10", "10.0%   n = 1,000"]
    assert values(spec, "all") == [0.3]
    sorts = [layer["encoding"]["y"]["sort"] for layer in spec["layer"] if "y" in layer["encoding"]]
    assert sorts == [["night", "clear (fog)", "clear (sky)"]] * len(sorts)
    domains = [d for layer in spec["layer"] if (d := layer["encoding"]["x"].get("scale", {}).get("domain"))]
    assert len(domains) == len(spec["layer"])
    assert all(d == domains[0] for d in domains)


@pytest.mark.parametrize(
    ("rows", "overall", "end"), [(ROWS, 0.3, 0.9), ([], 0.0, 0.1), ([], 0.31, 0.4), ([PAIR], 0.2, 1.0), ([], 1.0, 1.0)]
)
def test_the_scale_holds_every_interval_and_ends_at_a_tenth(rows: list[Failure], overall: float, end: float) -> None:
    assert scale_end(rows, overall) == pytest.approx(end)
    assert all(f.high <= scale_end(rows, overall) for f in rows)


def test_an_empty_chart_is_a_chart() -> None:
    assert failure_intervals([], ODD, 0.0, scale_end([], 0.0)).to_dict()["layer"]


def test_the_download_has_fractions_and_both_values_of_a_pair() -> None:
    frame = failure_frame([ROWS[0], PAIR], 0.3)
    assert frame.loc[0, ["dimension", "value", "dimension_2", "value_2"]].tolist() == ["time", "night", "", ""]
    assert frame.loc[1, ["dimension", "value", "dimension_2", "value_2"]].tolist() == ["fog", "clear", "time", "night"]
    assert frame["error"].tolist() == [0.8, 1.0]
    assert frame["against_all"].tolist() == ["worse", "open"]
    assert list(failure_frame([], 0.0).columns) == list(frame.columns)
