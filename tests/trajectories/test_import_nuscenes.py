"""nuScenes-like samples: axes, lidar frame, boxes, cameras; the known values of the real file."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from core.errors import InputError
from core.trajectories.displacement import error_at, mean_up_to
from core.trajectories.importers import detect, import_source
from core.trajectories.measure import measure
from core.trajectories.projection import project
from tests.source_files import csv_points, sample, track, write_samples

REAL = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "openemma_nuscenes" / "output.json"
real = pytest.mark.skipif(not REAL.exists(), reason="the sample of OpenEMMA is not beside the repository")


def read(path, **options):
    return import_source(path, "nuscenes", **({"planners": "constant_velocity"} | options))


def one(tmp_path, **changes):
    made = read(write_samples(tmp_path, sample(**changes)))
    return made.cases[0], made.report.outcomes[0]


def test_x_right_y_forward_becomes_x_forward_y_left(tmp_path):
    case, outcome = one(tmp_path)
    assert np.allclose(case.expert.points, [[4.0 * k, -0.05 * k] for k in range(1, 7)])
    assert case.history is not None
    assert np.allclose(case.history.points[:, 0], [-16, -12, -8, -4, 0])
    assert (case.dt_s, case.command, case.case_id) == (0.5, "left", "t1:constant_velocity")
    assert case.ego.speed_mps == 8.0 and case.ego.accel_mps2 == -0.5 and case.ego.yaw_rate_rps == 0.1
    assert np.allclose(case.planner.points, [[4.0 * k, 0.0] for k in range(1, 7)])
    assert case.ego.rear_overhang_m == pytest.approx(4.084 / 2 - 0.5)
    assert "left out: 1 of 4 boxes without a lidar or radar point (valid_flag)" in outcome.notes


def test_boxes_stand_and_move_where_they_do(tmp_path):
    case, _ = one(tmp_path)
    assert case.agents is not None and case.static_objects is not None and case.agents.coverage is not None
    parked, oncoming = case.agents.items
    assert (parked.x, parked.y) == pytest.approx((20.0, 3.0))
    assert (parked.length_m, parked.width_m, parked.cls) == (4.5, 1.9, "vehicle")
    assert math.cos(parked.yaw) == pytest.approx(1.0)
    assert math.cos(oncoming.yaw) == pytest.approx(-1.0)
    assert oncoming.velocity == pytest.approx((-6.0, 0.0))
    assert oncoming.future is not None
    assert np.allclose(oncoming.future.points[:3], [[27.0, 4.0], [24.0, 4.0], [21.0, 4.0]])
    assert oncoming.future.valid.tolist() == [True] * 3 + [False] * 3
    (cone,) = case.static_objects.items
    assert cone.kind == "cone" and cone.closed and np.allclose(cone.points.mean(axis=0), [10.0, -2.0])


def test_the_newer_order_of_boxes_is_recognised(tmp_path):
    old = sample()
    boxes = [[x, y, z, length, width, h, -a - math.pi / 2] for x, y, z, width, length, h, a in old["gt_boxes"]]
    case, outcome = one(tmp_path, gt_boxes=boxes)
    expected, _ = one(tmp_path)
    assert case.agents is not None and expected.agents is not None
    for a, b in zip(case.agents.items, expected.agents.items, strict=True):
        assert (a.length_m, a.width_m) == (b.length_m, b.width_m) and math.cos(a.yaw - b.yaw) == pytest.approx(1.0)
    assert any("mmdetection3d 1.0 and later" in n for n in outcome.notes)


def test_the_camera_sees_the_road_ahead_from_where_it_stands(tmp_path):
    case, outcome = one(tmp_path)
    (camera,) = case.cameras
    assert (camera.name, camera.width, camera.height) == ("front", 160, 90)
    assert camera.intrinsics is not None and camera.extrinsics is not None
    assert camera.intrinsics[0, 0] == pytest.approx(125.0)  # the image is a tenth of the size that the calibration is for
    assert np.allclose(camera.extrinsics[:3, 3], [0.7, 0.0, 1.5])
    pixels, seen = project(np.array([[15.7, 0.0, 0.0], [15.7, 3.0, 0.0]]), camera)
    assert seen.all() and np.allclose(pixels, [[80.0, 45 + 12.5], [80 - 25.0, 45 + 12.5]])
    assert outcome.notes[1].startswith("5 of 6 cameras have no image here: CAM_FRONT_LEFT")


def test_the_way_that_the_ego_went_between_camera_and_lidar_is_allowed_for(tmp_path):
    changed = sample()
    entry = changed["cams"]["CAM_FRONT"]
    entry["sensor2lidar_rotation"] = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]
    entry["sensor2lidar_translation"] = [0.0, 0.4, -0.3]
    case, _ = one(tmp_path, cams=changed["cams"])
    assert case.cameras[0].extrinsics is not None
    assert np.allclose(case.cameras[0].extrinsics[:3, 3], [0.4, 0.0, 1.5])


def test_an_image_of_another_shape_has_no_calibration(tmp_path):
    from tests.stub_llm import png

    path = write_samples(tmp_path, sample())
    next((tmp_path / "samples").rglob("*.png")).write_bytes(png(100, 100))
    made = read(path)
    assert made.cases[0].cameras[0].intrinsics is None
    assert "no usable calibration: CAM_FRONT" in made.report.outcomes[0].notes


def test_earlier_samples_give_the_images_of_the_second_before(tmp_path):
    def at(token, prev, t):
        made = sample(token=token, prev=prev, timestamp=t)
        made["cams"]["CAM_FRONT"]["data_path"] = f"samples/CAM_FRONT/{token}.png"
        return made

    samples = [at("a", "", 0), at("b", "a", 500_000), at("c", "b", 1_000_000), at("d", "c", 1_500_000)]
    made = read(write_samples(tmp_path, *samples))
    last = made.cases[-1].cameras[0]
    assert [f.t_s for f in last.frames] == [-1.0, -0.5, 0.0]
    assert [Path(made.images[f.path]).name for f in last.frames] == ["b.png", "c.png", "d.png"]


def test_masked_steps_are_not_valid_and_a_missing_origin_is_put_before(tmp_path):
    case, _ = one(tmp_path, gt_ego_fut_masks=[1.0] * 4 + [0.0] * 2)
    assert case.expert.valid.tolist() == [True] * 4 + [False] * 2
    case, outcome = one(tmp_path, gt_ego_fut_trajs=[[0.0, 4.0 * k] for k in range(1, 7)], gt_ego_fut_masks=None)
    assert len(case.expert) == 6 and "its future came without the origin" in outcome.notes


def test_a_standing_ego_keeps_all_its_steps(tmp_path):
    still = {"gt_ego_fut_trajs": [[0.0, 0.0]] * 7, "gt_ego_lcf_feat": [0.0] * 9, "gt_ego_his_trajs": [[0.0, 0.0]] * 5}
    case, _ = one(tmp_path, **still)
    assert len(case.expert) == 6 and case.flags == ("trivial_expert",)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gt_ego_lcf_feat": None}, "with the velocity is missing"),
        ({"gt_ego_fut_trajs": "far"}, "no list of at least two points"),
        ({"gt_ego_fut_trajs": [[5.0, 5.0]] * 7}, "7 points for 6 masks"),
        ({"gt_ego_fut_masks": [0.0] * 6}, "no state of its future is valid"),
        ({"gt_boxes": [[1.0, 2.0]]}, '"gt_boxes" has the shape 1 × 2 instead of n × 7'),
        ({"gt_names": ["vehicle.car"]}, "are not 4 names"),
        ({"gt_velocity": [[1.0, 2.0]]}, "are not 4 velocities"),
        ({"valid_flag": [True]}, '"valid_flag" has the shape 1 instead of 4'),
        ({"gt_agent_fut_masks": None}, "has no masks of its length"),
        ({"gt_ego_fut_trajs": [[4.0 * k, 0.0] for k in range(7)]}, "starts sideways"),
        ({"gt_ego_fut_trajs": [[0.0, 12.0 * k] for k in range(7)]}, "believed up to"),
    ],
)
def test_samples_that_cannot_be_used_are_told(tmp_path, changes, said):
    made = read(write_samples(tmp_path, sample(**changes)))
    assert made.cases == [] and any(said in n for o in made.report.outcomes for n in o.notes)


def test_samples_may_be_a_list_and_broken_ones_stand_beside_good_ones(tmp_path):
    path = write_samples(tmp_path, sample())
    path.write_text(json.dumps({"infos": [sample(), 7, sample(token="t2", gt_boxes=None)]}))
    made = read(path)
    assert [o.fate for o in made.report.outcomes] == ["accepted", "rejected", "accepted"]
    assert made.cases[1].agents is None and "no boxes of other road users" in made.report.outcomes[2].notes


def test_a_folder_gives_the_samples_of_all_its_files(tmp_path):
    write_samples(tmp_path, sample()).rename(tmp_path / "a.json")
    write_samples(tmp_path, sample(token="t2"))
    (tmp_path / "other.json").write_text("{}")
    made = read(tmp_path)
    assert [o.where for o in made.report.outcomes] == ['a.json, sample "t1"', 'output.json, sample "t2"']
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no JSON file of samples"):
        read(tmp_path / "empty")


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"a": ' * 5000])
def test_files_that_hold_no_samples_are_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=r"no JSON|holds no samples"):
        read(tmp_path / "x.json")


def test_a_planner_may_come_from_a_file_in_the_axes_of_the_data(tmp_path):
    path = write_samples(tmp_path, sample())
    plan = [[0.1 * k, 3.0 * k] for k in range(7)]
    (tmp_path / "mine.json").write_text(json.dumps({"t1": plan, "t9": plan, "t1b": "x"}))
    made = import_source(path, "nuscenes", planner_file=str(tmp_path / "mine.json"))
    (case,) = made.cases
    assert (case.planner_id, case.case_id) == ("mine", "t1:mine")
    assert np.allclose(case.planner.points, [[3.0 * k, -0.1 * k] for k in range(1, 7)])
    assert [o.fate for o in made.report.outcomes] == ["accepted", "rejected", "rejected"]
    rows = csv_points([(s, w, t, -y, x) for s, w, t, x, y in track("t1", "B", 6.0, n=12)])
    (tmp_path / "b.csv").write_text(rows)
    made = import_source(path, "nuscenes", planner_file=tmp_path / "b.csv", planners="faster")
    assert [c.planner_id for c in made.cases] == ["faster", "B"]
    assert made.report.outcomes[1].resampled.startswith("planner: step 0.25 s to 0.5 s")
    assert np.allclose(made.cases[1].planner.points[:, 0], 3.0 * np.arange(1, 7))


@real
def test_the_known_values_of_the_real_file():
    made = import_source(REAL, "nuscenes")
    assert detect(REAL) == detect(REAL.parent) == "nuscenes"
    assert [c.planner_id for c in made.cases] == ["constant_velocity", "constant_acceleration", "lateral_ramp", "faster", "late_braking"]
    case = made.cases[0]
    assert mean_up_to(case, 3.0).value == pytest.approx(1.667, abs=5e-4)
    assert error_at(case, 3.0).value == pytest.approx(3.917, abs=5e-4)
    table = measure(made.cases)
    assert table.values["fde_3s_expert"]["constant_velocity"][case.scene_id].value == pytest.approx(3.917, abs=5e-4)
    assert table.values["fde_5s_expert"]["constant_velocity"][case.scene_id].value is None
    assert [c.name for c in case.cameras] == ["front"] and len(made.images) == 1
    assert case.cameras[0].intrinsics is not None and "bad_calibration" not in case.flags
    assert case.command == "straight" and case.history is not None and len(case.history) == 5
    assert case.agents is not None and len(case.agents.items) == 61
    assert case.static_objects is not None and len(case.static_objects.items) == 20
    assert "left out: 19 of 100 boxes without a lidar or radar point (valid_flag)" in made.report.outcomes[0].notes
    assert case.licence.startswith("CC BY-NC-SA 4.0")


@real
def test_velocities_of_the_real_boxes_point_along_their_futures():
    case = import_source(REAL, "nuscenes", planners="faster").cases[0]
    assert case.agents is not None
    moving = [a for a in case.agents.items if a.velocity and math.hypot(*a.velocity) > 2 and a.future is not None and a.future.valid[0]]
    assert len(moving) >= 3
    for a in moving:
        assert a.future is not None and a.velocity is not None
        step = a.future.points[0] - np.array([a.x, a.y])
        assert np.allclose(step / 0.5, a.velocity, atol=1.0)
        if a.cls == "vehicle":
            assert np.dot(a.velocity, [math.cos(a.yaw), math.sin(a.yaw)]) > 0.9 * math.hypot(*a.velocity)


@real
def test_the_real_file_can_be_brought_to_four_hertz():
    made = import_source(REAL, "nuscenes", step_s=0.25, planners="constant_velocity")
    assert len(made.cases[0].expert) == 12 and made.report.resampled == 1
    assert error_at(made.cases[0], 3.0).value == pytest.approx(3.917, abs=5e-4)
