"""The command `campaign`: plans, saves, shows, changes a status, writes files."""

from __future__ import annotations

import csv
import json
import zipfile

import pytest

from core.settings import Settings
from core.storage import open_store

COMMAND = ["campaign"]
TEXT = "weather,time,score,n\nclear,day,0.9,40\nrain,day,0.5,20\nsnow,day,0.25,12\nclear,night,0.4,8\n"
INFER = ["--odd", "infer", "--dims", "weather,time", "--score", "score", "--similarity", "exact"]


def test_plan_as_json_and_as_files(run, table, tmp_path, workspace):
    data = json.loads(run("plan", table, *INFER, "--slices", 5, "--interval-width", 0.5, "--cost", "time=night:2", "--json"))
    assert [x["rank"] for x in data["items"]] == [1, 2]  # rain night and snow night are all that is missing
    assert {x["samples"] for x in data["items"]} == {12}
    assert {x["cost"] for x in data["items"]} == {24.0}
    summary = data["manifest"]["campaign"]["summary"]
    assert (summary["slices"], summary["samples"], summary["cost"], summary["considered"]) == (2, 24, 48.0, 2)
    assert summary["coverage"][1] == {"t": 2, "possible": 6, "before": 4, "after": 6}
    assert data["manifest"]["seed_table"]["slices"] == 4
    assert not (workspace / "oddyssey.db").exists()  # planning alone makes no workspace

    out = tmp_path / "plan.csv"
    said = run("plan", table, *INFER, "--samples", 30, "--per-slice", 10, "--out", out)
    assert "2 slices, 20 samples (10 each)" in said
    assert "Pairs of values covered: 4 of 6 before, 6 after." in said
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    assert [(r["rank"], r["time"], r["samples"]) for r in rows] == [("1", "night", "10"), ("2", "night", "10")]
    assert float(rows[0]["expected_failures"]) == pytest.approx(10 * float(rows[0]["eps_hat"]))
    assert "status" not in rows[0]
    manifest = json.loads((tmp_path / "plan.manifest.json").read_text(encoding="utf-8"))
    assert manifest["campaign"]["request"]["budget"] == 30

    run("plan", table, *INFER, "--slices", 1, "--out", tmp_path / "plan.json")
    assert len(json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))["items"]) == 1


def test_openscenario_says_what_it_does_not_say(run, table, tmp_path):
    pytest.importorskip("scenariogeneration", reason="scenariogeneration, which writes OpenSCENARIO, is not installed")
    out = tmp_path / "plan.zip"
    said = run("plan", table, *INFER, "--slices", 2, "--out", out)
    assert "OpenSCENARIO does not say all of 2 values; README.txt lists them." in said
    with zipfile.ZipFile(out) as z:
        assert z.namelist() == ["environments/slice_1.xosc", "environments/slice_2.xosc", "manifest.json", "README.txt"]
        assert "- weather = rain (1 of 2 slices), not written: The mapping" in z.read("README.txt").decode()


def test_save_list_status_show(run, table, tmp_path):
    said = run("plan", table, *INFER, "--slices", 1, "--save", "Nights", "--json")
    saved = json.loads(said)["saved"]
    assert (saved["name"], saved["counts"]["planned"]) == ("Nights", 1)
    again = run("plan", table, *INFER, "--slices", 5, "--save", "More")
    assert "1 scheduled by other campaigns" in again
    assert 'Saved as "More"' in again
    store = open_store(Settings.from_environment())
    assert [t.name for t in store.tables.list()] == ["table"]  # kept once, found again
    assert store.uploads.get(store.tables.list()[0].upload_sha) == TEXT.encode()
    store.close()
    assert [x["name"] for x in json.loads(run("list", "--json"))["items"]] == ["More", "Nights"]
    assert "Nights: 1 slices, 93 samples, cost 93; 1 planned" in run("list")
    assert "1 of 1 slices got the status acquired. Nights: 1 acquired." in run("status", "nights", "acquired", "--all", "--note", "truck 7")
    shown = run("show", saved["id"])
    assert "acquired" in shown
    assert "(truck 7)" in shown
    data = json.loads(run("show", "Nights", "--json", "--out", tmp_path / "n.csv"))
    assert (data["items"][0]["status"], data["items"][0]["note"]) == ("acquired", "truck 7")
    (row,) = csv.DictReader((tmp_path / "n.csv").read_text(encoding="utf-8").splitlines())
    assert (row["status"], row["since"], row["note"]) == ("acquired", data["items"][0]["since"], "truck 7")
    assert "0 of 1 slices" in run("status", "Nights", "acquired", "--rank", data["items"][0]["rank"])


def test_again_takes_what_others_have(run, table):
    run("plan", table, *INFER, "--slices", 2, "--save", "A")
    assert "0 slices" in run("plan", table, *INFER, "--slices", 2)
    data = json.loads(run("plan", table, *INFER, "--slices", 2, "--again", "--json"))
    assert data["manifest"]["campaign"]["summary"]["shared"] == 2


def test_quotas_and_the_pool_are_told(run, table):
    said = run("plan", table, *INFER, "--slices", 2, "--quota", "weather=rain:>=2", "--pool", 1)
    assert "note: quota weather=rain:>=2 was not met" in said
    assert "note: only the best 1 of 2 missing slices were considered (--pool)." in said


@pytest.mark.parametrize(
    "args, told",
    [
        ([], "One budget is needed"),
        (["--slices", 1, "--samples", 1], "got slices, samples"),
        (["--slices", 0], "budget"),
        (["--slices", 1, "--cost", "time=nigt:2"], "a value of time: day, night"),
        (["--slices", 1, "--cost", "night:2"], "A cost or a quota cannot be read"),
        (["--slices", 1, "--cost", "night", "--quota", "time=night"], '"quota": got "time=night"'),
        (["--slices", 1, "--interval-width", 2], "interval width"),
        (["--slices", 1, "--min-ild", 0.5], "a campaign is shaped by quotas"),
        (["--slices", 1, "--out", "plan.xlsx"], "csv, json, or zip"),
    ],
)
def test_mistakes_are_told(refused, table, args, told):
    assert told in refused("plan", table, *INFER, *args)


def test_unknown_campaigns_and_slices_are_told(run, refused, table, tmp_path):
    assert "the workspace is empty" in refused("show", "x")
    assert "No campaign in this workspace" in run("list")
    run("plan", table, *INFER, "--slices", 1, "--save", "A")
    assert 'no campaign "x" in this workspace; there are: A' in refused("show", "x")
    assert "no slice of rank 9" in refused("status", "A", "acquired", "--rank", 9)
    assert "Name slices with --rank, or take --all" in refused("status", "A", "acquired")
    assert "allowed: planned, acquired, evaluated, dropped" in refused("status", "A", "done", "--all")
    assert "already a campaign" in refused("plan", table, *INFER, "--slices", 1, "--save", "a", "--again")
    bad = tmp_path / "bad.yaml"
    bad.write_text("name: x")
    assert "breaks a rule" in refused("show", "A", "--out", tmp_path / "a.zip", "--mapping", bad)
