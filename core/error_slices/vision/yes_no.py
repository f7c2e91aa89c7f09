"""How far a model says yes: from the log-probabilities of its tokens (GH-ESD, equation of section 3.3), from samples, or in words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.error_slices.scores import Flag
from core.llm.logprobs import plain
from core.llm.messages import Token
from core.llm.parsing import json_object, without_reasoning

YES, NO = frozenset({"yes"}), frozenset({"no"})
LEAST_MASS = 0.5
"""Share of the probability that yes and no must have together; below it the model would rather say something else."""
FLOOR = -50.0
"""Log-probability that stands for nothing at all, so that the logit stays finite."""
_EDGE = re.compile(r"^[\W_]+|[\W_]+$")


@dataclass(frozen=True)
class YesNo:
    """How far a model says yes.

    Attributes:
        c: Matching score between 0 and 1, None where it cannot be told.
        logit: log(c / (1 - c)) without the rounding of c, None likewise.
        mass: Probability of yes and no together; None where it was not measured.
        flag: What is wrong with it, "" for nothing. With both, low mass is told rather than censoring.
    """

    c: float | None
    logit: float | None
    mass: float | None
    flag: Flag


NOTHING = YesNo(None, None, None, "no_yes_no_token")


def read_yes_no(top: Sequence[tuple[str, float]]) -> YesNo:
    """The matching score of one token's list of likeliest tokens, spellings of yes and of no summed up.

    exp(z_yes) / (exp(z_yes) + exp(z_no)) of the paper is py / (py + pn), for the constant of the softmax cancels. Where one of the two is
    not listed its probability is at most that of the least likely token listed, and at most what the list leaves over: the smaller of
    these bounds stands in, and the score is flagged as censored.

    Args:
        top: Tokens with log-probabilities; minus infinity counts as not listed.
    """
    listed: dict[str, float] = {}
    for token, logprob in top:  # some servers list the token that was chosen a second time
        if math.isfinite(logprob) and logprob > FLOOR:
            listed[token] = max(logprob, listed.get(token, -math.inf))
    sides = [[x for t, x in listed.items() if word_of(t) in words] for words in (YES, NO)]
    if not any(sides):
        return NOTHING
    bound = max(FLOOR, min(min(listed.values()), _left_over(list(listed.values()))))
    yes, no = (_log_sum(s) if s else bound for s in sides)
    mass = math.exp(yes) + math.exp(no)
    logit = yes - no
    flag: Flag = "low_mass" if mass < LEAST_MASS else "" if all(sides) else "censored"
    return YesNo(sigmoid(logit), logit, mass, flag)


def of_tokens(tokens: Sequence[Token]) -> YesNo:
    """The matching score of an answer: of its first token, which is the word that was asked for."""
    return read_yes_no(tokens[0].top) if tokens else NOTHING


def of_samples(answers: Sequence[str]) -> YesNo:
    """The matching score of several sampled answers: (yes + 0.5) / (k + 1) over the k that are yes or no. Uncalibrated."""
    said = [w for a in answers if (w := word_said(a)) is not None]
    if not said:
        return NOTHING
    c = (sum(w == "yes" for w in said) + 0.5) / (len(said) + 1)
    return YesNo(c, math.log(c / (1 - c)), None, "")


def of_words(answer: str) -> YesNo:
    """The matching score of {"answer": "yes" or "no", "confidence": 50 to 100}. Uncalibrated."""
    found = json_object(answer) or {}
    keys = {str(k).strip().casefold(): v for k, v in found.items()}
    said = keys.get("answer")
    word = ("yes" if said else "no") if isinstance(said, bool) else word_said(str(said))
    sure = _percent(keys.get("confidence"))
    if word is None or sure is None:
        return NOTHING
    held = min(max(sure, 0.5), 0.995)  # half a step below certainty, so that the logit stays finite; no yes counts as a no
    c = held if word == "yes" else 1 - held
    return YesNo(c, math.log(c / (1 - c)), None, "")


def mean_of(scores: Sequence[YesNo]) -> YesNo:
    """The score of both orders of the question: the mean of the logits, the worst of the flags."""
    told = [s for s in scores if s.logit is not None]
    if len(told) < len(scores) or not told:
        return next((s for s in scores if s.logit is None), NOTHING)
    logit = sum(s.logit for s in told if s.logit is not None) / len(told)
    masses = [s.mass for s in told if s.mass is not None]
    order: tuple[Flag, ...] = ("low_mass", "censored", "")
    flag = min((s.flag for s in told), key=order.index)
    return YesNo(sigmoid(logit), logit, min(masses) if masses else None, flag)


def word_of(token: str) -> str:
    """A token without marks, blanks, signs and case."""
    return _EDGE.sub("", plain(token)).casefold()


def word_said(answer: str) -> str | None:
    """The word yes or no if an answer begins with it, or is JSON that says so; None for anything else."""
    text, _ = without_reasoning(answer)
    if text.lstrip().startswith(("{", "`")) and (found := json_object(text)):
        text = str(next(iter(found.values()), ""))
    words = re.findall(r"[^\W_]+", text.casefold())
    return words[0] if words and words[0] in YES | NO else None


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _log_sum(values: Sequence[float]) -> float:
    most = max(values)
    return most + math.log(sum(math.exp(x - most) for x in values))


def _left_over(values: Sequence[float]) -> float:
    """Logarithm of the probability that a list leaves over."""
    rest = 1 - math.exp(min(_log_sum(values), 0.0))
    return math.log(rest) if rest > 1e-9 else min(values)


def _percent(value: object) -> float | None:
    """A confidence between 0 and 1 out of 50 to 100; a share such as 0.8 is taken as one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(str(value).strip().rstrip("% "))
    except ValueError:
        return None
    share = number if number <= 1 else number / 100
    return share if 0 <= share <= 1 else None
