"""What the executor may do by itself, what waits, what is kept, and what a replay notices."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core.controller import replay, resume, start
from core.controller.record import Record
from core.controller.state import RunState
from core.errors import InputError
from core.evaluation import Limits
from core.settings import Settings

FOG = "Identify missing foggy highway slices, retrieve test images, and evaluate the model."
HOLES = "What blind spots exist in our current test coverage?"


def folder_of(store, state):
    return store.runs.path(store.runs.get(state.id))


def test_a_paid_step_waits_with_its_estimate_and_is_done_once_confirmed(with_models, store, stub):
    context = with_models("vlm", "judge")
    state = start(FOG, context)
    assert (state.status, state.steps[state.waiting].op) == ("waiting", "evaluate")
    assert state.steps[2].estimate["model_calls"] > 0
    assert stub.asked == []
    folder = folder_of(store, state)
    after = resume(store.runs.get(state.id), context, {2: "do"})
    assert [s.status for s in after.steps] == ["done"] * 4
    assert len(stub.asked) >= after.steps[2].rows
    assert (folder / "agent_response.1.md").exists()  # what was said before is kept
    assert replay(folder, store, Settings.from_environment()).equal


def test_a_paid_step_may_be_left_out(with_models, store, stub):
    context = with_models("vlm")
    state = start(FOG, context)
    after = resume(store.runs.get(state.id), context, {2: "skip"})
    assert [s.status for s in after.steps] == ["done", "done", "skipped", "done"]
    assert (after.status, stub.asked) == ("done", [])


def test_a_budget_that_is_used_up_pauses_with_its_reason_and_is_gone_on_from(with_models, store, stub):
    context = replace(with_models("vlm", "judge"), limits=Limits(start=1, most=1, max_calls=2))
    state = start(FOG, context, auto_confirm=True)
    evaluate = state.steps[2]
    assert (state.status, evaluate.status) == ("waiting", "waiting")
    assert evaluate.note.startswith("Paused: ")
    assert "2" in evaluate.note
    assert len(stub.asked) == 2
    after = resume(store.runs.get(state.id), replace(context, limits=None), {2: "do"})
    assert [s.status for s in after.steps] == ["done"] * 4
    bodies = [json.dumps(r.body, sort_keys=True) for r in stub.asked]
    assert len(bodies) == len(set(bodies))  # what was paid before is not paid again


def test_without_a_model_the_bundle_is_ready_and_the_reason_is_told(context):
    state = start(FOG, context, auto_confirm=True)
    evaluate = state.steps[2]
    assert evaluate.status == "skipped"
    assert "ODDYSSEY_VLM_BASE_URL" in evaluate.note
    assert "normalized_bundle.jsonl" in state.files


def test_a_search_that_was_stopped_says_so_and_replays_as_far_as_it_went(context, store):
    looks = iter([False] * 3 + [True] * 100)
    state = start(FOG, replace(context, cancel=lambda: next(looks)))
    search = state.steps[1]
    assert "It was stopped before the last 7 of 10 slices." in search.note
    again = replay(folder_of(store, state), store, Settings.from_environment())
    assert [c for c in again.checks if c.status != "equal"] == []


def test_without_footage_every_slice_stays_unfilled(context, store):
    state = start("Find high-risk untested scenarios and acquire test samples for evaluation.", replace(context, datastore=None))
    acquire = state.steps[1]
    assert (acquire.status, acquire.rows) == ("done", 0)
    assert acquire.counts["unfilled"] == 10
    assert "no footage" in acquire.note
    assert replay(folder_of(store, state), store, Settings.from_environment()).equal


def test_the_result_of_a_step_equals_that_of_the_operator(context, store):
    from core import operators

    state = start(HOLES, context)
    folder = folder_of(store, state)
    alone = operators.rank(context.seed, context.params, context.settings, top=10)
    header, *rows = (folder / "suggest_top_missing_slices_within_ODD.csv").read_text(encoding="utf-8").splitlines()
    expected = operators.as_csv(alone.ranking).decode().splitlines()
    assert header.startswith(expected[0])
    assert [row.startswith(line) for row, line in zip(rows, expected[1:], strict=True)] == [True] * 10


def test_the_same_question_gives_the_same_bytes(context, store):
    first, second = (folder_of(store, start(HOLES, context)) for _ in range(2))
    same = ("suggest_top_missing_slices_within_ODD.csv", "triage.json", "agent_response.md", "plan.json")
    assert {n: (first / n).read_bytes() for n in same} == {n: (second / n).read_bytes() for n in same}


def test_a_question_that_nobody_understands_is_asked_back(context):
    state = start("Please bake a cake.", context)
    assert (state.status, state.steps) == ("clarify", ())
    assert state.clarify


@pytest.mark.parametrize("query", ["", "   ", "x" * 4_001])
def test_a_question_of_no_use_is_refused_before_anything_is_kept(context, store, query):
    with pytest.raises(InputError, match="1 to 4,000"):
        start(query, context)
    assert store.runs.list() == ()


def test_a_state_survives_its_record(context, store):
    state = start(HOLES, context)
    kept = json.loads(json.dumps(store.runs.get(state.id).state))
    assert RunState.from_dict(kept) == state


def test_an_interrupted_run_goes_on_from_its_record(context, store):
    state = start(HOLES, context)
    folder = folder_of(store, state)
    events = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    done_one = next(i for i, e in enumerate(events) if json.loads(e)["state"]["steps"][0]["status"] == "done")
    (folder / "events.jsonl").write_text("\n".join(events[: done_one + 1]) + "\n", encoding="utf-8")
    after = resume(folder, context)
    assert [s.status for s in after.steps] == ["done", "done"]
    assert [s.out_sha for s in after.steps] == [s.out_sha for s in state.steps]


def test_a_run_keeps_its_own_table(context, store):
    # A year later the table has grown: the record still gives the bytes of its day.
    state = start(HOLES, context)
    bigger = replace(context, seed=context.seed.select(context.seed.n > 12))
    after = resume(store.runs.get(state.id), bigger)
    assert [s.out_sha for s in after.steps] == [s.out_sha for s in state.steps]


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("suggest_top_missing_slices_within_ODD.csv", lambda b: b.replace(b"intersection", b"motorway", 1), "changed after the run"),
        ("agent_response.md", lambda b: b + b"PS: all is well.\n", "changed after the run"),
        ("plan.json", lambda b: b.replace(b"blind", b"deaf"), "changed after the run"),
    ],
)
def test_a_replay_notices_what_was_tampered_with(context, store, name, change, why):
    folder = folder_of(store, start(HOLES, context))
    file = folder / name
    file.write_bytes(change(file.read_bytes()))
    found = replay(folder, store, Settings.from_environment())
    assert not found.equal
    assert any(c.name == name and c.status == "differs" and why in c.why for c in found.checks)


def test_a_replay_refuses_a_damaged_table(context, store):
    folder = folder_of(store, start(HOLES, context))
    file = folder / "inputs" / "seed_table.bin"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(InputError, match="damaged"):
        replay(folder, store, Settings.from_environment())


def test_a_replay_says_what_it_cannot_do_without_the_footage(context, store):
    state = start(FOG, context)
    folder = folder_of(store, state)
    context_file = folder / "inputs" / "context.json"
    kept = json.loads(context_file.read_bytes())
    kept["datastore"]["digest"] = "0" * 64
    context_file.write_text(json.dumps(kept), encoding="utf-8")
    found = replay(folder, store, Settings.from_environment())
    assert {c.name for c in found.checks if c.status == "not replayed"} >= {"dataset_retrieval.jsonl", "normalized_bundle.jsonl"}


def test_a_record_is_never_written_over(context, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds files already"):
        start(HOLES, context, folder=tmp_path)
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["notes.txt"]


def test_what_a_file_held_is_kept_under_a_number(tmp_path):
    record = Record(tmp_path)
    for text in (b"one", b"two", b"two", b"three"):
        record.write("a.md", text)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"a.md": b"three", "a.1.md": b"one", "a.2.md": b"two"}


def test_no_key_reaches_the_record(with_models, store):
    context = with_models("vlm", "judge")
    secret = "sk-very-secret-1234567890"
    context = replace(context, endpoints={r: replace(e, key=secret) for r, e in context.endpoints.items()})
    folder = folder_of(store, start(FOG, context, auto_confirm=True))
    assert [p.name for p in folder.rglob("*") if p.is_file() and secret.encode() in p.read_bytes()] == []
    assert secret not in json.dumps(store.runs.list()[0].state)
