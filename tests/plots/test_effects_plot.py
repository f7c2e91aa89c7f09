"""Pictures of effect tables: what every mark says, scales that hold everything, names that stay apart, and very small tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.odd import Odd, infer_odd
from core.plots.effects import (
    MOST_COLUMNS,
    MOST_ROWS,
    MOST_VALUES,
    PAIR,
    drawn_pairs,
    drawn_values,
    effect_dots,
    effect_limit,
    pair_limit,
    pair_map,
    pair_overview,
)
from core.scoring import Effects, PairEffects, SingleEffects, fit_ridge, ridge_effects
from core.scoring.effects import CLEAR
from core.seed_table import SeedTable
from tests.plots.conftest import axes

ODD = infer_odd({"time": ["day", "late_night"], "fog": ["no", "some", "thick"], "road": ["dry", "wet"]})


@pytest.fixture
def effects() -> Effects:
    """Night is worse by .3, thick fog at night by .3 more; (thick, wet) was never tested."""
    codes = np.concatenate(list(ODD.base_space.chunks()))
    codes = codes[~((codes[:, 1] == 2) & (codes[:, 2] == 1))]
    error = 0.2 + 0.3 * (codes[:, 0] == 1) + 0.3 * ((codes[:, 0] == 1) & (codes[:, 1] == 2))
    seed = SeedTable(ODD, codes, np.full(len(codes), 300), 1 - error, np.full(len(codes), np.nan))
    return ridge_effects(fit_ridge(seed, (0, 1, 2)))


def rows(spec: dict[str, Any], field: str) -> list[dict[str, Any]]:
    return next(data for data in spec["datasets"].values() if data and field in data[0] and len(data) > 1)


@pytest.mark.parametrize("dark", [True, False])
def test_dots_show_effect_interval_and_n_in_the_order_of_the_odd(effects: Effects, dark: bool) -> None:
    s = effects.singles[0]
    spec = effect_dots(s, "Time of day", effect_limit(effects), dark).to_dict()
    data = rows(spec, "verdict")
    assert [r["value"] for r in data] == ["day", "late night"]
    assert [r["effect"] for r in data] == s.effect.tolist()
    assert [r["low"] for r in data] == (s.effect - CLEAR * s.sd).tolist()
    assert [r["n"] for r in data] == [1500, 1500]
    assert [r["verdict"] for r in data] == ["less", "more"]
    assert all(a.get("labelOverlap") is False for a in axes(spec) if a)


def test_one_scale_holds_every_interval(effects: Effects) -> None:
    limit = effect_limit(effects)
    assert all(np.all(np.abs(s.effect) + CLEAR * s.sd <= limit) for s in effects.singles)
    domains = []
    for s in effects.singles:
        spec = effect_dots(s, s.dimension, limit).to_dict()
        domains += [layer["encoding"]["x"]["scale"]["domain"] for layer in spec["layer"] if "scale" in layer["encoding"]["x"]]
    assert domains == [[-limit, limit]] * len(domains)
    assert all(np.abs(p.effect).max() <= pair_limit(effects) for p in effects.pairs.values())


def test_the_map_marks_what_is_clear_and_what_has_no_sample(effects: Effects) -> None:
    p = effects.pair("fog", "road")
    data = rows(pair_map(p, ("Fog", "Road"), pair_limit(effects)).to_dict(), "clear")
    assert [(r["y"], r["x"]) for r in data] == [(f, w) for f in ("no", "some", "thick") for w in ("dry", "wet")]
    assert [r["n"] for r in data] == [600, 600, 600, 600, 600, 0]
    assert [r["effect"] for r in data] == p.effect.ravel().tolist()
    planted = {(r["y"], r["x"]): r for r in rows(pair_map(effects.pair("time", "fog"), ("T", "F"), 0.2).to_dict(), "clear")}
    assert planted["late night", "thick"]["clear"]
    assert planted["late night", "thick"]["text"].startswith("+0.")
    assert planted["day", "thick"]["text"].startswith("−0.")
    assert not any(r["clear"] for r in data)


def test_colours_run_from_less_to_more_with_nothing_between(effects: Effects) -> None:
    for dark in (True, False):
        spec = pair_map(effects.pair("time", "fog"), ("T", "F"), 0.2, dark).to_dict()
        scales = [layer["encoding"]["color"]["scale"] for layer in spec["layer"] if "scale" in layer["encoding"].get("color", {})]
        assert scales
        assert all(s["domain"] == [-0.2, 0, 0.2] for s in scales)
        assert all(s["range"][2] == "#D55E00" for s in scales)


@pytest.mark.parametrize("dark", [True, False])
def test_the_overview_has_every_table_once_and_a_click_names_a_pair(effects: Effects, dark: bool) -> None:
    spec = pair_overview(effects, ODD, ("fog", "time"), dark).to_dict()
    data = rows(spec, "strength")
    assert [(r["row"], r["column"]) for r in data] == [
        ("time", "time"), ("fog", "time"), ("fog", "fog"), ("road", "time"), ("road", "fog"), ("road", "road"),
    ]  # fmt: skip
    strength = effects.strength()
    assert [r["strength"] for r in data] == [strength[i, j] for i in range(3) for j in range(i + 1)]
    assert [r["chosen"] for r in data] == [False, True, False, False, False, False]
    assert [r["of"] for r in data] == [2, 6, 3, 4, 6, 2]
    picked = [p for p in spec["params"] if p["name"] == PAIR]
    assert picked
    assert picked[0]["select"]["fields"] == ["row", "column"]


def test_labels_that_are_the_same_give_way_to_names(effects: Effects) -> None:
    same = Odd("x", 1, tuple(type(d)(d.name, "Same", d.values) for d in ODD.dimensions))
    data = rows(pair_overview(effects, same).to_dict(), "strength")
    assert {r["y"] for r in data} == {"time", "fog", "road"}


def test_of_many_values_the_furthest_from_zero_are_drawn() -> None:
    v = np.arange(40.0)
    zeros = np.ones(40, dtype=np.int64)
    s = SingleEffects("d", tuple(f"v{i}" for i in range(40)), v, np.ones(40), zeros, zeros)
    assert drawn_values(s) == list(range(40 - MOST_VALUES, 40))
    table = np.outer(v, v)
    ones = np.ones((40, 40), dtype=np.int64)
    p = PairEffects(("d", "e"), s.values, s.values, table, np.ones((40, 40)), ones, ones)
    assert drawn_pairs(p) == (list(range(40 - MOST_ROWS, 40)), list(range(40 - MOST_COLUMNS, 40)))
    assert len(rows(pair_map(p, ("D", "E"), 10).to_dict(), "clear")) == MOST_ROWS * MOST_COLUMNS


def test_nothing_found_can_be_drawn() -> None:
    one = infer_odd({"time": ["day", "night"]})
    seed = SeedTable.from_slices(one, [{"time": "day"}], [3], [1.0])
    effects = ridge_effects(fit_ridge(seed, (0,)))
    assert effect_limit(effects) == 0.05
    assert pair_limit(effects) == 0.01
    data = rows(effect_dots(effects.singles[0], "Time", 0.05).to_dict(), "verdict")
    assert [(r["verdict"], r["n"]) for r in data] == [("open", 3), ("open", 0)]
    assert pair_overview(effects, one).to_dict()["layer"]
