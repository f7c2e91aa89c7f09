from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.acquisition.importers import open_records
from core.acquisition.tag_rules import read_rules, shipped_rules
from core.errors import InputError
from core.odd import built_in
from core.operators import read_manifest

KEYFRAMES = Path(__file__).resolve().parents[3] / "shared" / "data" / "nuscenes_mini_manifest" / "keyframes.json"


def as_rows(records):
    """The records as mappings of the cells that are not empty."""
    out = [{} for _ in range(records.raw.rows)]
    for name, column in records.raw.columns.items():
        texts = column.texts()
        for row, code in zip(out, column.codes.tolist(), strict=True):
            if code >= 0:
                row[name] = texts[code]
    return out


def jsonl(*records):
    return "".join(json.dumps(r) + "\n" for r in records).encode()


def tags_of(read):
    """Tags and the rules that gave them, by id."""
    table = read.manifest.table.to_pylist()
    return {
        r["id"]: {d: (r[f"tag:{d}"], r[f"by:{d}"]) for d in read.manifest.dims if r[f"tag:{d}"] is not None or r[f"text:{d}"] is not None}
        for r in table
    }


def test_nested_names_are_joined_by_dots_and_lists_stay_readable():
    records = open_records(jsonl({"id": "a", "image": {"path": "x.jpg"}, "options": ["Yes", "No"], "speed": 1.0}, {"id": "b"}), "m.jsonl")
    assert as_rows(records) == [{"id": "a", "image.path": "x.jpg", "options": '["Yes", "No"]', "speed": "1"}, {"id": "b"}]


def test_lists_of_objects_and_mappings_of_counts_become_counts():
    labels = [{"category": "car"}, {"category": "car"}, {"category": "bus"}, {"box": 1}]
    records = open_records(jsonl({"id": "a", "labels": labels, "objects": {"cone": 3, "car": 0}}, {"id": "b", "labels": [], "objects": {}}))
    a, b = as_rows(records)
    assert a == {
        "id": "a",
        "labels.#": "4",
        "labels.car": "2",
        "labels.bus": "1",
        "objects.#": "3",
        "objects.cone": "3",
        "objects.car": "0",
    }
    assert b == {"id": "b", "labels.#": "0", "objects.#": "0"}  # counted, and none found


@pytest.mark.parametrize(
    "data",
    [
        b'[{"id": 1}, {"id": 2}]',
        b'{"frames": [{"id": 1}, {"id": 2}], "config": {}}',
        b'{"id": 1}\n\n{"id": 2}\n',
        gzip.compress(b'{"id": 1}\n{"id": 2}\n'),
        b"\xef\xbb\xbf" + b'{"id": 1}\n{"id": 2}',
        b"id\n1\n2\n",
    ],
    ids=["array", "document", "lines", "gzip", "byte order mark", "csv"],
)
def test_every_layout_gives_the_same_records(data):
    name = "m.csv" if data.startswith(b"id") else "m.json"
    assert as_rows(open_records(data, name)) == [{"id": "1"}, {"id": "2"}]


def test_a_single_pretty_printed_object_is_one_record():
    assert as_rows(open_records(json.dumps({"id": "a", "n": 2}, indent=2).encode(), "one.json")) == [{"id": "a", "n": "2"}]


def test_nested_parquet_is_read_as_json_is(tmp_path):
    path = tmp_path / "m.parquet"
    pq.write_table(pa.table({"id": ["a", "b"], "options": pa.array([["Yes", "No"], None], pa.list_(pa.string()))}), path)
    assert as_rows(open_records(path)) == [{"id": "a", "options": '["Yes", "No"]'}, {"id": "b"}]


def test_lines_that_are_no_objects_are_counted_by_number():
    records = open_records(b'{"id": 1}\n[1, 2]\n{"id": oops}\n{"id": 4}\n', "m.jsonl")
    assert records.raw.numbers.tolist() == [1, 4]
    assert [p.row for p in records.raw.broken] == [2, 3]


def test_a_broken_first_line_does_not_hide_the_others():
    records = open_records(b'{"id": oops}\n{"id": 2}\n', "m.jsonl")
    assert (as_rows(records), [p.row for p in records.raw.broken]) == ([{"id": "2"}], [1])


def test_records_that_share_no_names_are_no_manifest():
    with pytest.raises(InputError, match="different names"):
        open_records(jsonl(*({f"key {i} {k}": 1 for k in range(100)} for i in range(60))), "m.jsonl")


@pytest.mark.parametrize("data", [b"", b"[]", b'{"a": 1', b"[1, 2]", b"\n\n"])
def test_what_holds_no_record_is_refused(data):
    with pytest.raises(InputError):
        open_records(data, "m.json")


def test_shipped_rules_give_values_of_the_built_in_odd_only():
    assert shipped_rules().strange(built_in()) == ()


def test_thresholds_can_be_changed_and_must_fit():
    changed = shipped_rules().with_thresholds({"bdd_traffic": (0, 2, 4, 8)})
    rule = next(r for r in changed.formats["bdd100k"].rules if r.id == "bdd_traffic")
    assert [s.at_least for s in rule.steps] == [0, 2, 4, 8]
    with pytest.raises(InputError) as e:
        shipped_rules().with_thresholds({"bdd_traffic": (0, 2), "bdd_time": (1,), "nuscenes_traffic": (0, 9, 4, 10)})
    assert len(e.value.problems) == 3


@pytest.mark.parametrize(
    "text",
    [
        "name: x\nversion: 1\nformats: {}",
        "name: x\nversion: 1\nformats: {a: {label: l, about: b, needs: [c], rules: [{id: r, kind: guess, dimension: d, why: w}]}}",
        "name: x\nversion: 1\nformats: {a: {label: l, about: b, needs: [c], rules: "
        "[{id: r, kind: count, dimension: d, why: w, columns: [c], steps: [{at_least: 5, value: v}, {at_least: 1, value: w}]}]}}",
        "formats: [",
    ],
)
def test_rules_that_break_the_schema_are_refused(text):
    with pytest.raises(InputError):
        read_rules(text)


def bdd(name, weather="clear", scene="highway", time="daytime", labels=None):
    record = {"name": name, "attributes": {"weather": weather, "scene": scene, "timeofday": time}}
    return record if labels is None else record | {"labels": [{"category": c} for c in labels]}


def test_image_attributes_of_the_bdd_kind_say_what_they_say_and_no_more():
    read = read_manifest(
        jsonl(
            bdd("a.jpg", "rainy", "city street", "dawn/dusk", ["car"] * 12 + ["person"]),
            bdd("b.jpg", "overcast", "residential", "night", []),
            bdd("c.jpg", "undefined", "gas stations", "undefined"),
        ),
        "labels.json",
    )
    tags = tags_of(read)
    assert read.plan.format == "bdd100k"
    assert tags["a.jpg"] == {
        "weather_visibility": ("rainy", "bdd_weather"),
        "time": ("dawn|dusk", "bdd_time"),
        "environment": ("city_downtown|city_suburbs", "bdd_scene"),
        "traffic_type": ("dense", "bdd_traffic"),
        "road_users_present": ("pedestrians", "bdd_users"),
    }
    assert tags["b.jpg"] == {
        "sky_conditions": ("overcast", "bdd_sky"),
        "time": ("night", "bdd_time"),
        "environment": ("city_suburbs", "bdd_scene"),
        "traffic_type": ("empty", "bdd_traffic"),
    }
    assert tags["c.jpg"] == {}  # no labels were counted, so not even the traffic is known


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("Night, big street, bus stop", {"time": "night"}),
        (
            "Rain, many peds at crosswalk",
            {"weather_visibility": "rainy", "road_type": "pedestrian_crosswalk", "road_users_present": "pedestrians"},
        ),
        ("Heavy rain", {"weather_visibility": "rain_heavy"}),
        ("Night, after rain, parked cars", {"time": "night"}),
        ("Construction, wait at intersection", {"environment": "construction", "road_type": "intersection"}),
        ("Overtake a construction vehicle", {}),
        ("Peds, bicycle", {"road_users_present": "pedestrians|cyclists"}),
        ("Brainstorming overnight", {}),
    ],
)
def test_scene_descriptions_tag_only_what_they_name(text, tags):
    read = read_manifest(jsonl({"token": "t", "description": text, "nbr_samples": 40}), "scene.json")
    assert read.plan.format == "nuscenes_scenes"
    assert {d: tag for d, (tag, _) in tags_of(read)["t"].items()} == tags


def test_the_real_keyframes_import_and_what_they_cannot_say_is_missing():
    if not KEYFRAMES.is_file():
        pytest.skip("the keyframes of nuScenes mini are not on this machine")
    read = read_manifest(KEYFRAMES)
    told = {d.name: d for d in read.report.dimensions}
    assert (read.report.rows, read.report.accepted, read.report.rejected) == (404, 404, ())
    for silent in ("weather_visibility", "sky_conditions", "time", "road_condition", "road_type", "question_category"):
        assert (told[silent].tagged, told[silent].several, told[silent].missing) == (0, 0, 404)
    raw = {r["sample_token"]: r["objects"] for r in json.loads(KEYFRAMES.read_text())}
    tags = tags_of(read)
    for token, objects in raw.items():
        vehicles = sum(n for k, n in objects.items() if k.startswith("vehicle.") and k not in ("vehicle.bicycle", "vehicle.motorcycle"))
        works = sum(objects.get(k, 0) for k in ("movable_object.trafficcone", "movable_object.barrier", "vehicle.construction"))
        value = ("empty", "sparse", "moderate", "dense")[int(np.searchsorted([1, 12, 30], vehicles, side="right"))]
        assert tags[token]["traffic_type"] == (value, "nuscenes_traffic")
        assert tags[token].get("environment") == (("construction", "nuscenes_construction") if works >= 5 else None)
