"""The free operators of a plan, triage and the two rankings, and how they are told and written."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from core import operators
from core.controller.context import Context
from core.controller.plan import InOdd, OutOfOdd, Triage
from core.operators import RankResult
from core.scoring import Explanation, Scope
from core.scoring import Triage as Found

DECISIVE = ("decisive_slice", "decisive_similarity", "decisive_error", "decisive_n")
OUTSIDE = ("extended_values", "seen_as")
NOT_EXACT = "Not exact"
"""How a note begins to tell that a search was stopped by the limit of time; a replay may come to another end then."""
PAGE_LIMIT = 60.0
"""Seconds that a search may take before it shows what it has, with how far from exact it may be."""


def run_rank(ctx: Context, step: InOdd | OutOfOdd) -> RankResult:
    """The ranking of a step, by the same operator as page and command line."""
    scope = Scope("out", {d: tuple(v) for d, v in step.extend.items()}) if isinstance(step, OutOfOdd) else Scope()
    return operators.rank(
        ctx.seed,
        ctx.params,
        ctx.settings,
        mode=ctx.mode,
        top=step.top,
        where=step.where,
        scope=scope,
        time_limit=PAGE_LIMIT,
        source=ctx.source,
        cancel=ctx.cancel,
    )


def run_triage(ctx: Context, step: Triage) -> Found:
    """Failures and coverage under the filter of a step."""
    return operators.triage(ctx.seed, step.where)


def audit(result: RankResult) -> dict[str, int]:
    """Combinations of a ranking: in all, tested, missing, implausible."""
    ranking = result.ranking
    missing, rare = ranking.search.candidates, ranking.search.implausible
    return {"combinations": ranking.slices, "observed": ranking.slices - missing - rare, "missing": missing, "listed": len(ranking)}


def ranking_note(result: RankResult) -> str:
    """What a ranking found, in a sentence."""
    n = audit(result)
    exact = "" if result.ranking.search.complete else f" {NOT_EXACT}: stopped after {PAGE_LIMIT:g} s."
    first = f"{n['combinations']:,} combinations, {n['observed']:,} tested, {n['missing']:,} missing"
    listed = n["listed"]
    if not n["missing"] or not listed:
        told = ""
    elif listed >= n["missing"]:
        told = "; it is listed" if listed == 1 else "; all are listed"
    else:
        told = "; the first is listed" if listed == 1 else f"; the first {listed:,} are listed"
    return f"{first}{told}.{exact}"


def ranking_csv(result: RankResult) -> bytes:
    """The ranking as the page exports it, with the decisive neighbour; outside the ODD with what each added value was taken for."""
    ranking = result.ranking
    extra = DECISIVE + (OUTSIDE if ranking.scope.outside else ())
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, [*operators.columns(ranking), *extra], lineterminator="\n")
    writer.writeheader()
    for row, e in zip(operators.rows(ranking), result.explanations(), strict=True):
        writer.writerow(row | {k: v for k, v in (_decisive(e) | _outside(e)).items() if k in extra})
    return text.getvalue().encode()


def _decisive(e: Explanation) -> dict[str, Any]:
    d = e.decisive
    if d is None:
        return dict.fromkeys(DECISIVE)
    return {
        "decisive_slice": " | ".join(d.values.values()),
        "decisive_similarity": d.similarity,
        "decisive_error": d.measured,
        "decisive_n": d.n,
    }


def _outside(e: Explanation) -> dict[str, str]:
    extended = [x for x in e.exposures if x.extended]
    return {
        "extended_values": "; ".join(f"{x.dimension}={x.value}" for x in extended),
        "seen_as": "; ".join(f"{x.star} ({x.similarity:.6f})" if x.star else "seen itself" for x in extended),
    }


def slices_of(result: RankResult) -> list[dict[str, str]]:
    """The slices of a ranking, best first: value per dimension that is written out."""
    ranking = result.ranking
    names = ranking.odd.codec.names(ranking.codes)
    return [{ranking.odd.names[k]: values[k] for k in ranking.dims} for values in names]


def triage_note(found: Found) -> str:
    """What a triage found, in a sentence."""
    if not found.n:
        return "No sample was tested under this filter."
    places = f"{found.slices:,} slice{'s' * (found.slices != 1)}"
    sums = f"n = {found.n:,} in {places}, error {found.error:.0%} (95 % interval {found.low:.0%} to {found.high:.0%})"
    worst = found.by_value[0] if found.by_value else None
    ends = (
        f"; worst value: {in_words(dict(zip(worst.dimensions, worst.values, strict=True)))}, {worst.error:.0%}, n = {worst.n:,}"
        if worst
        else ""
    )
    return f"{sums}{ends}."


def summary(step: Triage | InOdd | OutOfOdd, result: RankResult | Found) -> str:
    """What a language model is told of a step that ran: counts, and the first five slices or values, no score and no error."""
    if isinstance(result, RankResult):
        first = [in_words(s) for s in slices_of(result)[:5]]
        return "\n".join([f"{step.op}: {ranking_note(result)}", *(f"{i}. {text}" for i, text in enumerate(first, 1))])
    worst = [f"{in_words(dict(zip(f.dimensions, f.values, strict=True)))} (n = {f.n:,})" for f in result.by_value[:5]]
    told = f"{result.n:,} samples in {result.slices:,} tested slices"
    return "\n".join(
        [f"triage: {told}; values in the order in which they fail most:", *(f"{i}. {text}" for i, text in enumerate(worst, 1))]
    )


def in_words(values: Mapping[str, str | Sequence[str]]) -> str:
    """Values by dimension on one line."""
    return ", ".join(f"{d}={v if isinstance(v, str) else '|'.join(v)}" for d, v in values.items())
