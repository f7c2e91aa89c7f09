"""Training and calibration: forms, attempts, the pass mark."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from core.errors import InputError
from core.labels.pool import Entry, entries_of
from core.labels.rounds import FORM, calibration_of, calibration_slots, form_cases, training_slots
from core.labels.state import fold_one
from core.storage.label_events import Event, Label, NewEvent
from tests.cases import case


def pool(n: int, yes: int) -> list[Entry]:
    """Gold cases of which the first ones are Y."""
    return [Entry(f"g{i:03d}", f"s{i}", "p", "calibration", "Y" if i < yes else "N") for i in range(n)]


def said(labels: dict[str, Label], slot: str, start: int = 1) -> list[Event]:
    events = [NewEvent(uuid4().hex, c, 1, "label", label, slot) for c, label in labels.items()]
    return [Event("ann", "set", e, datetime.now(UTC), start + i) for i, e in enumerate(events)]


def answers(entries: list[Entry], attempt: int, wrong: int = 0, person=None) -> dict[str, Label]:
    """Gold answers to all cases of an attempt but the first `wrong` Y, which become N."""
    slots = calibration_slots(entries, person or fold_one("ann", []), "ann", attempt)
    right = {e.case_id: e.gold for e in entries}
    out = {s.case_id: right[s.case_id] for s in slots}
    for c in [c for c, g in out.items() if g == "Y"][:wrong]:
        out[c] = "N"
    return out


def test_forms_have_the_mix_of_the_whole_and_share_as_little_as_they_can():
    a, b = (set(form_cases(pool(60, 20), f)) for f in "AB")
    gold = {e.case_id: e.gold for e in pool(60, 20)}
    assert len(a) == len(b) == FORM
    assert a & b == set()
    assert [sum(gold[c] == "Y" for c in f) for f in (a, b)] == [10, 10]
    a, b = (set(form_cases(pool(36, 18), f)) for f in "AB")
    assert (len(a), len(b), len(a & b)) == (30, 30, 24)
    assert set(form_cases(pool(7, 3), "A")) == set(form_cases(pool(7, 3), "B")) == {e.case_id for e in pool(7, 3)}
    assert form_cases([], "A") == ()


def test_all_right_passes():
    entries = pool(60, 20)
    now = calibration_of(entries, fold_one("ann", said(answers(entries, 1), "calibration:1")), "ann")
    assert (now.state, now.attempt, now.form, now.done, now.total) == ("passed", 1, "A", 30, 30)
    assert (now.kappa, now.agreed, now.found, now.gold_yes, now.recall) == (1.0, 30, 10, 10, 1.0)
    assert now.counts == {("Y", "Y"): 10, ("N", "N"): 20}
    assert now.recall_interval == pytest.approx((0.7225, 1.0), abs=1e-4)  # Wilson, 10 of 10
    assert now.kappa_interval.value == 1.0


def test_recall_and_kappa_both_have_to_be_reached():
    entries = pool(60, 20)
    at_mark = calibration_of(entries, fold_one("ann", said(answers(entries, 1, wrong=2), "calibration:1")), "ann")
    assert (at_mark.state, at_mark.found) == ("passed", 8)  # 8 of 10 is the mark itself
    # 28 of 30 agree: po = 28/30, pe = (10*8 + 20*22) / 900
    assert at_mark.kappa == pytest.approx((28 / 30 - 520 / 900) / (1 - 520 / 900))
    below = calibration_of(entries, fold_one("ann", said(answers(entries, 1, wrong=3), "calibration:1")), "ann")
    assert (below.state, below.found) == ("failed", 7)
    all_yes: dict[str, Label] = dict.fromkeys(answers(entries, 1), "Y")
    lazy = calibration_of(entries, fold_one("ann", said(all_yes, "calibration:1")), "ann")
    assert (lazy.state, lazy.kappa, lazy.recall) == ("failed", 0.0, 1.0)


def test_whoever_fails_gets_the_other_form():
    entries = pool(60, 20)
    first = said(answers(entries, 1, wrong=5), "calibration:1")
    failed = fold_one("ann", first)
    now = calibration_of(entries, failed, "ann")
    assert (now.state, now.attempt, now.form) == ("failed", 1, "A")
    again = answers(entries, 2, person=failed)
    assert set(again) & set(answers(entries, 1)) == set()
    some = said(dict(list(again.items())[:4]), "calibration:2", 100)
    now = calibration_of(entries, fold_one("ann", [*first, *some]), "ann")
    assert (now.state, now.attempt, now.form, now.done, now.total, now.kappa) == ("open", 2, "B", 4, 30, None)
    now = calibration_of(entries, fold_one("ann", [*first, *said(again, "calibration:2", 100)]), "ann")
    assert (now.state, now.attempt, now.form) == ("passed", 2, "B")


def test_nothing_is_judged_without_gold_or_before_the_end():
    assert calibration_of([Entry("c", "s", "p")], fold_one("ann", []), "ann").state == "none"
    entries = pool(4, 2)
    now = calibration_of(entries, fold_one("ann", []), "ann")
    assert (now.state, now.done, now.total, now.recall, now.recall_interval) == ("open", 0, 4, None, None)


def test_a_form_without_any_gold_yes_cannot_be_passed():
    entries = pool(5, 0)
    now = calibration_of(entries, fold_one("ann", said(answers(entries, 1), "calibration:1")), "ann")
    assert (now.state, now.kappa, now.recall) == ("failed", None, None)


def test_answered_cases_stay_in_an_attempt_when_cases_are_added():
    entries = pool(40, 20)
    half = dict(list(answers(entries, 1).items())[:15])
    person = fold_one("ann", said(half, "calibration:1"))
    slots = calibration_slots(pool(200, 100), person, "ann", 1)
    assert len(slots) == FORM
    assert set(half) <= {s.case_id for s in slots}


def test_training_cases_come_in_an_order_of_the_persons_own():
    entries = [Entry(f"t{i}", "s", "p", "training", "Y") for i in range(8)]
    slots = training_slots(entries, "ann")
    assert sorted(s.case_id for s in slots) == [e.case_id for e in entries]
    assert {s.name for s in slots} == {"training:1"}
    assert slots != training_slots(entries, "bob")


def test_roles_and_gold_are_read_off_the_cases():
    gold = {"label": "Y", "threats": ["red_light_violation"], "why": "It runs the light."}
    found = entries_of([case("a-p", source={"role": "training", "gold": gold}), case("b-p", flags=("open_future",))])
    assert found[0] == Entry("a-p", "a", "p", "training", "Y", ("red_light_violation",), "It runs the light.")
    assert found[1] == Entry("b-p", "b", "p", flags=("open_future",))


def test_wrong_roles_and_gold_are_all_named():
    with pytest.raises(InputError) as e:
        entries_of([case("a-p", source={"role": "boss"}), case("b-p", source={"gold": {"label": "yes"}})])
    assert [p.column for p in e.value.problems] == ["a-p.source.role", "b-p.source.gold.label"]
