"""The demo: reproducible to the byte, honest about what it is, and of a shape that teaches something."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from core import operators
from core.odd import built_in
from core.operators.workspace import DEMO_MODELS, DEMO_TABLE
from core.scoring import ScoringParameters
from core.seed_table import CheckReport, SeedTable
from core.settings import Settings
from core.storage import open_store

DEMO = DEMO_TABLE.parent


def rows(name: str) -> list[dict[str, str]]:
    with (DEMO / name).open(newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def checked(name: str, model: str) -> CheckReport:
    file = operators.open_table((DEMO / name).read_bytes(), name)
    return operators.check(operators.prepare(file, built_in(), overrides={"model_column": "model", "model": model}))


@pytest.fixture(scope="module")
def seeds() -> dict[str, SeedTable]:
    return {m: checked("seed_table.csv", m).seed for m in DEMO_MODELS}


def test_the_script_makes_the_same_bytes_from_anywhere(tmp_path: Path) -> None:
    command = [sys.executable, str(DEMO / "make_demo.py"), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONHASHSEED": "7"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in ("seed_table.csv", "oracle_table.csv"):
        assert (tmp_path / name).read_bytes() == (DEMO / name).read_bytes()


def test_every_name_says_that_it_is_made_up_and_both_models_answered_every_sample() -> None:
    table = rows("seed_table.csv")
    assert all(r["dataset"].startswith("synthetic-") and r["sample_id"].startswith("syn-") for r in table)
    answered = Counter(r["sample_id"] for r in table)
    assert set(answered.values()) == {len(DEMO_MODELS)}
    assert {r["model"] for r in table} == set(DEMO_MODELS)


@pytest.mark.parametrize("model", DEMO_MODELS)
def test_no_row_is_rejected_and_about_300_slices_are_observed(model: str) -> None:
    report = checked("seed_table.csv", model)
    assert (report.rejected.size, report.observed, report.odd.base_space.size) == (0, 300, 3840)
    thin = int((report.seed.n < 10).sum())
    assert 10 <= thin <= 40


def test_models_differ_and_neither_is_all_right_or_all_wrong(seeds: dict[str, SeedTable]) -> None:
    a, b = (seeds[m] for m in DEMO_MODELS)
    assert a.codes.tolist() == b.codes.tolist()
    assert float(np.abs(a.error - b.error).max()) > 0.3
    for seed in (a, b):
        assert 0.1 < float((seed.error * seed.n).sum() / seed.total) < 0.4
        assert len(np.unique(seed.error.round(3))) > 50


@pytest.mark.parametrize("model", DEMO_MODELS)
def test_conditions_that_are_harder_by_design_fail_more(model: str, seeds: dict[str, SeedTable]) -> None:
    summary = operators.triage(seeds[model])
    error = {f.values[0]: f.error for f in summary.by_value if f.dimensions[0] != "sky_conditions"}
    assert error["night"] > error["day"]
    assert error["foggy"] > error["clear"]
    assert error["construction"] > error["city_suburbs"]
    assert error["wet"] > error["dry"]


def test_the_oracle_covers_the_whole_odd_and_agrees_with_the_seed_on_the_whole(seeds: dict[str, SeedTable]) -> None:
    table = rows("oracle_table.csv")
    assert Counter(r["model"] for r in table) == dict.fromkeys(DEMO_MODELS, 3840)
    assert all(0 <= float(r["score"]) <= 1 and int(r["n"]) >= 60 for r in table)
    odd = built_in()
    truth: dict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
    names = [odd.names[k] for k in odd.active]
    for r in table:
        truth[r["model"]][tuple(r[d] for d in names)] = 1 - float(r["score"])
    for model, seed in seeds.items():
        said = [truth[model][tuple(x[k] for k in odd.active)] for x in odd.codec.names(seed.codes)]
        assert np.corrcoef(said, seed.error)[0, 1] > 0.6


@pytest.mark.parametrize("model", DEMO_MODELS)
def test_gaps_ranked_first_fail_more_than_gaps_at_large(model: str, seeds: dict[str, SeedTable]) -> None:
    # The oracle knows what the ranking cannot: the error of the slices that were never tested.
    ranking = operators.rank(seeds[model], ScoringParameters(), Settings.from_environment(), top=100).ranking
    oracle = checked("oracle_table.csv", model).seed
    first = np.isin(oracle.ids, ranking.ids)
    missing = ~np.isin(oracle.ids, seeds[model].ids)
    assert int(first.sum()) == 100
    assert float(oracle.error[first].mean()) > 1.5 * float(oracle.error[missing].mean())


def test_loading_twice_gives_the_same_tables_once() -> None:
    store = open_store(Settings.from_environment())
    first, second = operators.load_demo(store), operators.load_demo(store)
    assert [t.id for t in first] == [t.id for t in second]
    assert [t.model for t in first] == list(DEMO_MODELS)
    assert all(t.synthetic for t in store.tables.list())
    assert len(store.tables.list()) == len(DEMO_MODELS)


def test_a_deleted_demo_table_comes_back_on_the_next_load() -> None:
    store = open_store(Settings.from_environment())
    gone = operators.load_demo(store)[0]
    store.tables.delete(gone.id)
    assert operators.load_demo(store)[0].digest == gone.digest


@pytest.mark.parametrize("model", DEMO_MODELS)
def test_the_inventory_by_source_and_question_type_counts_every_row(model: str) -> None:
    # SliceNav, Table 5, for our own data: counted here from the text of the file.
    dims = [built_in().names[k] for k in built_in().active]
    samples: Counter[tuple[str, str]] = Counter()
    slices: dict[tuple[str, str], set[tuple[str, ...]]] = defaultdict(set)
    for r in rows("seed_table.csv"):
        if r["model"] == model:
            samples[r["dataset"], r["qa_type"]] += 1
            slices[r["dataset"], r["qa_type"]].add(tuple(r[d] for d in dims))
    got = {(x.source, x.qa_type): (x.rows, x.slices) for x in checked("seed_table.csv", model).inventory}
    assert got == {k: (samples[k], len(slices[k])) for k in samples}
    assert len(got) == 3
