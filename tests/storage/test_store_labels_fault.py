"""Eight processes label at once, one of them is killed every second and replaced: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
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

TAB = """
import json, os, random, sys
from pathlib import Path
from uuid import uuid4
from core.settings import Settings
from core.storage import open_store
from core.storage.label_events import NewEvent

person, set_id, folder, tab = sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4]
store, stop = open_store(Settings.from_environment()), folder / "stop"
outbox, log = (folder / f"{tab}.outbox").open("ab", 0), (folder / f"{tab}.acked").open("ab", 0)

def lines(name):  # a line that was cut off by the end of the process before this one was never whole
    return [x for x in (folder / name).read_bytes().split(b"\\n")[:-1] if x]

def send(events):
    done = store.labels.append(person, set_id, events)
    if done.settled:
        log.write("".join(f"{'acked' if uid in done.acked else 'refused'} {uid}\\n" for uid in done.settled).encode())
        os.fsync(log.fileno())
    return done

settled = {x.split()[1].decode() for x in lines(f"{tab}.acked") if len(x.split()) == 2}
waiting = [NewEvent(**json.loads(x)) for x in lines(f"{tab}.outbox") if x.startswith(b"{") and x.endswith(b"}")]
outbox.write(b"\\n")
log.write(b"\\n")
send([e for e in waiting if e.uid not in settled])  # as a browser does after a reload

at = max((int(e.new.case_id[1:]) for e in store.labels.events(set_id, person)), default=0) + 1
while not stop.exists():
    label = NewEvent(uuid4().hex, f"c{at}", 1, "label", random.choice("YNU"), payload={"t_key_ms": 1500.5, "t_ready_ms": 20.0})
    events = [label]
    if random.random() < 0.2:
        back = NewEvent(uuid4().hex, label.case_id, 2, "revoke", payload={"seq": 1, "uid": label.uid})
        events += [back, NewEvent(uuid4().hex, label.case_id, 3, "label", random.choice("YNU"))]
    outbox.write("".join(json.dumps(vars(e)) + "\\n" for e in events).encode())
    for e in events if random.random() < 0.5 else [events]:
        send(e if isinstance(e, list) else [e])
    at += 1
store.close()
"""


def start(settings: Settings, people: dict[str, str], set_id: str, folder: Path, tab: int) -> subprocess.Popen[bytes]:
    env = os.environ | {"ODDYSSEY_HOME": str(settings.home), "DATABASE_URL": settings.database_url, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", TAB, people[PEOPLE[tab]], set_id, str(folder), str(tab)]
    with (folder / f"{tab}.err").open("ab") as err:
        return subprocess.Popen(command, env=env, cwd=ROOT, stdout=err, stderr=err)


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
    tabs = [start(settings, people, set_id, folder, i) for i in range(len(PEOPLE))]
    killed = 0
    try:
        began = time.monotonic()
        while (passed := time.monotonic() - began) < SECONDS:
            time.sleep(max(0.0, min(killed + 1, SECONDS) - passed) + chance.random() * 0.05)  # not in step with anything
            i = chance.randrange(len(tabs))
            tabs[i].kill()
            assert tabs[i].wait(30) == -9, (folder / f"{i}.err").read_text()
            killed += 1
            tabs[i] = start(settings, people, set_id, folder, i)
        (folder / "stop").touch()
        ends = [tab.wait(120) for tab in tabs]
    finally:
        for tab in tabs:
            if tab.poll() is None:
                tab.kill()
                tab.wait()
    assert ends == [0] * len(tabs), [(folder / f"{i}.err").read_text() for i in range(len(tabs))]
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
    assert len(acked) > 5 * len(tabs)  # much was at stake
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
