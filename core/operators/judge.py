"""Answers and results that were made elsewhere: read, judged where they have no score, kept like a run of our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.digest import sha256_bytes
from core.errors import InputError
from core.evaluation import Decode, Event, Item, Job, Limits, Outcome, Result, evaluate_job, flaw_of, result_of, row_of
from core.evaluation.bundle import flat_lines
from core.evaluation.imports import Imported, Scale, read_own_results, read_results
from core.evaluation.rows import same_result
from core.llm import Endpoint, Usage
from core.odd import Odd
from core.operators.evaluate import Evaluated, about_run, evaluated
from core.seed_table import open_table
from core.storage import ResultRow, Store


@dataclass(frozen=True)
class ImportedRun:
    """A run that was read from a file.

    Attributes:
        evaluated: As if it had been evaluated here.
        rows: Rows of the file.
        left_out: Rows that cannot be used, by reason.
        notes: What was chosen without being asked for.
    """

    evaluated: Evaluated
    rows: int
    left_out: Mapping[str, int]
    notes: tuple[str, ...]


def import_results(
    store: Store,
    path: Path,
    odd: Odd | None,
    *,
    run_id: str = "",
    model: str = "",
    items: Sequence[Item] = (),
    columns: Mapping[str, str] | None = None,
    scale: Scale | None = None,
    use_scores: bool = True,
    judge: Endpoint | None = None,
    limits: Limits | None = None,
    decode: Decode | None = None,
    on_event: Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    name: str = "",
    who: str = "",
) -> ImportedRun:
    """Take in results, or answers, that were made elsewhere; reading the same file again changes nothing.

    Args:
        store: Where they are kept.
        path: A table as VLMEvalKit writes it (.xlsx, .csv, .tsv, .parquet, .jsonl), or `eval_results.jsonl` of a run.
        odd: Whose slices the columns name; None where only the answers matter.
        run_id: Name of the run; made of the content of the file and the model by default.
        model: Name under which the results count; needed to count them into a table.
        items: Samples that the rows belong to, by id.
        columns: Column of a role or a dimension, see `core.evaluation.imports.read_results`.
        scale: Of the scores.
        use_scores: Whether the scores of the file count; else its answers are judged.
        judge: Judges the answers that have no score and name no option clearly; None leaves those unscored.
        limits: Pace and budget of the judge.
        decode: Parameters of decoding.
        on_event: Called after each judged answer.
        cancel: True ends the judging.
        name: Of the file, where the path is not its own.
        who: Who does it.

    Raises:
        InputError: The file cannot be read, or not mapped.
    """
    found = _read(path, odd, model, items, columns, scale, use_scores, name)
    model = model or "imported"
    run_id = run_id or f"import-{sha256_bytes(path.read_bytes() + model.encode())[:16]}"
    done = [
        replace(r, why=flaw_of(r.item)) if r.status == "unscored" and r.response.strip() and flaw_of(r.item) else r for r in found.results
    ]
    decode = decode or Decode()
    about = about_run([r.item for r in done], None, judge, decode) | {"imported": {"file": name or path.name, "rows": found.rows}}
    store.results.begin(run_id, model, judge.name if judge is not None else "", about, who)
    unjudged = [r for r in done if r.status == "unscored" and r.response.strip() and not flaw_of(r.item)]
    outcome = Outcome((), 0, "", "", 0, 0, 0, 0, 0.0, (), Usage(), None)
    if judge is not None and unjudged:
        job = Job(run_id, [r.item for r in unjudged], None, judge, found.answers, limits=limits or Limits(), decode=decode)
        outcome = evaluate_job(store, job, observe=on_event, cancel=cancel)
    judged = {r.item.id: r for r in outcome.results}
    kept = _keep(store, run_id, [judged.get(r.item.id, r) for r in done], who)
    run = evaluated(run_id, model, replace(outcome, results=tuple(kept)), len(kept), about)
    return ImportedRun(run, found.rows, found.left_out, found.notes)


def _read(
    path: Path,
    odd: Odd | None,
    model: str,
    items: Sequence[Item],
    columns: Mapping[str, str] | None,
    scale: Scale | None,
    use_scores: bool,
    name: str,
) -> Imported:
    if not path.is_file():
        raise InputError(f'There is no file "{path}".')
    source: Path | bytes = path
    if (name or path.name).lower().endswith((".jsonl", ".ndjson")):
        own = read_own_results(path)
        if own is not None and use_scores:
            return own
        if own is not None:
            blank: dict[str, Any] = {"score": None, "scored_by": "", "choice": "", "judgement": "", "why": "to be judged again"}
            return replace(own, results=tuple(replace(r, status="unscored", **blank) for r in own.results))
        source = flat_lines(path)
    file = open_table(source, name or path.name)
    return read_results(file, odd, model=model, items=items, columns=columns, scale=scale, use_scores=use_scores)


def _keep(store: Store, run_id: str, results: Sequence[Result], who: str) -> list[Result]:
    """Append what is new; a person's word on a sample stays."""
    known = {r.item_id: r for r in store.results.rows(run_id)}
    rows, out = [], list[Result]()
    for r in results:
        old = known.get(r.item.id)
        if old is not None and old.scored_by == "person":
            out.append(result_of(old))
            continue
        if old is None or not same_result(old, r):
            rows.append(row_of(run_id, r, version=0 if old is None else old.version + 1, who=who))
        out.append(r)
    store.results.append(rows)
    return out if not rows else [result_of(r) for r in _in_order(store.results.rows(run_id), results)]


def _in_order(rows: Sequence[ResultRow], results: Sequence[Result]) -> list[ResultRow]:
    """The kept rows of some results, in their order; another process may have kept one first."""
    kept = {r.item_id: r for r in rows}
    return [kept[r.item.id] for r in results]
