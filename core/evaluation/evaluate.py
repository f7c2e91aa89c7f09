"""Ask the model under test, read its choice or ask the judge, keep what came of each item as it comes (SliceNav, appendix C)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from core.digest import sha256_json
from core.errors import InputError
from core.evaluation.choices import read_choice
from core.evaluation.images import Gallery, read_image, sha_of
from core.evaluation.items import Item, Result, ScoredBy, Status
from core.evaluation.job import Event, Job, Outcome, answer_key, flaw_of, model_key, unique
from core.evaluation.parse import Verdict, read_verdict, without_reasoning
from core.evaluation.prompts import Prompts, load_prompts
from core.evaluation.rows import result_of, row_of, same_result
from core.llm import Ask, Usage
from core.llm.calls import StoredCall, call_key
from core.llm.connections import learn
from core.llm.runner import Lane, Runner, StoppedError
from core.storage.calls import Journal
from core.storage.evaluation import ResultRow
from core.storage.store import Store


def evaluate_job(
    store: Store,
    job: Job,
    *,
    observe: Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    pause: Callable[[], bool] | None = None,
) -> Outcome:
    """Run a job to its end, its budget, or until it is cancelled; may be called from any thread, also again for the same job.

    Raises:
        InputError: One id names two different items, or the cost is capped where no price is named.
    """
    items, duplicates = unique(job.items)
    with store.calls.journal() as journal:
        work = _Work(store, job, items, journal, observe, cancel, pause)
        return _in_own_loop(lambda: work.run(duplicates))


class _Work:
    """One run of a job inside an event loop."""

    def __init__(
        self,
        store: Store,
        job: Job,
        items: Sequence[Item],
        journal: Journal,
        observe: Callable[[Event], None] | None,
        cancel: Callable[[], bool] | None,
        pause: Callable[[], bool] | None,
    ) -> None:
        self.store, self.job, self.items, self.journal, self.observe = store, job, items, journal, observe
        self.prompts: Prompts = load_prompts()
        self.runner = Runner(journal, job.limits, cancel=cancel, pause=pause)
        self.known: dict[str, ResultRow] = {r.item_id: r for r in store.results.rows(job.run_id)}
        self.done: dict[str, Result] = {}
        self.gallery = Gallery()
        self.counts: Counter[str] = Counter()
        self.shas: dict[tuple[str, str], str] = {}

    async def run(self, duplicates: int) -> Outcome:
        """All items."""
        job = self.job
        self.lanes: dict[str, Lane | None] = {
            "model": self.runner.lane(job.model) if job.model is not None else None,
            "judge": self.runner.lane(job.judge) if job.judge is not None else None,
        }
        remaining = iter(self.items)
        workers = [asyncio.create_task(self._worker(remaining)) for _ in range(min(2 * job.limits.most, len(self.items)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for w in workers:
                w.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await self.runner.close()
            for endpoint, profile in self.runner.learned():
                learn(self.store, endpoint, profile)
        stop, tally, budget = self.runner.stopped, self.runner.tally, self.runner.budget
        results = tuple(self.done[i.id] for i in self.items if i.id in self.done)
        if len(results) == len(self.items):
            stop = None  # the budget ended with the last item
        return Outcome(
            results=results,
            duplicates=duplicates,
            stopped="" if stop is None else str(stop),
            why="" if stop is None else stop.why,
            calls=budget.calls,
            cached=tally.cached,
            repeated=tally.repeated,
            retries=tally.retries,
            waited=tally.waits,
            adapted=tuple(tally.adapted),
            usage=budget.usage,
            cost=self._cost(),
        )

    async def _worker(self, remaining: Iterator[Item]) -> None:
        for item in remaining:
            try:
                result = await self._one(item)
            except StoppedError:
                continue  # answers that are kept already still come out
            result = await self._keep(result)
            self.done[item.id] = result
            self.counts[result.status] += 1
            if self.observe is not None:
                self.observe(self._event(result))

    async def _one(self, item: Item) -> Result:
        if flaw := flaw_of(item):
            return Result(item, _no_key(item), "failed", None, "", "", why=flaw)
        if self.job.model is None:
            answer = self.job.answers.get(item.id, "")
            return await self._score(item, answer_key(item, answer), answer, False, Usage())
        try:
            shas = [await self._sha(item, i) for i in range(len(item.images))]
        except InputError as e:
            return Result(item, _no_key(item), "failed", None, "", "", why=str(e))
        key = model_key(self.job.model, self.prompts, item, shas, self.job.decode)
        try:
            call = await self._ask("model", key, lambda: self._request(item, shas))
        except InputError as e:
            return Result(item, key, "failed", None, "", "", why=str(e))
        if call.status != "done":
            return Result(item, key, "blocked" if call.status == "blocked" else "failed", None, "", "", why=call.error)
        return await self._score(item, key, call.text, bool(call.response.get("cut")), _usage(call))

    async def _score(self, item: Item, key: str, response: str, cut: bool, usage: Usage) -> Result:
        """The result of an answer."""

        def result(status: Status, score: float | None, by: ScoredBy, why: str, choice: str = "", judgement: str = "") -> Result:
            return Result(item, key, status, score, by, response, choice, judgement, why, asdict(usage))

        if not without_reasoning(response).strip():
            return result("unscored", None, "", "the answer was cut off before its end" if cut else "the answer is empty")
        if item.options:
            choice = read_choice(response, item.options)
            if choice.letter:
                return result("scored", float(choice.letter == item.answer), "shortcut", choice.why, choice.letter)
        if self.job.judge is None:
            return result(
                "unscored", None, "", "no judge is set, and the answer names no option clearly" if item.options else "no judge is set"
            )
        judgement: str | None = None
        for _ in range(2):
            messages = self.prompts.ask_judge(item, response, judgement)
            judge_key = self._judge_key(item, response, judgement)
            call = await self._ask("judge", judge_key, lambda m=messages: self._judge_request(m))  # type: ignore[misc]
            usage += _usage(call)
            if call.status != "done":
                return result("unscored", None, "", f"the judge did not answer: {call.error}", judgement=judgement or "")
            if call.response.get("cut"):  # what would have come may have taken it back
                judgement, verdict = "", Verdict(None, "it was cut off before its end")
                continue
            judgement = call.text
            verdict = read_verdict(judgement)
            if verdict.correct is not None:
                return result("scored", float(verdict.correct), "judge", verdict.why, judgement=judgement)
        return result("unscored", None, "", f"the judge's verdict cannot be read, asked twice: {verdict.why}", judgement=judgement or "")

    async def _keep(self, result: Result) -> Result:
        """Commit a result unless it is known; a person's word on it stays."""
        old = self.known.get(result.item.id)
        if old is not None and old.scored_by == "person":
            return result_of(old)
        if old is None or not same_result(old, result):
            row = row_of(self.job.run_id, result, version=0 if old is None else old.version + 1)
            await asyncio.wrap_future(self.journal.append(row.row()))
        return result

    async def _ask(self, who: Literal["model", "judge"], key: str, make: Callable[[], Any]) -> StoredCall:
        lane = self.lanes[who]
        assert lane is not None  # noqa: S101 (asked only where there is one)
        return await self.runner.ask(lane, key, make)

    async def _request(self, item: Item, shas: Sequence[str]) -> Ask:
        root = self._root(item)
        urls = [await self.gallery.url(name, sha, root) for name, sha in zip(item.images, shas, strict=True)]
        d = self.job.decode
        return Ask(self.prompts.ask_model(item, urls), d.model_tokens, temperature=d.temperature, seed=d.seed)

    async def _judge_request(self, messages: list[dict[str, Any]]) -> Ask:
        d = self.job.decode
        return Ask(messages, d.judge_tokens, temperature=d.temperature, seed=d.seed)

    def _judge_key(self, item: Item, response: str, again: str | None) -> str:
        assert self.job.judge is not None  # noqa: S101
        content = {"messages": self.prompts.ask_judge(item, response, again)}
        return call_key(self.job.judge, "judge", self.prompts.judge_sha, content, [], self.job.decode.of("judge"))

    def _root(self, item: Item) -> Path | None:
        return Path(item.root) if item.root else self.job.root

    async def _sha(self, item: Item, i: int) -> str:
        """Content hash of an image: as it is known, else read once."""
        name = item.images[i]
        known = item.image_sha256[i] if i < len(item.image_sha256) else ""
        if known:
            return known
        place = (item.root, name)
        if place not in self.shas:
            self.runner.check()
            self.shas[place] = sha_of(await asyncio.to_thread(read_image, name, self._root(item)))
        return self.shas[place]

    def _cost(self) -> float | None:
        ends = [e for e in (self.job.model, self.job.judge) if e is not None]
        prices = [e.price for e in ends]
        one = len({p.currency for p in prices if p is not None}) <= 1
        return self.runner.budget.cost if all(p is not None for p in prices) and one else None

    def _event(self, last: Result) -> Event:
        r, lane = self.runner, self.lanes["model"] or self.lanes["judge"]
        concurrency = lane.gate.limit if lane is not None else 0
        calls, usage = r.budget.calls, r.budget.usage
        done, total = len(self.done), len(self.items)
        return Event(
            done, total, dict(self.counts), r.in_flight, concurrency, calls, r.tally.cached, r.tally.repeated, usage, self._cost(), last
        )


def _no_key(item: Item) -> str:
    return sha256_json({"item": item.as_dict(), "call": None})


def _usage(call: StoredCall) -> Usage:
    u = call.usage
    return Usage(int(u.get("prompt", 0)), int(u.get("completion", 0)), bool(u.get("estimated", False)))


def _in_own_loop(main: Callable[[], Any]) -> Outcome:
    """Run a coroutine to its end, also where this thread has a running loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        found: Outcome = asyncio.run(main())
        return found
    import threading

    box: dict[str, Any] = {}

    def work() -> None:
        try:
            box["value"] = asyncio.run(main())
        except BaseException as e:
            box["error"] = e

    thread = threading.Thread(target=work, name="evaluation")
    thread.start()
    thread.join()
    if "error" in box:
        raise box["error"]
    value: Outcome = box["value"]
    return value
