"""Grounded captions of single units by attributes that a language model named (GH-ESD, section 3.2, step a)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from core.digest import sha256_json
from core.error_slices.detections import FloatArray, IntArray
from core.error_slices.generate.asking import Asked, JsonAsk, ask_all, closed, list_of, needs_list
from core.error_slices.units import Population, Side, Units
from core.error_slices.vision.ask import Question, question_of, quotable
from core.error_slices.vision.crops import CropSettings
from core.error_slices.vision.options import Digests
from core.error_slices.vision.pictures import Pictures
from core.error_slices.vision.prompts import slice_texts
from core.llm import Ask, Endpoint
from core.llm.pace import Limits
from core.storage.store import Store

ATTRIBUTE_TOKENS = 2_000
CAPTION_TOKENS = 1_000
UNCLEAR = frozenset(("", "unclear", "unknown", "n a", "not visible", "not applicable", "cannot tell", "none visible", "unsure", "null"))
"""Values that say nothing."""
_WORDS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, eq=False)
class CaptionSample:
    """Units to be captioned, k of them.

    Attributes:
        units: Shape (k,): indices into the units.
        error: Shape (k,): 1 for an error.
        image: Shape (k,): index of the image.
        weight: Shape (k,): how many units of the population each stands for.
    """

    units: IntArray
    error: FloatArray
    image: IntArray
    weight: FloatArray


@dataclass(frozen=True)
class Captions:
    """What a model said of the units of a sample.

    Attributes:
        attributes: By which it described them.
        values: For each unit its values by attribute, tidied; None where it gave no caption.
        why: Reasons of those, counted.
        asked: Calls, tokens and cost.
    """

    attributes: tuple[str, ...]
    values: tuple[Mapping[str, str] | None, ...]
    why: Mapping[str, int]
    asked: Asked


def caption_sample(units: Units, population: Population, most: int, per_image: int, seed: int) -> CaptionSample:
    """As many errors as correct units, at most so many of each image, in an order that only images and boxes decide.

    Args:
        units: All units.
        population: Of the discovery half; other halves must not be looked at.
        most: Units in all.
        per_image: Units of one image.
        seed: Of the order.
    """
    digests = Digests(units)
    order = sorted(
        (k for k in range(len(population.units)) if digests.of(int(population.image[k]))),
        key=lambda k: sha256_json([seed, digests.of(int(population.image[k])), units.xyxy[population.units[k]].tolist()]),
    )
    error = population.loss > 0.5
    taken: Counter[int] = Counter()
    picked: list[int] = []
    for wanted in (True, False):
        left = most // 2 if wanted else most - len(picked)
        for k in order:
            if left and bool(error[k]) == wanted and taken[int(population.image[k])] < per_image:
                taken[int(population.image[k])] += 1
                picked.append(k)
                left -= 1
    rows = np.array(sorted(picked), np.int64)
    chosen = error[rows].astype(np.float64)
    weight = np.ones(len(rows))
    for flag in (0.0, 1.0):
        if n := int((chosen == flag).sum()):
            weight[chosen == flag] = float((error == bool(flag)).sum()) / n
    return CaptionSample(population.units[rows], chosen, population.image[rows], weight)


def ask_attributes(
    store: Store, endpoint: Endpoint, task: str, class_names: Sequence[str], count: int, *, cancel: Callable[[], bool] | None = None
) -> tuple[tuple[str, ...], Asked]:
    """Attributes by which objects of some classes differ, as a language model names them; () where it names none."""
    texts = slice_texts()
    words = texts.attributes.task.format(classes=", ".join(map(quotable, class_names)), task=task.replace(">>>", "> > >"), count=count)
    schema = closed({"attributes": {"type": "array", "items": {"type": "string"}}})
    messages = [{"role": "system", "content": texts.knowledge.system}, {"role": "user", "content": words}]
    ask = Ask(messages, ATTRIBUTE_TOKENS, schema=("attributes", schema))
    asked = ask_all(store, endpoint, [JsonAsk("slice_attributes", ask, check=needs_list("attributes"))], cancel=cancel)
    entries = [] if asked.answers[0] is None else list_of(asked.answers[0], "attributes")
    found = [tidy(str(e)) for e in entries if isinstance(e, str)]
    return tuple(dict.fromkeys(a for a in found if a and len(a) <= 40))[:count], asked


def ask_captions(
    store: Store,
    endpoint: Endpoint,
    units: Units,
    sample: CaptionSample,
    attributes: Sequence[str],
    *,
    crops: CropSettings | None = None,
    limits: Limits | None = None,
    cancel: Callable[[], bool] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Captions:
    """Ask a vision model to describe each unit of a sample by some attributes; it is not told which of them are errors."""
    crops = crops or CropSettings()
    pictures = Pictures(units, crops)
    asks = []
    for unit in sample.units.tolist():
        question = question_of(units, unit, "")
        shown = sha256_json([question.image, question.size, question.box, asdict(crops)])

        async def made(unit: int = unit) -> Sequence[str]:
            return await pictures.urls(unit)

        asks.append(JsonAsk("slice_caption", _ask(question, attributes), (shown,), made))
    asked = ask_all(store, endpoint, asks, limits=limits, cancel=cancel, progress=progress)
    values = tuple(None if a is None else read_caption(a, attributes) for a in asked.answers)
    return Captions(tuple(attributes), values, dict(Counter(w for w in asked.why if w)), asked)


def read_caption(answer: Mapping[str, object], attributes: Sequence[str]) -> dict[str, str]:
    """Values by attribute; unclear ones, long ones and attributes that nobody asked for are left out."""
    inner = [v for v in answer.values() if isinstance(v, Mapping)]
    source = inner[0] if len(answer) == 1 and inner else answer
    keys = {tidy(str(k)): v for k, v in source.items()}
    out = {}
    for a in attributes:
        value = keys.get(a)
        text = " ".join(map(tidy, map(str, value))) if isinstance(value, list) else "" if value is None else tidy(str(value))
        if text not in UNCLEAR and len(text) <= 40:
            out[a] = text
    return out


def tidy(text: str) -> str:
    """A name without case, signs, the article before it and the plural of its last word."""
    words = _WORDS.sub(" ", text.casefold()).split()
    words = words[1:] if words[:1] and words[0] in ("a", "an", "the") else words
    if words and len(words[-1]) > 3 and words[-1].endswith("s") and not words[-1].endswith(("ss", "us", "is")):
        words[-1] = words[-1][:-1]
    return " ".join(words)


def _ask(question: Question, attributes: Sequence[str]) -> Ask:
    texts = slice_texts()
    side: Side = question.side
    t = texts.match
    lead = t.image if side == "image" else {"gt": t.gt, "pred": t.pred, "seg": t.seg}[side].format(class_name=question.class_name)
    words = f"{lead}\n{texts.caption.task.format(attributes=', '.join(attributes))}"
    schema = closed({a: {"type": "string"} for a in attributes})
    return Ask(
        [{"role": "system", "content": texts.caption.system}, {"role": "user", "content": words}],
        CAPTION_TOKENS,
        schema=("caption", schema),
    )
