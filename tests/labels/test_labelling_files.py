"""Labels as files: nobody and no planner can be told from them, what is left out is counted, and they read back."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import InputError
from core.labels.export import FIELDS, LabelRow, answers_of, band, case_code, read_labels
from core.labels.pool import Entry
from core.labels.training_sets import Which, choose, facts
from core.operators import labelling
from core.settings import Settings
from core.storage import Store, open_store
from core.storage.label_events import Label
from core.trajectories.case import Trajectory
from tests.cases import camera, case
from tests.labels.desk import gold_cases, keep, labelling_cases, person, press, say


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path / "home")}))
    yield opened
    opened.close()


@pytest.fixture
def set_id(store: Store) -> str:
    cases = [case(f"s{i:02d}-secretplanner{k}") for i in range(10) for k in range(2)]
    return keep(store, [*cases, *gold_cases(6), *gold_cases(2, "training")])


def name(i: int, k: int = 0) -> str:
    return f"s{i:02d}-secretplanner{k}"


# Export


def test_an_export_tells_no_person_no_time_and_no_planner(store: Store, set_id: str, tmp_path: Path) -> None:
    ann, bob, cy = store.labels.register("Annabel", 0.5, True).id, person(store, "Bobby"), person(store, "Cy")
    timing: dict[str, Any] = {"t_ready_ms": 100, "t_key_ms": 4_200, "hidden_ms": 0, "playback_n": 2, "magnifier_ms": 1500, "keyboard": True}
    say(store, set_id, ann, {name(0): "Y", name(1): "N"}, **timing)
    say(store, set_id, ann, {name(0): "Y"}, slot="repeat")
    say(store, set_id, bob, {name(0): "N"})
    press(store, set_id, bob, "Y", round="training")
    labelling.comment(store, set_id, ann, name(0), "I am Annabel")
    labelling.tags(store, set_id, ann, name(0), ["red_light_violation"])
    labelling.consensus(store, set_id, cy, name(0), "Y", "Cy says so")
    made = labelling.export(store, set_id, tmp_path / "out")
    assert (made.labels, made.checks, made.decided, made.annotators, made.not_counting) == (3, 1, 1, 2, 0)
    assert made.left_out == {"comments": 1, "labels of the training round": 1}
    text = b"\n".join(made.files.values()).decode()
    assert {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()} == made.files
    codes = labelling.codes(store, set_id)
    for secret in ("Annabel", "Bobby", "Cy", "secretplanner", ann, bob, cy, codes[ann], codes[bob]):
        assert secret not in text
    assert f"{datetime.now(UTC):%Y-%m}" not in text
    rows = read_labels(made.files["labels.jsonl"].decode())
    first = next(r for r in rows if r.slot == "main" and r.seconds)
    assert (first.seconds, first.playback_n, first.magnifier_seconds, first.keyboard) == (4.1, 2, 1.5, True)
    digest = store.cases.get(set_id).digest
    assert {r.case for r in rows} == {case_code(digest, name(0)), case_code(digest, name(1))}
    people = [json.loads(x) for x in made.files["annotators.jsonl"].decode().splitlines()]
    assert sorted((p["experience"], p["researcher"], p["labels"]) for p in people) == [
        ("3 to 9 years", True, 1),
        ("under 1 year", True, 2),
    ]
    assert sorted(len(of) for of in answers_of(rows).values()) == [1, 2]


def test_planner_and_comments_are_told_where_they_are_asked_for(store: Store, set_id: str) -> None:
    ann = person(store)
    say(store, set_id, ann, {name(3): "U"})
    labelling.comment(store, set_id, ann, name(3), "Line\u2028break")
    made = labelling.export(store, set_id, planner=True, comments=True)
    (row,) = read_labels(made.files["labels.jsonl"].decode())
    assert (row.case_id, row.planner, row.comments) == (name(3), "secretplanner0", ("Line\u2028break",))
    assert made.left_out == {}
    book = made.files["codebook.md"].decode()
    assert "synthetic" in book
    assert "Nothing was left out." in book
    assert all(f"`{f}`" in book for f in row.model_dump(exclude_none=True))


def test_an_export_is_the_same_each_time_and_in_no_order_of_people(store: Store, set_id: str) -> None:
    for who in ("Ann", "Bob", "Cy"):
        say(store, set_id, person(store, who), {name(i): "Y" if i % 2 else "N" for i in range(5)})
    made = labelling.export(store, set_id)
    assert labelling.export(store, set_id).files == made.files
    keys = [(r.case, r.annotator) for r in read_labels(made.files["labels.jsonl"].decode())]
    assert keys == sorted(keys)


def test_labels_that_were_taken_back_are_counted_and_flagged_ones_are_marked(store: Store, set_id: str) -> None:
    ann = person(store)
    press(store, set_id, ann, "Y")
    labelling.undo(store, set_id, ann)
    for _ in range(16):
        press(store, set_id, ann, "N")
    made = labelling.export(store, set_id)
    rows = read_labels(made.files["labels.jsonl"].decode())
    assert made.not_counting == len(rows) == 16
    assert sum(r.taken_back for r in rows) == 1
    assert answers_of(rows) == {}
    assert len(answers_of(rows, all_of_them=True)) == 1


def test_nothing_to_export_is_said(store: Store, set_id: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to export"):
        labelling.export(store, set_id)
    say(store, set_id, person(store), {name(0): "Y"})
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        labelling.export(store, set_id, tmp_path / "file")


def test_files_of_labels_are_checked_line_by_line() -> None:
    good = LabelRow(case="c", annotator="p1", label="Y").line()
    with pytest.raises(InputError) as e:
        read_labels(f'{good}\n{{"case": "c", "annotator": "p2", "label": "maybe"}}\nno json\n{good}\n\n{{"case": ""}}\n')
    assert [(p.row, p.column) for p in e.value.problems] == [
        (2, "label"),
        (3, "line"),
        (4, "case"),
        (6, "case"),
        (6, "annotator"),
        (6, "label"),
    ]
    with pytest.raises(InputError, match="not a single label"):
        read_labels("\n")
    assert set(FIELDS) == set(LabelRow.model_fields)


def test_experience_is_told_in_bands() -> None:
    assert [band(y) for y in (0, 0.9, 1, 2.9, 3, 9.9, 10, 90)] == [
        "under 1 year",
        "under 1 year",
        "1 to 2 years",
        "1 to 2 years",
        "3 to 9 years",
        "3 to 9 years",
        "10 years or more",
        "10 years or more",
    ]


# Training sets

ANSWERS: dict[str, list[Label]] = {
    "yes": ["Y", "Y"],
    "one yes": ["Y", "N", "N"],
    "yes or unsure": ["Y", "U"],
    "no": ["N", "N"],
    "no or unsure": ["N", "U"],
    "unsure": ["U"],
    "nobody": [],
    "settled": ["Y", "N"],
    "open": ["Y", "Y"],
}


def chosen(which: Which, split: float = 0.0) -> Any:
    entries = [Entry(c, f"scene of {c}", "p") for c in ANSWERS]
    return choose(entries, ANSWERS, {"settled": "N", "open": "U"}, which, split=split)


def test_one_yes_is_enough_for_the_union_and_disagreement_too_much_for_the_filtered_set() -> None:
    union, filtered = chosen("union"), chosen("filtered")
    assert {x.entry.case_id: x.target for x in union.examples} == {
        "yes": "Y",
        "one yes": "Y",
        "yes or unsure": "Y",
        "no": "N",
        "settled": "N",
    }
    assert union.left_out == {"somebody was not sure": 2, "no label that counts": 1, "decided: cannot be told": 1}
    assert {x.entry.case_id: x.target for x in filtered.examples} == {"yes": "Y", "no": "N", "settled": "N"}
    assert filtered.left_out == {
        "people differ": 1,
        "somebody was not sure": 3,
        "no label that counts": 1,
        "decided: cannot be told": 1,
    }
    assert len(union.examples) + sum(union.left_out.values()) == len(filtered.examples) + sum(filtered.left_out.values()) == 9


def test_no_scene_is_on_both_sides() -> None:
    entries = [Entry(f"{s}-{p}", f"s{s}", f"p{p}") for s in range(40) for p in range(3)]
    answers: dict[str, list[Label]] = {e.case_id: ["Y" if i % 2 else "N"] for i, e in enumerate(entries)}
    found = choose(entries, answers, {}, "union", split=0.1, seed=3)
    parts = {p: {x.entry.scene_id for x in found.examples if x.part == p} for p in ("train", "test")}
    assert parts["train"] & parts["test"] == set()
    assert (len(parts["train"]), len(parts["test"])) == (36, 4)
    assert sum(found.count(p, t) for p in ("train", "test") for t in ("Y", "N")) == 120
    more = choose([*entries, Entry("x", "new", "p")], answers | {"x": ["Y"]}, {}, "union", split=0.1, seed=3)
    assert choose(entries[::-1], answers, {}, "union", split=0.1, seed=3).examples == found.examples[::-1]
    assert len({x.entry.scene_id for x in more.examples if x.part == "test"} ^ parts["test"]) <= 2
    for wrong in (-0.1, 1.0):
        with pytest.raises(InputError, match="at least 0 and below 1"):
            choose(entries, answers, {}, "union", split=wrong)


def test_a_training_set_has_pictures_with_both_paths_and_never_the_planner(store: Store, tmp_path: Path) -> None:
    from PIL import Image

    made = io.BytesIO()
    Image.new("RGB", (320, 200), (90, 90, 90)).save(made, "JPEG")
    intrinsics = np.array([[200.0, 0, 160], [0, 200.0, 100], [0, 0, 1]])
    extrinsics = np.array([[0.0, 0, 1, 1.5], [-1, 0, 0, 0], [0, -1, 0, 1.5], [0, 0, 0, 1]])
    front = replace(camera("images/front.jpg"), width=320, height=200, intrinsics=intrinsics, extrinsics=extrinsics)
    gone = camera("images/gone.jpg", "rear")
    seen = [case(f"s{i}-secretplanner", cameras=(front, gone)) for i in range(4)]
    set_id = keep(store, [*seen, *labelling_cases(1)], images={"images/front.jpg": made.getvalue()})
    ann = person(store)
    say(store, set_id, ann, {"s0-secretplanner": "Y", "s1-secretplanner": "N", "s2-secretplanner": "U", "s00-p0": "N"})
    counted = labelling.training_set(store, set_id, None, "filtered", split=0.5)
    assert len(counted.chosen.examples) == 3
    done = labelling.training_set(store, set_id, tmp_path / "set", "filtered", split=0.5)
    assert (done.images, done.without_images) == (2, 1)
    assert dict(done.chosen.left_out) == {"somebody was not sure": 1, "no label that counts": 2}
    lines = [json.loads(x) for p in ("train", "test") for x in (tmp_path / "set" / f"{p}.jsonl").read_text().splitlines()]
    assert sorted(x["conversations"][1]["value"] for x in lines) == ["N", "N", "Y"]
    for x in lines:
        asked = x["conversations"][0]["value"]
        assert asked.count("<image>") == len(x["image"])
        assert "secretplanner" not in json.dumps(x)
        assert x["id"] in "".join(x["image"]) or not x["image"]
    picture = np.asarray(Image.open(next((tmp_path / "set" / "images").iterdir())).convert("RGB"), dtype=int)
    assert (np.ptp(picture, axis=2) > 60).sum() > 50  # paths in colour on a grey image
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    assert manifest["synthetic"] is True
    assert manifest["left_out"] == dict(done.chosen.left_out)
    with pytest.raises(InputError, match="Not a single case"):
        labelling.training_set(store, keep(store, labelling_cases(1)), tmp_path / "no", "union")


def test_the_facts_are_those_of_the_whole_seconds() -> None:
    points = [[2.0 * k, 0.1 * k] for k in range(1, 5)]
    path = Trajectory.of(points, valid=[True, True, True, False])
    told = facts(case(dt_s=0.5, expert=path, planner=path))
    assert told.splitlines() == [
        "Command: straight. Speed now: 8.0 m/s.",
        "Expert, metres ahead and to the left at each second: 1 s (4.0, 0.2), 2 s (not known).",
        "Planner, metres ahead and to the left at each second: 1 s (4.0, 0.2), 2 s (not known).",
    ]
