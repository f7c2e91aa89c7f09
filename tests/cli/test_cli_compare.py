"""The command compare: seed and oracle, halves of one table, made-up oracles; what it prints, writes and refuses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "assets" / "demo"
BENCH2DRIVE = ROOT.parent / "shared" / "data" / "bench2drive" / "uniad_base_routes.csv"
REAL_DIMS = "time,precipitation,fog,road_surface,sky,town,scenario_type"
COMMAND = ["compare"]
SEED = "id,time,fog,score\n" + "".join(f"s{i},day,no,{i % 2}\nt{i},night,thick,0\n" for i in range(12))
ORACLE = "id,time,fog,score\n" + "".join(f"x{i},day,thick,{int(i > 8)}\ny{i},night,no,{int(i > 2)}\nz{i},day,no,1\n" for i in range(12))
INFER = ("--odd", "infer", "--dims", "time,fog", "--score", "score", "--similarity", "exact")


@pytest.fixture
def tables(tmp_path):
    seed, oracle = tmp_path / "seed.csv", tmp_path / "oracle.csv"
    seed.write_text(SEED)
    oracle.write_text(ORACLE)
    return seed, oracle


def test_the_table_says_candidates_regret_and_saturation(tables, run):
    text = run(*tables, *INFER, "--k", "1,5")
    assert (
        "In-ODD: 2 of 2 missing slices are covered by the oracle (U). Its 3 slices: 1 tested in the seed, 0 outside the ODD, 2 left."
        in text
    )
    assert "K = 5: saturated. K reaches U = 2" in text
    assert "Mean oracle risk 0.500; 24 oracle samples, at least 12 per slice; exact similarity." in text
    assert text.count("SliceScorer ") >= 1 and "Marginal lift" in text


def test_json_holds_figures_curves_candidates_and_manifest(tables, run):
    data = json.loads(run(*tables, *INFER, "--k", "1", "--methods", "lift,random", "--bootstrap", "50", "--json"))
    assert [r["method"] for r in data["items"]] == ["slicescorer", "lift", "random"]
    assert data["candidates"]["covered"] == 2
    assert data["shared_samples"] == 0
    assert data["manifest"]["seed"]["table"]["samples"] == 24
    assert data["manifest"]["bootstrap"] == {"resamples": 50, "seed": 0}
    assert {p["method"] for p in data["curves"]} == {"slicescorer", "lift", "random"}
    assert data == json.loads(run(*tables, *INFER, "--k", "1", "--methods", "lift,random", "--bootstrap", "50", "--json"))


def test_files_hold_the_figures(tables, run, tmp_path):
    out = tmp_path / "figures.csv"
    run(*tables, *INFER, "--k", "1", "--methods", "lift", "--out", out)
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [(r["method"], r["k"], r["saturated"]) for r in rows] == [("slicescorer", "1", "False"), ("lift", "1", "False")]
    whole = tmp_path / "figures.json"
    run(*tables, *INFER, "--k", "1", "--methods", "lift", "--out", whole)
    assert json.loads(whole.read_text())["items"][0]["regret"] == float(rows[0]["regret"])


def test_shared_samples_are_refused_unless_allowed(tables, run, refused):
    seed, oracle = tables
    oracle.write_text(ORACLE.replace("x0,", "s0,"))
    assert "share 1 sample ids (such as s0)" in refused(seed, oracle, *INFER)
    assert "1 sample ids are in both tables; you allowed it." in run(seed, oracle, *INFER, "--k", "1", "--allow-shared")


def test_nothing_to_compare_is_an_error_and_not_a_zero(tables, refused):
    seed, oracle = tables
    oracle.write_text(SEED.replace("\ns", "\na").replace("\nt", "\nb"))
    assert "no slice inside the ODD is missing in the seed and covered by the oracle. Of its 2 slices, 2 were tested" in refused(
        seed, oracle, *INFER
    )


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--k", "0"), 'got "0"; allowed: a whole number of at least 1'),
        (("--k", "ten"), 'got "ten"; allowed: a whole number of at least 1'),
        (("--k", ""), "Give at least one budget K."),
        (("--methods", "magic"), "There is no method magic; allowed: slicescorer, sliceline"),
        (("--scope", "up"), '--scope: got "up"; allowed: in, out.'),
        (("--scope", "out"), "no slice outside the ODD is missing"),
        (("--out", "figures.txt"), "the ending must be csv or json"),
        (("--split-by", "id"), "name no second one"),
        (("--synthetic", "iid"), "makes its own tables"),
        (("--splits", "3"), "--splits needs --split-by"),
        (("--extend", "time=dusk"), "--extend goes with --synthetic"),
    ],
)
def test_what_is_impossible_is_said(tables, refused, args, said):
    assert said in refused(*tables, *INFER, *args)


def test_without_an_oracle_it_says_what_can_be_done(tables, refused):
    assert "split one table (--split-by COLUMN), or make one up (--synthetic suite)" in refused(tables[0], *INFER)
    assert "Name the file of the table" in refused("--split-by", "id")


def test_one_table_split_in_halves(tmp_path, run, refused):
    table = tmp_path / "t.csv"
    rows = [f"r{i},{'abcd'[i % 4]},{'xyz'[i % 3]},{'pq'[i // 12 % 2]},{i % 5 / 4}" for i in range(400)]
    table.write_text("route,time,fog,sky,score\n" + "\n".join(rows) + "\n")
    args = (table, "--odd", "infer", "--dims", "time,fog,sky", "--score", "score", "--sample-column", "route", "--similarity", "exact")
    # Every slice is in both halves of a table that repeats its slices: there is nothing to compare, and that is said.
    assert "no slice inside the ODD is missing in the seed" in refused(*args, "--split-by", "route", "--k", "2")
    table.write_text("route,time,fog,sky,score\n" + "\n".join(rows[:20]) + "\n")
    one = json.loads(run(*args, "--split-by", "route", "--k", "2", "--methods", "lift", "--json"))
    assert one["shared_samples"] == 0
    assert one["manifest"]["oracle"]["input"]["split"]["half"] == "second half"
    many = json.loads(run(*args, "--split-by", "route", "--splits", "3", "--k", "2", "--methods", "lift,ridge", "--json"))
    assert (many["runs"], many["synthetic"]) == (3, False)
    assert [x["method"] for x in many["lines"]] == ["slicescorer", "lift", "ridge"]
    assert "no such column" in refused(*args, "--split-by", "rout")


def test_dimensions_chosen_by_content_are_told_and_leave_out_the_key_and_what_one_table_lacks(tmp_path, run):
    table, other = tmp_path / "t.csv", tmp_path / "o.csv"
    rows = [f"{'abcde'[i % 5]},{'day night'.split()[i % 2]},{'pqr'[i % 3]},{i * i % 2}" for i in range(40)]
    table.write_text("clip,time,sky,score\n" + "\n".join(rows[:14]) + "\n")
    args = ("--odd", "infer", "--similarity", "exact", "--methods", "lift", "--k", "1")
    told = "Dimensions were chosen by content: time, sky. Name them"
    assert told in run(table, *args, "--split-by", "clip")
    assert told in run(table, *args, "--split-by", "clip", "--splits", "2")
    table.write_text("time,sky,fog,score\n" + "day,p,no,1\nnight,q,thick,0\n" * 9)
    other.write_text("time,sky,score\n" + "day,q,1\nnight,p,0\n" * 9)
    text = run(table, other, *args)
    assert "Dimensions were chosen by content: time, sky" in text
    assert "o.csv has no column fog, so that was left out." in text


def test_the_demo_tables_are_compared_each_with_its_own_columns(run):
    text = run(DEMO / "seed_table.csv", DEMO / "oracle_table.csv", "--model", "model-b", "--methods", "lift,random", "--bootstrap", "100")
    assert "In-ODD: 3,540 of 3,540 missing slices are covered by the oracle (U)." in text
    assert "score = score, count = n, model = model" in text
    assert "only mean and n of each oracle slice are known" in text


def test_made_up_oracles_are_called_synthetic_and_reproduce(run, tmp_path):
    args = ("--synthetic", "additive,iid", "--seeds", "2", "--similarity", "exact", "--methods", "lift,random,ridge", "--k", "100,500")
    text = run(*args)
    assert text.startswith("Synthetic: 4 runs over made-up oracles (additive, iid), 300 slices observed in each; no model was tested")
    data = json.loads(run(*args, "--json"))
    assert data == json.loads(run(*args, "--json"))
    mean = {(x["method"], x["k"]): x["regret"] for x in data["by_kind"]["additive"]}
    assert mean["ridge", 100] < mean["slicescorer", 100] and mean["ridge", 500] < mean["random", 500]
    assert data["wins_at_all_budgets"]["ridge"]["random"] >= 2
    out = tmp_path / "suite.csv"
    run(*args, "--out", out)
    assert {r["oracle"] for r in csv.DictReader(io.StringIO(out.read_text()))} == {"all", "additive", "iid"}


def test_made_up_oracles_reach_outside_the_odd(run):
    extend = ("--extend", "weather_visibility=dust", "--extend", "time=dusk")
    args = ("--synthetic", "additive", "--seeds", "1", "--similarity", "exact", "--methods", "unseen,lift,random", "--k", "100")
    text = run(*args, *extend)
    # 5 x 3 values instead of 4 x 2 of the two dimensions: 3,840 x 15 / 8 slices, less those inside.
    assert "candidates: 3,360 slices outside the ODD" in text
    assert "SliceScorer, unseen" in text


def test_a_made_up_oracle_needs_a_declared_odd(refused):
    assert "needs a declared ODD" in refused("--synthetic", "iid", "--odd", "infer")
    for option in (("--scope", "out"), ("--oracle-model", "a"), ("--allow-shared",), ("--seed", "3")):
        assert f"has no use for {option[0]}" in refused("--synthetic", "iid", *option)
    assert "no synthetic oracle magic" in refused("--synthetic", "magic")
    assert "At least one run of each kind of oracle is needed; got 0." in refused("--synthetic", "iid", "--seeds", "0")


@pytest.mark.skipif(not BENCH2DRIVE.is_file(), reason=f"{BENCH2DRIVE.name} is not beside the project")
def test_real_routes_split_in_halves(run):
    args = (BENCH2DRIVE, "--odd", "infer", "--dims", REAL_DIMS, "--score", "score", "--split-by", "route_id", "--k", "10,25,50")
    data = json.loads(run(*args, "--similarity", "exact", "--json"))
    assert 80 <= data["candidates"]["covered"] <= 120
    assert data["shared_samples"] == 0
    assert all(not r["saturated"] and r["low"] <= r["high"] for r in data["items"])
    assert "fewer than 5 samples" in data["intervals"]
