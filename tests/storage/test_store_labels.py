"""Labels on both back ends: each once, none overwritten, all of them durable."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import settings as settings_of
from hypothesis import strategies as st

from core.errors import InputError
from core.settings import Settings
from core.storage import Store, open_store, schema
from core.storage.label_events import NewEvent
from core.storage.schema_labels import label_events
from core.trajectories.case_set import CaseSet


def saved_set(store: Store, name: str = "Cases") -> str:
    content = CaseSet(store.cases.parent / "none", name, "d" * 64, (), True, {})
    return store.cases.save(name, content, free_name=True).id


def event(case_id: str = "c1", seq: int = 1, kind: Any = "label", label: Any = "Y", **more: Any) -> NewEvent:
    return NewEvent(more.pop("uid", uuid4().hex), case_id, seq, kind, label if kind in ("label", "consensus") else None, **more)


def revoke(of: NewEvent, seq: int) -> NewEvent:
    return event(of.case_id, seq, "revoke", slot=of.slot, payload={"seq": of.seq, "uid": of.uid})


@pytest.fixture
def set_id(store: Store) -> str:
    return saved_set(store)


@pytest.fixture
def ann(store: Store) -> str:
    return store.labels.register("Ann", 4, False).id


def test_people_register_once_and_are_found(store: Store) -> None:
    ann = store.labels.register("  Ann   B ", 0, True)
    assert (ann.name, ann.experience_years, ann.researcher) == ("Ann B", 0.0, True)
    bob = store.labels.register("Bob", 12.5, False)
    assert store.labels.annotators() == (ann, bob)
    assert store.labels.annotator(bob.id) == bob
    assert store.labels.salt(ann.id) != store.labels.salt(bob.id)
    assert store.labels.salts() == {a.id: store.labels.salt(a.id) for a in (ann, bob)}
    with pytest.raises(InputError, match="already a person"):
        store.labels.register("ann b", 1, False)
    for years in (-1, 91, float("nan"), float("inf")):
        with pytest.raises(InputError, match="0 to 90"):
            store.labels.register("Cy", years, False)
    with pytest.raises(InputError, match="needs a name"):
        store.labels.register(" ", 1, False)
    for wrong in ("nobody", "x\0", ""):
        with pytest.raises(InputError, match="register first"):
            store.labels.salt(wrong)


def test_an_event_comes_back_as_it_was_given(store: Store, set_id: str, ann: str) -> None:
    given = event("cäse \0 1", payload={"t_key_ms": 12.5, "n": [1, None]}, guidance_version="v1", interface_version="2", slot="gold")
    (stored,) = store.labels.append(ann, set_id, [given]).stored
    assert (stored.new, stored.annotator_id, stored.set_id) == (given, ann, set_id)
    assert store.labels.events(set_id) == store.labels.events(set_id, ann) == (stored,)
    assert store.labels.stamp(set_id) == 1
    assert store.labels.events("other") == ()
    assert store.labels.append(ann, set_id, []).acked == ()


def test_an_outbox_that_is_sent_again_adds_nothing(store: Store, set_id: str, ann: str) -> None:
    first, second = event("a"), event("b", label="N")
    assert store.labels.append(ann, set_id, [first]).acked == (first.uid,)
    again = store.labels.append(ann, set_id, [first, second, first])
    assert [e.new for e in again.stored] == [second]
    assert [e.new for e in again.known] == [first, first]
    assert again.conflicts == ()
    assert len(store.labels.events(set_id)) == 2


def test_a_replay_after_another_tab_took_the_label_back_does_not_bring_it_back(store: Store, set_id: str, ann: str) -> None:
    label = event()
    back = revoke(label, 2)
    store.labels.append(ann, set_id, [label, back])
    done = store.labels.append(ann, set_id, [label])
    assert (done.stored, done.acked, done.conflicts) == ((), (label.uid,), ())
    assert [e.new.kind for e in store.labels.events(set_id)] == ["label", "revoke"]


def test_the_second_tab_of_a_person_gets_a_conflict_and_overwrites_nothing(store: Store, set_id: str, ann: str) -> None:
    mine, other = event(label="Y"), event(label="N")
    store.labels.append(ann, set_id, [mine])
    done = store.labels.append(ann, set_id, [other])
    assert done.acked == ()
    assert done.settled == (other.uid,)
    (conflict,) = done.conflicts
    assert conflict.new == other
    assert conflict.present is not None
    assert conflict.present.new == mine
    later = store.labels.append(ann, set_id, [event(seq=7, label="N")])  # another number does not help: the place is taken
    assert [c.present and c.present.new for c in later.conflicts] == [mine]
    assert [e.new for e in store.labels.events(set_id)] == [mine]


def test_what_follows_on_a_label_that_was_refused_is_refused_with_it(store: Store, set_id: str, ann: str) -> None:
    theirs = event(label="N")
    store.labels.append(ann, set_id, [theirs])
    mine = event(label="Y")
    done = store.labels.append(ann, set_id, [mine, revoke(mine, 2), event(seq=3, label="U")])
    assert done.stored == ()
    assert [c.present and c.present.new for c in done.conflicts] == [theirs] * 3


def test_a_label_is_taken_back_once_and_only_if_it_is_the_one_that_stands(store: Store, set_id: str, ann: str) -> None:
    first, second = event(label="Y"), event(seq=3, label="N")
    store.labels.append(ann, set_id, [first, revoke(first, 2), second])
    stale = store.labels.append(ann, set_id, [revoke(first, 4)])
    assert [c.present and c.present.new for c in stale.conflicts] == [second]
    two = [revoke(second, 4), revoke(second, 4)]
    done = store.labels.append(ann, set_id, two)
    assert [e.new for e in done.stored] == two[:1]
    assert [c.present and c.present.new for c in done.conflicts] == two[:1]
    nothing = store.labels.append(ann, set_id, [event("c9", kind="revoke", payload={"seq": 1})])
    assert [c.present for c in nothing.conflicts] == [None]
    stale_label = event(seq=3, label="Y")  # made before the other tab labelled and took back
    assert len(store.labels.append(ann, set_id, [stale_label]).conflicts) == 1
    fresh = event(seq=5, label="Y")
    assert store.labels.append(ann, set_id, [fresh]).acked == (fresh.uid,)


def test_comments_and_hidden_repeats_stand_in_nobodys_way(store: Store, set_id: str, ann: str) -> None:
    label, note, repeat = event(), event(kind="comment", payload={"text": "hm"}), event(slot="repeat", label="N")
    store.labels.append(ann, set_id, [label])
    done = store.labels.append(ann, set_id, [note, repeat])
    assert [(e.new.kind, e.new.slot, e.new.seq) for e in done.stored] == [("comment", "main", 2), ("label", "repeat", 3)]
    assert store.labels.append(ann, set_id, [note, repeat]).acked == (note.uid, repeat.uid)  # under the numbers that they got
    old, new = event(seq=4, kind="tags", payload={"threats": ["a"]}), event(seq=4, kind="tags", payload={"threats": ["b"]})
    assert [c.new for c in store.labels.append(ann, set_id, [old, new]).conflicts] == [new]
    assert len({(e.new.case_id, e.new.seq) for e in store.labels.events(set_id)}) == 4


def test_two_people_never_meet(store: Store, set_id: str, ann: str) -> None:
    bob = store.labels.register("Bob", 1, False).id
    other_set = saved_set(store)
    for who, where in ((ann, set_id), (bob, set_id), (ann, other_set)):
        assert len(store.labels.append(who, where, [event(label="Y")]).stored) == 1
    assert {(e.annotator_id, e.new.seq) for e in store.labels.events(set_id)} == {(ann, 1), (bob, 1)}


def test_a_uid_that_means_something_else_is_never_called_known(store: Store, set_id: str, ann: str) -> None:
    bob = store.labels.register("Bob", 1, False).id
    label = event()
    store.labels.append(ann, set_id, [label])
    for who, twin in ((bob, label), (ann, replace(label, label="N")), (ann, replace(label, case_id="c2"))):
        done = store.labels.append(who, set_id, [twin])
        assert (done.acked, len(done.conflicts)) == ((), 1)


def test_who_labelled_does_not_decide_and_who_decided_does_not_label(store: Store, set_id: str, ann: str) -> None:
    bob = store.labels.register("Bob", 1, False).id
    label = event()
    store.labels.append(ann, set_id, [label, revoke(label, 2)])
    assert len(store.labels.append(ann, set_id, [event(seq=3, kind="consensus", slot="review")]).conflicts) == 1
    decided = event(kind="consensus", slot="review", payload={"seen": 0})
    (first,) = store.labels.append(bob, set_id, [decided]).stored
    assert len(store.labels.append(bob, set_id, [event(seq=2)]).conflicts) == 1
    late = event(kind="consensus", slot="review", payload={"seen": 0})
    third = store.labels.register("Cy", 1, False).id
    assert [c.present for c in store.labels.append(third, set_id, [late]).conflicts] == [first]
    again = event(kind="consensus", slot="review", payload={"seen": first.number}, label="N")
    assert len(store.labels.append(third, set_id, [again]).stored) == 1


def test_malformed_events_are_all_named_and_nothing_is_stored(store: Store, set_id: str, ann: str) -> None:
    good = event()
    wrong = [
        event(uid="short"),
        event(case_id=""),
        event(case_id="ä" * 400),
        event(seq=0),
        event(kind="guess"),
        event(label="X"),
        replace(event(kind="comment"), label="Y"),
        event(slot="training:0"),
        event(payload={"x": float("nan")}),
        event(payload={"x": "y" * 30_000}),
    ]
    with pytest.raises(InputError) as e:
        store.labels.append(ann, set_id, [good, *wrong])
    assert [p.row for p in e.value.problems] == list(range(2, 12))
    columns = ["uid", "case_id", "case_id", "seq", "kind", "label", "label", "slot", "payload", "payload"]
    assert [p.column for p in e.value.problems] == columns
    with pytest.raises(InputError, match="no saved case set"):
        store.labels.append(ann, "nowhere", [good])
    with pytest.raises(InputError, match="register first"):
        store.labels.append("nobody", set_id, [good])
    assert store.labels.events(set_id) == ()


def test_threads_of_one_person_store_each_place_once(store: Store, set_id: str, ann: str) -> None:
    tabs = [[event(f"c{i}", label=label) for i in range(20)] for label in ("Y", "N", "U", "Y")]
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda tab: [store.labels.append(ann, set_id, [e]) for e in tab], tabs))
    stored = [e.new for tab in done for r in tab for e in r.stored]
    conflicts = [c for tab in done for r in tab for c in r.conflicts]
    assert sorted(e.case_id for e in stored) == sorted(f"c{i}" for i in range(20))
    assert len(conflicts) == 60
    assert all(c.present is not None and c.present.new in stored for c in conflicts)


def test_the_database_itself_refuses_a_second_event_of_a_number_and_of_a_uid(store: Store, set_id: str, ann: str) -> None:
    label = event()
    store.labels.append(ann, set_id, [label])
    with store.db.read() as c:
        row = dict(c.execute(sa.select(label_events)).mappings().one())
    row.pop("number")
    for change in ({"uid": uuid4().hex}, {"seq": 2}):
        with pytest.raises(sa.exc.IntegrityError), store.db.write() as c:
            c.execute(label_events.insert().values(row | change))


def test_the_stamp_grows_with_every_event_whatever_the_order_of_storing(store: Store, set_id: str, ann: str) -> None:
    """On PostgreSQL, somebody's event may be stored after one of somebody else that has a larger number."""
    bob = store.labels.register("Bob", 1, False).id
    store.labels.append(ann, set_id, [event("c1"), event("c2")])
    before = store.labels.stamp(set_id)
    with store.db.write() as c:  # as if it had been numbered before those
        row = {"uid": uuid4().hex, "annotator_id": bob, "set_id": set_id, "case_id": "c1", "seq": 1, "kind": "label", "label": "N"}
        row |= {"slot": "main", "payload": {}, "guidance_version": "", "interface_version": "", "at": schema.now(), "number": -1}
        c.execute(label_events.insert().values(row))
    assert store.labels.stamp(set_id) > before
    assert store.labels.people_in(set_id) == (bob, ann)
    assert len(store.labels.events(set_id)) == 3


# Any order of anything


@dataclass
class Tab:
    """A screen of a person that may be out of date: it numbers events by what it last knew."""

    seqs: dict[str, int] = field(default_factory=dict)
    last: dict[tuple[str, str], NewEvent] = field(default_factory=dict)


MOVES = st.lists(
    st.tuples(
        st.integers(0, 2),  # tab
        st.sampled_from(["label", "revoke", "comment", "tags", "again", "look"]),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["main", "repeat"]),
    ),
    max_size=40,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, str]]:
    """A store that many examples share, each with a person of its own, and a set."""
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path_factory.mktemp("tabs"))}))
    yield opened, saved_set(opened)
    opened.close()


@given(moves=MOVES)
@settings_of(max_examples=60, deadline=None)
def test_whatever_three_tabs_do_nothing_is_twice_and_everything_told_as_stored_is_there(
    moves: list[tuple[int, str, str, str]], shared: tuple[Store, str]
) -> None:
    opened, set_id = shared
    ann = opened.labels.register(uuid4().hex, 1, False).id
    tabs = [Tab() for _ in range(3)]
    sent, acked, refused = list[NewEvent](), set[str](), set[str]()
    for number, move, case_id, slot in moves:
        tab = tabs[number]
        if move == "look":  # a reload: the tab knows what is stored
            for e in opened.labels.events(set_id, ann):
                tab.seqs[e.new.case_id] = max(tab.seqs.get(e.new.case_id, 1), e.new.seq + 1)
                if e.new.kind == "label":
                    tab.last[e.new.case_id, e.new.slot] = e.new
            continue
        if move == "again":
            events = sent[-5:]
        elif move == "revoke" and (case_id, slot) not in tab.last:
            continue
        else:
            payload: dict[str, Any] = {"uid": tab.last[case_id, slot].uid} if move == "revoke" else {}
            events = [event(case_id, tab.seqs.get(case_id, 1), move, slot=slot, payload=payload)]
            tab.seqs[case_id] = events[0].seq + 1
            if move == "label":
                tab.last[case_id, slot] = events[0]
        sent += [e for e in events if e not in sent]
        done = opened.labels.append(ann, set_id, events)
        assert set(done.settled) == {e.uid for e in events}
        acked |= set(done.acked)
        refused |= {c.new.uid for c in done.conflicts}
    stored = opened.labels.events(set_id, ann)
    assert {e.new.uid for e in stored} == acked
    assert len(stored) == len(acked)
    assert len({(e.new.case_id, e.new.seq) for e in stored}) == len(stored)
    assert {e.uid for e in sent} == acked | refused
    standing: dict[tuple[str, str], str] = {}
    for e in stored:  # a label stands only where none stood, and only the one that stands is taken back
        place = (e.new.case_id, e.new.slot)
        if e.new.kind == "label":
            assert place not in standing
            standing[place] = e.new.uid
        elif e.new.kind == "revoke":
            assert standing.pop(place) == e.new.payload["uid"]


# Durability


def test_labels_are_written_through_to_the_disk_and_other_writes_are_not_slowed_down(
    store: Store, set_id: str, ann: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def level() -> list[str]:
        """How the transactions of the last statements were set, by looking inside them."""
        question = "PRAGMA synchronous" if store.db.is_sqlite else "SHOW synchronous_commit"
        seen.append(str(real(connection_of[0], sa.text(question)).scalar()))
        return seen

    seen: list[str] = []
    connection_of: list[sa.Connection] = []
    real = sa.Connection.execute

    def spy(c: sa.Connection, statement: Any, *args: Any, **more: Any) -> Any:
        connection_of[:] = [c]
        if isinstance(statement, sa.sql.dml.Insert):
            level()
        return real(c, statement, *args, **more)

    monkeypatch.setattr(sa.Connection, "execute", spy)
    for _ in range(2):  # the pool gives the same connection to both kinds of writes
        store.preferences.set("k", uuid4().hex)
        store.labels.append(ann, set_id, [event(uuid4().hex)])
    store.preferences.set("k", uuid4().hex)
    full, normal = ("2", "1") if store.db.is_sqlite else ("on", "on")
    assert seen == [normal, full, normal, full, normal]


@pytest.mark.postgres
def test_labels_are_durable_where_the_database_is_set_not_to_be(tmp_path: Path, new_postgres: Any) -> None:
    url = new_postgres()
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path), "DATABASE_URL": url}))
    with opened.db.write() as c:
        c.execute(sa.text(f'ALTER DATABASE "{sa.make_url(url).database}" SET synchronous_commit = off'))
    opened.db.engine.dispose()
    with opened.db.read() as c:
        assert c.execute(sa.text("SHOW synchronous_commit")).scalar() == "off"
    with opened.db.write(durable=True) as c:
        assert c.execute(sa.text("SHOW synchronous_commit")).scalar() == "on"
    with opened.db.write() as c:
        assert c.execute(sa.text("SHOW synchronous_commit")).scalar() == "off"
    opened.close()


@pytest.mark.postgres
def test_a_server_that_goes_away_at_the_end_of_a_write_leaves_it_open_and_the_outbox_settles_it(tmp_path: Path, new_postgres: Any) -> None:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path), "DATABASE_URL": new_postgres()}))
    ann, set_id, outbox = opened.labels.register("Ann", 1, False).id, saved_set(opened), [event()]

    cuts = [1]

    def cut(c: sa.Connection) -> None:
        if cuts and cuts.pop():
            pid = c.exec_driver_sql("SELECT pg_backend_pid()").scalar()
            with opened.db.engine.connect() as other:
                other.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})

    sa.event.listen(opened.db.engine, "commit", cut)
    with pytest.raises(InputError, match="not known whether this change was saved"):
        opened.labels.append(ann, set_id, outbox)
    for _ in range(2):
        assert opened.labels.append(ann, set_id, outbox).acked == (outbox[0].uid,)
    assert len(opened.labels.events(set_id)) == 1
    opened.close()


def test_a_write_that_fails_leaves_the_connection_as_it_was(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.db.write(durable=True) as c:
        c.execute(schema.preferences.insert().values(key="k", value=1, set_at=schema.now()))
        raise ZeroDivisionError
    assert store.preferences.all() == {}
    store.preferences.set("k", 2)
    assert store.preferences.get("k") == 2
