"""Matching by a vision model: how far each unit satisfies each hypothesis (GH-ESD, section 3.3), paced, kept, resumed.

Every answer is kept by the content of what was asked, so that a second run, one after a crash, and one under other settings ask only what
is new. Nothing that is sent tells whether a unit is an error.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.error_slices.hypotheses import Hypothesis
from core.error_slices.scores import Scores
from core.error_slices.units import Population, Units
from core.error_slices.vision.ask import FAILED, Keys, MatchSpec, Order, Question, ask_of, dropped, score_of
from core.error_slices.vision.cost import Work, check_agreed, work_of
from core.error_slices.vision.options import Digests, MatchOptions, limits_of
from core.error_slices.vision.outcome import HypothesisMatch, MatchOutcome, MatchProgress
from core.error_slices.vision.pictures import Pictures
from core.error_slices.vision.probe import Ability, keep_ability, known_ability, probe_ability
from core.error_slices.vision.yes_no import YesNo
from core.errors import InputError
from core.llm import Ask, Endpoint
from core.llm.calls import StoredCall
from core.llm.connections import learn
from core.llm.loop import wait_for
from core.llm.pace import cost_of
from core.llm.runner import Lane, Runner, StoppedError
from core.storage.calls import Calls, Journal
from core.storage.store import Store

REFUSED = 3
"""Images with which the server refused a hypothesis, with no answer to it before, after which it is asked no more."""
DROPPED = 10
"""Answers without log-probabilities in a row after which a run ends."""
REPEATS = 50
"""Repeats, over all runs, of a call whose log-probabilities were dropped."""
SOON = 20
"""New calls after which the time that is left is told."""
REASONS = 6
"""Reasons for which units have no score that are told apart."""
PART = 500
"""Questions whose answers are looked up at a time."""
Asked = tuple[Hypothesis, int, Question]


def match_with_model(
    store: Store,
    endpoint: Endpoint,
    units: Units,
    hypotheses: Sequence[Hypothesis],
    populations: Mapping[str, Population],
    *,
    options: MatchOptions | None = None,
    agreed: Ability | None = None,
    progress: Callable[[MatchProgress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> MatchOutcome:
    """Ask a vision model about every chosen unit of every hypothesis.

    Args:
        store: Keeps the answers and what the probe found.
        endpoint: The model.
        units: All units.
        hypotheses: To match.
        populations: By hypothesis; without one nothing is asked.
        options: How, and about how many.
        agreed: How the model was taken to answer when its cost was shown (`MatchPlan.ability`): nothing much dearer is sent.
        progress: Told after each question, from another thread.
        cancel: Asked now and then; True stops, and what is there is returned.

    Raises:
        InputError: The model cannot be asked this way, or answers in a way that is much dearer than what was agreed to, or the cost is
            capped where no price is named.
        ModelError: It does not answer at all.
    """
    options = options or MatchOptions()
    start = time.monotonic()
    known = _all_known(store, endpoint, units, hypotheses, populations, options)
    if known is None:
        limits = limits_of(endpoint, options)
        if limits.max_cost is not None and endpoint.price is None:
            raise InputError(f"The cost is capped, but the connection of {endpoint.name} has no price. Name it, or cap calls or tokens.")
        ability, profile = probe_ability(endpoint, options.kind)
        endpoint = keep_ability(store, endpoint, ability, profile, options.kind)
        if agreed is not None:
            check_agreed(ability, agreed, options, endpoint.name)
        spec = MatchSpec.of(endpoint, ability, options.samples, options.both_orders, options.crops)
        work, digests = work_of(units, hypotheses, populations, spec, options)
    else:
        ability, work, digests = known
        spec = work.spec
    with store.calls.journal() as journal:
        run = _Run(units, work, endpoint, store.calls, journal, progress, cancel, start)
        run.runner = Runner(journal, limits_of(endpoint, options), cancel=run.ended)
        run.lane = run.runner.lane(endpoint)
        wait_for(run.all())
        for end, learned in run.runner.learned():
            learn(store, end, learned)
    tally, budget = run.runner.tally, run.runner.budget
    finished = len(run.found) == len(work.questions)
    matches = tuple(_match_of(h, work, run) for h in hypotheses if h.id in work.chosen)
    return MatchOutcome(
        scores={h.id: _scores(h, units, populations[h.id], work, run) for h in hypotheses if h.id in work.chosen},
        hypotheses=matches,
        source=spec.kind,
        matcher=spec.matcher,
        ability=ability,
        calls={"new": budget.calls, "cached": tally.cached, "repeated": tally.repeated, "retries": tally.retries},
        usage=budget.usage,
        cost=cost_of(budget.usage, endpoint.price),
        seconds=time.monotonic() - start,
        stopped="" if finished or run.runner.stopped is None else run.why or str(run.runner.stopped),
        problems=(*digests.problems.values(), *run.problems, *tally.adapted),
    )


def _all_known(
    store: Store,
    endpoint: Endpoint,
    units: Units,
    hypotheses: Sequence[Hypothesis],
    populations: Mapping[str, Population],
    options: MatchOptions,
) -> tuple[Ability, Work, Digests] | None:
    """The questions of a run whose answers are all kept, as the last probe would ask them: such a run needs no server. None otherwise."""
    ability = known_ability(store, endpoint, options.kind)
    if ability is None:
        return None
    spec = MatchSpec.of(endpoint, ability, options.samples, options.both_orders, options.crops)
    work, digests = work_of(units, hypotheses, populations, spec, options)
    keys = Keys(spec)
    for i in range(0, len(work.questions), PART):  # most runs have something new, and it shows soon
        part = [k for _, _, question in work.questions[i : i + PART] for k in keys.all(question)]
        calls = store.calls.get_many(list(dict.fromkeys(part)))
        if not all(k in calls and calls[k].final and not dropped(spec, calls[k]) for k in part):
            return None
    return ability, work, digests


@dataclass
class _Run:
    """One run inside an event loop."""

    units: Units
    work: Work
    endpoint: Endpoint
    calls: Calls
    journal: Journal
    progress: Callable[[MatchProgress], None] | None
    cancel: Callable[[], bool] | None
    start: float
    found: dict[tuple[str, int], tuple[YesNo, str]] = field(default_factory=dict)
    refused: dict[str, set[int]] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    left: list[Asked] = field(default_factory=list)
    why: str = ""
    _dropped: int = 0
    _failed: int = 0

    def __post_init__(self) -> None:
        self.runner: Runner
        self.lane: Lane
        self.keys = Keys(self.work.spec)
        self.pictures = Pictures(self.units, self.work.spec.crops)

    def ended(self) -> bool:
        """Whether to send nothing more."""
        return bool(self.why) or (self.cancel is not None and self.cancel())

    async def all(self) -> None:
        """All questions."""
        remaining = iter(self.work)
        try:
            await self._work_off(remaining)
            if left := [*self.left, *remaining]:  # after a stop, answers that are kept already still come out
                await self._work_off(iter(await asyncio.to_thread(self._kept, left)))
        finally:
            await self.runner.close()

    async def _work_off(self, remaining: Iterator[Asked]) -> None:
        workers = [asyncio.create_task(self._worker(remaining)) for _ in range(min(2 * self.runner.limits.most, len(self.work.questions)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for w in workers:
                w.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    def _kept(self, questions: Sequence[Asked]) -> list[Asked]:
        """Those of some questions whose answers are kept."""
        out: list[Asked] = []
        for i in range(0, len(questions), PART):
            keys = {n: self.keys.all(asked[2]) for n, asked in enumerate(questions[i : i + PART])}
            calls = self.calls.get_many(list({k for some in keys.values() for k in some}))
            out += [questions[i + n] for n, some in keys.items() if all(k in calls and calls[k].final for k in some)]
        return out

    async def _worker(self, remaining: Iterator[Asked]) -> None:
        for hypothesis, unit, question in remaining:
            try:
                found = await self._one(hypothesis, unit, question)
            except StoppedError:
                self.left.append((hypothesis, unit, question))
                return
            self.found[hypothesis.id, unit] = found
            self._failed += bool(found[1])
            if self.progress is not None:
                self.progress(self._state())

    async def _one(self, hypothesis: Hypothesis, unit: int, question: Question) -> tuple[YesNo, str]:
        """The score of one question, and why there is none."""
        if self._given_up(hypothesis):
            return FAILED, "the server refuses the statement"
        calls = []
        for order, seed in self.work.spec.variants:
            try:
                call = await self._ask(unit, question, order, seed)
            except InputError as e:
                if str(e) not in self.problems:
                    self.problems.append(str(e))
                return FAILED, "its image cannot be read"
            calls.append(call)
            if call.status != "done":
                return FAILED, self._failure(hypothesis, unit, call)
        self.answered.add(hypothesis.id)  # so the statement is not what is refused
        score = score_of(self.work.spec, calls)
        if score.flag == "failed":
            return score, "the server left the log-probabilities out"
        return score, "the answer is neither yes nor no" if score.c is None else ""

    async def _ask(self, unit: int, question: Question, order: Order, seed: int) -> StoredCall:
        """One call; where the log-probabilities were dropped it is asked once more, for some servers drop them now and then."""

        async def make() -> Ask:
            return ask_of(question, self.work.spec, await self.pictures.urls(unit), order, seed)

        call = await self.runner.ask(self.lane, self.keys.of(question, order, seed), make)
        if dropped(self.work.spec, call):
            call = await self.runner.ask(self.lane, await self._next_key(question, order, seed), make)
            self._dropped = self._dropped + 1 if dropped(self.work.spec, call) else 0
            if self._dropped >= DROPPED:
                self.why = (
                    f"Stopped: {DROPPED} answers in a row came without the log-probabilities that the server told when it was tested."
                )
        elif call.status == "done":
            self._dropped = 0
        return call

    async def _next_key(self, question: Question, order: Order, seed: int) -> str:
        """Key of the first repeat that was not answered without log-probabilities as well, by this run or an earlier one."""
        for again in range(1, REPEATS):
            key = self.keys.of(question, order, seed, again)
            known = await asyncio.wrap_future(self.journal.get(key))
            if known is None or not dropped(self.work.spec, known):
                return key
        return self.keys.of(question, order, seed, REPEATS)

    def _given_up(self, hypothesis: Hypothesis) -> bool:
        """Whether the server refuses a statement. A picture may be what it refuses, so that the units of one image do not tell."""
        return hypothesis.id not in self.answered and len(self.refused.get(hypothesis.id, ())) >= REFUSED

    def _failure(self, hypothesis: Hypothesis, unit: int, call: StoredCall) -> str:
        kind, _, text = call.error.partition(": ")
        if kind == "bad_request" and not self._given_up(hypothesis):
            self.refused.setdefault(hypothesis.id, set()).add(int(self.units.image[unit]))
            if self._given_up(hypothesis):
                self.problems.append(f'"{hypothesis.text}" is asked no more: {text}')
        return "the server's content filter held it back" if call.status == "blocked" else f"no answer: {text[:200]}"

    def _state(self) -> MatchProgress:
        budget, tally = self.runner.budget, self.runner.tally
        done, total = len(self.found), len(self.work.questions)
        seconds = time.monotonic() - self.start
        left = seconds / budget.calls * (total - done) * len(self.work.spec.variants) if budget.calls >= SOON else None
        return MatchProgress(
            done, total, self._failed, budget.calls, tally.cached, budget.usage, cost_of(budget.usage, self.endpoint.price), seconds, left
        )


def _match_of(h: Hypothesis, work: Work, run: _Run) -> HypothesisMatch:
    chosen = work.chosen[h.id]
    found = [run.found[h.id, int(u)] for u in chosen.units if (h.id, int(u)) in run.found]
    failed = Counter(why for score, why in found if score.c is None)
    if len(failed) > REASONS:  # servers that name each call in its error give as many reasons as calls
        rest = failed.total() - sum(n for _, n in failed.most_common(REASONS - 1))
        failed = Counter(dict(failed.most_common(REASONS - 1))) + Counter({"no answer, for other reasons": rest})
    return HypothesisMatch(
        hypothesis_id=h.id,
        population=chosen.population,
        asked=len(chosen.units),
        scored=sum(score.c is not None for score, _ in found),
        failed=dict(failed),
        not_reached=len(chosen.units) - len(found),
        left_out=dict(chosen.left_out),
    )


def _scores(h: Hypothesis, units: Units, population: Population, work: Work, run: _Run) -> Scores:
    chosen = work.chosen[h.id]
    reached = np.array([(h.id, int(u)) in run.found for u in chosen.units], bool)
    at = chosen.units[reached]
    found = [run.found[h.id, int(u)][0] for u in at]
    flags = np.array([f.flag for f in found], dtype="U20") if found else np.empty(0, "U20")
    counts = {
        "units that the model was not asked about": chosen.population - len(at),
        "answers that are censored": int((flags == "censored").sum()),
        "answers in which yes and no weigh little": int((flags == "low_mass").sum()),
        "answers that are neither yes nor no": int((flags == "no_yes_no_token").sum()),
        "questions without an answer": int((flags == "failed").sum()),
    }
    return Scores(
        hypothesis_id=h.id,
        units=at,
        c=np.array([math.nan if f.c is None else f.c for f in found], np.float64),
        logit=np.array([math.nan if f.logit is None else f.logit for f in found], np.float64),
        source=work.spec.kind,
        matcher=work.spec.matcher,
        flags=flags,
        counts={k: v for k, v in counts.items() if v},
        weight=chosen.weight[reached],
    )
