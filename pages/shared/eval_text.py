"""Sentences of the page Acquire and evaluate, each computed from the evaluation or the footage that it is about."""

from __future__ import annotations

from collections.abc import Sequence

from core.evaluation.summary import Rate, rate
from core.llm import Price, Usage
from core.llm.pace import cost_of
from core.operators import Evaluated, Moved
from pages.shared.markup import Text, code, count, fill, join, mark

WORDS = {"unscored": "could not be judged", "failed": "got no answer", "blocked": "were blocked by the server"}


def overall(e: Evaluated) -> Rate:
    """Mean score over everything that was scored."""
    return rate([float(r.score) for r in e.results if r.status == "scored" and r.score is not None])


def headline(e: Evaluated) -> Text:
    """How often the model was right, and what could not be counted."""
    r = overall(e)
    if r.mean is None:
        return fill("No answer of {m} was scored yet.", m=e.model)
    right = mark(f"{r.mean:.0%}")
    left = [f"{e.counts[k]:,} {words}" for k, words in WORDS.items() if e.counts.get(k)]
    end = fill(" {l}.", l=join([capital(left[0]), *left[1:]], ", ")) if left else ""
    return fill("{m} was right in {p} of {n} scored samples.{end}", m=e.model, p=right, n=f"{r.n:,}", end=end)


def capital(text: str) -> str:
    """A text with a capital at its start."""
    return text[:1].upper() + text[1:]


def provenance(e: Evaluated) -> Text:
    """Interval, who judged, what it rests on and what is left out."""
    r, c = overall(e), e.counts
    parts: list[Text] = [f"n = {r.n:,}, 95 % interval {r.low:.0%} to {r.high:.0%}"] if r.mean is not None else []
    by = {"shortcut": "read from the choice", "judge": "by the judge", "person": "by a person", "imported": "imported"}
    parts.append("Scored: " + (", ".join(f"{c[f'by_{k}']:,} {w}" for k, w in by.items() if c.get(f"by_{k}")) or "none"))
    valid = sum(x.item.verdict == "valid" for x in e.results)
    parts.append(f"{valid:,} of {len(e.results):,} samples match their slice in every dimension; only these count as evidence")
    parts += [f"{c['duplicates']:,} samples came twice and were asked once"] if c.get("duplicates") else []
    parts.append(fill("Run {id}", id=code(e.run_id)))
    return fill("{p}.", p=join(parts, ". "))


def spent(e: Evaluated, vlm: Price | None, judge: Price | None) -> str:
    """Tokens of a run, and what they cost at most at the prices of today; "" before the first answer."""
    used = [(r.usage, bool(r.judgement)) for r in e.results if r.usage]
    if not used:
        return ""
    tokens = Usage(sum(u.get("prompt", 0) for u, _ in used), sum(u.get("completion", 0) for u, _ in used))
    about = "about " if any(u.get("estimated") for u, _ in used) else ""
    told = f"{about}{tokens.prompt:,} tokens in, {tokens.completion:,} out"
    prices = [p for p in (vlm, judge if any(j for _, j in used) else vlm) if p is not None]
    if len(prices) < 2 or len({p.currency for p in prices}) > 1:
        return f"{told}, no price named"
    dearest = Price(max(p.input for p in prices), max(p.output for p in prices), currency=prices[0].currency)
    return f"{told}, at most {cost_of(tokens, dearest) or 0:,.2f} {dearest.currency}".rstrip() + " at your prices"


def rate_in_words(r: Rate) -> str:
    """A mean with interval and n."""
    return f"{r.mean:.0%} [{r.low:.0%}, {r.high:.0%}], n = {r.n:,}" if r.mean is not None else "–"


def moved_headline(m: Moved) -> Text:
    """What a run changed among the gaps."""
    samples = count(m.samples, "sample")
    if not m.filled and not m.entered and not m.left and not m.changed:
        return fill("{n} counted, and no gap moved.", n=samples)
    filled = mark(count(len(m.filled), "gap was", "gaps were") + " filled")
    end = f"{count(len(m.entered), 'slice is', 'slices are')} new in the top {m.top}" if m.entered else f"none is new in the top {m.top}"
    return fill("{f} by {n}; {e}.", f=filled, n=samples, e=end)


def moved_provenance(m: Moved) -> Text:
    """What stands behind it."""
    gaps = f"{m.missing_before:,} gaps before, {m.missing_after:,} after" if None not in (m.missing_before, m.missing_after) else ""
    parts: Sequence[Text] = [
        *([gaps] if gaps else []),
        f"{len(m.changed):,} of the top {m.top} changed their rank, {m.unchanged:,} kept it, {len(m.left):,} fell out of the list untested",
        fill("Table {a} became {b}", a=code(m.digest_before[:6]), b=code(m.digest_after[:6])),
    ]
    return fill("{p}.", p=join(parts, ". "))
