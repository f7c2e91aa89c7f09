"""Rows that need a decision: grouped, decided, counted; and an import that can be found again from its choices."""

from __future__ import annotations

import csv
import io

import pytest

from core import operators
from core.errors import InputError
from core.odd import infer_odd, load_yaml
from core.operators import ADD, LEAVE_OUT, Decided, ImportChoices, decide, fixes, undecided
from core.operators.imports import prepared_for
from core.seed_table import ImportPlan, open_table

ODD = load_yaml("dimensions: {time: {values: [day, night]}, sky: {values: [clear, {name: cloudy, synonyms: [overcast]}]}}")
TEXT = """time,sky,score
day,clear,1
dayy,clear,1
dayy,overcast,0
purple,clear,1
night,clear,7
night,clear,
,clear,1
night,cloudy,-1
"""
PLAN = ImportPlan(columns={"time": "time", "sky": "sky"}, score="score", scale="unit")
NOTHING = Decided({}, {}, ())


def checked(choices: ImportChoices):
    file = open_table(TEXT.encode(), "t.csv")
    odd = ODD.with_values(choices.added) if choices.added else ODD
    prepared = prepared_for(file, odd, choices)
    return prepared, operators.check(prepared)


def test_problems_are_grouped_and_only_slips_are_safe():
    _, report = checked(ImportChoices(plan=PLAN))
    found = {f.key: f for f in fixes(report)}
    assert set(found) == {"time|unknown_value|dayy", "time|unknown_value|purple", "score|out_of_range", "score|empty", "time|empty"}
    assert [k for k, f in found.items() if f.safe] == ["time|unknown_value|dayy"]
    assert found["time|unknown_value|dayy"].numbers.tolist() == [2, 3]
    assert found["score|out_of_range"].numbers.tolist() == [5, 8]
    assert undecided(found.values()).tolist() == [2, 3, 4, 5, 6, 7, 8] == report.rejected.tolist()


@pytest.mark.parametrize(
    ("use", "accepted", "still"),
    [("day", 3, 5), (ADD, 3, 5), (LEAVE_OUT, 1, 5)],
)
def test_a_decision_settles_its_rows_and_loses_none(use, accepted, still):
    _, report = checked(ImportChoices(plan=PLAN))
    slip = next(f for f in fixes(report) if f.got == "dayy")
    choices = ImportChoices(plan=PLAN).with_decided(decide(ODD, [(slip, use)], NOTHING))
    _, after = checked(choices)
    assert after.accepted == accepted
    assert after.accepted + after.rejected.size == after.rows == 8
    assert undecided(f for f in fixes(after) if f.key not in choices.left_out).size == still


def test_a_value_of_another_dimension_is_refused_and_nothing_is_decided():
    _, report = checked(ImportChoices(plan=PLAN))
    by_got = {f.got: f for f in fixes(report)}
    with pytest.raises(InputError) as e:
        decide(ODD, [(by_got["dayy"], "day"), (by_got["purple"], "cloudy"), (by_got["7, -1"], "day")], NOTHING)
    assert [p.got for p in e.value.problems] == ["cloudy", "day"]


def test_rejected_rows_stand_in_the_file_as_they_were():
    prepared, report = checked(ImportChoices(plan=PLAN))
    rows = list(csv.DictReader(io.StringIO(operators.rejected_rows(prepared, report).decode())))
    assert [int(r["row"]) for r in rows] == report.rejected.tolist()
    assert rows[3] | {"reason": ""} == {"row": "5", "reason": "", "time": "night", "sky": "clear", "score": "7"}
    assert all(r["reason"] for r in rows)


def test_rows_are_told_in_short():
    text = "time,score\n" + "x,1\n" * 5 + "day,1\n" + "x,1\n" * 2
    plan = ImportPlan(columns={"time": "time"}, score="score")
    odd = infer_odd({"time": ["day", "night"]})
    report = operators.check(prepared_for(open_table(text.encode(), "t.csv"), odd, ImportChoices(plan=plan)))
    (fix,) = fixes(report)
    assert fix.rows == "1, 2, 3 and 4 more"


def test_choices_come_back_from_their_json_and_bad_ones_are_named():
    choices = ImportChoices(file_name="t.csv", plan=PLAN, pending={"a|b|c": (True, "day")}, models=("m",)).with_decided(
        Decided({"time": {"x": ""}}, {"sky": ["mist"]}, ("score|empty",))
    )
    assert ImportChoices.read(choices.dump()) == choices
    with pytest.raises(InputError, match="another version"):
        ImportChoices.read({"plan": {"columns": 3}})


def test_a_file_that_does_not_fit_the_built_in_odd_gets_one_of_its_own():
    file = open_table(TEXT.encode(), "t.csv")
    choices = operators.begin_import(file)
    assert choices.odd == "infer"
    assert set(choices.dims) == {"time", "sky"}
    demo = operators.begin_import(open_table(operators.DEMO_TABLE.read_bytes(), "demo.csv"))
    assert (demo.odd, len(demo.models)) == ("driving", 2)


def test_numbers_that_differ_in_their_sign_stay_two_values():
    file = open_table(b"sun,score\n-90.0,1\n90.0,0\n-90.0,1\n", "t.csv")
    odd = operators.odd_of(file, ImportChoices(odd="infer", dims=("sun",), plan=ImportPlan(columns={"sun": "sun"})), None)
    assert {v.name for v in odd.dimensions[0].values} == {"-90.0", "90.0"}
