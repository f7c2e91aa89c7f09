"""Sentences about campaigns, each computed from the plan or the saved campaign that it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.acquisition import Campaign, Request
from core.odd import Odd
from core.operators import RankResult
from core.storage import CampaignContent, SavedTable
from pages.shared.gaps_campaign_form import factor_words, named_quota
from pages.shared.gaps_controls import fixed
from pages.shared.gaps_text import left_out as rows_left_out
from pages.shared.gaps_text import searched
from pages.shared.markup import Text, code, fill, join, mark, strong


def several(n: int, one: str, more: str = "") -> str:
    """A count with its noun: "1 slice", "40 slices"."""
    return f"{n:,} {one if n == 1 else more or one + 's'}"


def number(x: float) -> str:
    """A cost: whole where it is whole, else as many digits as it has."""
    return f"{x:,.0f}" if x == int(x) else f"{x:,.10g}" if abs(x) < 1000 else f"{x:,.2f}"


def headline(c: Campaign, filtered: bool = False) -> Text:
    """What the plan is and what it may find; `filtered` tells whether values were fixed."""
    if not c.considered:
        return fill("Nothing is left to plan: there is no missing slice{f} to choose from.", f=" under this filter" if filtered else "")
    if not len(c):
        return fill("Nothing can be planned: {why}.", why=_why_empty(c))
    samples = int(c.samples.sum())
    return fill(
        "Test {n} with {m}: {f} of them would fail if the scorer's estimates were right.",
        n=mark(several(len(c), "slice")),
        m=several(samples, "sample"),
        f=mark(f"{c.expected_failures:,.0f}"),
    )


def _why_empty(c: Campaign) -> str:
    s = c.skipped
    if s.scheduled == c.considered:
        which = (
            f"all {c.considered:,} slices" if c.considered == c.candidates else f"the best {c.considered:,} slices, of which a plan is made"
        )
        return f"other campaigns have {which}"
    if c.cheapest is not None and c.cheapest > c.request.budget:
        return f"the cheapest slice takes {number(c.cheapest)} {_unit(c.request)}, the budget is {number(c.request.budget)}"
    return "the quotas leave no room for a single slice"


def _unit(r: Request) -> str:
    return {"slices": "slices", "samples": "samples", "cost": "units of cost"}[r.kind]


def provenance(table: SavedTable, result: RankResult, c: Campaign) -> Text:
    """From what the plan was made, and what its numbers are."""
    ranking = result.ranking
    parts = searched(ranking)
    parts.append("Slices are taken in rank order" + (f", from the best {c.considered:,} only" if c.considered < c.candidates else ""))
    parts.append("Expected failures are samples × ε̂, the scorer's estimate of the error rate, not a measurement")
    parts += rows_left_out(table, ranking, result.manifest["input"])
    end = fill("Table {t}, ODD {o}, {m} similarity", t=code(table.digest[:6]), o=code(ranking.odd.hash[:6]), m=ranking.similarity["mode"])
    return fill("{parts}.", parts=join([*parts, end], ". "))


def left_out(c: Campaign) -> list[tuple[int, str]]:
    """How many slices were not taken and why; reasons that hold for none are left out."""
    s = c.skipped
    rows = [
        (s.scheduled, "Other campaigns of this ODD have them."),
        (s.quota, "One more would break a quota."),
        (s.reserved, "There was room, but it was kept for slices of a worse rank that fill an at-least quota."),
        (s.budget, "Better ranks used up the budget, or left too little of it for them."),
    ]
    return [r for r in rows if r[0]]


def beyond(c: Campaign) -> str:
    """Why a plan that took every ranked slice it could have holds no more, though more are missing; "" where that is not so."""
    s = c.skipped
    if c.considered == c.candidates or s.budget or s.quota or s.reserved:
        return ""
    rest = several(c.candidates - c.considered, "other missing slice")
    first = f"The budget would pay for more, but a plan is made from the best {c.considered:,} only"
    return f"{first}: {rest} can be planned once this plan is saved."


def opened(content: CampaignContent) -> Text:
    """How far a saved campaign is."""
    x = content.saved
    kept = x.slices - x.counts["dropped"]
    dropped = f"; {several(x.counts['dropped'], 'slice')} dropped" if x.counts["dropped"] else ""
    if not kept:
        return fill("{name}: every slice was dropped.", name=mark(x.name))
    return fill(
        "{name}: {e} of {n} evaluated, {a} more acquired, {p} still planned{d}.",
        name=mark(x.name),
        e=f"{x.counts['evaluated']:,}",
        n=several(kept, "slice"),
        a=f"{x.counts['acquired']:,}",
        p=f"{x.counts['planned']:,}",
        d=dropped,
    )


def opened_provenance(content: CampaignContent, table: SavedTable, odd: Odd) -> Text:
    """When and from what a saved campaign was made."""
    x, manifest = content.saved, content.manifest
    return fill(
        "Saved {at} UTC. {asked}. Made from the table {t} {d}, ODD {o}, {s} similarity; estimates are those of that time.",
        at=f"{x.created_at:%Y-%m-%d %H:%M}",
        asked=asked(Request.from_dict(manifest["campaign"]["request"]), manifest.get("filter") or {}, odd),
        t=strong(table.name),
        d=code(table.digest[:6]),
        o=code(x.odd_hash[:6]),
        s=manifest["similarity"]["mode"],
    )


def asked(r: Request, where: Mapping[str, Sequence[str]], odd: Odd) -> str:
    """A request in words."""
    each = f"{r.samples:,} samples a slice" if r.samples else f"{r.per_slice:,} samples a slice (interval of {r.width:g}, error {r.rate:g})"
    parts = [f"Asked for: at most {number(r.budget)} {_unit(r)}", each]
    parts += [factor_words(odd, f) for f in r.factors] + [named_quota(odd, q) for q in r.quotas]
    if where:
        parts.append(f"fixed {fixed(tuple((d, tuple(v)) for d, v in where.items()))}")
    return ", ".join(parts)
