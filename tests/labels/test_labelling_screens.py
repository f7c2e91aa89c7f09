"""What a screen knows and what it sends: numbers that tell nothing, rapid presses that are never refused, old screens that are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from core.operators import labelling
from core.settings import Settings
from core.storage import Store, open_store
from core.storage.label_events import NewEvent
from core.storage.labels import Labels
from pages.shared.label_outbox import Desk, Told, receive
from tests.labels.desk import gold_cases, keep, labelling_cases, person, press


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path)}))
    yield opened
    opened.close()


@pytest.fixture
def set_id(store: Store) -> str:
    return keep(store, [*labelling_cases(), *gold_cases(6)])


class Tab:
    """A screen that counts by itself from what it was told once."""

    def __init__(self, store: Store, set_id: str, who: str) -> None:
        self.desk = Desk(store, set_id, who, "labelling", "v1", "1")
        self.outbox: list[dict[str, Any]] = []
        self.look()

    def look(self) -> None:
        items = labelling.window(self.desk.store, self.desk.set_id, self.desk.annotator_id, n=40).items
        self.turns = {i.token: i.turn for i in items}
        self.queue = [i.token for i in items]

    def add(self, token: str, kind: str, label: str | None = None, **more: Any) -> str:
        uid = uuid4().hex
        e = {"uid": uid, "id": token, "seq": self.turns[token], "kind": kind, "label": label, "payload": more.pop("payload", {}), **more}
        self.outbox.append(e)
        self.turns[token] += 1
        return uid

    def send(self) -> Told:
        told, self.outbox = receive(self.desk, {"n": "1", "events": self.outbox}), []
        return told


def test_no_number_tells_a_hidden_repeat_or_a_probe(store: Store, set_id: str) -> None:
    ann = person(store)
    for _ in range(6):
        press(store, set_id, ann, "Y", round="calibration")  # so that every probe was there before
    seen = []
    while now := labelling.window(store, set_id, ann, n=10).items:
        assert {i.turn for i in now} == {1}
        assert len({len(i.token) for i in now}) == 1
        seen.append(now[0].slot)
        press(store, set_id, ann, "N")
    assert {"main", "repeat", "gold"} == set(seen)


@pytest.mark.parametrize("slot", ["main", "repeat", "gold"])
def test_presses_faster_than_the_answer_are_all_stored_at_every_place(store: Store, set_id: str, slot: str) -> None:
    ann = person(store)
    for _ in range(6):
        press(store, set_id, ann, "Y", round="calibration")
    while labelling.window(store, set_id, ann).items[0].slot != slot:
        press(store, set_id, ann, "N")
    item, tab = labelling.window(store, set_id, ann).items[0], Tab(store, set_id, ann)
    other = Tab(store, set_id, ann)
    other.add(item.token, "comment", payload={"text": "from another tab"})
    assert other.send().acked
    for label in "YNU":  # labelled, taken back and labelled again, before the server said a word
        uid = tab.add(item.token, "label", label)
        tab.add(item.token, "tags", payload={"threats": [label]})
        if label != "U":
            tab.add(item.token, "undo", target=uid)
    told = tab.send()
    assert (len(told.acked), told.conflicts, told.error) == (8, (), "")
    assert labelling.person_of(store, set_id, ann).label(item.case_id, slot) == "U"


def test_an_old_screen_is_told_what_stands(store: Store, set_id: str) -> None:
    ann = person(store)
    old, new = Tab(store, set_id, ann), Tab(store, set_id, ann)
    token = new.queue[0]
    uid = new.add(token, "label", "Y")
    new.add(token, "tags", payload={"threats": ["a"]})
    new.add(token, "undo", target=uid)
    assert len(new.send().acked) == 3
    old.add(token, "label", "N")
    old.add(token, "tags", payload={"threats": ["b"]})
    told = old.send()
    assert told.acked == ()
    assert [text.split(" for this case")[0] for _, text in told.conflicts] == [
        "This case was changed in another tab meanwhile; your answer was not stored, and the case comes again.",
        "You had chosen threats",
    ]
    old.look()
    old.add(token, "label", "N")
    assert old.send().conflicts == ()


def test_a_case_that_was_decided_is_told_as_such(store: Store, set_id: str) -> None:
    ann, bob = person(store), person(store, "Bob")
    tab = Tab(store, set_id, ann)
    item = labelling.window(store, set_id, ann).items[0]
    labelling.consensus(store, set_id, ann, item.case_id, "Y", "Clear.")
    tab.add(item.token, "label", "N")
    ((_, text),) = tab.send().conflicts
    assert "You decided this case in Review" in text
    mine = Tab(store, set_id, bob)
    mine.outbox = [{**mine_event(mine), "uid": labelling.person_of(store, set_id, ann).decided[item.case_id][0].new.uid}]
    ((_, text),) = mine.send().conflicts  # somebody else's id: nothing of theirs is told
    assert text == "This answer came under the id of another one; it was not stored, and the case comes again."


def mine_event(tab: Tab) -> dict[str, Any]:
    tab.add(tab.queue[0], "label", "U")
    return tab.outbox.pop()


def test_nothing_malformed_keeps_a_press_out(store: Store, set_id: str) -> None:
    """Of each kind of event, everything that a broken page could send; a good press stands before and after each."""
    deep: Any = []
    for _ in range(2_000):
        deep = [deep]
    changes: list[dict[str, Any]] = [{"uid": "short"}, {"uid": None}, {"uid": "é" * 12}, {"id": None}, {"kind": []}]
    changes += [{"seq": x} for x in (0, 10**9, None, "1", True)]
    changes += [{"payload": x} for x in ("x", None, {"x": "y" * 30_000}, {"x": deep}, {"x": float("nan")})]
    tab = Tab(store, set_id, person(store))
    good = [tab.add(token, "label", "Y") for token in tab.queue[:1]]
    for kind in ("label", "comment", "tags", "undo"):
        for change in changes:
            if kind == "undo" and not {"uid", "kind"} & set(change):
                continue  # the others mean nothing to it
            tab.outbox.append({**mine_event(tab), "uid": uuid4().hex, "kind": kind, "target": "no such label", **change})
    tab.turns[tab.queue[0]] = 2
    tab.outbox = [e for e in tab.outbox if e["uid"]]
    good.append(tab.add(tab.queue[0], "comment", payload={"text": "after all of it"}))
    sent = len(tab.outbox)
    told = tab.send()
    assert (told.error, list(told.acked)) == ("", good)
    assert len(told.conflicts) == sent - len(good)
    assert all(text for _, text in told.conflicts)


def test_a_token_of_another_person_or_set_stores_nothing(store: Store, set_id: str) -> None:
    ann, bob = Tab(store, set_id, person(store)), Tab(store, set_id, person(store, "Bob"))
    elsewhere = Tab(store, keep(store, labelling_cases(), "Other"), ann.desk.annotator_id)
    for stranger in (bob, elsewhere):
        ann.turns[stranger.queue[0]] = 1
        ann.add(stranger.queue[0], "label", "Y")
    told = ann.send()
    assert (told.acked, len(told.conflicts)) == ((), 2)
    assert store.labels.events(set_id) == ()


def test_who_goes_on_in_a_set_that_was_put_into_the_bin_loses_nothing(store: Store, set_id: str) -> None:
    tab = Tab(store, set_id, person(store))
    store.cases.delete(set_id)
    tab.add(tab.queue[0], "label", "Y")
    assert len(tab.send().acked) == 1
    store.cases.restore(set_id)
    assert labelling.window(store, set_id, tab.desk.annotator_id).done == 1


def test_a_press_reads_what_is_new_and_not_all_that_there_is(store: Store, set_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one press costs does not grow with what a person did before; nor does it see less than is there."""
    read: list[int] = []
    real = Labels._rows

    def counting(self: Labels, *args: Any) -> Iterator[Any]:
        for n, e in enumerate(real(self, *args), 1):
            read.append(n)
            yield e

    ann = person(store)
    monkeypatch.setattr(Labels, "_rows", counting)
    costs = []
    while labelling.window(store, set_id, ann).items:
        read.clear()
        press(store, set_id, ann, "Y")
        labelling.undo(store, set_id, ann, uuid4().hex)
        press(store, set_id, ann, "N")
        labelling.window(store, set_id, ann)
        labelling.calibration(store, set_id, ann)
        costs.append(len(read))
    assert len(costs) == 26
    assert max(costs) <= 20  # a repeat also reads what was said of its case
    read.clear()
    labelling.progress(store, set_id)
    labelling.disagreements(store, set_id)
    assert read == []


def test_what_is_kept_in_memory_is_what_lies_in_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes, here two stores, label by turns; each sees what the other did, also where memory is short."""
    from core.labels.state import fold_one
    from core.operators import labelling_people

    monkeypatch.setattr(labelling_people, "MOST_EVENTS", 12)
    settings = Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path / "two")})
    stores = [open_store(settings), open_store(settings)]
    set_id = keep(stores[0], labelling_cases())
    people = [person(stores[0], name) for name in ("Ann", "Bob")]
    for k in range(20):
        one, who = stores[k % 2], people[k % 3 % 2]
        press(one, set_id, who, "YN"[k % 2])
        if k % 4 == 3:
            labelling.undo(stores[(k + 1) % 2], set_id, who)
        item = labelling.window(one, set_id, who).items[0]
        labelling.record(one, set_id, who, [NewEvent(uuid4().hex, item.case_id, item.seq, "comment", payload={"text": "x"})])
        for s in stores:
            for p in people:
                assert vars(labelling.person_of(s, set_id, p)) == vars(fold_one(p, s.labels.events(set_id, p)))
            assert list(labelling.people_of(s, set_id)) == list(dict.fromkeys(e.annotator_id for e in s.labels.events(set_id)))
    for s in stores:
        s.close()
