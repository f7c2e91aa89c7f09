"""Hypotheses out of what a model wrote: checked, named, told apart from those that are known; nothing is left out without a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.digest import sha256_json
from core.error_slices.dedupe import Embed, without_duplicates
from core.error_slices.hypotheses import CATEGORIES, Category, Hypothesis, Origin
from core.error_slices.units import ErrorType
from core.error_slices.vocabulary import ANY, Vocabulary, load_vocabulary, plain
from core.llm import Usage

SHORTEST, LONGEST = 8, 300
_OUTCOME = re.compile(
    r"\b(detectors?|neural|algorithms?|the model|confidence|iou|miss(ed|es)|undetected|not detected|mis-?(classif|detect|tak)\w*"
    r"|false (positives?|negatives?|alarms?)|fail(s|ed|ures?)?|errors?|ground truth|bounding box(es)?)\b",
    re.IGNORECASE,
)
_FN_FP: dict[str, ErrorType] = {
    "false negative": "FN",
    "missed": "FN",
    "false positive": "FP",
    "localisation": "LOC",
    "localization": "LOC",
    "classification": "CLS",
}
PREFIX: Mapping[Origin, str] = {"knowledge": "kd", "data": "dd", "own": "own", "library": "lib"}


@dataclass(frozen=True)
class LeftOut:
    """Something a model proposed that is no hypothesis here.

    Attributes:
        text: As it came, shortened.
        why: The reason, one sentence.
    """

    text: str
    why: str


@dataclass(frozen=True)
class Generated:
    """Hypotheses that were made, to be looked at by a person and then added to a set.

    Attributes:
        hypotheses: In the order in which they came.
        left_out: What was proposed beside them, with reasons.
        notes: How they were made, one sentence each, with numbers.
        calls: new, cached, repeated, retries.
        usage: Tokens of the new calls.
        cost: Of them, None where no price is named.
        stopped: Why it ended early, "" if it did not.
    """

    hypotheses: tuple[Hypothesis, ...]
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    calls: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    stopped: str = ""


def flaw_of(text: str) -> str:
    """Why a text is no statement about one box, "" if it is."""
    if not SHORTEST <= len(text) <= LONGEST:
        return f"A statement has {SHORTEST} to {LONGEST} characters; this one has {len(text)}."
    if text.rstrip().endswith("?"):
        return "It is a question, not a statement."
    if found := _OUTCOME.search(text):
        return f'It speaks of the outcome ("{found.group()}"), which nobody sees in a picture.'
    return ""


def hypothesis_id(origin: Origin, text: str, error: ErrorType, classes: Sequence[str]) -> str:
    """An id that says what it is about and that no other statement has."""
    words = [w for w in re.findall(r"[a-z0-9]+", text.casefold()) if w not in ("the", "a", "an", "is", "object", "of", "it")]
    return f"{PREFIX[origin]}_{'_'.join(words)[:40].strip('_')}_{sha256_json([text, error, sorted(classes)])[:6]}"


def hypothesis_of(entry: Any, origin: Origin, class_names: Sequence[str], vocabulary: Vocabulary | None = None) -> Hypothesis | LeftOut:
    """The hypothesis that a model described, or why it is none.

    Args:
        entry: {"text", "error", "category", "classes", "rationale"}.
        origin: Where it comes from.
        class_names: Classes of the data.
        vocabulary: Names of classes and groups; those that ship by default.
    """
    names = vocabulary or load_vocabulary()
    if not isinstance(entry, Mapping):
        return LeftOut(str(entry)[:200], "It is no JSON object.")
    text = " ".join(str(entry.get("text") or entry.get("statement") or "").split())
    if flaw := flaw_of(text):
        return LeftOut(text[:200], flaw)
    error = _error_of(entry.get("error"))
    if error is None:
        return LeftOut(text, f'Its type of error is "{str(entry.get("error"))[:40]}"; it must be FN, FP or LOC.')
    category = category_of(entry.get("category"))
    if category is None:
        return LeftOut(text, f'Its category is "{str(entry.get("category"))[:40]}"; it must be one of {", ".join(CATEGORIES.values())}.')
    said = entry.get("classes") or [ANY]
    said = [str(c) for c in said] if isinstance(said, list | tuple) else [str(said)]
    known = [c for c in said if plain(c) == ANY or names.members([c], class_names)]
    if not known:
        return LeftOut(text, f"It is about {', '.join(said)[:80]}, which the data does not have.")
    classes = (ANY,) if any(plain(c) == ANY for c in known) else tuple(dict.fromkeys(known))
    rationale = " ".join(str(entry.get("rationale") or "").split())[:400]
    return Hypothesis(hypothesis_id(origin, text, error, classes), text, error, category, classes, None, origin, rationale=rationale)


def tell_apart(
    found: Sequence[Hypothesis], known: Sequence[Hypothesis], embed: Embed | None = None
) -> tuple[tuple[Hypothesis, ...], tuple[LeftOut, ...]]:
    """Those that say something new, and for each other one which it repeats."""
    by_id: dict[str, Hypothesis] = {}
    again = []
    for h in found:
        if by_id.setdefault(h.id, h) is not h:
            again.append(LeftOut(h.text, "It was proposed twice."))
    texts = {h.id: h.text for h in (*known, *found)}
    new, twins = without_duplicates(list(by_id.values()), list(known), embed)
    out = [LeftOut(texts[t.second], f'It says nearly the same as "{texts[t.first]}"') for t in twins]
    return new, (*again, *out)


def category_of(said: Any) -> Category | None:
    """One of the three categories, however it is spelled."""
    key = plain(str(said))
    return next((c for c, label in CATEGORIES.items() if key in (plain(c), plain(label)) or key.startswith(plain(label).split()[0])), None)


def _error_of(said: Any) -> ErrorType | None:
    key = plain(str(said))
    errors: tuple[ErrorType, ...] = ("FN", "FP", "LOC", "CLS", "IMAGE", "SEG")
    exact = next((e for e in errors if key == e.casefold()), None)
    return exact or next((e for words, e in _FN_FP.items() if words in key), None)
