"""Broken sources give a clear error or a rejected case with a reason; nothing else is raised and nothing falls away unsaid."""

from __future__ import annotations

import copy
import json
import math
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import InputError
from core.trajectories.case import Agent, Agents, Layer, RatedTrajectory, Shape, Trajectory
from core.trajectories.document import case_to_json
from core.trajectories.importers import detect, import_source
from core.trajectories.parquet import write_parquet
from tests.cases import camera, case, straight
from tests.source_files import braking, csv_points, noise, sample, scenario_columns, track, vector_map, write_samples, write_scenario

GONE = object()
JUNK = [
    *(None, "x", "", -1, 0, 1e308, -1e308, math.nan, math.inf, 10**400, True, [], {}, [None], [[1, 2, 3]], [[None, None]], {"a": 1}),
    *("é" * 300, "../../etc/passwd", "\ud800", "a\x00b", [[1e308, 1e308]] * 20, [[0, 0]] * 20, [[]] * 7, GONE),
]


def places(value, path=()):
    """Every place in a JSON value, lists by their first two and their last entry."""
    if path:
        yield path
    if isinstance(value, dict):
        for k in value:
            yield from places(value[k], (*path, k))
    elif isinstance(value, list):
        for i in sorted({0, 1, len(value) - 1} & set(range(len(value)))):
            yield from places(value[i], (*path, i))


def broken(value, path, junk):
    made = copy.deepcopy(value)
    inner = made
    for k in path[:-1]:
        inner = inner[k]
    if junk is GONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = junk
    return made


def looked_at(path, format_, **options):
    """Reads a source; every case is valid JSON and every entry has an outcome."""
    try:
        made = import_source(path, format_, **options)
    except InputError as e:
        assert str(e).strip()
        return None
    assert made.report.outcomes
    assert len(made.cases) == made.report.accepted
    assert all(o.notes for o in made.report.outcomes if o.fate == "rejected")
    for found in made.cases:
        json.dumps(case_to_json(found), allow_nan=False).encode()
    json.dumps(made.report.to_json(), allow_nan=False).encode("utf-8")
    assert set(made.images) <= {f.path for c in made.cases for k in c.cameras for f in k.frames}
    return made


def tries(value, seed, each):
    chance = random.Random(seed)
    for path in places(value):
        for junk in chance.sample(JUNK, each):
            yield path, broken(value, path, junk)


def write(path: Path, value) -> bool:
    try:
        path.write_text(json.dumps(value), encoding="utf-8")
    except (UnicodeEncodeError, ValueError):
        return False
    return True


def full_case():
    agent = Agent("1", "vehicle", 9.0, 1.0, 4.0, 2.0, 0.1, (1.0, 0.0), straight(2.0, n=3))
    t = Trajectory.of(straight(n=4).points, [True, True, True, False], [0.0, 0.1, 0.2, 0.3])
    return case_to_json(
        case(
            expert=t,
            planner=straight(n=4),
            history=Trajectory.of([[-2.0, 0.0], [0.0, 0.0]]),
            rated=(RatedTrajectory(straight(n=4), 9.0),),
            cameras=(camera("a.png"),),
            agents=Agents((agent,)),
            map=Layer((Shape("lane", straight(n=3).points, False, {"a": [1]}),)),
            metrics={"PDMS": 1.0},
        )
    )


def test_a_line_of_cases_broken_anywhere(tmp_path):
    for _, value in tries(full_case(), 1, 4):
        if write(tmp_path / "c.jsonl", value):
            looked_at(tmp_path / "c.jsonl", "jsonl")


def test_a_sample_broken_anywhere(tmp_path):
    whole = {"t1": sample()}
    path = write_samples(tmp_path, sample())
    for place, value in tries(whole, 2, 2):
        if place != ("t1",) and write(path, value):
            made = looked_at(path, "nuscenes", planners="constant_velocity,lateral_ramp")
            assert made is None or len(made.report.outcomes) in (1, 2)


def test_a_map_broken_anywhere_costs_no_case(tmp_path):
    write_scenario(tmp_path)
    for _, value in tries(vector_map(), 3, 1):
        if write(tmp_path / "log_map_archive_sc1.json", value):
            made = looked_at(tmp_path, "argoverse2", planners="constant_velocity")
            assert made is not None and len(made.cases) == 1


def test_a_file_of_planners_broken_anywhere(tmp_path):
    (tmp_path / "p.csv").write_text(csv_points(braking("s1", "expert")))
    entry = {"scene_id": "s1", "planner_id": "A", "dt_s": 0.25, "points": straight(n=3).points.tolist(), "yaw": [0.0, 0.1, 0.2]}
    for content in ([entry], {"s1": {"A": entry["points"]}}, {"s1": entry["points"]}):
        for _, value in tries(content, 4, 6):
            if write(tmp_path / "plan.json", value):
                looked_at(tmp_path / "p.csv", "csv", planner_file=tmp_path / "plan.json")
            if isinstance(value, list) and write(tmp_path / "plan.jsonl", value[0] if value else 1):
                looked_at(tmp_path / "p.csv", "csv", planner_file=tmp_path / "plan.jsonl")


CELLS = [
    "",
    "nan",
    "inf",
    "-inf",
    "1e309",
    "x",
    "-5",
    "0",
    "999999999",
    '"',
    "'",
    "s2",
    "1,2",
    "\x00",
    "é",
    "=1+1",
    "0x10",
    "1_0",
    " 1 ",
    "True",
]


def test_a_table_of_points_broken_anywhere(tmp_path):
    chance = random.Random(5)
    rows = [list(map(str, r)) for r in [*braking("s1", "expert", n=4), *track("s1", "A", n=4), *track("s1", "history", n=2, first=-1)]]
    for _ in range(250):
        cells = copy.deepcopy(rows)
        for _ in range(chance.randint(1, 3)):
            cells[chance.randrange(len(cells))][chance.randrange(5)] = chance.choice(CELLS)
        header = chance.choice(
            ["scene_id,planner,t,x,y", "case_id,planner,k,x,y", "scene_id,planner,t,x,speed_mps", "planner,t,x,y,scene_id"]
        )
        (tmp_path / "p.csv").write_text(csv_points(cells, header))
        looked_at(tmp_path / "p.csv", "csv", dt_s=chance.choice([None, "0.25"]))


def test_a_scenario_with_any_column_of_any_kind(tmp_path):
    whole = scenario_columns()
    n = len(whole["track_id"])
    columns = [[v] * n for v in (None, "x", "AV", -1, 0, 200, 1e308, math.nan, True, b"\xff", [1.0], 2**63 - 1)]
    for name in whole:
        for values in columns:
            write_scenario(tmp_path, whole | {name: values}, map_=None)
            looked_at(tmp_path, "argoverse2", planners="constant_velocity,faster")


def test_a_mirror_with_any_column_of_any_kind(tmp_path):
    write_parquet(tmp_path / "m.parquet", [case("a-1"), case("b-1")])
    table = pq.read_table(tmp_path / "m.parquet")
    columns = [pa.array([v] * 2) for v in (None, "x", "[]", '{"ego": 1}', -1, math.nan, True, [1.0], [[1.0]], {"a": 1})]
    for i, name in enumerate(table.column_names):
        for values in columns:
            pq.write_table(table.set_column(i, name, values), tmp_path / "n.parquet")
            looked_at(tmp_path / "n.parquet", "parquet")


@pytest.mark.parametrize("format_", ["jsonl", "parquet", "csv", "nuscenes", "argoverse2"])
def test_noise_cut_files_folders_and_nothing(tmp_path, format_):
    whole = {
        "jsonl": json.dumps(full_case()).encode() + b"\n",
        "csv": csv_points([*braking("s1", "expert"), *track("s1", "A")]).encode(),
        "nuscenes": json.dumps({"t1": sample()}).encode(),
        "argoverse2": write_scenario(tmp_path / "av").read_bytes(),
        "parquet": b"",
    }
    write_parquet(tmp_path / "m.parquet", [case()])
    whole["parquet"] = (tmp_path / "m.parquet").read_bytes()
    data = whole[format_]
    suffix = {"jsonl": ".jsonl", "csv": ".csv", "nuscenes": ".json"}.get(format_, ".parquet")
    path = tmp_path / f"scenario_x{suffix}"
    contents = [b"", b"\x00" * 100, noise(1, 2000), b"\xef\xbb\xbf", *(data[: len(data) * k // 7] for k in range(1, 7))]
    chance = random.Random(6)
    for _ in range(40):
        flipped = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            flipped[chance.randrange(len(flipped))] = chance.randrange(256)
        contents.append(bytes(flipped))
    for content in contents:
        path.write_bytes(content)
        detect(path)
        looked_at(path, format_)
    for other in (tmp_path / "none", tmp_path / "av"):
        if format_ != "argoverse2":
            looked_at(other, format_)
