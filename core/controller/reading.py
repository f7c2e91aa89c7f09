"""What a controller made of a question, word by word, for the person who asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.controller.plan import Plan

How = Literal["exact", "synonym", "proxy", "parent", "extension", "meaning", "model", "unsupported"]
"""exact, synonym: in the vocabulary; proxy, parent: read as something near it; extension: lies outside the ODD; meaning: by the
encoder, where words matched nothing; model: chosen by a language model, for no words of the question that the vocabulary has;
unsupported: not in the vocabulary."""


@dataclass(frozen=True)
class Reading:
    """A phrase of the question and what it was read as.

    Attributes:
        phrase: As it stands in the question; "" for what a language model added without naming words.
        how: In which way.
        dimension, value: "" where it is unsupported.
        note: What to know about it, "" if nothing.
    """

    phrase: str
    how: How
    dimension: str = ""
    value: str = ""
    note: str = ""


@dataclass(frozen=True)
class Suggestion:
    """A value that may have been meant: shown as "did you mean", never applied by itself.

    Attributes:
        phrase: Of the question.
        dimension, value: What may have been meant.
        similarity: Cosine of phrase and value, in [-1, 1].
    """

    phrase: str
    dimension: str
    value: str
    similarity: float


@dataclass(frozen=True)
class Planned:
    """What a controller makes of a question.

    Attributes:
        plan: The plan; it has no steps where `clarify` asks back.
        readings: What the phrases were read as.
        suggestions: What else may have been meant.
        clarify: A question back to the user, "" if none.
        calls: Raw calls to an LLM with verdicts of validation, JSON-ready, for the record.
        prose: Words of an LLM, "" if none; always shown as such.
    """

    plan: Plan
    readings: tuple[Reading, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    clarify: str = ""
    calls: tuple[dict[str, object], ...] = ()
    prose: str = ""


def readings_of(plan: Plan, known: Sequence[Reading]) -> tuple[Reading, ...]:
    """What a language model's plan filters by and adds, all of it.

    Args:
        plan: The plan.
        known: What the words of the question name, by rules; what the plan does not use is left out, unsupported words are not.

    Returns:
        Each value of the plan with the words that name it, or as the model's own choice.
    """
    chosen = {(d, v): None for s in plan.steps for k in ("where", "extend") for d, vs in getattr(s, k, {}).items() for v in vs}
    read = [r for r in known if r.how == "unsupported" or (r.dimension, r.value) in chosen]
    named = {(r.dimension, r.value) for r in read}
    return (*read, *(Reading("", "model", d, v) for d, v in chosen if (d, v) not in named))
