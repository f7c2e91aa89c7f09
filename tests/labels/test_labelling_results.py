"""What comes of labelling: progress, checks, disagreements and their decisions, agreement, verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import ConflictError, InputError
from core.labels.checks import Share
from core.operators import labelling
from core.settings import Settings
from core.storage import Store, open_store
from core.storage.label_events import Label
from tests.labels.desk import gold_cases, keep, labelling_cases, person, press, say


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path)}))
    yield opened
    opened.close()


@pytest.fixture
def set_id(store: Store) -> str:
    return keep(store, [*labelling_cases(), *gold_cases(6), *gold_cases(2, "training")])


def ids(n: int = 12, planners: int = 2) -> list[str]:
    return [f"s{i:02d}-p{k}" for i in range(n) for k in range(planners)]


def alternating(cases: list[str]) -> dict[str, Label]:
    return {c: "YN"[i % 2] for i, c in enumerate(cases)}  # type: ignore[misc]


def test_progress_of_nobody_and_of_two(store: Store, set_id: str) -> None:
    empty = labelling.progress(store, set_id)
    assert (empty.cases, empty.left_out, empty.by_labels, empty.people) == (24, 0, {0: 24}, ())
    ann, bob = person(store), person(store, "Bob")
    say(store, set_id, ann, {f"s{i:02d}-p0": "Y" for i in range(5)})  # not what comes next, which may be a hidden check
    press(store, set_id, bob, "U", round="training")
    now = {p.annotator_id: p for p in labelling.progress(store, set_id).people}
    assert (now[ann].done, now[ann].total, dict(now[ann].labels)) == (5, 26, {"Y": 5})
    assert (now[bob].done, dict(now[bob].labels)) == (0, {})
    assert now[ann].code != now[bob].code
    assert ann not in now[ann].code
    assert now[ann].counts
    assert now[ann].last is not None
    assert labelling.progress(store, set_id).by_labels == {0: 19, 1: 5}


# Checks


def test_one_key_runs_are_flagged_beyond_fifteen_until_somebody_looked(store: Store, set_id: str) -> None:
    ann, bob = person(store), person(store, "Bob")
    for _ in range(15):
        press(store, set_id, ann, "N")
    assert labelling.progress(store, set_id).people[0].checks.flags == ()
    last = press(store, set_id, ann, "N")
    row = labelling.progress(store, set_id).people[0]
    assert (row.checks.flags, row.checks.longest_run, row.checks.run_label, row.counts) == (("one_key",), 16, "N", False)
    assert labelling.agreement(store, set_id).not_counting == (row.code,)
    assert labelling.verdicts(store, set_id) == ()
    for who, note, said in ((ann, "fine", "own labels"), (bob, " ", "Say why"), ("nobody", "x", "register first")):
        with pytest.raises(InputError, match=said):
            labelling.clear_flags(store, set_id, ann, who, note)
    assert labelling.clear_flags(store, set_id, ann, bob, "Looked at ten of them.").counts
    assert labelling.progress(store, set_id).people[0].cleared == ("one_key",)
    own = {e.new.case_id for e in store.labels.events(set_id, ann) if e.new.slot == "main"}  # the other presses met hidden checks
    assert {v.case_id for v in labelling.verdicts(store, set_id)} == own
    labelling.undo(store, set_id, ann, of=last.uid)
    assert labelling.progress(store, set_id).people[0].checks.flags == ()


def test_fast_labels_are_flagged_and_hidden_tabs_do_not_count(store: Store, set_id: str) -> None:
    ann = person(store)
    fast, slow = ({"t_ready_ms": 0, "t_key_ms": ms, "hidden_ms": 0} for ms in (1_499, 1_501))
    say(store, set_id, ann, alternating(ids()[:9]), **fast)
    assert labelling.progress(store, set_id).people[0].checks.flags == ()  # nine labels are too few to judge
    say(store, set_id, ann, alternating(ids()[9:12]), **{**fast, "hidden_ms": 100})
    row = labelling.progress(store, set_id).people[0].checks
    assert (row.labels, row.timed, row.flags) == (12, 9, ())
    say(store, set_id, ann, alternating(ids()[12:14]), **fast)
    row = labelling.progress(store, set_id).people[0].checks
    assert (row.median_s, row.flags) == (1.499, ("fast",))
    bob = person(store, "Bob")
    say(store, set_id, bob, alternating(ids()[:12]), **slow)
    assert {p.annotator_id: p.checks.flags for p in labelling.progress(store, set_id).people}[bob] == ()


def test_self_agreement_and_gold_are_judged_from_five_on(store: Store, set_id: str) -> None:
    ann = person(store)
    main = alternating(ids()[:12])
    say(store, set_id, ann, main)
    first = dict(list(main.items())[:4])
    opposite: dict[str, Label] = {c: "N" if x == "Y" else "Y" for c, x in first.items()}
    say(store, set_id, ann, opposite, slot="repeat")
    assert labelling.progress(store, set_id).people[0].checks.flags == ()
    say(store, set_id, ann, {ids()[4]: main[ids()[4]]}, slot="repeat")
    gold = {e.case_id: e.gold for e in labelling.entries_for(store, set_id) if e.role == "calibration"}
    right: dict[str, Label] = {c: g for c, g in gold.items() if g is not None}
    wrong: dict[str, Label] = {c: "U" if i < 2 else g for i, (c, g) in enumerate(right.items())}
    say(store, set_id, ann, wrong, slot="gold")
    row = labelling.progress(store, set_id).people[0].checks
    assert (row.repeats, row.gold) == (Share(1, 5), Share(4, 6))
    assert row.flags == ("self_agreement", "gold")
    assert row.repeats.interval == pytest.approx((0.0362, 0.6245), abs=1e-4)  # Wilson, 1 of 5


# Disagreements


def test_disagreements_tell_no_person_and_a_third_one_decides(store: Store, set_id: str) -> None:
    ann, bob, cy = person(store), person(store, "Bob"), person(store, "Cy")
    same, split, unsure, both = ids()[:4]
    say(store, set_id, ann, {same: "Y", split: "Y", unsure: "N", both: "Y"})
    say(store, set_id, bob, {same: "Y", split: "N", unsure: "U", both: "N"})
    dan = person(store, "Dan")
    say(store, set_id, dan, {both: "U"})
    labelling.comment(store, set_id, bob, split, "Yields late")
    labelling.tags(store, set_id, ann, split, ["red_light_violation"])
    found = labelling.disagreements(store, set_id, cy)
    assert {(d.case_id, d.why) for d in found} == {(split, "split"), (unsure, "unsure"), (both, "both")}
    assert [d.why for d in found][-1] == "split"  # cases with an Unsure come first
    at = next(d for d in found if d.case_id == split)
    assert sorted(g.label for g in at.given) == ["N", "Y"]
    assert [g.who for g in at.given] == ["A", "B"]
    assert {g.label: (g.comments, g.threats) for g in at.given} == {"N": (("Yields late",), ()), "Y": ((), ("red_light_violation",))}
    assert not {ann, bob, "Ann", "Bob"} & set(json.dumps([vars(g) for g in at.given]).split('"'))
    assert at.may_decide
    assert not next(d for d in labelling.disagreements(store, set_id, ann) if d.case_id == split).may_decide

    with pytest.raises(InputError, match="somebody else"):
        labelling.consensus(store, set_id, ann, split, "Y", "mine")
    with pytest.raises(InputError, match="Say why"):
        labelling.consensus(store, set_id, cy, split, "Y", " ")
    with pytest.raises(InputError, match="no case"):
        labelling.consensus(store, set_id, cy, "else", "Y", "x")
    first = labelling.consensus(store, set_id, cy, split, "Y", "It does cut in.")
    eve = person(store, "Eve")
    with pytest.raises(ConflictError, match="meanwhile"):
        labelling.consensus(store, set_id, eve, split, "N", "I had not seen that.")
    second = labelling.consensus(store, set_id, eve, split, "N", "Looked again.", seen=first.number)
    third = labelling.consensus(store, set_id, cy, split, "U", "Who knows.", seen=second.number)
    at = next(d for d in labelling.disagreements(store, set_id) if d.case_id == split)
    assert at.history == (first, second, third)
    assert at.decided == third
    assert labelling.disagreements(store, set_id)[-1].case_id == split  # decided ones come last


def test_people_have_no_fixed_place_among_the_letters(store: Store, set_id: str) -> None:
    ann, bob = person(store), person(store, "Bob")
    say(store, set_id, ann, dict.fromkeys(ids(), "Y"))
    say(store, set_id, bob, dict.fromkeys(ids(), "N"))
    first = [d.given[0].label for d in labelling.disagreements(store, set_id)]
    assert len(first) == 24
    assert set(first) == {"Y", "N"}  # both orders happen: 24 fair draws come out equal once in 8 million workspaces


def test_a_case_with_one_label_or_equal_ones_is_no_disagreement(store: Store, set_id: str) -> None:
    assert labelling.disagreements(store, set_id) == ()
    say(store, set_id, person(store), {ids()[0]: "Y", ids()[1]: "N"})
    say(store, set_id, person(store, "Bob"), {ids()[0]: "Y"})
    assert labelling.disagreements(store, set_id) == ()


# Agreement and verdicts


def test_agreement_counts_main_labels_alone(store: Store, set_id: str) -> None:
    ann, bob = person(store), person(store, "Bob")
    say(store, set_id, ann, {ids()[0]: "Y", ids()[1]: "N", ids()[2]: "Y", ids()[3]: "U"})
    say(store, set_id, bob, {ids()[0]: "Y", ids()[1]: "N", ids()[2]: "N", ids()[3]: "Y"})
    say(store, set_id, ann, {ids()[0]: "N"}, slot="repeat")
    found = labelling.agreement(store, set_id, repeats=50)
    codes = labelling.codes(store, set_id)
    assert set(found.answers) == {codes[ann], codes[bob]}
    assert (found.raters.compared, found.raters.unanimous, found.raters.with_unsure) == (3, 2, 1)


def test_verdicts_follow_the_rule_and_a_decision_goes_before_it(store: Store, set_id: str) -> None:
    ann, bob, cy = person(store), person(store, "Bob"), person(store, "Cy")
    a, b, c = ids()[:3]
    say(store, set_id, ann, {a: "Y", b: "Y", c: "N"})
    say(store, set_id, bob, {a: "Y", b: "N"})
    labelling.tags(store, set_id, bob, a, ["red_light_violation"])
    labelling.consensus(store, set_id, cy, b, "N", "No.")
    found = {v.case_id: v for v in labelling.verdicts(store, set_id)}
    assert {k: v.status for k, v in found.items()} == {a: "has_threat", b: "no_threat", c: "no_threat"}
    assert (found[a].threats, found[a].scene_id, found[a].planner_id) == (frozenset({"red_light_violation"}), "s00", "p0")
    assert found[b].source == "consensus"


def test_times_are_of_cases_not_of_practice(store: Store, set_id: str) -> None:
    ann = person(store)
    say(store, set_id, ann, {ids()[0]: "Y"}, t_ready_ms=0, t_key_ms=4_000, hidden_ms=0)
    press(store, set_id, ann, "Y", round="training", t_ready_ms=0, t_key_ms=9_000, hidden_ms=0)
    found = labelling.times(store, set_id)
    assert set(found) == {"", labelling.codes(store, set_id)[ann]}
    assert found[""].seconds == (4.0,)


def test_what_is_left_out_by_choice_is_in_no_figure(store: Store) -> None:
    set_id = keep(store, [*labelling_cases(2), *labelling_cases(1, planners=1, flags=("open_future",), scene_id="x")][1:])
    ann, bob = person(store), person(store, "Bob")
    say(store, set_id, ann, {"s00-p0": "Y", "s01-p0": "Y"})
    say(store, set_id, bob, {"s00-p0": "N", "s01-p0": "Y"})
    assert len(labelling.disagreements(store, set_id)) == 1
    labelling.leave_out(store, set_id, ["open_future"])
    assert labelling.disagreements(store, set_id) == ()
    assert [v.case_id for v in labelling.verdicts(store, set_id)] == ["s01-p0"]
    assert labelling.agreement(store, set_id, repeats=10).raters.cases == 1
    assert labelling.progress(store, set_id).left_out == 1


def test_what_figures_rest_on_changes_with_everything_that_changes_them(store: Store, set_id: str) -> None:
    ann, bob = person(store), person(store, "Bob")
    seen = [labelling.basis(store, set_id)]
    for _ in range(16):
        press(store, set_id, ann, "N")
    seen.append(labelling.basis(store, set_id))
    assert labelling.basis(store, set_id) == seen[-1]
    labelling.clear_flags(store, set_id, ann, bob, "Fine.")
    seen.append(labelling.basis(store, set_id))
    labelling.leave_out(store, set_id, ["open_future"])
    seen.append(labelling.basis(store, set_id))
    assert len(set(seen)) == 4
