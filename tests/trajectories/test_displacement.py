"""Distances to the expert and to the best rated trajectory, by hand; what cannot be known says why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.trajectories.case import Case, Ego, RatedTrajectory, Trajectory
from core.trajectories.displacement import ade, best_rated, displacement, error_at, fde, mean_up_to, standard_displacements
from core.trajectories.measure import measure, standard_metrics

DT = 0.25
STRAIGHT = np.c_[np.arange(1, 21) * 2.5, np.zeros(20)]


def case(planner: Any = STRAIGHT, expert: Any = STRAIGHT, **more: Any) -> Case:
    make = lambda x: x if isinstance(x, Trajectory) else Trajectory.of(x)  # noqa: E731
    given = {"case_id": "c", "scene_id": "s", "planner_id": "p", "dt_s": DT, "ego": Ego(10.0), **more}
    return Case(expert=make(expert), planner=make(planner), **given)


def test_a_growing_offset_by_hand() -> None:
    # Row k lies 0.1 (k + 1) m to the left: 1.2 m off at 3 s (row 11), 2.0 m at 5 s; means 0.65 m and 1.05 m.
    c = case(STRAIGHT + np.c_[np.zeros(20), 0.1 * np.arange(1, 21)])
    assert error_at(c, 3.0).value == pytest.approx(1.2)
    assert fde(c).value == error_at(c, 5.0).value == pytest.approx(2.0)
    assert ade(c, 3.0).value == mean_up_to(c, 3.0).value == pytest.approx(0.65)
    assert ade(c, 5.0).value == pytest.approx(1.05)


def test_the_origin_is_no_step() -> None:
    # Constantly 1 m off: with the origin, which is never off, the mean would be 12 / 13.
    assert ade(case(STRAIGHT + np.array([0, 1.0])), 3.0).value == 1.0


def test_against_the_best_rated() -> None:
    rated = tuple(
        RatedTrajectory(Trajectory.of(STRAIGHT + np.array([0, y])), s) for y, s in ((1.0, 4.0), (3.0, 9.0), (7.0, None), (5.0, 9.0))
    )
    c = case(rated=rated)
    assert best_rated(c) is rated[1].trajectory
    assert ade(c, 5.0, "best_rated").value == 3.0
    assert ade(c, 5.0).value == 0.0


@pytest.mark.parametrize(
    ("c", "t", "reference", "said"),
    [
        (case(), 3.1, "expert", "3.1 s is no step of 0.25 s."),
        (case(), 0.0, "expert", "0 s is no step of 0.25 s."),
        (case(), 6.0, "expert", "The planner trajectory ends after 5 s."),
        (case(expert=STRAIGHT[:12]), 5.0, "expert", "The expert trajectory ends after 3 s."),
        (case(), 5.0, "best_rated", "No trajectory of this scene was rated."),
        (case(rated=(RatedTrajectory(Trajectory.of(STRAIGHT), None),)), 5.0, "best_rated", "No trajectory of this scene was rated."),
        (case(rated=(RatedTrajectory(Trajectory.of(STRAIGHT[:4]), 1.0),)), 5.0, "best_rated", "The best rated trajectory ends after 1 s."),
    ],
)
def test_what_cannot_be_known_says_why(c: Case, t: float, reference: Any, said: str) -> None:
    found = mean_up_to(c, t, reference)
    assert (found.value, found.reason) == (None, said)
    assert error_at(c, t, reference).value is None


def test_states_that_are_not_valid_are_not_averaged_over() -> None:
    valid = np.ones(20, dtype=bool)
    valid[[4, 15]] = False
    c = case(Trajectory.of(STRAIGHT, valid))
    assert mean_up_to(c, 3.0).reason == "1 of 12 needed states of the planner trajectory are not valid."
    assert mean_up_to(c, 5.0).reason == "2 of 20 needed states of the planner trajectory are not valid."
    assert error_at(c, 3.0).value == 0.0
    assert error_at(c, 4.0).reason == "1 of 1 needed states of the planner trajectory are not valid."


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50)), min_size=20, max_size=20), st.floats(-3.14, 3.14), st.integers(1, 20))
def test_no_turn_of_the_frame_matters_and_the_mean_is_of_the_errors(offset: Any, angle: float, steps: int) -> None:
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    plain, turned = case(STRAIGHT + offset), case((STRAIGHT + offset) @ turn.T, STRAIGHT @ turn.T)
    t = steps * DT
    assert mean_up_to(plain, t).value == pytest.approx(mean_up_to(turned, t).value, abs=1e-9)
    each = [error_at(plain, k * DT).value for k in range(1, steps + 1)]
    assert mean_up_to(plain, t).value == pytest.approx(np.mean(each), abs=1e-9)


def test_names_tell_metric_horizon_and_reference() -> None:
    assert [d.key for d in standard_displacements()] == [
        *("ade_3s_expert", "ade_5s_expert", "fde_5s_expert"),
        *("ade_3s_best_rated", "ade_5s_best_rated", "fde_5s_best_rated"),
    ]
    one = displacement("FDE", 4, "best_rated")
    assert (one.label, one.kind, one.horizon_s) == ("FDE@4 s (best rated)", "error_at", 4)
    keys = [m.key for m in standard_metrics([case(metrics={"PDMS": 0.5})])]
    assert keys[-3:] == ["heading_5s_expert", "rfs", "PDMS"]


def test_numbers_from_outside_never_take_the_place_of_ours() -> None:
    rated = (RatedTrajectory(Trajectory.of(STRAIGHT), 9.0),)
    outside = {m.key: -1.0 - k for k, m in enumerate(standard_metrics())} | {"outside:rfs": 7.0, "RFS": 8.0, "PDMS": 0.5}
    table = measure([case(rated=rated, metrics=outside)], repeats=20)
    plain = measure([case(rated=rated)], repeats=20)
    keys, labels = [m.key for m in table.metrics], [m.label for m in table.metrics]
    assert len(set(keys)) == len(keys) == len(plain.metrics) + len(outside)
    assert len(set(labels)) == len(labels)
    assert table.summaries[: len(plain.summaries)] == plain.summaries
    found = {m.label.removesuffix(" (from outside)"): table.of(m.key)["p"]["s"] for m in table.metrics[len(plain.metrics) :]}
    assert found == outside


# The table of several planners


def pair(scene: str, planner: str, off: float, **more: Any) -> Case:
    return case(STRAIGHT + np.array([0, off]), case_id=f"{scene}-{planner}", scene_id=scene, planner_id=planner, **more)


def test_planners_are_compared_on_the_scenes_that_they_share() -> None:
    # B lacks the scene that is worst for A: on all its scenes A seems worse, on the shared ones it is better.
    cases = [pair("1", "A", 1.0), pair("2", "A", 1.0), pair("3", "A", 10.0), pair("1", "B", 2.0), pair("2", "B", 2.0)]
    table = measure(cases, repeats=100)
    assert table.common.left_out == {"A": 1, "B": 0}
    assert table.common.text() == "2 scenes in common; left out of the comparison: A 1."
    a, b = (s for s in table.summaries if s.metric == "ade_5s_expert")
    assert (a.n, a.mean, a.shared_n, a.shared_mean) == (3, pytest.approx(4.0), 2, pytest.approx(1.0))
    assert (b.n, b.mean, b.shared_n, b.shared_mean) == (2, pytest.approx(2.0), 2, pytest.approx(2.0))
    assert table.of("ade_5s_expert")["A"] == {"1": 1.0, "2": 1.0, "3": 10.0}


def test_scenes_without_a_value_are_counted_with_the_reason() -> None:
    cases = [pair("1", "A", 1.0, metrics={"PDMS": 0.25}), pair("2", "A", 3.0)]
    table = measure(cases, repeats=50)
    by = {s.metric: s for s in table.summaries}
    assert (by["rfs"].n, by["rfs"].unknown, by["rfs"].mean) == (0, 2, None)
    assert by["rfs"].reasons == {"No trajectory of this scene was rated.": 2}
    assert (by["PDMS"].n, by["PDMS"].mean, by["PDMS"].low) == (1, 0.25, None)
    assert by["PDMS"].reasons == {"No PDMS came with this case.": 1}
    assert by["ade_3s_expert"].low <= 2.0 <= by["ade_3s_expert"].high


def test_a_scene_that_a_planner_has_twice_is_refused() -> None:
    with pytest.raises(InputError) as e:
        measure([pair("1", "A", 1.0), pair("1", "A", 2.0), pair("2", "A", 2.0), pair("2", "A", 2.0)])
    assert [p.got for p in e.value.problems] == ["1", "2"]


def test_no_case_is_a_table() -> None:
    table = measure([])
    assert (table.summaries, table.common.scenes, table.common.equal) == ((), (), True)
