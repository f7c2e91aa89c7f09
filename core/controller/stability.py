"""How much a controller's recommendations differ from run to run (SliceNav, Analysis 4).

Each question is asked several times. What is compared is the list of full slices that the ranking steps of a plan return; steps that
cost something are not run. Rankings are deterministic, so a step that was ranked once is not ranked again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean, pstdev
from typing import Any, Literal, get_args

from core import operators
from core.controller.choose_slices import Slice, choose_slices
from core.controller.context import Context
from core.controller.offline import plan_offline
from core.controller.plan import TOP, InOdd, OutOfOdd, Step, Triage
from core.controller.questions import Question
from core.controller.ranked import run_rank, run_triage, summary
from core.controller.reading import Planned
from core.digest import sha256_json
from core.errors import InputError, OddysseyError
from core.llm import Client

Kind = Literal["offline", "llm", "choose-slices"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Status = Literal["planned", "fallback", "asked back", "failed"]


@dataclass(frozen=True)
class Run:
    """One answer to one question.

    Attributes:
        status: Whether the controller planned it, fell back to the offline plan, asked back, or failed.
        slices: What was recommended, each once.
        steps: Operators of the plan, in order.
        plan: Fingerprint of the plan without its reasons, "" for the baseline.
        requested: Slices that were asked for.
        counts: What became of the rows that a model wrote, for the baseline.
        note: Why it fell back or failed.
    """

    status: Status
    slices: frozenset[Slice] = frozenset()
    steps: tuple[str, ...] = ()
    plan: str = ""
    requested: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Answers:
    """All answers to one question.

    Attributes:
        question: The question.
        runs: In order.
    """

    question: Question
    runs: tuple[Run, ...]

    @property
    def counted(self) -> tuple[Run, ...]:
        """Runs that gave an answer, were it an empty one."""
        return tuple(r for r in self.runs if r.status != "failed")

    @property
    def sizes(self) -> list[int]:
        """Slices in each counted run."""
        return [len(r.slices) for r in self.counted]

    @property
    def jaccard(self) -> float | None:
        """Mean Jaccard index over all pairs of counted runs; None with fewer than two."""
        return _mean([jaccard(a.slices, b.slices) for a, b in combinations(self.counted, 2)])

    @property
    def jaccard_planned(self) -> float | None:
        """The same over runs that the controller planned itself."""
        return _mean([jaccard(a.slices, b.slices) for a, b in combinations([r for r in self.runs if r.status == "planned"], 2)])

    @property
    def empty_pairs(self) -> int:
        """Pairs of counted runs that both list nothing; they count as equal."""
        return sum(not a.slices and not b.slices for a, b in combinations(self.counted, 2))

    @property
    def size_variation(self) -> float | None:
        """Coefficient of variation of the list size: population deviation over mean; None where nothing is listed."""
        sizes = self.sizes
        return pstdev(sizes) / fmean(sizes) if sizes and fmean(sizes) else None

    @property
    def plans(self) -> int:
        """Different plans among the counted runs; 0 for the baseline, which has none."""
        return len({r.plan for r in self.counted if r.plan})

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON-ready data."""
        return {
            "id": self.question.id,
            "question": self.question.text,
            "jaccard": self.jaccard,
            "jaccard_planned": self.jaccard_planned,
            "size_variation": self.size_variation,
            "sizes": self.sizes,
            "requested": [r.requested for r in self.counted],
            "empty_pairs": self.empty_pairs,
            "plans": self.plans,
            "status": dict(Counter(r.status for r in self.runs)),
            "rows": _summed([r.counts for r in self.runs]),
            "notes": sorted({r.note for r in self.runs if r.note}),
        }


@dataclass(frozen=True)
class Stability:
    """The study of one controller.

    Attributes:
        kind: The controller.
        answers: By question.
        model: Name of the language model, "" if there is none.
    """

    kind: Kind
    answers: tuple[Answers, ...]
    model: str = ""

    @property
    def jaccard(self) -> float | None:
        """Mean over the questions of their mean Jaccard index."""
        return _mean([a.jaccard for a in self.answers if a.jaccard is not None])

    @property
    def jaccard_planned(self) -> float | None:
        """The same over runs that the controller planned itself."""
        return _mean([a.jaccard_planned for a in self.answers if a.jaccard_planned is not None])

    @property
    def size_variation(self) -> float | None:
        """Mean over the questions of the coefficient of variation of the list size."""
        return _mean([a.size_variation for a in self.answers if a.size_variation is not None])

    @property
    def status(self) -> dict[str, int]:
        """Runs by what became of them."""
        return dict(Counter(r.status for a in self.answers for r in a.runs))

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON-ready data."""
        listed = [r for a in self.answers for r in a.counted]
        return {
            "controller": self.kind,
            "model": self.model,
            "by_construction": self.kind == "offline",
            "runs": len(self.answers[0].runs) if self.answers else 0,
            "jaccard": self.jaccard,
            "jaccard_planned": self.jaccard_planned,
            "size_variation": self.size_variation,
            "status": self.status,
            "empty_pairs": sum(a.empty_pairs for a in self.answers),
            "requested": sum(r.requested for r in listed),
            "returned": sum(len(r.slices) for r in listed),
            "rows": _summed([r.counts for r in listed]),
            "questions": [a.as_dict() for a in self.answers],
        }


def jaccard(a: frozenset[Slice], b: frozenset[Slice]) -> float:
    """Jaccard index of two sets of slices; 1 for two empty ones."""
    return len(a & b) / len(a | b) if a or b else 1.0


def study(
    ctx: Context,
    kind: Kind,
    questions: Sequence[Question],
    runs: int,
    *,
    top: int = TOP,
    progress: Callable[[int, int], None] | None = None,
) -> Stability:
    """Asks every question several times.

    Args:
        ctx: Table, parameters and endpoints; the one of the role llm is asked.
        kind: The controller.
        questions: The questions.
        runs: Times that each is asked.
        top: Slices that the baseline is asked for; plans name their own number.
        progress: Called with runs done and in all.

    Raises:
        InputError: A model is needed and no endpoint is set, or there are no runs.
    """
    if runs < 1:
        raise InputError(f"--runs: got {runs}; allowed: at least 1 (10 in the paper).")
    endpoint = ctx.endpoints.get("llm")
    if kind != "offline" and endpoint is None:
        raise InputError(
            f"The controller {kind} needs a language model and no endpoint is set. Set ODDYSSEY_LLM_BASE_URL and ODDYSSEY_LLM_MODEL, "
            "or test a connection on the page Controller."
        )
    client = Client(endpoint) if endpoint is not None and kind != "offline" else None
    work = _Work(ctx, client)
    out, done = [], 0
    try:
        for q in questions:
            answers = []
            for _ in range(runs):
                answers.append(work.run(kind, q.text, top))
                done += 1
                if progress:
                    progress(done, runs * len(questions))
            out.append(Answers(q, tuple(answers)))
    finally:
        if client is not None:
            client.close()
    return Stability(kind, tuple(out), endpoint.name if client is not None and endpoint is not None else "")


@dataclass
class _Work:
    """What the runs share: a client, and the rankings that were made."""

    ctx: Context
    client: Client | None
    ranked: dict[str, frozenset[Slice]] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)

    def run(self, kind: Kind, query: str, top: int) -> Run:
        try:
            if self.client is None:
                return self._planned(plan_offline(query, self.ctx.seed.odd))
            if kind == "choose-slices":
                listed = choose_slices(query, self.ctx.seed, run_triage(self.ctx, Triage()), self.client, top=top)
                return Run("planned", frozenset(listed.slices), requested=top, counts=listed.counts())
            from core.controller.llm import plan_llm

            return self._planned(plan_llm(query, self.ctx.seed.odd, self.client, observe=self._observe))
        except OddysseyError as e:
            return Run("failed", note=str(e).splitlines()[0])

    def _planned(self, planned: Planned) -> Run:
        plan = planned.plan
        status: Status = "fallback" if plan.fallback_reason else "planned" if plan.steps else "asked back"
        ranking = [s for s in plan.steps if isinstance(s, InOdd | OutOfOdd)]
        slices = frozenset(x for s in ranking for x in self._slices(s))
        plan_sha = sha256_json([s.model_dump(exclude={"reason"}) for s in plan.steps])
        return Run(status, slices, tuple(s.op for s in plan.steps), plan_sha, sum(s.top for s in ranking), note=plan.fallback_reason)

    def _slices(self, step: InOdd | OutOfOdd) -> frozenset[Slice]:
        key = step.model_dump_json(exclude={"reason"})
        if key not in self.ranked:
            self._rank(step, key)
        return self.ranked[key]

    def _rank(self, step: InOdd | OutOfOdd, key: str) -> None:
        result = run_rank(self.ctx, step)
        self.ranked[key] = frozenset(tuple(v) for v in result.ranking.odd.codec.names(result.ranking.codes))
        self.told[key] = summary(step, result)

    def _observe(self, step: Step) -> str:
        """What the model is told of a free step, as in a real run."""
        key = step.model_dump_json(exclude={"reason"})
        if key not in self.told:
            if isinstance(step, InOdd | OutOfOdd):
                self._rank(step, key)
            elif isinstance(step, Triage):
                self.told[key] = summary(step, operators.triage(self.ctx.seed, step.where))
        return self.told.get(key, "")


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _summed(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for c in counts:
        total.update(c)
    return dict(total)
