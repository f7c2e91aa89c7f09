"""Bars of combinatorial coverage: counts as they are, order, what is left out, and nothing at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.odd import built_in, infer_odd
from core.plots.tway import MOST_BARS, coverage_frame, drawn_bars, tway_bars
from core.scoring import tway
from tests.plots.conftest import axes

ODD = infer_odd({"time": ["day", "night"], "fog": ["no", "yes"], "road": ["dry", "ice", "wet"]})
DIMS = (0, 1, 2)
TESTED = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]], dtype=np.int32)
LISTED = np.array([[1, 0, 2]], dtype=np.int32)


def rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return next(data for data in spec["datasets"].values() if data and "possible" in data[0])


@pytest.mark.parametrize("dark", [True, False])
def test_bars_say_the_counts_least_covered_first_and_leave_out_what_is_whole(dark: bool) -> None:
    coverage = tway(TESTED, LISTED, ODD.base_space, DIMS, 2)
    drawn = drawn_bars(coverage)
    assert [c.dimensions for c in drawn] == [("fog", "road"), ("time", "road")]
    spec = tway_bars(drawn, ODD, 1, dark).to_dict()
    data = rows(spec)
    assert [r["text"] for r in data] == ["2 + 1 of 6", "2 + 1 of 6"]
    assert [(r["start"], r["end"], r["open"]) for r in data] == [(2 / 6, 3 / 6, 3)] * 2
    assert [r["what"] for r in data] == ["fog × road", "time × road"]
    assert all(a.get("labelOverlap") is False for a in axes(spec) if a)


def test_of_many_combinations_the_least_covered_are_drawn() -> None:
    odd = built_in()
    base = np.concatenate(list(odd.base_space.chunks()))
    coverage = tway(base[::400], base[:0], odd.base_space, odd.active, 3)
    drawn = drawn_bars(coverage)
    assert len(drawn) == MOST_BARS < len(coverage.combinations) == 56
    shares = [c.covered / c.possible for c in drawn]
    assert shares == sorted(shares)
    assert shares[-1] <= min(c.covered / c.possible for c in coverage.combinations if c not in drawn)


def test_the_download_has_every_combination() -> None:
    coverage = tway(TESTED, LISTED, ODD.base_space, DIMS, 2)
    frame = coverage_frame(coverage)
    assert frame["dimensions"].tolist() == ["time × fog", "time × road", "fog × road"]
    assert frame["open"].tolist() == [0, 3, 3]
    assert (frame["covered"] + frame["added"] + frame["open"]).tolist() == frame["possible"].tolist()
    assert frame["first_open"].tolist() == ["", "day × ice; day × wet; night × ice", "no × ice; yes × ice; yes × wet"]


def test_no_bar_is_a_chart() -> None:
    assert tway_bars([], ODD, 0).to_dict()["layer"]
