"""Seed and oracle read alike: one ODD for both, columns of either file, shared samples, halves, saved tables."""

from __future__ import annotations

import numpy as np
import pytest

from core import operators
from core.errors import InputError
from core.odd import built_in, load_yaml, to_yaml
from core.settings import Settings
from core.storage import open_store

SEED = "id,time,fog,score\n" + "".join(f"s{i},day,no,{i % 2}\ns{i}b,night,thick,0.5\n" for i in range(10))
ORACLE = "sample,time,fog,n,mean\na,day,thick,20,0.25\nb,Night,no,30,0.5\nc,day,light,10,1\n"


def opened(text, name="t.csv"):
    return operators.open_table(text.encode(), name)


def side(text, odd=None, dims=("time", "fog"), **overrides):
    prepared = operators.prepare(opened(text), odd, dims=dims, overrides=overrides)
    return operators.side_of(prepared, operators.check(prepared))


@pytest.fixture
def settings(tmp_path):
    return Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path)})


def test_an_inferred_odd_has_the_values_of_both_tables_and_each_file_its_own_columns():
    said = {"score": "score", "count": "n"}
    a, b = operators.prepare_pair(opened(SEED), opened(ORACLE.replace("mean", "score")), None, dims=["time", "fog"], overrides=said)
    assert a.odd.hash == b.odd.hash
    assert {d.name: [v.name for v in d.values] for d in a.odd.dimensions} == {"time": ["day", "night"], "fog": ["light", "no", "thick"]}
    assert (a.plan.count, b.plan.count) == ("", "n")
    one, two = (operators.side_of(x, operators.check(x)) for x in (a, b))
    assert two.table.total == 60
    assert one.table.total == 20


def test_without_dimensions_those_that_both_have_are_taken():
    a, b = operators.prepare_pair(opened(SEED.replace("fog", "mist")), opened(ORACLE), None, overrides={"score": "score"})
    assert a.odd.names == b.odd.names == ("time",)
    with pytest.raises(InputError, match="name the columns that both have"):
        operators.prepare_pair(opened(SEED), opened("x,n,mean\n1,2,0.5\n"), None)


def test_a_column_that_neither_file_has_is_an_error():
    pair = operators.prepare_pair(opened(SEED), opened(ORACLE), None, dims=["time", "fog"], overrides={"score": "points"})
    for prepared in pair:
        with pytest.raises(InputError, match="points"):
            operators.check(prepared)


def test_the_oracle_may_have_another_model():
    seed = "model,time,fog,score\nm1,day,no,1\nm1,night,thick,0\nm2,day,no,1\n"
    oracle = "model,time,fog,score\nm3,day,thick,1\nm4,night,no,0\n"
    a, b = operators.prepare_pair(opened(seed), opened(oracle), None, dims=["time", "fog"], overrides={"model": "m1"}, oracle_model="m3")
    one, two = (operators.side_of(x, operators.check(x)) for x in (a, b))
    assert (one.model, two.model, one.table.total, two.table.total) == ("m1", "m3", 2, 1)


def test_tables_with_odds_of_their_own_are_brought_to_one():
    seed, oracle = side(SEED), side(ORACLE)
    assert seed.table.odd.hash != oracle.table.odd.hash
    a, b = operators.align(seed, oracle)
    assert a.table.odd.hash == b.table.odd.hash
    before = {(r["time"].lower(), r["fog"]): (r["n"], r["mean"]) for r in oracle.table.to_records()}
    after = {(r["time"], r["fog"]): (r["n"], r["mean"]) for r in b.table.to_records()}
    assert before == after
    assert a.table.mean.sum() == pytest.approx(seed.table.mean.sum())
    assert np.array_equal(np.unique(a.rows.ids), a.table.ids)
    assert operators.align(a, b)[0] is a


def test_odds_that_differ_otherwise_are_refused():
    with pytest.raises(InputError, match="the seed has the dimensions time, fog, the oracle time"):
        operators.align(side(SEED), side(ORACLE, dims=("time",)))
    odd = built_in().restricted(["time"])
    other = load_yaml(to_yaml(odd).replace("dusk", "twilight"))
    text = "time,score\nday,1\nnight,0\n"
    with pytest.raises(InputError, match=r"differ in time=twilight.*Import the oracle with the seed's ODD"):
        operators.align(side(text, odd, ()), side(text, other, ()))


def test_shared_samples_are_counted_and_refused_unless_allowed(settings):
    oracle = "id,time,fog,score\n" + "".join(f"s{i},day,thick,1\nx{i},night,no,0\n" for i in range(6))
    with pytest.raises(operators.SharedSamplesError, match=r"share 6 sample ids \(such as s0, s1, s2\)"):
        operators.benchmark(side(SEED), side(oracle), settings, mode="exact", budgets=[1], methods=["random"])
    r = operators.benchmark(side(SEED), side(oracle), settings, mode="exact", budgets=[1], methods=["random"], allow_shared=True)
    assert r.shared == r.manifest["shared_samples"] == 6
    assert "6 sample ids are in both tables; you allowed it." in r.notes
    fresh = operators.benchmark(side(SEED), side(oracle.replace("\ns", "\nz")), settings, mode="exact", budgets=[1], methods=["random"])
    assert fresh.shared == 0
    unknown = operators.benchmark(side(SEED, sample_column="-"), side(oracle), settings, mode="exact", budgets=[1], methods=["random"])
    assert unknown.shared is None
    assert "Shared samples could not be looked for" in unknown.notes[0]


def test_the_oracle_is_resampled_from_its_single_samples_where_it_has_them(settings):
    oracle = "id,time,fog,score\n" + "".join(f"x{i},day,thick,{i / 10}\ny{i},night,no,0.5\n" for i in range(10))
    r = operators.benchmark(side(SEED), side(oracle), settings, mode="exact", budgets=[1], methods=["random"])
    assert r.risk.scores is not None and len(r.risk.scores) == 20
    names = r.task.odd.codec.names(r.task.codes)
    by_slice = dict(zip(names, np.split(r.risk.scores, np.cumsum(r.risk.n)[:-1]), strict=True))
    assert sorted(by_slice["day", "thick"].tolist()) == pytest.approx([i / 10 for i in range(10)])
    assert "over the oracle's samples within each slice" in r.comparison.how
    means = operators.benchmark(side(SEED), side(ORACLE), settings, mode="exact", budgets=[1], methods=["random"])
    assert means.risk.scores is None and "binomial" in means.comparison.how


def test_halves_keep_rows_of_one_key_together_and_do_not_depend_on_the_order_of_the_rows():
    rows = [f"k{i % 40},{t},{f},{i % 3 / 2}" for i in range(400) for t, f in [(("day", "night")[i % 2], ("no", "thick", "light")[i % 3])]]
    head = "route,time,fog,score\n"

    def split(lines, number=0):
        prepared = operators.prepare(opened(head + "\n".join(lines)), None, dims=["time", "fog"], overrides={"score": "score"})
        return operators.split_sides(prepared, operators.check(prepared), "route", number)

    a, b = split(rows)
    assert a.table.total + b.table.total == 400
    assert not {a.rows.key.texts()[c] for c in a.rows.key.codes} & {b.rows.key.texts()[c] for c in b.rows.key.codes}
    assert 100 < a.table.total < 300
    c, d = split(rows[::-1])
    assert (a.table.digest, b.table.digest) == (c.table.digest, d.table.digest)
    assert split(rows, 1)[0].table.digest != a.table.digest
    assert a.source["split"]["column"] == "route"
    with pytest.raises(InputError, match="no such column"):
        prepared = operators.prepare(opened(head + "\n".join(rows)), None, dims=["time", "fog"], overrides={"score": "score"})
        operators.split_sides(prepared, operators.check(prepared), "rout")
    with pytest.raises(InputError, match="All rows fall into one half"):
        split([r.replace(r.split(",")[0], "k") for r in rows])
    with pytest.raises(InputError, match="400 accepted rows are empty"):
        split([r[r.index(",") :] for r in rows])


def test_a_saved_table_has_its_samples_again_or_says_why_not(settings):
    store = open_store(settings)
    prepared = operators.prepare(opened(SEED), None, dims=["time", "fog"], overrides={"score": "score"})
    report = operators.check(prepared)
    sha = store.uploads.put("seed.csv", SEED.encode())
    saved = operators.save_table(store, "one", prepared, report, upload_sha=sha)
    whole = operators.saved_side(store, saved.id)
    assert whole.rows is not None and len(whole.rows.sample_ids()) == 20 and whole.why_no_rows == ""
    bare = operators.saved_side(store, operators.save_table(store, "two", prepared, report).id)
    assert bare.rows is None and "without its file" in bare.why_no_rows
    store.uploads.path(sha).unlink()
    gone = operators.saved_side(store, saved.id)
    assert gone.rows is None and "cannot be read again" in gone.why_no_rows
    assert gone.table.digest == whole.table.digest
    store.close()


def test_a_table_without_a_usable_row_is_refused():
    prepared = operators.prepare(
        opened("time,fog,score\nday,no,7\n"), None, dims=["time", "fog"], overrides={"score": "score", "scale": "unit"}
    )
    with pytest.raises(InputError, match="None of the 1 rows"):
        operators.side_of(prepared, operators.check(prepared))


def test_analysis_2_ranks_slices_outside_the_odd(settings):
    odd = built_in()
    base = {d.name: d.base[0].name for d in odd.dimensions}
    head = ",".join([*odd.names, "n", "score"])
    rows = lambda cells: head + "\n" + "\n".join(",".join([*({**base, **c}.values()), str(n), str(s)]) for c, n, s in cells)  # noqa: E731
    seed = side(rows([({}, 40, 0.9), ({"time": "night"}, 20, 0.4), ({"weather_visibility": "foggy"}, 20, 0.3)]), odd, (), count="n")
    oracle = side(
        rows(
            [
                ({"weather_visibility": "fog_dense"}, 50, 0.2),
                ({"weather_visibility": "dust", "time": "night"}, 50, 0.3),
                ({"time": "dusk"}, 50, 0.8),
                ({"environment": "tunnel"}, 50, 0.7),
                ({"time": "night", "weather_visibility": "foggy"}, 50, 0.1),
            ]
        ),
        odd,
        (),
        count="n",
    )
    r = operators.benchmark(seed, oracle, settings, mode="exact", scope="out", budgets=[1, 2], resamples=20, methods=[
        "lift", "knn", "random", "coverage", "ridge", "ridge-floor", "unseen", "log", "neighbour", "rare-ridge", "shrink"
    ])  # fmt: skip
    assert r.comparison.size == 4
    assert (r.candidates.beyond, r.candidates.tested) == (1, 0)
    assert r.manifest["scope"]["kind"] == "out"
    assert r.task.dims == tuple(range(len(odd.names)))
    assert {x.method for x in r.comparison.rows} >= {"unseen", "slicescorer", "ridge"}
    inside = operators.benchmark(seed, oracle, settings, mode="exact", budgets=[1], resamples=0, methods=["lift"])
    assert inside.comparison.size == 1 and inside.comparison.rows[0].saturated
