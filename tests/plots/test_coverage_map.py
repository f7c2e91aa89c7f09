from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.odd import infer_odd
from core.plots import CELL, coverage_map, pair_counts
from core.plots.coverage import MOST_COLUMNS, MOST_ROWS
from core.plots.style import hatch, named
from core.seed_table import SeedTable
from tests.plots.conftest import axes, small_odd

NONE = np.empty((0, 3), dtype=np.int32)


def cell(counts, row, column):
    found = counts.frame[(counts.frame["row"] == row) & (counts.frame["column"] == column)]
    assert len(found) == 1
    return found.iloc[0]


def test_counts_by_hand(seed, ranking):
    counts = pair_counts(seed, ranking.codes, "weather", "time")
    assert cell(counts, "clear", "day")["n"] == 60
    assert cell(counts, "clear", "night")["n"] == 20
    assert cell(counts, "light_rain", "day")["n"] == 20
    assert [cell(counts, w, t)["n"] for w, t in (("light_rain", "night"), ("fog", "day"), ("fog", "night"))] == [0, 0, 0]
    assert (counts.pairs, counts.untested, counts.samples, counts.undrawn) == (6, 3, 100, 0)


def test_values_stand_in_the_order_of_the_odd_and_slices_outside_it_have_no_cell(seed):
    counts = pair_counts(seed, NONE, "weather", "time")
    assert list(dict.fromkeys(counts.frame["row"])) == ["clear", "light_rain", "fog"]
    assert list(dict.fromkeys(counts.frame["column"])) == ["night", "day"]


def test_recommended_slices_are_counted_where_they_lie(seed, ranking):
    counts = pair_counts(seed, ranking.codes, "weather", "time")
    assert counts.frame["top"].sum() == len(ranking) == 3
    names = [s[:2] for s in seed.odd.codec.names(ranking.codes)]
    assert counts.holding == len(set(names))
    for weather, time in set(names):
        assert cell(counts, weather, time)["top"] == names.count((weather, time))


def test_a_filter_marks_what_lies_inside_it(seed):
    counts = pair_counts(seed, NONE, "weather", "time", {"time": ["day"], "road": ["wet"]})
    assert set(counts.frame[counts.frame["inside"]]["column"]) == {"day"}
    assert counts.frame["inside"].sum() == 3


@given(st.data())
def test_pairs_sum_to_the_support_inside_the_odd(data):
    odd = small_odd()
    slices = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 1)), min_size=1, unique=True))
    ids = np.sort(odd.codec.encode(np.array(slices)))
    n = np.array(data.draw(st.lists(st.integers(1, 10**6), min_size=len(ids), max_size=len(ids))))
    seed = SeedTable(odd, odd.codec.decode(ids), n, np.full(len(ids), 0.5), np.full(len(ids), np.nan))
    a, b = data.draw(st.permutations(odd.names))[:2]
    counts = pair_counts(seed, NONE, a, b)
    assert counts.samples == counts.frame["n"].sum() == seed.n[seed.in_base].sum()
    assert counts.untested == (counts.frame["n"] == 0).sum()


def test_of_many_values_those_with_a_gap_and_the_most_samples_are_drawn_and_the_rest_is_counted():
    odd = infer_odd({"a": [f"a{i:03d}" for i in range(100)], "b": [f"b{i:02d}" for i in range(40)], "c": ["x", "y"]})
    rows = [{"a": f"a{i:03d}", "b": f"b{i % 40:02d}", "c": "x"} for i in range(100)]
    seed = SeedTable.from_slices(odd, rows, list(range(1, 101)), [0.5] * 100)
    recommended = np.array([[0, 39, 1]], dtype=np.int32)
    counts = pair_counts(seed, recommended, "a", "b")
    assert len(counts.frame) == MOST_ROWS * MOST_COLUMNS
    assert counts.undrawn == 4000 - MOST_ROWS * MOST_COLUMNS
    assert (counts.pairs, counts.samples, counts.holding) == (4000, 5050, 1)
    assert cell(counts, "a000", "b39")["top"] == 1
    assert {"a099", "a098"} <= set(counts.frame["row"])
    assert "a001" not in set(counts.frame["row"])


@pytest.mark.parametrize("dark", [False, True])
def test_the_chart_keeps_every_label_and_can_be_clicked(seed, ranking, dark):
    spec = coverage_map(pair_counts(seed, ranking.codes, "weather", "time"), 3, dark).to_dict()
    assert [p["name"] for p in spec["params"]] == [CELL]
    assert spec["params"][0]["select"]["fields"] == ["row", "column"]
    found = list(axes(spec))
    assert found
    assert all(a[x] is False for a in found for x in ("labelOverlap", "labelFlush", "labelBound"))
    values = next(iter(spec["datasets"].values()))
    assert len(values) == 6
    assert {v["y"] for v in values} == {"clear", "light rain", "fog"}
    assert {v["row"] for v in values} == {"clear", "light_rain", "fog"}


def test_a_chart_of_an_empty_ranking_and_one_sample_can_be_drawn():
    odd = small_odd()
    seed = SeedTable.from_slices(odd, [{"weather": "fog", "time": "day", "road": "wet"}], [1], [0.0])
    spec = coverage_map(pair_counts(seed, NONE, "time", "road"), 0).to_dict()
    assert {v["log"] for v in next(iter(spec["datasets"].values()))} == {0.0}


def test_long_names_are_slanted_and_short_ones_are_not():
    def angle(length):
        odd = infer_odd({"a": [f"{i}{'x' * length}" for i in range(10)], "b": ["x", "y"]})
        seed = SeedTable.from_slices(odd, [{"a": f"0{'x' * length}", "b": "x"}], [1], [0.0])
        spec = coverage_map(pair_counts(seed, np.empty((0, 2), dtype=np.int32), "b", "a"), 0).to_dict()
        return next(a["labelAngle"] for a in axes(spec) if "labelAngle" in a)

    assert (angle(3), angle(20)) == (0, -35)


@pytest.mark.parametrize(("width", "height"), [(61, 25), (10, 40), (7, 7)])
def test_the_hatch_stays_inside_its_cell(width, height):
    path = hatch(width, height)
    points = [(float(x), float(y)) for x, y in re.findall(r"[ML](-?[\d.]+),(-?[\d.]+)", path)]
    assert points
    assert all(abs(x) <= width / 2 + 0.06 and abs(y) <= height / 2 + 0.06 for x, y in points)
    for (x1, y1), (x2, y2) in zip(points[::2], points[1::2], strict=True):
        assert x1 + y1 == pytest.approx(x2 + y2, abs=0.11)  # 45 degrees


def test_names_are_made_plain_only_where_they_stay_apart():
    assert named(["city_downtown", "highway"]) == {"city_downtown": "city downtown", "highway": "highway"}
    assert named(["a_b", "a b"]) == {"a_b": "a_b", "a b": "a b"}
    assert named(["_", "x"]) == {"_": "_", "x": "x"}
