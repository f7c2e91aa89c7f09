"""The loop of labelling as pages use it, on a workspace of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from core.errors import InputError
from core.operators import labelling
from core.settings import Settings
from core.storage import Store, open_store
from core.storage.label_events import NewEvent
from tests.labels.desk import gold_cases, keep, labelling_cases, person, press, say


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path)}))
    yield opened
    opened.close()


@pytest.fixture
def set_id(store: Store) -> str:
    return keep(store, [*labelling_cases(), *gold_cases(6), *gold_cases(4, "training"), *gold_cases(2, "example")])


@pytest.fixture
def ann(store: Store) -> str:
    return person(store)


def test_a_round_is_labelled_to_its_end(store: Store, set_id: str, ann: str) -> None:
    first = labelling.window(store, set_id, ann)
    assert (first.done, first.total, first.saved) == (0, 26, None)  # 24 cases, one repeat, one probe
    assert [i.position for i in first.items] == list(range(1, 9))
    seen = []
    for k in range(26):
        now = labelling.window(store, set_id, ann)
        assert (now.done, now.items[0].position) == (k, k + 1)
        seen.append((now.items[0].case_id, now.items[0].slot))
        new = press(store, set_id, ann, "YNU"[k % 3])
        after = labelling.window(store, set_id, ann)
        assert after.saved is not None
        assert after.saved.new == new
        expected = [i.token for i in now.items[1:]]  # what the browser has is what comes, so that it can go on by itself
        assert [i.token for i in after.items][: len(expected)] == expected
    end = labelling.window(store, set_id, ann)
    assert (end.items, end.done, end.total) == ((), 26, 26)
    assert len({c for c, _ in seen}) == 25
    assert sorted(s for _, s in seen if s != "main") == ["gold", "repeat"]
    assert {c[:2] for c, s in seen if s == "gold"} == {"ca"}  # from calibration, never from training or examples


def test_a_hidden_repeat_looks_like_another_case_and_its_number_goes_on(store: Store, set_id: str, ann: str) -> None:
    items = {}
    while (now := labelling.window(store, set_id, ann)).items:
        items[now.items[0].case_id, now.items[0].slot] = now.items[0]
        press(store, set_id, ann, "N")
    ((case_id, _),) = [k for k in items if k[1] == "repeat"]
    main, repeat = items[case_id, "main"], items[case_id, "repeat"]
    assert main.token != repeat.token
    assert (main.seq, repeat.seq) == (1, 2)
    found = labelling.resolve(store, set_id, ann, [main.token, repeat.token, "nonsense"])
    assert {t: (s.case_id, s.name) for t, s in found.items()} == {main.token: (case_id, "main"), repeat.token: (case_id, "repeat")}


def test_no_window_holds_a_case_twice(store: Store, set_id: str, ann: str) -> None:
    for n in (8, 100):
        ids = [i.case_id for i in labelling.window(store, set_id, ann, n=n).items]
        assert len(set(ids)) == len(ids) > 0
    assert labelling.window(store, set_id, ann, n=0).items == ()


def test_tokens_tell_nothing_and_belong_to_one_person(store: Store, set_id: str, ann: str) -> None:
    bob = person(store, "Bob")
    mine = {i.token for i in labelling.window(store, set_id, ann, n=20).items}
    assert labelling.resolve(store, set_id, bob, mine) == {}
    assert labelling.resolve(store, keep(store, labelling_cases(), "Other"), ann, mine) == {}
    assert len(labelling.resolve(store, set_id, ann, mine)) == len(mine)
    calibrating = labelling.window(store, set_id, ann, round="calibration").items[0]
    assert labelling.resolve(store, set_id, ann, [calibrating.token])[calibrating.token].name == "calibration:1"


def test_undo_brings_the_case_back_first_and_keeps_the_history(store: Store, set_id: str, ann: str) -> None:
    press(store, set_id, ann, "Y")
    label = press(store, set_id, ann, "Y")
    uid = uuid4().hex
    done = labelling.undo(store, set_id, ann, uid)
    assert done.acked == (uid,)
    now = labelling.window(store, set_id, ann)
    assert (now.done, now.items[0].case_id, now.items[0].seq) == (1, label.case_id, 3)
    assert labelling.undo(store, set_id, ann, uid).acked == (uid,)  # sent once more: one label is taken back, not two
    assert labelling.window(store, set_id, ann).done == 1
    assert labelling.undo(store, set_id, ann).stored[0].new.case_id != label.case_id
    assert labelling.undo(store, set_id, ann) == labelling.Recorded(())
    again = labelling.window(store, set_id, ann).items
    assert again[1].case_id == label.case_id  # the one taken back last comes first
    assert [e.new.kind for e in store.labels.events(set_id)] == ["label", "label", "revoke", "revoke"]


def test_undo_of_a_label_that_another_tab_changed_leaves_the_new_one(store: Store, set_id: str, ann: str) -> None:
    old = press(store, set_id, ann, "Y")
    labelling.undo(store, set_id, ann, of=old.uid)
    new = press(store, set_id, ann, "N")
    assert new.case_id == old.case_id
    assert labelling.undo(store, set_id, ann, of=old.uid) == labelling.Recorded(())
    assert labelling.person_of(store, set_id, ann).label(new.case_id) == "N"


def test_undo_stays_in_its_round(store: Store, set_id: str, ann: str) -> None:
    press(store, set_id, ann, "Y", round="training")
    assert labelling.undo(store, set_id, ann, round="labelling") == labelling.Recorded(())
    assert len(labelling.undo(store, set_id, ann, round="training").stored) == 1


def test_a_finished_calibration_is_not_taken_back(store: Store, set_id: str, ann: str) -> None:
    first = press(store, set_id, ann, "Y", round="calibration")
    assert len(labelling.undo(store, set_id, ann, round="calibration").stored) == 1
    for _ in range(6):
        press(store, set_id, ann, "Y", round="calibration")
    now = labelling.calibration(store, set_id, ann)
    assert (now.state, now.done, now.found, now.gold_yes, now.kappa) == ("failed", 6, 3, 3, 0.0)
    refused = labelling.undo(store, set_id, ann, round="calibration")
    assert (refused.stored, len(refused.conflicts)) == ((), 1)
    assert labelling.calibration(store, set_id, ann).done == 6
    other = labelling.window(store, set_id, ann, round="calibration")
    assert (other.done, other.total) == (0, 6)
    assert other.items[0].slot == "calibration:2"
    gold = {e.case_id: e.gold for e in labelling.entries_for(store, set_id)}
    for _ in range(6):
        item = labelling.window(store, set_id, ann, round="calibration").items[0]
        label = gold[item.case_id]
        assert label is not None
        press(store, set_id, ann, label, round="calibration")
    assert labelling.calibration(store, set_id, ann).state == "passed"
    assert labelling.window(store, set_id, ann, round="calibration").items == ()
    assert first.slot == "calibration:1"


def test_training_tells_what_is_right_after_the_answer_only(store: Store, set_id: str, ann: str) -> None:
    item = labelling.window(store, set_id, ann, round="training").items[0]
    assert labelling.window(store, set_id, ann, round="training").total == 4
    assert labelling.feedback(store, set_id, ann, item.case_id) is None
    press(store, set_id, ann, "Y", round="training")
    told = labelling.feedback(store, set_id, ann, item.case_id)
    assert told is not None
    gold = next(e for e in labelling.entries_for(store, set_id) if e.case_id == item.case_id)
    assert (told.label, told.gold, told.why, told.right) == ("Y", gold.gold, gold.why, gold.gold == "Y")


def test_comments_and_tags_need_no_number(store: Store, set_id: str, ann: str) -> None:
    case_id = press(store, set_id, ann, "Y").case_id
    labelling.comment(store, set_id, ann, case_id, " Close to the kerb ")
    labelling.tags(store, set_id, ann, case_id, ["a", "b", "a"])
    labelling.tags(store, set_id, ann, case_id, ["b"])
    me = labelling.person_of(store, set_id, ann)
    assert [e.new.payload["text"] for e in me.comments[case_id]] == ["Close to the kerb"]
    assert me.tags[case_id] == ("b",)
    assert me.next_seq[case_id] == 5
    for text in ("  ", "x" * 4_001):
        with pytest.raises(InputError, match="1 to 4,000"):
            labelling.comment(store, set_id, ann, case_id, text)


def test_what_is_not_of_this_set_is_refused(store: Store, set_id: str, ann: str) -> None:
    with pytest.raises(InputError, match="does not have") as e:
        labelling.record(store, set_id, ann, [NewEvent(uuid4().hex, "else", 1, "label", "Y")])
    assert e.value.problems[0].row == 1
    with pytest.raises(InputError, match="no queue"):
        labelling.window(store, set_id, ann, round="review")
    with pytest.raises(InputError, match="register first"):
        labelling.window(store, set_id, "nobody")
    with pytest.raises(InputError, match="no saved case set"):
        labelling.window(store, "nowhere", ann)


def test_cases_are_left_out_by_choice_and_their_labels_stay(store: Store, ann: str) -> None:
    flagged = [c for c in labelling_cases(4) if c.scene_id != "s00"] + labelling_cases(1, flags=("open_future",))
    set_id = keep(store, flagged)
    assert labelling.left_out(store, set_id) == ()
    assert labelling.window(store, set_id, ann).total == 9  # 8 and a repeat; no gold cases, no probe
    say(store, set_id, ann, {"s00-p0": "Y"})
    labelling.leave_out(store, set_id, ["open_future"])
    now = labelling.window(store, set_id, ann)
    assert (now.done, now.total) == (0, 6)
    labelling.leave_out(store, set_id, [])
    assert labelling.window(store, set_id, ann).done == 1


def test_cases_that_a_person_decided_are_not_asked(store: Store, set_id: str, ann: str) -> None:
    item = labelling.window(store, set_id, ann).items[0]
    labelling.consensus(store, set_id, ann, item.case_id, "N", "Clear enough.")
    assert item.case_id not in {i.case_id for i in labelling.window(store, set_id, ann, n=40).items}


def test_a_set_that_grew_is_another_set_with_the_same_order(store: Store, ann: str) -> None:
    small, large = keep(store, labelling_cases(10)), keep(store, labelling_cases(15))
    before, after = (
        [s.case_id for s in labelling.queue(store, x, labelling.person_of(store, x, ann), "labelling") if s.name == "main"]
        for x in (small, large)
    )
    assert [c for c in after if c in set(before)] == before
