"""A process that is killed in the middle of 2,000 evaluations: nothing that was stored is asked again, nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from core.evaluation import Decode, load_prompts, model_key
from core.evaluation.bundle import read_bundle, write_bundle
from core.storage import open_store
from tests.stub_llm import StubServer, text

ROOT = Path(__file__).resolve().parents[2]
ITEMS = 2_000
CONCURRENCY = 32


@pytest.fixture
def bundle(tmp_path, mcq):
    path = tmp_path / "bundle.jsonl"
    path.write_text(write_bundle([mcq(f"i{k}") for k in range(ITEMS)]))
    return path


def start(bundle: Path, home: Path, stub: StubServer) -> subprocess.Popen:
    options = ["--start", str(CONCURRENCY), "--concurrency", str(CONCURRENCY), "--no-judge", "--json"]
    command = [sys.executable, "-m", "core", "evaluate", str(bundle), *options]
    env = {**os.environ, "ODDYSSEY_HOME": str(home), "DATABASE_URL": "", **stub.environment("vlm")}
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_requests(stub: StubServer, n: int, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 120
    while len(stub.requests) < n:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def question(request) -> str:
    return request.last.split("Question: ")[1].split("\n")[0]


def test_killed_twice_in_the_middle_of_2000_evaluations(bundle, settings):
    in_flight_before: Counter[str] = Counter()
    with StubServer(lambda r: text("B", delay=0.03)) as stub:
        model, prompts = stub.endpoint(), load_prompts()
        keys = {i.question: model_key(model, prompts, i, [], Decode()) for i in read_bundle(bundle)}
        done: set[str] = set()
        sent_for_done: Counter[str] = Counter()
        for stop_at in (500, 1_300):
            process = start(bundle, settings.home, stub)
            wait_for_requests(stub, stop_at, process)
            process.kill()  # SIGKILL: no handler, no finally
            process.communicate()
            time.sleep(0.1)  # requests that were on the wire arrive
            store = open_store(settings)
            counts = store.calls.counts()
            rows = store.results.rows(store.results.runs()[0].run_id)
            finished = {k for k, call in store.calls.get_many(list(keys.values())).items() if call.final}
            store.close()
            assert len(finished) == counts["done"]
            assert counts["done"] >= 0.5 * stop_at
            assert counts.get("in_flight", 0) <= CONCURRENCY
            assert len(rows) <= counts["done"]
            in_flight_before["seen"] += counts.get("in_flight", 0)
            in_flight_before["last"] = counts.get("in_flight", 0)
            done = {q for q, key in keys.items() if key in finished}
            sent_for_done = Counter(question(r) for r in stub.requests)
        before = len(stub.requests)
        process = start(bundle, settings.home, stub)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        found = json.loads(out)
        sent = Counter(question(r) for r in stub.requests)

        assert found["counts"] | {"items": ITEMS, "scored": ITEMS, "pending": 0, "failed": 0} == found["counts"]
        assert len(sent) == ITEMS
        assert all(sent[q] == sent_for_done[q] for q in done)  # nothing that was stored was asked again
        assert found["counts"]["repeated"] == in_flight_before["last"] <= CONCURRENCY
        extra = sum(sent.values()) - ITEMS
        assert extra <= in_flight_before["seen"]
        assert found["counts"]["calls"] == len(stub.requests) - before

        again, err = start(bundle, settings.home, stub).communicate(timeout=300)
        assert json.loads(again)["counts"] | {"calls": 0, "cached": ITEMS, "repeated": 0} == json.loads(again)["counts"], err
    store = open_store(settings)
    rows = store.results.rows(found["run_id"])
    assert (len(rows), {r.version for r in rows}, {r.score for r in rows}) == (ITEMS, {0}, {1.0})
    assert store.calls.counts() == {"done": ITEMS}
    store.close()
