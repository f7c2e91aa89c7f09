"""The payload of a case for the page: what it says, what it never says, and that odd cases still have one."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.trajectories.birdseye import grid
from core.trajectories.case import (
    CAMERAS,
    Agent,
    Agents,
    Camera,
    Case,
    Coverage,
    Ego,
    Frame,
    Layer,
    RatedTrajectory,
    Shape,
    Trajectory,
)
from core.trajectories.comparison import question, speeds, step_speeds, stop
from core.trajectories.footprint import path_of
from core.trajectories.view import case_view, hidden

T = np.arange(1, 21) * 0.25
K = np.array([[400.0, 0, 320], [0, 400, 176], [0, 0, 1]])
TURNS = {"front_left": 55, "front": 0, "front_right": -55, "rear_left": 125, "rear": 180, "rear_right": -125}


def pose(yaw_deg: float, x: float = 1.8) -> np.ndarray:
    a = np.radians(yaw_deg)
    out = np.eye(4)
    out[:3, :3] = np.array([[np.sin(a), 0, np.cos(a)], [-np.cos(a), 0, np.sin(a)], [0, -1, 0]])
    out[:3, 3] = (x, 0.0, 1.6)
    return out


def six(**more) -> tuple[Camera, ...]:
    return tuple(
        Camera(name, (Frame(-0.25, f"images/{name}_0.jpg"), Frame(0.0, f"images/{name}_1.jpg")), 640, 400, K, pose(yaw), **more)
        for name, yaw in TURNS.items()
    )


def straight(v: float, y: float = 0.0) -> Trajectory:
    return Trajectory.of(np.column_stack([v * T, y * np.clip(T / 2, 0, 1)]))


def a_case(expert: Trajectory | None = None, planner: Trajectory | None = None, **more) -> Case:
    made = Case(
        "secret-case", "S-7", "secret-planner", 0.25, expert or straight(8.0), planner or straight(10.0, -2.0), Ego(8.0), cameras=six(),
        licence="CC0-1.0", source={"dataset": "Tried", "gold": {"label": "Y"}, "path": "secret-folder"}, metrics={"PDMS": 0.5},
    )  # fmt: skip
    return replace(made, **more)


def test_it_is_json_and_names_neither_planner_nor_case_nor_answer():
    text = json.dumps(case_view(a_case()), allow_nan=False)
    assert "secret" not in text and "gold" not in text and "PDMS" not in text
    view = json.loads(text)
    assert (view["scene"], view["dataset"], view["licence"], view["synthetic"], view["horizon_s"]) == (
        "S-7",
        "Tried",
        "CC0-1.0",
        False,
        5.0,
    )


@pytest.mark.parametrize(
    ("planner", "says"),
    [
        (straight(10.0, -2.0), "After 5 s the planner is 10.0 m further on and 2.0 m to the right of the expert. Is that a threat?"),
        (straight(6.0, 1.5), "After 5 s the planner is 10.0 m further back and 1.5 m to the left of the expert. Is that a threat?"),
        (straight(8.0, 1.5), "After 5 s the planner is 1.5 m to the left of the expert. Is that a threat?"),
        (straight(9.0), "After 5 s the planner is 5.0 m further on than the expert. Is that a threat?"),
        (straight(7.0), "After 5 s the planner is 5.0 m further back than the expert. Is that a threat?"),
        (straight(8.0), "After 5 s the planner is less than 0.3 m from the expert. Is that a threat?"),
        (straight(8.0, 0.2), "After 5 s the planner is less than 0.3 m from the expert. Is that a threat?"),
    ],
)
def test_the_sentence_says_where_the_planner_ends(planner, says):
    assert question(a_case(planner=planner)) == says


def test_out_and_back_is_not_hidden_by_the_same_end():
    there_and_back = Trajectory.of(np.column_stack([8 * T, 2.4 * np.sin(np.pi * T / 5)]))
    assert question(a_case(planner=there_and_back)) == (
        "After 5 s the planner is less than 0.3 m from the expert, and was up to 2.4 m away from it before. Is that a threat?"
    )


def test_a_shorter_horizon_and_a_lost_end_are_said():
    short = a_case(Trajectory.of(straight(8.0).points[:12]), Trajectory.of(straight(9.0).points[:12]))
    assert question(short).startswith("After 3 s the planner is 3.0 m further on than the expert.")
    lost = Trajectory.of(straight(9.0).points, np.arange(20) < 10)
    assert question(a_case(planner=lost)).startswith("After 2.5 s the planner is 2.5 m further on")
    never = Trajectory.of(straight(9.0).points, np.zeros(20, bool))
    assert question(a_case(planner=never)) == "There is no moment at which both trajectories are known. Is the planner's a threat?"


def test_further_on_is_meant_along_the_experts_way():
    # The expert has turned left by 90 degrees: 3 m more of y is further on, 2 m more of x is to its right.
    a = np.linspace(0, np.pi / 2, 11)[1:]
    bend = np.vstack([np.column_stack([8 * np.sin(a), 8 - 8 * np.cos(a)]), np.column_stack([np.full(10, 8.0), 8 + np.arange(1, 11)])])
    end = bend[-1] + [2.0, 3.0]
    planner = Trajectory.of(np.linspace([0, 0], end, 21)[1:])
    assert question(a_case(Trajectory.of(bend), planner)).startswith("After 5 s the planner is 3.0 m further on and 2.0 m to the right")


@given(st.floats(-20, 20), st.floats(-6, 6))
def test_the_sentence_never_judges(dv, dy):
    text = question(a_case(planner=straight(8.0 + dv / 5, dy)))
    assert text.endswith("Is that a threat?") and "-" not in text
    for word in ("red", "cyan", "green", "blue", "fast", "slow", "danger", "safe", "far ", "close"):
        assert word not in text


def test_speeds_are_those_of_the_steps_around_a_time():
    path = path_of(Trajectory.of([[2.0, 0], [6.0, 0], [6.0, 3.0]]), 0.5)
    assert step_speeds(path).tolist() == [4.0, 8.0, 6.0]
    assert speeds(path, 3.0).tolist() == [3.0, 6.0, 7.0, 6.0]
    assert speeds(path, None).tolist() == [4.0, 6.0, 7.0, 6.0]


def test_speeds_beside_a_gap_are_not_made_up():
    path = path_of(Trajectory.of([[1.0, 0], [2.0, 0], [0, 0], [4.0, 0], [5.0, 0]], [True, True, False, True, True]), 0.5)
    np.testing.assert_array_equal(speeds(path, 2.0), [2.0, 2.0, 2.0, np.nan, 2.0, 2.0])


@pytest.mark.parametrize(
    ("slowest", "says"), [(0.0, "yes"), (0.05, "yes"), (0.1001, "unclear"), (0.29, "unclear"), (0.31, "no"), (4.0, "no")]
)
def test_a_stop_has_a_grey_zone(slowest, says):
    step = np.r_[np.full(10, 5.0), np.full(10, slowest)] * 0.25
    found = stop(path_of(Trajectory.of(np.column_stack([np.cumsum(step), np.zeros(20)])), 0.25))
    assert found == (says, 2.5 if says == "yes" else None)


def test_a_stop_of_nothing_valid_is_unknown_and_who_stands_stands_from_the_start():
    assert stop(path_of(Trajectory.of(np.zeros((4, 2)), np.zeros(4, bool)), 0.25)) == ("unknown", None)
    assert stop(path_of(Trajectory.of(np.zeros((4, 2))), 0.25)) == ("yes", 0.0)


def test_the_table_has_whole_seconds_and_the_offset():
    table = case_view(a_case())["table"]
    assert table["seconds"] == [0, 1, 2, 3, 4, 5]
    assert table["expert"] == [8.0] * 6
    assert table["planner"][0] == 8.0 and table["planner"][-1] == 10.0
    assert table["end"] == {"t": 5.0, "ahead_m": 10.0, "left_m": -2.0}
    assert table["stops"] == {"expert": "no", "planner": "no"} and table["stop_at"] == {"expert": None, "planner": None}


def test_steps_that_do_not_meet_the_seconds_are_read_in_between():
    t = np.arange(1, 9) * 0.4
    slow = a_case(Trajectory.of(np.column_stack([t * t, t * 0])), Trajectory.of(np.column_stack([t * t, t * 0])), dt_s=0.4, ego=Ego(0.0))
    table = case_view(slow)["table"]
    assert table["seconds"] == [0, 1, 2, 3]
    # x = t²: v = 2 t, which the mean of two steps around a row gives exactly; the last step alone gives 6.0 at 3.2 s, 5.6 at 2.8 s.
    assert table["expert"] == [0.0, 2.0, 4.0, 5.8]


def test_ribbons_lie_on_the_road_and_meet_the_second_marks():
    front = case_view(a_case())["cameras"][1]
    ribbon = front["ribbons"]["expert"]
    assert all(len(s) == 5 and s[0] < s[2] for s in ribbon)
    # Straight on, 1 m to either side, road 1.6 m below the camera: (u - 320) / (v - 176) = ±1 / 1.6.
    for xl, yl, xr, yr, _ in ribbon:
        assert (xl - 320) / (yl - 176) == pytest.approx(-1 / 1.6, abs=0.01)
        assert (xr - 320) / (yr - 176) == pytest.approx(1 / 1.6, abs=0.01)
    assert [s[0] for s in front["seconds"]["expert"]] == [1, 2, 3, 4, 5]
    # After 1 s the nose is at 8 + 3.9 m, 10.1 m before the camera.
    assert front["seconds"]["expert"][0][1:] == pytest.approx(
        [320 - 400 / 10.1, 176 + 400 * 1.6 / 10.1, 320 + 400 / 10.1, 176 + 640 / 10.1], abs=0.06
    )


def test_the_past_is_seen_by_the_rear_cameras_and_the_future_by_the_front_ones():
    past = Trajectory.of(np.column_stack([np.arange(-4, 1) * 2.0, np.zeros(5)]))
    cameras = tuple(replace(c, extrinsics=pose(TURNS[c.name], -0.5)) if c.name == "rear" else c for c in six())
    by = {c["name"]: c["ribbons"] for c in case_view(a_case(history=past, cameras=cameras))["cameras"]}
    assert by["rear"]["history"] and not by["front"]["history"]
    assert by["front"]["expert"] and not by["rear"]["expert"]


def test_what_another_road_user_hides_is_marked():
    truck = Agent("1", "truck", 20.0, 0.0, 8.0, 2.5, 0.0)
    points = np.array([[10.0, 0, 0], [20.0, 0, 0], [26.0, 0, 0], [26.0, 9.0, 0], [60.0, 0, 0]])
    front = six()[1]
    # 3 m tall and seen from 1.6 m: everything behind it on the axis is hidden, however far.
    assert hidden(points, front, (truck,)).tolist() == [False, True, True, False, True]
    # A car of 1.5 m right before the camera hides the road only up to where one looks over it: 16 times its distance.
    car = Agent("2", "vehicle", 4.2, 0.0, 0.4, 2.0, 0.0)
    over = np.array([[8.0, 0, 0], [1.8 + 2.6 * 16 + 1, 0, 0]])
    assert hidden(over, front, (car,)).tolist() == [True, False]
    assert hidden(points, front, (replace(truck, x=1.8),)).tolist() == [False] * 5
    assert hidden(points, front, ()).tolist() == [False] * 5
    ribbon = case_view(a_case(agents=Agents((truck,))))["cameras"][1]["ribbons"]["expert"]
    assert {s[4] for s in ribbon} == {0, 1}


def test_a_camera_without_calibration_keeps_its_pictures():
    bare = replace(six()[1], intrinsics=None)
    camera = case_view(a_case(cameras=(bare,)))["cameras"][0]
    assert camera["frames"][-1] == {"t": 0.0, "path": "images/front_1.jpg"}
    assert camera["overlay"].startswith("No intrinsics")
    assert not any(camera["ribbons"].values()) and not any(camera["seconds"].values())


def test_a_case_without_cameras_has_its_bird_and_numbers():
    view = case_view(a_case(cameras=()))
    assert view["cameras"] == []
    assert len(view["bev"]["expert"]["points"]) == 21 and view["table"]["end"]


def test_the_bird_shows_everything_in_metres():
    layer = Layer((
        Shape("lane", np.array([[0, 2], [30, 2], [30, -2], [0, -2.0]]), True, {"lane_type": "bike"}),
        Shape("drivable", np.array([[0, 5], [30, 5], [30, -5], [0, -5.0]]), True),
        Shape("stop_line", np.array([[20, 2], [20, -2.0]])),
        Shape("marking", np.array([[0, 2], [30, 2.0]]), False, {"marking": "dashed_yellow"}),
        Shape("lane", np.array([[500, 2], [530, 2], [530, -2.0]]), True),
    ), Coverage("map"))  # fmt: skip
    agent = Agent(
        "1",
        "pedestrian",
        10.0,
        3.0,
        0.0,
        0.0,
        np.pi / 2,
        (0.0, 1.25),
        Trajectory.of(np.column_stack([np.full(20, 10.0), 3 + 1.25 * T])),
        ("parked",),
    )
    far = Agent("2", "vehicle", 900.0, 3.0, 4.5, 2.0, 0.0)
    cones = Layer((Shape("cone", np.array([[12.0, -1.0]])),))
    lights = Layer((Shape("traffic_light", np.array([[25.0, -4.0]]), False, {"state": "red"}),))
    bev = case_view(a_case(map=layer, agents=Agents((agent, far)), static_objects=cones, signals=lights))["bev"]
    assert [(a["kind"], a["use"]) for a in bev["areas"]] == [("drivable", ""), ("lane", "bike")]
    assert [(x["kind"], x["colour"], x["dashed"]) for x in bev["lines"]] == [("stop_line", "white", False), ("marking", "yellow", True)]
    (shown,) = bev["agents"]
    assert shown["velocity"] == [0.0, 1.25] and shown["parked"] and shown["seconds"][0] == [1.0, 10.0, 4.25]
    assert np.ptp(np.array(shown["outline"]), axis=0).tolist() == pytest.approx([0.6, 0.6])
    assert bev["things"] == [{"kind": "cone", "closed": False, "points": [[12.0, -1.0]]}]
    assert bev["signals"][0]["state"] == "red" and bev["unknown"] == []
    assert case_view(a_case())["bev"]["unknown"] == ["agents", "map", "static_objects", "signals"]


def test_the_grid_holds_every_point_and_the_seconds_are_on_the_way():
    bev = case_view(a_case(planner=straight(10.0, -12.0)))["bev"]
    (x0, x1), (y0, y1) = bev["extent"]["x"], bev["extent"]["y"]
    for way in ("expert", "planner"):
        for x, y in [*bev[way]["points"], *bev[way]["end"]]:
            assert x0 <= x <= x1 and y0 <= y <= y1
    assert x0 % bev["grid_m"] == x1 % bev["grid_m"] == y0 % bev["grid_m"] == 0
    assert bev["planner"]["seconds"][4] == [5.0, 50.0, -12.0]


@pytest.mark.parametrize(("longest", "step"), [(1, 5), (90, 5), (91, 10), (180, 10), (181, 20), (361, 50), (1e6, 100_000)])
def test_a_grid_has_round_steps_and_few_lines(longest, step):
    assert grid(longest) == step
    assert longest / grid(longest) <= 18


def test_whom_the_vehicle_meets_is_on_the_picture():
    crosses = Agent(
        "1", "vehicle", 30.0, -34.0, 4.5, 2.0, np.pi / 2, (0.0, 9.0), Trajectory.of(np.column_stack([np.full(20, 30.0), -34 + 9 * T]))
    )
    leaves = replace(crosses, future=Trajectory.of(np.column_stack([np.full(20, 30.0), -34 - 9 * T])))
    alone = case_view(a_case())["bev"]["extent"]
    assert case_view(a_case(agents=Agents((leaves,))))["bev"]["extent"] == alone
    wider = case_view(a_case(agents=Agents((crosses,))))["bev"]["extent"]
    assert wider["y"][0] <= -34 < alone["y"][0] and wider["x"] == alone["x"]


def test_the_best_rated_way_is_shown_and_unrated_ones_are_not():
    rated = (RatedTrajectory(straight(7.0), 4.0), RatedTrajectory(straight(8.0, 1.0), 9.0), RatedTrajectory(straight(3.0), None))
    view = case_view(a_case(rated=rated))
    assert view["bev"]["rated"]["points"][-1] == [40.0, 1.0]
    assert view["cameras"][1]["ribbons"]["rated"] and view["speed"]["rated"]
    none = case_view(a_case(rated=rated[2:]))
    assert none["bev"]["rated"] is None and none["speed"]["rated"] is None and none["cameras"][1]["ribbons"]["rated"] == []


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-500, 500), st.floats(-500, 500)), min_size=1, max_size=12),
    st.lists(st.booleans(), min_size=12, max_size=12),
    st.sampled_from([0.1, 0.25, 0.5, 1.0]),
)
def test_whatever_the_numbers_there_is_a_payload(points, valid, dt):
    n = len(points)
    odd = Trajectory.of(points, valid[:n])
    view = case_view(a_case(odd, Trajectory.of(points[::-1], valid[:n][::-1]), dt_s=dt, history=odd, cameras=six()[:2]))
    json.dumps(view, allow_nan=False)
    assert len(view["speed"]["t"]) == len(view["speed"]["expert"]) == n + 1
    assert view["table"]["seconds"] == list(range(int(n * dt + 1e-6) + 1))


def test_the_names_of_cameras_stay_in_their_order():
    assert [c["name"] for c in case_view(a_case())["cameras"]] == list(CAMERAS)
    assert case_view(a_case())["cameras"][0]["title"] == "Front left"
