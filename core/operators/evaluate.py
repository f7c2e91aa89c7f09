"""Evaluate a model on samples: what it will take, the run itself, a person's word on a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from core.digest import sha256_json
from core.errors import InputError
from core.evaluation import (
    Cell,
    Decode,
    Event,
    Item,
    Job,
    Limits,
    Outcome,
    Result,
    evaluate_job,
    flaw_of,
    load_prompts,
    model_key,
    result_of,
    row_of,
)
from core.evaluation.images import read_image, sha_of
from core.evaluation.summary import by_category, by_slice, by_value, counts
from core.llm import Endpoint, Usage
from core.llm.calls import addresses, host_of
from core.llm.pace import cost_of, prompt_tokens, size_of
from core.operators.rank import versions
from core.storage import Store

JUDGE_TOKENS = 350
"""Rough length of the judge's prompt without question and answer, for estimates."""
Progress = Callable[[int, int], None]
Check = Callable[[], bool]


@dataclass(frozen=True)
class Estimate:
    """What an evaluation will take, at most; numbers of tokens are rough.

    Attributes:
        items: Samples that can be evaluated.
        flawed: Samples that cannot, such as those without a question.
        model_calls: Calls to the model under test.
        cached: Calls to it whose answer is there already.
        judge_calls_least, judge_calls_most: Open questions always go to the judge; others where the answer is not clear; a
            verdict that cannot be read is asked for once more.
        prompt_tokens, completion_tokens: At most, of both models.
        cost: At most; None where a price is not named, or prices are in different currencies.
        currency: As the user wrote it.
        warnings: What to know before it starts.
    """

    items: int
    flawed: int
    model_calls: int
    cached: int
    judge_calls_least: int
    judge_calls_most: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    currency: str
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return asdict(self)


@dataclass(frozen=True)
class Evaluated:
    """What came of an evaluation.

    Attributes:
        run_id: Its results are kept under this.
        model: Name under which they count.
        results: In the order of the items; those that were finished.
        counts: Items by status, with pending ones and duplicates; calls sent, cached, repeated, retried.
        usage: Tokens of this run; what was cached took none.
        cost: None where no price is named.
        by_slice, by_value, by_category: The tables by condition.
        manifest: What everything rests on; holds no times, and nothing that differs when the run is repeated from the cache.
        stopped: Why it did not come to its end, "" if it did; call it again, with a larger budget, to go on.
        why: "paused", "cancelled" or "aborted", "" if it came to its end.
        warnings: What a reader must know.
    """

    run_id: str
    model: str
    results: tuple[Result, ...]
    counts: Mapping[str, int]
    usage: Mapping[str, Any]
    cost: float | None
    by_slice: tuple[Cell, ...]
    by_value: tuple[Cell, ...]
    by_category: tuple[Cell, ...]
    manifest: Mapping[str, Any]
    stopped: str = ""
    why: str = ""
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data, the results included."""
        return {
            "run_id": self.run_id,
            "model": self.model,
            "counts": dict(self.counts),
            "usage": dict(self.usage),
            "cost": self.cost,
            "stopped": self.stopped,
            "why": self.why,
            "warnings": list(self.warnings),
            "by_slice": [c.as_dict() for c in self.by_slice],
            "by_value": [c.as_dict() for c in self.by_value],
            "by_category": [c.as_dict() for c in self.by_category],
            "items": [r.as_dict() for r in self.results],
            "manifest": dict(self.manifest),
        }


def estimate(
    items: Sequence[Item],
    vlm: Endpoint,
    judge: Endpoint | None,
    store: Store | None = None,
    *,
    decode: Decode | None = None,
    root: Path | None = None,
) -> Estimate:
    """What an evaluation will take; sends nothing.

    Args:
        items: Samples.
        vlm: Model under test.
        judge: None if there is none.
        store: Where answers may be already; without it none are counted as cached.
        decode: Parameters of decoding.
        root: Folder of relative paths of images.
    """
    decode, prompts = decode or Decode(), load_prompts()
    sound = [i for i in {i.id: i for i in items}.values() if not flaw_of(i)]
    keys = {i.id: model_key(vlm, prompts, i, shas, decode) for i in sound if (shas := _shas(i, root)) is not None} if store else {}
    known = store.calls.get_many(list(keys.values())) if store else {}
    final = {k for k, call in known.items() if call.final}
    unanswered = list({keys.get(i.id, i.id): i for i in sound if keys.get(i.id) not in final}.values())
    least = sum(not i.options for i in sound) if judge is not None else 0
    most = 2 * len(sound) if judge is not None else 0
    text = [sum(map(size_of, (i.question, *i.options))) for i in unanswered]
    own = Usage(
        sum(prompt_tokens(n + 400, len(i.images)) for n, i in zip(text, unanswered, strict=True)), len(unanswered) * decode.model_tokens
    )
    shown = [sum(map(size_of, (i.question, *i.options, *i.options, i.answer))) for i in sound]
    longest = [prompt_tokens(n, 0) + decode.model_tokens + JUDGE_TOKENS for n in shown]
    theirs = Usage(2 * sum(longest) + len(sound) * decode.judge_tokens, most * decode.judge_tokens) if judge is not None else Usage()
    prices = [e.price for e in (vlm, judge) if e is not None]
    currencies = {p.currency for p in prices if p is not None}
    cost = None
    if all(p is not None for p in prices) and len(currencies) == 1:
        cost = (cost_of(own, vlm.price) or 0.0) + (cost_of(theirs, judge.price) or 0.0 if judge is not None else 0.0)
    return Estimate(
        items=len(sound),
        flawed=len({i.id for i in items}) - len(sound),
        model_calls=len(unanswered),
        cached=len(sound) - len(unanswered),
        judge_calls_least=least,
        judge_calls_most=most,
        prompt_tokens=own.prompt + theirs.prompt,
        completion_tokens=own.completion + theirs.completion,
        cost=cost,
        currency=currencies.pop() if cost is not None else "",
        warnings=_warnings(vlm, judge),
    )


def evaluate(
    store: Store,
    items: Sequence[Item],
    vlm: Endpoint,
    judge: Endpoint | None,
    *,
    run_id: str,
    limits: Limits | None = None,
    decode: Decode | None = None,
    root: Path | None = None,
    progress: Progress | None = None,
    on_event: Callable[[Event], None] | None = None,
    cancel: Check | None = None,
    pause: Check | None = None,
    who: str = "",
) -> Evaluated:
    """Ask the model under test about samples and score its answers.

    Called again with the same items it sends only what was not answered yet, so it also resumes a run that was paused,
    cancelled, or whose process was ended.

    Args:
        store: Where calls and results are kept.
        items: Samples.
        vlm: Model under test; its label is the name under which the results count.
        judge: None leaves unscored what no shortcut can read.
        run_id: Name of the run; one run holds one model's results.
        limits: Pace and budget.
        decode: Parameters of decoding.
        root: Folder of relative paths of images.
        progress: Called with items done and in all.
        on_event: Called after each item with all that is known of the run.
        cancel: Asked before each call; True ends the run after the calls in flight.
        pause: Asked before each call; calls wait while it says True.
        who: Who started it.

    Raises:
        InputError: The run holds results of another model, two items share an id, or the cost is capped without a price.
    """
    limits, decode, prompts = limits or Limits(), decode or Decode(), load_prompts()
    about = about_run(items, vlm, judge, decode)
    store.results.begin(run_id, vlm.name, judge.name if judge is not None else "", about, who)

    def observe(event: Event) -> None:
        if progress is not None:
            progress(event.done, event.total)
        if on_event is not None:
            on_event(event)

    job = Job(run_id, items, vlm, judge, root=root, limits=limits, decode=decode)
    outcome = evaluate_job(store, job, observe=observe, cancel=cancel, pause=pause)
    assert prompts is load_prompts()  # noqa: S101 (the fingerprints in the manifest are of the prompts that were sent)
    return evaluated(run_id, vlm.name, outcome, len(items), about, _warnings(vlm, judge))


def evaluated(run_id: str, model: str, outcome: Outcome, items: int, about: Mapping[str, Any], warnings: Sequence[str] = ()) -> Evaluated:
    """An outcome with its tables by condition and its manifest."""
    found = counts(outcome.results)
    pending = items - outcome.duplicates - len(outcome.results)
    calls = {k: getattr(outcome, k) for k in ("calls", "cached", "repeated", "retries")}
    notes = [*warnings, *(f"The server refused a parameter, so it was left out: {x}" for x in outcome.adapted)]
    return Evaluated(
        run_id=run_id,
        model=model,
        results=outcome.results,
        counts=found | {"items": items, "pending": pending, "duplicates": outcome.duplicates} | calls,
        usage=asdict(outcome.usage),
        cost=outcome.cost,
        by_slice=by_slice(outcome.results),
        by_value=by_value(outcome.results),
        by_category=by_category(outcome.results),
        manifest=dict(about) | {"counts": found | {"pending": pending}, "versions": versions()},
        stopped=outcome.stopped,
        why=outcome.why,
        warnings=tuple(notes),
    )


def results_of(store: Store, run_id: str) -> Evaluated:
    """A run as it is kept, with the corrections of people; sends nothing.

    Raises:
        InputError: There is no such run.
    """
    run = store.results.run(run_id)
    results = tuple(result_of(r) for r in store.results.rows(run_id))
    outcome = Outcome(results, 0, "", "", 0, 0, 0, 0, 0.0, (), Usage(), None)
    items = int(run.manifest.get("items", {}).get("number", len(results)))
    return evaluated(run_id, run.model, outcome, max(items, len(results)), run.manifest)


def override(store: Store, run_id: str, item_id: str, score: float | None, *, who: str, why: str = "") -> Result:
    """Set a person's word over a result: a further row, and a further version of the tables that the run is counted into.

    Args:
        store: The workspace.
        run_id: Of the run.
        item_id: Of the sample.
        score: 1 right, 0 wrong; None: it cannot be judged, and does not count.
        who: Who says so.
        why: In words.

    Raises:
        InputError: The run has no such sample, the score is out of range, nobody is named, or it was corrected meanwhile.
    """
    if score is not None and not 0 <= score <= 1:
        raise InputError(f"A score lies between 0 and 1; got {score}.")
    if not who.strip():
        raise InputError("A correction needs the name of the person who makes it.")
    past = store.results.history(run_id, item_id)
    if not past:
        raise InputError(f'The run {run_id} has no sample "{item_id[:80]}".')
    changed = replace(
        result_of(past[-1]), status="scored" if score is not None else "unscored", score=score, scored_by="person", why=why.strip()
    )
    store.tables.correct(row_of(run_id, changed, version=past[-1].version + 1, who=who.strip(), why=why.strip()))
    return changed


def withdraw_override(store: Store, run_id: str, item_id: str, *, who: str) -> Result:
    """Take a person's word back: the last machine's result counts again, as a further row.

    Raises:
        InputError: There is no such sample, or nobody's word stands on it.
    """
    past = store.results.history(run_id, item_id)
    if not past or past[-1].scored_by != "person":
        raise InputError(f'No correction stands on the sample "{item_id[:80]}" of the run {run_id}.')
    machine = next((r for r in reversed(past) if r.scored_by != "person"), None)
    if machine is None:
        raise InputError(f'The sample "{item_id[:80]}" was never scored by a machine.')
    result = result_of(machine)
    store.tables.correct(row_of(run_id, result, version=past[-1].version + 1, who=who, why="correction withdrawn"))
    return result


def about_run(items: Sequence[Item], vlm: Endpoint | None, judge: Endpoint | None, decode: Decode) -> dict[str, Any]:
    """What a run rests on, JSON-ready."""
    prompts = load_prompts()
    return {
        "model": _named(vlm),
        "judge": _named(judge),
        "prompts": {"version": prompts.version, "model_sha256": prompts.model_sha, "judge_sha256": prompts.judge_sha},
        "decode": asdict(decode),
        "items": {"number": len(items), "sha256": sha256_json([i.as_dict() for i in items])},
    }


def _named(endpoint: Endpoint | None) -> dict[str, Any] | None:
    if endpoint is None:
        return None
    return {"name": endpoint.name, "model": endpoint.model, "host": host_of(endpoint), "addresses": len(addresses(endpoint))}


def _warnings(vlm: Endpoint, judge: Endpoint | None) -> tuple[str, ...]:
    if judge is None:
        return ("No judge is set: open questions, and answers that name no option clearly, stay unscored.",)
    borrowed = f"No judge of its own is set: the {judge.borrowed} endpoint, {judge.name}, judges." if judge.borrowed else ""
    if (judge.model, host_of(judge)) == (vlm.model, host_of(vlm)):
        return (*filter(None, [borrowed]), "The judge is the model under test: it judges itself, which flatters it.")
    return (borrowed,) if borrowed else ()


def _shas(item: Item, root: Path | None) -> list[str] | None:
    """Content hashes of the images of an item, None where one cannot be read."""
    try:
        given, start = [*item.image_sha256, *("" for _ in item.images)], Path(item.root) if item.root else root
        return [sha or sha_of(read_image(name, start)) for name, sha in zip(item.images, given, strict=False)]
    except InputError:
        return None
