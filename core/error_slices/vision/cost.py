"""What matching by a model will take, told before anything is sent: calls, tokens, price, and the part that is known already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.error_slices.hypotheses import Hypothesis
from core.error_slices.scores import ScoreSource
from core.error_slices.units import Population, Units
from core.error_slices.vision.ask import Keys, MatchSpec, Question, dropped, question_of, words_of
from core.error_slices.vision.crops import CropSettings
from core.error_slices.vision.options import Chosen, Digests, MatchOptions, choose_units, limits_of
from core.error_slices.vision.probe import JSON, LONG, SHORT, Ability, known_ability
from core.error_slices.vision.prompts import slice_texts
from core.errors import InputError
from core.llm import Endpoint, Usage
from core.llm.calls import StoredCall
from core.llm.pace import CHARACTERS_PER_TOKEN, cost_of, size_of
from core.storage.store import Store

PATCH = 28
"""Side of the part of a picture that current models turn into one token, px; others differ, so all such counts are estimates."""
FEW = 20
"""Answers after which measured tokens and times stand in for estimates."""
SPARE = 12
"""Tokens that a chat template adds to a message."""


@dataclass(frozen=True)
class PlannedHypothesis:
    """What one hypothesis will take.

    Attributes:
        hypothesis_id: Which.
        population: Units that it is about.
        units: Units asked about.
        errors: Those with an error among them.
        calls: Calls in all.
        cached: Calls whose answer is known.
        left_out: Units left out, by reason.
        why: Why nothing is asked, "" if something is.
    """

    hypothesis_id: str
    population: int
    units: int
    errors: int
    calls: int
    cached: int
    left_out: Mapping[str, int]
    why: str = ""


@dataclass(frozen=True)
class MatchPlan:
    """What matching by a model will take.

    Attributes:
        hypotheses: One each.
        source: How it will be asked.
        probed: Whether that is known from the model's answers; else the best way is assumed.
        calls: Different calls in all.
        cached: Those whose answer is known; they cost nothing.
        prompt_tokens: Of the calls to be sent, about.
        completion_tokens: Likewise.
        measured: Whether tokens were measured on earlier answers of the model rather than estimated.
        cost: Of the calls to be sent, about; None where the connection names no price.
        currency: Of the price.
        seconds: Of the calls to be sent, about, at full concurrency; None where nothing was measured yet.
        ability: How the model is taken to answer; what the plan rests on.
    """

    hypotheses: tuple[PlannedHypothesis, ...]
    source: ScoreSource
    probed: bool
    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    measured: bool
    cost: float | None
    currency: str
    seconds: float | None
    ability: Ability

    @property
    def new(self) -> int:
        """Calls to be sent."""
        return self.calls - self.cached


@dataclass(frozen=True, eq=False)
class Work:
    """All questions of a run, in the order in which they are asked: image by image, so that servers meet the same pictures again.

    Attributes:
        spec: How they are asked.
        chosen: Units by hypothesis.
        questions: (hypothesis, unit, question) in order.
    """

    spec: MatchSpec
    chosen: Mapping[str, Chosen]
    questions: tuple[tuple[Hypothesis, int, Question], ...]

    def __iter__(self) -> Iterator[tuple[Hypothesis, int, Question]]:
        return iter(self.questions)


def work_of(
    units: Units, hypotheses: Sequence[Hypothesis], populations: Mapping[str, Population], spec: MatchSpec, options: MatchOptions
) -> tuple[Work, Digests]:
    """All questions of a run, and the images that cannot be read."""
    digests = Digests(units)
    chosen: dict[str, Chosen] = {}
    rows: list[tuple[int, int, int]] = []
    for n, h in enumerate(hypotheses):
        population = populations.get(h.id)
        if population is None or not len(population.units):
            continue
        chosen[h.id] = found = choose_units(units, population, options, digests)
        rows += [(int(units.image[u]), int(u), n) for u in found.units]
    asked = [(hypotheses[n], u, question_of(units, u, hypotheses[n].text)) for _, u, n in sorted(rows)]
    return Work(spec, chosen, tuple(asked)), digests


def plan_match(
    store: Store,
    endpoint: Endpoint,
    units: Units,
    hypotheses: Sequence[Hypothesis],
    populations: Mapping[str, Population],
    options: MatchOptions | None = None,
) -> MatchPlan:
    """What matching will take; sends nothing.

    Args:
        store: Keeps answers and what is known of the model.
        endpoint: The model.
        units: All units.
        hypotheses: To match.
        populations: By hypothesis; without one nothing is asked.
        options: How.
    """
    options = options or MatchOptions()
    known = known_ability(store, endpoint, options.kind)
    ability = known or Ability(options.kind or "logprob", {"sampled": SHORT, "verbalised": JSON}.get(options.kind or "", 1))
    spec = MatchSpec.of(endpoint, ability, options.samples, options.both_orders, options.crops)
    work, _ = work_of(units, hypotheses, populations, spec, options)
    keys = Keys(spec)
    asked: dict[str, list[str]] = {h.id: [] for h in hypotheses}
    sizes: dict[str, int] = {}
    for h, unit, question in work:
        size = _tokens(units, unit, question, options.crops)
        for order, seed in spec.variants:
            key = keys.of(question, order, seed)
            asked[h.id].append(key)
            sizes[key] = size
    answered = {k: c for k, c in store.calls.get_many(list(sizes)).items() if c.final and not dropped(spec, c)}
    new = [k for k in sizes if k not in answered]
    prompt, completion, measured = _usage(new, sizes, answered, spec)
    price = endpoint.price
    seconds = _seconds(len(new), answered, limits_of(endpoint, options).most)
    return MatchPlan(
        hypotheses=tuple(_planned(h, work.chosen.get(h.id), asked[h.id], answered) for h in hypotheses),
        source=ability.kind,
        probed=known is not None,
        calls=len(sizes),
        cached=len(answered),
        prompt_tokens=prompt,
        completion_tokens=completion,
        measured=measured,
        cost=cost_of(Usage(prompt, completion), price),
        currency="" if price is None else price.currency,
        seconds=seconds,
        ability=ability,
    )


def check_agreed(found: Ability, agreed: Ability, options: MatchOptions, name: str) -> None:
    """Whether a model that was just tested may be asked at the cost that was shown.

    Raises:
        InputError: It answers in another way, which takes several times as many calls, or long answers.
    """
    calls, shown = (options.samples if a.kind == "sampled" else 1 for a in (found, agreed))
    if calls > shown or (found.tokens >= LONG > agreed.tokens):
        more = f"{calls} calls a question" if calls > shown else f"answers of up to {found.tokens:,} tokens, since it reasons first"
        raise InputError(
            f"{name} answers otherwise than was assumed when the cost was shown: {more}. Only the test was sent. The cost is known "
            f"better now; look at it again. {' '.join(found.findings)}"
        )


def _planned(h: Hypothesis, chosen: Chosen | None, keys: Sequence[str], answered: Mapping[str, StoredCall]) -> PlannedHypothesis:
    if chosen is None:
        return PlannedHypothesis(h.id, 0, 0, 0, 0, 0, {}, "the data has no units of its type and classes")
    why = "" if len(chosen.units) else "no unit has an image file"
    known = sum(k in answered for k in keys)
    return PlannedHypothesis(h.id, chosen.population, len(chosen.units), chosen.errors, len(keys), known, chosen.left_out, why)


def _usage(new: Sequence[str], sizes: Mapping[str, int], answered: Mapping[str, StoredCall], spec: MatchSpec) -> tuple[int, int, bool]:
    """Tokens of prompts and answers of the calls to be sent, and whether they were measured."""
    told = [c.usage for c in answered.values() if c.usage and not c.usage.get("estimated", True)]
    if len(told) >= FEW:
        prompt = float(np.mean([u.get("prompt", 0) for u in told]))
        completion = float(np.mean([u.get("completion", 0) for u in told]))
        return round(prompt * len(new)), round(completion * len(new)), True
    return sum(sizes[k] for k in new), spec.tokens * len(new), False


def _seconds(new: int, answered: Mapping[str, StoredCall], at_once: int) -> float | None:
    """Time of the calls, so many at once, by those that were answered."""
    took = [c.latency for c in answered.values() if c.status == "done"]
    return new * float(np.median(took)) / at_once if len(took) >= FEW else None


def _tokens(units: Units, unit: int, question: Question, crops: CropSettings) -> int:
    """Estimated tokens of one prompt."""
    image = units.detections.images[int(units.image[unit])]
    w, h = (image.width, image.height) if image.width and image.height else (crops.frame, crops.frame * 3 // 4)
    scale = min(1.0, crops.frame / max(w, h))
    pixels = w * h * scale**2
    if question.box is not None:
        x1, y1, x2, y2 = question.box
        bw, bh = max(1, x2 - x1) * crops.margin, max(1, y2 - y1) * crops.margin
        zoom = min(crops.most, max(crops.least, max(bw, bh))) / max(bw, bh)
        pixels += bw * bh * zoom**2
    words = slice_texts().match.system + words_of(question, "yes_no")
    return round(pixels / PATCH**2) + -(-size_of(words) // CHARACTERS_PER_TOKEN) + SPARE
