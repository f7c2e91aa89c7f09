"""The commands `acquire` and `footage`."""

from __future__ import annotations

import json

import pytest

from core.operators.workspace import DEMO_TABLE

TEXT = "id,path,time,environment\n1,a.jpg,night,highway\n2,b.jpg,noonish,\n"
pytestmark = pytest.mark.usefixtures("workspace")


def test_the_demo_table_and_footage_run_from_ranking_to_files(run, tmp_path):
    out = tmp_path / "out"
    data = json.loads(run("acquire", DEMO_TABLE, "--model", "model-a", "--manifest", "demo", "--top", 4, "--out-dir", out, "--json"))
    assert data["counts"]["slices"] == 4
    assert data["counts"]["valid"] + data["counts"]["partial"] + data["counts"]["invalid"] == len(data["candidates"])
    assert data["manifest"]["datastore"]["synthetic"] is True
    lines = (out / "dataset_retrieval.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(x)["id"] for x in lines] == [c["id"] for c in data["candidates"]]
    assert len((out / "unfilled_slices.jsonl").read_text().splitlines()) == len(data["unfilled"])
    assert json.loads((out / "acquire.manifest.json").read_text())["counts"] == data["counts"]
    again = tmp_path / "again"
    said = run("acquire", DEMO_TABLE, "--model", "model-a", "--manifest", "demo", "--top", 4, "--out-dir", again)
    assert "some of this footage is synthetic" in said
    for name in ("dataset_retrieval.jsonl", "normalized_bundle.jsonl", "unfilled_slices.jsonl"):
        assert (out / name).read_bytes() == (again / name).read_bytes()


def test_a_manifest_is_imported_listed_shown_and_searched(run, table, tmp_path):
    checked = json.loads(run("footage", "import", table, "--check", "--json"))
    assert (checked["saved"], checked["report"]["accepted"]) == (None, 2)
    assert run("footage", "list") == "No footage in this workspace.\n"
    said = run("footage", "import", table, "--name", "drive", "--set", "licence=MIT")
    assert '"noonish" is no value: 1 rows stay missing' in said
    assert 'Kept as "drive"' in said
    assert [x["name"] for x in json.loads(run("footage", "list", "--json"))["items"]] == ["drive"]
    assert "time: night 1, missing 1" in run("footage", "show", "drive")
    (tmp_path / "slices.csv").write_text("time,environment\nnight,highway\n")
    data = json.loads(run("acquire", "--slices", tmp_path / "slices.csv", "--manifest", "drive", "--source", "datastore", "--json"))
    assert [(c["verdict"], c["licence"]) for c in data["candidates"]] == [("valid", "MIT")]
    assert data["counts"]["no_media"] == 1


def test_texts_and_thresholds_are_the_users(run, table, tmp_path):
    said = ["--value", "time:noonish=day", "--map", "environment=-"]
    report = json.loads(run("footage", "import", table, "--check", "--json", *said))["report"]
    told = {d["name"]: d for d in report["dimensions"]}
    assert (told["time"]["tagged"], told["environment"]["missing"]) == (2, 2)
    frames = tmp_path / "frames.json"
    frames.write_text(json.dumps([{"sample_token": "t", "objects": {"vehicle.car": 3}}]))
    for steps, value in (("0,1,12,30", "sparse"), ("0,1,2,3", "dense")):
        out = json.loads(run("footage", "import", frames, "--check", "--json", "--threshold", f"nuscenes_traffic={steps}"))
        assert next(d for d in out["report"]["dimensions"] if d["name"] == "traffic_type")["values"] == {value: 1}


def test_rules_are_shown_with_thresholds_and_reasons(run):
    said = run("footage", "rules", "--threshold", "bdd_traffic=0,2,4,8")
    assert "from 0 = empty, from 2 = sparse, from 4 = moderate, from 8 = dense. Labelled vehicles in the picture" in said
    assert "dawn/dusk = dawn or dusk" in said
    assert "not used: parked cars" in said
    assert set(json.loads(run("footage", "rules", "--json"))["formats"]) == {"bdd100k", "nuscenes_frames", "nuscenes_scenes"}


def test_mistakes_are_told(refused, table, tmp_path):
    assert "Name the table to rank" in refused("acquire", "--manifest", "demo")
    assert "Name the table to rank" in refused("acquire", DEMO_TABLE, "--slices", table)
    assert 'no datastore "nowhere"' in refused("acquire", DEMO_TABLE, "--model", "model-a", "--manifest", "nowhere")
    assert "source" in refused("acquire", DEMO_TABLE, "--model", "model-a", "--source", "space")
    assert "whole numbers" in refused("footage", "import", table, "--threshold", "bdd_traffic=many")
    assert "bdd_tra" in refused("footage", "import", table, "--threshold", "bdd_tra=1")
    assert "tme" in refused("footage", "import", table, "--map", "tme=time")
    (tmp_path / "rules.yaml").write_text("name: x")
    assert "rules for tags break" in refused("footage", "import", table, "--rules", tmp_path / "rules.yaml")
