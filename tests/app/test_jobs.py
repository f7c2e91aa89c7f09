from __future__ import annotations

import threading

import pytest

from pages.shared import jobs
from pages.shared.jobs import KEPT, Jobs


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    fresh = Jobs()
    monkeypatch.setattr(jobs, "_registry", lambda: fresh)
    return fresh


def test_one_computation_serves_everybody_and_its_result_is_kept():
    begun, go = [], threading.Event()

    def work(report):
        begun.append(1)
        go.wait(10)
        return "done"

    seen = []
    waiting = threading.Thread(target=lambda: seen.append(jobs.outcome("k", work, lambda j: None, patience=0)))
    waiting.start()
    go.set()
    assert jobs.outcome("k", work, lambda j: None) == "done"
    waiting.join(10)
    assert seen == ["done"]
    assert jobs.outcome("k", work, lambda j: None) == "done"
    assert begun == [1]


def test_progress_is_shown_until_the_work_is_over():
    go, shown = threading.Event(), []

    def work(report):
        report(3, 8)
        go.wait(10)
        return 5

    def show(job):
        shown.append((job.done, job.total))
        if (3, 8) in shown:
            go.set()

    assert jobs.outcome("k", work, show, patience=0) == 5
    assert shown[-1] == (3, 8)


def test_an_error_reaches_whoever_waits_and_the_next_wish_begins_anew():
    tries = []

    def work(report):
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("broken")
        return "mended"

    with pytest.raises(ValueError, match="broken"):
        jobs.outcome("k", work, lambda j: None)
    assert jobs.outcome("k", work, lambda j: None) == "mended"


def test_the_results_used_last_are_kept():
    counts = {}

    def work_for(key):
        def work(report):
            counts[key] = counts.get(key, 0) + 1
            return key

        return work

    for key in range(KEPT):
        jobs.outcome(key, work_for(key), lambda j: None)
    jobs.outcome(0, work_for(0), lambda j: None)
    jobs.outcome(KEPT, work_for(KEPT), lambda j: None)
    jobs.outcome(0, work_for(0), lambda j: None)
    jobs.outcome(1, work_for(1), lambda j: None)
    assert (counts[0], counts[1]) == (1, 2)


def test_work_that_nobody_waits_for_tells_and_can_be_stopped():
    told = threading.Event()

    def work(job):
        job.tell("step 1")
        told.set()
        assert job.stopping.wait(10)
        return "stopped"

    job = jobs.begin("run", work)
    assert told.wait(10)
    assert jobs.known("run") is job
    assert (job.news, job.finished.is_set()) == ("step 1", False)
    assert jobs.begin("run", work) is job  # a second wish for what runs already changes nothing
    job.stopping.set()
    assert job.finished.wait(10)
    assert job.result == "stopped"


def test_work_that_is_over_can_be_begun_again():
    first = jobs.begin("run", lambda job: 1)
    assert first.finished.wait(10)
    second = jobs.begin("run", lambda job: 2)
    assert second.finished.wait(10)
    assert (first.result, second.result, jobs.known("run")) == (1, 2, second)
    assert jobs.known("other") is None
