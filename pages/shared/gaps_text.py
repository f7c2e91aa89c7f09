"""Sentences of the Ranked gaps page, each computed from the ranking that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from core.odd import Odd
from core.operators import RankResult
from core.plots import plain
from core.scoring import Explanation, Ranking, explain
from core.storage import SavedTable
from pages.shared.gaps_controls import fixed
from pages.shared.gaps_scope import in_words
from pages.shared.markup import Text, code, fill, join, mark

NAMED = 4
"""Values that name a slice in a sentence: its rarest ones."""


def value_name(odd: Odd, dimension: str, value: str) -> str:
    """A value for people; with its dimension where it would not be clear without (a number, or a value of several dimensions)."""
    shared = sum(value in d.by_name for d in odd.dimensions) > 1
    bare = sum(c.isalpha() for c in value) < 3 or value.casefold() in {"yes", "no", "true", "false", "none", "other", "unknown"}
    return f"{plain(dimension)}: {plain(value)}" if shared or bare else plain(value)


def value_names(odd: Odd, values: Mapping[str, str], dims: Iterable[str] | None = None) -> list[str]:
    """Names of some values of a slice, in the order of the ODD."""
    wanted = set(values if dims is None else dims)
    return [value_name(odd, d, v) for d, v in values.items() if d in wanted]


def short_name(odd: Odd, e: Explanation) -> str:
    """A slice by its rarest values, in the order of the ODD."""
    rarest = sorted(e.exposures, key=lambda x: x.p)[:NAMED]
    return " · ".join(value_names(odd, e.values, [x.dimension for x in rarest]))


def headline(result: RankResult) -> Text:
    """The finding: the slice on rank 1 and why."""
    ranking = result.ranking
    if not len(ranking):
        return _nothing(ranking)
    e = explain(ranking, 0)
    name, exposure = mark(short_name(ranking.odd, e)), _figure(e.exposure)
    where = "Outside the ODD, test" if ranking.scope.kind == "out" else "Test"
    if ranking.ridge is not None:
        return fill(
            "{w} {s} next: its exposure is {x}, and effects fitted to all tested slices predict an error of {err}.",
            w=where,
            s=name,
            x=exposure,
            err=f"{e.raw_error:.0%}",
        )
    if e.decisive is None:
        failed = "no tested slice is similar enough to judge by" if not e.neighbours else "none of its neighbours has failed"
        return fill("{w} {s} next: its exposure is {x}, and {f}.", w=where, s=name, x=exposure, f=failed)
    return fill(
        "{w} {s} next: its exposure is {x}, and its decisive neighbour, at similarity {sim}, has an error of {err}.",
        w=where,
        s=name,
        x=exposure,
        sim=f"{e.decisive.similarity:.2f}",
        err=f"{e.decisive.measured:.0%}",
    )


def _nothing(ranking: Ranking) -> Text:
    search, size = ranking.search, ranking.slices
    if not search.complete:
        return "The search was stopped before it found a slice. Fix more values, or choose fewer extended ones."
    if search.implausible:
        return fill("Nothing is left: {n} slices of this view are called implausible by the ODD.", n=f"{search.implausible:,}")
    outside = ranking.scope.kind == "out"
    if not size:
        return "No slice of this view lies outside the ODD: with these fixed values, none has an extended value."
    where = "outside the ODD" if outside else "of the ODD and its extension" if ranking.scope.outside else "of the ODD"
    tested = "the only slice {w} was" if size == 1 else "all {n} slices {w} were"
    if ranking.where:
        where = "in it outside the ODD" if outside else "in it"
        return fill("Nothing is missing under this filter: " + tested + " tested.", n=f"{size:,}", w=where)
    return fill("Nothing is missing: " + tested + " tested.", n=f"{size:,}", w=where)


def provenance(table: SavedTable, result: RankResult, explained: bool = True) -> Text:
    """n, interval, digests and exclusions behind the headline; `explained` tells whether that names the first slice."""
    ranking, source = result.ranking, result.manifest["input"]
    parts = searched(ranking)
    why = explain(ranking, 0).decisive if len(ranking) and explained else None
    if why is not None:
        weak = ", provisional" if why.provisional else ""
        parts.append(f"Decisive neighbour: n = {why.n:,}{weak}, 95 % interval {why.low:.0%} to {why.high:.0%}")
    parts += left_out(table, ranking, source)
    end = fill("Table {t}, ODD {o}, {m} similarity", t=code(table.digest[:6]), o=code(ranking.odd.hash[:6]), m=ranking.similarity["mode"])
    return fill("{parts}.", parts=join([*parts, end], ". "))


def provenance_of_effects(table: SavedTable, result: RankResult) -> Text:
    """What the effects of values rest on; similarity, fixed values and the list make no difference to them."""
    ranking = result.ranking
    observed = ranking.evidence.observed
    parts = [f"Fitted to all n = {observed.total:,} samples in {len(observed.n):,} tested slices"]
    if ranking.scope.outside:
        parts.append(f"Extension: {in_words(ranking.odd, ranking.scope)}")
    parts += left_out(table, ranking, result.manifest["input"])
    return fill("{parts}.", parts=join([*parts, fill("Table {t}, ODD {o}", t=code(table.digest[:6]), o=code(ranking.odd.hash[:6]))], ". "))


def searched(ranking: Ranking) -> list[str]:
    """What was searched, how exactly, and what was left out of it."""
    search = ranking.search
    took = _seconds(search.seconds)
    how = took if search.method == "enumeration" else f"{took} ({search.nodes:,} prefixes and slices looked at)"
    beyond = " outside the ODD" if ranking.scope.kind == "out" else ""
    first = f"Exact over {search.candidates:,} missing of {ranking.slices:,} slices{beyond} in {how}"
    if not search.complete:
        first = (
            f"Not exact: the search over {search.candidates:,} missing slices{beyond} was stopped after {how}; no slice left out scores "
            f"more than the last one listed plus {search.gap:.2g}"
        )
    if ranking.where:
        first += f" (fixed: {fixed(tuple(ranking.where.items()))})"
    out = [first]
    if ranking.scope.outside:
        out.append(f"Extension: {in_words(ranking.odd, ranking.scope)}")
    if search.implausible:
        out.append(f"{search.implausible:,} slices are called implausible by the ODD and left out")
    if ranking.diversity is not None:
        d = ranking.diversity
        kept = "kept" if d.reached else "not reached"
        out.append(
            f"ILD {d.after:.3f} (floor {d.floor:g} {kept}; {d.before:.3f} without it): {d.swaps:,} of the best {len(ranking):,} slices "
            f"gave way to others among the best {d.pool:,}"
        )
    if ranking.evidence.shrinkage is not None:
        s = ranking.evidence.shrinkage
        out.append(f"Errors are shrunk towards {s.mean:.1%} as by {s.strength:.1f} samples")
    return out


def left_out(table: SavedTable, ranking: Ranking, source: Mapping[str, Any]) -> list[str]:
    """Which tested slices and rows of the file count less or not at all; `source` is what the import reported."""
    return [*_support(ranking), *_rows(table, ranking, source)]


def _support(ranking: Ranking) -> list[str]:
    evidence = ranking.evidence
    weak, aside, out = int(evidence.provisional.sum()), len(evidence.set_aside.n), []
    if weak:
        out.append(
            f"{weak:,} of {ranking.search.observed:,} tested slices have fewer than {evidence.threshold:,} samples (provisional) "
            "and count as observed"
        )
    if aside:
        out.append(
            f"{aside:,} tested slices with {evidence.set_aside.total:,} samples, each with fewer than {evidence.threshold:,}, "
            "were set to count as missing and are left out of every share and neighbour"
        )
    return out


def _rows(table: SavedTable, ranking: Ranking, source: Mapping[str, Any]) -> list[str]:
    out = [f"{source.get('rejected', 0):,} of {source.get('rows', 0):,} rows were rejected"]
    if source.get("other_models"):
        out[0] += f", {source['other_models']:,} are of other models"
    outside = ranking.evidence.outside
    if outside.total:
        out.append(f"{outside.total:,} samples in {len(outside.n):,} slices outside the ODD are left out")
    if table.n_assumed:
        out.append("n was assumed, not counted, so intervals are only as good as that assumption")
    return out


def _figure(x: float) -> str:
    """Two significant digits, without an exponent down to a millionth."""
    return f"{x:.1e}" if 0 < x < 1e-6 else f"{x:.{max(2, 1 - _exponent(x))}f}" if x else "0"


def _exponent(x: float) -> int:
    return int(f"{x:e}".partition("e")[2])


def _range(low: float, high: float) -> str:
    """Two ends with as many digits as tell them apart, at least four."""
    digits = next((d for d in range(4, 13) if f"{low:.{d}f}" != f"{high:.{d}f}"), 4)
    return f"from {low:.{digits}f} to {high:.{digits}f}"


def _seconds(s: float) -> str:
    return f"{s:.2f} s" if s >= 0.01 else "under 0.01 s"


def caveats(ranking: Ranking) -> list[str]:
    """What a reader must know before taking the order for more than it is."""
    k = len(ranking)
    rare = float(ranking.w_rare.min()), float(ranking.w_rare.max())
    risk = float(ranking.w_nb.min()), float(ranking.w_nb.max())
    spread = [high / low if low > 0 else float("inf") for low, high in (rare, risk)]
    if k < 2:
        order = ""
    elif risk[0] == risk[1]:
        order = f" All have the same 1 + ε̂ = {risk[0]:.4f}, so among them rarity alone makes the order."
    elif spread[1] > spread[0]:
        whose = "the predicted error" if ranking.ridge else "the neighbours' error"
        order = f" 1 + ε̂ runs {_range(*risk)}, so the order is mostly that of {whose}."
    else:
        order = f" 1 + ε̂ runs {_range(*risk)}, so rarity makes most of the order."
    out = [f"Rarity w_rare runs {_range(*rare)} over the {k:,} slices listed.{order}"] if k > 1 else []
    return [
        *out,
        "Exposure multiplies shares of this table as if its dimensions were independent. It says how seldom a combination was tested, "
        "not how seldom it is met on the road.",
    ]


def more_common(odd: Odd, e: Explanation) -> str:
    """Which values that were never seen count as more common than values that were, "" if none does."""
    parts = []
    for x in e.exposures:
        if x.rarer:
            few = ", ".join(map(plain, x.rarer[:3])) + (f" and {len(x.rarer) - 3} more" if len(x.rarer) > 3 else "")
            parts.append(f"{value_name(odd, x.dimension, x.value)} than {few}")
    return f"Though never seen, these count as more common than values that were: {'; '.join(parts)}." if parts else ""
