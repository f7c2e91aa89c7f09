"""How well the offline controller reads a hundred questions written blind, as docs/benchmarks.md reports it.

There are two sets of a hundred: paraphrases.yaml, and paraphrases2.yaml, which was written while faults of the first were mended.

python -m tests.controller.measure_paraphrases              the tables, without a model
python -m tests.controller.measure_paraphrases --second     the same of the second set
python -m tests.controller.measure_paraphrases --failed     and every question that was not read exactly, with what came out
python -m tests.controller.measure_paraphrases --meaning    and what the encoder suggests where words missed a value
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from core.controller.offline import plan_offline
from core.controller.plan import Acquire, AcquireSource, InOdd, Op, OutOfOdd, Plan, Values
from core.controller.reading import Planned
from core.odd import built_in
from core.scoring.intervals import wilson
from core.settings import Settings

PARAPHRASES = Path(__file__).with_name("paraphrases.yaml")
SECOND = Path(__file__).with_name("paraphrases2.yaml")
CAPABILITIES: tuple[Op, ...] = ("triage", "in_odd", "out_of_odd", "acquire", "evaluate")
PAID: frozenset[Op] = frozenset({"acquire", "evaluate"})

Pair = tuple[str, str]
"""Dimension and value."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Expect(_Strict):
    """What a question means; the head of the file says how each field is meant."""

    require: tuple[Op, ...]
    allow: tuple[Op, ...]
    focus: Values
    focus_alternatives: tuple[Values, ...] = ()
    extend: Values | Literal["any"] | None = None
    extend_allow: Values = {}
    extend_only: tuple[str, ...] = ()
    top: int | None = None
    per_slice: int | None = None
    source: tuple[AcquireSource, ...] = ()
    unknown: tuple[str, ...] = ()


class Paraphrase(_Strict):
    """A question, how it is put, and what it means."""

    id: str
    capability: Op
    traits: tuple[str, ...]
    query: str
    expect: Expect


@dataclass(frozen=True)
class Scored:
    """What became of a question.

    Attributes:
        asked: The question.
        planned: What the controller made of it.
        ops: Operators of the plan.
        expected, focus: Values that the step that matters should be filtered to (of equally good ones the nearest), and is.
        faults: What is wrong, in words; none if it was read exactly.
    """

    asked: Paraphrase
    planned: Planned
    ops: tuple[Op, ...]
    expected: frozenset[Pair]
    focus: frozenset[Pair]
    faults: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Whether operators, filter, extension, numbers and source are all as expected."""
        return not self.faults

    @property
    def wanted(self) -> frozenset[Op]:
        """Operators that must run."""
        return frozenset(self.asked.expect.require)

    @property
    def welcome(self) -> frozenset[Op]:
        """Operators of the plan that must or may run."""
        return frozenset(self.ops) & (self.wanted | set(self.asked.expect.allow))


def paraphrases(path: Path = PARAPHRASES) -> tuple[Paraphrase, ...]:
    """All questions of a set, in the order of the file."""
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tuple(Paraphrase.model_validate(p) for p in raw["paraphrases"])


def score(asked: Paraphrase, planned: Planned) -> Scored:
    """Compares a plan with what the question means."""
    plan, expect = planned.plan, asked.expect
    ops = tuple(dict.fromkeys(step.op for step in plan.steps))
    focus = _focus(plan, expect.require)
    expected = min((_pairs(f) for f in (expect.focus, *expect.focus_alternatives)), key=lambda e: len(e ^ focus))
    faults = [f"asks back: {planned.clarify}"] if planned.clarify else []
    faults += [f"no {op}" for op in expect.require if op not in ops]
    faults += [f"{op} unasked" for op in ops if op not in {*expect.require, *expect.allow}]
    faults += [f"not filtered to {_told(expected - focus)}"] if expected - focus else []
    faults += [f"filtered to {_told(focus - expected)}"] if focus - expected else []
    return Scored(asked, planned, ops, expected, focus, tuple([*faults, *_extension(plan, expect), *_details(plan, expect)]))


def measure(settings: Settings | None = None, path: Path = PARAPHRASES) -> tuple[Scored, ...]:
    """All questions of a set through the offline controller on the built-in vocabulary.

    Args:
        settings: With them, values are suggested by the encoder where it is installed.
        path: The file of the set.
    """
    odd = built_in()
    return tuple(score(p, plan_offline(p.query, odd, settings)) for p in paraphrases(path))


def table(scored: Sequence[Scored]) -> list[str]:
    """The main table, in Markdown: a row per capability, and their total."""
    lines = [
        "| 20 questions each | operators: precision / recall | filter values: precision / recall | asked back | exact (95 %) |",
        "|---|---|---|---|---|",
    ]
    for capability in CAPABILITIES:
        lines.append(_row(capability, [s for s in scored if s.asked.capability == capability]))
    return [*lines, _row("all 100", scored)]


def traits(scored: Sequence[Scored]) -> list[str]:
    """Exact readings by how a question is put, in Markdown; one question can have several traits."""
    names = sorted({t for s in scored for t in s.asked.traits})
    rows = [(name, [s for s in scored if name in s.asked.traits]) for name in names]
    rows.append(("none of these", [s for s in scored if not s.asked.traits]))
    cells = [(name, _share(kept, lambda s: s.exact)) for name, kept in rows]
    return [
        "| " + " | ".join(name for name, _ in cells) + " |",
        "|" + "---|" * len(cells),
        "| " + " | ".join(share for _, share in cells) + " |",
    ]


def facts(scored: Sequence[Scored]) -> list[str]:
    """Figures beside the table, a sentence each."""
    unfiltered = [s for s in scored if not s.asked.expect.focus]
    numbers = [s for s in scored if s.asked.expect.top is not None or s.asked.expect.per_slice is not None]
    sources = [s for s in scored if s.asked.expect.source]
    extended = [s for s in scored if s.asked.expect.extend is not None]
    unknown = [s for s in scored if s.asked.expect.unknown]
    misread = [s for s in scored if not s.exact and not s.planned.clarify]
    return [
        f"Operators exactly within bounds: {_share(scored, _ops_right)}; filter exactly right: {_share(scored, _focus_right)}.",
        f"Acquisition or evaluation planned though not asked for: {sum(bool((PAID & set(s.ops)) - s.welcome) for s in scored)}.",
        f"No filter in any step where none was asked for: {_share(unfiltered, lambda s: not _filters(s.planned.plan))}.",
        f"Plans with a filter value in some step that was not meant (values inside the ODD that stand for one outside it apart): "
        f"{sum(bool(_strays(s)) for s in scored)}.",
        f"Extensions right: {_share(extended, lambda s: _right(s, _extension) and 'out_of_odd' in s.ops)}.",
        f"Numbers right: {_share(numbers, lambda s: _right(s, _numbers))}; "
        f"source of samples right: {_share(sources, lambda s: _right(s, _source))}.",
        f"Things outside the vocabulary named as such: {_share(unknown, lambda s: _named(s, notes=False))}; "
        f"at least listed among the words not used: {_share(unknown, lambda s: _named(s, notes=True))}.",
        f"Not exact, and a plan rather than a question back: {len(misread)}.",
    ]


@dataclass(frozen=True)
class ByMeaning:
    """What the encoder adds.

    Attributes:
        missed: Values that words missed, over all questions.
        by_words: Those of them that are suggested without the encoder: spelling, another sense of the same word.
        applied, suggested: Those of them that the encoder applied by itself, and those that only it suggested.
        shown, right: Its suggestions in all, and those of a value that was meant.
        exact: Questions read exactly with what it applied by itself.
    """

    missed: int
    by_words: int
    applied: int
    suggested: int
    shown: int
    right: int
    exact: int

    def sentence(self) -> str:
        """All of it in one."""
        return (
            f"Of {self.missed} values that words missed, {self.by_words} were suggested without the encoder; the encoder applied "
            f"{self.applied} by itself and suggested {self.suggested}. Of its {self.shown} suggestions in all, {self.right} were of "
            f"a value that was meant. Exact with it: {self.exact} of 100."
        )


def by_meaning(words: Sequence[Scored], meaning: Sequence[Scored]) -> ByMeaning:
    """Compares a run without the encoder with one that has it."""
    missed = by_words = applied = suggested = shown = right = 0
    for w, m in zip(words, meaning, strict=True):
        lost, known = w.expected - w.focus, set(_offered(w))
        offered = [pair for pair in _offered(m) if pair not in known]
        missed += len(lost)
        by_words += len(lost & known)
        applied += len(lost & m.focus)
        suggested += len(lost & set(offered))
        shown += len(offered)
        right += sum(pair in _meant(w.asked.expect) for pair in offered)
    return ByMeaning(missed, by_words, applied, suggested, shown, right, sum(m.exact for m in meaning))


def _offered(s: Scored) -> list[Pair]:
    return [(x.dimension, x.value) for x in s.planned.suggestions]


def _main_op(plan: Plan, require: Iterable[Op]) -> Op | None:
    """The ranking step that matters: that of what is required, else the last one that ran."""
    require = set(require)
    wanted: Op = "out_of_odd" if "out_of_odd" in require else "in_odd" if "in_odd" in require else "triage"
    ran = {s.op for s in plan.steps}
    if wanted in ran:
        return wanted
    order: tuple[Op, ...] = ("out_of_odd", "in_odd", "triage")
    return next((op for op in order if op in ran), None)


def _focus(plan: Plan, require: Iterable[Op]) -> frozenset[Pair]:
    op = _main_op(plan, require)
    step = plan.last(op) if op else None
    return _pairs(getattr(step, "where", {}))


def _pairs(values: Values) -> frozenset[Pair]:
    return frozenset((d, v) for d, vs in values.items() for v in vs)


def _extension(plan: Plan, expect: Expect) -> list[str]:
    step = plan.last("out_of_odd")
    if expect.extend is None or not isinstance(step, OutOfOdd):
        return []
    added = _pairs(step.extend)
    if expect.extend == "any":
        wrong = {p for p in added if expect.extend_only and p[0] not in expect.extend_only}
        return [f"added {_told(wrong)}"] if wrong else []
    wanted, allowed = _pairs(expect.extend), _pairs(expect.extend_allow)
    wrong = {p for p in added - wanted if p not in allowed and (p[0], "*") not in allowed}
    faults = [f"not added {_told(wanted - added)}"] if wanted - added else []
    return [*faults, *([f"added {_told(wrong)}"] if wrong else [])]


def _details(plan: Plan, expect: Expect) -> list[str]:
    return [*_numbers(plan, expect), *_source(plan, expect)]


def _numbers(plan: Plan, expect: Expect) -> list[str]:
    op = _main_op(plan, expect.require)
    step, acquire = plan.last(op) if op else None, plan.last("acquire")
    top = step.top if isinstance(step, InOdd | OutOfOdd) else None
    per_slice = acquire.per_slice if isinstance(acquire, Acquire) else None
    faults = [f"top {top}, not {expect.top}"] if expect.top not in (None, top) else []
    return faults + ([f"{per_slice} per slice, not {expect.per_slice}"] if expect.per_slice not in (None, per_slice) else [])


def _source(plan: Plan, expect: Expect) -> list[str]:
    acquire = plan.last("acquire")
    source = acquire.source if isinstance(acquire, Acquire) else None
    return [f"source {source}, not {' or '.join(expect.source)}"] if expect.source and source not in expect.source else []


def _right(s: Scored, check: Callable[[Plan, Expect], list[str]]) -> bool:
    return not check(s.planned.plan, s.asked.expect)


def _ops_right(s: Scored) -> bool:
    return s.wanted <= set(s.ops) and s.welcome == set(s.ops)


def _focus_right(s: Scored) -> bool:
    return s.focus == s.expected and bool(s.ops)


def _filters(plan: Plan) -> frozenset[Pair]:
    """Filter values of all steps."""
    return frozenset(p for step in plan.steps for p in _pairs(getattr(step, "where", {})))


def _strays(s: Scored) -> frozenset[Pair]:
    """Filter values of any step that were not meant and are no parent of a value that was."""
    meant = _meant(s.asked.expect)
    parents = {(d.name, v.parent) for d in built_in().dimensions for v in d.values if (d.name, v.name) in meant}
    return _filters(s.planned.plan) - meant - parents


def _meant(expect: Expect) -> frozenset[Pair]:
    """Values of the filter and of those that are as good."""
    return frozenset(p for f in (expect.focus, *expect.focus_alternatives) for p in _pairs(f))


def _named(s: Scored, *, notes: bool) -> bool:
    """Whether a word of each unknown phrase is among the terms that the plan calls unsupported, or among those it did not use."""
    plan = s.planned.plan
    texts = [*plan.unsupported_terms, *(n for n in plan.notes if notes and n.startswith("Not used"))]
    said = set(re.findall(r"\w+", " ".join(texts).casefold()))
    return all(set(phrase.split()) & said for phrase in s.asked.expect.unknown)


def _share(scored: Sequence[Scored], holds: Callable[[Scored], bool]) -> str:
    return f"{sum(holds(s) for s in scored)} of {len(scored)}"


def _row(name: str, scored: Sequence[Scored]) -> str:
    ran, welcome = sum(len(s.ops) for s in scored), sum(len(s.welcome) for s in scored)
    wanted, found = sum(len(s.wanted) for s in scored), sum(len(s.wanted & set(s.ops)) for s in scored)
    focus, expected = sum(len(s.focus) for s in scored), sum(len(s.expected) for s in scored)
    hits = sum(len(s.focus & s.expected) for s in scored)
    exact = sum(s.exact for s in scored)
    low, high = wilson(exact / max(len(scored), 1), len(scored))
    back = sum(bool(s.planned.clarify) for s in scored)
    return (
        f"| {name} | {_rate(welcome, ran)} / {_rate(found, wanted)} | {_rate(hits, focus)} / {_rate(hits, expected)} "
        f"| {back} | {exact} ({100 * low:.0f} to {100 * high:.0f} %) |"
    )


def _rate(part: int, whole: int) -> str:
    return f"{part / whole:.2f} ({part}/{whole})" if whole else "none"


def _told(pairs: Iterable[Pair]) -> str:
    return ", ".join(f"{d}={v}" for d, v in sorted(pairs))


def main() -> None:
    """Prints what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--second", action="store_true", help="the second set")
    parser.add_argument("--failed", action="store_true", help="also what was not read exactly")
    parser.add_argument("--meaning", action="store_true", help="also with the text encoder")
    args = parser.parse_args()
    path = SECOND if args.second else PARAPHRASES
    scored = measure(path=path)
    print("\n".join([*table(scored), "", *traits(scored), "", *facts(scored)]))
    with tempfile.TemporaryDirectory() as home:
        meaning = measure(Settings(Path(home), "sqlite://"), path) if args.meaning else scored
    if args.meaning:
        print("\n" + by_meaning(scored, meaning).sentence())
    if args.failed:
        for s, m in zip(scored, meaning, strict=True):
            if not s.exact:
                print(f"\n{s.asked.id} {s.asked.query}\n  ran {', '.join(s.ops) or 'nothing'}; " + "; ".join(s.faults))
                print(f"  unsupported {s.planned.plan.unsupported_terms}; notes {s.planned.plan.notes}")
                print(f"  suggested {[(x.phrase, x.value, x.similarity) for x in m.planned.suggestions]}; exact with meaning: {m.exact}")


if __name__ == "__main__":
    main()
