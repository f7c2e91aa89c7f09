"""Lines that keep the format, or nearly: what is mended is said, what is not stays with its reason, images go along."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from core.digest import sha256_bytes
from core.errors import InputError
from core.trajectories.case import Ego, Trajectory
from core.trajectories.document import case_to_json
from core.trajectories.importers import detect, import_source
from core.trajectories.parquet import write_parquet
from tests.cases import camera, case, straight
from tests.stub_llm import png


def write(tmp_path, *documents):
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(d if isinstance(d, str) else json.dumps(d) for d in documents) + "\n")
    return path


def document(case_id="s1-p", **changes):
    return case_to_json(case(case_id)) | changes


def one(tmp_path, **changes):
    made = import_source(write(tmp_path, document(**changes)), "jsonl")
    return made, made.report.outcomes[0]


@pytest.mark.parametrize("speed", [6.0, 0.0])
def test_futures_of_road_users_that_begin_with_now_are_brought_one_step_on(tmp_path, speed):
    def user(n, first):
        return {"track_id": "a", "cls": "x", "box": [10, 3, 4, 2, 0], "velocity": [speed, 0]} | {
            "future": {"points": [[10 + speed * 0.25 * k, 3] for k in range(first, first + n)], "valid": [k != 2 for k in range(n)]}
        }

    note = "futures of road users began with where they are at t = 0, which was taken away"
    wanted = [[10 + speed * 0.25 * k, 3] for k in range(1, 21)]
    for users, told in (([user(21, 0), user(20, 1)], 1), ([user(20, 1)], 0)):
        made, outcome = one(tmp_path, agents={"items": users, "coverage": None})
        assert outcome.notes.count(note) == told
        for a in made.cases[0].agents.items:
            np.testing.assert_allclose(a.future.points, wanted)
    assert [a.future.valid.tolist().index(False) for a in import_twice(tmp_path, user(21, 0), user(20, 1))] == [1, 2]


def test_zeros_for_no_state_are_found_in_pasts_and_futures_of_others_too(tmp_path):
    past = [[0, 0], [0, 0], [-4, 0], [-2, 0], [0, 0]]
    user = {"track_id": "a", "cls": "x", "box": [30, 3, 4, 2, 0], "future": [[30 - k, 3] for k in range(1, 13)] + [[0, 0]] * 8}
    never = {**user, "future": [[0, 0]] * 20}
    stands = {**user, "box": [0.5, 0, 4, 2, 0], "future": [[0, 0]] * 20}
    made, outcome = one(tmp_path, history=past, agents={"items": [user, never, stands], "coverage": None})
    assert made.cases[0].history.valid.tolist() == [False, False, True, True, True]
    futures = [a.future for a in made.cases[0].agents.items]
    assert [int(f.valid.sum()) for f in futures] == [12, 0, 20]
    np.testing.assert_allclose(futures[0].points[12:], [[18, 3]] * 8)
    assert "2 states of the history were padded with zeros and are not valid" in outcome.notes
    assert outcome.notes.count("futures of road users were padded with zeros, and are not valid there") == 1
    made, outcome = one(tmp_path, history=[[-4, 0], None, [0, 0]], valid={"history": [False, True, True]})
    assert made.cases[0].history.valid.tolist() == [False, False, True]


def import_twice(tmp_path, *users):
    return one(tmp_path, agents={"items": list(users), "coverage": None})[0].cases[0].agents.items


def test_images_of_another_size_than_the_calibration_is_for_are_told_and_flagged(tmp_path):
    (tmp_path / "a.png").write_bytes(png(40, 24))
    (tmp_path / "b.png").write_bytes(b"no image")
    k = {"intrinsics": [[50, 0, 20], [0, 50, 12], [0, 0, 1]], "extrinsics": [[0, 0, 1, 1], [-1, 0, 0, 0], [0, -1, 0, 1.5], [0, 0, 0, 1]]}

    def camera_of(width, height, path="a.png", **more):
        return [{"name": "front", "frames": [{"t_s": 0, "path": path}], "width": width, "height": height, **more}]

    sound, outcome = one(tmp_path, cameras=camera_of(40, 24, **k), expert=turning())
    assert (sound.cases[0].flags, outcome.notes) == ((), ())
    twice, outcome = one(tmp_path, cameras=camera_of(80, 48, **k), expert=turning())
    assert twice.cases[0].flags == ("bad_calibration",)
    assert outcome.notes == ("front is said to have 80 × 48 px, its image has 40 × 24",)
    blank, outcome = one(tmp_path, cameras=camera_of(80, 48), expert=turning())
    assert (blank.cases[0].flags, len(outcome.notes)) == ((), 1)
    assert one(tmp_path, cameras=camera_of(None, None, "b.png"), expert=turning())[1].notes == ("1 image cannot be read as an image",)


def turning():
    return [[2 * k, 0.02 * k * k] for k in range(1, 21)]


def test_a_file_and_its_folder_and_its_mirror_are_known_and_give_the_same(tmp_path):
    cases = [case("a-1", expert=braking()), case("b-1", expert=braking(), planner=straight(7.0))]
    path = write(tmp_path, *map(case_to_json, cases))
    write_parquet(tmp_path / "mirror.parquet", cases)
    assert [detect(p) for p in (path, tmp_path, tmp_path / "mirror.parquet")] == ["jsonl", "jsonl", "parquet"]
    for source, name in ((path, "jsonl"), (tmp_path, "jsonl"), (tmp_path / "mirror.parquet", "parquet")):
        made = import_source(source, name)
        assert [case_to_json(c) for c in made.cases] == [case_to_json(c) for c in cases]
        assert [o.notes for o in made.report.outcomes] == [(), ()]


def braking():
    t = 0.25 * np.arange(1, 21)
    made = straight()
    made.points[:, 0] = 8 * t - 0.75 * t**2
    return made


def test_a_missing_version_is_taken_for_this_one_and_another_refused(tmp_path):
    without = document()
    del without["schema_version"]
    made = import_source(write(tmp_path, without, document("b-1", schema_version="9")), "jsonl")
    assert "no schema_version is stated; 1.0 was taken" in made.report.outcomes[0].notes
    assert made.report.outcomes[1].fate == "rejected" and "schema_version" in made.report.outcomes[1].notes[0]


def test_the_origin_nulls_and_zeros_are_mended_and_said(tmp_path):
    points = [[0.0, 0.0], *straight().points.tolist()]
    nulls = [*straight().points.tolist()[:10], None, [None, None], *[[0, 0]] * 8]
    made, outcome = one(tmp_path, expert=points, planner=nulls)
    (found,) = made.cases
    assert np.array_equal(found.expert.points, straight().points)
    assert found.planner.valid.tolist() == [True] * 10 + [False] * 10
    assert outcome.notes[:3] == (
        "the expert began with the origin at t = 0, which was taken away (21 to 20 points)",
        "2 states of the planner have no position and are not valid",
        "8 states of the planner were padded with zeros and are not valid",
    )


def test_ten_points_beside_twenty_are_half_the_rate_or_half_the_time(tmp_path):
    made, outcome = one(tmp_path, planner=straight(7.0, n=10, dt=0.5).points.tolist())
    assert np.allclose(made.cases[0].planner.points, straight(7.0).points)
    assert outcome.resampled == "planner: 10 points were read as steps of 0.5 s and brought to 0.25 s"
    made, outcome = one(tmp_path, planner=straight(7.0, n=10).points.tolist())
    assert len(made.cases[0].expert) == 10 and outcome.resampled == ""
    assert "the expert has 20 points and was cut to the 10 that both have" in outcome.notes


def test_a_reference_of_eleven_points_is_two_hertz_with_the_origin(tmp_path):
    eleven = [[4.0 * k, 0.0] for k in range(11)]
    made, outcome = one(tmp_path, rater_refs=[{"points": eleven, "score": 9}, {"points": straight().points.tolist(), "score": -1}])
    first, second = made.cases[0].rated
    assert np.allclose(first.trajectory.points, straight().points) and second.score is None
    assert "the rated trajectory 1 began with the origin at t = 0, which was taken away (11 to 10 points)" in outcome.notes
    assert outcome.resampled == "rated trajectory 1: 10 points were read as steps of 0.5 s and brought to 0.25 s"


def test_a_rated_trajectory_that_is_too_long_is_cut_and_said(tmp_path):
    made, outcome = one(tmp_path, rater_refs=[{"points": straight(n=24).points.tolist(), "score": 9}])
    assert len(made.cases[0].rated[0].trajectory) == 20
    assert "rated trajectory 1 has 24 points and was cut to 20" in outcome.notes


def test_images_go_along_and_those_that_are_missing_are_said(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(png(8, 6))
    cameras = [
        case_to_json(case(cameras=(camera(f"images/{n}", place),)))["cameras"][0] for n, place in (("a.png", "front"), ("b.png", "rear"))
    ]
    text = case_to_json(case(cameras=(camera("notes.txt", "rear_left"),)))["cameras"][0]
    made, outcome = one(tmp_path, cameras=[*cameras, text])
    assert list(made.images) == ["images/a.png"]
    assert [c.name for c in made.cases[0].cameras] == ["front", "rear"]
    assert "1 image that it names is not there" in outcome.notes
    assert any(n.startswith("the camera rear_left was left out") for n in outcome.notes)


def test_what_oddyssey_wrote_comes_back_untouched(tmp_path):
    still = np.zeros((5, 2))
    off = Trajectory.of([[0.0, 0.0], [0.6, 0.0], [2.0, 0.0], [4.0, 0.0], [7.0, 0.0]], [True, True, True, True, False])
    masked = Trajectory.of([[1.0, 0.0], [-77.0, 3.0], [3.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [True, False, True, False, False])
    cases = [case(f"s{k}-p", ego=Ego(0.0), dt_s=1.0, expert=off, planner=p) for k, p in enumerate((Trajectory.of(still), off, masked))]
    made = import_source(write(tmp_path, *map(case_to_json, cases)), "jsonl")
    assert [case_to_json(c) | {"flags": []} for c in made.cases] == [case_to_json(c) for c in cases]


def test_an_image_that_was_changed_since_is_said(tmp_path):
    (tmp_path / "a.png").write_bytes(png(8, 6))
    seen = camera("a.png")
    right = replace(seen, frames=(replace(seen.frames[0], sha256=sha256_bytes(png(8, 6))),))
    wrong = replace(seen, frames=(replace(seen.frames[0], sha256="0" * 64),))
    documents = [case_to_json(case(f"s{k}-p", cameras=(c,), expert=braking())) for k, c in enumerate((right, wrong))]
    made = import_source(write(tmp_path, *documents), "jsonl")
    assert made.report.outcomes[0].notes == ()
    assert made.report.outcomes[1].notes[0].startswith("1 image has changed since the case was written")


def test_a_link_out_of_the_folder_is_no_image(tmp_path):
    (tmp_path / "secret.png").write_bytes(png(8, 6))
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "a.png").symlink_to(tmp_path / "secret.png")
    made = import_source(write(inside, case_to_json(case(cameras=(camera("a.png"),)))), "jsonl")
    assert made.images == {} and "1 image that it names is not there" in made.report.outcomes[0].notes


def test_turned_axes_turn_everything(tmp_path):
    def turn(points):
        return [[-y, x] for x, y in points]

    agent = {"track_id": "1", "cls": "vehicle", "box": [1.0, 10.0, 4.0, 2.0, np.pi / 2], "velocity": [0.0, 5.0], "future": [[1.0, 12.0]]}
    lane = {"kind": "lane", "points": [[0.0, 0.0], [0.0, 30.0]]}
    base = document()
    made, _ = one(tmp_path, agents={"items": [agent]}, map={"items": [lane]})
    assert made.cases
    path = write(
        tmp_path, base | {k: turn(base[k]) for k in ("expert", "planner")} | {"agents": {"items": [agent]}, "map": {"items": [lane]}}
    )
    (found,) = import_source(path, "jsonl", axes="right_forward").cases
    assert np.allclose(found.expert.points, straight().points)
    assert found.agents is not None and found.map is not None
    a = found.agents.items[0]
    assert (a.x, a.y, a.velocity) == (10.0, -1.0, (5.0, -0.0)) and a.yaw == pytest.approx(0.0)
    assert a.future is not None and a.future.points.tolist() == [[12.0, -1.0]]
    assert found.map.items[0].points.tolist() == [[0.0, 0.0], [30.0, 0.0]]


def test_broken_lines_are_told_beside_good_ones(tmp_path):
    lines = [document("a-1"), "{", "[1]", document("a-1"), document("b-1", ego={"speed_mps": -3}), document("c-1", planner=[[1, 2, 3]])]
    made = import_source(write(tmp_path, *lines), "jsonl")
    assert [(o.where, o.fate) for o in made.report.outcomes] == [("line 1", "accepted"), *((f"line {k}", "rejected") for k in range(2, 7))]
    assert made.report.outcomes[4].case_id == "b-1" and "ego.speed_mps" in made.report.outcomes[4].notes[0]
    assert "twice" in made.report.outcomes[3].notes[0]


def test_an_empty_file_and_a_missing_one_are_refused(tmp_path):
    (tmp_path / "e.jsonl").write_text("\n \n")
    with pytest.raises(InputError, match="is empty"):
        import_source(tmp_path / "e.jsonl", "jsonl")
    write_parquet(tmp_path / "e.parquet", [])
    with pytest.raises(InputError, match="has no rows"):
        import_source(tmp_path / "e.parquet", "parquet")
    with pytest.raises(InputError, match="cannot be opened"):
        import_source(tmp_path / "none.jsonl", "jsonl")


def test_a_step_and_a_licence_hold_for_every_format(tmp_path):
    path = write(tmp_path, document(licence="", expert=braking().points.tolist()))
    made = import_source(path, "jsonl", step_s="0.5", licence="CC0-1.0")
    assert made.cases[0].dt_s == 0.5 and len(made.cases[0].expert) == 10 and made.cases[0].licence == "CC0-1.0"
    assert made.report.resampled == 1
