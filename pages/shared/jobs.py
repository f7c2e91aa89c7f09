"""Work that outlives the run that asked for it: it goes on when its page is left or reloaded, and its result is kept.

One registry serves all sessions of the process, so that two people who ask for the same thing wait for one computation.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from core.errors import OddysseyError

KEPT = 64
"""Results that are kept, the ones used last."""

Report = Callable[[int, int], None]
"""Takes the work done and the work in all."""


@dataclass(eq=False)
class Job:
    """One computation.

    Attributes:
        done, total: Progress in its present step; total is 0 before the first report.
        finished: Set once there is a result or an error.
        stopping: Set to ask the work to end early; it ends when it next looks.
        news: What it told last, for work that tells more than numbers.
        result: What it returned.
        error: What it raised.
    """

    done: int = 0
    total: int = 0
    finished: threading.Event = field(default_factory=threading.Event)
    stopping: threading.Event = field(default_factory=threading.Event)
    news: Any = None
    result: Any = None
    error: BaseException | None = None

    def report(self, done: int, total: int) -> None:
        """Take note of progress."""
        self.done, self.total = done, total

    def tell(self, news: Any) -> None:
        """Take note of what the work has to tell."""
        self.news = news

    def run(self, work: Callable[[Job], Any]) -> None:
        """Do the work, whatever comes of it."""
        try:
            self.result = work(self)
        except BaseException as e:  # told to whoever waits for the result
            self.error = e
        finally:
            self.finished.set()


class Jobs:
    """Jobs by key. A failed one is told once to everybody who waits, and begun anew when it is asked for again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: OrderedDict[Hashable, Job] = OrderedDict()

    def known(self, key: Hashable) -> Job | None:
        """The job of a key, whether it runs or is over, None if there is none."""
        with self._lock:
            return self._jobs.get(key)

    def get(self, key: Hashable, work: Callable[[Job], Any], anew: bool = False) -> Job:
        """The job of a key, begun now if there is none; `anew` begins one also where the last one is over."""
        with self._lock:
            job = self._jobs.pop(key, None)
            if job is None or job.error is not None or (anew and job.finished.is_set()):
                job = Job()
                threading.Thread(target=job.run, args=(work,), daemon=True).start()
            self._jobs[key] = job
            for old in [k for k, j in self._jobs.items() if j.finished.is_set()][: max(0, len(self._jobs) - KEPT)]:
                del self._jobs[old]
            return job

    def forget(self, key: Hashable) -> None:
        """Let go of a job that is over, and of its result; whoever waits for it still gets it."""
        with self._lock:
            job = self._jobs.get(key)
            if job is not None and job.finished.is_set():
                del self._jobs[key]


@st.cache_resource(show_spinner=False)
def _registry() -> Jobs:
    return Jobs()


def outcome(key: Hashable, work: Callable[[Report], Any], show: Callable[[Job], None], patience: float = 0.4) -> Any:
    """The result of a job; a run that waits for it shows how far it is.

    Args:
        key: Everything that the result rests on.
        work: Computes it; runs in a thread of its own, so it must not touch Streamlit.
        show: Shows the progress; called again and again, once `patience` is over.
        patience: Seconds in which nothing is shown, since most results are there at once.

    Raises:
        BaseException: What the work raised.
    """
    job = _registry().get(key, lambda job: work(job.report))
    wait = patience
    while not job.finished.wait(wait):
        show(job)
        wait = 0.2
    if job.error is not None:
        raise job.error
    return job.result


def begin(key: Hashable, work: Callable[[Job], Any]) -> Job:
    """Begin work that nobody waits for; a page looks at it with `known`. What runs under this key already goes on.

    Args:
        key: Name of the work, such as the id of a run.
        work: Gets its job, to tell progress and to see whether it should stop; it must not touch Streamlit.
    """

    def logged(job: Job) -> Any:
        try:
            return work(job)
        except OddysseyError:
            raise  # told to the user
        except Exception:
            logging.getLogger(__name__).exception("Work in the background ended by an error: %s", key)
            raise

    return _registry().get(key, logged, anew=True)


def known(key: Hashable) -> Job | None:
    """The job of a key in this process, None if it never ran here or was forgotten since."""
    return _registry().known(key)


def forget(key: Hashable) -> None:
    """Let go of the result of a job that is over, where it is large or kept elsewhere."""
    _registry().forget(key)
