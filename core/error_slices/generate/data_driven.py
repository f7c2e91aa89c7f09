"""Hypotheses from the data: grounded captions of the discovery half, attributes, values, statements (GH-ESD, section 3.2).

They are born from errors, so testing them on the same errors would be circular: they are marked to be tested on the other half of the
images alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from core.error_slices.dedupe import Embed
from core.error_slices.generate.asking import Asked, JsonAsk, ask_all, list_of, needs_list, number_of
from core.error_slices.generate.captions import Captions, CaptionSample, ask_attributes, ask_captions, caption_sample
from core.error_slices.generate.statements import Generated, LeftOut, category_of, flaw_of, hypothesis_id, tell_apart
from core.error_slices.generate.values import ValueFound, ValueRules, in_words, merged_names, recurring_values
from core.error_slices.hypotheses import CATEGORIES, Category, Hypothesis
from core.error_slices.population import population
from core.error_slices.units import ErrorType, Units
from core.error_slices.vision.options import MatchOptions, limits_of
from core.error_slices.vision.prompts import slice_texts
from core.error_slices.vocabulary import ANY, load_vocabulary
from core.errors import InputError
from core.llm import Ask, Endpoint, Usage
from core.storage.store import Store

TEXT_TOKENS = 6_000
LEAST_CAPTIONS = 10
"""Captions below which values cannot be told from chance."""


@dataclass(frozen=True)
class DataOptions:
    """How hypotheses are found in the data.

    Attributes:
        error: Type of error.
        classes: Names of classes or groups, ("any",) for all.
        units: Units that are captioned at most.
        per_image: Of one image at most.
        attributes: By which they are described at most.
        count: Hypotheses at most.
        rules: Which values are kept.
        seed: Of the sample.
    """

    error: ErrorType = "FN"
    classes: tuple[str, ...] = (ANY,)
    units: int = 200
    per_image: int = 3
    attributes: int = 10
    count: int = 20
    rules: ValueRules = field(default_factory=ValueRules)
    seed: int = 0


@dataclass
class _Bill:
    """Calls of all steps."""

    calls: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    stopped: str = ""

    def add(self, asked: Asked) -> None:
        self.calls.update(asked.calls)
        self.usage += asked.usage
        self.cost = None if self.cost is None or asked.cost is None else self.cost + asked.cost
        self.stopped = self.stopped or asked.stopped


def sample_of_discovery(units: Units, options: DataOptions) -> tuple[CaptionSample, list[str]]:
    """The units to be captioned, and the names of the classes that they may have.

    Raises:
        InputError: No class fits, or the discovery half has no errors, no correct units or no images.
    """
    names = [c.name for c in units.detections.classes]
    classes = load_vocabulary().members(options.classes, names)
    if not classes:
        raise InputError(f"The data has no class {', '.join(options.classes)}; it has {', '.join(names[:30])}.")
    everyone = population(units, options.error, classes, half="discovery")
    sample = caption_sample(units, everyone, options.units, options.per_image, options.seed)
    if not sample.error.any() or sample.error.all():
        raise InputError(
            f"The discovery half has {int((everyone.loss > 0.5).sum())} errors and {int((everyone.loss <= 0.5).sum())} correct units of "
            f"this type and these classes; {len(sample.units)} of them have an image. Both kinds are needed."
        )
    return sample, [names[i] for i in sorted(classes)]


def propose_from_data(
    store: Store,
    seer: Endpoint,
    writer: Endpoint,
    units: Units,
    task: str,
    *,
    known: Sequence[Hypothesis] = (),
    options: DataOptions | None = None,
    embed: Embed | None = None,
    cancel: Callable[[], bool] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Generated:
    """Look for conditions that recur among the errors of the discovery half.

    Args:
        store: Keeps the answers.
        seer: Vision model; describes single units and is not told which are errors.
        writer: Language model; names attributes, merges values, writes statements.
        units: All units; only those of the discovery half are looked at.
        task: What the detector is used for, in the user's words.
        known: Hypotheses that are there already.
        options: How.
        embed: Encoder of texts, to tell paraphrases.
        cancel: Asked now and then; True stops.
        progress: Told captions done and in all.

    Returns:
        Hypotheses of origin "data", to be tested on the verification half alone.

    Raises:
        InputError: No class fits, or the discovery half has no errors, no correct units or no images.
    """
    options = options or DataOptions()
    sample, class_names = sample_of_discovery(units, options)
    bill = _Bill()
    attributes, asked = ask_attributes(store, writer, " ".join(task.split()), class_names, options.attributes, cancel=cancel)
    bill.add(asked)
    if not attributes:
        return _none(bill, f"{writer.name} named no attributes: {asked.why[0] or asked.stopped}.")
    captions = ask_captions(
        store, seer, units, sample, attributes, limits=limits_of(seer, MatchOptions()), cancel=cancel, progress=progress
    )
    bill.add(captions.asked)
    captioned = sum(v is not None for v in captions.values)
    notes = [
        f"{captioned} of {len(sample.units)} sampled units of the discovery half were described by {len(attributes)} attributes "
        f"({', '.join(attributes)}); {int(sample.error.sum())} of them are errors.",
        *(f"{n} have no description: {why}." for why, n in captions.why.items()),
    ]
    if captioned < LEAST_CAPTIONS or bill.stopped:
        return _none(
            bill, *notes, f"That is too few to go on; {LEAST_CAPTIONS} are needed." if captioned < LEAST_CAPTIONS else bill.stopped
        )
    found = recurring_values(captions, sample, options.rules, _merged(store, writer, captions, bill, cancel))
    kept = [f for f in found if not f.why][: options.count]
    notes.append(f"{len(found)} values were named; {sum(not f.why for f in found)} recur and go with errors.")
    left_out = [LeftOut(f"{f.attribute}: {f.value}", f.why) for f in found if f.why]
    texts = _statements(store, writer, kept, bill, cancel) if kept else {}
    made = []
    for i, f in enumerate(kept):
        text, category = texts.get(i, (_plain_statement(f), _plain_category(f)))
        made.append(_hypothesis(text, category, f, options))
    new, twins = tell_apart(made, known, embed)
    return Generated(new, (*twins, *left_out), tuple(notes), dict(bill.calls), bill.usage, bill.cost, bill.stopped)


def _none(bill: _Bill, *notes: str) -> Generated:
    return Generated((), (), notes, dict(bill.calls), bill.usage, bill.cost, bill.stopped)


def _merged(
    store: Store, writer: Endpoint, captions: Captions, bill: _Bill, cancel: Callable[[], bool] | None
) -> dict[tuple[str, str], str]:
    """Values that mean the same, as the writer says; nothing is merged where it gives no answer."""
    counted: dict[str, Counter[str]] = {a: Counter() for a in captions.attributes}
    for values in captions.values:
        for a, v in (values or {}).items():
            counted[a][v] += 1
    seen = {a: [v for v, _ in c.most_common(60)] for a, c in counted.items() if len(c) > 1}
    if not seen:
        return {}
    texts = slice_texts()
    listed = "\n".join(f"{a}: {', '.join(vs)}" for a, vs in seen.items())
    messages = [{"role": "system", "content": texts.knowledge.system}, {"role": "user", "content": texts.merge.task.format(values=listed)}]
    asked = ask_all(store, writer, [JsonAsk("slice_merge", Ask(messages, TEXT_TOKENS))], cancel=cancel)
    bill.add(asked)
    return merged_names(asked.answers[0], seen)


def _statements(
    store: Store, writer: Endpoint, kept: Sequence[ValueFound], bill: _Bill, cancel: Callable[[], bool] | None
) -> dict[int, tuple[str, Category]]:
    """Statements by the place of their value; a value without a usable one is missing."""
    texts = slice_texts()
    pairs = "\n".join(f"{i}. {f.attribute}: {f.value}" for i, f in enumerate(kept, 1))
    words = texts.statements.task.format(pairs=pairs, categories=", ".join(CATEGORIES.values()))
    messages = [{"role": "system", "content": texts.knowledge.system}, {"role": "user", "content": words}]
    asked = ask_all(store, writer, [JsonAsk("slice_statements", Ask(messages, TEXT_TOKENS), check=needs_list("statements"))], cancel=cancel)
    bill.add(asked)
    out: dict[int, tuple[str, Category]] = {}
    for entry in [] if asked.answers[0] is None else list_of(asked.answers[0], "statements"):
        number = number_of(entry.get("number")) if isinstance(entry, dict) else None
        if number is None:
            continue
        i, text, category = number - 1, " ".join(str(entry.get("text", "")).split()), category_of(entry.get("category"))
        if 0 <= i < len(kept) and not flaw_of(text):
            out.setdefault(i, (text, category or _plain_category(kept[i])))
    return out


def _plain_statement(f: ValueFound) -> str:
    return f'Seen by eye, the object or what surrounds it is described by "{f.attribute}: {f.value}".'


def _plain_category(f: ValueFound) -> Category:
    context = ("hidden", "behind", "background", "occlu", "surround", "weather", "scene", "next", "inside", "crowd")
    return "contextual_interference" if any(w in f.attribute for w in context) else "intrinsic_difficulty"


def _hypothesis(text: str, category: Category, f: ValueFound, options: DataOptions) -> Hypothesis:
    why = (
        f'Described as "{f.attribute}: {f.value}" on a sample of the discovery half. Weighted error rate {in_words(f.inside)}, '
        f"of the others {in_words(f.outside)}."
    )
    return Hypothesis(
        hypothesis_id("data", text, options.error, options.classes),
        text,
        options.error,
        category,
        options.classes,
        None,
        "data",
        rationale=why,
        half_only=True,
    )
