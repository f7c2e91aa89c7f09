"""Runs a plan step by step with the operators of page and command line, and keeps a record of all of it.

Steps that cost something, or that nobody asked for, wait for a confirmation. What is done is never done again: a run that was
interrupted, or waited for a day, goes on from its record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from core.controller import record as rec
from core.controller import trail
from core.controller.context import Context
from core.controller.cues import asks_for
from core.controller.finish import write_end
from core.controller.guards import problems
from core.controller.paid import Paid
from core.controller.plan import InOdd, OutOfOdd, Plan, Step, Triage
from core.controller.planning import make_plan
from core.controller.ranked import audit, ranking_csv, ranking_note, run_rank, run_triage, summary, triage_note
from core.controller.reading import Planned, Reading, Suggestion
from core.controller.record import Record, new_record, open_record
from core.controller.state import RunState, StepState, first_state
from core.digest import sha256_json
from core.errors import InputError, OddysseyError
from core.operators import RankResult, triage_object
from core.storage import SavedRun, Store

Decision = Literal["do", "skip"]
OnEvent = Callable[[RunState], None]
FREE = (Triage, InOdd, OutOfOdd)
PLANNED = ("plan", "readings", "suggestions", "clarify", "prose")
"""What of a state stands in the file of the plan."""


def start(
    query: str,
    ctx: Context,
    *,
    controller: Literal["offline", "llm"] = "offline",
    planned: Planned | None = None,
    auto_confirm: bool = False,
    run: SavedRun | None = None,
    folder: Path | None = None,
    on_event: OnEvent | None = None,
) -> RunState:
    """Answers a question: plan, run, record; up to the first step that waits for a confirmation.

    Args:
        query: The question.
        ctx: What the run works with.
        controller: Who plans.
        planned: A plan that was edited by hand instead.
        auto_confirm: Whether what was asked for may cost something without a further question.
        run: The run, if it has been begun in the store already.
        folder: Of the record, a new one; the workspace's folder of runs by default.
        on_event: Called with every state.

    Raises:
        InputError: The question is empty or too long, the plan breaks a rule, or the folder cannot be used.
    """
    query = query.strip()
    if not query or len(query) > 4_000:
        raise InputError(f"A question has 1 to 4,000 characters; this one has {len(query):,}.")
    if planned is not None and (found := problems(planned.plan, ctx.seed.odd)):
        raise InputError("The plan cannot be run.", found)
    if folder is not None:
        new_record(folder)  # one that cannot be used is refused before the workspace knows of a run
    if run is None:
        run = ctx.store.runs.begin(query, ctx.who, ctx.table.id if ctx.table else None, str(folder.resolve()) if folder else "")
    record = new_record(ctx.store.runs.path(run))
    with record.alone():
        about = {"id": run.id, "folder": run.folder, "who": ctx.who, "created_at": run.created_at.isoformat()}
        record.put_inputs(ctx.seed, _inputs(ctx) | {"run": about, "query": query})
        memo: dict[str, Any] = {}
        planned = planned or make_plan(query, ctx, controller, lambda step: _observed(ctx, step, memo))
        for call in planned.calls:
            record.append(rec.CALLS, call)
        state = first_state(run.id, run.folder, ctx.who, about["created_at"], planned)
        record.write(rec.PLAN, rec.dump({k: v for k, v in state.as_dict().items() if k in PLANNED}))
        return _Run(ctx, record, state, on_event, auto_confirm, memo).go({})


def resume(
    run: SavedRun | Path,
    ctx: Context,
    decisions: Mapping[int, Decision] | None = None,
    *,
    auto_confirm: bool = False,
    on_event: OnEvent | None = None,
) -> RunState:
    """Goes on with a run that waits or was interrupted; the table and the parameters are those of its record.

    Args:
        run: The run, or the folder of its record.
        ctx: Endpoints, footage and workspace of today.
        decisions: What to do with waiting steps, by position.
        auto_confirm: As for `start`.
        on_event: Called with every state.

    Raises:
        InputError: There is no such record, it is damaged, or somebody else goes on with it now.
    """
    record = open_record(run if isinstance(run, Path) else ctx.store.runs.path(run))
    with record.alone():
        state = last_state(record)
        _note_today(record, state, ctx)
        return _Run(recorded(record, ctx), record, state, on_event, auto_confirm, {}).go(dict(decisions or {}))


def last_state(record: Record) -> RunState:
    """The newest state in a record; that before the first step where it was cut off there.

    Raises:
        InputError: It is damaged.
    """
    events = record.lines(rec.EVENTS)
    if events:
        return RunState.from_dict(events[-1]["state"])
    kept, about = record.json(rec.PLAN), record.context()["run"]
    planned = Planned(
        Plan.model_validate(kept["plan"]),
        tuple(Reading(**r) for r in kept["readings"]),
        tuple(Suggestion(**s) for s in kept["suggestions"]),
        kept["clarify"],
        prose=kept["prose"],
    )
    return first_state(about["id"], about["folder"], about["who"], about["created_at"], planned)


def _note_today(record: Record, state: RunState, ctx: Context) -> None:
    """Note the footage and the models of steps that are still to come, where they are others than at the beginning."""
    to_come = {s.op for s in state.steps if s.status != "done"}
    kept, now = record.context(), _inputs(ctx)
    new = dict(kept)
    if "acquire" in to_come and ctx.datastore is not None:
        new["datastore"] = now["datastore"]
    if to_come & {"acquire", "evaluate"}:
        new["endpoints"] = now["endpoints"] | {r: e for r, e in kept["endpoints"].items() if r == "llm"}
    record.put_context(new)


def recorded(record: Record, ctx: Context) -> Context:
    """A context with the table and the parameters of a record."""
    kept = record.context()
    from core.scoring import ScoringParameters

    params = ScoringParameters(**kept["parameters"])
    return replace(ctx, seed=record.seed(), source=kept["source"], params=params, mode=kept["mode"])


def _inputs(ctx: Context) -> dict[str, Any]:
    table = {"id": ctx.table.id, "name": ctx.table.name, "digest": ctx.table.digest, "model": ctx.table.model} if ctx.table else None
    footage = {"name": ctx.datastore.name, "digest": ctx.datastore.digest} if ctx.datastore else None
    endpoints = {role: e.public() for role, e in ctx.endpoints.items()}
    return {
        "source": dict(ctx.source),
        "parameters": ctx.params.as_dict(),
        "mode": ctx.mode,
        "table": table,
        "datastore": footage,
        "endpoints": endpoints,
    }


def _observed(ctx: Context, step: Step, memo: dict[str, Any]) -> str:
    """What a language model is told of a step; what costs something is not done while it plans."""
    if not isinstance(step, FREE):
        return f"{step.op}: planned; it runs after a person has confirmed it."
    return summary(step, _free(ctx, step, memo))


def _free(ctx: Context, step: Triage | InOdd | OutOfOdd, memo: dict[str, Any]) -> Any:
    """A free step, computed once per run."""
    key = step.model_dump_json(exclude={"reason"})
    if key not in memo:
        memo[key] = run_triage(ctx, step) if isinstance(step, Triage) else run_rank(ctx, step)
    return memo[key]


@dataclass(eq=False)
class _Run:
    """One run in progress."""

    ctx: Context
    record: Record
    state: RunState
    on_event: OnEvent | None
    auto_confirm: bool
    memo: dict[str, Any] = field(default_factory=dict)
    ranked: RankResult | None = None
    results: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.asked = asks_for(self.state.query)
        evaluates = self.state.plan.last("evaluate") is not None
        self.paid = Paid(self.ctx, self.record, self.state.id, self.asked, self.auto_confirm, evaluates)

    def go(self, decisions: dict[int, Decision]) -> RunState:
        """Runs the steps in order until one waits or all are done; then writes report and manifest."""
        if self.state.status != "clarify":
            self.state = replace(self.state, status="running", manifest_sha="")
        self._tell("begun")
        for i in range(len(self.state.steps)):
            if not self._step(i, decisions.get(i)):
                self.state = replace(self.state, status="waiting")
                break
        else:
            if self.state.status == "running":
                self.state = replace(self.state, status="done")
        sha = write_end(self.record, self.state, self.results, self.paid.acquired, self.paid.evaluated)
        self.state = replace(self.state, files=tuple([*self.record.names(), rec.MANIFEST]), manifest_sha=sha)
        self._tell(self.state.status)
        return self.state

    def _step(self, i: int, decision: Decision | None) -> bool:
        """Whether the run goes on after a step."""
        was, step = self.state.steps[i], self.state.plan.steps[i]
        if was.status == "done":
            self._restore(i, step, was)
            return True
        if was.status in ("skipped", "failed") and decision != "do":
            return True
        begun = time.perf_counter()
        self._put(i, replace(was, status="running"), "running")
        try:
            if isinstance(step, Triage) and self.paid.evaluated is not None:
                after = self.paid.conditions(was)
            elif isinstance(step, FREE):
                after = self._run_free(i, step, was)
            else:
                after = self.paid.run(step, was, self.ranked, decision, lambda now: self._put(i, now, "running"))
        except OddysseyError as e:
            after = replace(was, status="failed", note=str(e))
        except Exception as e:  # an interrupt from outside is no failure: the run goes on from here
            self._put(i, replace(was, status="failed", note=f"Ended by an error in the product ({type(e).__name__})."), "failed")
            raise
        self._put(i, replace(after, seconds=was.seconds + time.perf_counter() - begun), after.status)
        return after.status != "waiting"

    def _restore(self, i: int, step: Any, was: StepState) -> None:
        """What a step that is done hands on to later ones."""
        if not isinstance(step, FREE):
            self.paid.restore(step.op)
        elif rec.CONDITIONS not in was.files:
            self.results[i] = _free(self.ctx, step, self.memo)
            if isinstance(step, InOdd | OutOfOdd):
                self.ranked = self.results[i]

    def _run_free(self, i: int, step: Triage | InOdd | OutOfOdd, was: StepState) -> StepState:
        args = step.model_dump(mode="json", exclude={"reason"})
        in_sha = sha256_json(
            {
                "step": args,
                "seed": self.ctx.seed.digest,
                "odd": self.ctx.seed.odd.hash,
                "parameters": self.ctx.params.as_dict(),
                "mode": self.ctx.mode,
            }
        )
        result = self.results[i] = _free(self.ctx, step, self.memo)
        name = self._file_of(i, step)
        if isinstance(step, Triage):
            data, note, rows = rec.dump(triage_object(result)), triage_note(result), len(result.by_value) + len(result.by_pair)
            counts: dict[str, Any] = {"samples": result.n, "slices": result.slices, "left_out": result.left_out}
        else:
            self.ranked = result
            data, note, rows, counts = ranking_csv(result), ranking_note(result), len(result.ranking), dict(audit(result))
        out_sha = self.record.write(name, data)
        return replace(was, status="done", rows=rows, note=note, counts=counts, in_sha=in_sha, out_sha=out_sha, files=(name,))

    def _file_of(self, i: int, step: Triage | InOdd | OutOfOdd) -> str:
        return file_of(self.state, i, step)

    def _put(self, i: int, step: StepState, kind: str) -> None:
        self.state = self.state.with_step(i, step)
        self._tell(kind)

    def _tell(self, kind: str) -> None:
        """Into the record, the database and to whoever looks on."""
        state = self.state.as_dict()
        trail.add(self.record, {"at": datetime.now(UTC).isoformat(), "kind": kind, "state": state})
        if listed(self.ctx.store, self.state.id):
            self.ctx.store.runs.note(self.state.id, kind, state)
        if self.on_event is not None:
            self.on_event(self.state)


def listed(store: Store, run_id: str) -> bool:
    """Whether the workspace knows of a run; one that came from elsewhere it need not."""
    try:
        store.runs.get(run_id)
    except InputError:
        return False
    return True


def file_of(state: RunState, i: int, step: Triage | InOdd | OutOfOdd) -> str:
    """Name of the file of a free step; the second of a kind gets a number."""
    name = {"triage": rec.TRIAGE, "in_odd": rec.WITHIN, "out_of_odd": rec.OUTSIDE}[step.op]
    earlier = sum(s.op == step.op for s in state.plan.steps[:i])
    stem, _, ending = name.rpartition(".")
    return f"{stem}_{earlier + 1}.{ending}" if earlier else name
