"""Calls to models: a row before a call is sent, its answer when it came, so that nothing that was paid for is asked again.

A `Journal` is the quick way for thousands of calls: its thread takes together what waits and commits it in one transaction, and
nobody who waits goes on before the commit.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from core.llm.calls import FINAL, StoredCall
from core.storage import schema
from core.storage.database import Database
from core.storage.evaluation import LOCK
from core.storage.schema_evaluation import evaluation_results, model_calls

GROUP = 500
"""Rows of one transaction at most; also keeps below the number of parameters that a statement may have."""

_c = model_calls.c


@dataclass(frozen=True, eq=False)
class Calls:
    """The calls of the workspace."""

    db: Database

    def get(self, key: str) -> StoredCall | None:
        """A call, None if it was never begun."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Sequence[str]) -> dict[str, StoredCall]:
        """The calls of some keys, those that were begun."""
        out: dict[str, StoredCall] = {}
        with self.db.read() as c:
            for i in range(0, len(keys), GROUP):
                out |= self._read(c, keys[i : i + GROUP])
        return out

    def begin(self, keys: Sequence[str]) -> dict[str, StoredCall]:
        """Note that calls are about to be sent, each once; that counts as an attempt.

        Returns:
            What was known of each before: one that is in flight was sent by a process that ended, or is being sent by another;
            one that is final is left as it is and need not be sent.
        """
        with self.db.write() as c:
            return self._begin(c, keys)

    def finish(self, calls: Sequence[StoredCall]) -> None:
        """Keep what came of calls; an answer that is there already stays."""
        with self.db.write() as c:
            self._finish(c, calls)

    def counts(self) -> dict[str, int]:
        """Calls by status."""
        with self.db.read() as c:
            return {s: n for s, n in c.execute(sa.select(_c.status, sa.func.count()).group_by(_c.status).order_by(_c.status))}

    def journal(self) -> Journal:
        """A writer for many calls; use it as a context manager."""
        return Journal(self)

    def _read(self, c: sa.Connection, keys: Sequence[str]) -> dict[str, StoredCall]:
        rows = c.execute(sa.select(model_calls).where(_c.key.in_(keys)))
        return {r.key: StoredCall(r.key, r.status, r.attempts, r.response, r.usage, r.latency, r.error) for r in rows}

    def _begin(self, c: sa.Connection, keys: Sequence[str]) -> dict[str, StoredCall]:
        known = self._read(c, keys)
        at = schema.now()
        empty = {"attempts": 1, "response": {}, "usage": {}, "latency": 0.0, "error": "", "at": at}
        if new := [{"key": k, "status": "in_flight", **empty} for k in keys if k not in known]:
            self.db.add_all_if_absent(c, model_calls, new)
        if again := [k for k, v in known.items() if not v.final]:
            change = {"status": "in_flight", "attempts": _c.attempts + 1, "at": at}
            c.execute(model_calls.update().where(_c.key.in_(again), _c.status.not_in(FINAL)).values(change))
        return known

    def _finish(self, c: sa.Connection, calls: Sequence[StoredCall]) -> None:
        if not calls:
            return
        statement = (
            model_calls.update()
            .where(_c.key == sa.bindparam("the_key"), *(_c.status != s for s in FINAL))  # NOT IN cannot be sent for many rows at once
            .values(
                status=sa.bindparam("new_status"),
                response=sa.bindparam("new_response", type_=_c.response.type),
                usage=sa.bindparam("new_usage", type_=_c.usage.type),
                latency=sa.bindparam("new_latency"),
                error=sa.bindparam("new_error", type_=_c.error.type),
                at=sa.bindparam("new_at", type_=_c.at.type),
            )
        )
        rows = [
            {
                "the_key": x.key,
                "new_status": x.status,
                "new_response": dict(x.response),
                "new_usage": dict(x.usage),
                "new_latency": x.latency,
                "new_error": x.error,
                "new_at": schema.now(),
            }
            for x in calls
        ]
        c.execute(statement, rows)


class Journal:
    """A thread that commits calls and results in groups, as many at a time as have come while the last group was written."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._queue: queue.SimpleQueue[tuple[str, Any, Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="journal", daemon=True)
        self.commits = 0

    def __enter__(self) -> Journal:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._queue.put(None)
        self._thread.join()

    def get(self, key: str) -> Future[StoredCall | None]:
        """What is known of a call."""
        return self._put("get", key)

    def begin(self, key: str) -> Future[StoredCall | None]:
        """Note that a call is about to be sent; gives what was known of it before, once that is committed."""
        return self._put("begin", key)

    def finish(self, call: StoredCall) -> Future[None]:
        """Keep what came of a call; done once it is committed."""
        return self._put("finish", call)

    def append(self, row: Mapping[str, Any]) -> Future[None]:
        """Append a row of results; done once it is committed."""
        return self._put("append", row)

    def _put(self, kind: str, what: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._queue.put((kind, what, future))
        return future

    def _work(self) -> None:
        last = False
        while not last:
            group = [self._queue.get()]
            while len(group) < GROUP and not self._queue.empty():
                group.append(self._queue.get())
            last = None in group
            self._commit([x for x in group if x is not None])

    def _commit(self, group: list[tuple[str, Any, Future[Any]]]) -> None:
        if not group:
            return
        waiting = [x for x in group if x[2].set_running_or_notify_cancel()]  # what somebody gave up waiting for is kept all the same
        asked: dict[str, list[Any]] = {kind: [x for k, x, _ in group if k == kind] for kind in ("get", "begin", "finish", "append")}
        try:
            if len(asked["get"]) == len(group):
                begun, found = {}, self._calls.get_many(asked["get"])
            else:
                with self._calls.db.write(lock=LOCK if asked["append"] else "") as c:
                    begun = self._calls._begin(c, list(dict.fromkeys(asked["begin"]))) if asked["begin"] else {}
                    self._calls._finish(c, asked["finish"])
                    if asked["append"]:
                        self._calls.db.add_all_if_absent(c, evaluation_results, asked["append"])
                    found = self._calls._read(c, asked["get"]) if asked["get"] else {}
                self.commits += 1
        except BaseException as e:
            for _, _, future in waiting:
                future.set_exception(e)
            return
        for kind, what, future in waiting:
            future.set_result(begun.get(what) if kind == "begin" else found.get(what) if kind == "get" else None)
