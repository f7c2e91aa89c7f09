"""Projection against OpenCV, and what OpenCV does not do: cutting away what no camera sees."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.trajectories.case import Camera
from core.trajectories.projection import NEAR_M, into_camera, project, reach, strip, why_not

K = np.array([[410.0, 0.0, 322.0], [0.0, 405.0, 178.5], [0.0, 0.0, 1.0]])


def looking(yaw_deg: float = 0.0, pitch_deg: float = 0.0, at: tuple[float, float, float] = (1.8, 0.1, 1.6)) -> np.ndarray:
    """Camera to ego for a camera that looks to the left of x by yaw and down by pitch."""
    a, b = np.radians([yaw_deg, pitch_deg])
    forward = np.array([np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), -np.sin(b)])
    right = np.array([np.sin(a), -np.cos(a), 0.0])
    out = np.eye(4)
    out[:3, :3] = np.array([right, np.cross(forward, right), forward]).T
    out[:3, 3] = at
    return out


def camera(**more) -> Camera:
    return Camera("front", (), 640, 400, more.pop("k", K), more.pop("pose", looking()), **more)


def ahead(n: int = 200, seed: int = 0) -> np.ndarray:
    """Points before a camera that looks along x, within 40 degrees."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(3, 60, n)
    return np.column_stack([1.8 + x, x * rng.uniform(-0.7, 0.7, n), 1.6 + x * rng.uniform(-0.5, 0.4, n)])


def by_opencv(points: np.ndarray, cam: Camera) -> np.ndarray:
    inverse = np.linalg.inv(cam.extrinsics)
    rotation, move = cv2.Rodrigues(inverse[:3, :3])[0], inverse[:3, 3]
    given_ = np.array(cam.distortion, float)
    if cam.model == "fisheye":
        out, _ = cv2.fisheye.projectPoints(points[:, None], rotation, move, cam.intrinsics, given_)
    else:
        out, _ = cv2.projectPoints(points[:, None], rotation, move, cam.intrinsics, given_)
    return out[:, 0]


@pytest.mark.parametrize(
    "distortion",
    [
        (),
        (-0.31, 0.12, 0.0008, -0.0011),
        (-0.31, 0.12, 0.0008, -0.0011, -0.02),
        (0.4, -0.1, 0.0005, 0.0003, 0.01, 0.7, 0.05, 0.002),
        (0.4, -0.1, 0.0005, 0.0003, 0.01, 0.7, 0.05, 0.002, 0.001, -0.002, 0.0015, 0.0005),
    ],
    ids=["none", "four", "five", "rational", "thin prism"],
)
@pytest.mark.parametrize("pose", [looking(), looking(8, 4), looking(-11, -3, (0.4, -0.5, 2.1))], ids=["ahead", "left down", "right up"])
def test_a_pinhole_projects_as_opencv_does(distortion, pose):
    cam = camera(distortion=distortion, pose=pose)
    points = ahead()
    pixels, seen = project(points, cam)
    assert seen.sum() > 150
    np.testing.assert_allclose(pixels[seen], by_opencv(points, cam)[seen], atol=1e-6)


@pytest.mark.parametrize("distortion", [(0.0, 0.0, 0.0, 0.0), (0.05, -0.02, 0.004, -0.0005), (-0.03, 0.01, -0.004, 0.0006)])
def test_a_fisheye_projects_as_opencv_does(distortion):
    cam = camera(distortion=distortion, model="fisheye")
    points = ahead()
    pixels, seen = project(points, cam)
    assert seen.all()
    np.testing.assert_allclose(pixels, by_opencv(points, cam), atol=1e-6)


def test_a_point_on_the_axis_is_the_principal_point_whatever_the_lens():
    point = np.array([[11.8, 0.1, 1.6]])
    for cam in (camera(), camera(distortion=(-0.3, 0.1, 0, 0)), camera(distortion=(0.05, 0, 0, 0), model="fisheye")):
        pixels, seen = project(point, cam)
        assert seen[0]
        np.testing.assert_allclose(pixels[0], K[:2, 2], atol=1e-9)


def test_a_hand_worked_point():
    # 10 m before the camera, 2 m to the left of it, on the road 1.6 m below: u = 322 - 410 * 2 / 10, v = 178.5 + 405 * 1.6 / 10.
    pixels, seen = project(np.array([[11.8, 2.1, 0.0]]), camera())
    assert seen[0]
    np.testing.assert_allclose(pixels[0], [240.0, 243.3])


def test_what_lies_behind_is_not_seen_and_has_no_pixels():
    points = np.array([[-5.0, 0.0, 0.0], [1.8 + NEAR_M / 2, 0.1, 1.6], [1.8 + 2 * NEAR_M, 0.1, 1.6]])
    pixels, seen = project(points, camera())
    assert seen.tolist() == [False, False, True]
    assert np.isnan(pixels[:2]).all()


def test_a_fisheye_sees_beside_itself_but_not_behind():
    beside = np.array([[1.8 - 0.5, 6.1, 1.6], [-20.0, 0.2, 1.6]])
    assert project(beside, camera(model="fisheye"))[1].tolist() == [True, False]
    assert project(beside, camera())[1].tolist() == [False, False]


def test_a_lens_model_that_turns_back_ends_the_view_there():
    # r (1 - 0.5 r²) grows up to r = sqrt(2 / 3) and then comes back: points beyond would appear inside the picture.
    distortion = (-0.5, 0.0, 0.0, 0.0)
    assert reach(distortion, "pinhole") == pytest.approx(np.sqrt(2 / 3), abs=2e-3)
    cam = camera(distortion=distortion)
    x = 10.0
    points = np.array([[1.8 + x, 0.1 - x * r, 1.6] for r in (0.7, 0.8, 0.9, 2.0)])
    assert project(points, cam)[1].tolist() == [True, True, False, False]


def test_the_frame_of_the_camera_is_right_down_forward():
    np.testing.assert_allclose(into_camera(np.array([[11.8, -2.9, 0.6]]), camera())[0], [3.0, 1.0, 10.0], atol=1e-12)


def test_a_strip_that_comes_from_behind_begins_at_the_near_plane():
    xs = np.arange(-6.5, 30.0, 2.0)
    left, right = (np.column_stack([xs, np.full(len(xs), y), np.zeros(len(xs))]) for y in (1.0, -1.0))
    found = strip(left, right, camera())
    assert found[0][1] is not None
    # The border lies where x is that of the camera plus NEAR_M: between rows 4 (x = 1.5) and 5 (x = 3.5).
    assert found[0][0] == pytest.approx((1.8 + NEAR_M + 6.5) / 2.0, abs=1e-5)
    assert [place for place, _ in found[1:]] == [float(i) for i in range(len(xs)) if xs[i] >= 1.8 + NEAR_M]


def test_a_strip_that_leaves_and_returns_has_one_gap():
    x = np.array([10.0, 8.0, -4.0, -6.0, 7.0, 9.0])
    left, right = (np.column_stack([x, np.full(6, y), np.zeros(6)]) for y in (1.0, -1.0))
    sections = [s for _, s in strip(left, right, camera())]
    assert [s is None for s in sections] == [False, False, False, True, False, False, False]


def test_an_empty_strip_and_one_behind_give_nothing():
    assert strip(np.zeros((0, 3)), np.zeros((0, 3)), camera()) == []
    behind = np.array([[-3.0, 1, 0], [-9.0, 1, 0]])
    assert strip(behind, behind - [0, 2, 0], camera()) == []


@settings(max_examples=60, deadline=None)
@given(yaw=st.floats(-180, 180), pitch=st.floats(-30, 30), start=st.floats(-20, 20), side=st.floats(-6, 6), fish=st.booleans())
def test_every_section_of_a_strip_can_be_drawn(yaw, pitch, start, side, fish):
    xs = np.linspace(start, start + 40, 25)
    left, right = (np.column_stack([xs, np.full(25, side + y), np.zeros(25)]) for y in (1.0, -1.0))
    cam = camera(pose=looking(yaw, pitch), model="fisheye" if fish else "pinhole")
    places = [place for place, _ in strip(left, right, cam)]
    assert places == sorted(places)
    for _, section in strip(left, right, cam):
        assert section is None or np.isfinite(section).all()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"intrinsics": None}, "No intrinsics"),
        ({"extrinsics": None}, "No extrinsics"),
        ({"intrinsics": None, "extrinsics": None}, "No intrinsics and extrinsics"),
        ({"intrinsics": np.eye(4)}, "not usable"),
        ({"intrinsics": np.diag([0.0, 400, 1])}, "not usable"),
        ({"intrinsics": np.full((3, 3), np.nan)}, "not usable"),
        ({"extrinsics": np.zeros((4, 4))}, "not usable"),
        ({"extrinsics": np.diag([1.0, 1, -1, 1])}, "not usable"),
        ({"extrinsics": looking() * [[1], [1], [1], [0]]}, "not usable"),
        ({"extrinsics": looking() * [[1], [1], [1], [2]]}, "not usable"),
        ({"extrinsics": looking() + np.eye(4)[[3]].T @ [[0.1, 0, 0, 0]]}, "not usable"),
        ({"intrinsics": np.array([[400.0, 0, 320], [0, 400, 200], [0, 0, 0]])}, "not usable"),
        ({"intrinsics": np.array([[400.0, 0, 320], [5, 400, 200], [0, 0, 1]])}, "not usable"),
        ({"distortion": (0.1,) * 14}, "lens model"),
        ({"distortion": (0.1,) * 5, "model": "fisheye"}, "lens model"),
        ({"distortion": (np.inf,)}, "lens model"),
    ],
)
def test_a_camera_that_cannot_be_drawn_into_says_why(change, says):
    assert says in why_not(replace(camera(), **change))


def test_a_whole_camera_has_nothing_to_say():
    assert why_not(camera()) == why_not(camera(distortion=(-0.3, 0.1, 0, 0, 0, 0, 0, 0))) == ""
