"""What an import looks at: numbers, first step, padding, handedness, duplicates, licence; and the three flags."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.trajectories.case import Camera, Ego, Frame, RatedTrajectory, Trajectory
from core.trajectories.checks import check_case, checked, first_step_limit, handedness, has_origin, other_step, twins, zero_padding
from core.trajectories.filters import (
    FilterCount,
    FilterParameters,
    bad_calibration,
    camera_fault,
    constant_velocity_residual,
    filter_counts,
    flag_case,
    leave_out,
    open_future,
    trivial_expert,
)
from tests.cases import case, imported, straight


def texts(made):
    return [f.text for f in check_case(made)]


def test_a_sound_case_gives_no_finding():
    assert check_case(case()) == ()


def test_the_first_step_is_believed_up_to_speed_and_margin():
    assert first_step_limit(8.0, 0.25) == pytest.approx(13 * 0.25 + 0.5)
    assert check_case(case(planner=straight(14.9))) == ()
    (found,) = check_case(case(planner=straight(15.1)))
    assert "3.8 m away after 0.25 s at 8.0 m/s (believed up to 3.8 m)" in found.text
    assert (found.refuses, found.flag) == (False, "implausible_start")


def test_an_expert_that_starts_too_far_away_refuses_the_case_and_the_right_step_is_guessed():
    (found, *_) = check_case(case(expert=straight(16.0)))
    assert found.refuses and "a step of 0.5 s would fit the speed" in found.text


@pytest.mark.parametrize(("gone", "factor"), [(4.0, 2.0), (2.0, 0.0), (8.0, 4.0), (20.0, 10.0), (3.0, 0.0)])
def test_a_longer_step_is_recognised(gone, factor):
    assert other_step(gone, 8.0, 0.25) == factor


def test_sideways_and_backwards_refuse_a_moving_expert_only():
    side = Trajectory.of(straight().points[:, ::-1])
    assert any(f.refuses and "sideways" in f.text for f in check_case(case(expert=side)))
    back = Trajectory.of(-straight().points)
    assert any(f.refuses and "backwards" in f.text for f in check_case(case(expert=back)))
    still = Trajectory.of(np.zeros((20, 2)))
    assert check_case(case(ego=Ego(0.0), expert=still, planner=still)) == ()
    late = Trajectory.of(side.points, [False] * 8 + [True] * 12)
    assert not any("sideways" in f.text for f in check_case(case(expert=late)))


def test_points_that_are_not_finite_or_not_valid_refuse():
    broken = straight().points.copy()
    broken[3] = np.nan
    assert any(f.refuses for f in check_case(case(planner=Trajectory(broken, np.ones(20, dtype=bool)))))
    none = Trajectory(straight().points, np.zeros(20, dtype=bool))
    assert texts(case(planner=none)) == ["the planner has no valid state"]
    assert any("10 points and the expert 20" in t for t in texts(case(planner=straight(n=10))))


def test_states_that_are_not_valid_are_counted():
    t = Trajectory.of(straight().points, [True] * 15 + [False] * 5)
    assert texts(case(planner=t)) == ["not valid: 5 of 20 states of the planner"]


def test_a_history_that_does_not_end_at_t_0_is_told():
    ends = {0.0: "", 0.04: "", 2.0: "; it may end a step before t = 0", 7.0: ""}
    for gone, more in ends.items():
        told = [t for t in texts(case(history=Trajectory.of([[-gone - 2, 0], [-gone, 0]]))) if "history" in t]
        wanted = f"the history ends {gone:.2f} m from the origin, where the vehicle is at t = 0{more}"
        assert told == ([wanted] if gone > 0.05 else [])
    assert texts(case(history=Trajectory.of([[-2, 0], [-2, 0]], [True, False]))) == texts(case(history=Trajectory.of([]))) == texts(case())


def test_zeros_after_the_way_are_padding():
    p = np.array([[2.0, 0.0], [4.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    assert zero_padding(p).tolist() == [False, False, True, True]
    assert zero_padding(np.zeros((4, 2))).tolist() == [False] * 4
    padded = straight().points.copy()
    padded[15:] = 0
    assert any(f.refuses and "(0, 0)" in f.text for f in check_case(case(planner=Trajectory.of(padded))))


def test_the_origin_is_told_by_motion_and_of_a_standing_vehicle_by_the_number_of_rows():
    assert has_origin(np.array([[0.0, 0.0], [4.0, 0.0]]), 8.0, 0.5)
    assert not has_origin(np.array([[4.0, 0.0], [8.0, 0.0]]), 8.0, 0.5)
    assert has_origin(np.zeros((11, 2)), 0.0, 0.5)
    assert not has_origin(np.zeros((20, 2)), 0.0, 0.25)
    assert not has_origin(np.array([[0.0, 0.0], [0.3, 0.0], [1.0, 0.0], [2.0, 0.0]]), 0.0, 0.5)  # it starts off
    assert has_origin(np.zeros((6, 2)), 0.0, 1.0, 5.0) and not has_origin(np.zeros((5, 2)), 0.0, 1.0, 5.0)
    assert not has_origin(np.zeros((1, 2)), 8.0, 0.25)


def test_another_form_and_a_missing_licence_are_noted():
    short = case(expert=straight(n=6, dt=0.5), planner=straight(n=6, dt=0.5), dt_s=0.5, licence=" ")
    assert texts(short) == [
        "6 points at 0.5 s, 3 s in all, instead of 20 at 0.25 s; what is measured at 5 s stays empty",
        "no licence is stated",
    ]


def test_turns_to_the_other_side_are_told_once_a_scene():
    wrong = [case(f"s{k}-p", command="left", expert=straight(dy=-10.0)) for k in range(3)]
    again = case("s0-q", command="left", expert=straight(dy=-10.0))
    right = case("s9-p", command="right", expert=straight(dy=-10.0))
    assert handedness([*wrong, again, right]).startswith("In 3 of 4 scenes with a turn commanded")
    assert handedness([right]) == "" and handedness([]) == ""
    assert handedness([wrong[0], right]) == ""


def test_twins_are_named():
    a, b, c = case("s1-p"), case("s2-p"), replace(case("s3-p"), scene_id="s1", planner=straight(5.0))
    assert twins([a, b, c]) == {
        "s2-p": 'expert and planner are point for point those of "s1-p"',
        "s3-p": 'scene and planner are those of "s1-p"',
    }


def test_checking_moves_refused_cases_out_and_keeps_count():
    cases = [case("s1-p"), case("s2-p", expert=straight(30.0)), case("s3-p", planner=straight(16.0))]
    made = checked(imported(*cases))
    assert [c.case_id for c in made.cases] == ["s1-p", "s3-p"]
    assert (made.report.accepted, made.report.rejected) == (2, 1)
    assert [o.fate for o in made.report.outcomes] == ["accepted", "rejected", "accepted"]
    assert made.cases[1].flags == ("implausible_start", "trivial_expert")


def test_the_best_constant_velocity_is_found():
    assert constant_velocity_residual(straight(8.0, 3.0), 0.25) == pytest.approx(0.0, abs=1e-9)
    t = 0.25 * np.arange(1, 21)
    braking = Trajectory.of(np.stack([8 * t - 0.5 * t**2, 0 * t], axis=1))
    brute = min(np.abs(8 * t - 0.5 * t**2 - v * t).max() for v in np.linspace(4, 8, 4001))
    assert constant_velocity_residual(braking, 0.25) >= brute - 1e-9
    assert constant_velocity_residual(braking, 0.25) < 3 * brute


def test_an_expert_that_only_drives_on_or_stands_is_trivial():
    assert trivial_expert(case()).flagged
    assert trivial_expert(case(expert=Trajectory.of(np.zeros((20, 2))))).flagged
    t = 0.25 * np.arange(1, 21)
    assert not trivial_expert(case(expert=Trajectory.of(np.stack([8 * t - 0.75 * t**2, 0 * t], axis=1)))).flagged


def rated(*ends):
    return tuple(RatedTrajectory(straight(v, dy), score) for v, dy, score in ends)


def test_a_future_is_open_where_people_accepted_ways_that_lie_apart():
    assert open_future(case(rated=rated((8, 0, 9), (8, 3.5, 8)))).flagged is False
    assert open_future(case(rated=rated((8, 0, 9), (8, 3.7, 8)))).flagged is True
    assert open_future(case(rated=rated((8, 0, 9), (8, 3.7, 7)))).flagged is None
    assert open_future(case(rated=rated((8, 0, 9), (4, 0, 9)))).flagged is True
    assert open_future(case()).flagged is None


def test_along_and_across_are_those_of_the_way():
    t = 0.25 * np.arange(1, 21)
    turned = [Trajectory.of(np.stack([0 * t + x, 8 * t], axis=1)) for x in (0.0, 3.7)]  # both to the left, side by side
    apart = open_future(case(rated=tuple(RatedTrajectory(w, 9.0) for w in turned)))
    assert apart.flagged is True and "0.0 m along and 3.7 m across" in apart.why
    after = [Trajectory.of(np.stack([0 * t, v * t], axis=1)) for v in (8.0, 7.0)]  # one behind the other
    assert open_future(case(rated=tuple(RatedTrajectory(w, 9.0) for w in after))).flagged is False


def looking(yaw_deg=0.0, height=1.5):
    a = np.radians(yaw_deg)
    out = np.eye(4)
    out[:3, :3] = np.array([[np.sin(a), 0, np.cos(a)], [-np.cos(a), 0, np.sin(a)], [0, -1, 0]])
    out[:3, 3] = [1.5, 0, height]
    return out


def front(**changes):
    values = {"width": 640, "height": 400, "intrinsics": np.array([[500.0, 0, 320], [0, 500, 200], [0, 0, 1]]), "extrinsics": looking()}
    return Camera("front", (Frame(0.0, "a.jpg"),), **(values | changes))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, ""),
        ({"intrinsics": None}, None),
        ({"extrinsics": looking(height=0.1)}, "a height of 0.10 m"),
        ({"extrinsics": looking(90.0)}, "90° away"),
        ({"extrinsics": np.diag([2.0, 1, 1, 1])}, "a rotation that is none"),
        ({"extrinsics": np.eye(4)}, "a height of 0.00 m"),
        ({"intrinsics": np.diag([-1.0, 1, 1])}, "no matrix"),
        ({"width": 100}, "outside of its 100 × 400 px"),
        ({"extrinsics": np.full((4, 4), np.nan)}, "not finite"),
    ],
)
def test_faults_of_cameras_are_named(changes, fault):
    found = camera_fault(front(**changes))
    assert found is None if fault is None else fault in found if fault else found == ""


def test_calibration_is_bad_if_one_camera_is():
    good, bad = front(), replace(front(extrinsics=looking(90.0)), name="front")
    assert bad_calibration(case(cameras=(good,))).flagged is False
    assert bad_calibration(case(cameras=(bad,))).flagged is True
    assert bad_calibration(case()).flagged is None


def test_flags_add_up_and_leave_out_by_choice():
    t = 0.25 * np.arange(1, 21)
    braking = Trajectory.of(np.stack([8 * t - 0.75 * t**2, 0 * t], axis=1))
    cases = [flag_case(case("a-1")), flag_case(case("b-1", expert=braking)), flag_case(case("c-1", flags=("open_future",)))]
    counts = filter_counts(cases)
    assert counts["trivial_expert"] == FilterCount(2, 1, 0)
    assert counts["open_future"] == FilterCount(1, 0, 2)
    assert counts["bad_calibration"] == FilterCount(0, 0, 3)
    left = leave_out(cases, ["trivial_expert", "open_future"])
    assert [c.case_id for c in left.kept] == ["b-1"]
    assert left.left_out == 2 and left.by_flag == {"trivial_expert": 2, "open_future": 1}
    assert leave_out(cases, []).left_out == 0


def test_thresholds_can_be_changed():
    drifting = case(expert=Trajectory.of(straight().points + np.linspace(0, 1, 20)[:, None] ** 3))
    assert trivial_expert(drifting, FilterParameters(trivial_m=5.0)).flagged
    assert not trivial_expert(drifting, FilterParameters(trivial_m=0.01)).flagged
