"""Curves and frontier: every method once, in its own look, on scales that hold everything."""

from __future__ import annotations

from typing import Any

import pytest

from core.benchmark import METHODS, Point, Row
from core.plots.benchmark import regret_curves
from core.plots.frontier import frontier
from core.plots.methods import LOOKS, colour_of


def row(method: str, label: str, regret: float, ild: float) -> Row:
    return Row(method, label, 10, 10, False, regret, regret / 2, regret * 2, ild, None, None, None, 50, 0.0, 0.0)


ROWS = [row("slicescorer", "SliceScorer", 0.4, 0.5), row("random", "Random", 0.6, 0.62), row("ridge", "Ridge", 0.1, 0.45)]
FRONTIER = [Point("ridge-floor", "Ridge, ILD floor", 10, 0.1, 0.45, 0.45), Point("ridge-floor", "Ridge, ILD floor", 10, 0.5, 0.65, 0.65)]
CURVES = [Point(m, label, k, 1 / k, 0.5) for m, label in (("slicescorer", "SliceScorer"), ("random", "Random")) for k in (2, 10, 100)]


def values(spec: dict[str, Any], field: str) -> list[Any]:
    return [r[field] for data in spec["datasets"].values() for r in data if field in r]


def test_every_method_has_a_look_of_its_own() -> None:
    assert set(LOOKS) == {m.name for m in METHODS}
    assert len({(colour, tuple(dash)) for colour, dash, _ in LOOKS.values()}) == len(LOOKS)
    assert len({(colour, shape) for colour, _, shape in LOOKS.values()}) == len(LOOKS)
    assert colour_of("ridge", True) != colour_of("ridge", False)


def test_curves_hold_every_point_and_a_rule_per_budget() -> None:
    spec = regret_curves(CURVES, [10, 50, 1000]).to_dict()
    assert sorted(values(spec, "regret")) == sorted(p.regret for p in CURVES)
    rules = next(data for data in spec["datasets"].values() if set(data[0]) == {"k"})
    assert [r["k"] for r in rules] == [10, 50]  # 1000 lies beyond the candidates
    scale = spec["layer"][1]["encoding"]["color"]["scale"]
    assert scale["domain"] == ["SliceScorer", "Random"]


@pytest.mark.parametrize("dark", [False, True])
def test_the_frontier_holds_all_methods_and_the_line(dark: bool) -> None:
    spec = frontier(ROWS, FRONTIER, dark).to_dict()
    low, high = spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert low < 0.45 and high > 0.65
    assert {r["method"] for data in spec["datasets"].values() for r in data if "method" in r} == {"SliceScorer", "Random", "Ridge"}
    assert sorted(values(spec, "floor")) == [0.45, 0.65]
    assert "0.200 to 0.800" in values(spec, "text")


def test_the_frontier_stands_without_a_line() -> None:
    assert len(values(frontier(ROWS, []).to_dict(), "method")) == 3
