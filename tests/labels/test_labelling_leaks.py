"""What must not leak: scenes and drives over the split, planners through codes, people through codes that change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as settings_of
from hypothesis import strategies as st

from core.labels.export import case_code, set_code
from core.labels.pool import Entry, drives, entries_of
from core.labels.training_sets import choose
from core.operators import labelling
from core.settings import Settings
from core.storage import Store, open_store
from core.storage.label_events import Label
from core.trajectories.case import Frame
from tests.cases import camera, case
from tests.labels.desk import keep, labelling_cases, person, say


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path / "home")}))
    yield opened
    opened.close()


def seen(*images: str) -> Any:
    """A camera that saw these images, the present one last."""
    return replace(
        camera("images/x.jpg"), frames=tuple(Frame(k - len(images) + 1.0, f"images/{x}.jpg", x * 8) for k, x in enumerate(images))
    )


def test_scenes_that_share_an_image_or_a_recording_are_one_drive() -> None:
    cases = [
        case("m0-p", cameras=(seen("a", "b"),)),
        case("m1-p", cameras=(seen("b", "c"),)),
        case("m2-p", cameras=(seen("c", "d"),)),  # shares nothing with the first one, and yet is of the same drive
        case("n-p", cameras=(seen("e"),)),
        case("n-q", cameras=(seen("e"),)),  # another planner of the same scene
        case("r1-p", source={"dataset": "X", "log": "7"}),
        case("r2-p", source={"dataset": "X", "log": "7"}),
        case("r3-p", source={"dataset": "Y", "log": "7"}),
        replace(case("w1-p"), scene_id="abc-001", source={"dataset": "WOD-E2E"}),
        replace(case("w2-p"), scene_id="abc-002", source={"dataset": "WOD-E2E"}),
        replace(case("w3-p"), scene_id="abd-001", source={"dataset": "WOD-E2E"}),
    ]
    assert drives(cases) == {"m0": "m0", "m1": "m0", "m2": "m0", "r1": "r1", "r2": "r1", "abc-001": "abc-001", "abc-002": "abc-001"}
    assert drives(cases[::-1]) == drives(cases)
    assert [e.drive for e in entries_of(cases)][:4] == ["m0", "m0", "m0", ""]
    assert drives([]) == {}


@given(
    answers=st.lists(st.lists(st.sampled_from(["Y", "N", "U"]), max_size=3), min_size=4, max_size=60),
    more=st.lists(st.lists(st.sampled_from(["Y", "N"]), min_size=1, max_size=2), min_size=60, max_size=60),
    split=st.sampled_from([0.1, 0.3, 0.5]),
    seed=st.integers(0, 5),
)
@settings_of(max_examples=60, deadline=None)
def test_what_tests_in_one_set_never_trains_in_another(
    answers: list[list[Label]], more: list[list[Label]], split: float, seed: int
) -> None:
    """Over union and filtered, now and later: no scene and no drive is on both sides, unless labels are so few that one side is empty."""
    entries = [Entry(f"c{i}", f"s{i // 2}", "p", drive=f"d{i // 4}" if i % 3 == 0 else "") for i in range(len(answers))]
    entries = [replace(e, drive=next((x.drive for x in entries if x.scene_id == e.scene_id and x.drive), "")) for e in entries]
    given_, later = ({e.case_id: list(x) for e, x in zip(entries, found, strict=False)} for found in (answers, more))
    made = [
        choose(entries, given_, {}, "union", split=split, seed=seed),
        choose(entries, given_, {}, "filtered", split=split, seed=seed),
        choose(entries, {c: [*a, *later[c]] for c, a in given_.items()}, {}, "union", split=split, seed=seed),
    ]
    sides = [[{x.entry.drive or x.entry.scene_id for x in m.examples if x.part == p} for p in ("train", "test")] for m in made]
    for train, test in sides:
        assert train & test == set()
        assert len(train | test) < 2 or (train and test)
    every = sorted({e.drive or e.scene_id for e in entries}, key=lambda d: hashlib.sha256(f"{seed}\x1f{d}".encode()).digest())
    usual = set(every[: min(max(1, int(split * len(every) + 0.5)), len(every) - 1)])
    ample = [(train, test) for train, test in sides if 0 < len(usual & (train | test)) < len(train | test)]
    for train, test in ample:
        assert test == usual & (train | test)
        assert all(not train & other for _, other in ample)


def test_no_file_that_leaves_the_house_lets_a_guess_of_the_planner_be_checked(store: Store, tmp_path: Path) -> None:
    set_id = keep(store, labelling_cases(3))
    saved = store.cases.get(set_id)
    say(store, set_id, person(store), {"s00-p0": "Y", "s01-p1": "N"})
    labelling.export(store, set_id, tmp_path / "out")
    labelling.training_set(store, set_id, tmp_path / "out", "union", split=0.5)
    text = "\n".join(p.read_text() for p in (tmp_path / "out").iterdir())
    for told in (saved.digest, saved.digest[:12], set_id, "s00-p0"):
        assert told not in text
    assert case_code(saved.digest, "s00-p0") in text
    for name in ("codebook.md", "manifest.json"):
        assert set_code(saved.digest) in (tmp_path / "out" / name).read_text()


def test_a_code_never_changes_when_others_register(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    set_id = keep(store, labelling_cases(2))
    people = [person(store, f"P{i}") for i in range(12)]

    class Alike:
        """A hash of which the first ten digits are those of two others."""

        def __init__(self, data: bytes) -> None:
            self.data = data

        def hexdigest(self) -> str:
            who = self.data.decode().split("\x1f")[0]
            return f"{int(who) % 3:x}" * 10 + f"{int(who):054x}"[::-1]

    salts = {p: str(i) for i, p in enumerate(people)}
    monkeypatch.setattr("core.operators.labelling_results.hashlib.sha256", Alike)
    before: dict[str, str] = {}
    for n in range(1, 13):
        monkeypatch.setattr(type(store.labels), "salts", lambda self, n=n: dict(list(salts.items())[:n]))
        now = labelling.codes(store, set_id)
        assert len(set(now.values())) == n
        assert before.items() <= now.items()
        before = now


def test_codes_of_two_sets_and_purposes_have_nothing_in_common(store: Store) -> None:
    one, two = keep(store, labelling_cases(1), "One"), keep(store, labelling_cases(1), "Two")
    ann = person(store)
    found = {labelling.codes(store, s, purpose)[ann] for s in (one, two) for purpose in ("page", "export")}
    assert len(found) == 4
