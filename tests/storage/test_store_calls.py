"""Calls to models: a row before they are sent, an answer that stays; on both back ends."""

from __future__ import annotations

import itertools
import threading

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from core.storage import Store, StoredCall
from core.storage.calls import GROUP


def key(i: int) -> str:
    return f"{i:064x}"


def done(i: int, text: str = "x", attempts: int = 1) -> StoredCall:
    return StoredCall(key(i), "done", attempts, {"text": text}, {"prompt": 1, "completion": 2, "estimated": False}, 0.25)


def test_a_call_goes_from_nothing_over_in_flight_to_done(store: Store) -> None:
    calls = store.calls
    assert calls.get(key(1)) is None
    assert calls.begin([key(1)]) == {}
    assert (calls.get(key(1)).status, calls.get(key(1)).attempts) == ("in_flight", 1)
    calls.finish([done(1, "ü\x00\ud800")])
    found = calls.get(key(1))
    assert (found.status, found.text, found.latency, found.usage["prompt"]) == ("done", "ü\x00\ud800", 0.25, 1)
    assert calls.counts() == {"done": 1}


def test_an_answer_is_never_replaced(store: Store) -> None:
    store.calls.begin([key(1)])
    store.calls.finish([done(1, "first")])
    store.calls.finish([done(1, "second")])
    assert store.calls.begin([key(1)])[key(1)].text == "first"
    store.calls.finish([StoredCall(key(1), "failed", 1, error="x")])
    assert store.calls.get(key(1)).text == "first"
    assert store.calls.get(key(1)).attempts == 1


def test_one_in_flight_is_told_when_it_is_begun_again(store: Store) -> None:
    store.calls.begin([key(1), key(2)])
    store.calls.finish([StoredCall(key(2), "failed", error="down")])
    store.calls.begin([key(2)])
    store.calls.finish([StoredCall(key(2), "failed", error="down")])
    before = store.calls.begin([key(1), key(2), key(3)])
    assert {k: (c.status, c.attempts) for k, c in before.items()} == {key(1): ("in_flight", 1), key(2): ("failed", 2)}
    assert [store.calls.get(key(i)).attempts for i in (1, 2, 3)] == [2, 3, 1]
    assert store.calls.counts() == {"in_flight": 3}


def test_many_keys_are_read_in_parts(store: Store) -> None:
    n = GROUP + 7
    store.calls.begin([key(i) for i in range(GROUP)])
    store.calls.begin([key(i) for i in range(GROUP, n)])
    assert len(store.calls.get_many([key(i) for i in range(2 * n)])) == n
    assert store.calls.get_many([]) == {}


def test_whoever_waits_for_the_journal_finds_it_committed(store: Store) -> None:
    with store.calls.journal() as journal:
        assert journal.get(key(1)).result(10) is None
        assert journal.begin(key(1)).result(10) is None
        assert store.calls.get(key(1)).status == "in_flight"
        journal.finish(done(1)).result(10)
        assert store.calls.get(key(1)).status == "done"
        assert journal.begin(key(1)).result(10).status == "done"


def test_what_waits_together_is_committed_together(store: Store) -> None:
    with store.calls.journal() as journal:
        with store.db.write():  # holds the journal back
            first = journal.begin(key(0))
            more = [journal.begin(key(i)) for i in range(1, 200)]
        for f in (first, *more):
            f.result(30)
        assert journal.commits <= 3
    assert store.calls.counts() == {"in_flight": 200}


def test_the_journal_ends_only_when_all_is_written(store: Store) -> None:
    with store.calls.journal() as journal:
        for i in range(300):
            journal.begin(key(i))
        futures = [journal.finish(done(i)) for i in range(300)]
    assert all(f.done() for f in futures)
    assert store.calls.counts() == {"done": 300}


def test_what_nobody_waits_for_any_more_is_kept_all_the_same(store: Store) -> None:
    with store.calls.journal() as journal:
        journal.begin(key(1)).result(10)
        with store.db.write():
            journal.begin(key(2))
            given_up = journal.finish(done(1))
            given_up.cancel()
    assert store.calls.get(key(1)).status == "done"


def test_a_database_that_fails_is_told_to_all_who_wait(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("disk")

    monkeypatch.setattr(type(store.calls), "_begin", fail)
    with store.calls.journal() as journal:
        with pytest.raises(ValueError, match="disk"):
            journal.begin(key(1)).result(10)
        assert journal.get(key(1)).result(10) is None  # it goes on


def test_two_writers_at_once_lose_nothing(store: Store) -> None:
    def work(start: int) -> None:
        with store.calls.journal() as journal:
            for i in range(start, start + 100):
                journal.begin(key(i)).result(30)
                journal.finish(done(i)).result(30)

    threads = [threading.Thread(target=work, args=(s,)) for s in (0, 50)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert store.calls.counts() == {"done": 150}


EXAMPLE = itertools.count(1)


@examples(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(["begin", "done", "failed", "blocked"]), st.integers(0, 4)), max_size=25))
def test_status_follows_the_last_word_that_counts(store: Store, steps: list[tuple[str, int]]) -> None:
    base = 10 * next(EXAMPLE)  # keys of their own for each example
    expected: dict[int, str] = {}
    for what, i in steps:
        k = base + i
        if what == "begin":
            store.calls.begin([key(k)])
            expected[i] = expected[i] if expected.get(i) in ("done", "blocked") else "in_flight"
        else:
            store.calls.finish([StoredCall(key(k), what, 1)])  # type: ignore[arg-type]
            if i in expected and expected[i] not in ("done", "blocked"):
                expected[i] = what
    found = store.calls.get_many([key(base + i) for i in range(5)])
    assert {i: found[key(base + i)].status for i in range(5) if key(base + i) in found} == expected
