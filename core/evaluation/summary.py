"""What an evaluation shows, by condition: accuracy and judge's score per slice, value and category (SliceNav, examples C and E)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import fsum
from typing import Any

from core.evaluation.items import Item, Result
from core.scoring.intervals import wilson

CATEGORY = "question_category"
"""Dimension that says what a question asks for (SliceNav, section 4)."""


@dataclass(frozen=True)
class Rate:
    """A mean score with what it rests on.

    Attributes:
        n: Scored samples.
        mean: None where there is none.
        low, high: 95 % Wilson interval.
    """

    n: int
    mean: float | None
    low: float
    high: float


@dataclass(frozen=True)
class Cell:
    """One row of the table by condition.

    Attributes:
        values: The condition, value by dimension.
        requested: The slice that was asked for, where the row is one of a slice; {} otherwise.
        items: Samples.
        valid, partial, invalid: Samples by fidelity.
        all: Over all scored samples.
        mcq: Over scored multiple-choice questions.
        vqa: Over scored open questions.
        judge: Over samples that the judge scored.
        unscored, failed, blocked: Samples without a score.
        synthetic: Samples that were made, not found.
    """

    values: Mapping[str, str]
    requested: Mapping[str, str]
    items: int
    valid: int
    partial: int
    invalid: int
    all: Rate
    mcq: Rate
    vqa: Rate
    judge: Rate
    unscored: int
    failed: int
    blocked: int
    synthetic: int

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return asdict(self)


NOT_KNOWN = "not known"
"""Stands for a value that a sample's tags do not tell."""


def by_slice(results: Sequence[Result]) -> tuple[Cell, ...]:
    """One row per pair of requested and realised slice, worst first; a realised slice that is not fully known has values {}."""

    def key(item: Item) -> tuple[dict[str, str], dict[str, str]]:
        return dict(item.requested), dict(item.realised or {})

    return _cells(results, lambda r: [key(r.item)])


def by_value(results: Sequence[Result]) -> tuple[Cell, ...]:
    """One row per value of each dimension as the samples really show it, in the order of the dimensions; worst first within one."""
    dims = list(dict.fromkeys(d for r in results for d in (*r.item.requested, *(r.item.realised or {}))))
    out: list[Cell] = []
    for d in dims:
        out += _cells(results, partial(_shown, d))
    return tuple(out)


def _shown(dim: str, result: Result) -> list[tuple[dict[str, str], dict[str, str]]]:
    return [({}, {dim: (result.item.realised or {}).get(dim, NOT_KNOWN)})]


def by_category(results: Sequence[Result]) -> tuple[Cell, ...]:
    """One row per question category, worst first; as requested where the sample's own is not known."""

    def key(item: Item) -> dict[str, str]:
        return {CATEGORY: (item.realised or {}).get(CATEGORY) or item.requested.get(CATEGORY) or NOT_KNOWN}

    return _cells(results, lambda r: [({}, key(r.item))])


def counts(results: Sequence[Result]) -> dict[str, int]:
    """Samples by status and by who scored them."""
    status = Counter(r.status for r in results)
    by = Counter(r.scored_by for r in results if r.status == "scored")
    out = {s: status[s] for s in ("scored", "unscored", "failed", "blocked")}
    return out | {f"by_{k}": by[k] for k in ("shortcut", "judge", "person", "imported")}


def rate(scores: Sequence[float]) -> Rate:
    """Mean of some scores with its interval."""
    if not scores:
        return Rate(0, None, 0.0, 1.0)
    mean = min(1.0, max(0.0, fsum(scores) / len(scores)))
    return Rate(len(scores), mean, *wilson(mean, len(scores)))


def _cells(results: Sequence[Result], keys: Callable[[Result], list[tuple[dict[str, str], dict[str, str]]]]) -> tuple[Cell, ...]:
    groups: dict[Hashable, tuple[dict[str, str], dict[str, str], list[Result]]] = {}
    for r in results:
        for requested, values in keys(r):
            name = (tuple(sorted(requested.items())), tuple(sorted(values.items())))
            groups.setdefault(name, (requested, values, []))[2].append(r)
    cells = [_cell(requested, values, found) for requested, values, found in groups.values()]
    order = {id(c): i for i, c in enumerate(cells)}
    return tuple(sorted(cells, key=lambda c: (2.0 if c.all.mean is None else c.all.mean, -c.all.n, order[id(c)])))


def _cell(requested: Mapping[str, str], values: Mapping[str, str], found: Sequence[Result]) -> Cell:
    scored = [(r, float(r.score)) for r in found if r.status == "scored" and r.score is not None]
    fidelity, status = Counter(r.item.verdict for r in found), Counter(r.status for r in found)
    return Cell(
        values=values,
        requested=requested,
        items=len(found),
        valid=fidelity["valid"],
        partial=fidelity["partial"],
        invalid=fidelity["invalid"],
        all=rate([s for _, s in scored]),
        mcq=rate([s for r, s in scored if r.item.qa_type == "MCQ"]),
        vqa=rate([s for r, s in scored if r.item.qa_type == "VQA"]),
        judge=rate([s for r, s in scored if r.scored_by == "judge"]),
        unscored=status["unscored"],
        failed=status["failed"],
        blocked=status["blocked"],
        synthetic=sum(r.item.source == "synthetic" for r in found),
    )
