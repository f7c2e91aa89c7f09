from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.plots import RARE, drawn_shares, exposure_strip, recommendation_profile, shares
from core.plots.profile import MOST_VALUES
from core.scoring import ScoringParameters, explain, rank_missing
from core.similarity import exact_similarity
from tests.plots.conftest import axes


def values(chart):
    return next(iter(chart.to_dict()["datasets"].values()))


def test_shares_by_hand(ranking):
    data = shares(ranking).set_index(["dimension", "value"])
    assert data.loc[("weather", "clear"), "tested"] == pytest.approx(0.8)
    assert data.loc[("weather", "light_rain"), "tested"] == pytest.approx(0.2)
    assert data.loc[("weather", "fog"), "tested"] == 0
    assert data.loc[("time", "day"), "tested"] == pytest.approx(0.8)
    codes = ranking.odd.codec.names(ranking.codes)
    assert data.loc[("road", "wet"), "recommended"] == pytest.approx(sum(s[2] == "wet" for s in codes) / 3)


def test_the_shares_of_a_dimension_sum_to_one_and_every_base_value_is_there(ranking):
    data = shares(ranking)
    assert len(data) == 3 + 2 + 2
    assert "hail" not in set(data["value"])
    np.testing.assert_allclose(data.groupby("dimension")[["recommended", "tested"]].sum(), 1)


def test_an_empty_ranking_has_no_recommended_share(seed):
    similarity = exact_similarity(seed.odd, seed.odd.active)
    where = {"weather": ["clear"], "time": ["day"]}
    empty = rank_missing(seed, ScoringParameters(), similarity, where=where)
    assert len(empty) == 0
    assert shares(empty)["recommended"].sum() == 0
    assert recommendation_profile(shares(empty), "time", "Time").to_dict()


def test_beyond_the_limit_the_smallest_values_become_one_row_that_says_so():
    n = 40
    tested = np.arange(n) / np.arange(n).sum()
    data = pd.DataFrame({"dimension": "d", "value": [f"v{i}" for i in range(n)], "recommended": 0.0, "tested": tested})
    data.loc[0, "recommended"] = 1.0
    part = drawn_shares(data, "d")
    assert len(part) == MOST_VALUES
    assert part["value"].iloc[0] == "v0"
    assert part["value"].iloc[-1] == f"{n - MOST_VALUES + 1} other values"
    assert part["tested"].sum() == pytest.approx(1)
    assert part["recommended"].sum() == pytest.approx(1)
    assert list(part["value"].iloc[1:-1]) == [f"v{i}" for i in range(30, 40)]


def test_the_profile_keeps_every_label(ranking):
    chart = recommendation_profile(shares(ranking), "weather", "Weather")
    found = list(axes(chart.to_dict()))
    assert found
    assert all(a[x] is False for a in found for x in ("labelOverlap", "labelFlush", "labelBound"))
    assert [v["value"] for v in values(chart)] == ["clear", "light rain", "fog"]


@pytest.mark.parametrize("dark", [False, True])
def test_the_strip_shows_one_bar_per_dimension_and_marks_rare_values(ranking, dark):
    e = explain(ranking, 0)
    chart = exposure_strip(e.exposures, dark)
    data = values(chart)
    assert [v["dimension"] for v in data] == ["weather", "time", "road"]
    assert [v["p"] for v in data] == [x.p for x in e.exposures]
    assert all(f"{x.p:.4f}" in v["text"] for v, x in zip(data, e.exposures, strict=True))
    assert f"datum.p < {RARE}" in chart.to_json()
    assert all(a["labelOverlap"] is False for a in axes(chart.to_dict()))
