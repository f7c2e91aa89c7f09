"""The commands `ask`, `resume` and `replay`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import typer

from core import operators
from core.cli import options as o
from core.cli.evaluate import MaxCalls, MaxCost, MaxTokens
from core.cli.show import say, say_json
from core.controller import Context, Record, Replay, RunState, last_state, open_record, start
from core.controller import replay as replay_run
from core.controller import resume as resume_run
from core.controller.record import MANIFEST
from core.errors import InputError
from core.llm.connections import endpoints_for
from core.llm.pace import Limits
from core.settings import Settings
from core.storage import Store, open_store

Run = Annotated[str, typer.Argument(help="Id of a run, or the folder of its record.", show_default=False)]
RunDir = Annotated[Path | None, typer.Option("--run-dir", help="New folder for the record; by default one in the workspace.")]


def ask(
    opts: o.TableOptions,
    query: Annotated[str, typer.Argument(help="The question, in plain words.", show_default=False)],
    manifest: Annotated[str, typer.Option("--manifest", help="Footage: a saved datastore, or the file of a manifest.")] = "",
    controller: Annotated[
        str, typer.Option("--controller", help="offline, or llm (ODDYSSEY_LLM_BASE_URL names the endpoint).")
    ] = "offline",
    yes: Annotated[bool, typer.Option("--yes", help="Do paid steps that the question asks for without a further question.")] = False,
    run_dir: RunDir = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    who: Annotated[str, typer.Option("--who", help="Who asks, for the record.")] = "",
    as_json: o.AsJson = False,
) -> None:
    """Answers a question with a plan of operators, and keeps a record that can be replayed."""
    if controller not in ("offline", "llm"):
        raise InputError(f'--controller: got "{controller}"; allowed: offline, llm.')
    settings = Settings.from_environment()
    store = open_store(settings)
    try:
        limits = Limits(max_calls=max_calls, max_tokens=max_tokens, max_cost=max_cost)
        ctx = replace(context_of(opts, store, settings, manifest, who), limits=limits)
        kind: Literal["offline", "llm"] = "llm" if controller == "llm" else "offline"
        state = start(query, ctx, controller=kind, auto_confirm=yes, folder=run_dir)
        folder = store.runs.path(store.runs.get(state.id))
    finally:
        store.close()
    _print(state, folder, as_json)


def resume(
    run: Run,
    skip: Annotated[bool, typer.Option("--skip", help="Leave the waiting step out instead of doing it.")] = False,
    manifest: Annotated[str, typer.Option("--manifest", help="Footage of the run, where the workspace does not have it.")] = "",
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    as_json: o.AsJson = False,
) -> None:
    """Does the step that a run waits with, or that failed or was skipped; what was answered is not asked again."""
    settings = Settings.from_environment()
    store = open_store(settings)
    try:
        folder, record = _record(store, run)
        state, kept = last_state(record), record.context()
        footage = operators.open_footage(store, manifest, record.odd(), settings) if manifest else None
        if footage is None and kept["datastore"]:
            footage = operators.find_datastore(store, kept["datastore"]["digest"])
        # A record that was moved goes on without the table that its results would be counted into.
        table = next((t for t in store.tables.list() if kept["table"] and t.id == kept["table"]["id"]), None)
        limits = Limits(max_calls=max_calls, max_tokens=max_tokens, max_cost=max_cost)
        models = endpoints_for(store)
        ctx = Context(record.seed(), {}, settings, store, table=table, datastore=footage, endpoints=models, limits=limits, who=state.who)
        at = state.waiting if state.waiting is not None or skip else state.again
        state = resume_run(folder, ctx, {} if at is None else {at: "skip" if skip else "do"})
    finally:
        store.close()
    _print(state, folder, as_json)


def replay(
    run: Run,
    manifest: Annotated[str, typer.Option("--manifest", help="Footage of the run, where the workspace does not have it.")] = "",
    as_json: o.AsJson = False,
) -> None:
    """Runs a recorded plan again, without a model, and says of every file whether it came out the same."""
    settings = Settings.from_environment()
    store = open_store(settings)
    try:
        folder, _ = _record(store, run)
        footage = operators.open_footage(store, manifest, None, settings) if manifest else None
        found = replay_run(folder, store, settings, footage)
    finally:
        store.close()
    if as_json:
        say_json(found.as_dict())
    else:
        _print_replay(found)
    if not found.equal:
        sys.exit(1)


def _record(store: Store, run: str) -> tuple[Path, Record]:
    """The record of a run that is named by its id or its folder."""
    folder = Path(run) if Path(run).is_dir() else store.runs.path(store.runs.get(run))
    return folder, open_record(folder)


def context_of(opts: o.TableOptions, store: Store, settings: Settings, manifest: str, who: str) -> Context:
    """What a question to a table works with: the table, the footage if any, and every endpoint that is set."""
    table = opts.saved(store)
    if table is not None:
        seed, source = store.tables.load(table.id, table.version), dict(store.tables.provenance(table.id).report)
    else:
        prepared = opts.prepare()
        report = operators.check(prepared)
        if not report.accepted:
            raise InputError(f"None of the {report.rows:,} rows can be used. The first problems:", list(islice(report.problems(), 20)))
        seed, source = report.seed, operators.source_of(prepared, report)
    footage = operators.open_footage(store, manifest, seed.odd, settings) if manifest else None
    return Context(seed, source, settings, store, table=table, datastore=footage, endpoints=endpoints_for(store), who=who)


def _print(state: RunState, folder: Path, as_json: bool) -> None:
    """Show a run; a step that failed makes the exit code 1, one that waits does not."""
    if as_json:
        say_json(state.as_dict() | {"path": str(folder), "manifest": json.loads((folder / MANIFEST).read_bytes())})
    else:
        _print_run(state, folder)
    if any(s.status == "failed" for s in state.steps):
        sys.exit(1)


def _print_run(state: RunState, folder: Path) -> None:
    if state.clarify:
        say(state.clarify)
    for r in state.readings:
        words = f'"{r.phrase}"' if r.phrase else "(no words of its own)"
        say(f"  {words}: {f'{r.dimension} = {r.value}' if r.value else 'nothing'} ({r.how}){'. ' + r.note if r.note else ''}")
    for note in (state.plan.fallback_reason, *state.plan.notes):
        if note:
            say(f"note: {note}")
    for s in state.steps:
        say(f"{s.title} ({s.op}): {s.status}. {s.note}")
        if s.estimate:
            told = {k.replace("_", " "): v for k, v in s.estimate.items() if isinstance(v, int | float | str) and v != ""}
            takes = ", ".join(f"{k} {v:,}" if isinstance(v, int | float) else f"{k} {v}" for k, v in told.items())
            say(f"  would take: {takes}; python -m core resume {state.id} does it")
            for text in s.estimate.get("warnings") or ():
                say(f"  warning: {text}")
    if state.suggestions:
        say(f"Did you mean {', '.join(f'{s.dimension} = {s.value}' for s in state.suggestions)}?")
    say(f"Record: {folder}")


def _print_replay(found: Replay) -> None:
    for c in found.checks:
        say(f"{c.status:12} {c.name}{': ' + c.why if c.why else ''}")
    for text in found.changed:
        say(f"changed since: {text}")
    say("Everything that was replayed is byte-equal." if found.equal else "NOT equal.")
