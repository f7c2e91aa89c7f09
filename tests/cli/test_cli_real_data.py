"""The commands on result files of others; skipped where those do not lie beside the project."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from core.cli import main

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
BENCH2DRIVE = DATA / "bench2drive" / "uniad_base_routes.csv"
COMPAS = DATA / "compas_divexplorer" / "compas_discretized.csv"
DRIVEBENCH = DATA / "drivebench" / "drivebench_scores_long.csv"


def output(capsys, *args):
    with pytest.raises(SystemExit) as e:
        main([str(a) for a in args])
    out, err = capsys.readouterr()
    assert (e.value.code, err) == (0, "")
    return out


def needs(path):
    return pytest.mark.skipif(not path.is_file(), reason=f"{path.name} is not beside the project")


@needs(BENCH2DRIVE)
def test_missing_slices_of_closed_loop_routes(capsys, tmp_path):
    out = tmp_path / "gaps.csv"
    dims = ["time", "precipitation", "fog", "road_surface", "sky"]
    args = ["--odd", "infer", "--dims", ",".join(dims), "--score", "score", "--top", 50]
    text = output(capsys, "rank", BENCH2DRIVE, *args, "--similarity", "exact", "--out", out)
    assert "218 of 218 rows, 0 rejected" in text
    assert '"none" in 113 rows; it is kept as a value' in text
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert len(rows) == 50
    assert [float(r["phi"]) for r in rows] == sorted((float(r["phi"]) for r in rows), reverse=True)
    with BENCH2DRIVE.open() as f:
        observed = {tuple(r[d] for d in dims) for r in csv.DictReader(f)}
    assert not observed & {tuple(r[d] for d in dims) for r in rows}


@needs(COMPAS)
def test_errors_of_a_classifier_from_truth_and_prediction(capsys):
    args = ["--odd", "infer", "--dims", "age,charge,race,sex,#prior,stay", "--truth", "class", "--predicted", "predicted"]
    data = json.loads(output(capsys, "rank", COMPAS, *args, "--similarity", "exact", "--json"))
    with COMPAS.open() as f:
        rows = list(csv.DictReader(f))
    right = sum(r["class"] == r["predicted"] for r in rows)
    triage = json.loads(output(capsys, "triage", COMPAS, *args, "--json"))
    assert data["manifest"]["input"]["accepted"] == triage["n"] == len(rows) == 6172
    assert triage["error"] == pytest.approx(1 - right / len(rows), abs=1e-12)
    assert data["search"]["space"] == 3 * 2 * 6 * 2 * 3 * 3


@needs(DRIVEBENCH)
def test_a_leaderboard_without_counts_says_that_n_was_assumed(capsys):
    args = ["--odd", "infer", "--dims", "task,condition,question_type", "--model-column", "model", "--score", "score"]
    text = output(capsys, "rank", DRIVEBENCH, *args, "--model", "Qwen2-VL", "--assume-n", 100, "--similarity", "exact")
    assert "n = 100 was assumed" in text
    data = json.loads(output(capsys, "check", DRIVEBENCH, *args, "--model", "Qwen2-VL", "--assume-n", 100, "--json"))
    summary = data["summary"]
    assert (data["rows"], data["accepted"] + summary["rejected"] + summary["other_models"]) == (328, 328)
    with pytest.raises(SystemExit) as e:
        main(["rank", str(DRIVEBENCH), *args])
    assert e.value.code == 2
    assert "models; choose one (--model)" in capsys.readouterr().err
