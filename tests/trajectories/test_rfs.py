"""The Rater Feedback Score: every golden case of its own code, and by hand what they do not show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.trajectories.case import Case, Ego, RatedTrajectory, Trajectory
from core.trajectories.rfs import rater_feedback, rfs

GOLDEN = Path(__file__).resolve().parents[2].parent / "shared/data/wod_rfs/rfs_golden.json"
needs_golden = pytest.mark.skipif(not GOLDEN.is_file(), reason="the golden values of WOD-E2E are not on this machine")
T = np.arange(1, 21) * 0.25
LINE = np.c_[10 * T, 0 * T]


@needs_golden
def test_every_golden_case() -> None:
    parts = json.loads(GOLDEN.read_text())
    cases = [c for part in parts.values() for c in part]
    assert len(cases) == 36
    for c in cases:
        rated = list(zip(c["rater_trajectories"], c["rater_scores"], strict=True))
        found = rater_feedback(c["prediction"], rated, c["init_speed"], 1 / c["frequency"], floor=c["floor"])
        assert found.value == pytest.approx(c["expected"], abs=1e-9)
        assert found.inside == c["in_trust_region"]


@needs_golden
def test_golden_cases_are_of_both_kinds() -> None:
    cases = [c for part in json.loads(GOLDEN.read_text()).values() for c in part]
    assert {c["in_trust_region"] for c in cases} == {True, False}
    assert len({round(c["expected"], 6) for c in cases}) > 10


@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.0, 0.9), (3.9, -0.9), (0.0, 1.1), (7.2, 0.0)])
def test_unrated_trajectories_are_dropped_and_counted(shift: tuple[float, float]) -> None:
    rated: list[Any] = [(LINE, 10.0), (LINE + np.array([0, 5]), 6.0)]
    plain = rater_feedback(LINE + shift, rated, 11, 0.25)
    found = rater_feedback(LINE + shift, [(LINE, -1), rated[0], (LINE, None), rated[1]], 11, 0.25)
    assert (found.value, found.inside, found.rated) == (plain.value, plain.inside, 2)
    assert (found.unrated, plain.unrated) == (2, 0)


def test_only_the_first_three_rated_count() -> None:
    far = LINE + np.array([0, 50])
    found = rater_feedback(LINE, [(far, 8), (far, 7), (far, 6), (LINE, 10)], 11, 0.25)
    assert (found.value, found.beyond, found.rated, found.inside) == (4.0, 1, 3, False)


def test_without_a_rated_trajectory_there_is_no_score() -> None:
    found = rater_feedback(LINE, [(LINE, -1)], 11, 0.25)
    assert (found.value, found.unrated, found.rated, found.inside) == (None, 1, 0, False)


def test_several_predictions_are_weighed() -> None:
    both = np.stack([LINE, LINE + np.array([0, 30])])
    assert rater_feedback(both, [(LINE, 10)], 11, 0.25, probabilities=[0.75, 0.25]).value == pytest.approx(0.75 * 10 + 0.25 * 4)
    found = rater_feedback(both, [(LINE, 10)], 11, 0.25)
    assert (found.value, found.inside, found.inside_each) == (pytest.approx(7.0), False, (True, False))


def test_a_short_rated_trajectory_stays_where_it_ends() -> None:
    stopped = np.vstack([LINE[:8], np.repeat(LINE[7:8], 12, axis=0)])
    assert rater_feedback(stopped, [(LINE[:8], 9)], 11, 0.25).value == 9.0


def test_a_rated_stop_points_ahead() -> None:
    # No step has a length: along is x. 7 m ahead is within 7.2 m at 5 s but beyond 4 m at 3 s; 1.5 m aside likewise.
    still = np.zeros((20, 2))
    ahead, aside = (rater_feedback(still + d, [(still, 10)], 11, 0.25, floor=0).value for d in ((7.0, 0.0), (0.0, 1.75)))
    assert ahead == pytest.approx((10 * 0.1**0.75 + 10) / 2)
    assert aside == pytest.approx((10 * 0.1**0.75 + 10) / 2)


def test_the_trust_region_turns_with_the_trajectory() -> None:
    left = LINE[:, ::-1]
    assert rater_feedback(left + np.array([0, 3.9]), [(left, 10)], 11, 0.25).inside
    assert not rater_feedback(left + np.array([3.9, 0]), [(left, 10)], 11, 0.25).inside


@pytest.mark.parametrize(
    ("prediction", "rated", "dt", "more", "said"),
    [
        (LINE[:19], [(LINE, 5)], 0.25, {}, "need 20 steps; got 19"),
        (LINE[:, :1], [(LINE, 5)], 0.25, {}, "shape"),
        (LINE, [(LINE, 5)], 0.4, {}, "no steps of 0.4"),
        (LINE, [(LINE, 5)], 0.25, {"probabilities": [0.5, 0.5]}, "2 probabilities do not fit 1"),
        (LINE, [(np.zeros((0, 2)), 5)], 0.25, {}, "no points"),
    ],
)
def test_what_does_not_fit_is_refused(prediction: Any, rated: Any, dt: float, more: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        rater_feedback(prediction, rated, 11, dt, **more)


def case(planner: Any = LINE, rated: Any = (), dt: float = 0.25) -> Case:
    make = lambda x: x if isinstance(x, Trajectory) else Trajectory.of(x)  # noqa: E731
    scored = tuple(RatedTrajectory(make(t), s) for t, s in rated)
    return Case("c", "s", "p", dt, Trajectory.of(LINE), make(planner), Ego(11.0), rated=scored)


def test_of_a_case() -> None:
    longer = np.c_[np.arange(1, 41) * 2.5, np.zeros(40)]
    assert rfs(case(longer, [(LINE, 10), (LINE, None)])).value == 10.0
    assert rfs(case(LINE, [(LINE, 10), (LINE, None)])).reason == "1 without a score left out."


def test_of_a_case_that_has_none() -> None:
    broken = Trajectory.of(LINE, np.arange(20) != 19)
    assert rfs(case()).reason == "No trajectory of this scene was rated."
    assert rfs(case(LINE[:12], [(LINE, 10)])).reason == "The planner trajectory ends after 3 s."
    assert rfs(case(broken, [(LINE, 10)])).reason == "The planner trajectory is not valid at 3 s or 5 s."
    assert rfs(case(LINE, [(LINE, 10)], 0.4)).reason == "3 s and 5 s are no steps of 0.4 s."
    assert rfs(case(LINE, [(LINE, None)])).reason == "No rated trajectory can be used. 1 without a score left out."
    assert rfs(case(LINE, [(broken, 9), (LINE, 7)])).value == 7.0
