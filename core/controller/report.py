"""agent_response.md: what was asked, done, found and not found, in words, the same bytes for the same findings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core import operators
from core.controller.ranked import audit, in_words, ranking_note, triage_note
from core.controller.state import RunState, StepState
from core.evaluation import Cell, Rate, Result
from core.operators import Acquired, RankResult
from core.scoring import Explanation
from core.scoring import Triage as Found

SHOWN = 10
_EDGE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
HOW = {
    "exact": "named",
    "synonym": "another word for it",
    "proxy": "nearest thing the vocabulary has",
    "parent": "coarser value inside the ODD",
    "extension": "outside the ODD",
    "meaning": "by meaning, no word matched",
    "model": "chosen by the language model",
    "unsupported": "not in the vocabulary, left out",
}


def report(
    state: RunState,
    results: Mapping[int, Any],
    acquired: Acquired | None,
    evaluated: Sequence[Result] | None,
    context: Mapping[str, Any],
    dims: Sequence[str],
) -> str:
    """The report of a run as Markdown. It holds no times, so that a replay gives the same bytes.

    Args:
        state: How far the run is.
        results: Rankings and triages by position of their step.
        acquired: Samples, None if none were looked for.
        evaluated: Results of an evaluation, None if there was none.
        context: What the run rests on, as recorded.
        dims: Dimensions in the order of the ODD.
    """
    parts = [
        ["# What to test next", *quote(state.query)],
        _read(state),
        *(_result(state.steps[i], results[i]) for i in sorted(results)),
        _samples(acquired, dims),
        _evaluation(evaluated, dims),
        _open(state),
        _prose(state),
        _basis(state, context),
    ]
    return "\n\n".join("\n".join(p) for p in parts if p) + "\n"


def quote(text: str) -> list[str]:
    """A text of somebody else as a quotation, line by line, so that it cannot pass for the report's own."""
    return [f"> {clean(line)}" for line in text.splitlines() or [""]]


def clean(text: str) -> str:
    """A text on one line that Markdown takes literally; names with underscores stay readable, as those inside a word mean nothing."""
    text = " ".join(text.split())
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)  # such as the codes that steer a terminal
    return _EDGE.sub(r"\\_", "".join("\\" + c if c in "\\`*[]<>#|~$" else c for c in text))


def _read(state: RunState) -> list[str]:
    who = "a language model" if state.plan.controller == "llm" else "the offline controller"
    out = ["## How the question was read", f"The plan was made by {who}. Scores never come from it."]
    if state.plan.fallback_reason:
        out.append(f"The offline controller took over: {clean(state.plan.fallback_reason).rstrip('.')}.")
    if state.clarify:
        out += ["", f"Nothing was run: {clean(state.clarify)}"]
    if state.readings:
        out += ["", "| You wrote | Read as | How |", "| --- | --- | --- |"]
        for r in state.readings:
            value = f"{r.dimension} = {r.value}" if r.value else "nothing"
            out.append(
                f"| {clean(r.phrase) or '(no words of its own)'} | {clean(value)} | {HOW[r.how]}{'. ' + clean(r.note) if r.note else ''} |"
            )
    told = " ".join(state.plan.notes)
    unsaid = [t for t in state.plan.unsupported_terms if f'"{t}"' not in told]
    notes = [*state.plan.notes, *(f'"{t}" is not in the vocabulary and was not scored.' for t in unsaid)]
    out += ["", *(f"- {clean(n)}" for n in notes)] if notes else []
    if state.suggestions:
        meant = ", ".join(f'{s.dimension} = {s.value} for "{s.phrase}"' for s in state.suggestions)
        out += ["", f"Not applied, but perhaps meant: {clean(meant)}."]
    if state.steps:
        out += ["", "| Step | Arguments | Status | Result |", "| --- | --- | --- | --- |"]
        out += [f"| {s.title} | {clean(_args(s))} | {s.status} | {clean(s.note)} |" for s in state.steps]
    return out


def _args(step: StepState) -> str:
    parts = []
    for k, v in step.args.items():
        if isinstance(v, Mapping):
            if v:
                parts.append(f"{k}: {in_words(v)}")
        else:
            parts.append(f"{k}: {v}")
    return "; ".join(parts)


def _result(step: StepState, result: RankResult | Found) -> list[str]:
    return _ranking(step, result) if isinstance(result, RankResult) else _triage(result)


def _ranking(step: StepState, result: RankResult) -> list[str]:
    ranking, n = result.ranking, audit(result)
    where = in_words(ranking.where)
    scope = "outside the ODD" if ranking.scope.outside else "inside the ODD"
    out = [f"## Recommended slices {scope}", f"Coverage audit{' of ' + clean(where) if where else ''}: {ranking_note(result)}"]
    if ranking.scope.outside:
        out.append(f"Added to the ODD: {clean(in_words(ranking.scope.extend))}.")
    if not n["listed"]:
        return [*out, "", "Nothing is missing here."]
    more = ", and for a value never seen that of the nearest one that was, reduced" if ranking.scope.outside else ""
    out += [f"P is the share of samples that have a value, smoothed{more}.", ""]
    for e in result.explanations(SHOWN):
        out += [f"{e.rank}. **{clean(', '.join(e.values.values()))}** (phi {e.phi:.6f})", f"   {clean(because(e))}"]
    return out


def because(e: Explanation) -> str:
    """Why a slice has its rank, in one or two sentences."""
    rare = sorted(e.exposures, key=lambda x: x.p)[:2]
    seen = " and ".join(f"{x.dimension}={x.value} (P {_share(x.p)})" for x in rare)
    first = f"Its rarest values are {seen}." if len(rare) > 1 else f"Its rarest value is {seen}."
    taken = [f"{x.value} was taken for {x.star} at similarity {x.similarity:.2f}" for x in e.exposures if x.star]
    if taken:
        first += f" Never seen: {', '.join(taken)}."
    d = e.decisive
    if e.contributions:
        return f"{first} Effects fitted to the tested slices predict an error of {e.raw_error:.0%}."
    if d is None:
        return f"{first} {'No tested slice is similar enough to judge by.' if not e.neighbours else 'None of its neighbours has failed.'}"
    differs = f"differs in {', '.join(d.differs_in)}" if d.differs_in else "is the same but for untested values"
    sure = "" if not d.provisional else "; too few samples to be sure"
    return (
        f"{first} Its decisive neighbour {differs}, is {d.similarity:.2f} similar and fails {d.measured:.0%} "
        f"(n = {d.n:,}, 95 % interval {d.low:.0%} to {d.high:.0%}{sure})."
    )


def _share(p: float) -> str:
    return f"{p:.1%}" if p >= 0.001 else f"{p:.1g}"


def _triage(found: Found) -> list[str]:
    out = ["## Where it fails among what was tested", clean(triage_note(found))]
    if found.by_value:
        out += ["", "| Value | Error | n | 95 % interval |", "| --- | --- | --- | --- |"]
        for f in found.by_value[:5]:
            name = clean(in_words(dict(zip(f.dimensions, f.values, strict=True))))
            out.append(f"| {name} | {f.error:.0%} | {f.n:,} | {f.low:.0%} to {f.high:.0%} |")
    untested = [f"{c.dimension}={c.value}" for c in found.coverage if not c.n and c.possible]
    if untested:
        out += ["", f"Never tested here: {clean(', '.join(untested))}."]
    return out


def _samples(acquired: Acquired | None, dims: Sequence[str]) -> list[str]:
    if acquired is None:
        return []
    candidates = acquired.candidates
    flags = Counter((d, f) for c in candidates for d, f in c.fidelity.items() if f != "match")
    verdicts = Counter(c.verdict for c in candidates)
    made = sum(c.source == "synthetic" for c in candidates)
    out = [
        "## Samples",
        f"{len(candidates):,} candidates: {verdicts['valid']:,} match every dimension, {verdicts['partial']:,} miss a tag or are not "
        f"verified, {verdicts['invalid']:,} contradict the slice. {made:,} were made. Only full matches count as evidence.",
    ]
    if flags:
        out += ["", "| Dimension | Missing | Ambiguous | Mismatch |", "| --- | --- | --- | --- |"]
        for d in (x for x in dims if any((x, f) in flags for f in ("missing", "ambiguous", "mismatch"))):
            out.append(f"| {clean(d)} | {flags[d, 'missing']:,} | {flags[d, 'ambiguous']:,} | {flags[d, 'mismatch']:,} |")
    if acquired.unfilled:
        out += ["", f"{len(acquired.unfilled):,} slices stay unfilled:"]
        out += [
            f"- {clean(in_words({d: u['slice'][d] for d in dims if d in u['slice']}))}: {clean(str(u['reason']))}"
            for u in acquired.unfilled
        ]
    return out


def _evaluation(results: Sequence[Result] | None, dims: Sequence[str]) -> list[str]:
    if results is None:
        return []
    status = Counter(r.status for r in results)
    found = operators.conditions(results, dims)
    out = [
        "## Evaluation",
        f"{len(results):,} samples: {status['scored']:,} scored, {status['unscored']:,} unscored, {status['failed']:,} failed, "
        f"{status['blocked']:,} blocked. Only scored samples that match their slice in every dimension are evidence.",
    ]
    for title, cells in (("Realised slice", found.slices), ("Value", found.values), ("Question category", found.categories)):
        if cells:
            out += [
                "",
                f"### By {title.lower()}",
                f"| {title} | n | Accuracy | MCQ | VQA | Judge |",
                "| --- | --- | --- | --- | --- | --- |",
            ]
            out += [
                f"| {clean(_condition(c))} | {c.all.n:,} | {' | '.join(_rate(r) for r in (c.all, c.mcq, c.vqa, c.judge))} |" for c in cells
            ]
    return out


def _condition(cell: Cell) -> str:
    return (
        f"{in_words(cell.values)}{f' (asked for: {in_words(cell.requested)})' if cell.requested and cell.requested != cell.values else ''}"
    )


def _rate(rate: Rate) -> str:
    return "none" if rate.mean is None else f"{rate.mean:.0%} (n = {rate.n:,}, {rate.low:.0%} to {rate.high:.0%})"


def _open(state: RunState) -> list[str]:
    unfinished: Iterable[StepState] = (s for s in state.steps if s.status in ("waiting", "skipped", "failed"))
    rows = [f"- {s.title}: {s.status}. {clean(s.note)}" for s in unfinished]
    return ["## Not done", *rows] if rows else []


def _prose(state: RunState) -> list[str]:
    return ["## Words of the language model, not checked", *quote(state.prose)] if state.prose else []


def _basis(state: RunState, context: Mapping[str, Any]) -> list[str]:
    table, footage = context["table"], context["datastore"]
    name = table["name"] if table else f"from the file {context['source'].get('file', '')}"
    out = [
        "## What this rests on",
        f"- Seed table {clean(name)}, SHA-256 {context['seed_sha256'][:12]}",
    ]
    if footage:
        out.append(f"- Footage {clean(footage['name'])}, digest {footage['digest'][:12]}")
    if state.plan.controller == "llm":
        out.append(f"- Controller {clean(state.plan.model)}, prompt {state.plan.prompt_sha[:12]}")
    return out
