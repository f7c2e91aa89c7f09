"""Where the body is along a way, and the strip that it sweeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.trajectories.case import Ego, Trajectory
from core.trajectories.footprint import headings, history_path, outline, path_of, swept

EGO = Ego(5.0)


def arc(radius: float, degrees: float, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Poses along a bend to the left (radius > 0) that starts in the origin."""
    a = np.radians(np.linspace(0, degrees, n))
    return np.stack([radius * np.sin(a), radius * (1 - np.cos(a))], axis=1), a * np.sign(radius)


def test_the_outline_follows_the_point_that_the_way_is_of():
    np.testing.assert_allclose(outline(np.zeros(2), 0.0, EGO), [[3.9, 1], [-1, 1], [-1, -1], [3.9, -1]])
    np.testing.assert_allclose(outline(np.zeros(2), 0.0, Ego(5.0, origin="centre")), [[2.45, 1], [-2.45, 1], [-2.45, -1], [2.45, -1]])
    np.testing.assert_allclose(outline(np.array([2.0, 3.0]), np.pi / 2, EGO), [[1, 6.9], [1, 2], [3, 2], [3, 6.9]], atol=1e-12)


def test_straight_on_the_strip_is_as_wide_as_the_body_and_ends_at_its_nose():
    points = np.column_stack([np.linspace(0, 20, 21), np.zeros(21)])
    left, right = swept(points, np.zeros(21), EGO)
    np.testing.assert_allclose(left[:, 1], 1.0)
    np.testing.assert_allclose(right[:, 1], -1.0)
    assert (left[0, 0], left[-1, 0]) == (0.0, pytest.approx(23.9))


def test_in_a_bend_the_strip_reaches_to_the_outer_front_corner():
    radius = 10.0
    points, yaw = arc(radius, 120)
    left, right = swept(points, yaw, EGO)
    centre = np.array([0.0, radius])
    middle = slice(len(left) // 3, len(left) // 2)
    # The inner side touches at the rear axle; outside, the front corner runs on a circle through (3.9, -1) as seen from the axle.
    np.testing.assert_allclose(np.hypot(*(left[middle] - centre).T), radius - 1, atol=2e-2)
    np.testing.assert_allclose(np.hypot(*(right[middle] - centre).T), np.hypot(radius + 1, 3.9), atol=4e-2)


def test_a_bend_to_the_right_is_the_mirror_of_one_to_the_left():
    points, yaw = arc(12.0, 70)
    left, right = swept(points, yaw, EGO)
    l2, r2 = swept(points * [1, -1], -yaw, EGO)
    np.testing.assert_allclose(l2, right * [1, -1], atol=1e-9)
    np.testing.assert_allclose(r2, left * [1, -1], atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0.3, 3.0), st.floats(-0.2, 0.2)), min_size=4, max_size=20))
def test_no_part_of_the_body_is_ever_outside_of_the_strip(steps):
    yaw = np.cumsum([0.0, *(b for _, b in steps)])
    points = np.vstack([[0.0, 0.0], np.cumsum([(d * np.cos(h), d * np.sin(h)) for (d, _), h in zip(steps, yaw[:-1], strict=True)], axis=0)])
    left, right = swept(points, yaw, EGO)
    assert len(left) == len(right) >= 2
    across = np.hypot(*(left - right).T)
    assert (across >= EGO.width_m - 1e-6).all()
    # The nose at the end is the end of the strip.
    np.testing.assert_allclose(np.stack([left[-1], right[-1]]).mean(0), outline(points[-1], yaw[-1], EGO)[[0, 3]].mean(0), atol=0.6)


def test_who_stands_sweeps_his_own_length():
    left, right = swept(np.zeros((5, 2)), np.zeros(5), EGO)
    assert left[:, 0].max() == pytest.approx(3.9)
    np.testing.assert_allclose(left[:, 1] - right[:, 1], 2.0)


def test_the_past_ends_at_the_rear_end():
    points = np.column_stack([np.linspace(-8, 0, 5), np.zeros(5)])
    left, _ = swept(points, np.zeros(5), EGO, past=True)
    assert left[0, 0] == -8.0
    assert -1.6 < left[-1, 0] <= -1.0


def test_headings_are_held_while_it_stands_and_do_not_jump_a_turn():
    points = np.array([[0, 0], [1, 0], [2, 1.0], [2, 2], [2, 2.01], [2, 2.0], [2, 2.02]])
    yaw = headings(points, np.ones(7, bool))
    assert yaw[0] == 0.0
    np.testing.assert_allclose(yaw[4:], yaw[4])
    around, _ = arc(5.0, 400, 200)
    assert np.abs(np.diff(headings(around, np.ones(200, bool)))).max() < 0.1


def test_given_headings_win_where_they_are_there():
    points = np.array([[0.0, 0], [1, 0], [2, 0]])
    np.testing.assert_allclose(headings(points, np.ones(3, bool), np.array([0, 0.2, np.nan])), [0, 0.2, 0.0])


def test_a_history_runs_towards_the_origin():
    path = history_path(Trajectory.of([[-4.0, 0.4], [-2.0, 0.1], [0.0, 0.0]]), 0.5)
    assert path.t.tolist() == [-1.0, -0.5, 0.0]
    assert path.yaw[-1] == 0.0
    assert (path.yaw[:2] < 0).all()


def test_between_rows_a_pose_lies_between_them_and_beside_a_gap_there_is_none():
    path = path_of(Trajectory.of([[1.0, 0], [2.0, 0], [0, 0], [4.0, 0]], [True, True, False, True]), 0.5)
    pose = path.at(0.75)
    assert pose is not None and pose[0].tolist() == [1.5, 0.0]
    assert path.at(1.25) is None and path.at(1.5) is None and path.at(2.5) is None and path.at(-0.1) is None
    assert [(r.start, r.stop) for r in path.runs()] == [(0, 3), (4, 5)]
