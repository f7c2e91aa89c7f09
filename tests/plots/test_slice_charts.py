"""Charts of one slice: specifications that hold what they are given, and stay whole where there is little."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from core.plots.slice_charts import TrendPoint, WindowRow, null_histogram, printed_windows, thinned, trend_curve, window_slopes

POINTS = [TrendPoint(0.1, 0.2, 0.1, 0.3, 40, False), TrendPoint(0.8, 0.9, 0.8, 0.95, 10, True)]
LEVELS = [("all scored", 0.4), ("outside", 0.3)]


def spec(chart):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return chart.to_dict()


def rows(chart):
    return [row for data in spec(chart)["datasets"].values() for row in data]


def texts(chart):
    return [r["text"] for r in rows(chart) if "text" in r]


@pytest.mark.parametrize("dark", [True, False])
@pytest.mark.parametrize("x", ["score", "logit", "rank"])
def test_the_curve_holds_its_bins_and_levels(x, dark):
    chart = trend_curve(POINTS, x, 0.5, LEVELS, np.array([0.1, 0.8]), dark=dark)
    bins = [r for r in rows(chart) if "n" in r]
    assert [(b["rate"], b["n"], b["part"]) for b in bins] == [(0.2, 40, "outside"), (0.9, 10, "in the slice")]
    assert texts(chart) == ["all scored 40%", "outside 30%"]


def test_names_of_levels_stand_away_from_each_other():
    marks = [
        layer["mark"] for layer in spec(trend_curve(POINTS, "score", 0.5, LEVELS, np.empty(0)))["layer"] if layer["mark"]["type"] == "text"
    ]
    assert [m["dy"] for m in marks] == [-8, 10]
    high = [("all scored", 0.97), ("outside", 0.95)]
    marks = [
        layer["mark"] for layer in spec(trend_curve(POINTS, "score", 0.5, high, np.empty(0)))["layer"] if layer["mark"]["type"] == "text"
    ]
    assert marks[0]["dy"] > 0  # inside the chart


def test_the_slice_is_shaded_from_gamma_on():
    shade = [r for r in rows(trend_curve(POINTS, "score", 0.5, [], np.empty(0))) if "b" in r]
    assert [(r["a"], r["b"]) for r in shade] == [(0.5, 1.0)]
    assert not [r for r in rows(trend_curve(POINTS, "score", None, [], np.empty(0))) if "b" in r]


def test_saturated_logits_do_not_squeeze_the_others():
    chart = trend_curve([*POINTS, TrendPoint(40.0, 0.9, 0.8, 1.0, 5, True)], "logit", 0.0, [], np.empty(0))
    text = json.dumps(spec(chart))
    assert "cut at" in text
    scales = [layer["encoding"]["x"]["scale"] for layer in spec(chart)["layer"] if "scale" in layer["encoding"].get("x", {})]
    assert max(s["domain"][1] for s in scales) < 16 and all(s["clamp"] for s in scales)


def test_a_slope_is_drawn_where_there_is_one():
    fit = [r for r in rows(trend_curve(POINTS, "score", 0.5, [], np.empty(0), fit=(0.5, 0.4, 1.0, 0.9))) if set(r) == {"at", "rate"}]
    assert [(r["at"], r["rate"]) for r in fit] == [(0.5, 0.4), (1.0, 0.9)]


def test_a_curve_without_a_unit_is_an_empty_frame():
    assert [r for r in rows(trend_curve([], "logit", None, [], np.empty(0))) if "n" in r] == []


def test_windows_tell_slope_and_n_and_which_leave_the_band():
    chart = window_slopes(
        [
            WindowRow("whole slice", 100, 4.9, 0.62, -3.4, 3.5),
            WindowRow("top half", 50, -0.1, -0.03, -1.3, 1.3),
            WindowRow("flat", 20, None, None, None, None),
        ]
    )
    assert texts(chart) == ["slope +0.62, n = 100", "slope −0.03, n = 50", "n = 20"]
    assert [r["beyond"] for r in rows(chart) if "beyond" in r] == [True, False, False]


@pytest.mark.parametrize("z", [0.001, 5.0, 400.0])
def test_few_marks_stand_on_the_axis_whatever_its_length(z):
    chart = window_slopes([WindowRow("whole slice", 10, z, 1.0, -z, z)])
    values = next(v for layer in spec(chart)["layer"] if (v := layer["encoding"]["x"].get("axis", {}).get("values")) is not None)
    assert 0 in values and len(values) <= 9


def test_the_largest_printed_window_is_never_thinned_out():
    n = 50_000
    slope = np.zeros(n)
    slope[12_345] = 777.0
    slope[0] = np.nan
    chart = printed_windows(np.linspace(0, 1, n), slope, np.full(n, 0.1), 0.2)
    drawn = [r for r in rows(chart) if "spread" in r]
    assert len(drawn) <= 2_001 and max(r["slope"] for r in drawn) == 777.0
    assert sum(r["passes"] for r in drawn) == 1


def test_no_printed_window_has_a_slope():
    assert [r for r in rows(printed_windows(np.array([0.5]), np.array([np.nan]), np.array([0.0]), 0.2)) if "spread" in r] == []


def test_the_null_counts_what_reaches_the_observed():
    chart = null_histogram(np.array([0.0, 1.0, 2.0, 3.0, np.nan]), 2.0)
    assert texts(chart) == ["here 2.00; 2 of 4 reach it"]
    assert sum(r["count"] for r in rows(chart) if "count" in r) == 4


def test_a_rug_is_thinned_evenly():
    assert thinned(np.array([3.0, np.nan, 1.0])).tolist() == [1.0, 3.0]
    many = thinned(np.arange(10_000.0), 11)
    assert many.tolist() == [0, 1000, 2000, 3000, 4000, 5000, 5999, 6999, 7999, 8999, 9999]
