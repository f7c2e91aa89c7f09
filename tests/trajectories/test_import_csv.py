"""Points as CSV: steps, origin, gaps, axes, history, rated trajectories; every row and scene that cannot be used is told."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import InputError
from core.trajectories.displacement import steps_to
from core.trajectories.importers import detect, import_source
from tests.source_files import braking, csv_points, track


def read(tmp_path, text, **options):
    (tmp_path / "points.csv").write_text(text)
    return import_source(tmp_path / "points.csv", "csv", **options)


def reasons(made):
    return {o.case_id: o.notes for o in made.report.outcomes if o.fate == "rejected"}


def test_two_planners_of_a_scene_are_two_cases(tmp_path):
    made = read(tmp_path, csv_points([*braking("s1", "expert"), *track("s1", "A"), *track("s1", "B", 6.0)]))
    assert detect(tmp_path / "points.csv") == "csv"
    assert [(c.case_id, c.scene_id, c.planner_id) for c in made.cases] == [("s1:A", "s1", "A"), ("s1:B", "s1", "B")]
    case = made.cases[0]
    assert case.dt_s == pytest.approx(0.25) and len(case.expert) == 20
    assert case.expert.points[-1, 0] == pytest.approx(8 * 5 - 0.75 * 25)
    assert case.ego.speed_mps == pytest.approx((2 - 0.75 / 16) / 0.25)
    assert "the speed at t = 0 is not stated; 7.81 m/s follow from the positions" in made.report.outcomes[0].notes
    assert "no licence is stated" in made.report.outcomes[0].notes
    assert made.report.accepted == 2 and made.report.rejected == 0


def test_what_is_said_of_a_scene_is_taken(tmp_path):
    header = "scene_id,planner,t,x,y,yaw,speed_mps,command,licence,dataset"
    rows = [(*r, 0.01, 8.5, "turn_left", "CC0-1.0", "Town") for r in [*braking("s1", "expert"), *track("s1", "A")]]
    case = read(tmp_path, csv_points(rows, header)).cases[0]
    assert (case.ego.speed_mps, case.command, case.licence, case.source["dataset"]) == (8.5, "left", "CC0-1.0", "Town")
    assert case.expert.yaw is not None and case.expert.yaw[0] == 0.01


def test_the_origin_falls_away(tmp_path):
    rows = [("s1", "expert", 0, 0, 0), *braking("s1", "expert"), ("s1", "A", 0, 0, 0), *track("s1", "A")]
    case = read(tmp_path, csv_points(rows)).cases[0]
    assert len(case.expert) == len(case.planner) == 20
    assert case.planner.points[0, 0] == pytest.approx(2.0)


def test_positions_that_are_not_in_the_ego_frame_are_refused(tmp_path):
    rows = [("s1", "expert", 0, 100, 50), *[("s1", "expert", 0.25 * k, 100 + 2 * k, 50) for k in range(1, 5)], *track("s1", "A", n=4)]
    assert reasons(read(tmp_path, csv_points(rows))) == {
        "s1:A": ("the expert cannot be used: at t = 0 it is 111.80 m from the origin: positions have to be in the ego frame at t = 0",)
    }


def test_a_planner_at_another_step_is_brought_to_that_of_the_expert_and_said(tmp_path):
    made = read(tmp_path, csv_points([*braking("s1", "expert"), *track("s1", "A", dt=0.5, n=10)]))
    (outcome,) = made.report.outcomes
    assert outcome.resampled == "planner: step 0.5 s to 0.25 s, linear with the origin put before the first state"
    assert np.allclose(made.cases[0].planner.points[:, 0], 2.0 * np.arange(1, 21))


def test_a_shorter_planner_shortens_the_case_and_is_said(tmp_path):
    made = read(tmp_path, csv_points([*braking("s1", "expert"), *track("s1", "A", n=12)]))
    assert len(made.cases[0].expert) == 12
    assert "the expert covers 5 s and was cut to the 3 s that both cover" in made.report.outcomes[0].notes


def test_gaps_and_blank_cells_are_states_that_are_not_valid(tmp_path):
    rows = track("s1", "A")
    del rows[7]
    rows[2] = ("s1", "A", 0.75, "", "")
    made = read(tmp_path, csv_points([*braking("s1", "expert"), *rows]))
    planner = made.cases[0].planner
    assert np.flatnonzero(~planner.valid).tolist() == [2, 7]
    assert np.isfinite(planner.points).all() and planner.points[7, 0] == planner.points[6, 0]
    notes = made.report.outcomes[0].notes
    assert "1 step between its rows is missing and is not valid" in notes
    assert "not valid: 2 of 20 states of the planner" in notes


def test_zeros_at_the_end_are_padding(tmp_path):
    rows = track("s1", "A")
    rows[15:] = [("s1", "A", 0.25 * k, 0, 0) for k in range(16, 21)]
    made = read(tmp_path, csv_points([*braking("s1", "expert"), *rows]))
    assert made.cases[0].planner.valid.sum() == 15
    assert "5 states of the planner were padded with zeros and are not valid" in made.report.outcomes[0].notes


def test_steps_need_a_length_and_may_be_counted_from_0_or_1(tmp_path):
    header = "case_id,planner,k,x,y"
    rows = [(s, w, k, 2 * k + 2, 0) for s, w in (("s1", "expert"), ("s1", "A")) for k in range(20)]
    assert "nothing says how long one is" in reasons(read(tmp_path, csv_points(rows, header)))["s1:A"][0]
    made = read(tmp_path, csv_points(rows, header), dt_s="0.25")
    assert len(made.cases[0].planner) == 20 and made.cases[0].planner.points[0, 0] == 2.0
    assert any("counted from 0" in n for n in made.report.outcomes[0].notes)
    one = read(tmp_path, csv_points([(s, w, k + 1, x, y) for s, w, k, x, y in rows], header), dt_s=0.25)
    assert np.array_equal(one.cases[0].planner.points, made.cases[0].planner.points)
    stated = read(tmp_path, csv_points([(*r, 0.25) for r in rows], header + ",dt_s"))
    assert stated.cases[0].dt_s == 0.25


@pytest.mark.parametrize(("axes", "turn"), [("right_forward", lambda x, y: (-y, x)), ("forward_right", lambda x, y: (x, -y))])
def test_axes_are_turned_and_said(tmp_path, axes, turn):
    rows = [*braking("s1", "expert"), *track("s1", "A", dy=3.0)]
    expected = read(tmp_path, csv_points(rows)).cases[0]
    made = read(tmp_path, csv_points([(s, w, t, *turn(x, y)) for s, w, t, x, y in rows]), axes=axes)
    assert np.allclose(made.cases[0].planner.points, expected.planner.points)
    assert made.report.remarks[0]


def test_sideways_points_are_refused_with_what_forward_is(tmp_path):
    rows = [(s, w, t, y, x) for s, w, t, x, y in [*braking("s1", "expert"), *track("s1", "A")]]
    assert any("x has to point forward" in n for n in reasons(read(tmp_path, csv_points(rows)))["s1:A"])


def test_history_and_rated_trajectories_go_with_the_scene(tmp_path):
    past = [("s1", "history", 0.25 * k, 2.0 * k, 0, "") for k in range(-4, 1)]
    scored = [(*r, 8.5) for r in track("s1", "rated:1", dt=0.5, n=10)] + [(*r, -1) for r in track("s1", "rated:2")]
    rows = [*past, *((*r, "") for r in [*braking("s1", "expert"), *track("s1", "A")]), *scored]
    made = read(tmp_path, csv_points(rows, "scene_id,planner,t,x,y,score"))
    (case,) = made.cases
    assert case.history is not None and case.history.points[:, 0].tolist() == [-8.0, -6.0, -4.0, -2.0, 0.0]
    assert [r.score for r in case.rated] == [8.5, None] and [len(r.trajectory) for r in case.rated] == [20, 20]
    assert case.ego.speed_mps == pytest.approx(8.0)


def test_a_history_that_does_not_end_at_0_is_left_out_and_said(tmp_path):
    past = [("s1", "history", -3.0 + k * 0.25, -20 + k, 0) for k in range(4)]
    made = read(tmp_path, csv_points([*past, *braking("s1", "expert"), *track("s1", "A")]))
    assert made.cases[0].history is None
    assert any("the history was left out: it ends at -2.25 s" in n for n in made.report.outcomes[0].notes)


def test_every_row_that_cannot_be_used_is_told(tmp_path):
    good = [*braking("s1", "expert"), *track("s1", "A")]
    bad = [*track("s1", "B")[:3], ("s1", "B", 1.0, "far", 0), ("s1", "B", "late", 1, 0), ("s1", "B", 1.5, 1)]
    loose = [("", "A", 1, 2, 3), ("s1", "", 1, 2, 3)]
    made = read(tmp_path, csv_points([*good, *bad, *loose]))
    assert [c.case_id for c in made.cases] == ["s1:A"]
    told = reasons(made)
    assert told["s1:B"] == (
        'row 44: "x" is "far", which is no number within ±1,000,000; '
        'row 45: "t" is "late", which is no number within ±1,000,000; row 46 has 4 cells instead of 5',
    )
    assert sorted(o.where for o in made.report.outcomes if o.case_id == "") == ["row 47", "row 48"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (track("s1", "A"), "the scene has no expert"),
        (braking("s1", "expert"), "no planner has a trajectory"),
        ([*braking("s1", "expert"), *braking("s1", "GT"), *track("s1", "A")], "2 tracks that say expert: expert, GT"),
        ([*braking("s1", "expert"), *track("s1", "A"), ("s1", "A", 0.5, 1, 1)], "is there twice"),
        ([*braking("s1", "expert"), *[("s1", "A", t, t, 0) for t in (0.25, 0.5, 0.85, 1.0)]], "not at equal steps"),
        ([*braking("s1", "expert"), *[("s1", "A", t, t, 0) for t in (0.4, 0.65, 0.9)]], "its first time is 0.4 s"),
        ([*braking("s1", "expert"), ("s1", "A", 0, 0, 0)], "a step of 0 s"),
        ([*braking("s1", "expert"), *[("s1", "A", t, t, 0) for t in (0.25, 0.5, 1e6)]], "at most 10000"),
    ],
)
def test_scenes_and_planners_that_cannot_be_used_are_told(tmp_path, rows, said):
    made = read(tmp_path, csv_points(rows))
    assert made.cases == [] and any(said in n for notes in reasons(made).values() for n in notes)


def test_the_same_planner_twice_in_a_file_of_planners_is_told(tmp_path):
    (tmp_path / "more.csv").write_text(csv_points([*track("s1", "A", 6.0), *track("s1", "C", 6.0), *track("s7", "C")]))
    made = read(tmp_path, csv_points([*braking("s1", "expert"), *track("s1", "A")]), planner_file=tmp_path / "more.csv")
    assert [c.case_id for c in made.cases] == ["s1:A", "s1:C"]
    assert set(reasons(made)) == {"s1:A", "s7:C"}


def test_baselines_can_be_added(tmp_path):
    made = read(tmp_path, csv_points(braking("s1", "expert")), planners="faster,constant_acceleration")
    assert [c.case_id for c in made.cases] == ["s1:faster"]
    assert reasons(made) == {"s1:constant_acceleration": ("no constant_acceleration: the acceleration at t = 0 is not known",)}


def test_separators_bom_and_windows_lines_are_read(tmp_path):
    text = csv_points([*braking("s1", "expert"), *track("s1", "A")])
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf" + text.replace(",", ";").replace("\n", "\r\n").encode())
    (tmp_path / "b.tsv").write_text(text.replace(",", "\t"))
    for name in ("a.csv", "b.tsv"):
        assert detect(tmp_path / name) == "csv"
        assert [c.case_id for c in import_source(tmp_path / name, "csv").cases] == ["s1:A"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n1,2\n", "lacks columns"),
        ("scene,planner,t,x,y\n", "not a single row"),
        ('scene,planner,t,x,y\ns,expert,1,2,3\n"s1,expert,1,2,3\n', "cannot be read as CSV after record 1"),
    ],
)
def test_files_that_are_no_table_are_refused(tmp_path, text, said):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        import_source(tmp_path / "x.csv", "csv")


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"scene_id,planner,t,x,y\n\xff\xfe\n")
    with pytest.raises(InputError, match="no text in UTF-8"):
        import_source(tmp_path / "x.csv", "csv")
    with pytest.raises(InputError, match="cannot be read"):
        import_source(tmp_path / "none.csv", "csv")


@pytest.mark.parametrize(("hertz", "digits"), [(30, 3), (15, 3), (12, 3), (4, 2), (7, 4), (3, 2)])
def test_times_that_were_rounded_give_the_step_that_was_meant(tmp_path, hertz, digits):
    for first, last in ((1, 5 * hertz), (0, 5 * hertz), (1, 5 * hertz - 1)):
        rows = [("s", who, round(k / hertz, digits), 8 * k / hertz, 0) for who in ("expert", "p") for k in range(first, last + 1)]
        (made,) = read(tmp_path, csv_points(rows)).cases
        assert (made.dt_s, len(made.expert)) == (pytest.approx(1 / hertz, rel=1e-12), last)
        assert steps_to(made.dt_s, 3.0) == 3 * hertz
        np.testing.assert_allclose(made.expert.points[:, 0], 8 * np.arange(1, last + 1) / hertz)


@pytest.mark.parametrize("step", [0.3, 0.248, 0.0995, 0.7, 1.5])
def test_a_step_that_is_no_whole_rate_stays_what_it_is(tmp_path, step):
    rows = [("s", who, round(step * k, 5), 8 * step * k, 0) for who in ("expert", "p") for k in range(1, 31)]
    (made,) = read(tmp_path, csv_points(rows)).cases
    assert made.dt_s == pytest.approx(step)
