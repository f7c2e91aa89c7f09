"""Everyday English around the names of conditions, as data: assets/controller/vocabulary.yaml, checked when it is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from core.controller.cues import Span, compiled, find_all
from core.controller.words import Token, stem
from core.settings import ASSETS


class Negation(BaseModel):
    """Words around values that are not wanted; see the comments in the document."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    leave_out: tuple[str, ...]
    doubtful: tuple[str, ...]
    verbs_out: tuple[str, ...]
    weak: tuple[str, ...]
    any: tuple[str, ...]
    after: tuple[str, ...]
    after_said: tuple[str, ...]
    any_after: tuple[str, ...]
    between: frozenset[str]
    prepositions: frozenset[str]
    verbs: frozenset[str]
    wishes: frozenset[str]
    filler: frozenset[str]
    nouns: frozenset[str]
    data: frozenset[str]
    particle_verbs: frozenset[str]
    particles: frozenset[str]
    phrasal: frozenset[str]
    negative: frozenset[str]
    answers: frozenset[str]


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
        domain: Words of questions that are about driving and testing at all.
        things: Patterns of things that are called after a condition and are none ("school bus").
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
    domain: frozenset[str]
    things: list[str]

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
    phrases = [p for kind in (said.leave_out, said.doubtful, said.verbs_out, said.weak, said.any, said.any_after) for p in kind]
    after = [w for p in (*said.after, *said.after_said) for w in re.findall(r"[a-z']{2,}", re.sub(r"<\w+>|\\w", " ", p))]
    return frozenset([*(w for p in phrases for w in p.split()), *after])


@cache
def _patterns(kind: Literal["idioms", "things", "after", "after_said"]) -> tuple[re.Pattern[str], ...]:
    own = language().negation
    texts = {"idioms": language().idioms, "things": language().things, "after": own.after, "after_said": own.after_said}[kind]
    return compiled([rf"\b(?:{p})(?!\w)" for p in texts])


def idioms(toks: Sequence[Token]) -> list[tuple[int, int]]:
    """Ranges of tokens in which words of the vocabulary mean something else."""
    return [(s.start, s.end) for s in find_all(_patterns("idioms"), toks)]


def things(toks: Sequence[Token]) -> list[tuple[int, int]]:
    """Ranges of tokens that name things called after a condition."""
    return [(s.start, s.end) for s in find_all(_patterns("things"), toks)]


def said_after(toks: Sequence[Token]) -> list[tuple[Literal["after", "after_said"], Span]]:
    """Words that leave out what stands before them, in order; the first kind whatever else is said."""
    kinds: tuple[Literal["after", "after_said"], ...] = ("after", "after_said")
    return [(kind, s) for kind in kinds for s in find_all(_patterns(kind), toks)]


def asked_about(clause: Sequence[str]) -> bool:
    """Whether the words of a clause ask for something rather than say it."""
    return bool({"what", "which", "where", "who", "how", "why", "list", "show", "find", "name", "tell", "do", "does", "did"} & set(clause))
