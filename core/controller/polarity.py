"""Which of the values that a question names are wanted, which are to be left out, and which do not matter ("not at night")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Literal

from core.controller.language import language
from core.controller.matching import Hit
from core.controller.words import Token

Polarity = Literal["wanted", "left_out", "any", "combination"]
"""combination: several values together are to be left out, which a filter cannot do."""

Phrase = tuple[str, ...]


@cache
def _phrases(kind: Literal["leave_out", "any", "after", "any_after"]) -> Mapping[str, tuple[Phrase, ...]]:
    """Phrases of a kind by their first word, longer ones first."""
    out: dict[str, tuple[Phrase, ...]] = {}
    for phrase in sorted((tuple(p.split()) for p in getattr(language().negation, kind)), key=lambda p: -len(p)):
        out[phrase[0]] = (*out.get(phrase[0], ()), phrase)
    return out


def polarities(toks: Sequence[Token], hits: Sequence[Hit]) -> list[Polarity]:
    """The polarity of each value that a question names.

    Negation reaches over a list ("except tunnels, bridges and rural roads") up to the next preposition, verb or sign. Words that say
    that something was not *tested* leave nothing out ("no night data", "not yet covered at night").
    """
    out: list[Polarity] = ["wanted"] * len(hits)
    at = {h.start: i for i, h in enumerate(hits)}
    inside = {j for h in hits for j in range(h.start, h.end)}
    i = 0
    while i < len(toks):
        if i in inside:
            i += 1
            continue
        anyway, leave = _starts(toks, i, _phrases("any")), _starts(toks, i, _phrases("leave_out"))
        if not anyway and not leave:
            i += 1
            continue
        start = i + max(anyway, leave)
        reached, end = _reach(toks, hits, at, start)
        if reached and anyway >= leave:
            but_also = any(t.text == "but" for t in toks[end : end + 2]) and toks[i].text == "not"
            for h in reached:
                out[h] = "wanted" if but_also else "any"
        elif reached and not _says_untested(toks, i, end):
            dims = [hits[h].dimension for h in reached]
            together = len(reached) > 1 and len(set(dims)) > 1 and not _listed(toks, hits, reached)
            for h in reached:
                out[h] = "combination" if together else "left_out"
        i = max(end if reached else start, i + 1)
    for i, hit in enumerate(hits):
        said = _said_after(toks, hit) if out[i] == "wanted" else None
        if said:
            for j in _list_before(toks, hits, i):
                out[j] = said if out[j] == "wanted" else out[j]
    return out


def _said_after(toks: Sequence[Token], hit: Hit) -> Polarity | None:
    """What words after a value make of it: "tunnels excluded", "leave tunnels out", "day or night does not matter"."""
    if _starts(toks, hit.end, _phrases("any_after")):
        return "any"
    aside_from = _word(toks, hit.end) == "aside" and _word(toks, hit.end + 1) == "from"
    left = _word(toks, hit.start - 1) in ("leave", "leaving", "keep", "keeping") and _word(toks, hit.end) in ("out", "aside", "away")
    return "left_out" if left or (_starts(toks, hit.end, _phrases("after")) and not aside_from) else None


def _list_before(toks: Sequence[Token], hits: Sequence[Hit], i: int) -> list[int]:
    """A value and those of its dimension that stand before it in a list."""
    out = [i]
    while out[-1] > 0 and hits[out[-1] - 1].dimension == hits[i].dimension and _listed(toks, hits, [out[-1] - 1, out[-1]]):
        out.append(out[-1] - 1)
    return out


def _word(toks: Sequence[Token], i: int) -> str:
    return toks[i].text if 0 <= i < len(toks) else ""


def _starts(toks: Sequence[Token], i: int, phrases: Mapping[str, tuple[Phrase, ...]]) -> int:
    """Length of the longest phrase that starts at a token, 0 if none does."""
    known = phrases.get(_word(toks, i), ())
    return next((len(p) for p in known if tuple(t.text for t in toks[i : i + len(p)]) == p), 0)


def _reach(toks: Sequence[Token], hits: Sequence[Hit], at: dict[int, int], start: int) -> tuple[list[int], int]:
    """The values that a negation before a token reaches, and the end of the last one."""
    said = language().negation
    reached: list[int] = []
    link, j, end = "", start, start
    while j < len(toks):
        word = toks[j].text
        if j in at:
            h = at[j]
            if reached and not link and word in said.prepositions:  # "other than rain at night"
                break
            if reached and link == "," and hits[h].dimension != hits[reached[-1]].dimension:
                break
            reached.append(h)
            j = end = hits[h].end
            link = ""
        elif word in ("and", "or", "nor", "&", "/", ",") and reached:
            link = "," if word == "," or link == "," else "and" if word in ("and", "&") else "or"
            j += 1
        elif word in said.between:
            if reached and word in said.prepositions and link != "or":
                break
            j += 1
        elif (not reached and word in said.verbs) or (reached and not link and word in said.nouns):
            j += 1
        else:
            break
    return reached, end


def _listed(toks: Sequence[Token], hits: Sequence[Hit], chain: Sequence[int]) -> bool:
    """Whether values stand in a list, with "and", "or" or a comma between them, and not side by side as in "foggy tunnels"."""
    return all(any(t.text in ("and", "or", "nor", "&", "/", ",") for t in toks[hits[a].end : hits[b].start]) for a, b in pairwise(chain))


def _says_untested(toks: Sequence[Token], i: int, end: int) -> bool:
    """Whether a negation speaks of a lack of data or tests: "no night data"."""
    following = {_word(toks, end), _word(toks, end + 1)}
    return toks[i].text in ("no", "without", "not", "don't", "doesn't", "isn't", "aren't") and bool(language().negation.data & following)
