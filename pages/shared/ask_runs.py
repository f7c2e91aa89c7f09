"""Runs of the controller as the page needs them: begun off the script thread, found again by their id, told as far as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import streamlit as st

from core.controller import executor
from core.controller import record as rec
from core.controller.context import Context
from core.controller.executor import Decision
from core.controller.reading import Planned
from core.controller.record import Record
from core.controller.state import RunState
from core.errors import InputError, OddysseyError
from core.llm import Role
from core.storage import SavedRun, SavedTable
from pages.shared import connections, footage, jobs, limits, results, state, who
from pages.shared.jobs import Job

RUN = "run"
"""Query parameter that names the open run."""
_PLANNER = "controller.planner"
_PATIENCE = 0.6
"""Seconds in which most runs are over, so that nothing flickers."""
Planner = Literal["offline", "llm"]


@dataclass(frozen=True)
class Live:
    """A run as it stands now.

    Attributes:
        saved: The run in the workspace.
        state: Its newest state, None while the question is read.
        busy: Whether it goes on in this process right now.
        error: What ended it before its end, None if nothing did.
    """

    saved: SavedRun
    state: RunState | None
    busy: bool
    error: BaseException | None

    @property
    def interrupted(self) -> bool:
        """Whether it was left in the middle, such as by a restart of the app."""
        return not self.busy and self.error is None and (self.state is None or self.state.status == "running")


def opened() -> Live | None:
    """The run that the address names, None if it names none.

    Raises:
        InputError: The address names a run that is not in this workspace.
    """
    wanted = st.query_params.get(RUN, "")
    return live(state.store().runs.get(wanted)) if wanted else None


def live(saved: SavedRun) -> Live:
    """A run as it stands now: from the work in this process, else from the workspace."""
    job = jobs.known(_key(saved.id))
    if job is not None and not job.finished.is_set():
        return Live(saved, job.news or _state(saved), True, None)
    if job is not None:
        saved = state.store().runs.get(saved.id)  # it may have ended since it was read
    return Live(saved, _state(saved), False, job.error if job is not None else None)


def _state(saved: SavedRun) -> RunState | None:
    return RunState.from_dict(saved.state) if saved.state else None


def _key(run_id: str) -> tuple[str, str, str]:
    return ("ask", state.store().db.name, run_id)


def ask(query: str, table: SavedTable, planned: Planned | None = None, page: str = "") -> None:
    """Begin a run, name it in the address, and draw the page anew, or another one."""
    run = state.store().runs.begin(query.strip(), who.name(), table.id)
    ctx = context(table)
    by = planner() if planned is None else "offline"

    def work(job: Job) -> RunState:
        return executor.start(query, _with(ctx, job), controller=by, planned=planned, run=run, on_event=job.tell)

    jobs.begin(_key(run.id), work).finished.wait(_PATIENCE)
    if page:
        st.switch_page(page, query_params={RUN: run.id})
    open_run(run.id)


def to_answer(run: RunState | None) -> int | None:
    """The step that a yes is about: the one that waits, or the one in which a run was cut off, if it had been confirmed.

    A step is noted as running before it is known whether it must wait, so an evaluation counts as confirmed once it has begun.
    """
    at = next((i for i, s in enumerate(run.steps) if s.status in ("waiting", "running")), None) if run is not None else None
    if run is None or at is None or run.steps[at].status == "waiting" or run.steps[at].op != "evaluate":
        return at
    return at if state.store().results.runs([run.id]) else None


def go_on(saved: SavedRun, decisions: Mapping[int, Decision] | None = None) -> None:
    """Go on with a run that waits or was interrupted, and draw the page anew."""
    table = table_of(saved)
    if table is None:
        raise InputError("The table of this run is not in this workspace (any more); restore it, or go on on the command line.")
    ctx, chosen = context(table), dict(decisions or {})
    job = jobs.begin(_key(saved.id), lambda job: executor.resume(saved, _with(ctx, job), chosen, on_event=job.tell))
    job.finished.wait(_PATIENCE)
    st.rerun()


def can_stop(run: RunState | None) -> str:
    """What stopping would be called in the step that runs, "" where there is nothing to stop."""
    now = next((s.op for s in run.steps if s.status == "running"), "") if run is not None else ""
    return {"evaluate": "Pause", "acquire": "Stop looking"}.get(now, "")


def stop(saved: SavedRun) -> None:
    """Ask the work to end at the next chance; what is done is kept."""
    job = jobs.known(_key(saved.id))
    if job is not None:
        job.stopping.set()


def table_of(saved: SavedRun) -> SavedTable | None:
    """The table that a run is about, None if it is not in this workspace any more."""
    return next((t for t in state.tables() if t.id == saved.table_id), None)


def lost(now: Live | None) -> OddysseyError | None:
    """Why the record of a run that is over cannot be read, such as because its folder was deleted; None if it can."""
    if now is None or now.state is None or now.busy:
        return None
    try:
        record = Record(state.store().runs.path(now.saved))
        record.context()
        record.odd()
    except OddysseyError as e:
        return e
    return None


def table_then(saved: SavedRun) -> Mapping[str, Any] | None:
    """Name and digest of the table as it was when the question was asked, None if the record does not tell."""
    try:
        found: Mapping[str, Any] | None = Record(state.store().runs.path(saved)).context()["table"]
    except OddysseyError:
        return None
    return found


def context(table: SavedTable) -> Context:
    """What a run on a table works with, as it is set now."""
    return Context(
        seed=state.seed_table(table),
        source=results.provenance(table),
        settings=state.settings(),
        store=state.store(),
        table=table,
        datastore=footage.opened(),
        endpoints=connections.endpoints(),
        limits=limits.kept(),
        who=who.name(),
    )


def planner() -> Planner:
    """Who plans: the model that is connected for it, unless a person chose the offline controller."""
    wanted = state.store().preferences.get(_PLANNER, "llm")
    return "llm" if wanted == "llm" and connections.endpoint("llm") is not None else "offline"


def plan_with(chosen: Planner) -> None:
    """Let a controller plan from now on."""
    state.store().preferences.set(_PLANNER, chosen)


def lacking(run: RunState) -> Role | None:
    """The role without which a run could not evaluate what it found, None if it lacked none."""
    skipped = any(s.op == "evaluate" and s.status == "skipped" for s in run.steps)
    ready = any(s.op == "acquire" and s.status == "done" and s.counts.get("items") for s in run.steps)
    if not (skipped and ready):
        return None
    return None if "vlm" in Record(state.store().runs.home / run.folder).context()["endpoints"] else "vlm"


def evidence(run: RunState) -> tuple[int, int] | None:
    """Samples of a run that would count as evidence, and those that can be evaluated; None before any were found."""
    record = Record(state.store().runs.home / run.folder)
    verdicts = [i["verdict"] for i in record.lines(rec.BUNDLE)]
    fit = [v for v in verdicts if v != "invalid"]
    return (sum(v == "valid" for v in fit), len(fit)) if record.has(rec.BUNDLE) else None


def _with(ctx: Context, job: Job) -> Context:
    return replace(ctx, progress=job.report, cancel=job.stopping.is_set)


def progress(saved: SavedRun) -> tuple[int, int]:
    """Work done and in all of the running step, (0, 0) if it did not tell."""
    job = jobs.known(_key(saved.id))
    return (job.done, job.total) if job is not None else (0, 0)


def open_run(run_id: str) -> None:
    """Show a run, named in the address."""
    st.query_params[RUN] = run_id
    st.rerun()


def leave() -> None:
    """Back to the question."""
    st.query_params.pop(RUN, None)


def mine(most: int = 1_000) -> tuple[SavedRun, ...]:
    """The runs of whoever sits here, newest first."""
    return state.store().runs.list(who.name(), most)
