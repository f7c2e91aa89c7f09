"""Which option a model chose, read from its answer without asking a judge; what leaves a doubt goes to the judge."""

from __future__ import annotations

import json
import re
import string
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from core.evaluation.parse import final_answer

LETTERS = string.ascii_uppercase

_SOLE = re.compile(r"[\s\"'(\[{]*([A-Za-z])[\s\"')\]}.:,;!]*")
_LED = re.compile(r"[\s\"'(\[{]*([A-Z])\s*[)\]}.:,\-–—]+\s*(\S.*)", re.S)
_CUE = re.compile(
    r"\b(?:answer|choice|option|select(?:ion|ed)?|choose|chose|pick(?:ed)?|go with)\b"
    r"(?:\s+(?:is|would be|should be|was|must be|option|choice|letter|answer|here|therefore|thus))*\s*[:=]?\s*[\"'(\[{]*([A-Z])(?![\w'’])",
    re.I,
)
_STANDING = re.compile(
    r"(?<![\w'’])([A-Z])(?![\w'’])(?!\s+(?!is\b|was\b|are\b|or\b|and\b|would\b|because\b|since\b|but\b|seems\b|as\b)[a-z])"
)
_NEGATION = re.compile(r"\b(?:not|no|none|neither|nor|never|incorrect|wrong|except|unless|cannot|instead|however|or)\b|n['’]t\b", re.I)


@dataclass(frozen=True)
class Choice:
    """What was read from the answer to a multiple-choice question.

    Attributes:
        letter: The option, "" where it is not clear.
        why: How it was read, or why it was not.
    """

    letter: str
    why: str


def read_choice(text: str, options: Sequence[str]) -> Choice:
    """The option that an answer names; never raises.

    Taken: a letter alone ("B", "(B)", "B."), a letter that leads its own option's text, a letter behind "answer:" or "the answer is",
    JSON with such a field, and an option's text alone. If any other letter stands in the answer, or a negation, the judge decides.
    """
    valid = LETTERS[: len(options)]
    plain = unicodedata.normalize("NFKC", final_answer(text)).strip()
    plain = _field(plain) or plain
    if not plain:
        return Choice("", "the answer is empty")
    if (m := _SOLE.fullmatch(plain)) is not None:
        letter = m[1].upper()
        return Choice(letter, "a letter alone") if letter in valid else Choice("", f'there is no option "{letter}"')
    by_text = [letter for letter, option in zip(valid, options, strict=False) if _same(plain, option)]
    if by_text:
        return Choice(by_text[0], "the text of the option") if len(by_text) == 1 else Choice("", "two options have this text")
    if (m := _LED.fullmatch(plain)) is not None and m[1] in valid and _same(m[2], options[valid.index(m[1])]):
        return Choice(m[1], "a letter and its option")
    named = {x.upper() for x in _CUE.findall(plain) if x.isupper()}
    standing = {x for x in _STANDING.findall(plain) if x in valid}
    if len(named) == 1 and named <= set(valid) and standing <= named and not _NEGATION.search(plain):
        return _unless_other_text(named.pop(), plain, options)
    return Choice("", "several letters" if len(named | standing) > 1 else "no option is named clearly")


def _unless_other_text(letter: str, plain: str, options: Sequence[str]) -> Choice:
    """The letter, unless the answer spells out another option beside it."""
    low = f" {_bare(plain)} "
    spelled = {x for x, option in zip(LETTERS, options, strict=False) if (bare := _bare(option)) and len(bare) > 2 and f" {bare} " in low}
    if spelled - {letter} and letter not in spelled:
        return Choice("", "the letter of one option and the text of another")
    return Choice(letter, "a letter behind the word for it")


def letter_of(answer: str, options: Sequence[str]) -> str:
    """The letter of a right answer that is given as letter, or as the text of an option; "" if it is neither.

    A letter that is itself the text of one option, as in A. "B" and B. "A", is read as a letter.
    """
    valid = LETTERS[: len(options)]
    m = _SOLE.fullmatch(answer)
    if m is not None and m[1].upper() in valid:
        return m[1].upper()
    found = [letter for letter, option in zip(valid, options, strict=False) if _same(answer, option)]
    if len(found) == 1:
        return found[0]
    led = _LED.fullmatch(answer)
    return led[1] if led is not None and led[1] in valid and _same(led[2], options[valid.index(led[1])]) else ""


def _field(text: str) -> str:
    """The answer inside a JSON object, "" if the text is none."""
    if not text.startswith("{"):
        return ""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    for key in ("answer", "choice", "option", "letter", "final_answer"):
        if isinstance(found, dict) and isinstance(found.get(key), str):
            return str(found[key]).strip()
    return ""


def _same(a: str, b: str) -> bool:
    return bool(bare := _bare(a)) and bare == _bare(b)


def _bare(text: str) -> str:
    """A text without case, punctuation and doubled spaces; signs that carry meaning in numbers stay."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = re.sub(r"(?<![0-9])[.,](?![0-9])|[.,](?![0-9])|[^\w\s.,+\-%°<>=/]|_", " ", text)
    return " ".join(text.split())
