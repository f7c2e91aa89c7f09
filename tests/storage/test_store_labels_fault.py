"""Eight processes label at once, one of them is killed every second and replaced: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from core.settings import Settings
from core.storage import open_store
from core.storage.schema_labels import label_events
from core.trajectories.case_set import CaseSet

ROOT = Path(__file__).resolve().parents[2]
PEOPLE = ("a", "b", "c", "d", "e", "e", "f", "f")
"""Whose tab each of the eight processes is; two people have two tabs."""
SECONDS = 30

NURSERY = """
import json, os, random, sys, traceback
from pathlib import Path
from uuid import uuid4
from core.settings import Settings
from core.storage import open_store
from core.storage.label_events import NewEvent

def lines(path):  # a line that was cut off by the end of the process before this one was never whole
    return [x for x in path.read_bytes().split(b"\\n")[:-1] if x]

def label(person, set_id, folder, tab):
    folder, store = Path(folder), open_store(Settings.from_environment())
    outbox, log = (folder / f"{tab}.outbox").open("ab", 0), (folder / f"{tab}.acked").open("ab", 0)

    def send(events):
        done = store.labels.append(person, set_id, events)
        if done.settled:
            log.write("".join(f"{'acked' if uid in done.acked else 'refused'} {uid}\\n" for uid in done.settled).encode())
            os.fsync(log.fileno())

    settled = {x.split()[1].decode() for x in lines(folder / f"{tab}.acked") if len(x.split()) == 2}
    waiting = [NewEvent(**json.loads(x)) for x in lines(folder / f"{tab}.outbox") if x.startswith(b"{") and x.endswith(b"}")]
    outbox.write(b"\\n")
    log.write(b"\\n")
    send([e for e in waiting if e.uid not in settled])  # as a browser does after a reload

    at = max((int(e.new.case_id[1:]) for e in store.labels.events(set_id, person)), default=0) + 1
    while not (folder / "stop").exists():
        first = NewEvent(uuid4().hex, f"c{at}", 1, "label", random.choice("YNU"), payload={"t_key_ms": 1500.5, "t_ready_ms": 20.0})
        events = [first]
        if random.random() < 0.2:
            back = NewEvent(uuid4().hex, first.case_id, 2, "revoke", payload={"seq": 1, "uid": first.uid})
            events += [back, NewEvent(uuid4().hex, first.case_id, 3, "label", random.choice("YNU"))]
        outbox.write("".join(json.dumps(vars(e)) + "\\n" for e in events).encode())
        for e in events if random.random() < 0.5 else [events]:
            send(e if isinstance(e, list) else [e])
        at += 1
    store.close()

for line in sys.stdin:
    word, *args = json.loads(line)
    if word == "start":
        answer = os.fork()
        if not answer:
            random.seed()
            try:
                label(*args)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
    else:
        answer = os.waitstatus_to_exitcode(os.waitpid(args[0], 0)[1])
    print(answer, flush=True)
"""


class Nursery:
    """A process that has loaded everything and forks those that label, so that their lives are spent on labelling."""

    def __init__(self, settings: Settings, errors: Path) -> None:
        env = os.environ | {"ODDYSSEY_HOME": str(settings.home), "DATABASE_URL": settings.database_url, "PYTHONPATH": str(ROOT)}
        env |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # only a process with one thread may be forked
        with errors.open("ab") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-c", NURSERY], env=env, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True
            )

    def start(self, person: str, set_id: str, folder: Path, tab: int) -> int:
        """The id of a new process that labels."""
        return self._ask("start", person, set_id, str(folder), tab)

    def ended(self, pid: int) -> int:
        """Wait for a process; its exit code, or minus the signal that ended it."""
        return self._ask("wait", pid)

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=60)

    def _ask(self, *what: object) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def acknowledged(folder: Path) -> tuple[set[str], set[str]]:
    """Uids that the processes were told are stored, and those that they were told are not."""
    words = [x.split() for tab in range(len(PEOPLE)) for x in (folder / f"{tab}.acked").read_text().split("\n")]
    said = [(w[0], w[1]) for w in words if len(w) == 2]
    return {uid for what, uid in said if what == "acked"}, {uid for what, uid in said if what == "refused"}


def test_nothing_acknowledged_is_lost_while_processes_are_killed(settings: Settings, tmp_path: Path) -> None:
    store, folder, chance = open_store(settings), tmp_path / "tabs", random.Random(5)
    folder.mkdir()
    people = {name: store.labels.register(name, 3, False).id for name in sorted(set(PEOPLE))}
    set_id = store.cases.save("Cases", CaseSet(store.cases.parent / "none", "Cases", "d" * 64, (), True, {})).id
    errors = tmp_path / "errors.txt"
    nursery = Nursery(settings, errors)
    tabs: list[int] = []
    killed = 0
    try:
        tabs += [nursery.start(people[who], set_id, folder, i) for i, who in enumerate(PEOPLE)]
        began = time.monotonic()
        while (passed := time.monotonic() - began) < SECONDS:
            time.sleep(max(0.0, min(killed + 1, SECONDS) - passed) + chance.random() * 0.05)  # not in step with anything
            i = chance.randrange(len(tabs))
            os.kill(tabs[i], signal.SIGKILL)
            assert nursery.ended(tabs[i]) == -signal.SIGKILL, errors.read_text()
            killed += 1
            tabs[i] = nursery.start(people[PEOPLE[i]], set_id, folder, i)
        (folder / "stop").touch()
        ends = [nursery.ended(tabs.pop()) for _ in PEOPLE]
    finally:
        for pid in tabs:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        nursery.close()
    assert (ends, errors.read_text()) == ([0] * len(PEOPLE), "")
    assert killed >= SECONDS - 2

    acked, refused = acknowledged(folder)
    events = store.labels.events(set_id)
    stored = {e.new.uid: e for e in events}
    sent: dict[str, tuple[str, dict[str, Any]]] = {}
    for i in range(len(PEOPLE)):
        for line in (folder / f"{i}.outbox").read_text().split("\n"):
            if line.startswith("{") and line.endswith("}"):
                given = json.loads(line)
                sent[given["uid"]] = (people[PEOPLE[i]], given)
    assert len(acked) > 20 * len(PEOPLE)  # much was at stake
    assert len(refused) > 0  # the two tabs of one person did meet
    assert acked - set(stored) == set()  # lost
    assert refused & set(stored) == set()
    assert len(stored) == len(events)  # twice
    assert set(stored) <= set(sent)
    for uid, e in stored.items():
        who, given = sent[uid]
        assert (e.annotator_id, e.set_id) == (who, set_id)
        assert {k: given[k] for k in ("case_id", "kind", "label", "slot", "payload")} == {
            k: getattr(e.new, k) for k in ("case_id", "kind", "label", "slot", "payload")
        }
    numbers = Counter((e.annotator_id, e.new.case_id, e.new.seq) for e in events)
    assert max(numbers.values()) == 1
    standing: Counter[tuple[str, str]] = Counter()
    for e in events:  # a place of a queue never carries two labels
        standing[e.annotator_id, e.new.case_id] += {"label": 1, "revoke": -1}[e.new.kind]
        assert standing[e.annotator_id, e.new.case_id] in (0, 1)
    if store.db.is_sqlite:
        with store.db.read() as c:
            assert c.execute(sa.text("PRAGMA integrity_check")).scalar() == "ok"
    with store.db.read() as c:
        assert c.execute(sa.select(sa.func.count()).select_from(label_events)).scalar() == len(events)
    print(f"killed {killed}, acknowledged {len(acked)}, refused {len(refused)}, stored {len(events)}")
    store.close()
