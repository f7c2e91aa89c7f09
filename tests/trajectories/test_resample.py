"""Another step of time: linear with the origin put before, valid only between valid states, never longer than the source."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.trajectories.case import Agent, Agents, RatedTrajectory, Trajectory
from core.trajectories.resample import resample, resample_case, resample_history, resampled
from tests.cases import case, imported, straight


def test_two_hertz_to_four_by_hand():
    made = resample(Trajectory.of([[4.0, 0.0], [6.0, 2.0]]), 0.5, 0.25)
    assert made.points.tolist() == [[2.0, 0.0], [4.0, 0.0], [5.0, 1.0], [6.0, 2.0]]
    assert made.valid.all()


def test_ten_hertz_to_four_takes_the_states_that_it_meets():
    source = Trajectory.of([[float(k * k), 0.0] for k in range(1, 11)])
    made = resample(source, 0.1, 0.25)
    assert len(made) == 4
    assert made.points[1, 0] == 25.0 and made.points[3, 0] == 100.0
    assert made.points[0, 0] == pytest.approx((4 + 9) / 2)


def test_a_gap_makes_what_lies_in_it_not_valid():
    made = resample(Trajectory.of([[1.0, 0], [2.0, 0], [3.0, 0]], [True, False, True]), 0.5, 0.25)
    assert made.valid.tolist() == [True, True, False, False, False, True]


def test_headings_turn_the_short_way():
    made = resample(Trajectory.of([[1.0, 0], [2.0, 0]], yaw=[3.0, -3.0]), 0.5, 0.25)
    assert made.yaw is not None
    assert made.yaw.tolist() == pytest.approx([1.5, 3.0, np.pi, 2 * np.pi - 3.0])


def test_a_longer_step_than_the_source_gives_nothing():
    assert len(resample(straight(n=2), 0.25, 1.0)) == 0
    assert len(resample(Trajectory.of(np.zeros((0, 2))), 0.25, 0.5)) == 0


def test_a_history_keeps_its_last_row_at_t_0():
    past = Trajectory.of([[-4.0, 0], [-3.0, 0], [-2.0, 0], [-1.0, 0], [0.0, 0]])
    assert resample_history(past, 0.1, 0.2).points[:, 0].tolist() == [-4.0, -2.0, 0.0]
    assert resample_history(past, 0.1, 0.05).points[:, 0].tolist() == [-4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.0]
    assert resample_history(past, 0.1, 0.3).points[:, 0].tolist() == [-3.0, 0.0]


def test_a_whole_case_is_brought_to_a_step():
    agent = Agent("1", "vehicle", 10.0, 0.0, 4.0, 2.0, 0.0, None, Trajectory.of([[12.0, 0.0], [14.0, 0.0]]))
    before = case(
        expert=straight(n=6, dt=0.5),
        planner=straight(6.0, n=6, dt=0.5),
        dt_s=0.5,
        history=Trajectory.of([[-4.0, 0.0], [0.0, 0.0]]),
        rated=(RatedTrajectory(straight(7.0, n=6, dt=0.5), 8.0),),
        agents=Agents((agent,)),
    )
    made, said = resample_case(before, 0.25)
    assert said == "step 0.5 s to 0.25 s, linear with the origin put before the first state"
    assert (len(made.expert), len(made.planner), len(made.rated[0].trajectory), made.horizon_s) == (12, 12, 12, 3.0)
    assert np.allclose(made.expert.points, straight(n=12).points)
    assert made.agents is not None and made.agents.items[0].future is not None
    assert made.agents.items[0].future.points[:, 0].tolist() == [11.0, 12.0, 13.0, 14.0]
    assert made.history is not None and made.history.points[:, 0].tolist() == [-4.0, -2.0, 0.0]


def test_what_falls_away_at_the_end_is_said_and_the_same_step_changes_nothing():
    made, said = resample_case(case(expert=straight(n=7), planner=straight(n=7)), 0.5)
    assert len(made.expert) == 3 and said.endswith("the last 0.25 s fall away")
    same = case()
    assert resample_case(same, 0.25) == (same, "")


@pytest.mark.parametrize("longer", ["expert", "history", "rated", "agent"])
def test_no_trajectory_becomes_longer_than_a_case_may_have(longer):
    n = {"expert": 3, "history": 4, "rated": 3, "agent": 3} | {longer: 300}
    agent = Agent("a", "vehicle", 5, 0, 4, 2, 0, future=straight(n=n["agent"], dt=10))
    made = case(
        dt_s=10.0,
        expert=straight(n=n["expert"], dt=10),
        planner=straight(n=n["expert"], dt=10),
        history=straight(n=n["history"], dt=10),
        rated=(RatedTrajectory(straight(n=n["rated"], dt=10), 9.0),),
        agents=Agents((agent,)),
    )
    assert len(resample_case(made, 0.5)[0].expert) == n["expert"] * 20
    with pytest.raises(ValueError, match="makes more than 10,000 points of a trajectory that covers 3000 s"):
        resample_case(made, 0.25)


def test_a_report_says_which_cases_were_resampled_and_which_could_not_be():
    cases = [case("a-1"), case("b-1", expert=straight(n=1), planner=straight(n=1))]
    made = resampled(imported(*cases), 0.5)
    assert [c.case_id for c in made.cases] == ["a-1"]
    assert (made.report.accepted, made.report.rejected, made.report.resampled) == (1, 1, 1)
    assert "longer than the 0.25 s" in made.report.outcomes[1].notes[-1]


@given(
    st.lists(st.tuples(st.floats(-100, 100), st.floats(-100, 100)), min_size=1, max_size=20),
    st.sampled_from([0.1, 0.2, 0.25, 0.5, 1.0]),
    st.sampled_from([2, 3, 5]),
)
def test_a_finer_step_and_back_gives_the_same_states(points, dt, factor):
    source = Trajectory.of(points)
    there = resample(source, dt, dt / factor)
    back = resample(there, dt / factor, dt)
    assert len(there) == factor * len(source)
    assert np.allclose(back.points, source.points, atol=1e-6)


@given(st.integers(1, 30), st.floats(0.05, 2.0), st.floats(0.05, 2.0), st.lists(st.booleans(), min_size=30, max_size=30))
def test_the_horizon_never_grows_and_a_straight_drive_stays_one(n, dt, step, mask):
    source = Trajectory.of(straight(3.0, n=n, dt=dt).points, mask[:n])
    made = resample(source, dt, step)
    assert len(made) * step <= n * dt + 1e-5
    assert np.allclose(made.points[:, 0], 3.0 * step * np.arange(1, len(made) + 1), atol=1e-6 + 1e-5 * step)
    assert made.valid.sum() == 0 or source.valid.any() or step < dt
