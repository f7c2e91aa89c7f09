"""Sentences of the Controller page, each computed from the run that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.controller.plan import Plan
from core.controller.state import RunState
from pages.shared.markup import Text, code, fill, join, mark

RULE = "The controller chooses operators and values; it never sets a score."
NOTHING = "Ask what to test next."
PLANNING = "Reading the question."
UNANSWERED = "The question was kept, but not answered."
_RANKS = ("in_odd", "out_of_odd")


@dataclass(frozen=True)
class Figures:
    """What a run has come to.

    Attributes:
        ranked: Untested slices that were ranked, None without a ranking.
        found, usable, valid: Samples found, those that do not contradict their slice and can be evaluated, and those of them that match
            in every dimension, so that they count as evidence; None without a search.
        scored, right: Samples with a verdict and those answered rightly, None without an evaluation.
        unscored: Samples of the evaluation without a score, whatever the reason.
        waiting, failed: Steps in that state.
    """

    ranked: int | None
    found: int | None
    usable: int | None
    valid: int | None
    scored: int | None
    right: int | None
    unscored: int
    waiting: int
    failed: int


def figures(run: RunState) -> Figures:
    """The numbers of the headline, from the steps that are done."""
    done = [s for s in run.steps if s.status == "done"]
    ranks = [int(s.counts.get("missing", s.rows or 0)) for s in done if s.op in _RANKS]
    found = [s for s in done if s.op == "acquire"]
    scored = [s.counts for s in done if s.op == "evaluate"]
    return Figures(
        sum(ranks) if ranks else None,
        sum(s.rows or 0 for s in found) if found else None,
        sum(_usable(s.counts) for s in found) if found else None,
        sum(int(s.counts.get("valid", 0)) for s in found) if found else None,
        sum(int(c.get("scored", 0)) for c in scored) if scored else None,
        sum(int(c["right"]) for c in scored) if scored and all("right" in c for c in scored) else None,
        sum(without_score(c) for c in scored),
        sum(s.status == "waiting" for s in run.steps),
        sum(s.status == "failed" for s in run.steps),
    )


def without_score(counts: Mapping[str, Any]) -> int:
    """Samples of an evaluation that were not judged, not answered, or blocked."""
    return sum(int(counts.get(k, 0)) for k in ("unscored", "failed", "blocked"))


def _usable(counts: Mapping[str, Any]) -> int:
    """Samples that can be evaluated; records of before this was counted tell only the verdicts."""
    return int(counts.get("usable", int(counts.get("valid", 0)) + int(counts.get("partial", 0))))


def headline(run: RunState) -> Text:
    """The finding of a run, or how far it is."""
    if run.status == "clarify":
        return "Nothing was run: the question needs a word more."
    f = figures(run)
    parts = said(f)
    if run.status == "running":
        if _done(run) == len(run.steps):
            return "All steps are done; the report is being written."
        now = next((i for i, s in enumerate(run.steps) if s.status == "running"), None)
        at = f"Step {now + 1} of {len(run.steps)} is running" if now is not None else f"Step {_done(run) + 1} of {len(run.steps)} is next"
        return fill("{at}: {s}.", at=at, s=within(run.steps[now if now is not None else _done(run)].title))
    end: Text = ""
    if f.waiting:
        end = " One paid step waits for you." if f.waiting == 1 else f" {f.waiting} paid steps wait for you."
    if f.failed:
        end += " One step failed." if f.failed == 1 else f" {f.failed} steps failed."
    start = "Plan ready: " if f.waiting else ""
    if left := sum(int(s.counts.get("pending", 0)) for s in run.steps if s.op == "evaluate" and s.status == "waiting"):
        start, end = "Paused: ", f" {left:,} {'sample is' if left == 1 else 'samples are'} still to be asked."
    if not parts:
        return fill("{s}{end}", s="Plan ready." if f.waiting else "Nothing came out." if f.failed else "Looked at where it fails.", end=end)
    return fill("{start}{parts}.{end}", start=start, parts=join(parts, ", "), end=end)


def stopped(run: RunState) -> Text:
    """The headline of a run that did not come to its end."""
    at = min(_done(run), len(run.steps) - 1)
    return fill("The run stopped at step {i} of {n}: {s}.", i=at + 1, n=len(run.steps), s=within(run.steps[at].title))


def within(title: str) -> str:
    """The name of a step inside a sentence; what is written in capitals stays so."""
    return title[:1].lower() + title[1:]


def _done(run: RunState) -> int:
    return sum(s.status in ("done", "skipped", "failed") for s in run.steps)


def said(f: Figures) -> list[Text]:
    """The parts of a headline; the first is marked."""
    parts: list[Text] = []
    if f.ranked is not None:
        parts.append(mark(f"{f.ranked:,} untested {'slice' if f.ranked == 1 else 'slices'} ranked"))
    if f.found is not None and f.usable is not None and f.valid is not None:
        evidence = f" ({f.valid:,} as evidence)" if f.valid != f.usable else ""
        parts.append(f"{f.found:,} {'sample' if f.found == 1 else 'samples'} found, {f.usable:,} usable{evidence}")
    if f.scored == 0 and f.unscored:
        parts.append(f"no answer to score among {f.unscored:,} {'sample' if f.unscored == 1 else 'samples'}")
    elif f.scored is not None:
        share = f" ({f.right / f.scored:.0%})" if f.scored and f.right is not None else ""
        parts.append(f"{f.right:,} of {f.scored:,} answers right{share}" if f.right is not None else f"{f.scored:,} answers scored")
        parts += [f"{f.unscored:,} without a score"] if f.unscored else []
    return parts


def provenance(run: RunState, table: Mapping[str, Any] | None = None) -> Text:
    """Who planned, how long it took, the table as it was then, and the run by its id.

    Args:
        run: The run.
        table: Name and digest of the table that it is about, None if it came from a file.
    """
    seconds = sum(s.seconds for s in run.steps)
    n = len(run.steps)
    parts: list[Text] = [f"{by(run.plan)}, {n} {'operator' if n == 1 else 'operators'}, {seconds:.2f} s"]
    if run.plan.fallback_reason:
        parts[0] = fill(
            "The model endpoint gave no plan ({why}); the offline plan was used, {n} operators, {s} s",
            why=run.plan.fallback_reason.rstrip("."),
            n=n,
            s=f"{seconds:.2f}",
        )
    if table is not None:
        parts.append(fill("Table {name} {digest}", name=table["name"], digest=code(table["digest"][:6])))
    return fill("{p}. {rule} Run {id}.", p=join(parts, ". "), rule=RULE, id=code(run.id))


def by(plan: Plan) -> str:
    """Who made a plan."""
    return f"Planned by {plan.model or 'a language model'}" if plan.controller == "llm" else "Offline controller"


def summary(run: RunState) -> Text:
    """What the controller answers in the chat, computed from the steps."""
    if run.status == "clarify":
        return run.clarify or "The question names nothing that this table can be asked about."
    n = len(run.steps)
    first = {1: "One step", 2: "Two steps", 3: "Three steps", 4: "Four steps", 5: "Five steps"}.get(n, f"{n} steps")
    parts: list[Text] = [f"{first}."]
    acquired = next((s for s in reversed(run.steps) if s.op == "acquire" and s.status == "done"), None)
    if acquired is not None and acquired.rows:
        c = acquired.counts
        parts.append(
            f"Of {acquired.rows:,} candidates found, {int(c.get('valid', 0)):,} match every dimension, {int(c.get('partial', 0)):,} miss a "
            f"tag or are ambiguous, and {int(c.get('invalid', 0)):,} contradict the slice."
        )
    told = " ".join(run.plan.notes)
    parts += [f'"{t}" is not in the vocabulary and was left out.' for t in run.plan.unsupported_terms if t not in told]
    parts += [f"{note.rstrip('.')}." for note in run.plan.notes]
    return join(parts, " ")
