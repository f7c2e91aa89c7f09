"""What a judge's answer says. What says nothing clear stays without a verdict: it is asked again once, and then counted as unscored.

A wrong "correct" would hide a failure, so whatever contradicts itself, hedges, or only repeats the right answer is no verdict.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

LONGEST = 20_000
"""Characters that are read, from the end: a verdict stands last."""

_TAG = re.compile(
    r"<\s{0,3}(/?)\s{0,3}(?:[a-z]{1,10}:)?(?:think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad)\b[^<>]{0,60}>"
    r"|\[(/?)think(?:ing)?\]|◁(/?)think▷|<\|(?:begin|(end))_of_thought\|>",
    re.I,
)
_FINAL_CHANNEL = re.compile(r"<\|channel\|>\s*final\b[^<>]{0,60}<\|message\|>", re.I)
_CHANNEL = re.compile(r"<\|channel\|>\s*(?:analysis|commentary)\b", re.I)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.M)
_MARKS = re.compile(r"[*`#]+|(?<!\w)_+|_+(?!\w)|^[ \t]*(?:>[ \t]?)+(?![\s0-9=.,+-])", re.M)
"""Markdown; a ">" before a number is no quotation."""

_ECHO = re.compile(
    r"\(?\b[10] (?:for|if|means|=) (?:in)?correct\b[\s\w,;]{0,12}?\b[10] (?:for|if|means|=) (?:in)?correct\b\)?"
    r"|\b(?:in)?correct[\"']?(?: ?[/|,] ?| (?:or|and) )[\"']?(?:in)?correct\b"
)
"""Instructions that are repeated, such as "CORRECT or INCORRECT"."""
_STRUCK = re.compile(r"~~[^~\n]{0,200}~~")
_KEYED = re.compile(
    r"[\"']?\b(verdict|judge?ment|is_correct|correct)\b[\"']?\s*([:=]| is )\s*[\"'(]?\s*"
    r"(not correct|[a-z0-9.]+)(?![\w.])(?!\s*(?:/|out of|or\b|\|)\s*[0-9])"
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
_ANSWER = (
    r"(?:it|this|that|(?:the|this|that) (?:(?:predicted|given|provided|final|candidate|chosen|selected|proposed|model) "
    r"|(?:model|student)'s )*"
    r"(?:answer|response|prediction|choice|option|reply)(?: to be checked)?)"
)
_STATEMENT = re.compile(
    r"(?:[✅✔☑]\ufe0f? ?)?"
    r"(?:(?:(?:my |the |final |overall )*(?:verdict|judge?ment|conclusion|answer|result|assessment|evaluation|decision)(?: is)? ?[:,-]"
    r"|wait,|no,|yes,|ok(?:ay)?,|so,?|thus,?|therefore,?|hence,?|overall,|finally,|but|and|in conclusion,|in summary,) ?){0,3}"
    rf"(?:{_ANSWER} (?P<verb>is|was|isn't|wasn't|(?:can|should|may|must|is to|cannot|can not|should not) be "
    r"(?:called|considered|deemed|judged|marked|accepted|regarded|seen|taken|counted|treated)(?: as)?"
    r"|is (?:considered|deemed|judged|marked)(?: as)?) "
    rf"|i (?:would |will |must )?(?:mark|judge|consider|find|rate|call|deem) {_ANSWER} (?:as |to be )?)?"
    r"(?:(?:indeed|therefore|thus|hence|clearly|actually|still|also|fully|completely|entirely|exactly|semantically) ){0,2}"
    r"(?P<not>not (?:quite |really |fully |entirely |completely |at all )?)?"
    r"(?:(?(verb)(?:the|an?) (?P<named>(?:in-?)?correct) (?:answer|option|choice|one|response)|(?!))"
    r"|(?P<value>(?:in-?)?correct)[\"']?"
    r"(?: ?,.*| ?(?:(?(verb):|(?!))|\(|- ) ?(?(verb)|(?:[\w'-]+ ){2}).*| (?:because|since|as (?!a\b|an\b)|given|according) ?.*)?)"
)
"""A clause that says "correct" or "incorrect" of the answer, and nothing else that could take it back."""
_JOINT = re.compile(r", (?=(?:but|so|and|thus|therefore|hence|the (?:\w+ )?(?:answer|response|prediction)|it|this)\b)")
_CONDITION = re.compile(r"\b(?:if|unless|whether|were|provided|assuming|suppose|otherwise|else)\b")
_HEDGE = re.compile(
    r"\b(?:partially|partly|partial|mostly|almost|nearly|half|somewhat|largely|possibly|perhaps|maybe|probably|semi|more or less|barely|"
    r"technically)(?: in-?)? ?correct\b|\bcorrect,? (?:only|in part|partly|partially|to some|to a)\b"
)
_THE = re.compile(r"\b(?:the|a|an|any|its|their|his|her|your|my|no|one|most|only) $")
_NOUN = re.compile(r" (?!because\b|since\b|as\b|given\b|according\b|and\b|but\b|or\b|if\b|only\b|when\b|in\b|here\b)[a-z]|[\"']? ?[:=]")
_AGAINST = re.compile(
    r"\b(?:wrong|mistaken?|mistakes|erroneous|contradict\w*|disagrees?|mismatch\w*|inject\w*|manipulat\w*|attempt\w*|partial\w*|incomplete|"
    r"differs? from|different from|instead of|however|fails?|(?:not|n't|never) (?:\w+ )?(?:match|agree|correspond|fit|equal|equivalent))\b"
)
"""What stands beside "correct" only where it is taken back."""
_RATING_CUE = re.compile(r"\b(?:rat(?:e|ed|ing)|scor(?:e|ed|ing)|grade[d]?|points?|marks?)\b")
_SCALED = re.compile(r"(?<![\w./])([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(?:/|out of)\s*([0-9]{1,6})(?![\w./]*[0-9])")
_SENTENCE = re.compile(r"[^\n.!?;]*(?:\.(?=[0-9])[^\n.!?;]*)*[\n.!?;]*")


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
    if _CHANNEL.search(text) or _FINAL_CHANNEL.search(text):
        text = "" if (found := list(_FINAL_CHANNEL.finditer(text))) == [] else text[found[-1].end() :]
    kept, start, inside = list[str](), 0, False
    for tag in _TAG.finditer(text):
        if not any(tag.groups()):
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
    return _MARKS.sub("", _FENCE.sub(" ", without_reasoning(text)[-LONGEST:])).strip()


def read_verdict(text: str) -> Verdict:
    """What a judge's answer says; never raises.

    Read in this order: a JSON field or a line that names the verdict; clauses that say CORRECT or INCORRECT of the answer and nothing
    else; yes or no, 1 or 0 alone; a rating at an end of a scale that it names. A clause of any other form says nothing, however often
    it holds the words, for negations and conditions have no end of forms. A rating without its scale, or between its ends, is no
    verdict: nobody said where right begins.
    """
    plain = unicodedata.normalize("NFKC", final_answer(text)).replace("’", "'")
    plain = re.sub(r"\b((?:IN)?CORRECT):", r"\1,", plain).casefold()  # "CORRECT: …" is a verdict, "Correct: …" may be the reference
    plain = _ECHO.sub(" ", _STRUCK.sub(" ", plain))
    plain = re.sub(r"[ \t]+", " ", re.sub(r":\s*\n\s*", ": ", plain)).strip()
    if not plain:
        return Verdict(None, "the answer is empty")
    alone = plain.strip(" \n\t.!\"'()[]{}:,;")
    if alone in _ALONE:
        return Verdict(_ALONE[alone], f'the answer is "{alone}"')
    if _HEDGE.search(plain):
        return Verdict(None, "the answer hedges")
    keyed = {_KEYED_WORDS[m[3]] for m in _KEYED.finditer(plain) if m[3] in _KEYED_WORDS and (m[1] != "correct" or m[2] != " is ")}
    said = list(_said(plain))
    clear = {x for x in said if isinstance(x, bool)}
    if len(keyed | clear) > 1:
        flipped = not keyed and said and isinstance(said[-1], bool) and re.search(r"\b(?:wait|but|actually|no),? ", plain)
        if not flipped:
            return Verdict(None, "the answer contradicts itself")
    if keyed or clear:
        right = keyed.copy().pop() if keyed else [x for x in said if isinstance(x, bool)][-1]
        doubt = "against" in said if keyed else said[-1] in ("against", "unclear")
        if doubt and right:
            return Verdict(None, "the answer contradicts itself")
        if (doubt and not keyed) or (right and _AGAINST.search(plain)):
            return Verdict(None, "the answer takes its verdict back, or puts a condition to it")
        return Verdict(right, "the field of the verdict" if keyed else f'the word "{"correct" if right else "incorrect"}"')
    if "against" in said or "unclear" in said:
        return Verdict(None, "no clause says CORRECT or INCORRECT of the answer, and nothing else")
    return _short(plain)


def _said(plain: str) -> Iterator[bool | Literal["against", "unclear"]]:
    """What each clause with "correct" or "incorrect" says of the answer, in order.

    True, False; "unclear" where that cannot be told, "against" where it holds "incorrect" or a negation besides. What only asks, or
    names the correct answer, says nothing and is left out.
    """
    for whole in _SENTENCE.findall(plain):
        sentence = whole.strip(" \n\t.!;\"'()[]{}")
        if not _WORD.search(sentence) or sentence.endswith("?"):
            continue
        for clause in _JOINT.split(sentence):
            found = _STATEMENT.fullmatch(clause)
            if found is not None and not _CONDITION.search(sentence):
                verb = found["verb"] or ""
                negated = bool(found["not"]) or "n't" in verb or "not" in verb
                part = "value" if found["value"] else "named"
                wrong = found[part] != "correct"
                yield "against" if wrong and negated else not (wrong or negated)
                rest = clause[found.end(part) :]
                if re.search(r"(?<![\w-])in-?correct(?![\w-])|\bnot correct\b", rest):
                    yield "against"
                continue
            for m in _WORD.finditer(clause):
                if m[1] or re.search(r"\b(?:not|n't|no)\b|n't\b", clause):
                    yield "against"
                elif not (_THE.search(clause[: m.start()]) or _NOUN.match(clause, m.end())):
                    yield "unclear"


def _short(plain: str) -> Verdict:
    """What an answer says that has neither word: yes or no as its last sentence, or a rating."""
    sentences = [s for s in (x.strip(" \n\t\"'()[]{},.!;") for x in _SENTENCE.findall(plain)) if s]
    last, told = sentences[-1] if sentences else "", {_ALONE[s] for s in sentences if s in ("yes", "no", "true", "false")}
    if last in ("yes", "no", "true", "false"):
        if len(told) > 1 or (told == {True} and _AGAINST.search(plain)):
            return Verdict(None, "the answer contradicts itself")
        return Verdict(_ALONE[last], f'the last word is "{last}"')
    scaled = [(float(a), float(b)) for a, b in _SCALED.findall(plain) if float(b) > 0]
    if scaled and (_RATING_CUE.search(plain) or _SCALED.fullmatch(plain.rstrip("."))):
        ends = {x / most if x in (0, most) else None for x, most in scaled}
        if ends in ({1.0}, {0.0}) and not _AGAINST.search(plain):
            return Verdict(ends == {1.0}, "a rating at the end of its scale")
        return Verdict(None, "a rating between the ends of its scale is no verdict: nobody said where right begins")
    if _RATING_CUE.search(plain) and re.search(r"[0-9]", plain):
        return Verdict(None, "a rating without its scale is no verdict")
    return Verdict(None, "neither word of a verdict is in the answer")
