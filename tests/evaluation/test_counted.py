"""From an evaluation to the gaps: results counted in, taken out, corrected, and what that moves."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest

from core import operators
from core.digest import sha256_bytes
from core.errors import InputError
from core.evaluation.rows import sample_of
from core.odd import infer_odd
from core.scoring import ScoringParameters
from core.seed_table import SeedTable
from tests.evaluation.conftest import DAY, NIGHT, judged
from tests.stub_llm import StubServer, png

ODD = infer_odd({"weather": ["clear", "rain"], "time": ["day", "night"]})
MIXED = {"weather": "rain", "time": "day"}


@pytest.fixture
def seed():
    return SeedTable.from_slices(ODD, [DAY, {"weather": "clear", "time": "night"}], [10, 10], [0.9, 0.5])


@pytest.fixture
def evaluate(store):
    """Evaluates items; the model answers B, and the judge says wrong."""

    def run(items, run_id="r1", label="m", **more):
        with StubServer(lambda r: "INCORRECT" if judged(r) else "B") as stub:
            end = replace(stub.endpoint(), label=label)
            return operators.evaluate(store, items, end, end, run_id=run_id, **more)

    return run


def save(store, seed, model="m"):
    return store.tables.save("T", seed, upload_sha=None, decisions={}, report={}, model=model, synthetic=False)


def test_the_whole_way_from_items_to_gaps(store, settings, seed, evaluate, mcq, vqa):
    table = save(store, seed)
    found = evaluate([mcq(f"i{k}") for k in range(3)] + [vqa("v"), mcq("w", verdict="invalid", realised=DAY)])
    told = operators.counting(store, table.id, found.run_id)
    assert (told.counted, dict(told.left_out)) == (4, {"it shows another slice": 1})
    grown = operators.count_results(store, table.id, found, who="ann")
    assert (grown.rows, grown.total) == (3, 24)
    moved = operators.moved(store, grown, found, ScoringParameters(), settings, top=2)
    assert (moved.missing_before, moved.missing_after, moved.samples) == (2, 1, 4)
    (filled,) = moved.filled
    assert (filled.values, filled.rank_before, filled.rank_after) == (NIGHT, 1, None)
    (changed,) = moved.changed
    assert (changed.values, changed.rank_before, changed.rank_after) == (MIXED, 2, 1)
    assert (moved.entered, moved.left, moved.unchanged) == ((), (), 0)
    assert (moved.digest_before, moved.digest_after) == (table.digest, grown.digest)
    operators.undo_results(store, found, who="ann")
    assert store.tables.get(table.id).digest == table.digest
    assert operators.moved(store, grown.id, "r1", ScoringParameters(), settings, top=2) == moved  # still told of the past


def test_what_enters_and_leaves_the_list(store, settings, evaluate, mcq):
    odd = infer_odd({"weather": ["clear", "rain", "fog"], "time": ["day", "night", "dusk"]})
    seed = SeedTable.from_slices(odd, [DAY, {"weather": "fog", "time": "night"}], [50, 10], [0.95, 0.2])
    table = save(store, seed)
    wet = {"weather": "rain", "time": "dusk"}
    found = evaluate([replace(mcq(f"i{k}"), requested=wet, realised=wet, answer="A") for k in range(20)])
    operators.count_results(store, table.id, found)
    for top in (1, 2, 3, 7):
        m = operators.moved(store, table.id, "r1", ScoringParameters(), settings, top=top)
        kept = len(m.changed) + m.unchanged
        filled = sum(s.rank_before is not None for s in m.filled)
        assert kept + len(m.left) + filled == min(top, m.missing_before)
        assert kept + len(m.entered) == min(top, m.missing_after)
        assert all(s.rank_after is None for s in (*m.left, *m.filled))
        assert all(s.rank_before is None for s in m.entered)
        assert all(s.rank_before != s.rank_after for s in m.changed)
        assert [dict(s.values) for s in m.filled] == [wet]
    assert operators.moved(store, table.id, "r1", ScoringParameters(), settings, where={"weather": ["fog"]}).filled == ()


def test_a_run_never_counted_moved_nothing(store, settings, seed, evaluate, mcq):
    table = save(store, seed)
    evaluate([mcq("a")])
    with pytest.raises(InputError, match="never counted"):
        operators.moved(store, table.id, "r1", ScoringParameters(), settings)


def test_another_models_results_make_a_table_of_their_own(store, settings, seed, evaluate, mcq):
    table = save(store, seed)
    found = evaluate([mcq("a"), mcq("b")], label="other")
    with pytest.raises(InputError, match="models never mix"):
        operators.count_results(store, table.id, found)
    made = operators.table_from_results(store, "Other", ODD, [found])
    assert (made.model, made.rows, made.total) == ("other", 1, 2)
    loaded = store.tables.load(made.id)
    assert loaded.to_records() == [{**NIGHT, "n": 2, "mean": 1.0, "variance": 0.0}]
    moved = operators.moved(store, made, found, ScoringParameters(), settings)
    assert (moved.missing_before, moved.missing_after, len(moved.filled), len(moved.entered)) == (None, 3, 1, 3)
    evaluate([mcq("c")], run_id="r2", label="m")
    with pytest.raises(InputError, match="these are of m, other"):
        operators.table_from_results(store, "Both", ODD, [found, "r2"])
    with pytest.raises(InputError, match="none is named"):
        operators.table_from_results(store, "None", ODD, [])
    with pytest.raises(InputError, match="1: it shows another slice"):
        operators.table_from_results(store, "None", ODD, [evaluate([mcq("d", verdict="invalid")], run_id="r3")])
    assert [t.name for t in store.tables.list()] == ["Other", "T"]


def test_a_persons_word_reaches_the_table(store, seed, evaluate, mcq):
    table = save(store, seed)
    evaluate([mcq("a")])
    before = operators.count_results(store, table.id, "r1")
    operators.override(store, "r1", "a", 0.0, who="ann", why="the light was red")
    after = store.tables.get(table.id)
    assert after.digest != before.digest
    assert store.tables.load(table.id).to_records()[-1]["mean"] == 0.0
    operators.override(store, "r1", "a", None, who="ann")
    assert store.tables.get(table.id).total == table.total
    operators.withdraw_override(store, "r1", "a", who="ann")
    assert store.tables.get(table.id).digest == before.digest


def test_files_of_a_run_are_the_same_when_it_is_repeated(store, tmp_path, evaluate, mcq):
    items = [mcq("a"), mcq("b", requested={**NIGHT, "weather": "=1+1"})]
    files = operators.write_evaluation(evaluate(items), tmp_path / "one")
    assert [f.name for f in files] == ["eval_results.jsonl", "by_slice.csv", "by_value.csv", "by_category.csv", "manifest.json"]
    manifest = json.loads(files[-1].read_text())
    assert manifest["files"] == {f.name: sha256_bytes(f.read_bytes()) for f in files[:-1]}
    rows = list(csv.DictReader((tmp_path / "one" / "by_slice.csv").read_text().splitlines()))
    assert {r["requested_weather"] for r in rows} == {"rain", "'=1+1"}
    assert [r["mcq_n"] for r in rows] == ["1", "1"]
    stored = operators.results_of(store, "r1")
    assert operators.results_jsonl(sorted(stored.results, key=lambda r: r.item.id)) == files[0].read_text()


def test_the_same_sample_at_another_address_counts_once(store, seed, evaluate, mcq, tmp_path):
    image = png(8, 8)
    (tmp_path / "a.png").write_bytes(image)
    item = replace(mcq("i"), images=("a.png",), image_sha256=(sha256_bytes(image),), root=str(tmp_path))
    table = save(store, seed)
    runs = [evaluate([item], run_id) for run_id in ("one", "two")]  # each against a server of its own
    assert len({r.results[0].key for r in runs}) == 2
    assert [operators.count_results(store, table.id, r).total for r in runs] == [21, 21]


def test_a_sample_is_what_is_asked_about_and_nothing_else(mcq):
    item = replace(mcq("i"), images=("a.png",), image_sha256=("a" * 64,))
    same = [replace(item, id="j"), replace(item, root="elsewhere"), replace(item, requested=DAY), replace(item, images=("b.png",))]
    other = [replace(item, image_sha256=("b" * 64,)), replace(item, question="?"), replace(item, options=("Go", "Wait"))]
    assert {sample_of(x) for x in same} == {sample_of(item)}
    assert len({sample_of(x) for x in [item, *other]}) == 4
    assert [sample_of(replace(item, image_sha256=x)) for x in ((), ("",))] == ["", ""]
    assert sample_of(replace(item, images=("a.png", "b.png"))) == ""
