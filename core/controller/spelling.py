"""Slips of the keyboard in words that questions are made of: "heavey trafic" is read as "heavy traffic", and that is said.

A word is put right only if it is no word that is known here or that ordinary English has near one (assets/controller/spelling.yaml),
begins with the same letter, and has one nearest word, at most one slip away (two for words of nine letters and more). A slip is a
letter too much, missing or wrong, or two that changed places (the optimal string alignment distance).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import yaml
from pydantic import BaseModel, ConfigDict

from core.controller.cues import cue_words
from core.controller.language import language, negation_words
from core.controller.words import Token, stem, tokens, verb_stem
from core.odd import built_in
from core.settings import ASSETS

_SHORTEST, _LONG = 5, 9
"""Letters of a word that is put right at all, and of one in which two slips are."""


class _Document(BaseModel):
    """assets/controller/spelling.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    usual: dict[str, str]
    ordinary: str


@dataclass(frozen=True)
class Slip:
    """A word that was read as another one.

    Attributes:
        at: Its token.
        read_as: The word that it was read as.
    """

    at: int
    read_as: str


def spelled(toks: Sequence[Token], keep: Collection[str] = ()) -> tuple[tuple[Token, ...], tuple[Slip, ...]]:
    """The words with slips of the keyboard put right.

    Args:
        toks: Words of a question.
        keep: Words that are right as they stand, such as those of an own ODD.

    Returns:
        As many words in the same places, and what was read as what.
    """
    out, slips = list(toks), []
    for i, t in enumerate(toks):
        right = corrected(t.text) if t.word and t.text not in keep else ""
        if right:
            out[i] = replace(t, text=right)
            slips.append(Slip(i, right))
    return tuple(out), tuple(slips)


@lru_cache(maxsize=4096)
def corrected(word: str) -> str:
    """The word that was probably meant, "" where there is none, more than one, or the word is right as it stands."""
    if usual := _document().usual.get(word):
        return usual
    if len(word) < _SHORTEST or not word.isascii() or not word.isalpha() or _known(word):
        return ""
    near = sorted((*d, w) for w in _by_first().get(word[0], ()) if (d := _slip(word, w)))
    best = [w for n, kind, w in near if (n, kind) == near[0][:2]]
    return best[0] if len({verb_stem(w) for w in best}) == 1 else ""


def near_misses(words: Iterable[str]) -> list[str]:
    """Those of some words that would be put right if ordinary English had none that look alike; for the list of those that do."""
    said = _document().usual
    return sorted(w for w in words if w not in said and corrected(w))


def _slip(word: str, right: str) -> tuple[int, int] | None:
    """How many slips lie between two words and of which kind, None if too many: letters in another order or doubled are likeliest."""
    most = 2 if min(len(word), len(right)) >= _LONG else 1
    if abs(len(word) - len(right)) > most or (n := distance(word, right)) > most:
        return None
    swapped = sorted(word) == sorted(right) or _undoubled(word) == _undoubled(right)
    return n, 0 if swapped else 1 if len(word) != len(right) else 2


def _undoubled(word: str) -> str:
    return "".join(c for i, c in enumerate(word) if i == 0 or word[i - 1] != c)


def distance(a: str, b: str) -> int:
    """Letters to add, take away or replace, and neighbours to swap, to make one word of another (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, y in enumerate(b, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, last[j - 2] + 1)
            row.append(best)
    return row[-1]


@cache
def _document() -> _Document:
    return _Document.model_validate(yaml.safe_load((ASSETS / "controller" / "spelling.yaml").read_text(encoding="utf-8")))


@cache
def _ordinary() -> frozenset[str]:
    return frozenset(_document().ordinary.split())


@cache
def _lexicon() -> frozenset[str]:
    """Every word of the patterns, of the phrases and of the built-in ODD."""
    said = language()
    texts = [p for values in said.phrases.values() for phrases in values.values() for p in phrases]
    for d in built_in().dimensions:
        texts += [d.name, d.label, *(p for v in d.values for p in (v.name, *v.synonyms))]
    words = {t.text for text in texts for t in tokens(text) if t.word}
    more = {f"{w}s" for w in words if len(w) >= _SHORTEST and w[-1] not in "sxyhz"}
    return frozenset(words | more | cue_words() | negation_words() | said.domain)


@cache
def _by_first() -> Mapping[str, tuple[str, ...]]:
    """Words that others are put right to, by their first letter."""
    out: dict[str, list[str]] = {}
    for w in sorted(_lexicon()):
        if len(w) >= _SHORTEST and w.isascii() and w.isalpha():
            out.setdefault(w[0], []).append(w)
    return {c: tuple(ws) for c, ws in out.items()}


@cache
def _stems() -> frozenset[str]:
    said = language()
    words = {*_lexicon(), *said.stop, *said.idle, *said.generic, *said.degrees}
    return frozenset(f(w) for w in words for f in (stem, verb_stem))


def _known(word: str) -> bool:
    """Whether a word is one of ours, in any form, or an ordinary one."""
    return word in _ordinary() or stem(word) in _stems() or verb_stem(word) in _stems()
