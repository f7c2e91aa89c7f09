"""Labelling against the store: the round trip of one label, and a hundred people at once, on SQLite and, where it is installed, PostgreSQL.

A round trip is what a page does for a key press: find what the token stands for, store the label durably, work out the next window. Target:
95 % of them within 50 ms for one person, also after 10,000 events; with a hundred people who label once a second each, within 250 ms.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

CASES = 400
LABELS = 300
PEOPLE = 100
EACH = 15
BEFORE = 10_000
EVERY_S = 1.0
TARGET_ONE_MS = 50
TARGET_MANY_MS = 250


def labeller(store: Any, set_id: str, who: str) -> Callable[[], float]:
    """A function that labels the next case and gives the milliseconds that it took."""
    from core.operators import labelling
    from core.storage.label_events import NewEvent

    window = labelling.window(store, set_id, who)

    def label() -> float:
        nonlocal window
        item = window.items[0]
        new = NewEvent(uuid4().hex, item.case_id, item.seq, "label", "Y", item.slot, {"t_ready_ms": 10, "t_key_ms": 4_000, "hidden_ms": 0})
        start = time.perf_counter()
        assert item.token in labelling.resolve(store, set_id, who, [item.token])
        assert labelling.record(store, set_id, who, [new]).acked
        window = labelling.window(store, set_id, who)
        return (time.perf_counter() - start) * 1_000

    return label


def tell(title: str, took: list[float], target: float) -> None:
    """Print the figures of some round trips."""
    ranked = sorted(took)
    at = {q: ranked[max(0, -(-len(ranked) * q // 100) - 1)] for q in (50, 95)}
    verdict = "within" if at[95] <= target else "OVER"
    print(f"{title}: n {len(took):,}, p50 {at[50]:.1f} ms, p95 {at[95]:.1f} ms ({verdict} {target:g} ms), longest {ranked[-1]:.1f} ms")


def measure(name: str, url: str, folder: Path) -> None:
    """Both measurements on one database."""
    import numpy as np

    from core.operators import labelling
    from core.settings import Settings
    from core.storage import open_store
    from core.storage.label_events import NewEvent
    from core.trajectories.case import Case, Ego, Trajectory
    from core.trajectories.case_set import write_case_set
    from core.trajectories.report import Imported

    env = {"ODDYSSEY_HOME": str(folder)} | ({"DATABASE_URL": url} if url else {})
    store = open_store(Settings.from_environment(env))
    way = Trajectory.of(np.stack([2.0 * np.arange(1, 21), np.zeros(20)], axis=1))
    cases = [Case(f"c{i}", f"s{i // 2}", f"p{i % 2}", 0.25, way, way, Ego(8.0), licence="CC0-1.0", synthetic=True) for i in range(CASES)]
    set_id = store.cases.save("Bench", write_case_set(store.cases.parent / "bench", "Bench", Imported(cases))).id

    one = labeller(store, set_id, store.labels.register("one", 1, False).id)
    tell(f"{name}, one person", [one() for _ in range(LABELS)], TARGET_ONE_MS)

    veteran = store.labels.register("veteran", 1, False).id
    for k in range(1, BEFORE, 2_000):
        pairs = []
        for seq in range(k, k + 2_000, 2):
            label = NewEvent(uuid4().hex, cases[seq // 2 % CASES].case_id, seq, "label", "Y")
            pairs += [label, NewEvent(uuid4().hex, label.case_id, seq + 1, "revoke", payload={"uid": label.uid})]
        assert len(labelling.record(store, set_id, veteran, pairs).stored) == len(pairs)
    one = labeller(store, set_id, veteran)
    tell(f"{name}, one person after {BEFORE:,} events", [one() for _ in range(LABELS)], TARGET_ONE_MS)

    took: list[float] = []
    people = [labeller(store, set_id, store.labels.register(f"person {i}", 1, False).id) for i in range(PEOPLE)]

    def work(label: Callable[[], float], chance: random.Random) -> None:
        time.sleep(chance.random() * EVERY_S)
        for _ in range(EACH):
            start = time.perf_counter()
            took.append(label())
            time.sleep(max(0.0, chance.uniform(0.5, 1.5) * EVERY_S - (time.perf_counter() - start)))

    threads = [threading.Thread(target=work, args=(label, random.Random(i))) for i, label in enumerate(people)]
    start = time.perf_counter()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    rate = len(took) / (time.perf_counter() - start)
    tell(f"{name}, {PEOPLE} people at once, {rate:.0f} labels a second", took, TARGET_MANY_MS)
    stored = [e for e in store.labels.events(set_id)]
    assert len(stored) == 2 * LABELS + BEFORE + PEOPLE * EACH, len(stored)
    store.close()


def with_postgres(run: Callable[[str], None]) -> bool:
    """Call a function with the URL of a private server; False where there is none to start."""
    import os
    import pwd
    import shutil
    import socket

    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    if not binaries:
        return False
    folder = Path(tempfile.mkdtemp(prefix="oddyssey-bench-"))
    become: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        account = pwd.getpwnam("postgres")
        os.chown(folder, account.pw_uid, account.pw_gid)
        become = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = int(s.getsockname()[1])

    def call(program: str, *args: str) -> None:
        command = [*become, str(binaries[-1].parent / program), "-D", str(folder / "data"), *args]
        with (folder / "out.txt").open("ab") as out:
            subprocess.run(command, cwd=folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL, check=True)

    try:
        call("initdb", "-U", "bench", "--auth=trust", "--encoding=UTF8", "--no-locale")
        call("pg_ctl", "-w", "-l", str(folder / "log.txt"), "-o", f"-p {port} -c listen_addresses=127.0.0.1 -k {folder}", "start")
        try:
            run(f"postgresql://bench@127.0.0.1:{port}/postgres")
        finally:
            call("pg_ctl", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return True


def main() -> None:
    """Measure both databases."""
    with tempfile.TemporaryDirectory() as name:
        measure("SQLite", "", Path(name))
    with tempfile.TemporaryDirectory() as name:
        if not with_postgres(lambda url: measure("PostgreSQL", url, Path(name))):
            print("PostgreSQL: not installed, so not measured")


if __name__ == "__main__":
    main()
