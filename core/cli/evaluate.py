"""The commands `evaluate` and `judge`."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from core import operators
from core.cli import options as o
from core.cli.show import say, say_json
from core.cli.workspace import workspace
from core.digest import sha256_bytes
from core.errors import InputError
from core.evaluation import Cell, Decode, Event, Limits, Rate
from core.evaluation.bundle import read_bundle
from core.llm.connections import endpoint_for
from core.operators import Estimate, Evaluated
from core.storage import SavedTable, Store

TableName = Annotated[str, typer.Option("--table", help="Saved table (name or id) to count the results into.")]
OutDir = Annotated[Path | None, typer.Option("--out-dir", help="Folder to write results, tables by condition and a manifest into.")]
RunId = Annotated[str, typer.Option("--run-id", help="Name of the run; by default made of the file and the model, so that it resumes.")]
MaxCalls = Annotated[int | None, typer.Option("--max-calls", min=0, help="Calls to send at most, repeats included; then it pauses.")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=0, help="Tokens to use at most; then it pauses.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost", min=0, help="Cost at most, in the currency of the price; then it pauses.")]
Concurrency = Annotated[int, typer.Option("--concurrency", min=1, max=1000, help="Calls in flight at most.")]
Start = Annotated[int, typer.Option("--start", min=1, help="Calls in flight at the start; it adapts from there.")]
PerMinute = Annotated[float | None, typer.Option("--requests-per-minute", help="Rate that the server allows.")]
TokensPerMinute = Annotated[float | None, typer.Option("--tokens-per-minute", help="Rate that the server allows.")]
AnswerTokens = Annotated[int, typer.Option("--answer-tokens", min=1, help="Limit of one answer, its reasoning included.")]
NoJudge = Annotated[bool, typer.Option("--no-judge", help="Ask no judge: what no shortcut can read stays unscored.")]
Partial = Annotated[bool, typer.Option("--partial", help="Also count samples of whose slice something is not known.")]
Who = Annotated[str, typer.Option("--who", help="Who does it, for the record.")]


def evaluate(
    bundle: Annotated[Path, typer.Argument(help="Samples, one JSON object a line (normalized_bundle.jsonl).", show_default=False)],
    table: TableName = "",
    out_dir: OutDir = None,
    run_id: RunId = "",
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    concurrency: Concurrency = 64,
    start: Start = 4,
    requests_per_minute: PerMinute = None,
    tokens_per_minute: TokensPerMinute = None,
    answer_tokens: AnswerTokens = 1_024,
    no_judge: NoJudge = False,
    partial: Partial = False,
    estimate: Annotated[bool, typer.Option("--estimate", help="Only say what it will take; send nothing.")] = False,
    who: Who = "",
    as_json: o.AsJson = False,
) -> None:
    """Asks the model under test about samples and scores its answers; run again, it goes on where it stopped."""
    items = read_bundle(bundle)
    limits = Limits(min(start, concurrency), concurrency, requests_per_minute, tokens_per_minute, max_calls, max_tokens, max_cost)
    decode = Decode(answer_tokens, answer_tokens)
    with workspace() as store:
        vlm = endpoint_for("vlm", store)
        if vlm is None:
            raise InputError("No model under test is set: name it with ODDYSSEY_VLM_BASE_URL and ODDYSSEY_VLM_MODEL, or save a connection.")
        judge = None if no_judge else endpoint_for("judge", store)
        saved = _table(store, table)
        if saved is not None and saved.model and saved.model != vlm.name:
            raise InputError(
                f'The table "{saved.name}" holds results of the model "{saved.model}", and this model is called "{vlm.name}". If they are '
                f'the same, set ODDYSSEY_VLM_LABEL="{saved.model}"; models never mix.'
            )
        if estimate:
            _tell_estimate(operators.estimate(items, vlm, judge, store, decode=decode), as_json)
            return
        name = run_id or f"eval-{sha256_bytes(bundle.read_bytes() + f'{vlm.name} {vlm.base_url}'.encode())[:16]}"
        with interruptible() as stop:
            run = operators.evaluate(
                store, items, vlm, judge, run_id=name, limits=limits, decode=decode, on_event=_ticker(), cancel=stop.is_set, who=who
            )
        _finish(store, run, saved, partial, out_dir, who, as_json, {})


def judge(
    file: Annotated[Path, typer.Argument(help="Answers or results: a VLMEvalKit table, or eval_results.jsonl.", show_default=False)],
    bundle: Annotated[Path | None, typer.Option("--bundle", help="Samples that the rows belong to, by id.")] = None,
    odd: Annotated[
        str, typer.Option("--odd", help="ODD of the slices that columns name: driving, or a YAML file; by default that of --table.")
    ] = "",
    map_: o.Maps = None,
    model: Annotated[str, typer.Option("--model", help="Name under which the results count.")] = "",
    scores: Annotated[bool, typer.Option("--scores", help="Take the scores of the file; only answers without one are judged.")] = False,
    score_scale: o.ScoreScale = "",
    table: TableName = "",
    out_dir: OutDir = None,
    run_id: RunId = "",
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    answer_tokens: AnswerTokens = 1_024,
    no_judge: NoJudge = False,
    partial: Partial = False,
    who: Who = "",
    as_json: o.AsJson = False,
) -> None:
    """Judges answers that were made elsewhere, or takes in their scores."""
    if score_scale not in ("", "unit", "percent", "boolean"):
        raise InputError(f'--score-scale: got "{score_scale}"; allowed: unit, percent, boolean.')
    with workspace() as store:
        saved = _table(store, table)
        if saved is not None and not model:
            model = saved.model
            if not model:
                raise InputError(f'Name the model (--model) whose results are to count into "{saved.name}".')
        named = operators.load_odd(odd) if odd else None
        domain = named or (store.tables.load(saved.id).odd if saved is not None else None)
        with interruptible() as stop:
            found = operators.import_results(
                store,
                file,
                domain,
                run_id=run_id,
                model=model,
                items=read_bundle(bundle) if bundle is not None else (),
                columns=o.pairs(map_, "--map"),
                scale=score_scale or None,  # type: ignore[arg-type]  # one of the three above
                use_scores=scores,
                judge=None if no_judge else endpoint_for("judge", store),
                limits=Limits(max_calls=max_calls, max_tokens=max_tokens, max_cost=max_cost),
                decode=Decode(answer_tokens, answer_tokens),
                on_event=_ticker(),
                cancel=stop.is_set,
                who=who,
            )
        extra = {"rows": found.rows, "left_out": dict(found.left_out), "notes": list(found.notes)}
        _finish(store, found.evaluated, saved, partial, out_dir, who, as_json, extra)


def _finish(
    store: Store,
    run: Evaluated,
    saved: SavedTable | None,
    partial: bool,
    out_dir: Path | None,
    who: str,
    as_json: bool,
    extra: dict[str, Any],
) -> None:
    """Write, count, tell; exit code 1 where the run did not come to its end."""
    files = operators.write_evaluation(run, out_dir) if out_dir is not None else ()
    grown = None
    if saved is not None:
        told = operators.counting(store, saved.id, run.run_id, partial=partial)
        after = operators.count_results(store, saved.id, run.run_id, partial=partial, who=who)
        grown = {"id": after.id, "name": after.name, "sha256": after.digest, "slices": after.rows, "samples": after.total}
        grown |= {"counted": told.counted, "left_out": dict(told.left_out), "sha256_before": saved.digest}
    if as_json:
        data = run.as_dict() | extra | {"files": [str(f) for f in files]} | ({"table": grown} if grown else {})
        say_json(data)
    else:
        _print(run, extra, grown, files)
    if run.stopped:
        sys.exit(1)


def _print(run: Evaluated, extra: dict[str, Any], grown: dict[str, Any] | None, files: tuple[Path, ...]) -> None:
    c = run.counts
    for note in (*run.warnings, *extra.get("notes", ())):
        say(f"note: {note}")
    for why, n in extra.get("left_out", {}).items():
        say(f"left out: {n:,} rows, since {why}.")
    say(
        f"{run.model}, run {run.run_id}: {c['items']:,} samples, {c['scored']:,} scored, {c['unscored']:,} unscored, "
        f"{c['failed']:,} failed, {c['blocked']:,} blocked, {c['pending']:,} pending."
    )
    say(f"{c['calls']:,} calls sent, {c['cached']:,} answers were there already, {c['repeated']:,} repeated after an end in the middle.")
    usage = run.usage
    about = "about " if usage["estimated"] else ""
    cost = "no price is set" if run.cost is None else f"cost {run.cost:,.6g}"
    say(f"{about}{usage['prompt']:,} + {usage['completion']:,} tokens, {cost}.")
    _print_cells("Requested and realised slice", run.by_slice)
    _print_cells("By value", run.by_value)
    if grown:
        say(f"Table {grown['name']}: {grown['counted']:,} results count; {grown['slices']:,} slices, {grown['samples']:,} samples.")
        for why, n in grown["left_out"].items():
            say(f"  {n:,} do not: {why}.")
    for f in files:
        say(f"Wrote {f}.")
    if run.stopped:
        say(f"{run.stopped} The same command goes on from here.")


def _print_cells(title: str, cells: tuple[Cell, ...], most: int = 30) -> None:
    if not any(c.values or c.requested for c in cells):
        return
    say(f"{title} (worst first; mean, 95 % interval, n):")
    for c in cells[:most]:
        asked = ", ".join(c.requested.values())
        values = c.values.values() if c.requested else (f"{k} = {v}" for k, v in c.values.items())
        same = bool(c.requested) and dict(c.requested) == dict(c.values)
        shown = "the same" if same else ", ".join(values) or "not fully known"
        name = f"{asked} -> {shown}" if asked else shown
        parts = [f"{label} {_rate(r)}" for label, r in (("MCQ", c.mcq), ("VQA", c.vqa), ("judge", c.judge)) if r.n]
        rest = [f"{n:,} {k}" for k, n in (("unscored", c.unscored), ("failed", c.failed), ("blocked", c.blocked)) if n]
        say(f"  {name}: {'; '.join([*parts, *rest]) or 'nothing scored'}")
    if len(cells) > most:
        say(f"  and {len(cells) - most:,} more (--json, --out-dir).")


def _rate(r: Rate) -> str:
    return f"{r.mean:.3f} [{r.low:.2f}, {r.high:.2f}] n={r.n:,}"


def _tell_estimate(found: Estimate, as_json: bool) -> None:
    if as_json:
        say_json(found.as_dict())
        return
    for note in found.warnings:
        say(f"note: {note}")
    say(f"{found.items:,} samples: {found.model_calls:,} calls to the model under test, {found.cached:,} answers are there already.")
    say(f"{found.judge_calls_least:,} to {found.judge_calls_most:,} calls to the judge.")
    cost = "no price is set" if found.cost is None else f"at most {found.cost:,.6g} {found.currency}".rstrip()
    say(f"At most about {found.prompt_tokens:,} + {found.completion_tokens:,} tokens, {cost}.")


def _table(store: Store, name: str) -> SavedTable | None:
    """The saved table of a name or id, None for no name."""
    found = [t for t in store.tables.list() if name in (t.id, t.name)]
    if name and not found:
        known = ", ".join(f'"{t.name}"' for t in store.tables.list()) or "none"
        raise InputError(f'There is no saved table "{name}"; saved tables: {known}.')
    return found[0] if name else None


def _ticker() -> Any:
    """Tells a person at a terminal how far it is; nobody else."""
    if not sys.stderr.isatty():
        return None

    def tell(e: Event) -> None:
        cost = "" if e.cost is None else f", cost {e.cost:,.4g}"
        sys.stderr.write(f"\r{e.done:,} of {e.total:,}, {e.in_flight} in flight, {e.calls:,} calls, {e.cached:,} cached{cost}   ")
        sys.stderr.write("\n" if e.done == e.total else "")
        sys.stderr.flush()

    return tell


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets: calls in flight are then awaited, and nothing is lost; a second Ctrl-C ends at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.getsignal(signal.SIGINT)

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        stop.set()

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
