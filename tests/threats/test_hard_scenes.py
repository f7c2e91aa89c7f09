"""Scenes that metrics take for hard beside those with a threat: counts, what is left out, and by brute force."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.operators.threats import SetVerdicts, hard_scenes
from core.threats import Verdict
from core.trajectories.displacement import Measured
from core.trajectories.measure import Metric, MetricTable
from core.trajectories.scenes import in_common

SAID: dict[str, Any] = {"Y": "has_threat", "N": "no_threat", "U": "abstain"}


def verdicts(said: str) -> SetVerdicts:
    found = tuple(Verdict(f"c{k}", f"s{k}", "p", SAID[x]) for k, x in enumerate(said) if x != ".")
    return SetVerdicts(found, len(said), said.count("."), 0)


def table(values: Mapping[str, float | None], worse: Literal["high", "low"] | None = "high") -> MetricTable:
    metric = Metric("m", "M", "", worse, lambda case: Measured(None))
    return MetricTable((metric,), {"m": {"p": {s: Measured(v) for s, v in values.items()}}}, in_common({"p": list(values)}), ())


def test_by_hand() -> None:
    # s0 to s3 have both; s4 has no verdict, s5 no metric, s6 was never judged.
    values = {"s0": 4.0, "s1": 3.0, "s2": 2.0, "s3": 1.0, "s4": 9.0, "s5": None, "s6": 8.0}
    (h,) = hard_scenes(verdicts("YNYNUY."), table(values), "p", ["m"], 50)
    assert (dict(h.values), h.unknown, h.open) == ({"s0": 4.0, "s1": 3.0, "s2": 2.0, "s3": 1.0}, 1, 1)
    assert (h.overlap.n, h.overlap.first, h.overlap.second, h.overlap.shared, h.overlap.kappa) == (4, 2, 2, 1, 0)
    (low,) = hard_scenes(verdicts("YNYNUY."), table(values, "low"), "p", ["m"], 25)
    assert (low.overlap.first, low.overlap.shared) == (1, 0)


@pytest.mark.parametrize("worse", ["high", None])
def test_nothing_to_compare(worse: Any) -> None:
    assert hard_scenes(verdicts("YN"), table({"s0": None, "s1": math.nan}, worse), "p", ["m"], 50) == ()
    assert hard_scenes(verdicts("UU"), table({"s0": 1.0, "s1": 2.0}, worse), "p", ["m"], 50) == ()
    assert hard_scenes(verdicts("YN"), table({"s0": 1.0}, worse), "q", ["m"], 50) == ()
    assert hard_scenes(verdicts("YN"), table({"s0": 1.0}, worse), "p", [], 50) == ()


rows = st.lists(st.tuples(st.sampled_from("YNU."), st.one_of(st.none(), st.integers(0, 3).map(float))), max_size=10)


@given(rows, st.sampled_from([10, 30, 50, 100]), st.sampled_from(["high", "low"]))
@settings(max_examples=60, deadline=None)
def test_every_scene_with_a_verdict_is_counted_once(said: list[Any], percent: int, worse: Any) -> None:
    letters, values = "".join(x for x, _ in said), {f"s{k}": v for k, (_, v) in enumerate(said)}
    found = hard_scenes(verdicts(letters), table(values, worse), "p", ["m"], percent)
    both = [(v, f"s{k}", x) for k, (x, v) in enumerate(said) if x in "YN" and v is not None]
    if not both:
        assert found == ()
        return
    (h,) = found
    assert h.overlap.n + h.unknown + h.open == len(letters) - letters.count(".")
    order = sorted(both, key=lambda r: (-r[0] if worse == "high" else r[0], r[1]))[: math.ceil(len(both) * percent / 100)]
    assert (h.overlap.first, h.overlap.shared) == (len(order), sum(x == "Y" for _, _, x in order))
    assert h.overlap.second == sum(x == "Y" for _, _, x in both)
