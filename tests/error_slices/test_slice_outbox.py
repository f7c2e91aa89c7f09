"""Presses of the gallery become judgements, each once, and none is lost."""

from __future__ import annotations

import pytest

from core.errors import InputError
from core.operators import slices
from pages.shared.slices import outbox
from tests.slice_units import small_set


@pytest.fixture
def set_id(store, tmp_path):
    return slices.keep_detections(store, small_set(tmp_path / "images", 2)).id


def press(uid, verdict="accept", **more):
    return {
        "uid": uid * 8,
        "hypothesis": "iv_small",
        "unit": "0:g0",
        "verdict": verdict,
        "who": "ann",
        "payload": {"c": 0.9},
        "at": 1,
        **more,
    }


def stored(store, set_id):
    return [(j.uid, j.unit_id, j.verdict, j.who, dict(j.payload)) for j in store.slice_judgements.all(set_id)]


def test_an_outbox_is_stored_in_order_and_once(store, set_id):
    box = {"n": "t:1", "events": [press("a"), press("b", "reject"), press("c", "withdraw", unit="0:g1")]}
    told = outbox.receive(store, set_id, box)
    assert told.acked == ("a" * 8, "b" * 8, "c" * 8) and not told.conflicts and not told.error
    assert outbox.receive(store, set_id, box).acked == told.acked
    assert stored(store, set_id) == [
        ("a" * 8, "0:g0", "accept", "ann", {"c": 0.9}),
        ("b" * 8, "0:g0", "reject", "ann", {"c": 0.9}),
        ("c" * 8, "0:g1", "withdraw", "ann", {"c": 0.9}),
    ]
    assert [(j.unit_id, j.verdict) for j in slices.judgements(store, set_id)] == [("0:g0", "reject")]


@pytest.mark.parametrize(
    "flaw", [{"verdict": "maybe"}, {"payload": None}, {"who": ""}, {"unit": ""}, {"hypothesis": 3}, {"uid": "a b"}, {"who": "x" * 999}]
)
def test_one_that_is_malformed_is_refused_and_keeps_no_other_out(store, set_id, flaw):
    told = outbox.receive(store, set_id, {"events": [press("a"), press("b") | flaw, press("c")]})
    assert told.acked == ("a" * 8, "c" * 8) and not told.error
    assert [text for _, text in told.conflicts] and told.conflicts[0][0] == str(flaw.get("uid", "b" * 8))
    assert len(stored(store, set_id)) == 2


@pytest.mark.parametrize("box", [None, {}, {"events": None}, {"events": "abc"}, {"events": [1, None]}])
def test_nothing_to_store_is_no_error(store, set_id, box):
    assert outbox.receive(store, set_id, box) == outbox.Told()


def test_what_fails_now_is_sent_again(store, set_id, monkeypatch):
    def fail(*_):
        raise InputError("The database is busy")

    monkeypatch.setattr(slices, "judge", fail)
    told = outbox.receive(store, set_id, {"events": [press("a")]})
    assert told.acked == () and told.conflicts == () and "The database is busy" in told.error


def test_a_set_that_is_gone_refuses_nothing_for_ever(store):
    told = outbox.receive(store, "00000000", {"events": [press("a")]})
    assert told.acked == () and told.error
