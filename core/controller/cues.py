"""What a question asks for: gaps, failures, the world outside the ODD, samples, an evaluation."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from core.controller.plan import AcquireSource
from core.controller.words import Token, tokens
from core.settings import ASSETS

Family = Literal["gap", "triage", "edge", "outside", "inside", "acquire", "retrieve", "synthesis", "evaluate"]
Asked = Literal["acquire", "synthesis", "evaluate"]
ACTS: tuple[Family, ...] = ("acquire", "retrieve", "synthesis", "evaluate")
"""Families that ask for something to be done; the others ask for something to be told."""


_NOTHING = re.compile(r"\b(?:nothing|none|no|neither)\b")
"""Words in an order that make none of it: "fetch no images"."""


class _Families(BaseModel):
    model_config = ConfigDict(extra="forbid")
    gap: list[str]
    triage: list[str]
    edge: list[str]
    outside: list[str]
    inside: list[str]
    acquire: list[str]
    retrieve: list[str]
    synthesis: list[str]
    evaluate: list[str]


class _Document(BaseModel):
    """assets/controller/cues.yaml."""

    model_config = ConfigDict(extra="forbid")
    verbs: dict[str, list[str]]
    words: dict[str, list[str]]
    parts: dict[str, str]
    families: _Families
    wondering: list[str]
    wondering_passive: list[str]
    noun_before: list[str]
    refused: list[str]
    real_only: list[str]
    no_ranking: list[str]
    fallback: list[str]
    injection: list[str]
    samples_said: list[str]
    evaluation_said: list[str]
    samples_not_said: list[str]
    evaluation_not_said: list[str]


@dataclass(frozen=True)
class Span:
    """Words that say something, as a range of tokens."""

    start: int
    end: int


@dataclass(frozen=True)
class Cues:
    """What a question asks for.

    Attributes:
        spans: Words of each family that was found.
        source: Where samples are to come from; None if none are asked for.
        injection: Whether it gives orders that are none of a question's business.
        no_ranking: Whether it says that no list of what is untested is wanted.
        said: Words of the cues themselves, without those that a pattern only passes over.
    """

    spans: dict[Family, tuple[Span, ...]]
    source: AcquireSource | None
    injection: bool
    no_ranking: bool = False
    said: frozenset[int] = frozenset()

    def __contains__(self, family: Family) -> bool:
        return family in self.spans


def asks_for(query: str) -> frozenset[Asked]:
    """Which of the steps that cost something a question asks for.

    "evaluate" brings "acquire" with it, as nothing can be evaluated without samples. "synthesis" means that images may be made:
    it was asked for, or samples were asked for without saying from where.
    """
    from core.controller.spelling import spelled  # knows the words of this module

    found = cues(spelled(tokens(query))[0])
    if found.injection or found.source is None:
        return frozenset()
    asked: set[Asked] = {"acquire"}
    if found.source != "datastore":
        asked.add("synthesis")
    if "evaluate" in found:
        asked.add("evaluate")
    return frozenset(asked)


def cues(toks: Sequence[Token]) -> Cues:
    """The cues of a question that was parted into words."""
    text, starts = _flat(toks)
    rules = _rules()
    spans: dict[Family, list[tuple[int, int]]] = {}
    said: set[int] = set()
    for family, patterns in rules.families.items():
        matches = [m for p in patterns for m in p.finditer(text)]
        found = [m.span() for m in matches]
        if family in ACTS:
            found = [s for s in found if _is_asked(text, s, family, rules)]
        said |= {i for m in matches if m.span() in found or _refused(text, m.span(), rules) for i in _literal(m, starts)}
        if found:
            spans[family] = found
    _settle_domain(spans)
    if "synthesis" in spans and any(p.search(text) for p in rules.real_only):
        del spans["synthesis"]
    for family in ("acquire", "retrieve"):  # "get synthetic images" asks for synthesis only
        kept = [s for s in spans.get(family, ()) if not any(_overlap(s, o) for o in spans.get("synthesis", ()))]
        spans.pop(family, None)
        if kept:
            spans[family] = kept
    as_tokens = {f: tuple(dict.fromkeys(_span(s, starts) for s in found)) for f, found in spans.items()}
    injected = any(p.search(text) for p in rules.injection)
    refused = any(p.search(text) for p in rules.no_ranking)
    said |= {i for p in (*rules.real_only, *rules.no_ranking) for m in p.finditer(text) for i in _literal(m, starts)}
    return Cues(as_tokens, _source(spans, text, rules), injected, refused, frozenset(said))


def mentions(toks: Sequence[Token], said: Collection[int]) -> tuple[bool, bool]:
    """Whether a question has words of samples, and of an evaluation, that may be an order; not where they say what is known or asked.

    Args:
        toks: The question.
        said: Words that were understood, as part of something else.
    """
    text, starts = _flat(toks)
    rules = _rules()

    def asked(said_here: Sequence[re.Pattern[str]], explained: Sequence[re.Pattern[str]]) -> bool:
        away = [m.span() for p in explained for m in p.finditer(text)]
        for m in (m for p in said_here for m in p.finditer(text)):
            word = text[: m.end()].rfind(" ") + 1
            before = [rules.clause.split(text[:at])[-1].strip() for at in {m.start(), max(word, m.start())}]
            told = any(p.search(b) for p in (*rules.refused, *rules.wondering, rules.asking) for b in before)
            known = not set(_range(_span(m.span(), starts))) - set(said)
            if not (told or known or any(_overlap(m.span(), o) for o in away)):
                return True
        return False

    return asked(*rules.samples), asked(*rules.evaluation)


def _source(spans: dict[Family, list[tuple[int, int]]], text: str, rules: _Rules) -> AcquireSource | None:
    if "synthesis" in spans:
        both = "acquire" in spans or "retrieve" in spans
        return "datastore_then_synthesis" if both else "synthesis"
    real = any(p.search(text) for p in rules.real_only)
    if "acquire" in spans:
        return "datastore" if real else "datastore_then_synthesis"
    return "datastore" if "retrieve" in spans or "evaluate" in spans else None


def _settle_domain(spans: dict[Family, list[tuple[int, int]]]) -> None:
    """Of overlapping words for inside and outside the longer ones count: "not in our ODD" is outside, "do not leave the ODD" inside."""
    inside, outside = spans.get("inside", []), spans.get("outside", [])
    kept: dict[Family, list[tuple[int, int]]] = {
        "inside": [s for s in inside if not any(_overlap(s, o) and o[1] - o[0] > s[1] - s[0] for o in outside)],
        "outside": [s for s in outside if not any(_overlap(s, o) and o[1] - o[0] >= s[1] - s[0] for o in inside)],
    }
    for family, found in kept.items():
        spans.pop(family, None)
        if found:
            spans[family] = found


def _is_asked(text: str, span: tuple[int, int], family: Family, rules: _Rules) -> bool:
    """Whether the verb is an order, and not refused or something that is wondered about ("what should we evaluate next?")."""
    before = rules.clause.split(text[: span[0]])[-1].strip()
    if _refused(text, span, rules) or any(p.search(before) for p in rules.wondering):
        return False
    if rules.passive.match(text, span[0]) and any(p.search(before) for p in rules.wondering_passive):
        return False
    if family == "evaluate" and any(p.search(before) for p in rules.noun_before):
        return False
    if family == "retrieve" and rules.wh.search(before):
        return False
    return family == "evaluate" or not rules.wh.search(rules.clause.split(text[span[0] : span[1]])[0])


def _refused(text: str, span: tuple[int, int], rules: _Rules) -> bool:
    """Whether an order says that something is not to be done, or nothing of it."""
    before, verb = rules.clause.split(text[: span[0]])[-1].strip(), text[span[0] : span[1]]
    nothing = _NOTHING.search(verb if " " in verb else text[span[0] : span[1] + 8])
    return bool(nothing) or any(p.search(before) for p in rules.refused)


def _overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _flat(toks: Sequence[Token]) -> tuple[str, list[int]]:
    """The text that patterns see, and where each token starts in it."""
    starts, at = [], 0
    for t in toks:
        starts.append(at)
        at += len(t.text) + 1
    return " ".join(t.text for t in toks), starts


def _span(chars: tuple[int, int], starts: list[int]) -> Span:
    return Span(bisect_right(starts, chars[0]) - 1, max(bisect_left(starts, chars[1]), bisect_right(starts, chars[0])))


def _literal(match: re.Match[str], starts: list[int]) -> set[int]:
    """Tokens that a pattern matched by its own words, without those that it passed over."""
    if not match.group():
        return set()
    out = set(_range(_span(match.span(), starts)))
    for name in match.groupdict():
        if match.end(name) > match.start(name) >= 0:
            out -= set(_range(_span((match.start(name), match.end(name) - 1), starts)))
    return out


def _range(span: Span) -> range:
    return range(span.start, span.end)


def find_all(patterns: Sequence[re.Pattern[str]], toks: Sequence[Token]) -> list[Span]:
    """Where patterns of this module's language match, as ranges of tokens."""
    text, starts = _flat(toks)
    return [_span(m.span(), starts) for p in patterns for m in p.finditer(text) if m.group()]


@dataclass(frozen=True)
class _Rules:
    families: dict[Family, tuple[re.Pattern[str], ...]]
    wondering: tuple[re.Pattern[str], ...]
    wondering_passive: tuple[re.Pattern[str], ...]
    noun_before: tuple[re.Pattern[str], ...]
    refused: tuple[re.Pattern[str], ...]
    real_only: tuple[re.Pattern[str], ...]
    no_ranking: tuple[re.Pattern[str], ...]
    injection: tuple[re.Pattern[str], ...]
    samples: tuple[tuple[re.Pattern[str], ...], tuple[re.Pattern[str], ...]]
    evaluation: tuple[tuple[re.Pattern[str], ...], tuple[re.Pattern[str], ...]]
    asking: re.Pattern[str]
    wh: re.Pattern[str]
    passive: re.Pattern[str]
    clause: re.Pattern[str]


@cache
def _document() -> _Document:
    text = (ASSETS / "controller" / "cues.yaml").read_text(encoding="utf-8")
    return _Document.model_validate(yaml.safe_load(text))


@cache
def _rules() -> _Rules:
    doc = _document()
    families: dict[Family, tuple[re.Pattern[str], ...]] = {f: compiled([_sentence(p) for p in ps]) for f, ps in doc.families}  # type: ignore[misc]
    return _Rules(
        families,
        compiled(doc.wondering),
        compiled(doc.wondering_passive),
        compiled(doc.noun_before),
        compiled(doc.refused),
        compiled(doc.real_only),
        compiled(doc.no_ranking),
        compiled(doc.injection),
        (compiled(doc.samples_said), compiled(doc.samples_not_said)),
        (compiled(doc.evaluation_said), compiled(doc.evaluation_not_said)),
        compiled([r"^(so )?(<wh>|do <we>|does|did|is|are|has|have|was|were)\b(?!.*\bsee what)"])[0],
        compiled([r"\b<wh>\b"])[0],
        compiled([r"<order_be>\b"])[0],
        re.compile(r"(?:[.;:?!,]| (?:and|then|but|plus)(?= ))"),
    )


@cache
def cue_words() -> frozenset[str]:
    """Every word that stands in a pattern: words of questions that are no names of conditions."""
    doc = _document()
    texts = [_expand(p) for _, patterns in doc.families for p in patterns]
    texts += [" ".join(verb_forms(v, any_form=True)) for verbs in doc.verbs.values() for v in verbs]
    return frozenset(w for t in texts for w in re.findall(r"[a-z']{2,}", re.sub(r"\\[a-z]|\?P<\w+>", " ", t)))


def is_cue_word(word: str) -> bool:
    """Whether a word, or one that it is a longer form of, stands in a pattern."""
    known = cue_words()
    return word in known or f"{word}s" in known or any(word[:n] in known for n in range(max(4, len(word) - 3), len(word)))


@cache
def verb_bases() -> frozenset[str]:
    """The verbs of the patterns as they stand in orders."""
    return frozenset(v for verbs in _document().verbs.values() for v in verbs)


def compiled(patterns: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """Patterns of the language of assets/controller/cues.yaml as regular expressions."""
    return tuple(re.compile(_expand(p)) for p in patterns)


def _sentence(pattern: str) -> str:
    """A pattern for the start of a question as one for the start of any of its sentences."""
    return rf"(?:^|(?<=[.;:!?] )){pattern[1:]}" if pattern.startswith("^") else pattern


def _expand(pattern: str) -> str:
    pattern = re.sub(r"<(\w+)(\*?)>", lambda m: _listed(m[1], bool(m[2])), pattern)
    between = rf"(?:(?!{_listed('analysis', False)} )[^\W_][\w'.]* )"
    names = (f"passed{i}" for i in count())
    pattern = re.sub(r"~(\d+)- \??", lambda m: f"(?P<{next(names)}>{between}{{0,{m[1]}}}?)", pattern)
    return re.sub(r"~(\d+) \??", lambda m: rf"(?P<{next(names)}>(?:[^\W_][\w'.]* ){{0,{m[1]}}}?)", pattern)


@cache
def _listed(name: str, any_form: bool) -> str:
    doc = _document()
    if name in doc.parts:
        return doc.parts[name]
    forms = {f for verb in doc.verbs[name] for f in verb_forms(verb, any_form)} if name in doc.verbs else set(doc.words[name])
    ordered = sorted(forms, key=lambda w: (-len(w), w))
    return "(?:" + "|".join(w if "\\" in w else re.escape(w).replace("\\ ", " ") for w in ordered) + ")"


_PAST = {
    **{
        "find": "found",
        "get": "got gotten",
        "give": "gave given",
        "see": "saw seen",
        "take": "took taken",
        "make": "made",
        "run": "ran run",
    },
    **{
        "drive": "drove driven",
        "break": "broke broken",
        "fall": "fell fallen",
        "choose": "chose chosen",
        "show": "shown",
        "do": "did done",
    },
    **{
        "go": "went gone",
        "have": "had",
        "begin": "began begun",
        "put": "put",
        "let": "let",
        "feed": "fed",
        "send": "sent",
        "build": "built",
    },
    **{"draw": "drew drawn", "shoot": "shot", "bring": "brought", "hold": "held", "leave": "left", "dig": "dug", "stick": "stuck"},
}


def verb_forms(verb: str, any_form: bool) -> list[str]:
    """The base form and -ing of a verb of one or more words, with `any_form` also -s and the past."""
    head, _, rest = verb.partition(" ")
    tail = f" {rest}" if rest else ""
    silent = head.endswith("e") and not head.endswith("ee")
    doubled = head + head[-1] if re.fullmatch(r"(?:\w*[^aeiou])?[aeiou][bdgmnpt]", head) and len(head) <= 4 else head
    forms = [head, (head[:-1] if silent else doubled) + "ing"]
    if any_form:
        y = head.endswith("y") and head[-2] not in "aeiou"
        s = head[:-1] + "ies" if y else head + ("es" if head.endswith(("s", "x", "ch", "sh", "o")) else "s")
        past = _PAST.get(head) or (head + "d" if silent else head[:-1] + "ied" if y else doubled + "ed")
        forms += [s, *past.split()]
    return [f + tail for f in forms]
