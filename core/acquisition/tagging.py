"""The slice signature of media by forced choice: what a model is asked, and what its answer is read as (SliceNav, appendix D).

One value per dimension for an image, or for a clip as a whole; the category of a question from its text alone. An answer is read
leniently in form (spelling, synonyms, prose around it) and strictly in content: what names no offered value gives no tag.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from core.acquisition.fidelity import Tag
from core.acquisition.normalise import CATEGORY
from core.acquisition.prompts import TaggingDoc, tagging_texts
from core.llm import Ask
from core.llm.parsing import json_object, without_reasoning
from core.odd import Dimension, Odd, Value
from core.seed_table.values import ValueReader, normal

Tiers = Literal["base", "all"]
"""Values that are offered: those of the ODD, or those outside it too."""

How = Literal["read", "only", "unsure", "ambiguous", "outside", "missing"]
"""read: one offered value; only: the dimension offers no choice, so it was not asked; unsure: one, with less confidence than was
asked for; ambiguous: several offered values; outside: something that is no offered value; missing: nothing."""

KEPT = 200
"""Characters of an answer that a record keeps per dimension."""
TOKENS_PER_FIELD = 40
_CONFIDENCE = "confidence"


@dataclass(frozen=True)
class Said:
    """What a model said along one dimension.

    Attributes:
        tag: The value, several, or None.
        how: How the answer was read.
        text: The answer as it came, shortened.
        confidence: The model's own, in [0, 1], None if it gave none. Models are not calibrated: a hint, not a probability.
    """

    tag: Tag
    how: How
    text: str = ""
    confidence: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            "tag": list(self.tag) if isinstance(self.tag, tuple) else self.tag,
            "how": self.how,
            "text": self.text,
            "confidence": self.confidence,
        }

    def at_least(self, confidence: float) -> Said:
        """The same, but a value with less confidence than this, or with none where some is asked for, settles nothing."""
        sure = self.how != "read" or not confidence or (self.confidence is not None and self.confidence >= confidence)
        return self if sure or not isinstance(self.tag, str) else replace(self, tag=(self.tag,), how="unsure")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Said:
        """What `as_dict` wrote."""
        tag = data["tag"]
        return cls(tuple(tag) if isinstance(tag, list) else tag, data["how"], data["text"], data["confidence"])


@dataclass(frozen=True)
class Example:
    """A question with the category that people gave it."""

    question: str
    value: str


def offered(odd: Odd, dims: Sequence[str], tiers: Tiers = "base") -> dict[str, tuple[Value, ...]]:
    """The values to choose from, per dimension, in the order of the ODD; a dimension without any is left out."""
    found = {d.name: d.base if tiers == "base" else d.values for d in odd.dimensions if d.name in set(dims)}
    return {name: values for name, values in found.items() if values}


def settled(values: Mapping[str, Sequence[Value]]) -> dict[str, Said]:
    """Dimensions that offer one value only: there is nothing to ask."""
    return {d: Said(v[0].name, "only") for d, v in values.items() if len(v) == 1}


def scene_ask(odd: Odd, values: Mapping[str, Sequence[Value]], images: Sequence[str], texts: TaggingDoc | None = None) -> Ask | None:
    """The call that tags one image or clip.

    Args:
        odd: Names the dimensions.
        values: What is offered, as `offered` gives it; the category of a question is not asked of a picture.
        images: Data URLs, in the order of time.
        texts: The prompt.

    Returns:
        None if no dimension leaves a choice.
    """
    texts = texts or tagging_texts()
    asked = {d: v for d, v in values.items() if len(v) > 1 and d != CATEGORY}
    if not asked or not images:
        return None
    lead = texts.scene.image if len(images) == 1 else texts.scene.clip.format(frames=len(images))
    task = texts.scene.task.format(fields=_fields(odd, asked, texts), keys=", ".join([*asked, _CONFIDENCE]))
    parts: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in images]
    content = [*parts, {"type": "text", "text": f"{lead}\n\n{task}"}]
    messages: list[dict[str, Any]] = [{"role": "system", "content": texts.scene.system}, {"role": "user", "content": content}]
    return Ask(messages, max_tokens=200 + TOKENS_PER_FIELD * len(asked), schema=("tags", _schema(asked)))


def question_ask(
    odd: Odd,
    values: Mapping[str, Sequence[Value]],
    question: str,
    options: Sequence[str] = (),
    examples: Sequence[Example] = (),
    texts: TaggingDoc | None = None,
) -> Ask | None:
    """The call that sorts a question into a category.

    Args:
        odd: Names the dimensions.
        values: What is offered; only the category is asked.
        question: Its text.
        options: Of an MCQ.
        examples: Questions that people sorted, shown to the model.
        texts: The prompt.

    Returns:
        None if the ODD has no categories to choose from, or there is no question.
    """
    texts = texts or tagging_texts()
    asked = {d: v for d, v in values.items() if len(v) > 1 and d == CATEGORY}
    if not asked or not question.strip():
        return None
    text = "\n".join([question.strip(), *([texts.question.options.format(options=" | ".join(options))] if options else [])])
    shown = [texts.question.example.format(question=" ".join(e.question.split()), value=e.value) for e in examples]
    task = texts.question.task.format(
        fields=_fields(odd, asked, texts),
        examples="\n".join([texts.question.examples, *shown, ""]) if shown else "",
        question=text.replace(">>>", "> > >"),  # so that the text cannot end its own marks
        keys=", ".join([*asked, _CONFIDENCE]),
    )
    messages = [{"role": "system", "content": texts.question.system}, {"role": "user", "content": task}]
    return Ask(messages, max_tokens=200 + TOKENS_PER_FIELD, schema=("category", _schema(asked)))


def read_answer(odd: Odd, values: Mapping[str, Sequence[Value]], text: str) -> dict[str, Said]:
    """What an answer says along each dimension that was asked; nothing is made up.

    Args:
        odd: Names the dimensions.
        values: What was offered, only dimensions that were asked.
        text: The answer: JSON, with or without prose around it; else lines such as "time: night"; else, where one
            dimension was asked, the value by itself.
    """
    found = json_object(text)
    if found is None:
        answers, confidence = _lines(odd, list(values), text), dict[str, Any]()
    else:
        answers = _by_name(odd, list(values), found)
        inner = [v for v in found.values() if isinstance(v, dict)]
        if not answers and len(inner) == 1:  # {"tags": {...}}
            answers = _by_name(odd, list(values), inner[0])
        given = next((v for k, v in found.items() if normal(k) == _CONFIDENCE), None)
        confidence = _by_name(odd, list(values), given) if isinstance(given, dict) else dict.fromkeys(values, given)
    return {d: _said(_reader(odd.by_name[d], v), answers.get(d), confidence.get(d)) for d, v in values.items()}


def _fields(odd: Odd, asked: Mapping[str, Sequence[Value]], texts: TaggingDoc) -> str:
    blocks = []
    for name, values in asked.items():
        lines = [texts.field.format(name=name, label=odd.by_name[name].label)]
        for v in values:
            line = texts.value.format(value=v.name, definition=v.definition) if v.definition else texts.bare_value.format(value=v.name)
            lines.append(line)
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _schema(asked: Mapping[str, Sequence[Value]]) -> dict[str, Any]:
    """Strict: every key is required, no other is allowed."""

    def closed(properties: dict[str, Any]) -> dict[str, Any]:
        return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}

    choices: dict[str, Any] = {d: {"type": "string", "enum": [v.name for v in values]} for d, values in asked.items()}
    return closed({**choices, _CONFIDENCE: closed({d: {"type": "number"} for d in asked})})


def _by_name(odd: Odd, dims: Sequence[str], found: Mapping[str, Any]) -> dict[str, Any]:
    """Entries of a JSON object by the dimension that they name, whatever their spelling; names of people count too."""
    keys = {normal(k): v for k, v in found.items()}
    out = {}
    for d in dims:
        names = [normal(d), normal(odd.by_name[d].label)]
        hit = next((n for n in names if n in keys), None)
        if hit is not None:
            out[d] = keys[hit]
    return out


def _lines(odd: Odd, dims: Sequence[str], text: str) -> dict[str, Any]:
    """Answers from text that holds no JSON."""
    plain, _ = without_reasoning(text)
    pairs: dict[str, Any] = {}
    for line in plain.splitlines():
        name, sign, value = line.strip(" \t-*•|#>").partition(":")
        if sign and value.strip():
            pairs.setdefault(name.strip(" *_`\"'"), value)
    answers = _by_name(odd, dims, pairs)
    if not answers and len(dims) == 1 and plain.strip():
        answers = {dims[0]: plain}
    return answers


def _said(reader: ValueReader, answer: Any, confidence: Any) -> Said:
    if isinstance(answer, dict):  # {"value": "night", "confidence": 0.9}
        keys = {normal(k): v for k, v in answer.items()}
        confidence = keys.get(_CONFIDENCE, confidence)
        answer = next((keys[k] for k in ("value", "label", "choice", "answer") if k in keys), None)
    if answer is None or answer == "" or answer == []:
        return Said(None, "missing")
    parts = [str(x) for x in answer] if isinstance(answer, list) else [str(answer)]
    text = ", ".join(parts)[:KEPT]
    sure = _number(confidence)
    values: list[str] = []
    for part in parts:
        found = _values(reader, part)
        if not found:
            return Said(None, "outside", text, sure)
        values += found
    several = tuple(dict.fromkeys(values))
    return Said(several[0], "read", text, sure) if len(several) == 1 else Said(several, "ambiguous", text, sure)


def _values(reader: ValueReader, text: str) -> list[str]:
    """Offered values that a text names and nothing else; [] if it names anything else beside them."""
    plain = text.strip().strip("\"'`*_.,;!").strip()
    if found := _one(reader, plain):
        return found
    # "night (sun below the horizon)": a value with the meaning that the prompt gave it.
    head, meaning = re.match(r"([^(:\u2013\u2014]*)(.*)", plain, re.DOTALL).groups()  # type: ignore[union-attr]  # matches any text
    found = _one(reader, head.strip())
    if len(found) == 1 and meaning and _same_words(meaning, reader.dimension.by_name[found[0]].definition):
        return found
    parts = [p.strip() for p in re.split(r"[,;/|]|\bor\b|\band\b", plain) if p.strip()]
    each = [_one(reader, p) for p in parts]
    return [v for vs in each for v in vs] if len(parts) > 1 and all(each) else []


def _one(reader: ValueReader, text: str) -> list[str]:
    reading = reader.read(text) if reader.knows(text) else None
    if reading is not None:
        return [reading.value]
    key = normal(text)
    return [v.name for v in reader.dimension.values if key and key in {normal(s) for s in v.synonyms}]  # a synonym of several


def _same_words(a: str, b: str) -> bool:
    words = [re.findall(r"\w+", x.casefold()) for x in (a, b)]
    return words[0] == words[1] != []


def _reader(dimension: Dimension, values: Sequence[Value]) -> ValueReader:
    return ValueReader(replace(dimension, values=tuple(values)))


def _number(value: Any) -> float | None:
    """A confidence in [0, 1]; "85 %" and 85 are read as 0.85, anything else as none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip()
    percent = text.endswith("%")
    try:
        number = float(text.rstrip("% "))
    except ValueError:
        return None
    number = number / 100 if percent or 1 < number <= 100 else number
    return number if 0 <= number <= 1 else None
