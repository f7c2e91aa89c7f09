"""Charts of what changed between two models, and of hypotheses on one axis."""

from __future__ import annotations

import pytest

from core.plots.slice_changes import ChangeRow, CurvePoint, changes_chart, curves_chart, way


@pytest.mark.parametrize(
    ("low", "high", "good", "expected"),
    [
        (-0.2, -0.1, "lower", "better"),
        (-0.2, -0.1, "higher", "worse"),
        (0.1, 0.2, "lower", "worse"),
        (0.1, 0.2, "higher", "better"),
        (-0.1, 0.1, "lower", "open"),
        (0.0, 0.2, "higher", "open"),
        (-0.2, 0.0, "lower", "open"),
        (None, None, "lower", "open"),
    ],
)
def test_a_difference_reads_as_better_only_if_its_interval_leaves_zero(low, high, good, expected):
    assert way(ChangeRow("x", 0.1, low, high, ""), good) == expected


def rows():
    return [
        ChangeRow("night", -0.145, -0.17, -0.111, "45% → 31%"),
        ChangeRow("fog", -0.02, -0.05, 0.01, ""),
        ChangeRow("none", 0.01, None, None, ""),
    ]


def test_the_scale_is_even_around_zero_and_holds_every_interval():
    spec = changes_chart(rows(), "lower").to_dict()
    low, high = spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert low == -high
    assert high >= 0.17
    values = next(v for v in spec["datasets"].values() if len(v) == 3)
    assert [v["way"] for v in values] == ["better", "open", "open"]
    assert [v["name"] for v in values] == ["night", "fog", "none"]


def test_equal_names_keep_their_own_rows():
    spec = changes_chart([rows()[0], rows()[0]], "lower", dark=True).to_dict()
    values = next(v for v in spec["datasets"].values() if len(v) == 2)
    assert [v["row"] for v in values] == [0, 1]


def test_curves_differ_by_colour_and_by_shape_and_show_gamma_only_on_the_score():
    lines = {"small": [CurvePoint(0.1, 0.2, 0.1, 0.3, 40), CurvePoint(0.9, 0.8, 0.7, 0.9, 40)], "dark": [CurvePoint(0.5, 0.4, 0.2, 0.6, 9)]}
    spec = curves_chart(lines, "Matching score", gamma=0.5).to_dict()
    assert len(spec["layer"]) == 4
    points = spec["layer"][-1]["encoding"]
    assert points["color"]["scale"]["domain"] == points["shape"]["scale"]["domain"] == ["small", "dark"]
    assert len(set(points["color"]["scale"]["range"])) == len(set(points["shape"]["scale"]["range"])) == 2
    assert len(curves_chart(lines, "Rank", dark=True).to_dict()["layer"]) == 3
