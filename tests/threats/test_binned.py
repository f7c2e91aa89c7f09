"""Threat rate by bins of a metric: edges, counts, what is left out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.scoring import wilson
from core.threats import bin_edges, binned_rates


def test_edges_by_hand() -> None:
    assert bin_edges([1, 100], "log", 2).tolist() == pytest.approx([1, 10, 100])
    assert bin_edges([0, 1, 4], "linear", 4).tolist() == [0, 1, 2, 3, 4]
    assert bin_edges([0, 1, 2, 3, 100], "quantile", 2).tolist() == [0, 2, 100]
    assert bin_edges([0.0, -1.0, 1, 100], "log", 1).tolist() == [1, 100]


def test_quantiles_of_like_values_are_fewer_bins() -> None:
    assert bin_edges([1, 1, 1, 1, 2], "quantile", 4).tolist() == [1, 2]
    assert bin_edges([3, 3], "quantile", 4).tolist() == [3, 3]


@pytest.mark.parametrize("scale", ["log", "linear", "quantile"])
def test_one_value_is_one_bin_and_none_is_none(scale: Any) -> None:
    assert bin_edges([2.0], scale).tolist() == [2, 2]
    assert bin_edges([], scale).size == 0
    assert bin_edges([math.nan], scale).size == 0
    (found,) = binned_rates({"p": {"s": 2.0}}, {"p": {"s": "has_threat"}}, scale)
    assert [(b.n, b.rate) for b in found.bins] == [(1, 1.0)]


def test_ends_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="equal ratio"):
        bin_edges([1, 2], "log", low=0)
    with pytest.raises(ValueError, match="from 5 to 2"):
        bin_edges([1, 2], "linear", low=5)
    with pytest.raises(ValueError, match="0 bins"):
        bin_edges([1], "linear", 0)


def test_rates_by_hand() -> None:
    values = {"A": {"1": 0.5, "2": 1.5, "3": 2.0, "4": None, "5": 1.6}, "B": {"1": 0.0}}
    statuses = {
        "A": {"1": "has_threat", "2": "no_threat", "3": "abstain", "4": "has_threat", "5": "has_threat", "6": "no_threat"},
        "B": {"1": "abstain"},
    }
    a, b = binned_rates(values, statuses, "linear", 2)
    low, high = a.bins
    assert ((low.low, low.high, low.centre), (high.low, high.high)) == ((0, 1, 0.5), (1, 2))
    assert (low.n, low.threats, low.rate, low.open) == (1, 1, 1.0, 0)
    assert (high.n, high.threats, high.rate, high.open) == (2, 1, 0.5, 1)
    assert high.interval is not None and high.bounds is not None
    assert (high.interval.low, high.interval.high) == wilson(0.5, 2)
    assert (high.bounds.low, high.bounds.high) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    # Scene 4 has no value, scene 6 none that anybody knows of.
    assert (a.n, a.unknown, a.outside) == (3, 2, 0)
    assert (b.n, b.bins[0].open, b.bins[0].rate, b.bins[0].interval) == (0, 1, None, None)
    assert b.bins[1].bounds is None


def test_log_bins_leave_out_what_has_no_logarithm_and_say_so() -> None:
    values = {"A": {"1": 0.0, "2": 0.1, "3": 10.0}}
    (found,) = binned_rates(values, {"A": dict.fromkeys("123", "has_threat")}, "log", 2)
    assert (found.n, found.outside, [b.n for b in found.bins]) == (2, 1, [1, 1])
    assert [b.centre for b in found.bins] == pytest.approx([math.sqrt(0.1), math.sqrt(10)])


def test_given_ends_leave_out_what_lies_beyond() -> None:
    values = {"A": {"1": 3.0, "2": 4.0, "3": 10.0, "4": 11.0}}
    (found,) = binned_rates(values, {"A": dict.fromkeys("1234", "no_threat")}, "linear", 10, low=4.0, high=10.0)
    assert (found.n, found.outside, found.bins[0].n, found.bins[-1].n) == (2, 2, 1, 1)


def test_nothing_to_bin() -> None:
    (found,) = binned_rates({}, {"A": {"1": "no_threat"}}, "log")
    assert (found.bins, found.n, found.unknown, found.outside) == ((), 0, 1, 0)
    assert binned_rates({}, {}, "linear") == ()


rows = st.lists(st.tuples(st.one_of(st.none(), st.floats(-5, 50)), st.sampled_from(["has_threat", "no_threat", "abstain"])), max_size=25)


@given(rows, st.sampled_from(["log", "linear", "quantile"]), st.integers(1, 6))
@settings(deadline=None)
def test_every_scene_is_counted_once(said: list[Any], scale: Any, bins: int) -> None:
    values = {"A": {str(k): v for k, (v, _) in enumerate(said)}}
    statuses = {"A": {str(k): s for k, (_, s) in enumerate(said)}}
    (found,) = binned_rates(values, statuses, scale, bins)
    assert sum(b.n + b.open for b in found.bins) + found.unknown + found.outside == len(said)
    assert found.outside == (sum(v is not None and v <= 0 for v, _ in said) if scale == "log" else 0)
    binned = [s for v, s in said if v is not None and (scale != "log" or v > 0)]
    assert sum(b.threats for b in found.bins) == binned.count("has_threat")
    edges = [b.low for b in found.bins] + [b.high for b in found.bins[-1:]]
    assert np.all(np.diff(edges) >= 0)
    assert len(found.bins) <= bins
