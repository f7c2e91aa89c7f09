"""What the store keeps comes back as it was, and nothing is ever lost; on both back ends."""

from __future__ import annotations

import struct
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from core.digest import sha256_bytes
from core.errors import ConflictError, InputError
from core.odd import Odd, built_in, infer_odd, to_document
from core.seed_table.table import SeedTable
from core.storage import SavedTable, Store, schema
from core.storage.slices import pack, unpack

WEATHER = infer_odd({"weather": ["clear", "rain"], "time": ["day", "night"]})


def seed_table(odd: Odd = WEATHER, ids: list[int] | None = None, mean: float = 0.5) -> SeedTable:
    found = np.array([0, 2] if ids is None else ids, dtype=np.int64)
    size = len(found)
    return SeedTable(odd, odd.codec.decode(found), np.arange(1, size + 1), np.full(size, mean), np.full(size, np.nan))


def save(store: Store, name: str, table: SeedTable | None = None) -> SavedTable:
    table = seed_table() if table is None else table
    return store.tables.save(name, table, upload_sha=None, decisions={"a": [1]}, report={"rows": 2}, model="m", synthetic=False)


def bits(x: np.ndarray) -> list[bytes]:
    return [struct.pack("<d", v) for v in x]


def everything(store: Store) -> dict[str, set[str]]:
    """Every row of every table, as text."""
    with store.db.read() as c:
        return {t.name: {repr(tuple(r)) for r in c.execute(sa.text(f"SELECT * FROM {t.name}"))} for t in schema.metadata.sorted_tables}


# ODDs


def test_odd_comes_back_with_order_source_and_hash(store: Store) -> None:
    for odd in (built_in(), WEATHER, infer_odd({"time": ["day", "night"], "weather": ["clear", "rain"]})):
        assert store.odds.put(odd) == store.odds.put(odd) == odd.hash
        got = store.odds.get(odd.hash)
        assert (got.hash, got.names, got.source) == (odd.hash, odd.names, odd.source)
        assert to_document(got) == to_document(odd)
    assert [o.name for o in store.odds.all()] == ["driving", "inferred", "inferred"]  # two orders of dimensions are two ODDs


def test_odd_values_may_be_any_text(store: Store) -> None:
    odd = infer_odd({"NA": ["NA", "None", "\x00", "ß", "雨", "a'b\"c", "null"]})
    store.odds.put(odd)
    assert store.odds.get(odd.hash).codec.values == odd.codec.values


def test_odd_that_would_read_back_differently_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="would read back as another one"):
        store.odds.put(infer_odd({"weather": [" rain", "clear"]}))
    assert store.odds.all() == ()


def test_unknown_and_damaged_odds_are_told(store: Store) -> None:
    for key in ("0" * 64, "", "\x00", "\ud800", "x" * 500):
        with pytest.raises(InputError, match="No ODD with the hash"):
            store.odds.get(key)
    store.odds.put(WEATHER)
    with store.db.write() as c:
        c.execute(schema.odds.update().values(document=to_document(replace(WEATHER, version=2))))
    with pytest.raises(InputError, match="is damaged"):
        store.odds.get(WEATHER.hash)


# Uploads


@pytest.mark.parametrize("data", [b"", b"\x00\xff", b"a,b\n1,2\n" * 1000])
def test_upload_comes_back_byte_for_byte(store: Store, data: bytes) -> None:
    sha = store.uploads.put("t\x00able.csv", data)
    assert sha == sha256_bytes(data)
    assert store.uploads.get(sha) == store.uploads.path(sha).read_bytes() == data
    (row,) = store.uploads.names(sha)
    assert (row.name, row.size) == ("t\x00able.csv", len(data))
    assert row.uploaded_at.tzinfo is UTC
    assert abs(datetime.now(UTC) - row.uploaded_at) < timedelta(minutes=5)


def test_same_content_is_stored_once_under_each_of_its_names(store: Store) -> None:
    shas = {store.uploads.put(name, b"x") for name in ("a.csv", "b.csv", "a.csv")}
    assert len(shas) == 1
    assert [u.name for u in store.uploads.names(shas.pop())] == [u.name for u in store.uploads.all()] == ["a.csv", "b.csv"]
    assert len(list(store.uploads.folder.iterdir())) == 1


def test_damaged_upload_is_told_and_mended_by_uploading_again(store: Store) -> None:
    sha = store.uploads.put("a.csv", b"right")
    store.uploads.path(sha).write_bytes(b"wrong")
    with pytest.raises(InputError, match="damaged"):
        store.uploads.get(sha)
    store.uploads.put("a.csv", b"right")
    assert store.uploads.get(sha) == b"right"
    assert [p.read_bytes() for p in store.uploads.folder.glob("*.damaged-*")] == [b"wrong"]


@pytest.mark.parametrize("sha", ["", "../oddyssey.db", "0" * 64, "\x00"])
def test_unknown_upload_is_told(store: Store, sha: str) -> None:
    with pytest.raises(InputError):
        store.uploads.path(sha)
    assert store.uploads.names(sha) == ()


# Drafts


def test_draft_keeps_every_version(store: Store) -> None:
    sha, draft = store.uploads.put("a.csv", b"x"), store.drafts.new_id()
    assert store.drafts.latest(draft) is None
    assert store.drafts.save(draft, sha, {"map": {"w": "weather"}}, 0) == 1
    assert store.drafts.save(draft, sha, {"map": {}}, 1) == 2
    assert [(d.version, d.decisions) for d in store.drafts.history(draft)] == [(1, {"map": {"w": "weather"}}), (2, {"map": {}})]
    latest = store.drafts.latest(draft)
    assert latest is not None
    assert (latest.version, latest.upload_sha, latest.saved_at.tzinfo) == (2, sha, UTC)


def test_second_tab_gets_a_conflict_and_overwrites_nothing(store: Store) -> None:
    sha, draft = store.uploads.put("a.csv", b"x"), store.drafts.new_id()
    store.drafts.save(draft, sha, {"tab": 1}, 0)
    for seen in (0, 2, -1):
        with pytest.raises(ConflictError, match="changed in another tab"):
            store.drafts.save(draft, sha, {"tab": 2}, seen)
    assert [d.decisions for d in store.drafts.history(draft)] == [{"tab": 1}]


def test_closed_draft_is_out_of_the_list_and_can_be_reopened(store: Store) -> None:
    sha, a, b = store.uploads.put("a.csv", b"x"), store.drafts.new_id(), store.drafts.new_id()
    store.drafts.save(a, sha, {"n": 1}, 0)
    store.drafts.save(b, sha, {"n": 2}, 0)
    assert [d.id for d in store.drafts.open()] == [b, a]
    store.drafts.close(b)
    store.drafts.close(b)
    assert [d.id for d in store.drafts.open()] == [a]
    with pytest.raises(ConflictError, match="finished or closed"):
        store.drafts.save(b, sha, {}, 1)
    store.drafts.reopen(b)
    assert [(d.version, d.closed) for d in store.drafts.history(b)] == [(1, False), (2, True), (3, False)]
    assert all(d.decisions == {"n": 2} for d in store.drafts.history(b))
    assert store.drafts.save(b, sha, {}, 3) == 4


def test_draft_of_unknown_file_or_id_is_told(store: Store) -> None:
    with pytest.raises(InputError, match="never uploaded"):
        store.drafts.save("abc", "0" * 64, {}, 0)
    with pytest.raises(InputError, match="no unfinished import"):
        store.drafts.close("abc")
    with pytest.raises(InputError, match="cannot be the id"):
        store.drafts.save("a/b\x00", store.uploads.put("a", b""), {}, 0)
    assert store.drafts.latest("\x00") is None
    assert store.drafts.history("\ud800") == store.drafts.open() == ()


# Seed tables


@pytest.mark.parametrize("ids", [[], [3], [0, 1, 2, 3]])
def test_table_comes_back_equal(store: Store, ids: list[int]) -> None:
    table = seed_table(ids=ids)
    sha = store.uploads.put("a.csv", b"x")
    saved = store.tables.save("First", table, upload_sha=sha, decisions={"d": 1}, report={"r": [None]}, model="VLM \x00", synthetic=True)
    got = store.tables.load(saved.id)
    assert got.digest == table.digest == saved.digest
    assert got.odd.hash == saved.odd_hash == WEATHER.hash
    assert (saved.rows, saved.total, saved.synthetic, saved.model, saved.upload_sha) == (len(ids), table.total, True, "VLM \x00", sha)
    assert (saved.name, saved.deleted, saved.created_at) == ("First", False, saved.changed_at)
    assert store.tables.get(saved.id) == store.tables.list()[0] == saved
    assert store.tables.provenance(saved.id).decisions == {"d": 1}
    assert store.tables.provenance(saved.id).report == {"r": [None]}


words = st.text(min_size=1, max_size=5).filter(lambda s: s == s.strip())
odds = st.dictionaries(words, st.lists(words, min_size=1, max_size=4, unique_by=str.casefold), min_size=1, max_size=3).map(infer_odd)


@st.composite
def seed_tables(draw: st.DrawFn) -> SeedTable:
    odd = draw(odds)
    ids = sorted(draw(st.sets(st.integers(0, odd.codec.size - 1), max_size=8)))
    row = st.tuples(
        st.integers(1, 2**50),
        st.floats(0, 1),
        st.one_of(st.just(float("nan")), st.floats(0, 1e300)),
    )
    rows = [draw(row) for _ in ids]
    return SeedTable(
        odd,
        odd.codec.decode(np.array(ids, dtype=np.int64)),
        np.array([r[0] for r in rows], dtype=np.int64),
        np.array([r[1] for r in rows], dtype=np.float64),
        np.array([r[2] for r in rows], dtype=np.float64),
        draw(st.booleans()),
    )


@given(seed_tables())
@examples(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_table_comes_back_bit_for_bit(store: Store, table: SeedTable) -> None:
    got = store.tables.load(save(store, store.tables.free_name("t"), table).id)
    assert got.digest == table.digest
    assert got.codes.tolist() == table.codes.tolist()
    assert got.codes.dtype == np.int32
    assert got.n.tolist() == table.n.tolist()
    assert bits(got.mean) == bits(table.mean)
    assert np.isnan(got.variance).tolist() == np.isnan(table.variance).tolist()
    assert bits(got.variance[~np.isnan(got.variance)]) == bits(table.variance[~np.isnan(table.variance)])
    assert got.n_assumed is table.n_assumed


def test_ids_up_to_the_last_one_and_equal_bytes_for_equal_tables() -> None:
    odd = infer_odd({f"d{k:02}": [str(v) for v in range(8)] for k in range(21)})  # 8^21 = 2^63
    table = seed_table(odd, [0, 2**53 + 1, 2**63 - 1])
    assert pack(table) == pack(seed_table(odd, [0, 2**53 + 1, 2**63 - 1]))
    assert unpack(pack(table), odd, False).ids.tolist() == [0, 2**53 + 1, 2**63 - 1]


@pytest.mark.parametrize("column", ["_time", "weather_", "_", "__"])
def test_columns_that_begin_or_end_with_an_underscore_can_be_saved(store: Store, column: str) -> None:
    table = seed_table(infer_odd({column: ["a", "b"]}), [0, 1])
    assert store.tables.load(save(store, "t", table).id).digest == table.digest


def test_the_source_of_the_odd_is_that_of_the_table(store: Store) -> None:
    store.odds.put(replace(WEATHER, source="own"))
    saved = save(store, "t")
    assert store.tables.load(saved.id).odd.source == "inferred"
    assert store.odds.get(WEATHER.hash).source == "own"


@pytest.mark.parametrize(
    "column, value",
    [
        ("data", pack(seed_table(mean=0.25))),
        ("data", pack(seed_table(ids=[0]))),
        ("data", pack(seed_table())[:-4]),
        ("data", b""),
        ("data", b"not zlib"),
        ("data", pack(seed_table(infer_odd({"x": [str(i) for i in range(9)]}), [8]))),
        ("n_assumed", True),
        ("digest", "0" * 64),
    ],
)
def test_tampered_table_is_refused_by_name(store: Store, column: str, value: object) -> None:
    saved, other = save(store, "Monday"), save(store, "other")
    with store.db.write() as c:
        c.execute(schema.seed_tables.update().where(schema.seed_tables.c.id == saved.id).values({column: value}))
    with pytest.raises(InputError, match=r'saved table "Monday" .* is damaged') as e:
        store.tables.load(saved.id)
    assert saved.id in str(e.value)
    assert store.tables.load(other.id).digest == other.digest


def test_names_are_unique_among_the_living(store: Store) -> None:
    first = save(store, "  Run   A ")
    assert first.name == "Run A"
    save(store, "run a (2)")
    for taken in ("Run A", "RUN A"):
        with pytest.raises(InputError, match=r"already a table called .* such as \"(Run A|RUN A) \(3\)\""):
            save(store, taken)
    assert store.tables.free_name("Run A") == "Run A (3)"
    assert store.tables.free_name("Run B") == "Run B"
    assert len(store.tables.list()) == 2
    with pytest.raises(InputError, match="already a table"):
        store.tables.rename(first.id, "Run A (2)")
    assert store.tables.rename(first.id, "run A").name == "run A"  # its own name in other letters
    long = save(store, "x" * 120)
    assert store.tables.free_name(long.name) == "x" * 116 + " (2)"


@pytest.mark.parametrize("name", ["", " \n ", "x" * 121])
def test_unusable_names_are_told(store: Store, name: str) -> None:
    with pytest.raises(InputError, match=r"needs a name|at most 120"):
        save(store, name)
    assert store.tables.list(include_deleted=True) == ()
    assert store.odds.all() == ()


def test_delete_is_undone_by_restore_and_everything_is_an_event(store: Store) -> None:
    t = save(store, "A")
    store.tables.rename(t.id, "B", who="kim")
    store.tables.rename(t.id, "B")
    assert store.tables.delete(t.id, who="kim").deleted
    assert store.tables.delete(t.id).deleted
    assert store.tables.list() == ()
    assert [x.name for x in store.tables.list(include_deleted=True)] == ["B"]
    assert store.tables.load(t.id).digest == t.digest  # a bin loses nothing
    with pytest.raises(InputError, match="restore it before"):
        store.tables.rename(t.id, "C")
    back = store.tables.restore(t.id)
    assert (back.deleted, back.name) == (False, "B")
    assert store.tables.restore(t.id) == back
    events = store.tables.events(t.id)
    expected = [("created", "A", ""), ("renamed", "B", "kim"), ("deleted", "B", "kim"), ("restored", "B", "")]
    assert [(e.kind, e.name, e.who) for e in events] == expected
    assert [e.at for e in events] == sorted(e.at for e in events)
    assert (events[0].at, events[-1].at) == (back.created_at, back.changed_at)


def test_restore_with_a_taken_name_suggests_a_free_one(store: Store) -> None:
    old = save(store, "A")
    store.tables.delete(old.id)
    new = save(store, "A")
    with pytest.raises(InputError, match=r'"A \(2\)"'):
        store.tables.restore(old.id)
    assert store.tables.get(old.id).deleted
    assert store.tables.restore(old.id, name="A (2)").name == "A (2)"
    assert {t.name for t in store.tables.list()} == {"A", "A (2)"}
    assert store.tables.get(new.id).name == "A"


@pytest.mark.parametrize("table_id", ["", "00000000", "\x00", "\ud800", "x" * 99, "' OR 1=1 --"])
def test_unknown_table_is_told(store: Store, table_id: str) -> None:
    t = store.tables
    for call in (t.load, t.get, t.provenance, t.events, t.delete, t.restore):
        with pytest.raises(InputError, match="no saved table"):
            call(table_id)


def test_save_is_all_or_nothing(store: Store) -> None:
    with pytest.raises(InputError, match="never uploaded"):
        store.tables.save("t", seed_table(), upload_sha="0" * 64, decisions={}, report={}, model="", synthetic=False)
    with pytest.raises(sa.exc.StatementError, match="JSON compliant"):
        store.tables.save("t", seed_table(), upload_sha=None, decisions={}, report={"x": float("nan")}, model="", synthetic=False)
    assert store.tables.list(include_deleted=True) == store.odds.all() == ()


# Preferences


def test_preferences(store: Store) -> None:
    p = store.preferences
    assert p.get("table") is None
    assert p.get("table", "none") == "none"
    for value in ("ab12", None, {"b": 1, "a": [True, 1, "\x00"]}, True, 1):
        p.set("table", value)
        p.set("table", value)
        assert p.get("table", "unset") == value
        assert type(p.get("table", "unset")) is type(value)
    p.set("other", 2)
    assert p.all() == {"other": 2, "table": 1}
    assert len(everything(store)["preferences"]) == 6


def test_no_row_is_ever_changed_or_removed(store: Store) -> None:
    sha, draft = store.uploads.put("a", b"x"), store.drafts.new_id()
    t = save(store, "A")
    deeds = [
        lambda: store.uploads.put("b", b"x"),
        lambda: store.odds.put(replace(WEATHER, source="own")),
        lambda: store.drafts.save(draft, sha, {}, 0),
        lambda: store.drafts.save(draft, sha, {"a": 1}, 1),
        lambda: store.drafts.close(draft),
        lambda: store.drafts.reopen(draft),
        lambda: store.tables.rename(t.id, "B"),
        lambda: store.tables.delete(t.id),
        lambda: store.tables.restore(t.id, name="C"),
        lambda: store.tables.restore(t.id, name="D"),
        lambda: store.preferences.set("k", 1),
        lambda: store.preferences.set("k", 2),
    ]
    before = everything(store)
    for deed in deeds:
        deed()
        after = everything(store)
        assert all(before[name] <= after[name] for name in before)
        before = after
    assert {k: len(v) for k, v in before.items() if v} == {
        "odds": 1, "files": 1, "uploads": 2, "drafts": 4, "seed_tables": 1, "seed_table_events": 4, "preferences": 2,
    }  # fmt: skip
