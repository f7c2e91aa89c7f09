"""A run that ends anywhere goes on to the same files; nobody else works on it meanwhile; nothing can be changed in it unseen."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from core.controller import Record, last_state, open_record, replay, resume, start
from core.controller import record as rec
from core.digest import sha256_bytes
from core.errors import InputError
from core.settings import Settings

FOG = "Identify missing foggy highway slices, retrieve test images, and evaluate the model."
HOLES = "What blind spots exist in our current test coverage?"
TIMED = ("events.jsonl", "inputs/context.json")


class Killed(BaseException):
    """What a signal does to the process, as near as one process can play it."""


@pytest.fixture
def dies(monkeypatch):
    """Ends the process, so to say, at the n-th time that something of a record is made safe on the disk: before it, or after."""

    def at(n: int, after: bool) -> None:
        turn = iter(range(1_000_000))
        real = os.fsync

        def fsync(fd: int) -> None:
            now = next(turn)
            if now == n and not after:
                os.ftruncate(fd, os.fstat(fd).st_size // 2)  # half of it got there
                raise Killed
            real(fd)
            if now == n:
                raise Killed

        monkeypatch.setattr("core.controller.record.os.fsync", fsync)

    yield at
    monkeypatch.undo()


def folder_of(store, state) -> Path:
    return store.runs.path(store.runs.get(state.id))


def whole(folder: Path) -> None:
    """Every file but the log is in the manifest with its SHA-256, and every line of the log can be read."""
    manifest = json.loads((folder / rec.MANIFEST).read_bytes())
    files = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file() and p.suffix != ".part"}
    assert set(files) - {rec.MANIFEST, rec.EVENTS} == set(manifest["files"])
    assert {n: sha256_bytes(files[n].read_bytes()) for n in manifest["files"]} == manifest["files"]
    assert all(json.loads(x) for x in files[rec.EVENTS].read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("after", [False, True])
def test_a_run_that_is_killed_at_any_write_goes_on_to_the_same_files(with_models, store, stub, dies, tmp_path, monkeypatch, after):
    context = with_models("vlm", "judge")
    expected = start(FOG, context, auto_confirm=True, folder=tmp_path / "whole")
    asked, settings = len(stub.asked), Settings.from_environment()
    for n in range(60):
        folder = tmp_path / f"{after}{n}"
        dies(n, after)
        try:
            start(FOG, context, auto_confirm=True, folder=folder)
        except Killed:
            monkeypatch.undo()
        else:
            break
        if not (folder / rec.PLAN).exists():
            with pytest.raises(InputError, match=r"being planned|no record of a run"):
                open_record(folder)
            continue
        state = resume(folder, context, auto_confirm=True)
        assert [s.out_sha for s in state.steps] == [s.out_sha for s in expected.steps]
        assert [s.status for s in state.steps] == ["done"] * 4
        whole(folder)
        assert replay(folder, store, settings).equal
    assert 10 < n < 59
    assert len(stub.asked) == asked  # what was answered once is never asked again


def test_a_run_that_is_killed_while_it_goes_on_can_go_on_again(with_models, store, stub, dies, tmp_path, monkeypatch):
    context = with_models("vlm")
    for n in range(40):
        folder = tmp_path / str(n)
        waiting = start(FOG, context, folder=folder).waiting
        dies(n, False)
        try:
            resume(folder, context, {waiting: "skip"})
        except Killed:
            monkeypatch.undo()
        else:
            break
        state = resume(folder, context, {waiting: "skip"})
        assert [s.status for s in state.steps] == ["done", "done", "skipped", "done"]
        whole(folder)
        assert replay(folder, store, Settings.from_environment()).equal
    assert 3 < n < 39


def test_what_comes_to_no_end_is_not_replayed(context, store, dies, tmp_path, monkeypatch):
    dies(9, True)
    with pytest.raises(Killed):
        start(HOLES, context, folder=tmp_path / "run")
    monkeypatch.undo()
    with pytest.raises(InputError, match="interrupted"):
        replay(tmp_path / "run", store, Settings.from_environment())


def test_only_one_works_on_a_run(with_models, store):
    context = with_models("vlm")
    state = start(FOG, context)
    folder = folder_of(store, state)
    with Record(folder).alone(), pytest.raises(InputError, match="worked on by another"):
        resume(folder, context, {state.waiting: "do"})
    assert resume(folder, context, {state.waiting: "skip"}).status == "done"


def test_a_disk_that_is_full_is_told_and_gone_on_from(context, store, tmp_path, monkeypatch):
    real, left = os.fsync, iter([True] * 9 + [False] * 1_000)

    def fsync(fd: int) -> None:
        if not next(left):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(fd)

    monkeypatch.setattr("core.controller.record.os.fsync", fsync)
    with pytest.raises(InputError, match="No space left"):
        start(HOLES, context, folder=tmp_path / "run")
    monkeypatch.undo()
    assert resume(tmp_path / "run", context).status == "done"
    assert [p.name for p in (tmp_path / "run").rglob("*.part")] == []


def test_a_folder_that_cannot_be_used_leaves_no_run_behind(context, store, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="cannot be used"):
        start(HOLES, context, folder=tmp_path / "file" / "run")
    assert store.runs.list() == ()


@pytest.fixture
def done(with_models, store):
    """The folder of a run with every kind of file, some of them of an earlier state."""
    context = with_models("vlm", "judge")
    state = start(FOG, context)
    resume(store.runs.get(state.id), context, {state.waiting: "do"})
    folder = folder_of(store, state)
    assert replay(folder, store, Settings.from_environment()).equal
    return folder


def noticed(folder: Path, store) -> set[str]:
    try:
        found = replay(folder, store, Settings.from_environment())
    except InputError as e:
        assert "damaged" in str(e) or "interrupted" in str(e) or "no record" in str(e) or "no readable" in str(e)
        return {"refused"}
    return {c.name for c in found.checks if c.status == "differs"}


def spoilt(held: bytes) -> list[bytes]:
    """A file with a digit too many at several places (in a key, a number, a text), cut off, and empty."""
    places = sorted({len(held) * k // 9 for k in range(1, 9)} | {held.find(b'"') + 2})
    return [*(held[:at] + b"7" + held[at:] for at in places), held[: len(held) // 2], b""]


def test_a_change_of_any_file_is_noticed(done, store):
    for file in [p for p in done.rglob("*") if p.is_file()]:
        name, held = file.relative_to(done).as_posix(), file.read_bytes()
        for changed in spoilt(held):
            file.write_bytes(changed)
            assert noticed(done, store) & {name, "refused"}, (name, changed[:2000])
        file.unlink()
        assert noticed(done, store) & {name, "refused"}, name
        file.write_bytes(held)
    (done / "more.csv").write_text("rank\n1\n")
    assert noticed(done, store) == {"more.csv"}
    (done / "more.csv").unlink()
    assert noticed(done, store) == set()


def test_a_change_of_any_line_of_the_log_is_noticed(done, store):
    log = done / rec.EVENTS
    lines = log.read_bytes().splitlines(keepends=True)
    for i, line in enumerate(lines):
        for others in ([], [line.replace(b'"seconds": ', b'"seconds": 1')], [line, line]):
            log.write_bytes(b"".join([*lines[:i], *others, *lines[i + 1 :]]))
            assert noticed(done, store), (i, len(others))
    log.write_bytes(b"".join(reversed(lines)))
    assert noticed(done, store)
    log.write_bytes(b"".join(lines))
    assert noticed(done, store) == set()


def test_a_manifest_that_was_made_to_fit_is_noticed(done, store):
    report, file = done / rec.REPORT, done / rec.MANIFEST
    report.write_bytes(report.read_bytes() + b"PS: all is well.\n")
    manifest = json.loads(file.read_bytes())
    manifest["files"][rec.REPORT] = sha256_bytes(report.read_bytes())
    file.write_bytes(rec.dump(manifest))
    assert noticed(done, store) == {rec.REPORT, rec.MANIFEST}


def test_a_log_that_was_made_to_fit_is_noticed_by_the_workspace_that_ran_it(done, store):
    """Who writes the whole folder anew is seen by the workspace; elsewhere only a replay can tell."""
    log = done / rec.EVENTS
    rows = [json.loads(x) for x in log.read_text(encoding="utf-8").splitlines()]
    before, lines = "", []
    for row in rows:
        row["state"]["who"] = "somebody else"
        lines.append(json.dumps(row | {"before": before}, ensure_ascii=False).encode())
        before = sha256_bytes(lines[-1])
    manifest = json.loads((done / rec.MANIFEST).read_bytes())
    n = manifest["events"]["lines"]
    manifest["events"]["sha256"] = sha256_bytes(b"".join(x + b"\n" for x in lines[:n]))
    (done / rec.MANIFEST).write_bytes(rec.dump(manifest))
    last = json.loads(lines[-1])
    last["state"]["manifest_sha"] = sha256_bytes((done / rec.MANIFEST).read_bytes())
    log.write_bytes(b"".join(x + b"\n" for x in [*lines[:-1], json.dumps(last, ensure_ascii=False).encode()]))
    assert noticed(done, store) == {rec.EVENTS}


def test_a_record_that_was_moved_goes_on_and_replays_in_another_workspace(with_models, store, tmp_path):
    from core.storage import open_store

    context = with_models("vlm")
    state = start(FOG, context)
    folder = folder_of(store, state).rename(tmp_path / "moved")
    settings = Settings.from_environment()
    other = open_store(replace(settings, home=tmp_path / "other", database_url=f"sqlite:///{tmp_path / 'other.db'}"))
    try:
        found = replay(folder, other, settings)
        assert found.equal
        assert {c.name for c in found.checks if c.status == "not replayed"} >= {"dataset_retrieval.jsonl"}
        assert replay(folder, other, settings, context.datastore).equal
        after = resume(folder, replace(context, store=other, table=None), {state.waiting: "do"})
        assert [s.status for s in after.steps] == ["done"] * 4
        assert "not in this workspace" in after.steps[2].note
        whole(folder)
    finally:
        other.close()


def test_a_run_notes_the_models_and_the_footage_that_it_really_used(with_models, store):
    context = with_models("vlm")
    state = start(FOG, context)
    folder = folder_of(store, state)
    other = {"vlm": replace(context.endpoints["vlm"], model="another")}
    resume(folder, replace(context, endpoints=other), {state.waiting: "do"})
    manifest = json.loads((folder / rec.MANIFEST).read_bytes())
    assert manifest["endpoints"]["vlm"]["model"] == "another"
    assert (folder / "inputs" / "context.1.json").exists()
    assert last_state(open_record(folder)).steps[2].status == "done"


def test_a_replay_names_the_code_and_the_texts_that_have_changed(context, store, monkeypatch):
    folder = folder_of(store, start(HOLES, context))
    from core.controller import origin

    real = origin.origin()
    now = {"code": real["code"] | {"scoring": "0" * 64}, "texts": real["texts"] | {"prompts/controller.yaml": "0" * 64}}
    monkeypatch.setattr(origin, "origin", lambda: now)
    assert replay(folder, store, Settings.from_environment()).changed == ("the code of scoring", "the text prompts/controller.yaml")
