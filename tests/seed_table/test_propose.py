"""Columns are proposed by name and content, and every proposal is said; the user's word comes first."""

from __future__ import annotations

from math import prod

import pytest

from core.errors import InputError
from core.odd import built_in
from core.operators import prepare
from core.seed_table import dimension_candidates, open_table, propose_plan
from core.seed_table.propose import MOST_SLICES

DRIVING = (
    "model,dataset,qa_type,sample_id,Weather,road_condition,tod,n,mean score\n"
    "a,city,MCQ,1,snowy,wet,night,10,0.5\n"
    "a,city,VQA,2,heavy rain,dry,day,20,0.25\n"
)


def proposed(text, odd=None, **said):
    return prepare(open_table(text.encode(), "t.csv"), odd, **said)


def test_roles_and_dimensions_by_name_synonym_and_content():
    odd = built_in().restricted(["weather_visibility", "time", "road_condition"])
    plan = propose_plan(open_table(DRIVING.encode(), "t.csv").head(), odd)
    assert plan.columns == {"weather_visibility": "Weather", "road_condition": "road_condition", "time": "tod"}
    assert (plan.score, plan.count, plan.model_column) == ("mean score", "n", "model")
    assert (plan.source_column, plan.qa_column, plan.sample_column) == ("dataset", "qa_type", "sample_id")


def test_what_was_chosen_is_said():
    prepared = proposed(DRIVING, built_in(), dims=["weather_visibility", "time"])
    assert any("weather_visibility = Weather" in n and "time = tod" in n and "count = n" in n for n in prepared.notes)
    named = proposed("a,b,score\nx,y,1\nz,w,0\n", dims=["a", "b"], overrides={"score": "score"})
    assert named.notes == ()


def test_a_column_is_given_to_one_dimension_only():
    plan = propose_plan(open_table(b"x,score\nwet,1\ndry,0\n", "t.csv").head(), built_in())
    assert list(plan.columns.values()) == ["x"]


@pytest.mark.parametrize(
    ("text", "field", "column"),
    [
        ("w,score\nx,good\ny,bad\n", "score", ""),
        ("w,Accuracy\nx,0.5\ny,1\n", "score", "Accuracy"),
        ("w,is_correct\nx,CORRECT\ny,INCORRECT\n", "score", "is_correct"),
        ("w,ground_truth,pred\nx,A,B\ny,B,B\n", "truth", "ground_truth"),
        ("w,ground_truth\nx,A\ny,B\n", "truth", ""),
        ("w,ground_truth,pred,score\nx,A,B,0\ny,B,B,1\n", "truth", ""),
        ("w,n,score\nx,ten,0\ny,two,1\n", "count", ""),
    ],
)
def test_a_role_needs_a_name_and_contents_that_fit(text, field, column):
    assert getattr(propose_plan(open_table(text.encode(), "t.csv").head(), None), field) == column


@pytest.mark.parametrize(
    ("said", "field", "value"),
    [
        ({"assume_n": 5}, "count", ""),
        ({"count": "-"}, "count", ""),
        ({"model_column": "-"}, "model_column", ""),
        ({"truth": "dataset", "predicted": "qa_type"}, "score", ""),
        ({"score": "n"}, "count", ""),
        ({"score": "n"}, "score", "n"),
        ({"value_map": {"time": {"noon": "day"}}}, "value_map", {"time": {"noon": "day"}}),
        ({"missing_words": ("NA",)}, "missing_words", ("NA",)),
        ({"model": "a"}, "model", "a"),
    ],
)
def test_the_users_word_replaces_the_proposal(said, field, value):
    prepared = proposed(DRIVING, built_in(), dims=["weather_visibility", "time"], overrides=said)
    assert getattr(prepared.plan, field) == value


def test_a_dimension_takes_its_column_from_a_role():
    prepared = proposed("score,n,w\n1,2,x\n0,3,y\n", dims=["n", "w"])
    assert (prepared.plan.count, prepared.plan.columns) == ("", {"n": "n", "w": "w"})


def test_an_inferred_odd_chooses_columns_of_few_values_and_says_so():
    rows = "".join(f"{i},{'wet' if i % 2 else 'dry'},{'day' if i % 3 else 'night'},{i / 40},{i}\n" for i in range(1, 41))
    prepared = proposed("sample_id,road,time,score,speed\n" + rows)
    assert prepared.odd.names == ("road", "time")
    assert any("Dimensions were chosen by content: road, time" in n for n in prepared.notes)


def test_columns_given_to_names_are_the_dimensions_of_an_inferred_odd():
    prepared = proposed("a,b,score\nx,y,1\nz,w,0\n", columns={"weather": "a"})
    assert (prepared.odd.names, prepared.plan.columns) == (("weather",), {"weather": "a"})


def test_a_table_without_a_column_of_categories_asks_for_dimensions():
    with pytest.raises(InputError, match=r"No column looks like a dimension.*Columns: a, score"):
        proposed("a,score\nx,1\nx,0\n")


def candidates(rows: list[dict[str, str]]) -> list[str]:
    header = list(rows[0])
    text = "\n".join([",".join(header), *(",".join(r[c] for c in header) for r in rows)]) + "\n"
    head = open_table(text.encode(), "t.csv").head()
    return dimension_candidates(head, propose_plan(head, None))


def test_measurements_are_no_dimensions_but_flags_and_bins_are() -> None:
    bins = ["<10", "10-20", ">20"]
    rows = [
        {"sun": str(15 * (i % 8)), "rain": str(i % 2), "bin": bins[i % 3], "share": f"0.{i % 5}", "score": str(i % 2)} for i in range(60)
    ]
    assert candidates(rows) == ["rain", "bin"]


def test_what_is_proposed_can_be_ranked() -> None:
    sizes = {f"d{k}": 10 + k for k in range(8)}
    rows = [{**{d: f"v{i % n}" for d, n in sizes.items()}, "score": "1"} for i in range(120)]
    found = candidates(rows)
    assert found == ["d0", "d1", "d2", "d3", "d4"]  # the fewest values first: 10 × 11 × 12 × 13 × 14 slices
    assert prod(sizes[d] for d in found) <= MOST_SLICES < prod(sizes[d] for d in [*found, "d5"])
