"""The commands `labels`: what three people said of four cases."""

from __future__ import annotations

import json

import pytest

from core.operators import keep_cases
from core.settings import Settings
from core.storage import open_store
from core.storage.label_events import NewEvent
from tests.cases import case, imported

COMMAND = ("labels",)
SAID = {"Ana": "YYNN", "Ben": "YYNN", "Cem": "YNNU"}


@pytest.fixture
def labelled(workspace):
    """A set of four cases that three people labelled; they differ on the second, one is unsure of the fourth."""
    store = open_store(Settings.from_environment())
    cases = [case(f"s{i}-{planner}") for i, planner in enumerate(("one", "one", "two", "two"))]
    saved = keep_cases(store, imported(*cases), name="Four").saved
    for name, said in SAID.items():
        who = store.labels.register(name, 3, False)
        events = [
            NewEvent(f"key-press-{name}-{i}", c.case_id, 1, "label", label, payload={"t_ready_ms": 0, "t_key_ms": 4000 + i})
            for i, (c, label) in enumerate(zip(cases, said, strict=True))
        ]
        assert len(store.labels.append(who.id, saved.id, events).stored) == 4
    store.close()
    return saved


def check(a):
    """Three people: 3 cases without Unsure, on two of them all say the same."""
    assert (a["cases"], a["compared"], a["unanimous"], a["with_unsure"]) == (4, 3, 2, 1)
    assert a["overlap"]["value"] == pytest.approx(2 / 3)
    # Fleiss' kappa by hand: pairs that agree 1, 1/3, 1; five Y of nine answers, so chance is (25 + 16) / 81
    assert a["exclude"]["kappa"]["value"] == pytest.approx(((7 / 9) - (41 / 81)) / (1 - 41 / 81))


def test_agreement_of_a_set_and_of_its_export_is_the_same(run, labelled, tmp_path):
    check(json.loads(run("agreement", "four", "--all", "--json")))
    out = json.loads(run("export", "four", "--out", tmp_path / "out", "--json"))
    assert (out["labels"], out["annotators"]) == (12, 3)
    check(json.loads(run("agreement", tmp_path / "out" / "labels.jsonl", "--all", "--json")))
    assert "2 of 3 cases without Unsure" in run("agreement", "four", "--all")


def test_an_export_names_nobody_and_no_planner_unless_asked(run, labelled, tmp_path):
    run("export", "Four", "--out", tmp_path / "out")
    text = "".join(p.read_text() for p in (tmp_path / "out").iterdir())
    assert not any(word in text for word in (*SAID, "s0-one", "two"))
    run("export", "Four", "--out", tmp_path / "more", "--planner")
    assert '"planner": "two"' in (tmp_path / "more" / "labels.jsonl").read_text()


def test_training_sets_say_what_they_left_out(run, labelled, tmp_path):
    out = json.loads(run("training", "Four", "--out", tmp_path / "t", "--set", "filtered", "--json"))
    assert sum(out["train"].values()) + sum(out["test"].values()) + sum(out["left_out"].values()) == 4
    assert sum(out["left_out"].values()) >= 1
    lines = (tmp_path / "t" / "train.jsonl").read_text() + (tmp_path / "t" / "test.jsonl").read_text()
    assert len(lines.splitlines()) == sum(out["train"].values()) + sum(out["test"].values())


def test_what_is_wrong_is_told(refused, labelled, tmp_path):
    assert '"Four"' in refused("export", "Five", "--out", tmp_path / "x")
    assert "union, filtered" in refused("training", "Four", "--out", tmp_path / "x", "--set", "all")
    path = tmp_path / "labels.jsonl"
    path.write_text('{"case": "a"}\nnothing\n')
    said = refused("agreement", path)
    assert "Row 1" in said
    assert "Row 2" in said
