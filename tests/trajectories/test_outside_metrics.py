"""Numbers of others meet cases by scene, planner or case; what meets none is counted; a rule says what is a failure."""

from __future__ import annotations

import pytest

from core.errors import InputError
from core.trajectories.outside import FailureRule, Failures, failure_rule, failures, read_outside, with_metrics
from tests.cases import case

CASES = [case("s1-a"), case("s1-b"), case("s2-a")]


def read(text):
    return read_outside(text, CASES, text=True)


def test_rows_meet_cases_by_scene_planner_or_case():
    found = read("scene_id,planner,PDMS\ns1,a,0.5\ns1,b,0\ns2,,0.9\n")
    assert found.values == {"s1-a": {"PDMS": 0.5}, "s1-b": {"PDMS": 0.0}, "s2-a": {"PDMS": 0.9}}
    assert (found.rows, found.used, found.unmatched, found.problems) == (3, 3, (), ())
    assert read("case_id;RFS\ns1-b;7,5\n").problems[0].got == "7,5"
    assert read("case_id\tRFS\ns1-b\t7.5\n").values == {"s1-b": {"RFS": 7.5}}
    assert read("scene_id,RFS\ns1,7\n").values == {"s1-a": {"RFS": 7.0}, "s1-b": {"RFS": 7.0}}


def test_everything_that_is_not_used_is_counted():
    found = read("scene_id,planner,PDMS,RFS\ns1,a,nan,7\ns9,a,1,1\ns1,b,bad,1e99\ns2,a,1\n")
    assert found.blank == {"PDMS": 1, "RFS": 0}
    assert found.unmatched == ((2, "s9, a"),)
    assert [(p.row, p.column, p.kind) for p in found.problems] == [(3, "PDMS", "number"), (3, "RFS", "number"), (4, "row", "cells")]
    assert found.without == {"PDMS": 3, "RFS": 2}
    assert found.used == 2


def test_two_numbers_for_one_case_are_a_conflict_and_the_first_stays():
    found = read("case_id,RFS\ns1-a,7\ns1-a,8\ns1-a,7\n")
    assert found.values == {"s1-a": {"RFS": 7.0}}
    assert [(p.row, p.kind) for p in found.problems] == [(2, "conflict")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,PDMS\ns1,1\n", "neither scenes nor cases"),
        ("scene_id\ns1\n", "no column with a metric"),
        ("scene_id,PDMS,PDMS\ns1,1,2\n", "same column twice"),
        ("scene_id,PDMS\n", "not a single row"),
        ("", "is empty"),
    ],
)
def test_files_that_cannot_be_used_are_refused(text, said):
    with pytest.raises(InputError, match=said):
        read(text)


def test_a_file_is_read_as_its_text(tmp_path):
    (tmp_path / "m.csv").write_bytes(b"\xef\xbb\xbfscene_id,PDMS\r\ns1,0.25\r\n")
    assert read_outside(tmp_path / "m.csv", CASES).values["s1-a"] == {"PDMS": 0.25}
    with pytest.raises(InputError, match="cannot be read"):
        read_outside(tmp_path / "none.csv", CASES)


def test_numbers_go_beside_those_that_a_case_has():
    cases = [case("s1-a", metrics={"RFS": 1.0, "x": 2.0}), *CASES[1:]]
    made = with_metrics(cases, read("case_id,RFS\ns1-a,7\n"))
    assert made[0].metrics == {"RFS": 7.0, "x": 2.0} and made[1].metrics == {}


@pytest.mark.parametrize(
    ("text", "value", "fails"),
    [
        ("PDMS <= 0", 0.0, True),
        ("PDMS<0", 0.0, False),
        ("ADE @ 5 s >= 2.5e0", 2.5, True),
        ("x > -1", 0.0, True),
        ("x = 3", 3.0, True),
        ("x==3", 2.0, False),
    ],
)
def test_a_rule_is_read_and_applied(text, value, fails):
    assert failure_rule(text).fails(value) is fails


def test_rules_that_are_none_or_name_nothing_are_refused():
    for text in ("PDMS", "PDMS < ", "< 3", "PDMS < 1.2.3", "PDMS < a", "<= 0", " == 0", "PDMS =< 0", "PDMS <> 0", "PDMS >>= 1"):
        with pytest.raises(InputError, match="cannot be read"):
            failure_rule(text)
    with pytest.raises(InputError, match='Did you mean "PDMS"'):
        failure_rule("PDM < 1", ["PDMS"])


def test_failed_passed_and_unknown_are_all_cases():
    cases = with_metrics(CASES, read("case_id,PDMS\ns1-a,0\ns1-b,1\n"))
    rule = failure_rule("PDMS <= 0", ["PDMS"])
    assert failures(cases, rule) == Failures(("s1-a",), ("s1-b",), ("s2-a",))
    assert str(rule) == "PDMS <= 0" and rule == FailureRule("PDMS", "<=", 0.0)
