"""Sets of detections, hypotheses about them, and what people say of slices: on both databases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from core.errors import InputError
from core.storage import DetectionFacts, NewJudgement, SavedDetections, Store


def facts(folder: Path, **changes: object) -> DetectionFacts:
    made = DetectionFacts(folder, "a" * 64, "b" * 64, "yolo", "detection", 3, 7, 9, False)
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.fixture
def saved(store: Store) -> SavedDetections:
    return store.detections.save("Night", facts(store.detections.parent / "one"))


def said(unit: str = "", verdict: str = "accept", who: str = "Ann", **more: object) -> NewJudgement:
    return NewJudgement(uuid4().hex, "iv_small", unit, verdict, who=who, **more)  # type: ignore[arg-type]


def test_a_set_is_known_by_id_name_and_digest_and_lies_where_the_workspace_lies(store: Store, saved: SavedDetections) -> None:
    assert (saved.model, saved.task, saved.images, saved.truth, saved.predictions, saved.synthetic) == ("yolo", "detection", 3, 7, 9, False)
    assert saved.folder == store.detections.parent / "one"
    assert all(store.detections.find(w) == saved for w in (saved.id, "night", "a" * 64))
    with pytest.raises(InputError, match="already a set of detections"):
        store.detections.save("NIGHT", facts(store.detections.parent / "two"))
    other = store.detections.save("Night", facts(store.detections.parent / "two", model="m2"), free_name=True)
    assert other.name != saved.name
    assert [s.id for s in store.detections.list()] == [other.id, saved.id]
    store.detections.delete(saved.id)
    assert [s.id for s in store.detections.list()] == [other.id]
    assert not store.detections.restore(saved.id).deleted


def test_hypotheses_are_added_once_and_retracted_and_can_come_back(store: Store, saved: SavedDetections) -> None:
    a, b = {"id": "a", "text": "A."}, {"id": "b", "text": "B."}
    store.slice_hypotheses.add(saved.id, [a, b], "Ann")
    with pytest.raises(InputError, match="Nothing was added") as e:
        store.slice_hypotheses.add(saved.id, [{"id": "c", "text": "C."}, a, b, {"id": "c", "text": "again"}])
    assert [p.got for p in e.value.problems] == ["a", "b", "c"]
    assert store.slice_hypotheses.of(saved.id) == (a, b)
    store.slice_hypotheses.retract(saved.id, "a")
    with pytest.raises(InputError, match='no hypothesis "a"'):
        store.slice_hypotheses.retract(saved.id, "a")
    assert store.slice_hypotheses.of(saved.id) == (b,)
    store.slice_hypotheses.add(saved.id, [a | {"text": "A, anew."}])
    assert [d["text"] for d in store.slice_hypotheses.of(saved.id)] == ["B.", "A, anew."]
    store.slice_hypotheses.add(saved.id, [])
    assert store.slice_hypotheses.of("nothing") == ()


def test_what_was_said_of_a_claim_says_nothing_of_another_one_with_its_id(store: Store, saved: SavedDetections) -> None:
    claim = {"id": "iv_small", "text": "It is small."}
    store.slice_hypotheses.add(saved.id, [claim])
    store.slice_judgements.append(saved.id, [said(), said("1:g4")])
    store.slice_hypotheses.retract(saved.id, "iv_small")
    store.slice_hypotheses.add(saved.id, [claim])
    assert store.slice_hypotheses.since(saved.id) == {}  # the same again: what was said holds
    store.slice_hypotheses.retract(saved.id, "iv_small")
    store.slice_hypotheses.add(saved.id, [claim | {"text": "It is blue."}])
    since = store.slice_hypotheses.since(saved.id)
    assert list(since) == ["iv_small"]
    assert store.slice_judgements.current(saved.id, since=since) == ()
    store.slice_judgements.append(saved.id, [said("2:g1")])
    assert [j.unit_id for j in store.slice_judgements.current(saved.id, since=since)] == ["2:g1"]
    assert len(store.slice_judgements.all(saved.id)) == 3
    assert store.slice_hypotheses.since("nothing") == {}


@pytest.mark.parametrize("set_id", ["", "deadbeef", "a b", "\x00", "é" * 99])
def test_nothing_is_kept_for_a_set_that_is_not_there(store: Store, set_id: str) -> None:
    with pytest.raises(InputError, match="no saved set of detections"):
        store.slice_judgements.append(set_id, [said()])
    with pytest.raises(InputError, match="no saved set of detections"):
        store.slice_hypotheses.add(set_id, [{"id": "a"}])
    assert store.slice_judgements.all(set_id) == ()
    assert store.slice_judgements.stamp(set_id) == 0


def test_the_last_word_of_each_person_counts_and_nothing_is_forgotten(store: Store, saved: SavedDetections) -> None:
    first = [
        said("1:g4"),
        said("1:g4", who="Bob", verdict="reject"),
        said("2:g1", verdict="unsure"),
        said(note="Sound.", payload={"c": 0.5}),
    ]
    assert store.slice_judgements.append(saved.id, first) == tuple(j.uid for j in first)
    store.slice_judgements.append(saved.id, [said("1:g4", verdict="reject"), said("2:g1", verdict="withdraw")])
    now = [(j.who, j.unit_id, j.verdict) for j in store.slice_judgements.current(saved.id)]
    assert now == [("Bob", "1:g4", "reject"), ("Ann", "", "accept"), ("Ann", "1:g4", "reject")]
    everything = store.slice_judgements.all(saved.id)
    assert len(everything) == 6
    assert (everything[3].note, everything[3].payload) == ("Sound.", {"c": 0.5})
    assert store.slice_judgements.current(saved.id, "other") == ()


def test_a_judgement_that_is_sent_again_is_stored_once(store: Store, saved: SavedDetections) -> None:
    one = said("1:g4")
    before = store.slice_judgements.stamp(saved.id)
    assert store.slice_judgements.append(saved.id, [one]) == store.slice_judgements.append(saved.id, [one, one])[:1]
    assert len(store.slice_judgements.all(saved.id)) == 1
    assert store.slice_judgements.stamp(saved.id) > before


def test_everything_wrong_is_named_and_then_nothing_is_stored(store: Store, saved: SavedDetections) -> None:
    bad = [
        said(),
        NewJudgement("short", "h", "", "accept"),
        NewJudgement(uuid4().hex, "", "", "maybe", note="x" * 4001),  # type: ignore[arg-type]
        said(payload={"c": float("nan")}),
    ]
    with pytest.raises(InputError, match="Nothing was stored") as e:
        store.slice_judgements.append(saved.id, bad)
    assert [(p.row, p.column) for p in e.value.problems] == [(2, "uid"), (3, "verdict"), (3, "hypothesis_id"), (3, "note"), (4, "payload")]
    assert store.slice_judgements.all(saved.id) == ()


def test_many_people_at_once_lose_nothing(store: Store, saved: SavedDetections) -> None:
    batches = [[said(f"{i}:g{k}", who=f"P{i}") for k in range(5)] for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        acked = list(pool.map(lambda b: store.slice_judgements.append(saved.id, b), batches))
    assert {u for a in acked for u in a} == {j.uid for j in store.slice_judgements.all(saved.id)}
    assert len(store.slice_judgements.current(saved.id)) == 40
