"""Five simple planners, by hand: what each drives, and when there is none."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import InputError
from core.trajectories.baselines import BASELINES, VELOCITY, chosen, with_baseline
from core.trajectories.case import Ego, Trajectory
from tests.cases import case, straight

T = 0.25 * np.arange(1, 21)


def drive(name, made):
    return BASELINES[name].drive(made)


def braking():
    """8 m/s, braked with 1.6 m/s² to a stand after 5 s."""
    return Trajectory.of(np.stack([8 * T - 0.8 * T**2, 0 * T], axis=1))


def test_constant_velocity_goes_on_with_the_velocity_of_the_source():
    assert np.allclose(drive("constant_velocity", case()).points, np.stack([8 * T, 0 * T], axis=1))
    made = drive("constant_velocity", case(source={VELOCITY: [6.0, 1.0]}))
    assert np.allclose(made.points, np.stack([6 * T, T], axis=1))


def test_constant_acceleration_stops_and_does_not_go_back():
    made = drive("constant_acceleration", case(ego=Ego(8.0, -4.0)))
    assert np.allclose(made.points[:8, 0], 8 * T[:8] - 2 * T[:8] ** 2)
    assert np.allclose(made.points[8:, 0], 8.0)
    assert drive("constant_acceleration", case()) == "the acceleration at t = 0 is not known"
    standing = drive("constant_acceleration", case(ego=Ego(0.0, -1.0)))
    assert np.allclose(standing.points, 0.0)


def test_the_ramp_ends_beside_the_expert_on_its_left():
    made = drive("lateral_ramp", case(expert=straight()))
    assert np.allclose(made.points[:, 0], straight().points[:, 0])
    assert np.allclose(made.points[:, 1], np.linspace(0.075, 1.5, 20))
    right = Trajectory.of(np.stack([0 * T, -8 * T], axis=1))
    assert np.allclose(drive("lateral_ramp", case(expert=right)).points[-1], [1.5, -40.0])


def test_faster_keeps_the_way_and_goes_on_straight_where_it_ends():
    corner = Trajectory.of([[4.0, 0.0], [8.0, 0.0], [8.0, 4.0], [8.0, 8.0]])
    made = drive("faster", case(expert=corner, planner=corner, dt_s=0.5))
    assert np.allclose(made.points, [[4.8, 0.0], [8.0, 1.6], [8.0, 6.4], [8.0, 11.2]])


def test_late_braking_is_the_expert_a_second_later_along_the_same_way():
    made = drive("late_braking", case(expert=braking()))
    expected = np.where(T <= 1, 8 * T, 8 + 8 * (T - 1) - 0.8 * (T - 1) ** 2)
    assert np.allclose(made.points[:, 0], expected)
    assert np.allclose(made.points[:, 1], 0.0)


@pytest.mark.parametrize("name", BASELINES)
def test_a_standing_expert_gives_finite_points_as_many_as_the_expert_has(name):
    still = Trajectory.of(np.zeros((20, 2)))
    made = drive(name, case(ego=Ego(0.0, 0.0), expert=still, planner=still))
    assert made.points.shape == (20, 2) and np.isfinite(made.points).all()


@pytest.mark.parametrize("name", ["lateral_ramp", "faster", "late_braking"])
def test_gaps_of_the_expert_stay_gaps(name):
    points = straight().points.copy()
    points[5:8] = [1.0, 1.0]
    gaps = Trajectory.of(points, [True] * 5 + [False] * 3 + [True] * 12)
    made = drive(name, case(expert=gaps))
    assert made.valid.tolist() == gaps.valid.tolist()
    whole = drive(name, case(expert=straight()))
    assert np.allclose(made.points[made.valid], whole.points[made.valid])
    nothing = Trajectory(points, np.zeros(20, dtype=bool))
    assert drive(name, case(expert=nothing)) == "the expert has no valid state"


def test_names_are_chosen_in_order_and_unknown_ones_refused():
    assert [b.name for b in chosen(None)] == list(BASELINES)
    assert chosen("") == () and chosen([]) == ()
    assert [b.name for b in chosen("faster, constant_velocity,faster")] == ["faster", "constant_velocity"]
    with pytest.raises(InputError, match="no such baseline"):
        chosen("fastest")


def test_the_case_tells_that_its_planner_is_computed():
    made = with_baseline(case("s1-x"), BASELINES["faster"])
    assert (made.case_id, made.scene_id, made.planner_id) == ("s1:faster", "s1", "faster")
    assert made.source["planner"] == "baseline faster, computed by Oddyssey"
    assert with_baseline(case(), BASELINES["constant_acceleration"]) == "the acceleration at t = 0 is not known"
