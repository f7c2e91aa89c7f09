"""Verdicts from files and from what people said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.threats import RULES, HumanLabel, Verdict, label_verdicts, load_taxonomy, read_verdicts, verdict_lines

TAX = load_taxonomy()
PLACES = {f"c{k}": (f"s{k}", "A") for k in range(9)}


def lines(*rows: Any) -> str:
    return "\n".join(json.dumps({"runs": [], "threats": [], **r}) for r in rows)


def test_a_line_as_the_schema_has_it() -> None:
    text = lines(
        {"case_id": "c1", "status": "has_threat", "threats": ["off_road_driving", "improper_shoulder_pass_or_bypass"], "runs": ["r1"]}
    )
    (found,) = read_verdicts(text, TAX, PLACES)
    assert found == Verdict("c1", "s1", "A", "has_threat", frozenset(("off_road_driving", "improper_shoulder_pass")), "pipeline")


def test_without_a_case_set_lines_tell_scene_and_planner_or_the_case_is_its_scene() -> None:
    text = lines({"case_id": "x", "status": "no_threat"}, {"case_id": "y", "status": "abstain", "scene_id": "s", "planner_id": "B"})
    assert [(v.scene_id, v.planner_id) for v in read_verdicts(text + "\n\n", TAX)] == [("x", ""), ("s", "B")]


@pytest.mark.parametrize(
    ("review", "status", "threats", "source"),
    [
        (None, "abstain", set(), "pipeline"),
        ({}, "abstain", set(), "pipeline"),
        ({"status": "no_threat"}, "no_threat", set(), "human review"),
        ({"status": "has_threat", "threats": ["unsafe_passing"]}, "has_threat", {"unsafe_passing"}, "human review"),
    ],
)
def test_people_have_the_last_word(review: Any, status: str, threats: set[str], source: str) -> None:
    (found,) = read_verdicts(lines({"case_id": "c1", "status": "abstain", "human_review": review}), TAX, PLACES)
    assert (found.status, found.threats, found.source) == (status, threats, source)


def test_a_review_without_a_threat_clears_those_that_were_named() -> None:
    row = {"case_id": "c1", "status": "has_threat", "threats": ["unsafe_passing"]}
    (cleared,) = read_verdicts(lines({**row, "human_review": {"status": "no_threat"}}), TAX, PLACES)
    (kept,) = read_verdicts(lines({**row, "human_review": {"status": "has_threat"}}), TAX, PLACES)
    assert (cleared.threats, kept.threats) == (frozenset(), {"unsafe_passing"})


def test_every_problem_is_told_with_its_line() -> None:
    text = "\n".join(
        [
            "{",
            lines(
                {"case_id": "c1", "status": "maybe"},
                {"case_id": "c2", "status": "no_threat", "threats": ["off_road_driving"]},
                {"case_id": "c3", "status": "has_threat", "threats": ["flying"]},
                {"case_id": "zz", "status": "no_threat"},
                {"case_id": "c4", "status": "no_threat"},
                {"case_id": "c4", "status": "abstain"},
                {"status": "abstain"},
            ),
            "[1]",
        ]
    )
    with pytest.raises(InputError) as e:
        read_verdicts(text, TAX, PLACES)
    assert [(p.row, p.column, p.kind) for p in e.value.problems] == [
        *((1, "line", "no_json"), (2, "status", "invalid"), (3, "status", "contradiction"), (4, "threats", "unknown_threat")),
        *((5, "case_id", "unknown_case"), (8, "case_id", "invalid"), (9, "line", "invalid"), (None, "case_id", "twice")),
    ]


def test_a_scene_comes_once_for_a_planner() -> None:
    row = {"status": "no_threat", "scene_id": "s"}
    with pytest.raises(InputError, match="one case of a scene for planner 'A'"):
        read_verdicts(lines({**row, "case_id": "x", "planner_id": "A"}, {**row, "case_id": "y", "planner_id": "A"}), TAX)
    assert len(read_verdicts(lines({**row, "case_id": "x", "planner_id": "A"}, {**row, "case_id": "y", "planner_id": "B"}), TAX)) == 2


def test_an_empty_file_is_told() -> None:
    with pytest.raises(InputError, match="No verdicts"):
        read_verdicts("\n", TAX)


def test_written_and_read_again() -> None:
    verdicts = (
        Verdict("c1", "s1", "A", "has_threat", frozenset(("unsafe_passing",)), "pipeline"),
        Verdict("c2", "s2", "A", "abstain", source="labels (majority)"),
        Verdict("a\u2028b", "ü\x85", "B\n", "no_threat", source="consensus"),
    )
    assert read_verdicts(verdict_lines(verdicts), TAX) == verdicts


# From labels of people

Y, N, U = "has_threat", "no_threat", "abstain"


@pytest.mark.parametrize(
    ("said", "majority", "any_", "unanimous"),
    [
        ("Y", Y, Y, Y),
        ("N", N, N, N),
        ("U", U, U, U),
        ("YYN", Y, Y, U),
        ("YNN", N, Y, U),
        ("YN", U, Y, U),
        ("YU", Y, Y, U),
        ("NU", N, N, U),
        ("YNU", U, Y, U),
        ("YYY", Y, Y, Y),
        ("NNN", N, N, N),
        ("UU", U, U, U),
    ],
)
def test_rules(said: str, majority: str, any_: str, unanimous: str) -> None:
    labels = [HumanLabel("c1", f"p{k}", x) for k, x in enumerate(said)]
    found = {rule: label_verdicts(labels, PLACES, rule)[0].status for rule in RULES}
    assert found == {"majority": majority, "any": any_, "unanimous": unanimous}


def test_threats_are_those_of_people_who_said_y() -> None:
    labels = [
        HumanLabel("c1", "a", "Y", frozenset(("unsafe_passing",))),
        HumanLabel("c1", "b", "Y"),
        HumanLabel("c1", "c", "N", frozenset(("off_road_driving",))),
        HumanLabel("c2", "a", "N"),
    ]
    one, two = label_verdicts(labels, PLACES)
    assert (one.threats, one.source, one.scene_id) == ({"unsafe_passing"}, "labels (majority)", "s1")
    assert (two.status, two.threats) == ("no_threat", frozenset())


def test_a_consensus_goes_before_the_rule() -> None:
    labels = [HumanLabel("c1", p, "Y", frozenset(("unsafe_passing",))) for p in "ab"]
    found = {v.case_id: v for v in label_verdicts(labels, PLACES, consensus={"c1": "N", "c2": "Y"})}
    assert (found["c1"].status, found["c1"].threats, found["c1"].source) == ("no_threat", frozenset(), "consensus")
    assert found["c2"].status == "has_threat"


def test_labels_that_cannot_be() -> None:
    with pytest.raises(InputError) as e:
        label_verdicts([HumanLabel("zz", "a", "Y"), HumanLabel("c1", "a", "Y"), HumanLabel("c1", "a", "N")], PLACES)
    assert [p.kind for p in e.value.problems] == ["twice", "unknown_case"]


@given(st.lists(st.sampled_from("YNU"), min_size=1, max_size=7))
def test_turning_every_label_round_turns_the_verdict_round(said: list[Any]) -> None:
    turned = {"Y": "N", "N": "Y", "U": "U"}
    status = {"has_threat": "no_threat", "no_threat": "has_threat", "abstain": "abstain"}
    for rule in ("majority", "unanimous"):
        one, two = (
            label_verdicts([HumanLabel("c1", str(k), f[x]) for k, x in enumerate(said)], PLACES, rule)[0]
            for f in ({x: x for x in "YNU"}, turned)
        )
        assert two.status == status[one.status]
