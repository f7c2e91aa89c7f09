"""How many slices and samples a question asks for ("top 20", "three images per slice")."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.controller.matching import Hit
from core.controller.words import Token

MOST_SLICES, MOST_SAMPLES = 10_000, 1_000
"""Most slices that a plan may rank, and samples that it may ask for per slice."""

_WORDS = {w: i for i, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())} | {
    **{"fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100, "dozen": 12, "single": 1},
}
_SLICE = (
    r"(?:slices?|scenarios?|gaps?|conditions?|combinations?|cases?|situations?|areas?|ones|spots?|recommendations?|suggestions?|results?|"
    r"entries|candidates?|holes?|settings?|items?|failures?|weaknesses|places?|things|hotspots?|priorities)"
)
_SAMPLE = (
    r"(?:images?|pictures?|photos?|pics?|frames?|clips?|videos?|samples?|examples?|recordings?|snippets?|tests?|data ?points?|"
    r"test cases?|variations?|variants?|shots?)"
)
_ONE = r"(?:slice|scenario|gap|condition|case|combination|situation|of them|one|cell|them)s?"
_EACH = (
    rf"(?:(?:per|for (?:each|every)|for every single|in each|of each) (?:of (?:the|these|those) )?(?:\w+ ){{0,5}}?{_ONE}|each|apiece|per\b)"
)
_BEST = r"(?:top|best|worst|riskiest|most|highest|biggest|weakest|largest|scariest|hardest|leading)"
_N = r"(?<![\d.,])(\d+)(?![.,]?\d)"
_ADJ = r"(?:(?!per\b|for\b|each\b)[a-z']+ ){0,4}?"
_BE = r"(?:(?:should|shall|must|are to|is to|have to|need to|can|could|to) be [a-z]+ )?"
_PER = (
    re.compile(rf"\b{_N} {_ADJ}{_SAMPLE} {_BE}{_EACH}"),
    re.compile(rf"\b{_N} {_EACH}"),
    re.compile(rf"\b(?:each|every) {_ADJ}{_N} {_ADJ}{_SAMPLE}"),
)
_TOP = (
    re.compile(rf"\b(?:top|first|best|worst|riskiest|leading|highest|most|only) {_N}\b(?! ?%| percent)(?! {_ADJ}{_SAMPLE}\b)"),
    re.compile(rf"\b{_N} (?:of the )?{_BEST}\b(?! {_ADJ}{_SAMPLE}\b)"),
    re.compile(rf"(?<!\bof )(?<!\bour )(?<!\ball )\b{_N} {_ADJ}{_SLICE}\b"),
    re.compile(rf"\b(?:top|k|limit|n) ?[=:] ?{_N}\b"),
)
_TESTS = re.compile(rf"\b{_N} {_ADJ}(?:tests?|test cases?|variations?|variants?|experiments?)\b")
_TOTAL = (re.compile(rf"\b{_N} {_ADJ}{_SAMPLE}\b"), re.compile(rf"\b(?:top|first|best) {_N} {_ADJ}{_SAMPLE}\b"))


@dataclass(frozen=True)
class Amounts:
    """What a question says about how much.

    Attributes:
        top: Slices to rank, None if it says nothing.
        per_slice: Samples per slice, None if it says nothing.
        notes: How it was read, where that is not plain.
    """

    top: int | None = None
    per_slice: int | None = None
    notes: tuple[str, ...] = ()


def amounts(toks: Sequence[Token], hits: Sequence[Hit], *, sampled: bool = True) -> Amounts:
    """The numbers of a question; those that belong to a value of the vocabulary are none.

    Args:
        toks: Its words.
        hits: The values that it names.
        sampled: Whether it asks for samples; if not, "three more tests" are three slices to test.
    """
    inside = {i for h in hits for i in range(h.start, h.end)}
    text = " ".join(_digits(t.text) if i not in inside else "x" for i, t in enumerate(toks))
    text = re.sub(r"\b(?:a )?(?:couple|pair) of\b", "2", text)
    text = re.sub(rf"\b(?:one|a single) (?={_ADJ}{_SAMPLE}\b)", "1 ", text)
    notes: list[str] = []
    per = _first(_PER, text)
    if per:
        text = text[: per[1]] + "y" + text[per[2] :]
    top = _first(_TOP, text) or (None if sampled or per else _first((_TESTS,), text))
    if top:
        text = text[: top[1]] + "y" + text[top[2] :]
    total = _first(_TOTAL, text) if not per else None
    k, n = (per[0] if per else None), (top[0] if top else None)
    if total and total[0] > 0:
        if n:
            k = math.ceil(total[0] / n)
            exact = "" if k * n == total[0] else f", {k * n} in all"
            notes.append(f"{total[0]:,} samples for {n:,} slices are read as {k:,} per slice{exact}.")
        else:
            n, k = total[0], 1
            notes.append(f"{total[0]:,} samples are read as one for each of {total[0]:,} slices.")
    return Amounts(_bounded(n, MOST_SLICES, "slices", notes), _bounded(k, MOST_SAMPLES, "samples per slice", notes), tuple(notes))


def counting(toks: Sequence[Token]) -> set[int]:
    """Numbers in words, and names of what is counted near a number, where a question says how much."""
    numbers = [i for i, t in enumerate(toks) if t.text[0].isdigit() or t.text in _WORDS or t.text in ("couple", "pair")]
    counted = re.compile(rf"{_SLICE}|{_SAMPLE}|apiece|points?|experiments?")
    near = {i for n in numbers for i in range(max(0, n - 3), min(len(toks), n + 6)) if counted.fullmatch(toks[i].text)}
    return near | set(numbers)


def _digits(word: str) -> str:
    if word in _WORDS and word not in ("zero", "one", "single", "hundred"):
        return str(_WORDS[word])
    return re.sub(r"[.,](?=\d{3}\b)", "", word) if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", word) else word


def _first(patterns: Sequence[re.Pattern[str]], text: str) -> tuple[int, int, int] | None:
    """The first number that one of the patterns finds, and where it stands."""
    found = [(m.start(1), int(m[1][:9]), m.end(1)) for p in patterns for m in p.finditer(text)]
    if not found:
        return None
    start, value, end = min(found)
    return value, start, end


def _bounded(value: int | None, most: int, what: str, notes: list[str]) -> int | None:
    if value is None or 1 <= value <= most:
        return value
    nearest = 1 if value < 1 else most
    notes.append(f"{value:,} {what} cannot be had; {nearest:,} are taken.")
    return nearest
