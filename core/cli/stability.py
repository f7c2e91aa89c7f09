"""The command `stability`: how much recommendations differ from run to run (SliceNav, Analysis 4)."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from core import operators
from core.cli import options as o
from core.cli.ask import context_of
from core.cli.show import say, say_json
from core.controller.plan import TOP
from core.controller.questions import study_questions
from core.controller.stability import KINDS, Stability, study
from core.errors import InputError
from core.settings import Settings
from core.storage import open_store


def stability(
    opts: o.TableOptions,
    runs: Annotated[int, typer.Option("--runs", help="Times that each question is asked.")] = 10,
    controller: Annotated[
        list[str] | None,
        typer.Option("--controller", help=f"{', '.join(KINDS)}; may be given several times. By default all that can be run."),
    ] = None,
    question: Annotated[
        list[int] | None, typer.Option("--question", help="Number of a question (1 to 15); may be given several times. By default all.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Slices that choose-slices is asked for.")] = TOP,
    as_json: o.AsJson = False,
) -> None:
    """Asks the 15 questions of the paper's Analysis 4 again and again and compares the lists: Jaccard index and variation of size."""
    wanted = [k for k in KINDS if k in (controller or ())]
    unknown = [k for k in controller or () if k not in KINDS]
    known = {q.id: q for q in study_questions()}
    unknown += [str(i) for i in question or () if i not in known]
    if unknown:
        raise InputError(f"Got {', '.join(unknown)}; allowed: --controller {', '.join(KINDS)}; --question 1 to {len(known)}.")
    questions = [known[i] for i in dict.fromkeys(question or known)]
    settings = Settings.from_environment()
    store = open_store(settings)
    try:
        ctx = context_of(opts, store, settings, "", "")
        model = ctx.endpoints.get("llm")
        left_out = [k for k in KINDS if k != "offline"] if model is None and not controller else []
        kinds = wanted or [k for k in KINDS if k not in left_out]
        found = [study(ctx, k, questions, runs, top=top, progress=_progress(k)) for k in kinds]
    finally:
        store.close()
    if as_json:
        data = {
            "runs": runs,
            "controllers": [s.as_dict() for s in found],
            "left_out": {k: "no endpoint for a language model is set" for k in left_out},
            "endpoint": model.public() if model is not None else None,
            "manifest": {
                "input": dict(ctx.source),
                "seed_table": {"sha256": ctx.seed.digest, "slices": len(ctx.seed.n), "samples": ctx.seed.total},
                "odd": {"name": ctx.seed.odd.name, "sha256": ctx.seed.odd.hash},
                "parameters": ctx.params.as_dict(),
                "versions": operators.versions(),
            },
        }
        say_json(data)
        return
    for s in found:
        _print(s)
    for k in left_out:
        say(f"{k}: left out, no endpoint for a language model is set (ODDYSSEY_LLM_BASE_URL, ODDYSSEY_LLM_MODEL).")


def _print(found: Stability) -> None:
    data = found.as_dict()
    name = f"{found.kind}{f' ({found.model})' if found.model else ''}"
    say(f"{name}: mean pairwise Jaccard {_figure(found.jaccard)}, coefficient of variation of list size {_figure(found.size_variation)}")
    if found.kind == "offline":
        say("  1.000 by construction: it plans by rules alone. It says nothing about how good the plans are.")
    say(f"  {data['runs']} runs of {len(found.answers)} questions: {', '.join(f'{n:,} {s}' for s, n in found.status.items())}.")
    if found.status.get("fallback"):
        say(f"  Without those that fell back to the offline plan: Jaccard {_figure(found.jaccard_planned)}.")
    if found.status.get("failed"):
        say("  Failed runs gave no list and are in no pair.")
    if data["empty_pairs"]:
        say(f"  {data['empty_pairs']:,} pairs of lists are both empty and count as equal.")
    if data["rows"]:
        say(f"  Requested {data['requested']:,} slices; rows: {', '.join(f'{k} {v:,}' for k, v in data['rows'].items())}.")
    for a in found.answers:
        sizes = f"{min(a.sizes)} to {max(a.sizes)}" if a.sizes else "none"
        say(f"  {a.question.id:>3}  Jaccard {_figure(a.jaccard)}  size {sizes}  {a.question.text}")


def _figure(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.3f}"


def _progress(kind: str) -> Any:
    """Shows runs done on a terminal, and nothing in a file."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        sys.stderr.write(f"\r{kind}: {done:,} of {total:,}" + ("\n" if done == total else ""))

    return show
