"""WOD-E2E frames and submissions from files that are built by hand: no public sample can be downloaded without registering."""

import io
import tarfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.trajectories.case_set import open_case_set, write_case_set
from core.trajectories.importers import detect, import_source
from core.trajectories.importers.wod_submission import read_submission
from core.trajectories.view import case_view
from tests.trajectories import written as w

FUTURE = [(2.0 * k, 0.1 * k) for k in range(1, 21)]
PAST = w.states([(2.0 * (k - 15), 0.0) for k in range(16)], [(8.0, 0.0)] * 16, [(0.5, 0.1)] * 16)
PLANNED = [(2.2 * k, -0.1 * k) for k in range(1, 21)]
# A camera that looks forward from 1.5 m ahead of the rear axle, 2 m up: Waymo's camera axes are forward, left, up, as the vehicle's are.
FORWARD = [1, 0, 0, 1.5, 0, 1, 0, 0, 0, 0, 1, 2.0, 0, 0, 0, 1]
LENS = [1000.0, 1001.0, 960.0, 640.0, 0.1, -0.2, 0.01, 0.02, 0.3]


def frame(name="drive-042", **changes):
    fields = {
        "future": FUTURE,
        "past": PAST,
        "intent": 2,
        "images": {k: w.JPEG + bytes([k]) for k in range(1, 9)},
        "calibrations": w.calibration(1, LENS, FORWARD),
        "timestamp_us": 42_000_000,
    }
    return w.e2e_frame(name, **(fields | changes))


def submission(*predictions, method="RAP"):
    return b"".join(predictions) + w.integer(2, 1) + w.blob(3, "someone@example.com") + w.blob(4, method)


@pytest.fixture
def source(tmp_path):
    def make(*frames, name="val.tfrecord-00000-of-00093"):
        return w.write(tmp_path / name, w.tfrecord(*frames))

    return make


def read(path, **options):
    return import_source(path, "wod_e2e", **options)


def rejected(imported):
    return {o.case_id or o.where: o.notes for o in imported.report.outcomes if o.fate == "rejected"}


def test_a_frame_becomes_a_case_with_each_baseline(source):
    imported = read(source(frame()), planners="constant_velocity,faster")
    assert [c.case_id for c in imported.cases] == ["drive-042:constant_velocity", "drive-042:faster"]
    case = imported.cases[0]
    np.testing.assert_allclose(case.expert.points, FUTURE, atol=1e-5)
    np.testing.assert_allclose(case.planner.points, [(2.0 * k, 0.0) for k in range(1, 21)])
    assert (case.dt_s, case.horizon_s, case.command) == (0.25, 5.0, "left")
    assert (case.ego.speed_mps, case.ego.accel_mps2, case.ego.origin) == (8.0, 0.5, "rear_axle")
    assert len(case.history) == 16
    np.testing.assert_allclose(case.history.points[[0, -1]], [[-30, 0], [0, 0]])
    assert case.licence.startswith("Waymo Open Dataset License")
    assert (case.source["record"], case.source["byte"]) == (0, 12)


def test_the_planner_comes_from_the_submission_by_the_name_of_the_frame(source, tmp_path):
    files = source(frame("drive-042"), frame("drive-043"))
    sent = w.write(tmp_path / "rap.binproto", submission(w.prediction("drive-043", PLANNED), w.prediction("other-001", PLANNED)))
    imported = read(files, submission=sent)
    assert [(c.case_id, c.planner_id) for c in imported.cases] == [("drive-043:RAP", "RAP")]
    np.testing.assert_allclose(imported.cases[0].planner.points, PLANNED, atol=1e-5)
    assert rejected(imported) == {"other-001": ("no frame of that name is in the files",)}
    assert "1 frames are no case: the submission has no prediction for them" in imported.report.remarks
    assert "example.com" not in str(imported.report.to_json()) + str(imported.cases[0].source)
    both = import_source(sent, "wod_submission", frames=files)
    assert [c.case_id for c in both.cases] == ["drive-043:RAP"]


def test_a_submission_finds_its_scenes_in_cases_of_before(source, tmp_path):
    folder = tmp_path / "set"
    write_case_set(folder, "first", read(source(frame()), planners="constant_velocity"))
    sent = w.write(tmp_path / "rap.binproto", submission(w.prediction("drive-042", PLANNED), w.prediction("nowhere-1", PLANNED)))
    imported = import_source(sent, "wod_submission", cases=folder, planner="mine")
    (case,) = imported.cases
    assert (case.case_id, case.planner_id, case.command) == ("drive-042:mine", "mine", "left")
    np.testing.assert_allclose(case.planner.points, PLANNED, atol=1e-5)
    assert len(case.cameras) == 6
    assert rejected(imported) == {"nowhere-1": ('no case of "cases.jsonl" has the scene',)}
    again = write_case_set(tmp_path / "second", "second", imported)
    assert again.missing_images() == ()


def test_images_of_cases_of_before_that_lie_elsewhere_or_nowhere_are_not_taken(source, tmp_path):
    folder = tmp_path / "set"
    write_case_set(folder, "x", read(source(frame())))
    front = next(folder.rglob("front.jpg"))
    (tmp_path / "secret").write_text("secret")
    front.unlink()
    front.symlink_to(tmp_path / "secret")
    next(folder.rglob("rear.jpg")).unlink()
    made = import_source(w.write(tmp_path / "a.binproto", submission(w.prediction("drive-042", PLANNED))), "wod_submission", cases=folder)
    assert "2 images that the cases name are not there" in made.report.remarks
    again = write_case_set(tmp_path / "again", "y", made)
    assert len(again.missing_images()) == 2 and not any(b"secret" in p.read_bytes() for p in again.folder.rglob("*.jpg"))


def test_a_submission_alone_is_no_case(tmp_path):
    sent = w.write(tmp_path / "rap.binproto", submission(w.prediction("a-1", PLANNED)))
    for options in ({}, {"frames": tmp_path, "cases": tmp_path}):
        with pytest.raises(InputError, match="Name either frames"):
            import_source(sent, "wod_submission", **options)


def test_six_of_eight_cameras_are_kept_and_it_is_said(source):
    imported = read(source(frame()), planners="constant_velocity")
    cameras = {c.name: c for c in imported.cases[0].cameras}
    assert list(cameras) == ["front_left", "front", "front_right", "rear_left", "rear", "rear_right"]
    wanted = {"front": 1, "front_left": 2, "front_right": 3, "rear_left": 6, "rear": 7, "rear_right": 8}
    for name, number in wanted.items():
        (image,) = cameras[name].frames
        assert image.t_s == 0.0
        assert imported.images[image.path].read_bytes() == w.JPEG + bytes([number]), name
    assert any("SIDE_LEFT and SIDE_RIGHT" in r for r in imported.report.remarks)


def test_calibration_is_turned_into_our_axes(source):
    camera = next(c for c in read(source(frame()), planners="constant_velocity").cases[0].cameras if c.name == "front")
    np.testing.assert_allclose(camera.intrinsics, [[1000, 0, 960], [0, 1001, 640], [0, 0, 1]])
    assert camera.distortion == (0.1, -0.2, 0.01, 0.02, 0.3)
    assert (camera.width, camera.height, camera.model) == (1920, 1280, "pinhole")
    # Ours is right, down, forward: 10 m along the optical axis lie 11.5 m ahead of the axle at 2 m; 1 m to the right is y = -1.
    np.testing.assert_allclose(camera.extrinsics @ [0, 0, 10, 1], [11.5, 0, 2, 1])
    np.testing.assert_allclose(camera.extrinsics @ [1, 2, 0, 1], [1.5, -1, 0, 1])


def test_a_camera_that_looks_to_the_left_sees_the_left(source):
    turned = [0, -1, 0, 0.5, 1, 0, 0, 1.0, 0, 0, 1, 2.0, 0, 0, 0, 1]
    data = frame(calibrations=w.calibration(2, LENS, turned))
    camera = next(c for c in read(source(data), planners="constant_velocity").cases[0].cameras if c.name == "front_left")
    np.testing.assert_allclose(camera.extrinsics @ [0, 0, 10, 1], [0.5, 11, 2, 1])
    inverse = np.linalg.inv(camera.extrinsics)
    x, y, z = (inverse @ [0.5, 21, 0, 1])[:3]
    np.testing.assert_allclose([x / z, y / z], [0, 0.1], err_msg="20 m to the left and 2 m below lies in the middle, below the axis")


def test_a_broken_calibration_leaves_the_images(source):
    data = frame(calibrations=w.calibration(1, LENS[:4], FORWARD) + w.calibration(2, LENS, [1.0] * 16))
    imported = read(source(data), planners="constant_velocity")
    assert all(c.intrinsics is None for c in imported.cases[0].cameras)
    notes = imported.report.outcomes[0].notes
    assert any(n.startswith("calibration of FRONT: 4 intrinsic values") for n in notes)
    assert any(n.startswith("calibration of FRONT_LEFT: its extrinsic matrix is no rotation") for n in notes)


def test_the_second_before_comes_from_other_records_of_the_drive(tmp_path):
    def at(k):
        return frame(f"drive-{k:03d}", images={1: w.JPEG + bytes([k])}, timestamp_us=1_000_000 + 100_000 * k)

    folder = tmp_path / "shards"
    folder.mkdir()
    w.write(folder / "a.tfrecord-0", w.tfrecord(at(40), frame("elsewhere-039"), at(30), at(38)))
    w.write(folder / "a.tfrecord-1", w.tfrecord(at(35), at(32), at(41), at(20), at(37)))
    sent = w.write(tmp_path / "s.bin", submission(w.prediction("drive-040", PLANNED)))
    (case,) = read(folder, submission=sent).cases
    frames = case.cameras[0].frames
    assert [f.t_s for f in frames] == [-1.0, -0.8, -0.5, -0.3, 0.0]
    imported = read(folder, submission=sent)
    found = [imported.images[f.path].read_bytes()[-1] for f in frames]
    assert found == [30, 32, 35, 37, 40]
    opened = write_case_set(tmp_path / "set", "wod", imported)
    assert opened.missing_images() == ()
    assert open_case_set(tmp_path / "set").changed_images() == ()


def test_times_follow_from_numbers_where_there_are_no_stamps(source):
    files = source(*(frame(f"drive-{k:03d}", images={1: w.JPEG}, timestamp_us=0) for k in (32, 37, 42)))
    cases = {c.scene_id: c for c in read(files, planners="constant_velocity").cases}
    assert [f.t_s for f in cases["drive-042"].cameras[0].frames] == [-1.0, -0.5, 0.0]
    assert [f.t_s for f in cases["drive-032"].cameras[0].frames] == [0.0]


def test_scores_are_kept_and_unrated_ones_are_none(source):
    rated = [
        w.states(FUTURE, score=9.5),
        w.states(PLANNED, score=-1.0),
        w.states(PLANNED[:12], score=0.0),
        w.states([], score=-1.0),
        w.states(PLANNED, score=11.0),
        w.states(PLANNED),
    ]
    imported = read(source(frame(rated=rated)), planners="constant_velocity")
    found = imported.cases[0].rated
    assert [r.score for r in found] == [9.5, None, 0.0, None, None]
    assert [len(r.trajectory) for r in found] == [20, 20, 12, 20, 20]
    notes = imported.report.outcomes[0].notes
    assert "2 trajectories have no score (-1): they are kept as unrated" in notes
    assert "1 rated trajectories without usable points were left out" in notes
    assert "1 trajectories have a score outside 0 to 10: they are kept as unrated" in notes


def test_rated_trajectories_with_the_origin_at_another_rate_or_too_long_are_brought_to_the_form_of_the_others(source):
    at = {0.25: [(2.0 * k, 0.1 * k) for k in range(1, 29)], 0.5: [(4.0 * k, 0.2 * k) for k in range(1, 11)]}
    forms = [at[0.25][:20], [(0, 0), *at[0.25][:20]], [(0, 0), *at[0.5]], at[0.5], at[0.25], [*at[0.25][:12], *[(0, 0)] * 8]]
    imported = read(source(frame(rated=[w.states(f, score=float(k)) for k, f in enumerate(forms)])), planners="constant_velocity")
    found = [r.trajectory for r in imported.cases[0].rated]
    for t in found[:5]:
        np.testing.assert_allclose(t.points, FUTURE, rtol=1e-6)
        assert t.valid.all()
    assert found[5].valid.tolist() == [True] * 12 + [False] * 8
    notes = imported.report.outcomes[0].notes
    for said in (
        "the rated trajectory 2 began with the origin at t = 0, which was taken away (21 to 20 points)",
        "the rated trajectory 3 began with the origin at t = 0, which was taken away (11 to 10 points)",
        "rated trajectory 5 has 28 points and was cut to 20",
        "8 states of the rated trajectory 6 were padded with zeros and are not valid",
        "rated trajectory 3: 10 points were read as steps of 0.5 s and brought to 0.25 s; "
        "rated trajectory 4: 10 points were read as steps of 0.5 s and brought to 0.25 s",
    ):
        assert said in notes


def test_an_option_that_is_neither_yes_nor_no_is_refused(source):
    with pytest.raises(InputError, match='The option only_rated is "maybe"; allowed: yes or no'):
        read(source(frame()), only_rated="maybe")


def test_numbers_of_frames_beyond_all_measure_tell_no_time(source):
    found = read(source(frame("drive-" + "1" * 6000), frame("drive-2")))
    assert [o.fate for o in found.report.outcomes if o.fate == "accepted"]


def test_only_rated_frames_can_be_taken(source):
    files = source(frame("a-1", rated=[w.states(FUTURE, score=-1.0)]), frame("a-2", rated=[w.states(FUTURE, score=7.0)]), frame("a-3"))
    imported = read(files, planners="constant_velocity", only_rated=True)
    assert [c.scene_id for c in imported.cases] == ["a-2"]
    assert "2 frames are no case: no trajectory of theirs was scored" in imported.report.remarks
    assert len(read(files, planners="constant_velocity", limit=2).cases) == 2


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"future": []}, "it has no future: the test set keeps it back"),
        ({"future": FUTURE[:10]}, "its future has 10 points; 20 expected"),
        ({"future": [*FUTURE[:19], (float("nan"), 0.0)]}, "a point that is not a finite number"),
        ({"past": b""}, "it has no past states, so that its speed is not known"),
    ],
)
def test_frames_that_cannot_be_used_are_rejected_with_the_reason(source, changes, why):
    imported = read(source(frame("a-1", **changes), frame("a-2")), planners="constant_velocity")
    assert [c.scene_id for c in imported.cases] == ["a-2"]
    assert rejected(imported) == {"a-1": (why,)}


def test_without_velocities_the_last_step_gives_the_speed(source):
    past = w.states([(1.5 * (k - 3), 0.0) for k in range(4)])
    imported = read(source(frame(past=past, future=[(1.5 * k, 0.0) for k in range(1, 21)])), planners="constant_velocity")
    assert imported.cases[0].ego.speed_mps == 6.0
    assert any("no velocities" in n for n in imported.report.outcomes[0].notes)


def test_broken_records_are_counted_and_the_rest_is_read(tmp_path):
    good = bytearray(w.tfrecord(frame("a-1"), frame("a-2")))
    good[200] ^= 1
    files = w.write(tmp_path / "a.tfrecord", bytes(good) + w.tfrecord(b"\x0b\x0b", frame("a-2"), w.e2e_frame("")))
    imported = read(files, planners="constant_velocity")
    assert [c.scene_id for c in imported.cases] == ["a-2"]
    reasons = [o.notes[0] for o in imported.report.outcomes if o.fate == "rejected"]
    assert reasons[0] == "the checksum (CRC-32C) of its data does not hold"
    assert reasons[1].startswith("it is no E2EDFrame: field 1 at byte 0 has the wire type 3")
    assert reasons[2:] == ["a frame of that name is there already", "the frame has no name"]
    assert imported.report.outcomes[0].where == "a.tfrecord, record 0 (byte 12)"


def test_a_truncated_file_among_others_stops_the_import_and_names_the_byte(tmp_path):
    w.write(tmp_path / "a.tfrecord", w.tfrecord(frame("a-1")))
    w.write(tmp_path / "b.tfrecord", w.tfrecord(frame("a-2"))[:-7])
    w.write(tmp_path / "c.tfrecord", w.tfrecord(frame("a-3"), frame("a-4"))[:-1])
    with pytest.raises(InputError) as e:
        read(tmp_path, planners="constant_velocity")
    assert '"b.tfrecord" ends inside record 0, which begins at byte 0' in str(e.value)
    assert '"c.tfrecord" ends inside record 1' in str(e.value)


def test_an_empty_folder_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="holds no TFRecord file"):
        read(tmp_path)
    with pytest.raises(InputError, match="is not there"):
        read(tmp_path / "none.tfrecord")


def test_predictions_that_cannot_be_used_are_rejected(tmp_path):
    data = submission(
        w.prediction("ok-1", PLANNED),
        w.prediction("ok-1", PLANNED),
        w.prediction("short-1", PLANNED[:12]),
        w.prediction("origin-1", [(0.0, 0.0), *PLANNED]),
        w.prediction("nan-1", [*PLANNED[:19], (float("inf"), 0.0)]),
        w.prediction("", PLANNED),
        w.blob(1, w.blob(1, "odd-1") + w.blob(2, w.floats(1, [1.0, 2.0]) + w.floats(2, [1.0]))),
        method="",
    )
    found = read_submission(w.write(tmp_path / "mine.binproto", data))
    assert found.planner == "mine"
    assert sorted(found.trajectories) == ["ok-1", "origin-1"]
    assert found.notes == {"origin-1": ("21 points with the origin at t = 0: the origin was left out",)}
    np.testing.assert_allclose(found.trajectories["origin-1"].points, PLANNED, atol=1e-5)
    assert [o.notes[0] for o in found.rejected] == [
        "the frame has a prediction already; the first was taken",
        "12 points; 20 expected (5 s at 4 Hz)",
        "a point that is not a finite number",
        "it names no frame",
        "2 values of x and 1 of y",
    ]


def test_a_submission_may_be_a_folder_or_an_archive_of_shards(tmp_path):
    shards = [submission(w.prediction(f"a-{k}", PLANNED)) for k in range(3)]
    folder = tmp_path / "shards"
    folder.mkdir()
    for k, data in enumerate(shards):
        w.write(folder / f"part{k}.binproto", data)
    archive = tmp_path / "submission.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for k, data in enumerate(shards):
            info = tarfile.TarInfo(f"../../part{k}.binproto")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        hidden = tarfile.TarInfo("./._part0.binproto")
        hidden.size = 3
        tar.addfile(hidden, io.BytesIO(b"mac"))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        tar.addfile(link)
    for source in (folder, archive):
        assert sorted(read_submission(source).trajectories) == ["a-0", "a-1", "a-2"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["shards", "submission.tar.gz"], "nothing was unpacked"


@pytest.mark.parametrize(("name", "data"), [("a.binproto", b"\x0a\xff"), ("a.binproto", b"\x12\x00"), ("a.tar.gz", b"no archive")])
def test_files_that_are_no_submission_are_input_errors(tmp_path, name, data):
    with pytest.raises(InputError):
        read_submission(w.write(tmp_path / name, data))


def test_the_formats_are_recognised(source, tmp_path):
    path = source(frame())
    assert detect(path) == "wod_e2e"
    assert detect(w.write(tmp_path / "rap.binproto", submission(w.prediction("a-1", PLANNED)))) == "wod_submission"


def test_planners_may_come_from_a_file_by_the_name_of_the_frame(source, tmp_path):
    rows = "".join(f"drive-042,mine,{0.25 * k},{x},{y}\n" for k, (x, y) in enumerate(PLANNED, 1))
    table = w.write(tmp_path / "mine.csv", ("scene_id,planner,t,x,y\n" + rows).encode())
    (case,) = read(source(frame()), planner_file=table).cases
    assert case.case_id == "drive-042:mine"
    np.testing.assert_allclose(case.planner.points, PLANNED)


def test_names_that_look_alike_as_files_keep_their_own_images(source):
    files = source(frame("a/b-1", images={1: w.JPEG + b"1"}), frame("a_b-1", images={1: w.JPEG + b"2"}))
    imported = read(files, planners="constant_velocity")
    found = [imported.images[c.cameras[0].frames[0].path].read_bytes()[-1:] for c in imported.cases]
    assert found == [b"1", b"2"]


def test_the_way_ahead_is_drawn_in_the_middle_of_the_front_image(source):
    data = frame(future=[(2.0 * k, 0.0) for k in range(1, 21)], calibrations=w.calibration(1, [*LENS[:4], 0, 0, 0, 0, 0], FORWARD))
    view = case_view(read(source(data), planners="lateral_ramp").cases[0])
    front = next(c for c in view["cameras"] if c["name"] == "front")
    strips = [s for s in front["ribbons"]["expert"] if s]
    left, _, right, below = strips[-1][:4]
    assert left < 960 < right
    assert (left + right) / 2 == pytest.approx(960, abs=0.5)
    assert 640 < below < 760, "the road 40 m ahead lies a little below the axis of a camera that looks straight ahead"
    planner = [s for s in front["ribbons"]["planner"] if s][-1]
    assert (planner[0] + planner[2]) / 2 < 950, "1.5 m to the left is left in the image"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_changed_byte_makes_the_import_fail_in_another_way(tmp_path_factory, data):
    content = bytearray(frame(rated=[w.states(FUTURE, score=5.0)], images={1: w.JPEG}))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = w.write(tmp_path_factory.mktemp("fuzz") / "a.tfrecord", w.tfrecord(bytes(content)))
    imported = read(path, planners="constant_velocity")
    assert imported.report.accepted == len(imported.cases)
    assert imported.report.accepted + imported.report.rejected == 1
