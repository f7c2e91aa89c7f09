"""The command line: what it prints and writes, and how it refuses."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from core.odd import to_yaml
from core.odd.infer import infer_odd

ROOT = Path(__file__).resolve().parents[2]
TEXT = "weather,time,score,n\nclear,day,0.9,40\nrain,day,0.5,20\nsnow,day,0.25,12\nclear,night,0.4,8\n"
COLUMNS = ["rank", "slice_id", "weather", "time", "phi", "w_rare", "w_nb", "eps_hat", "exposure", "scope"]
NEAREST = ["nearest_slice", "nearest_similarity", "nearest_error", "nearest_n"]


INFER = ["--odd", "infer", "--dims", "weather,time", "--score", "score"]
EXACT = [*INFER, "--similarity", "exact"]


def test_check_json_has_the_fields_of_its_contract(run, table):
    table.write_text(TEXT + "hail,day,7,5\n")
    data = json.loads(run("check", table, *INFER, "--score-scale", "unit", "--json"))
    assert (data["rows"], data["accepted"], data["observed_slices"], data["missing_slices"]) == (5, 4, 4, 4)
    assert data["rejected"] == [
        {"row": 5, "column": "score", "got": "7", "allowed": "a score, 0 to 1", "suggestion": "", "kind": "out_of_range"}
    ]
    assert isinstance(data["warnings"], list)


def test_check_for_people_and_the_rejected_rows_as_a_file(run, table, tmp_path):
    table.write_text(TEXT + 'hail,day,"7",5\n')
    text = run("check", table, *INFER, "--score-scale", "unit", "--rejected-out", tmp_path / "bad.csv")
    assert "5 rows, 4 accepted, 1 rejected" in text
    assert 'Row 5, column "score": got "7"' in text
    (row,) = csv.DictReader(io.StringIO((tmp_path / "bad.csv").read_text()))
    assert (row["row"], row["weather"], row["score"], row["n"]) == ("5", "hail", "7", "5")
    assert "allowed: a score" in row["reason"]


def test_check_reports_a_table_without_a_good_row_and_rank_refuses_it(run, refused, tmp_path):
    odd = tmp_path / "odd.yaml"
    odd.write_text(to_yaml(infer_odd({"weather": ["clear", "rain"], "time": ["day", "night"]})))
    bad = tmp_path / "bad.csv"
    bad.write_text("weather,time,score\nhail,day,1\n")
    data = json.loads(run("check", bad, "--odd", odd, "--json"))
    assert (data["rows"], data["accepted"], len(data["rejected"]), data["missing_slices"]) == (1, 0, 1, 4)
    for command in ("rank", "triage"):
        err = refused(command, bad, "--odd", odd, "--json")
        assert "None of the 1 rows can be used" in err
        assert 'Row 1, column "weather": got "hail"' in err


def test_rank_json_has_items_search_and_manifest(run, table):
    data = json.loads(run("rank", table, *EXACT, "--json"))
    assert data.keys() == {"items", "search", "manifest"}
    envelope = {"space", "candidates", "observed", "nodes", "complete", "seconds", "method", "implausible", "gap"}
    assert data["search"].keys() == envelope
    assert (data["search"]["space"], data["search"]["candidates"], data["search"]["observed"]) == (6, 2, 4)
    assert data["search"]["complete"] is True
    assert [list(i) for i in data["items"]] == [[*COLUMNS, *NEAREST, "explanation"]] * 2
    assert data["manifest"]["input"]["sha256"] == hashlib.sha256(table.read_bytes()).hexdigest()
    assert data["manifest"]["parameters"]["alpha"] == 1


def test_every_number_can_be_recomputed_from_its_explanation(run, table):
    for item in json.loads(run("rank", table, *EXACT, "--alpha", 0.5, "--kappa", 0.6, "--json"))["items"]:
        e = item["explanation"]
        p = e["parameters"]
        product = math.prod((x["count"] + p["alpha"]) / (x["total"] + p["alpha"] * x["values"]) for x in e["exposures"])
        exposure = product ** p["tau"]
        raw = max((x["similarity"] * x["error"] for x in e["neighbours"]), default=0.0)
        assert item["exposure"] == pytest.approx(exposure, abs=1e-12)
        assert item["w_rare"] == pytest.approx((1 - exposure) ** p["gamma"], abs=1e-12)
        assert item["eps_hat"] == pytest.approx(min(raw, p["kappa"]), abs=1e-12)
        assert item["w_nb"] == pytest.approx(1 + min(raw, p["kappa"]), abs=1e-12)
        assert item["phi"] == pytest.approx(item["w_rare"] * item["w_nb"], abs=1e-12)
        nearest = max(e["neighbours"], key=lambda x: x["similarity"])
        assert (item["nearest_similarity"], item["nearest_n"]) == (nearest["similarity"], nearest["n"])


def test_triage_json_has_items_search_and_manifest(run, table):
    data = json.loads(run("triage", table, *INFER, "--json"))
    assert {"items", "search", "manifest"} <= data.keys()
    assert data["search"].keys() == {"space", "candidates", "observed", "nodes", "complete", "seconds"}
    by_name = {(tuple(i["dimensions"]), tuple(i["values"])): i for i in data["items"]}
    day = by_name[("time",), ("day",)]
    assert (day["n"], day["slices"]) == (72, 3)
    assert day["error"] == pytest.approx((40 * 0.1 + 20 * 0.5 + 12 * 0.75) / 72, abs=1e-12)
    assert day["low"] < day["error"] < day["high"]
    assert ("weather", "time") in {k[0] for k in by_name}
    assert "error" in run("triage", table, *INFER)


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_a_ranking_is_written_with_its_manifest_beside_it(run, table, tmp_path, ending):
    out = tmp_path / f"gaps.{ending}"
    text = run("rank", table, *EXACT, "--out", out)
    assert "Wrote 2 slices" in text
    manifest = json.loads((tmp_path / "gaps.manifest.json").read_text())
    assert manifest["similarity"]["mode"] == "exact"
    if ending == "csv":
        reader = csv.DictReader(io.StringIO(out.read_text()))
        assert reader.fieldnames == [*COLUMNS, *NEAREST]
        found = [int(r["slice_id"]) for r in reader]
    elif ending == "json":
        data = json.loads(out.read_text())
        assert data["manifest"] == manifest
        found = [i["slice_id"] for i in data["items"]]
    else:
        read = pq.read_table(out)
        assert read.column_names == [*COLUMNS, *NEAREST]
        assert json.loads(read.schema.metadata[b"oddyssey"]) == manifest
        found = read["slice_id"].to_pylist()
    assert found == [i["slice_id"] for i in json.loads(run("rank", table, *EXACT, "--json"))["items"]]


def test_three_processes_and_a_shuffled_table_write_the_same_bytes(table, tmp_path):
    lines = TEXT.strip().split("\n")
    table_2 = tmp_path / "shuffled.csv"
    table_2.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    found = set()
    for seed, source in (("0", table), ("1", table), ("2", table_2)):
        out = tmp_path / f"out{seed}.csv"
        env = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run(
            [sys.executable, "-m", "core", "rank", source, *EXACT, "--out", out], cwd=ROOT, env=env, check=True, capture_output=True
        )
        found.add(out.read_bytes())
    assert len(found) == 1


def test_provisional_slices_count_as_the_user_says(run, table):
    def ids(*more):
        return [i["slice_id"] for i in json.loads(run("rank", table, *EXACT, *more, "--json"))["items"]]

    assert len(ids()) == 2
    assert len(ids("--provisional", "missing")) == 3
    assert len(ids("--provisional", "missing", "--min-support", "0.3")) == 5
    text = run("rank", table, *EXACT)
    assert "1 observed slices have fewer than 10 samples (provisional); they count as observed" in text


def test_filters_and_top_choose_candidates_without_changing_scores(run, table):
    def items(*more):
        return json.loads(run("rank", table, *EXACT, *more, "--json"))["items"]

    whole = {i["slice_id"]: i["phi"] for i in items("--top", 0)}
    some = items("--where", "weather=rain,clear")
    assert [i["weather"] for i in some] == ["rain"]
    assert all(whole[i["slice_id"]] == i["phi"] for i in some)
    assert len(items("--top", 1)) == 1
    assert items("--where", "time=day") == []
    assert "everything in it was tested" in run("rank", table, *EXACT, "--where", "time=day")


def test_a_count_column_is_pooled_and_an_assumed_count_is_said(run, table):
    table.write_text(TEXT + "rain,day,1,20\n")
    assert "5 rows name 4 slices" in run("check", table, *INFER)
    text = run("rank", table, *EXACT, "--assume-n", 30)
    assert "n = 30 was assumed" in text
    data = json.loads(run("rank", table, *EXACT, "--assume-n", 30, "--json"))
    assert data["manifest"]["seed_table"]["n_assumed"] is True


def test_values_are_added_mapped_and_excluded(run, tmp_path):
    odd = tmp_path / "odd.yaml"
    odd.write_text(to_yaml(infer_odd({"weather": ["clear", "rain"], "time": ["day", "night"]})))
    table = tmp_path / "t.csv"
    table.write_text("weather,time,score\nhail,day,1\nmist,day,0\n>=3,day,1\nclear,day,1\n")
    said = ["--value", "weather:mist=rain", "--value", "weather:hail=+", "--value", "weather:>=3="]
    data = json.loads(run("check", table, "--odd", odd, *said, "--json"))
    assert (data["accepted"], data["missing_slices"]) == (3, 3)
    assert [(p["row"], p["got"], p["kind"]) for p in data["rejected"]] == [(3, ">=3", "excluded")]
    renamed = json.loads(run("check", table, "--odd", odd, "--value", "weather:hail=+ice", "--json"))
    assert renamed["accepted"] == 2


def test_the_driving_odd_with_some_dimensions(run, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("Weather,tod,score\nsnow,night,0\nHeavy Rain,day,1\nclear,day,1\n")
    options = ["--dims", "weather_visibility,time", "--map", "time=tod", "--map", "weather_visibility=Weather"]
    data = json.loads(run("check", table, *options, "--json"))
    assert (data["accepted"], data["observed_slices"]) == (3, 2)
    assert any("outside the base ODD" in w for w in data["warnings"])
    items = json.loads(run("rank", table, *options, "--similarity", "exact", "--json"))["items"]
    assert list(items[0])[2:4] == ["weather_visibility", "time"]


def test_sources_and_question_types_are_counted(run, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("dataset,qa_type,w,score\nA,MCQ,x,1\nA,MCQ,x,0\nA,MCQ,y,0\nA,VQA,x,1\nB,VQA,z,1\n,VQA,z,1\n")
    data = json.loads(run("check", table, "--odd", "infer", "--dims", "w", "--json"))
    assert data["summary"]["inventory"] == [
        {"source": "(empty)", "qa_type": "VQA", "rows": 1, "slices": 1},
        {"source": "A", "qa_type": "MCQ", "rows": 3, "slices": 2},
        {"source": "A", "qa_type": "VQA", "rows": 1, "slices": 1},
        {"source": "B", "qa_type": "VQA", "rows": 1, "slices": 1},
    ]
    assert "A MCQ: 3 rows, 2 slices" in run("check", table, "--odd", "infer", "--dims", "w")


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (["--odd", "nowhere.yaml"], "nowhere.yaml"),
        (["--odd", "."], "driving, infer, or the path"),
        ([*INFER, "--dims", "weather,fgo"], "fgo"),
        (["--dims", "weather_visibilty"], "weather_visibilty"),
        ([*INFER, "--score", "sorce"], 'Did you mean "score"'),
        ([*INFER, "--count", "nn"], "nn"),
        ([*INFER, "--map", "weather"], "name=value"),
        ([*INFER, "--map", "fog=weather"], "fog"),
        ([*INFER, "--value", "weather"], "dimension:text=value"),
        ([*INFER, "--value", "fog:x=y"], "fog"),
        ([*INFER, "--score-scale", "stars"], "unit, percent, boolean"),
        ([*INFER, "--assume-n", "0"], "at least 1"),
        ([*INFER, "--model-column", "weather"], "names 3 models; choose one"),
        ([*INFER, "--sheet", "x"], "sheet"),
        ([*INFER, "--nonsense"], "nonsense"),
    ],
)
@pytest.mark.parametrize("command", ["check", "rank", "triage"])
def test_what_does_not_exist_is_refused(refused, table, command, args, what):
    assert what in refused(command, table, *args, "--json")


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (["--where", "fog=x"], "fog"),
        (["--where", "weather=fog"], "fog"),
        (["--where", "weather="], "weather"),
        (["--where", "weather"], "name=value"),
        (["--similarity", "cosine"], "cosine"),
        (["--out", "gaps.xls"], "csv, json, parquet"),
        (["--top", "-1"], "top"),
        (["--min-support", "2.5"], "min_support"),
        (["--provisional", "maybe"], "observed or missing"),
        (["--alpha", "0"], "alpha"),
        (["--m", "x"], "valid integer"),
    ],
)
def test_what_rank_cannot_do_is_refused(refused, table, args, what):
    assert what in refused("rank", table, *INFER, *args, "--json")


@pytest.mark.parametrize("content", [b"", b"a,b\n", b"\x89PNG\r\n\x1a\n", b"\x00\x01\x02" * 50])
def test_a_file_that_is_no_table_is_refused(refused, tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    refused("check", path, *INFER)


def test_a_file_that_is_not_there_and_a_place_that_cannot_be_written_are_refused(refused, table, tmp_path):
    assert "none.csv" in refused("check", tmp_path / "none.csv", *INFER)
    assert refused("check", tmp_path, *INFER)
    assert "missing" in refused("check", table, *INFER, "--rejected-out", tmp_path / "missing" / "bad.csv")
    assert "missing" in refused("rank", table, *EXACT, "--out", tmp_path / "missing" / "gaps.csv")


@pytest.mark.parametrize("text", ["dimensions: [", "name: x\n", "dimensions: {a: {values: []}}\n"])
def test_an_odd_file_that_is_no_odd_is_refused(refused, table, tmp_path, text):
    odd = tmp_path / "odd.yaml"
    odd.write_text(text)
    refused("check", table, "--odd", odd, "--json")
