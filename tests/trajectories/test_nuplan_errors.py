"""Errors as nuPlan defines them, on its published test scenes and by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.trajectories.case import Case, Ego, Trajectory
from core.trajectories.nuplan_errors import (
    HEADING_WEIGHT_M,
    HORIZONS_S,
    heading_error_at,
    heading_errors,
    headings,
    horizon_errors,
    l2_errors,
    spread,
    wrapped,
)

SCENES = Path(__file__).resolve().parents[2].parent / "shared/data/nuplan_metric_golden"
needs_scenes = pytest.mark.skipif(not SCENES.is_dir(), reason="nuPlan's test scenes are not on this machine")
TO_CENTRE_M = 1.461
"""From the rear axle, where the scenes have their poses, to the centre, which nuPlan compares."""


def read(name: str) -> Any:
    return json.loads((SCENES / f"{name}.json").read_text())


def centres(poses: np.ndarray) -> np.ndarray:
    return poses[:, :2] + TO_CENTRE_M * np.c_[np.cos(poses[:, 2]), np.sin(poses[:, 2])]


@needs_scenes
@pytest.mark.parametrize(
    ("scene", "weight"),
    [
        ("ego_expert_l2_error", 0.0),
        ("ego_expert_l2_error_with_yaw", HEADING_WEIGHT_M),
        ("ego_expert_l2_error_with_yaw_zero", HEADING_WEIGHT_M),
    ],
)
def test_published_errors_of_what_was_driven(scene: str, weight: float) -> None:
    d = read(scene)
    ego = np.array([s["pose"] for s in (d["ego"], *d["ego_future_states"])])
    expert = np.array([s["pose"] for s in d["expert_ego_states"]])
    found = spread(l2_errors(centres(ego), centres(expert), ego[:, 2], expert[:, 2], weight))
    expected = dict(d["expected"]["statistics"])
    assert found.maximum == pytest.approx(expected["MAX"], abs=1e-2)
    assert found.mean == pytest.approx(expected["MEAN"], abs=1e-2)
    assert found.p90 == pytest.approx(expected["P90"], abs=1e-2)


def planned(state: Any, steps: int) -> np.ndarray:
    """Plan of the simple planner that the published tests use: straight on, slower by what the speed exceeds 5 m/s, step by step."""
    x, y, heading = state["pose"]
    along, speed, slower = 0.0, np.hypot(*state["velocity"]), 0.0
    forward = state["velocity"][0]
    poses = []
    for _ in range(steps):
        slower = 5.0 - speed if speed > 5.0 else slower
        along += forward
        forward += slower
        speed = abs(forward)
        poses.append([x + along * np.cos(heading), y + along * np.sin(heading), heading])
    return np.array(poses)


@needs_scenes
@pytest.mark.parametrize(
    ("scene", "which"),
    [
        ("high_average_l2_error", "mean_l2"),
        ("high_final_l2_error", "final_l2"),
        ("low_average_heading_error", "mean_heading"),
        ("low_final_heading_error", "final_heading"),
    ],
)
def test_published_errors_of_plans_by_horizon(scene: str, which: str) -> None:
    d = read(scene)
    expert = np.array([s["pose"] for s in d["expert_ego_states"]])
    last, plans = max(HORIZONS_S), [d["ego"], *d["ego_future_states"]]
    found = []
    for k, state in enumerate(plans):
        plan, driven = planned(state, last), expert[k + 1 : k + 1 + last]
        found.append([getattr(h, which) for h in horizon_errors(centres(plan), centres(driven), plan[:, 2], driven[:, 2], 1.0)])
    by_horizon = np.mean(found, axis=0)
    means = [value for kind, value in d["expected"][0]["statistics"] if kind == "MEAN"]
    assert [*by_horizon, by_horizon.mean()] == pytest.approx(means, abs=1e-2)


@given(st.floats(-50, 50), st.floats(-50, 50))
def test_headings_differ_the_short_way_round(a: float, b: float) -> None:
    (error,) = heading_errors([a], [b])
    assert 0 <= error <= np.pi
    assert np.cos(error) == pytest.approx(np.cos(a - b), abs=1e-9)
    assert error == pytest.approx(heading_errors([b], [a])[0], abs=1e-9)


def test_angles_are_wrapped() -> None:
    assert wrapped([0.0, np.pi, -np.pi, 3 * np.pi / 2, 2 * np.pi]) == pytest.approx([0, -np.pi, -np.pi, -np.pi / 2, 0])


def test_later_steps_can_count_less() -> None:
    assert l2_errors([[1, 0]] * 3, [[0, 0]] * 3, discount=0.5).tolist() == [1, 0.5, 0.25]


@pytest.mark.parametrize(("n", "at"), [(1, 0), (2, 1), (5, 4), (10, 8), (11, 9), (15, 12), (20, 17), (100, 89)])
def test_the_90th_percentile_is_an_observation(n: int, at: int) -> None:
    # 0.9 n - 0.5 counts from 1; a tie goes to the even place counted from 0.
    assert spread(np.arange(n, dtype=float)).p90 == at


def test_horizons_by_hand() -> None:
    expert = np.c_[np.arange(1, 5), np.zeros(4)]
    two, four = horizon_errors(expert + np.c_[[0] * 4, [1, 2, 3, 4]], expert, [0.1, 0.1, 0.3, 0.5], [0] * 4, 1.0, (2, 4))
    assert (two.mean_l2, two.final_l2) == (1.5, 2.0)
    assert (four.mean_l2, four.final_l2) == (2.5, 4.0)
    assert (two.mean_heading, four.final_heading) == (pytest.approx(0.1), pytest.approx(0.5))
    assert four.mean_heading == pytest.approx(0.25)


def test_headings_follow_the_motion_where_none_are_given() -> None:
    stops = Trajectory.of([[0, 0], [1, 0], [1, 0], [1, 1], [0, 1]])
    assert headings(stops) == pytest.approx([0, 0, 0, np.pi / 2, np.pi])
    assert headings(Trajectory.of([[1, 0]], yaw=[0.7])).tolist() == [0.7]


def test_heading_error_of_a_case() -> None:
    t = np.arange(1, 5)
    c = Case("c", "s", "p", 1.0, Trajectory.of(np.c_[t, 0 * t]), Trajectory.of(np.c_[t, t]), Ego(1.0))
    assert heading_error_at(c, 4).value == pytest.approx(np.pi / 4)
    assert heading_error_at(c, 5).reason == "A trajectory ends after 4 s."
    assert heading_error_at(c, 0.5).reason == "0.5 s is no step of 1 s."
    invalid = Case("c", "s", "p", 1.0, Trajectory.of(np.c_[t, t], t != 2), Trajectory.of(np.c_[t, t]), Ego(1.0))
    assert heading_error_at(invalid, 1).value == 0
    assert heading_error_at(invalid, 3).reason == "A state up to there is not valid."


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: l2_errors([[0, 0]], []), "1 and 0 steps"),
        (lambda: l2_errors([[0, 0]], [[0, 0]], heading_weight_m=1.0), "both headings"),
        (lambda: spread([]), "No errors"),
        (lambda: horizon_errors([[0, 0]], [[0, 0]], [0], [0], 1.0, (2,)), "2 s is no step of 1 s within 1 s"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()
