"""The demo pack of cases: whole, labelled synthetic, as its program makes it, and true to what its pictures show."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from core.digest import canonical_json, sha256_bytes
from core.labels.guidance import read_guidance
from core.labels.pool import entries_of
from core.settings import ASSETS
from core.threats.taxonomy import load_taxonomy
from core.trajectories.case import CAMERAS
from core.trajectories.case_set import open_case_set
from core.trajectories.checks import check_case, handedness
from core.trajectories.document import case_to_json
from core.trajectories.filters import camera_fault
from core.trajectories.importers import import_source
from core.trajectories.projection import project
from core.trajectories.view import case_view

PACK = ASSETS / "cases"
MOST = 12_000_000
SET = open_case_set(PACK)
ENTRIES = {e.case_id: e for e in entries_of(SET.cases)}
BY_SCENE = {c.scene_id: c for c in SET.cases}


def test_the_pack_is_whole_small_and_says_what_it_is():
    assert SET.missing_images() == () and SET.changed_images() == ()
    files = [p for p in PACK.rglob("*") if p.is_file() and p.suffix != ".pyc"]
    assert sum(p.stat().st_size for p in files) < MOST
    assert {f"{p.parent.parent.name}/{p.parent.name}/{p.name}" for p in files if p.suffix == ".jpg"} == {
        f.path for c in SET.cases for k in c.cameras for f in k.frames
    }
    assert all(c.synthetic and c.licence == "CC0-1.0" for c in SET.cases)
    assert len(SET.cases) == 80 and len(BY_SCENE) == 20
    assert Counter(c.planner_id for c in SET.cases) == dict.fromkeys(("altair", "deneb", "mira", "vega"), 20)


def test_there_is_enough_for_every_round():
    roles = Counter(e.role for e in ENTRIES.values())
    assert roles["example"] >= 12 and roles["training"] >= 8 and roles["calibration"] >= 30 and roles["labelling"] >= 16
    gold = Counter(e.gold for e in ENTRIES.values() if e.role == "calibration")
    assert gold["Y"] >= 12 and gold["N"] >= 12 and gold["U"] == 0
    assert all(e.why for e in ENTRIES.values())


def test_the_examples_are_those_of_the_guidance_with_the_same_answers():
    told = {e.case: e.label for e in read_guidance().examples}
    assert told == {e.case_id: e.gold for e in ENTRIES.values() if e.role == "example"}


def test_the_threats_that_geometry_can_show_are_covered_by_names_of_the_taxonomy():
    named = {t for e in ENTRIES.values() for t in e.threats}
    assert named <= {t.id for t in load_taxonomy().threats}
    assert named >= {
        *("collision_with_static_objects", "collision_with_stationary_vehicle", "vehicle_collision_course", "following_too_closely"),
        *("low_efficiency_driving", "blocking_traffic_without_necessity", "stops_without_escape_room", "meaningless_lateral_drift"),
        *("meaningless_lane_change", "aggressive_weaving", "lane_straddling", "wrong_side_of_road", "off_road_driving"),
        *("improper_shoulder_pass", "driving_in_bike_lane", "failure_to_yield_pedestrian", "failure_to_yield_vehicle"),
        *("red_light_violation", "stop_sign_no_full_stop", "unsafe_speed_for_conditions", "noncommittal_merge", "unsafe_lane_change"),
    }


def test_some_differ_in_nothing_and_some_less_than_the_noise():
    apart = {c.case_id: float(np.hypot(*(c.planner.points - c.expert.points).T).max()) for c in SET.cases}
    assert sum(v == 0 for v in apart.values()) >= 3
    assert sum(0 < v < 0.3 for v in apart.values()) >= 5
    assert sum(v > 1.0 and ENTRIES[k].gold == "N" for k, v in apart.items()) >= 10  # different, and acceptable
    assert all(ENTRIES[k].gold == "N" for k, v in apart.items() if v < 0.3)


def test_fewer_cameras_are_there_too():
    assert sorted(Counter(len(c.cameras) for c in BY_SCENE.values()).items()) == [(0, 1), (1, 1), (6, 18)]
    assert all(tuple(k.name for k in c.cameras) == CAMERAS for c in BY_SCENE.values() if len(c.cameras) == 6)
    assert all([f.t_s for f in k.frames] == [-1.0, -0.75, -0.5, -0.25, 0.0] for c in SET.cases for k in c.cameras)


def test_the_importers_own_checks_find_nothing():
    assert [f for c in SET.cases for f in check_case(c)] == []
    assert [camera_fault(k) for c in BY_SCENE.values() for k in c.cameras if camera_fault(k)] == []
    assert "turned" not in handedness(SET.cases)


def test_the_flags_are_those_that_the_importers_set():
    made = import_source(PACK, "jsonl")
    assert {c.case_id: c.flags for c in made.cases} == {c.case_id: c.flags for c in SET.cases}
    assert set().union(*(c.flags for c in SET.cases)) == {"trivial_expert"}
    assert "".join(canonical_json(case_to_json(c)) + "\n" for c in made.cases).encode() == (PACK / "cases.jsonl").read_bytes()
    assert (made.report.rejected, made.report.reasons(), made.report.remarks) == (0, {}, ())


def test_every_case_has_a_payload_with_ribbons_in_its_front_camera():
    for case in SET.cases:
        view = case_view(case)
        json.dumps(view, allow_nan=False)
        front = [c for c in view["cameras"] if c["name"] == "front"]
        assert all(c["ribbons"]["expert"] and c["overlay"] == "" for c in front)
        assert view["bev"]["unknown"] == []


def pixels_of(scene: str, camera: str) -> np.ndarray:
    with Image.open(PACK / "images" / scene / f"{camera}_4.jpg") as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_what_the_layers_name_is_drawn_where_the_calibration_says():
    case = BY_SCENE["demo-01"]
    front = next(c for c in case.cameras if c.name == "front")
    picture = pixels_of("demo-01", "front")
    cones = np.array([s.points[0] for s in case.static_objects.items if s.kind == "cone"])
    near = cones[cones[:, 0] < 27]
    assert len(near) >= 5
    foot, seen = project(np.column_stack([near, np.full(len(near), 0.12)]), front)
    assert seen.all()
    for u, v in foot.round().astype(int):
        r, g, b = picture[v - 1 : v + 2, u - 1 : u + 2].reshape(-1, 3).mean(0)
        assert r > 1.4 * g and r > 1.6 * b  # orange, at dusk, in haze


def test_a_red_light_is_red_and_the_oncoming_lane_is_behind_yellow():
    picture = pixels_of("demo-15", "front")
    case = BY_SCENE["demo-15"]
    front = next(c for c in case.cameras if c.name == "front")
    lights = [s for s in case.signals.items if s.attributes["state"] == "red" and s.points[0][0] > 30 and s.points[0][1] < 0]
    ((u, v),) = project(np.array([[*lights[0].points[0], 3.5]]), front)[0]
    patch = picture[int(v) - 6 : int(v) + 6, int(u) - 6 : int(u) + 6].reshape(-1, 3)
    assert ((patch[:, 0] > 150) & (patch[:, 1] < 110)).any()
    yellow = next(s for s in case.map.items if s.attributes.get("marking") == "double_yellow")
    start = np.interp(12.0, yellow.points[:, 0], yellow.points[:, 1])
    ((u, v),) = project(np.array([[12.0, start + 0.11, 0.0]]), front)[0]
    r, _, b = picture[int(v) - 1 : int(v) + 2, int(u) - 1 : int(u) + 2].reshape(-1, 3).mean(0)
    assert r > 1.3 * b


def test_the_word_stands_in_every_picture():
    for path in sorted(PACK.glob("images/*/*_4.jpg")):
        with Image.open(path) as image:
            assert image.size == (640, 400)
            corner = np.asarray(image.convert("L").crop((582, 387, 640, 399)))
        assert (corner > 190).sum() > 90 and (corner < 70).sum() > 20


@pytest.fixture(scope="module")
def made():
    """What the program makes of a few pictures and all cases, in a process of its own."""
    program = """
import base64, json, sys
sys.path.insert(0, sys.argv[1])
import make_cases, render
from checks import check
from core.trajectories.document import case_to_json
made = make_cases.scenes()
cases = [c for s, _ in made for c in make_cases.cases_of(s)]
check(made, cases)
(scene, base), = [m for m in made if m[0].id == "demo-05"]
painter, out = render.Painter(scene, base), {}
for name, i in (("front", 4), ("front", 1), ("rear_left", 4)):
    data = make_cases.jpeg(painter.draw(render.View(name), make_cases.TIMES[i]), make_cases.TIMES[i])
    out[make_cases.image_path(scene, name, i)] = base64.b64encode(data).decode()
print(json.dumps({"images": out, "cases": [case_to_json(c) for c in cases]}))
"""
    done = subprocess.run([sys.executable, "-c", program, str(PACK)], capture_output=True, text=True, cwd=ASSETS.parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_program_makes_the_same_cases_and_they_do_not_contradict_themselves(made):
    kept = [json.loads(line) for line in (PACK / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    for case in kept:
        for camera in case["cameras"]:
            for frame in camera["frames"]:
                frame.pop("sha256", None)
    for case in made["cases"]:
        for camera in case["cameras"]:
            for frame in camera["frames"]:
                frame.pop("sha256", None)
    assert made["cases"] == kept


def test_the_program_draws_the_same_bytes(made):
    import base64

    assert len(made["images"]) == 3
    for path, data in made["images"].items():
        assert sha256_bytes(base64.b64decode(data)) == sha256_bytes((PACK / path).read_bytes()), path
