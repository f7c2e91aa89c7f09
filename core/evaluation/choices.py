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
    r"(?:(?i:so|therefore|thus|hence|ok|okay|sure|certainly|finally|overall|in conclusion|in summary),?\s+)?"
    r"(?:(?i:based on|given|looking at|considering|according to|judging by|judging from)\s[^,]{1,200},\s+)?"
    r"(?:(?i:i (?:think|believe|would say)(?: that)?)\s+)?"
    r"(?:(?i:(?:the |my )?(?:final |correct |right |best |most (?:likely|appropriate|suitable|accurate) |selected |chosen )?"
    r"(?:answer|ans|choice|option|selection)(?:\s+(?:is|would be|should be|must be))?\s*[:=]?\s*(?:option|choice|letter|answer)?)"
    r"|(?i:i(?:['’]d| would|['’]ll| will| am going to|['’]m| am)?\s+(?:choose|chose|pick|picked|select|selected|go with|going with)"
    r"(?:\s+(?:the )?(?:option|choice|answer|letter))?))"
    r"\s*[\"'(\[{]*(?P<letter>[A-Z])(?![\w'’])[\"')\]}]*(?P<tail>.*)",
    re.S,
)
"""A sentence that names the choice, from its first word on: what stands before could take it back ("I doubt the answer is B")."""
_WHY = re.compile(r",?\s+(?:because|since|as|given that|due to)\s.*", re.I | re.S)
_SENTENCES = re.compile(r"[\n!]+|(?<!\b[A-Z])\.(?:\s+|$)|(?<=\b[A-Z])\.(?:\s+(?=[A-Z][a-z]+ )|\s*\n|\s*$)")
_STANDING = re.compile(
    r"(?<![\w'’])([A-Z])(?![\w'’])(?!\s+(?!is\b|was\b|are\b|or\b|and\b|would\b|because\b|since\b|but\b|seems\b|as\b)[a-z])"
)
_DOUBT = re.compile(
    r"\b(?:not|no|none|neither|nor|never|nothing|incorrect|wrong|false|mistaken?|mistakes|except|unless|cannot|instead|rather|however|or|"
    r"but|although|though|yet|if|otherwise|whether|suppose|assum\w+|wait|actually|hypothetical\w*|doubt\w*|disagree|random\w*|guess\w*|"
    r"correction|revis\w+|reconsider\w*|scratch|opposite|last|other|another|trap|ruled?|eliminat\w+|reject\w*|discard\w*|avoid)\b|n['’]t\b|\?|~~",
    re.I,
)
_ENGLISH = re.compile(r"\b(?:the|is|are|a|an|there|this|that|it)\b", re.I)
_OTHER_SCRIPT = re.compile(r"[^\W\d_a-zA-Z\u00c0-\u024f]")
_FIELDS = ("answer", "choice", "option", "letter", "final_answer")
_REASONS = ("reason", "reasons", "reasoning", "rationale", "explanation", "thought", "thoughts", "analysis", "confidence", "question")


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
    return _sentence(plain, valid, options)


def _sentence(plain: str, valid: str, options: Sequence[str]) -> Choice:
    """The letter that the first or the last sentence names, where nothing else in the answer speaks of another or leaves a doubt."""
    named: dict[str, str] = {}
    for sentences in (_SENTENCES.split(plain), plain.splitlines()):
        sentences = [s for s in map(str.strip, sentences) if s]
        for i in {0, len(sentences) - 1}:
            if (m := _CUE.fullmatch(sentences[i])) is None or m["letter"] not in valid:
                continue
            said, why = m["tail"].strip(" .:),;-–—(]}\"'"), _WHY.fullmatch(m["tail"])
            if not said or _same(said, options[valid.index(m["letter"])]) or why:
                named[m["letter"]] = " ".join([*sentences[:i], *sentences[i + 1 :], m["tail"] if why else ""]).strip()
    standing = {x for x in _STANDING.findall(plain) if x in valid}
    if len(named) != 1 or standing - set(named):
        return Choice("", "several letters" if len(standing | set(named)) > 1 else "no option is named clearly")
    ((letter, rest),) = named.items()
    if _DOUBT.search(plain) or _OTHER_SCRIPT.search(rest) or (rest and not _ENGLISH.search(rest)):
        return Choice("", "a letter is named, but what stands beside it leaves a doubt")
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
    """The answer inside a JSON object, "" if the text is none, or holds more than an answer and its reasons."""
    if not text.startswith("{"):
        return ""
    try:
        found = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(found, list) or any(not isinstance(k, str) or k.lower() not in (*_FIELDS, *_REASONS) for k, _ in found):
        return ""
    answers = {v.strip() if isinstance(v, str) else "" for k, v in found if k.lower() in _FIELDS}
    return answers.pop() if len(answers) == 1 else ""


def _same(a: str, b: str) -> bool:
    return bool(bare := _bare(a)) and bare == _bare(b)


def _bare(text: str) -> str:
    """A text without case, punctuation and doubled spaces; signs stay (of numbers, money, comparison, doubt, crossing out)."""
    text = re.sub(r"[\u2010-\u2015\u2212]", "-", unicodedata.normalize("NFKC", text).casefold())
    text = re.sub(r"(?<![0-9])[.,](?![0-9])|[.,](?![0-9])", " ", text)
    return " ".join("".join(c if c in ".,-%/?" or _kept(c) else " " for c in text).split())


def _kept(c: str) -> bool:
    kind = unicodedata.category(c)
    return kind[0] in "LNMS" and kind != "Sk"
