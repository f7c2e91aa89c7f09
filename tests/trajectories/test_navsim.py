"""Submissions of NAVSIM from pickles that are made here: no public sample can be used without registering."""

import os
import pickle

import numpy as np
import pytest

from core.errors import InputError
from core.trajectories.case_set import write_case_set
from core.trajectories.importers import import_source
from core.trajectories.importers.navsim import looks_like
from tests.cases import case, imported, straight
from tests.trajectories import written as w


def poses(speed=4.0, turn=0.0, n=8):
    """x, y, heading every half second, the first after half a second."""
    t = 0.5 * np.arange(1, n + 1)
    return np.stack([speed * t, turn * t, np.full(n, np.arctan2(turn, speed))], axis=1).astype(np.float32)


@pytest.fixture
def submission(tmp_path, navsim_classes):
    def make(by_token, name="submission.pkl", key="predictions", **more):
        made = {t: navsim_classes.Trajectory(p) if isinstance(p, np.ndarray) else p for t, p in by_token.items()}
        content = {"team_name": "Team A", "authors": ["x"], "email": "x@example.com", "country / region": "y", key: [made], **more}
        return w.write(tmp_path / name, pickle.dumps(content))

    return make


def read(path, **options):
    return import_source(path, "navsim", **options)


def rejected(found):
    return {o.case_id: o.notes for o in found.report.outcomes if o.fate == "rejected"}


def test_a_submission_meets_what_was_driven(submission):
    planner = submission({"t1": poses(5.0, 0.5), "t2": poses(), "t3": poses()})
    expert = submission({"t1": poses(4.0), "t2": poses(4.4)}, "human.pkl")
    found = read(planner, expert=expert)
    assert [(c.case_id, c.scene_id, c.planner_id) for c in found.cases] == [("t1:Team A", "t1", "Team A"), ("t2:Team A", "t2", "Team A")]
    one = found.cases[0]
    assert (one.dt_s, len(one.planner), one.horizon_s) == (0.5, 8, 4.0)
    np.testing.assert_allclose(one.planner.points[[0, -1]], [[2.5, 0.25], [20, 2]], rtol=1e-6)
    np.testing.assert_allclose(one.planner.yaw, np.arctan2(0.5, 5.0), rtol=1e-6)
    np.testing.assert_allclose(one.expert.points[-1], [16, 0])
    assert (one.ego.speed_mps, one.ego.origin) == (4.0, "rear_axle")
    assert "the speed at t = 0 is not in the files: that of the expert's first step was taken" in found.report.outcomes[0].notes
    assert rejected(found) == {"t3": ("the expert's file has no usable trajectory for the token",)}
    assert "example.com" not in str(found.report.to_json()) + str(one.source)
    assert any("8 points at 0.5 s, 4 s in all" in n for n in found.report.outcomes[0].notes)


def test_a_submission_meets_a_set_of_cases(submission, tmp_path):
    folder = tmp_path / "set"
    known = case("t1-old", expert=straight(4.0), planner=straight(4.0), command="left")
    write_case_set(folder, "known", imported(known))
    found = read(submission({"t1": poses(5.0)}), cases=folder, planner="mine")
    (one,) = found.cases
    assert (one.case_id, one.command, one.dt_s, len(one.planner)) == ("t1:mine", "left", 0.25, 16)
    np.testing.assert_allclose(one.planner.points[[0, 1, -1]], [[1.25, 0], [2.5, 0], [20, 0]], rtol=1e-6)
    (outcome,) = found.report.outcomes
    assert outcome.resampled == "planner from 0.5 s to 0.25 s, linear with the origin put before the first state"
    assert "the expert covers 5 s and was cut to the 4 s that both cover" in outcome.notes


def test_the_second_version_has_two_stages(submission, tmp_path, navsim_classes):
    more = {"second_stage_predictions": [{"t2": navsim_classes.Trajectory(poses())}]}
    planner = submission({"t1": poses(5.0)}, key="first_stage_predictions", **more)
    expert = submission({"t1": poses(), "t2": poses(3.0)}, "human.pkl")
    assert [c.case_id for c in read(planner, expert=expert).cases] == ["t1:Team A", "t2:Team A (second stage)"]


def test_several_lists_are_several_planners(submission, tmp_path, navsim_classes):
    lists = [{"t1": navsim_classes.Trajectory(poses(s))} for s in (5.0, 6.0)]
    path = w.write(tmp_path / "two.pkl", pickle.dumps({"predictions": lists}))
    found = read(path, expert=submission({"t1": poses()}, "human.pkl"))
    assert [c.planner_id for c in found.cases] == ["two #1", "two #2"]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("text", "it is no Trajectory"),
        (np.zeros((8, 2)), "its poses have the shape (8, 2); rows of x, y, heading expected"),
        (np.zeros((0, 3)), "its poses have the shape (0, 3); rows of x, y, heading expected"),
        (np.zeros((8, 3), dtype=np.int64), "its poses have the shape (8, 3); rows of x, y, heading expected"),
        (np.full((8, 3), np.nan), "a pose that is not finite, or farther than 10,000 m"),
        (np.full((8, 3), 1e6), "a pose that is not finite, or farther than 10,000 m"),
    ],
)
def test_trajectories_that_cannot_be_used_are_rejected(submission, value, why):
    found = read(submission({"bad": value, "t1": poses(5.0)}), expert=submission({"bad": poses(), "t1": poses()}, "human.pkl"))
    assert [c.scene_id for c in found.cases] == ["t1"]
    assert rejected(found) == {"bad": (why,)}


def test_the_step_is_that_of_the_sampling(submission, navsim_classes):
    def sampled(state, p):
        return navsim_classes.Trajectory(p, state)

    fine = navsim_classes.TrajectorySampling(40, 4.0, 0.1)
    t = np.arange(1, 41) * 0.1
    rows = np.stack([4 * t, 0 * t, 0 * t], axis=1)
    expert = submission({"t1": sampled(fine, rows), "t2": poses()}, "human.pkl")
    found = read(submission({"t1": sampled(fine, rows * 1.1), "t2": sampled(fine, rows)}), expert=expert)
    assert [(c.scene_id, c.dt_s, len(c.expert)) for c in found.cases] == [("t1", 0.1, 40)]
    assert rejected(found) == {"t2": ("the planner has a step of 0.1 s, the expert one of 0.5 s",)}
    odd = navsim_classes.TrajectorySampling(None, 4.0, None)
    none = navsim_classes.TrajectorySampling(None, None, None)
    found = read(submission({"t2": sampled(odd, poses(5.0)), "t3": sampled(none, poses())}), expert=expert)
    assert found.cases[0].dt_s == 0.5
    assert "it names no step: 4 s were divided by 8 poses" in found.report.outcomes[1].notes
    assert rejected(found)["t3"][0].startswith("its sampling has no usable step")


def test_a_planner_that_still_stands_after_the_first_step_keeps_all_its_poses(submission, navsim_classes):
    waits = np.vstack([np.zeros((1, 3), dtype=np.float32), poses(n=7)])
    sampled = navsim_classes.Trajectory(np.vstack([waits, poses(9.0)[-1:]]), navsim_classes.TrajectorySampling(9, 4.5, 0.5))
    found = read(submission({"t1": waits, "t2": sampled}), expert=submission({"t1": poses(), "t2": poses()}, "human.pkl"))
    assert [len(c.planner) for c in found.cases] == [8, 8]
    np.testing.assert_allclose([c.planner.points[:3] for c in found.cases], [[[0, 0], [2, 0], [4, 0]]] * 2)
    assert not any("origin" in n for o in found.report.outcomes for n in o.notes)


def test_a_pose_at_the_origin_is_left_out_and_told(submission):
    with_origin = np.vstack([np.zeros((1, 3), dtype=np.float32), poses()])
    found = read(submission({"t1": poses(5.0)}), expert=submission({"t1": with_origin}, "human.pkl"))
    np.testing.assert_allclose(found.cases[0].expert.points, poses()[:, :2])
    assert "9 poses with the origin at t = 0: the origin was left out" in found.report.outcomes[0].notes


def test_a_submission_alone_is_no_case(submission):
    path = submission({"t1": poses()})
    for options in ({}, {"expert": path, "cases": path}):
        with pytest.raises(InputError, match="Name either expert"):
            read(path, **options)


@pytest.mark.parametrize("content", [[1], {"predictions": {}}, {"predictions": [1]}, {"other": []}])
def test_other_pickles_are_no_submission(tmp_path, submission, content):
    path = w.write(tmp_path / "other.pkl", pickle.dumps(content))
    with pytest.raises(InputError, match="is no submission of NAVSIM"):
        read(path, expert=submission({}, "human.pkl"))


def test_a_pickle_that_calls_something_is_refused_on_either_side(submission, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path / 'ran'}",)

    good, bad = submission({"t1": poses()}), submission({"t1": Evil()}, "bad.pkl")
    for planner, expert in ((good, bad), (bad, good)):
        with pytest.raises(InputError, match=r'"bad.pkl" was not read, and nothing in it was run: it wants "posix.system"'):
            read(planner, expert=expert)
    assert not (tmp_path / "ran").exists()


def test_a_pickle_is_recognised_by_its_first_byte(submission, tmp_path):
    assert looks_like(submission({"t1": poses()}))
    assert not looks_like(w.write(tmp_path / "a.pkl", b"text"))
    assert not looks_like(tmp_path / "none.pkl")
    assert not looks_like(tmp_path)
