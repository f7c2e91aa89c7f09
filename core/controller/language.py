"""Everyday English around the names of conditions, as data: assets/controller/vocabulary.yaml, checked when it is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import yaml
from pydantic import BaseModel, ConfigDict

from core.controller.cues import compiled, find_all
from core.controller.words import Token, stem
from core.settings import ASSETS


class Negation(BaseModel):
    """Words around values that are not wanted; see the comments in the document."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    leave_out: tuple[str, ...]
    any: tuple[str, ...]
    after: tuple[str, ...]
    any_after: tuple[str, ...]
    between: frozenset[str]
    prepositions: frozenset[str]
    verbs: frozenset[str]
    nouns: frozenset[str]
    data: frozenset[str]


class Language(BaseModel):
    """The document.

    Attributes:
        phrases: Further phrases by dimension and value of the built-in ODD.
        idioms: Patterns of turns of phrase in which a word of the vocabulary means something else.
        generic: Words of names that say nothing by themselves.
        condition_verbs: Verbs that name a condition in any form.
        broad: Values that a question about the world outside the ODD adds where it names none.
        dimension_words: What else dimensions are called that say whether and how much there is of something.
        degrees: Words that in an own ODD count only beside the name of their dimension.
        stop: Words that are no condition by themselves.
        idle: Words that say nothing about conditions.
        negation: Words around values that are not wanted.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    phrases: dict[str, dict[str, list[str]]]
    idioms: list[str]
    generic: list[str]
    condition_verbs: list[str]
    broad: dict[str, list[str]]
    dimension_words: dict[str, list[str]]
    degrees: frozenset[str]
    stop: frozenset[str]
    idle: frozenset[str]
    negation: Negation

    @property
    def stop_stems(self) -> frozenset[str]:
        """Stems of the words that are no condition by themselves."""
        return frozenset(stem(w) for w in self.stop)


@cache
def language() -> Language:
    """The document that ships with the product."""
    return Language.model_validate(yaml.safe_load((ASSETS / "controller" / "vocabulary.yaml").read_text(encoding="utf-8")))


@cache
def idle_stems() -> frozenset[str]:
    """Stems of words that say nothing about conditions."""
    return frozenset(stem(w) for w in (*language().generic, *language().idle))


@cache
def negation_words() -> frozenset[str]:
    """Words of the phrases that leave values out or wave them through."""
    said = language().negation
    return frozenset(w for phrases in (said.leave_out, said.any, said.after, said.any_after) for p in phrases for w in p.split())


@cache
def _idioms() -> tuple[re.Pattern[str], ...]:
    return compiled([rf"\b(?:{p})(?!\w)" for p in language().idioms])


def idioms(toks: Sequence[Token]) -> list[tuple[int, int]]:
    """Ranges of tokens in which words of the vocabulary mean something else."""
    return [(s.start, s.end) for s in find_all(_idioms(), toks)]
