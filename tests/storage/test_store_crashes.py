"""Crashes, full disks, and several threads or processes at once: nothing half, nothing lost, nothing twice."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from core.digest import sha256_bytes
from core.errors import ConflictError, InputError
from core.settings import Settings
from core.storage import Store, open_store, schema

ROOT = Path(__file__).resolve().parents[2]

OPEN = """
import os, sys, time
from pathlib import Path
from threading import Barrier
from core.settings import Settings
from core.storage import open_store
settings = Settings.from_environment()
"""


def start(settings: Settings, code: str, *args: str) -> subprocess.Popen[str]:
    env = os.environ | {"ODDYSSEY_HOME": str(settings.home), "DATABASE_URL": settings.database_url, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", OPEN + code, *args]
    return subprocess.Popen(command, env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


# Crashes


def test_process_that_dies_between_temporary_file_and_rename_leaves_nothing_half(settings: Settings) -> None:
    opened = open_store(settings)
    dying = start(settings, "Path.replace = lambda *a: os._exit(9)\nopen_store(settings).uploads.put('a.csv', b'whole')")
    _, err = dying.communicate(timeout=60)
    assert dying.returncode == 9, err
    sha = sha256_bytes(b"whole")
    (part,) = settings.uploads.iterdir()
    assert part.name.endswith(".part")
    with pytest.raises(InputError, match="upload it again"):
        opened.uploads.path(sha)
    assert opened.uploads.all() == ()
    assert opened.uploads.sweep() == 0  # it might belong to an upload that is going on
    os.utime(part, (0, 0))
    assert opened.uploads.sweep() == 1
    assert opened.uploads.put("a.csv", b"whole") == sha
    assert [p.name for p in settings.uploads.iterdir()] == [sha]
    opened.close()


@pytest.mark.parametrize("cut", ["Path.write_text", "os.replace"])
def test_an_import_of_detections_that_dies_leaves_nothing_that_can_be_opened(settings: Settings, cut: str) -> None:
    code = f"""
from core.error_slices.detections import Boxes, ClassName, DetectionSet, Image
from core.operators.slices import keep_detections
empty = Boxes.of([], [], [])
content = DetectionSet("s", "m", "detection", (ClassName("1", "car"),), (Image("1", "1.jpg", 9, 9),), empty, empty)
store = open_store(settings)
{cut} = lambda *a, **k: os._exit(9)
keep_detections(store, content)
"""
    opened = open_store(settings)
    dying = start(settings, code)
    _, err = dying.communicate(timeout=60)
    assert dying.returncode == 9, err
    assert opened.detections.list() == ()
    (part,) = settings.detections.iterdir()
    assert part.name.startswith(".") and part.name.endswith(".part")
    opened.close()
    open_store(settings).close()
    assert part.exists()  # it might belong to an import that is going on
    os.utime(part, (0, 0))
    open_store(settings).close()
    assert list(settings.detections.iterdir()) == []


def test_failed_rename_removes_the_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path)}))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as m:
        m.setattr(Path, "replace", full)
        with pytest.raises(InputError, match=r"a\.csv.*No space left on device"):
            opened.uploads.put("a.csv", b"x")
    assert list(opened.uploads.folder.iterdir()) == []
    assert opened.uploads.all() == ()
    opened.close()


def test_process_that_dies_inside_a_transaction_leaves_nothing(settings: Settings) -> None:
    opened = open_store(settings)
    code = """
from core.storage import schema
with open_store(settings).db.write(lock="preferences") as c:
    c.execute(schema.preferences.insert().values(key="k", value=1, set_at=schema.now()))
    os._exit(9)
"""
    dying = start(settings, code)
    _, err = dying.communicate(timeout=60)
    assert dying.returncode == 9, err
    assert opened.preferences.all() == {}
    opened.preferences.set("k", 2)  # the lock went with the process
    assert opened.preferences.get("k") == 2
    opened.close()


def test_full_disk_is_told_and_nothing_is_saved(tmp_path: Path) -> None:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path)}))
    with pytest.raises(InputError, match=r"nothing of this change was saved: the disk is full"), opened.db.write() as c:
        c.exec_driver_sql(f"PRAGMA max_page_count = {c.exec_driver_sql('PRAGMA page_count').scalar()}")
        c.execute(schema.preferences.insert().values(key="k", value="x" * 100_000, set_at=schema.now()))
    assert opened.preferences.all() == {}
    opened.close()


# Several at once


def test_threads_open_the_same_fresh_workspace_at_once(settings: Settings) -> None:
    line = Barrier(8)

    def at_once(_: int) -> Store:
        line.wait()
        return open_store(settings)

    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(at_once, range(8)))
    for i, opened in enumerate(stores):
        opened.preferences.set(f"k{i}", i)
        opened.close()
    last = open_store(settings)
    assert last.preferences.all() == {f"k{i}": i for i in range(8)}
    last.close()


def test_threads_open_different_fresh_workspaces_at_once(tmp_path: Path) -> None:
    line = Barrier(8)

    def at_once(i: int) -> dict[str, int]:
        line.wait()
        opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path / str(i))}))
        opened.preferences.set("k", i)
        found = opened.preferences.all()
        opened.close()
        return found

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(at_once, range(8))) == [{"k": i} for i in range(8)]


def test_threads_share_a_store(store: Store) -> None:
    sha, draft = store.uploads.put("a", b"x"), store.drafts.new_id()

    def work(i: int) -> str:
        store.preferences.set(f"k{i}", i)
        store.uploads.put(f"{i % 2}.csv", b"same")
        try:
            store.drafts.save(draft, sha, {"who": i}, 0)
        except ConflictError:
            return "conflict"
        return "saved"

    with ThreadPoolExecutor(16) as pool:
        said = list(pool.map(work, range(40)))
    assert sorted(said) == ["conflict"] * 39 + ["saved"]  # exactly one tab is the first
    assert len(store.drafts.history(draft)) == 1
    assert store.preferences.all() == {f"k{i}": i for i in range(40)}
    assert sorted(u.name for u in store.uploads.all()) == ["0.csv", "1.csv", "a"]


def test_processes_open_a_fresh_workspace_and_write_at_once(settings: Settings, tmp_path: Path) -> None:
    code = """
import numpy as np
from core.errors import InputError
from core.odd import infer_odd
from core.seed_table.table import SeedTable
who, go = sys.argv[1], Path(sys.argv[2])
odd = infer_odd({"weather": ["clear", "rain"]})
table = SeedTable(odd, odd.codec.decode([1]), np.array([5]), np.array([0.5]), np.array([np.nan]))
print("ready", flush=True)
while not go.exists():
    time.sleep(0.001)
store = open_store(settings)
refused = 0
for i in range(20):
    store.uploads.put(f"{who}-{i}", str(i).encode())
    try:
        store.tables.save(f"table {i}", table, upload_sha=None, decisions={}, report={}, model=who, synthetic=False)
    except InputError as e:
        refused += "already a table" in str(e)
print(refused)
"""
    go = tmp_path / "go"
    running = [start(settings, code, who, str(go)) for who in ("a", "b")]
    for p in running:
        assert p.stdout is not None
        assert p.stdout.readline() == "ready\n", p.communicate()
    go.touch()
    out = [p.communicate(timeout=120) for p in running]
    assert [p.returncode for p in running] == [0, 0], out
    opened = open_store(settings)
    assert sorted(t.name for t in opened.tables.list()) == sorted(f"table {i}" for i in range(20))  # each name once
    assert sum(int(o[0]) for o in out) == 20  # and the other one was told
    assert len(opened.uploads.all()) == 40
    assert len(list(settings.uploads.iterdir())) == 20
    assert all(opened.tables.load(t.id).digest == t.digest for t in opened.tables.list())
    opened.close()
