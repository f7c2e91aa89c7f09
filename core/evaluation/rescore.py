"""A kept result judged anew from the answers in it: no model is asked, so the same answers give the same result."""

from __future__ import annotations

from dataclasses import replace

from core.evaluation.choices import read_choice
from core.evaluation.items import Result
from core.evaluation.job import flaw_of
from core.evaluation.parse import read_verdict, without_reasoning


def rescored(result: Result) -> Result:
    """What the answers of model and judge come to by today's reading.

    What no reading of answers decided stays: a person's word, an imported score, a call that failed. Where an answer cannot be
    read, the reason stays as it was told.
    """
    if result.scored_by in ("person", "imported") or result.status in ("failed", "blocked"):
        return result
    unscored = replace(result, status="unscored", score=None, scored_by="", choice="")
    if flaw_of(result.item) or not without_reasoning(result.response).strip():
        return unscored
    if result.item.options:
        choice = read_choice(result.response, result.item.options)
        if choice.letter:
            right = float(choice.letter == result.item.answer)
            return replace(result, status="scored", score=right, scored_by="shortcut", choice=choice.letter, judgement="", why=choice.why)
    if result.judgement:
        verdict = read_verdict(result.judgement)
        if verdict.correct is not None:
            return replace(result, status="scored", score=float(verdict.correct), scored_by="judge", choice="", why=verdict.why)
    return unscored
