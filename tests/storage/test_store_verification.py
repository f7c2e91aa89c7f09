"""Tags and people's answers in the store: only ever added to, everything undone by a further row, nobody overwritten."""

from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa

from core.errors import InputError
from core.odd import load_yaml
from core.storage import QUESTION_ANSWER, QueueItem, Statement, Store, TagRecord, Written, open_store
from core.storage.schema_verification import verification_answers

ODD = load_yaml("dimensions: {time: {values: [day, night]}, weather: {values: [clear, rain]}}")
ITEMS = (
    QueueItem("m1", ("a.png",), {"time": "day", "weather": "rain"}, "Is it night?", ("yes", "no"), "B"),
    QueueItem("m2", ("b.png", "c.png"), {"time": "night"}, caption="dark\0street"),
)
TIME, WEATHER = Statement("m1", "time", "day"), Statement("m1", "weather", "rain")


@pytest.fixture
def queue(store: Store) -> str:
    return store.verification.save("first", odd=ODD, manifest={"seed": 0}, items=ITEMS, who="Ada").id


def rows(store: Store) -> int:
    with store.db.read() as c:
        return c.execute(sa.select(sa.func.count()).select_from(verification_answers)).scalar_one()


def test_a_queue_comes_back_as_it_was_saved(store: Store, queue: str) -> None:
    saved = store.verification.get(queue)
    assert (saved.name, saved.size, saved.manifest, saved.odd_hash) == ("first", 2, {"seed": 0}, ODD.hash)
    assert store.verification.items(queue) == ITEMS
    assert [s.attribute for s in ITEMS[0].statements] == ["time", "weather", QUESTION_ANSWER]
    assert [s.attribute for s in ITEMS[1].statements] == ["time"]


def test_a_queue_with_nothing_to_judge_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="nothing to judge"):
        store.verification.save("empty", odd=ODD, manifest={}, items=[QueueItem("m", (), {})])
    assert store.verification.list() == ()


def test_answers_of_several_people_stand_side_by_side(store: Store, queue: str) -> None:
    v = store.verification
    assert v.answer({TIME: "yes", WEATHER: "no"}, "Ada", queue_id=queue) == Written(2, 0, 0)
    assert v.answer({TIME: "unsure"}, " Bob  ", queue_id=queue) == Written(1, 0, 0)
    assert v.present([TIME, WEATHER]) == {TIME: {"Ada": "yes", "Bob": "unsure"}, WEATHER: {"Ada": "no"}}
    assert v.people() == ("Ada", "Bob")
    before = v.stamp()
    v.undo(queue, "Bob")
    assert v.stamp() > before


def test_a_changed_mind_is_a_further_row(store: Store, queue: str) -> None:
    v = store.verification
    v.answer({TIME: "yes"}, "Ada", queue_id=queue)
    assert v.answer({TIME: "yes"}, "Ada", queue_id=queue) == Written(0, 1, 0)
    assert v.answer({TIME: "no"}, "Ada", queue_id=queue) == Written(1, 0, 0)
    assert v.present([TIME]) == {TIME: {"Ada": "no"}}
    assert [(e.number, e.answer) for e in v.log(queue)] == [(1, "yes"), (2, "no")]


def test_an_answer_to_a_state_that_is_over_is_dropped_and_counted(store: Store, queue: str) -> None:
    v = store.verification
    seen = v.numbers([TIME, WEATHER], "Ada")
    assert seen == {TIME: 0, WEATHER: 0}
    assert v.answer({TIME: "yes"}, "Ada", queue_id=queue, seen=seen) == Written(1, 0, 0)
    # A second click before the page was drawn anew, and a tab that is still open.
    assert v.answer({TIME: "no", WEATHER: "yes"}, "Ada", queue_id=queue, seen=seen) == Written(1, 0, 1)
    assert v.present([TIME, WEATHER]) == {TIME: {"Ada": "yes"}, WEATHER: {"Ada": "yes"}}
    # Another person's rows have numbers of their own.
    assert v.answer({TIME: "no"}, "Bob", queue_id=queue, seen={}) == Written(1, 0, 0)


def test_undo_takes_back_one_step_after_the_other(store: Store, queue: str) -> None:
    v = store.verification
    v.answer({TIME: "yes", WEATHER: "yes"}, "Ada", queue_id=queue)
    v.answer({TIME: "no"}, "Ada", queue_id=queue)
    v.answer({TIME: "unsure"}, "Bob", queue_id=queue)
    assert v.undo(queue, "Ada") == (TIME,)
    assert v.present([TIME, WEATHER]) == {TIME: {"Ada": "yes", "Bob": "unsure"}, WEATHER: {"Ada": "yes"}}
    assert set(v.undo(queue, "Ada")) == {TIME, WEATHER}
    assert v.present([TIME, WEATHER]) == {TIME: {"Bob": "unsure"}}
    assert v.undo(queue, "Ada") == ()
    assert rows(store) == 7  # four answers and three taken back: nothing is gone
    v.answer({TIME: "no"}, "Ada", queue_id=queue)
    assert v.present([TIME])[TIME] == {"Ada": "no", "Bob": "unsure"}


def test_undo_leaves_what_was_answered_elsewhere_since(store: Store, queue: str) -> None:
    v = store.verification
    other = v.save("second", odd=ODD, manifest={}, items=ITEMS).id
    v.answer({TIME: "yes"}, "Ada", queue_id=queue)
    v.answer({TIME: "no"}, "Ada", queue_id=other)
    assert v.undo(queue, "Ada") == (TIME,)
    assert v.present([TIME]) == {TIME: {"Ada": "no"}}
    assert v.undo(queue, "Ada") == ()
    assert v.undo(other, "Ada") == (TIME,)
    assert v.present([TIME]) == {}


def test_a_statement_answered_in_one_queue_is_answered_in_all(store: Store, queue: str) -> None:
    v = store.verification
    v.answer({TIME: "yes"}, "Ada")
    assert v.present(ITEMS[0].statements) == {TIME: {"Ada": "yes"}}
    assert v.about(["m1", "m2"]) == {TIME: {"Ada": "yes"}}
    assert v.about(["m2"]) == {}
    assert v.log(queue) == ()


def test_what_was_taken_back_is_not_told_of_media(store: Store, queue: str) -> None:
    store.verification.answer({TIME: "yes"}, "Ada", queue_id=queue)
    store.verification.undo(queue, "Ada")
    assert store.verification.about(["m1"]) == {}


def test_what_is_no_answer_is_refused(store: Store, queue: str) -> None:
    v = store.verification
    with pytest.raises(InputError, match="maybe"):
        v.answer({TIME: "maybe"}, "Ada", queue_id=queue)  # type: ignore[dict-item]
    for nobody in ("", "  ", "x" * 121):
        with pytest.raises(InputError, match="name"):
            v.answer({TIME: "yes"}, nobody, queue_id=queue)
    for unknown in ("nowhere", "../x", "ab cd"):
        with pytest.raises(InputError, match="no saved queue"):
            v.answer({TIME: "yes"}, "Ada", queue_id=unknown)
    v.delete(queue)
    with pytest.raises(InputError, match="deleted"):
        v.answer({TIME: "yes"}, "Ada", queue_id=queue)
    with pytest.raises(InputError, match="deleted"):
        v.undo(queue, "Ada")
    assert rows(store) == 0


def test_two_people_and_two_tabs_at_once_lose_nothing(store: Store, queue: str) -> None:
    v, errors = store.verification, []
    statements = [Statement("m1", "time", f"v{i}") for i in range(12)]
    dropped = []

    def work(who: str) -> None:
        try:
            for s in statements:
                seen = {s: 0}
                dropped.append(v.answer({s: "yes"}, who, queue_id=queue, seen=seen).late)
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(who,)) for who in ("Ada", "Ada", "Bob")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []
    assert v.present(statements) == {s: {"Ada": "yes", "Bob": "yes"} for s in statements}
    assert rows(store) == 24
    assert sum(dropped) == 12


def test_many_statements_at_once(store: Store) -> None:
    statements = [Statement("m", "time", f"v{i}") for i in range(1_203)]
    store.verification.answer(dict.fromkeys(statements, "yes"), "Ada")
    assert len(store.verification.present(statements)) == 1_203
    assert set(store.verification.numbers(statements, "Ada").values()) == {1}


def test_tags_are_kept_once_per_key(store: Store) -> None:
    first = TagRecord("k1", "m1", ODD.hash, "model", "p" * 64, {"tags": {"time": "day"}})
    again = TagRecord("k1", "m1", ODD.hash, "model", "p" * 64, {"tags": {"time": "night"}})
    second = TagRecord("k2", "m1", ODD.hash, "other", "p" * 64, {"tags": {}})
    assert store.media_tags.add([first], ODD) == 1
    assert store.media_tags.add([again, second], ODD) == 1
    assert store.media_tags.get(["k1", "k3"])["k1"].content == {"tags": {"time": "day"}}
    assert [r.key for r in store.media_tags.about(["m1"])] == ["k1", "k2"]
    assert [r.key for r in store.media_tags.list()] == ["k2", "k1"]
    assert all(r.at is not None and r.at.tzinfo for r in store.media_tags.list())
    assert store.media_tags.get([]) == {}


def test_everything_is_there_after_opening_again(settings, queue, store) -> None:
    store.verification.answer({TIME: "yes"}, "Ada", queue_id=queue)
    again = open_store(settings)
    assert again.verification.present([TIME]) == {TIME: {"Ada": "yes"}}
    assert [q.name for q in again.verification.list()] == ["first"]
    again.close()
