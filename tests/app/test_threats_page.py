"""The page "Threat rates" without a browser."""

from __future__ import annotations

import json

import pytest

from core.operators import labelling
from tests.apptest import open_page, text
from tests.threat_sets import threat_set

VIEWS = ("Planners", "By threat", "By metric", "Overlap")


@pytest.fixture
def set_id(store):
    return threat_set(store)


def test_without_cases_or_verdicts_it_says_what_is_needed(workspace, store):
    assert "No case yet, so no threat rate." in text(open_page("threats"))
    set_id = threat_set(store, ())
    for view in VIEWS:
        app = open_page("threats", cases=set_id, view=view)
        assert not app.exception
        assert "has a verdict yet." in text(app)


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_stands_on_the_same_sentence(store, set_id, view):
    app = open_page("threats", cases=set_id, view=view)
    assert not app.exception
    said = text(app)
    # By majority a threat in s0, s1, s4 of planner a, and in s4 of b.
    assert "b is free of added threats in 83% of the scenes, a in 50% ; that is too few scenes to tell them apart." in said
    assert "12 verdicts on 12 cases; 0 without one." in said
    assert "From 36 labels by 3 people (majority), 12 cases by two or more; 0 settled by a reviewer." in said
    assert "Synthetic" in said


def test_the_rule_and_the_policy_change_what_counts(store, set_id):
    anyone = text(open_page("threats", cases=set_id, rule="Any Y counts"))
    assert "b is free of added threats in 67% of the scenes, a in 50%" in anyone
    both = text(open_page("threats", cases=set_id, rule="Unanimous", policy="Both ways, no single number"))
    # Open: s1 of a; s3 and s5 of b.
    assert "in 50% to 83% of the scenes" in both or "50% to 67%" in both
    assert "Without a verdict: both ways, no single number." in both


def test_flags_that_are_left_out_leave_the_rates(store, set_id):
    labelling.leave_out(store, set_id, ["open_future"])
    said = text(open_page("threats", cases=set_id))
    assert "10 verdicts on 10 cases" in said
    assert "2 flagged cases left out." in said


def test_threats_that_nobody_named_leave_every_kind_open(store, set_id):
    said = text(open_page("threats", cases=set_id, view="By threat", threat_planner="a"))
    assert "In 3 of 3 scenes with a threat nobody named it: there every kind is open." in said
    assert "Driving quality 0 3 6" in said


def test_each_metric_says_on_how_many_scenes_its_tails_are_compared(store):
    from core.trajectories.case import RatedTrajectory
    from tests.cases import case, straight
    from tests.labels.desk import keep, person, say

    # Planner a was rated in scenes 0 to 3, b in 1 to 4: three scenes for RFS, five for displacement.
    rated = {"rated": (RatedTrajectory(straight(), 8.0),)}
    ids = [f"s{i}-{p}" for i in range(5) for p in "ab"]
    cases = [case(c, **(rated if (c[1] in "0123" if c[-1] == "a" else c[1] in "1234") else {})) for c in ids]
    set_id = keep(store, cases)
    say(store, set_id, person(store), dict.fromkeys(ids, "N"))
    app = open_page("threats", cases=set_id, view="Overlap")
    assert not app.exception
    said = text(app)
    assert "ADE@5 s (expert): n = 5. " in said
    assert "RFS: n = 3, left out: a 1 without it, b 1 without it, a 1 not shared, b 1 not shared." in said


def test_metrics_and_verdicts_of_a_planner_stand_side_by_side(store, set_id):
    app = open_page("threats", cases=set_id, view="Overlap")
    app.selectbox(key="hard_planner").set_value("b").run()
    assert not app.exception
    # All six scenes of b have a verdict and the metric, one a threat: s4, the last but one by distance; RFS is known of none.
    said = text(app)
    assert "ADE@5 s (expert) 6 3 1 1 0.5 2.00 0.33 0.33 0.500 0 0" in said
    assert "RFS 6" not in said
    app.segmented_control(key="hard_tail").set_value(10).run()
    assert "ADE@5 s (expert) 6 1 1 0 0.2 0.00 0.00 −0.20 1.000 0 0" in text(app)


@pytest.mark.parametrize("shared", [12, 3])
def test_metrics_beside_a_rate_stand_on_the_scenes_that_were_judged(store, shared):
    from tests.cases import case, straight
    from tests.labels.desk import keep, person, say

    # Planner a is i + 1 m/s too fast in scene i, so its ADE@5 s there is 2.625 (i + 1) m; b 1 m/s more. Two scenes were never judged.
    n = shared + 2
    cases = [case(f"s{i:02}-{p}", planner=straight(9.0 + i + (p == "b"))) for i in range(n) for p in "ab"]
    set_id = keep(store, cases)
    say(store, set_id, person(store), {f"s{i:02}-{p}": "YN"[i % 2] for i in range(shared) for p in "ab"})
    said = text(open_page("threats", cases=set_id))
    means = [2.625 * (sum(range(shared)) / shared + k) for k in (1, 2)]
    for mean in means:
        assert f" {mean:.2f} " in said
    assert said.count(f", n = {shared}") == 2
    assert f"n = {n}" not in said
    assert f"on the {shared} scenes that all share" in said


def test_one_planner_is_told_without_a_comparison(store):
    from tests.cases import case
    from tests.labels.desk import keep, person, say

    set_id = keep(store, [case(f"s{i}-solo") for i in range(4)])
    say(store, set_id, person(store), {f"s{i}-solo": x for i, x in enumerate("YNNU")})
    for view in VIEWS:
        app = open_page("threats", cases=set_id, view=view)
        assert not app.exception
        assert "solo adds a threat in 33% of its scenes; 1 of 4 have no verdict." in text(app)
    assert "Overlap needs verdicts on two planners or more." in text(app)


def test_a_file_of_verdicts_is_counted_alike(store, set_id):
    app = open_page("threats", cases=set_id, source="A file of verdicts")
    assert "Give a file of verdicts." in text(app)
    lines = [
        {"case_id": f"s{i}-a", "status": "has_threat" if i < 2 else "no_threat", "threats": ["lane_straddling"] if i < 2 else []}
        for i in range(6)
    ]
    data = "\n".join(json.dumps(x) for x in lines).encode()
    app.file_uploader(key="verdict_file").upload("verdicts.jsonl", data, "application/json").run()
    assert not app.exception
    assert "a adds a threat in 33% of its scenes; 0 of 6 have no verdict." in text(app)
    app.file_uploader(key="verdict_file").upload("bad.jsonl", b'{"case_id": "s0-a"}', "application/json").run()
    assert not app.exception
    assert "problems in the verdicts" in text(app)


def test_a_small_probability_is_not_told_as_none():
    from core.threats import overlap_of_counts
    from pages.shared.threat_text import beside_chance

    assert beside_chance(overlap_of_counts(151, 16, 16, 9)) == ["1.7", "5.31", "0.39", "0.51", "< 0.001"]
    assert beside_chance(overlap_of_counts(151, 16, 16, 4))[-1] == "0.070"
    assert beside_chance(overlap_of_counts(0, 0, 0, 0)) == ["–"] * 5
