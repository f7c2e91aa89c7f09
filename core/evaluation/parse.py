"""What a judge's answer says. What says nothing clear stays without a verdict: it is asked again once, and then counted as unscored.

A wrong "correct" would hide a failure, so whatever contradicts itself, hedges, or only repeats the right answer is no verdict.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 20_000
"""Characters that are read, from the end: a verdict stands last."""

_TAG = re.compile(r"<\s{0,3}(/?)\s{0,3}(?:think|thinking|thought|reasoning|reflection)\b[^<>]{0,60}>", re.I)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.M)

_ECHO = re.compile(
    r"\(?\b[10] (?:for|if|means|=) (?:in)?correct\b[\s\w,;]{0,12}?\b[10] (?:for|if|means|=) (?:in)?correct\b\)?"
    r"|\b(?:in)?correct[\"']?(?: ?[/|,] ?| (?:or|and) )[\"']?(?:in)?correct\b"
)
"""Instructions that are repeated, such as "CORRECT or INCORRECT"."""
_KEYED = re.compile(
    r"[\"']?\b(verdict|judge?ment|is_correct|correct)\b[\"']?\s*([:=]| is )\s*[\"'(]?\s*"
    r"(not correct|[a-z0-9.]+)(?![\w.])(?!\s*(?:/|out of)\s*[0-9])"
)
_KEYED_WORDS = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "correct"), True),
    **dict.fromkeys(("0", "0.0", "false", "no", "incorrect", "not correct", "wrong"), False),
}
_ALONE = {
    **dict.fromkeys(("1", "yes", "true", "right", "correct"), True),
    **dict.fromkeys(("0", "no", "false", "wrong", "incorrect", "not correct"), False),
}
_WORD = re.compile(r"(?<![\w-])(in-?)?correct(?![\w-])")
_NOT = re.compile(r"(?:\b(?:not|never|neither|nor|hardly|cannot|isnt|wasnt|aint|without|far from)|n't)(?:\s+[\w']+){0,3}\s*$")
_HEDGE = re.compile(
    r"\b(?:partially|partly|partial|mostly|almost|nearly|half|somewhat|largely|possibly|perhaps|maybe|probably|semi|more or less|"
    r"neither correct nor)\s*$"
)
_SUPPOSED = re.compile(r"\b(?:if|whether|unless|would|could|might|may|should|can|must|cannot|to|either|when|for)(?:\s+[\w']+){0,6}\s*$")
_CONSIDERED = re.compile(
    r"\b(?:can|should|may|must|could|would|is to)(?: \w+)? be "
    r"(?:considered|deemed|judged|marked|accepted|regarded|seen|taken|counted|treated)(?: as)?\s*$"
)
"""A roundabout way to say that something is so, unless a condition follows."""
_CONDITION = re.compile(r"[^.\n]{0,60}\b(?:if|unless|only|provided|were)\b")
_VALUE = re.compile(r"[\"']?\s*(?:\?|[:=]\s*[\"'(]?(?:[a-z]|true|false|yes|no|null|[0-9.]+)\b)")
_OF_ANSWER = re.compile(r"\s+(?:answers?|options?|choices?|responses?|letters?|labels?|ones?|values?|solutions?|results?|is)\b")
_RATING_CUE = re.compile(r"\b(?:rat(?:e|ed|ing)|scor(?:e|ed|ing)|grade[d]?|points?|marks?)\b")
_SCALED = re.compile(r"(?<![\w./])([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(?:/|out of)\s*([0-9]{1,6})(?![\w./]*[0-9])")
_SENTENCE = re.compile(r"[\n.!?;]+")


@dataclass(frozen=True)
class Verdict:
    """What was read from a judge's answer.

    Attributes:
        correct: True, False, or None where nothing clear was said.
        why: How it was read, or why it was not.
    """

    correct: bool | None
    why: str


def without_reasoning(text: str) -> str:
    """A text without blocks of reasoning; one that was never closed takes the rest of the text with it."""
    kept, start, inside = list[str](), 0, False
    for tag in _TAG.finditer(text):
        if not tag[1]:
            if not inside:
                kept.append(text[start : tag.start()])
            inside = True
            continue
        if not inside:  # some templates keep the opening tag in the prompt
            kept.clear()
        start, inside = tag.end(), False
    if not inside:
        kept.append(text[start:])
    return " ".join(x for x in kept if x)


def final_answer(text: str) -> str:
    """A text without reasoning, code fences and marks of Markdown."""
    text = _FENCE.sub(" ", without_reasoning(text[-LONGEST:]))
    return re.sub(r"[*`#>]+|(?<!\w)_+|_+(?!\w)", "", text).strip()


def read_verdict(text: str) -> Verdict:
    """What a judge's answer says; never raises.

    Read in this order: a JSON field or a line that names the verdict; the last of the words CORRECT and INCORRECT that says
    something by itself; yes or no, 1 or 0 alone; a rating at an end of a scale that it names. A rating without its scale, or
    between its ends, is no verdict: nobody said where right begins.
    """
    plain = _ECHO.sub(" ", unicodedata.normalize("NFKC", final_answer(text)).replace("’", "'").casefold())
    plain = re.sub(r"[ \t]+", " ", plain).strip()
    if not plain:
        return Verdict(None, "the answer is empty")
    alone = plain.strip(" \n\t.!\"'()[]{}:,;")
    if alone in _ALONE:
        return Verdict(_ALONE[alone], f'the answer is "{alone}"')
    said = list(_said(plain))
    if None in said:
        return Verdict(None, "the answer hedges")
    words = said[-1] if said else None
    keyed = {_KEYED_WORDS[m[3]] for m in _KEYED.finditer(plain) if m[3] in _KEYED_WORDS and (m[1] != "correct" or m[2] != " is ")}
    if len(keyed) > 1 or (keyed and words is not None and words not in keyed):
        return Verdict(None, "the answer contradicts itself")
    if keyed:
        return Verdict(keyed.pop(), "the field of the verdict")
    if words is not None:
        return Verdict(words, f'the word "{"correct" if words else "incorrect"}"')
    return _short(plain)


def _said(plain: str) -> Iterator[bool | None]:
    """What each "correct" and "incorrect" says of the answer, in order; None where one hedges. Those that say nothing are left out."""
    for m in _WORD.finditer(plain):
        before = re.split(r"[\n.!?;:,]", plain[max(0, m.start() - 120) : m.start()])[-1]
        after = plain[m.end() : m.end() + 80]
        negated = _NOT.search(before) is not None
        if _HEDGE.search(before) or (m[1] and negated):
            yield None
        elif m[1] or negated:
            yield False
        elif _OF_ANSWER.match(after) or _VALUE.match(after):
            continue
        elif not _SUPPOSED.search(before) or (_CONSIDERED.search(before) and not _CONDITION.match(after)):
            yield True


def _short(plain: str) -> Verdict:
    """What an answer says that has neither word: yes or no as its last sentence, or a rating."""
    sentences = [s.strip(" \t\"'()[]{}:,") for s in _SENTENCE.split(plain)]
    last = next((s for s in reversed(sentences) if s), "")
    if last in ("yes", "no", "true", "false"):
        return Verdict(_ALONE[last], f'the last word is "{last}"')
    scaled = [(float(a), float(b)) for a, b in _SCALED.findall(plain) if float(b) > 0]
    if scaled and (_RATING_CUE.search(plain) or _SCALED.fullmatch(plain.rstrip("."))):
        ends = {x / most if x in (0, most) else None for x, most in scaled}
        if ends in ({1.0}, {0.0}):
            return Verdict(ends == {1.0}, "a rating at the end of its scale")
        return Verdict(None, "a rating between the ends of its scale is no verdict: nobody said where right begins")
    if _RATING_CUE.search(plain) and re.search(r"[0-9]", plain):
        return Verdict(None, "a rating without its scale is no verdict")
    return Verdict(None, "neither word of a verdict is in the answer")
