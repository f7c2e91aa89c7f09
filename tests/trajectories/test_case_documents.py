"""A case goes into JSON and Parquet and comes back bit for bit; whatever breaks the format is named, all at once."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.trajectories.case import (
    Agent,
    Agents,
    Camera,
    Coverage,
    Ego,
    Frame,
    Layer,
    RatedTrajectory,
    Shape,
    Trajectory,
)
from core.trajectories.document import case_from_json, case_to_json, read_cases, write_cases
from core.trajectories.parquet import is_mirror, read_parquet, write_parquet
from tests.cases import case, straight


def rich():
    """A case with everything that a case can have."""
    path = Trajectory.of(np.linspace(0.1, 7.3, 40).reshape(20, 2), [True] * 19 + [False], np.linspace(0, 0.3, 20))
    agent = Agent("a7", "vehicle", 12.5, -3.25, 4.4, 1.8, 0.1, (3.0, 0.5), straight(3.0), ("parked",))
    lane = Shape("lane", np.array([[0.0, 1.5], [30.0, 1.5], [30.0, -1.5]]), True, {"lane_type": "bike", "speed": 13.4}, "l1")
    return case(
        "s1-rich",
        expert=path,
        ego=Ego(8.0, -0.5, 0.01, "centre", 4.7, 1.9, 0.8),
        history=Trajectory.of([[-2.0, 0.0], [0.0, 0.0]]),
        rated=(RatedTrajectory(straight(7.0), 9.5), RatedTrajectory(straight(2.0), None)),
        cameras=(
            Camera("front_left", (Frame(-0.25, "images/a.jpg"), Frame(0.0, "images/b.jpg", "0" * 64)), 640, 400),
            Camera("front", (Frame(0.0, "images/c.jpg"),), 640, 400, np.eye(3), np.eye(4), (0.1, 0.2), "fisheye", -0.3),
        ),
        agents=Agents((agent,), Coverage("ground truth", ("front", "rear"), 80.0)),
        map=Layer((lane,), Coverage("map")),
        static_objects=Layer((), Coverage("detector", ("front",))),
        signals=None,
        flags=("open_future",),
        metrics={"PDMS": 0.25},
        source={"role": "example", "gold": {"label": "Y", "threats": ["a"]}, "n": 3, "none": None},
    )


def test_a_case_comes_back_bit_for_bit():
    before = case_to_json(rich())
    after = case_to_json(case_from_json(json.loads(json.dumps(before))))
    assert after == before
    assert before["horizon_s"] == 5.0
    assert before["static_objects"]["items"] == [] and before["signals"] is None


def test_empty_and_unknown_stay_two_things():
    found = case_from_json(case_to_json(rich()))
    assert found.signals is None
    assert found.static_objects is not None and found.static_objects.items == ()


def test_the_parquet_mirror_gives_the_same_cases_back(tmp_path):
    cases = [rich(), case("s2-b"), case("s3-c", expert=straight(n=6, dt=0.5), planner=straight(n=6, dt=0.5), dt_s=0.5)]
    write_parquet(tmp_path / "m.parquet", cases)
    assert [case_to_json(c) for c in read_parquet(tmp_path / "m.parquet")] == [case_to_json(c) for c in cases]
    assert is_mirror(tmp_path / "m.parquet")
    schema = pq.read_schema(tmp_path / "m.parquet")
    assert schema.field("expert").type == pa.list_(pa.list_(pa.float64(), 2))


def test_a_mirror_of_no_cases_is_a_mirror(tmp_path):
    write_parquet(tmp_path / "m.parquet", [])
    assert read_parquet(tmp_path / "m.parquet") == []


def test_another_parquet_file_is_no_mirror(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "x.parquet")
    assert not is_mirror(tmp_path / "x.parquet")
    with pytest.raises(InputError, match="no mirror of cases"):
        read_parquet(tmp_path / "x.parquet")
    (tmp_path / "y.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_parquet(tmp_path / "y.parquet")


def test_a_broken_row_of_a_mirror_is_named(tmp_path):
    write_parquet(tmp_path / "m.parquet", [case("a-1"), case("b-1")])
    table = pq.read_table(tmp_path / "m.parquet")
    broken = table.set_column(table.schema.get_field_index("document"), "document", pa.array(["{", table["document"][1].as_py()]))
    pq.write_table(broken, tmp_path / "n.parquet")
    with pytest.raises(InputError, match=r"Row 1, column \"document\""):
        read_parquet(tmp_path / "n.parquet")


def test_every_problem_of_a_line_is_told_at_once():
    document = case_to_json(case())
    document["case_id"] = ""
    document["dt_s"] = -1
    document["ego"]["speed_mps"] = "fast"
    document["planner"][3] = [1.0, float("nan")]
    document["colour"] = "red"
    with pytest.raises(InputError) as e:
        case_from_json(document)
    assert {p.column for p in e.value.problems} == {"case_id", "dt_s", "ego.speed_mps", "planner.points.3.1", "colour"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": "2.0"}, '"1.0"'),
        ({"planner": [[1.0, 2.0]]}, "both must cover the same time"),
        ({"horizon_s": 4.0}, "20 steps of 0.25 s are 5 s"),
        ({"expert": []}, "has no points"),
        ({"valid": {"expert": [True]}}, "1 values for 20 points"),
        ({"rater_refs": [{"points": [[1.0, 0.0]], "score": 11.0}]}, "between 0 and 10"),
        ({"cameras": [{"name": "front", "frames": []}]}, "at least 1 item"),
        ({"cameras": [{"name": "front", "frames": [{"t_s": 0.0, "path": "../x.jpg"}]}]}, "relative path"),
        ({"cameras": [{"name": "front", "frames": [{"t_s": 0.0, "path": "C:/x.jpg"}]}]}, "relative path"),
        ({"cameras": [{"name": "front", "frames": [{"t_s": 0.0, "path": "a.jpg"}, {"t_s": 0.0, "path": "b.jpg"}]}]}, "follow each other"),
        ({"cameras": [{"name": "front", "frames": [{"t_s": 0.0, "path": "a.jpg"}]}] * 2}, "listed twice"),
        ({"agents": {"items": [{"track_id": "1", "cls": "vehicle", "box": [1.0, 2.0, 3.0]}]}}, "5 are x, y, length, width, yaw"),
        ({"source": {"a": float("inf")}}, "not a finite number"),
        ({"ego": {"speed_mps": 8.0, "origin": "roof"}}, "'rear_axle' or 'centre'"),
        ({"metrics": {"PDMS": None}}, "valid number"),
    ],
)
def test_what_breaks_the_format_is_named(change, said):
    with pytest.raises(InputError, match=r".") as e:
        case_from_json(case_to_json(case()) | change)
    assert said in str(e.value)


def test_a_box_of_seven_numbers_is_seen_from_above():
    box = {"track_id": "1", "cls": "vehicle", "box": [1.0, 2.0, 0.5, 4.0, 1.8, 1.5, 0.3]}
    agents = case_from_json(case_to_json(case()) | {"agents": {"items": [box]}}).agents
    assert agents is not None
    a = agents.items[0]
    assert (a.x, a.y, a.length_m, a.width_m, a.yaw) == (1.0, 2.0, 4.0, 1.8, 0.3)


def test_minus_one_is_a_trajectory_that_nobody_rated():
    found = case_from_json(case_to_json(case()) | {"rater_refs": [{"points": [[1.0, 0.0]], "score": -1}]})
    assert found.rated[0].score is None


def test_a_mask_may_stand_beside_bare_points():
    found = case_from_json(case_to_json(case()) | {"valid": {"planner": [True] * 19 + [False]}})
    assert found.planner.valid.sum() == 19 and found.expert.valid.all()


def test_lines_that_are_no_cases_are_named_and_the_others_read(tmp_path):
    good = json.dumps(case_to_json(case("a-1")))
    other = json.dumps(case_to_json(case("b-1")))
    file = tmp_path / "cases.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + "\n".join([good, "", "{", "[1, 2]", good, other, "\x00"]).encode() + b"\n\xff\xfe\n")
    cases, problems = read_cases(file)
    assert [c.case_id for c in cases] == ["a-1", "b-1"]
    assert sorted({(p.row, p.kind) for p in problems}) == [
        (3, "not_json"),
        (4, "model_type"),
        (5, "duplicate"),
        (7, "not_json"),
        (8, "not_json"),
    ]


def test_json_that_is_nested_without_end_is_a_problem_of_its_line(tmp_path):
    (tmp_path / "c.jsonl").write_text("[" * 100_000 + "\n" + '{"a":' * 5_000 + "1" + "}" * 5_000 + "\n")
    cases, problems = read_cases(tmp_path / "c.jsonl")
    assert cases == [] and len({p.row for p in problems}) == 2


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(InputError, match="cannot be opened"):
        read_cases(tmp_path / "none.jsonl")


def test_written_lines_are_read_again(tmp_path):
    assert write_cases(tmp_path / "c.jsonl", [rich(), case("x-y")]) == 2
    cases, problems = read_cases(tmp_path / "c.jsonl")
    assert [case_to_json(c) for c in cases] == [case_to_json(rich()), case_to_json(case("x-y"))] and problems == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(case_to_json(rich()))), JSON)
def test_any_value_in_any_field_gives_a_case_or_problems(field, value):
    try:
        made = case_from_json(case_to_json(rich()) | {field: value})
    except InputError as e:
        assert e.problems
    else:
        json.dumps(case_to_json(made), allow_nan=False)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=1, max_size=30))
def test_points_keep_every_bit(points):
    made = replace(case(), expert=Trajectory.of(points), planner=Trajectory.of(points))
    back = case_from_json(json.loads(json.dumps(case_to_json(made))))
    assert back.expert.points.tobytes() == made.expert.points.tobytes()
