"""Results are only appended to, and a seed table is a view over them: every version can be made again, every run taken out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from core.digest import sha256_bytes
from core.errors import InputError
from core.odd import infer_odd
from core.seed_table.aggregate import aggregate
from core.seed_table.table import SeedTable
from core.storage import ResultRow, SavedTable, Store, schema
from core.storage.growth import Evidence, grown
from core.storage.schema_evaluation import evaluation_results, seed_table_versions

ODD = infer_odd({"weather": ["clear", "rain"], "time": ["day", "night"]})
NIGHT, DAY = {"weather": "rain", "time": "night"}, {"weather": "clear", "time": "day"}


def base_table(n: tuple[int, ...] = (4, 2), mean: tuple[float, ...] = (0.75, 0.5)) -> SeedTable:
    """Clear days and clear nights."""
    ids = np.arange(len(n), dtype=np.int64)
    variance = np.array([m * (1 - m) * k / (k - 1) if k > 1 else math.nan for k, m in zip(n, mean, strict=True)])
    return SeedTable(ODD, ODD.codec.decode(ids), np.array(n, dtype=np.int64), np.array(mean), variance)


def save(store: Store, name: str = "T", model: str = "m", table: SeedTable | None = None) -> SavedTable:
    found = base_table() if table is None else table
    return store.tables.save(name, found, upload_sha=None, decisions={}, report={}, model=model, synthetic=False)


def result(run_id: str, item: str, score: float | None = 1.0, values: dict[str, str] | None = NIGHT, **more: object) -> ResultRow:
    given_ = {
        "key": sha256_bytes(f"{run_id} {item}".encode()),
        "status": "unscored" if score is None else "scored",
        "scored_by": "shortcut",
        "verdict": "valid",
        "requested": NIGHT,
        "realised": values,
        "detail": {"item": item},
    }
    return ResultRow(run_id=run_id, item_id=item, score=score, **(given_ | more))  # type: ignore[arg-type]


def fill(store: Store, run_id: str, rows: list[ResultRow], model: str = "m") -> None:
    store.results.begin(run_id, model, "", {})
    store.results.append(rows)


def cells(table: SeedTable) -> dict[tuple[str, ...], tuple[int, float]]:
    names = table.odd.codec.names(table.codes)
    return {v: (int(n), float(m)) for v, n, m in zip(names, table.n, table.mean, strict=True)}


# Rows


def test_rows_come_back_as_they_were_and_the_newest_counts(store: Store) -> None:
    first = result("r", "ü\x00", None, None, detail={"a": [1, None]}, who="", why="")
    fill(store, "r", [first, result("r", "b")])
    (row, _) = store.results.rows("r")
    assert replace(row, seq=0, at=None) == first
    store.results.append([replace(first, version=1, score=0.0, status="scored", who="ann")])
    assert [(r.item_id, r.version, r.score) for r in store.results.rows("r")] == [("ü\x00", 1, 0.0), ("b", 0, 1.0)]
    assert [r.version for r in store.results.history("r", "ü\x00")] == [0, 1]
    assert store.results.rows("none") == ()
    with store.db.read() as c:
        assert c.execute(sa.select(sa.func.count()).select_from(evaluation_results)).scalar() == 3


def test_a_row_that_two_processes_write_is_kept_once(store: Store) -> None:
    store.results.begin("r", "m", "", {})
    with store.calls.journal() as journal:
        for score in (1.0, 0.0):
            journal.append(result("r", "a", score).row()).result(10)
        journal.append(result("r", "a", 0.0, version=1).row()).result(10)
    assert [(r.version, r.score) for r in store.results.history("r", "a")] == [(0, 1.0), (1, 0.0)]


def test_a_run_is_of_one_model(store: Store) -> None:
    store.results.begin("r", "m", "j", {"a": 1})
    store.results.begin("r", "m", "j", {"a": 1})
    assert len(store.results.runs()) == 1
    store.results.begin("r", "m", "j2", {"a": 1}, who="ann")
    assert (store.results.run("r").judge, store.results.run("r").who) == ("j2", "ann")
    with pytest.raises(InputError, match="models never mix"):
        store.results.begin("r", "other", "j", {})
    with pytest.raises(InputError, match='No evaluation "x"'):
        store.results.run("x")
    for wrong in ("", "a b", "a" * 65, "../x"):
        with pytest.raises(InputError, match="cannot be called"):
            store.results.begin(wrong, "m", "", {})


# Growth


def test_a_counted_run_makes_the_table_grow_and_the_import_stays(store: Store) -> None:
    t = save(store)
    fill(store, "r", [result("r", "a", 1.0), result("r", "b", 0.0), result("r", "c", 0.0, DAY)])
    grown_ = store.tables.count_run(t.id, "r", who="ann")
    table = store.tables.load(t.id)
    assert cells(table) == {
        ("clear", "day"): (5, pytest.approx(0.6)),
        ("clear", "night"): (2, 0.5),
        ("rain", "night"): (2, 0.5),
    }
    assert (grown_.digest, grown_.rows, grown_.total, grown_.runs) == (table.digest, 3, 9, ("r",))
    assert (grown_.base_digest, t.base_digest) == (t.digest, t.digest)
    assert grown_.digest != t.digest
    assert store.tables.get(t.id) == grown_
    assert store.tables.list() == (grown_,)
    assert store.tables.load(t.id, 0).digest == t.digest
    (version,) = store.tables.versions(t.id)
    assert (version.kind, version.run_id, version.who, version.report) == ("counted", "r", "ann", {"counted": 3, "left_out": {}})
    assert grown_.changed_at >= t.changed_at


def test_a_run_is_taken_out_and_brought_back(store: Store) -> None:
    t = save(store)
    fill(store, "r", [result("r", "a")])
    counted = store.tables.count_run(t.id, "r")
    (undone,) = store.tables.undo_run("r")
    assert (undone.digest, undone.rows, undone.total, undone.runs) == (t.digest, t.rows, t.total, ())
    assert store.tables.load(t.id).digest == t.digest
    again = store.tables.count_run(t.id, "r")
    assert (again.digest, again.runs) == (counted.digest, ("r",))
    assert [v.kind for v in store.tables.versions(t.id)] == ["counted", "undone", "counted"]
    assert len(store.results.rows("r")) == 1
    store.tables.undo_run("r", table_id=t.id)
    with pytest.raises(InputError, match="not counted into any"):
        store.tables.undo_run("r")
    with pytest.raises(InputError, match="not counted into this"):
        store.tables.undo_run("r", table_id=t.id)


def test_counting_twice_counts_once(store: Store) -> None:
    t = save(store)
    fill(store, "r", [result("r", "a")])
    first = store.tables.count_run(t.id, "r")
    assert store.tables.count_run(t.id, "r") == first
    assert len(store.tables.versions(t.id)) == 1


def test_the_same_sample_asked_again_another_way_counts_once_with_its_newest_answer(store: Store) -> None:
    t = save(store)
    fill(store, "r", [result("r", "a", 1.0, sample="s" * 64), result("r", "b", 1.0)])
    store.tables.count_run(t.id, "r")
    fill(store, "s", [result("s", "a", 0.0, sample="s" * 64), result("s", "c", 1.0)])
    after = store.tables.count_run(t.id, "s")
    assert after.total == t.total + 3
    newest, first = store.tables.load(t.id), store.tables.load(t.id, store.tables.versions(t.id)[0].seq)
    assert float((newest.error * newest.n).sum()) == pytest.approx(float((first.error * first.n).sum()) + 1)
    found = store.tables.evidence(t.id, "s", False)
    assert (found.counted, found.left_out["r"]) == ({"r": 1, "s": 2}, {"the same sample is counted already": 1})
    (undone,) = store.tables.undo_run("s")
    assert undone.digest == store.tables.versions(t.id)[0].digest  # the older answer counts again


def test_the_same_call_in_two_runs_is_one_piece_of_evidence(store: Store) -> None:
    t = save(store)
    fill(store, "r", [result("r", "a", key="k" * 64), result("r", "b")])
    fill(store, "s", [result("s", "a", key="k" * 64), result("s", "z")])
    store.tables.count_run(t.id, "r")
    after = store.tables.count_run(t.id, "s")
    assert after.total == t.total + 3
    assert after.runs == ("r", "s")
    assert sum(v.report["left_out"].get("the same call is counted already", 0) for v in store.tables.versions(t.id)) <= 1
    (undone,) = store.tables.undo_run("r")
    assert undone.total == t.total + 2  # the evidence of the other run stays


def test_a_persons_word_goes_before_a_later_machine(store: Store) -> None:
    t = save(store)
    fill(store, "r", [result("r", "a", 0.0, key="k" * 64)])
    store.tables.correct(result("r", "a", 1.0, key="k" * 64, scored_by="person", version=1, who="ann"))
    fill(store, "s", [result("s", "a", 0.0, key="k" * 64)])
    store.tables.count_run(t.id, "r")
    store.tables.count_run(t.id, "s")
    assert cells(store.tables.load(t.id))["rain", "night"] == (1, 1.0)


def test_of_one_call_the_row_that_shows_a_slice_counts(store: Store) -> None:
    # One image was found for two requested slices and shows one of them.
    t = save(store)
    fill(store, "r", [result("r", "a", 1.0, key="k" * 64), result("r", "b", 1.0, key="k" * 64, verdict="invalid", requested=DAY)])
    assert store.tables.count_run(t.id, "r").total == t.total + 1
    assert store.tables.versions(t.id)[0].report == {"counted": 1, "left_out": {"it shows another slice": 1}}
    store.tables.correct(result("r", "b", 0.0, key="k" * 64, verdict="invalid", requested=DAY, version=1, scored_by="person"))
    assert cells(store.tables.load(t.id))["rain", "night"] == (1, 0.0)  # a person's word is on the answer, wherever it was given
    store.tables.correct(result("r", "b", None, key="k" * 64, verdict="invalid", requested=DAY, version=2, scored_by="person"))
    assert store.tables.get(t.id).total == t.total


def test_only_scored_results_of_full_fidelity_count_and_the_rest_is_told(store: Store) -> None:
    t = save(store)
    rows = [
        result("r", "a"),
        result("r", "b", None),
        result("r", "c", None, status="failed"),
        result("r", "d", None, status="blocked"),
        result("r", "e", 1.0, DAY, verdict="invalid"),
        result("r", "f", 1.0, None, verdict="partial"),
        result("r", "g", 1.0, {"weather": "hail", "time": "night"}),
        result("r", "h", 1.0, {"weather": "rain"}),
        result("r", "i", 1.0, {**NIGHT, "road": "dry"}),
    ]
    fill(store, "r", rows)
    told = store.tables.evidence(t.id, "r")
    after = store.tables.count_run(t.id, "r")
    assert after.total == t.total + 1
    left = {
        "unscored": 1,
        "failed": 1,
        "blocked": 1,
        "it shows another slice": 1,
        "something of its slice is not known": 1,
        "the table's ODD has no weather = hail": 1,
        "its slice has no time": 1,
        "the table has no dimension road": 1,
    }
    assert store.tables.versions(t.id)[0].report == {"counted": 1, "left_out": left}
    assert (dict(told.counted), dict(told.left_out["r"])) == ({"r": 1}, left)


def test_partial_ones_count_only_when_asked_for_and_that_is_recorded(store: Store) -> None:
    t = save(store)
    fill(store, "r", [result("r", "a", 1.0, None, verdict="partial"), result("r", "b", 1.0, DAY, verdict="invalid")])
    assert store.tables.count_run(t.id, "r").total == t.total
    with_partial = store.tables.count_run(t.id, "r", partial=True)
    assert with_partial.total == t.total + 1
    assert cells(store.tables.load(t.id))["rain", "night"] == (1, 1.0)  # under the slice that was asked for
    assert [v.partial for v in store.tables.versions(t.id)] == [False, True]
    store.tables.correct(result("r", "a", 0.0, None, verdict="partial", version=1, scored_by="person"))
    assert cells(store.tables.load(t.id))["rain", "night"] == (1, 0.0)
    assert store.tables.versions(t.id)[-1].partial


def test_models_never_mix(store: Store) -> None:
    t, open_ = save(store), save(store, "open", model="")
    fill(store, "r", [result("r", "a")], model="other")
    fill(store, "s", [result("s", "a")], model="m")
    with pytest.raises(InputError, match='name the connection\'s label "m"'):
        store.tables.count_run(t.id, "r")
    assert store.tables.count_run(open_.id, "r").model == "other"
    with pytest.raises(InputError, match="models never mix"):
        store.tables.count_run(open_.id, "s")
    store.tables.undo_run("r")
    assert store.tables.get(open_.id).model == ""
    assert store.tables.count_run(open_.id, "s").model == "m"


def test_what_cannot_be_counted_is_refused(store: Store) -> None:
    t = save(store)
    with pytest.raises(InputError, match="No evaluation"):
        store.tables.count_run(t.id, "none")
    fill(store, "r", [result("r", "a")])
    with pytest.raises(InputError, match="no saved table"):
        store.tables.count_run("00000000", "r")
    store.tables.delete(t.id)
    with pytest.raises(InputError, match="is deleted"):
        store.tables.count_run(t.id, "r")
    with pytest.raises(InputError, match="has no version 77"):
        store.tables.load(t.id, 77)


def test_a_correction_makes_a_further_version_of_every_table_that_holds_the_run(store: Store) -> None:
    a, b, c = (save(store, name) for name in "abc")
    fill(store, "r", [result("r", "x", 1.0)])
    for t in (a, b):
        store.tables.count_run(t.id, "r")
    changed = store.tables.correct(result("r", "x", 0.0, version=1, scored_by="person", who="ann", why="look"))
    assert {t.id for t in changed} == {a.id, b.id}
    for t in (a, b):
        assert cells(store.tables.load(t.id))["rain", "night"] == (1, 0.0)
        assert [(v.kind, v.who) for v in store.tables.versions(t.id)] == [("counted", ""), ("corrected", "ann")]
    assert store.tables.versions(c.id) == ()
    with pytest.raises(InputError, match="corrected meanwhile"):
        store.tables.correct(result("r", "x", 1.0, version=1, scored_by="person"))
    with pytest.raises(InputError, match="corrected meanwhile"):
        store.tables.correct(result("r", "y", 1.0, version=1, scored_by="person"))


def test_every_version_can_be_made_again_whatever_came_later(store: Store) -> None:
    t = save(store)
    fill(store, "r", [result("r", "a", 1.0)])
    store.tables.count_run(t.id, "r")
    store.results.append([result("r", "b", 0.0)])  # the run goes on, but was not counted again
    assert store.tables.load(t.id).total == t.total + 1
    store.tables.count_run(t.id, "r")
    store.tables.correct(result("r", "a", 0.0, version=1, scored_by="person"))
    store.tables.undo_run("r")
    versions = store.tables.versions(t.id)
    assert [v.kind for v in versions] == ["counted", "counted", "corrected", "undone"]
    tables = [store.tables.load(t.id, v.seq) for v in versions]
    assert [x.digest for x in tables] == [v.digest for v in versions]
    assert [cells(x).get(("rain", "night")) for x in tables] == [(1, 1.0), (2, 0.5), (2, 0.0), None]


def test_damage_is_told_and_nothing_is_computed(store: Store) -> None:
    t = save(store)
    fill(store, "r", [result("r", "a")])
    store.tables.count_run(t.id, "r")
    with store.db.write() as c:
        c.execute(evaluation_results.update().values(score=0.5))
    with pytest.raises(InputError, match=r"results of the table .* are damaged"):
        store.tables.load(t.id)
    assert store.tables.load(t.id, 0).digest == t.digest
    with store.db.write() as c:
        c.execute(schema.seed_tables.update().values(digest="0" * 64))
    with pytest.raises(InputError, match="is damaged: it was saved with the digest 000"):
        store.tables.load(t.id)


def test_nothing_is_changed_or_removed_by_growth(store: Store) -> None:
    tables = (schema.seed_tables, evaluation_results, seed_table_versions)

    def everything() -> dict[str, set[str]]:
        with store.db.read() as c:
            return {x.name: {repr(tuple(r)) for r in c.execute(sa.select(x))} for x in tables}

    t = save(store)
    fill(store, "r", [result("r", "a"), result("r", "b")])
    before = everything()
    for deed in (
        lambda: store.tables.count_run(t.id, "r"),
        lambda: store.tables.correct(result("r", "a", 0.0, version=1, scored_by="person")),
        lambda: store.tables.undo_run("r"),
        lambda: store.tables.count_run(t.id, "r", partial=True),
    ):
        deed()
        after = everything()
        assert all(before[k] <= after[k] for k in before)
        before = after
    assert {k: len(v) for k, v in before.items()} == {"seed_tables": 1, "evaluation_results": 3, "seed_table_versions": 4}


# Pooling


SCORES = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1.0, 0.5, 0.25])), max_size=30)


@given(SCORES, SCORES)
def test_pooled_slices_are_those_of_all_samples_at_once(first: list[tuple[int, float]], second: list[tuple[int, float]]) -> None:
    def arrays(rows: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
        return np.array([i for i, _ in rows], dtype=np.int64), np.array([s for _, s in rows], dtype=np.float64)

    base = aggregate(ODD, *arrays(first), None)
    ids, scores = arrays(second)
    found = grown(base, Evidence(ids, scores, {}, {}))
    expected = aggregate(ODD, *arrays(first + second), None)
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.n.tolist() == expected.n.tolist()
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-12)
    np.testing.assert_allclose(found.variance, expected.variance, atol=1e-12)


@given(SCORES.filter(len), st.randoms())
def test_the_order_of_results_makes_no_difference(rows: list[tuple[int, float]], random: object) -> None:
    mixed = list(rows)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    digests = set()
    for part in (rows, mixed):
        ids = np.array([i for i, _ in part], dtype=np.int64)
        digests.add(grown(base_table(), Evidence(ids, np.array([s for _, s in part]), {}, {})).digest)
    assert len(digests) == 1


def test_a_variance_that_is_not_known_stays_so(store: Store) -> None:
    unknown = SeedTable(ODD, ODD.codec.decode(np.array([0, 1])), np.array([5, 1]), np.array([0.6, 1.0]), np.array([np.nan, np.nan]))
    found = grown(unknown, Evidence(np.array([0, 1, 1]), np.array([1.0, 1.0, 0.0]), {}, {}))
    assert math.isnan(found.variance[0])
    assert found.variance[1] == pytest.approx(1 / 3)  # one sample was known in full
    assert (found.n.tolist(), found.mean[1]) == ([6, 3], pytest.approx(2 / 3))


@examples(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=5)
@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=6))
def test_out_and_in_again_gives_the_same_bytes(store: Store, scores: list[float]) -> None:
    name = store.tables.free_name("T")
    t = save(store, name)
    run = f"run-{t.id}"
    fill(store, run, [result(run, f"i{k}", s) for k, s in enumerate(scores)])
    counted = store.tables.count_run(t.id, run)
    assert store.tables.undo_run(run)[0].digest == t.digest
    assert store.tables.count_run(t.id, run).digest == counted.digest
