"""Hypotheses that models propose for a set of detections, and what asking them takes; a person looks at them before they are added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from core.error_slices.generate.captions import CAPTION_TOKENS
from core.error_slices.generate.data_driven import DataOptions, propose_from_data, sample_of_discovery
from core.error_slices.generate.knowledge import propose_knowledge
from core.error_slices.generate.statements import Generated
from core.error_slices.generate.templates import propose_by_templates
from core.error_slices.matching import make_units
from core.error_slices.units import ErrorType, Units
from core.error_slices.vocabulary import load_vocabulary
from core.errors import InputError
from core.llm import Endpoint, Role, Usage, endpoint_for
from core.llm.pace import IMAGE_TOKENS, cost_of
from core.operators.slice_match import vision_endpoint
from core.operators.slice_report import SliceSettings
from core.operators.slices import hypotheses_of, open_detections
from core.storage import Store

Source = Literal["knowledge", "data", "templates"]
SOURCES: dict[Source, str] = {
    "knowledge": "what a language model knows of the task",
    "data": "captions of this data by a vision model",
    "templates": "fixed sentences on what stands before what in this data; no model",
}
_TEXT_CALL = Usage(1_500, 1_500)
"""Tokens of a call without pictures, about."""


@dataclass(frozen=True)
class GenerationPlan:
    """What a proposal takes: a call more for each answer that cannot be read, since such a one is asked for once again.

    Attributes:
        source: Where the hypotheses come from.
        text_calls: Calls of the language model.
        picture_calls: Calls of the vision model.
        usage: Tokens, about.
        cost: None where a connection names no price, or prices are in several currencies.
        currency: Of the cost.
        models: Names of the models that will be asked.
    """

    source: Source
    text_calls: int
    picture_calls: int
    usage: Usage
    cost: float | None
    currency: str
    models: tuple[str, ...]


def plan_proposal(
    store: Store, set_id: str, source: Source, settings: SliceSettings | None = None, options: DataOptions | None = None
) -> GenerationPlan:
    """About what proposing hypotheses takes; sends nothing. Answers that are known cost nothing and are not taken off here.

    Raises:
        InputError: There is no such set, a model that is needed is not connected, or there is nothing to learn from.
    """
    _check(source)
    if source == "templates":
        return GenerationPlan(source, 0, 0, Usage(), 0.0, "", ())
    writer = writing_endpoint(store)
    if source == "knowledge":
        usage = Usage(_TEXT_CALL.prompt, _TEXT_CALL.completion, estimated=True)
        currency = "" if writer.price is None else writer.price.currency
        return GenerationPlan(source, 1, 0, usage, cost_of(usage, writer.price), currency, (writer.name,))
    seer = vision_endpoint(store)
    units = _units(store, set_id, settings)
    sample, _ = sample_of_discovery(units, options or DataOptions())
    pictures = len(sample.units)
    text = Usage(3 * _TEXT_CALL.prompt, 3 * _TEXT_CALL.completion, estimated=True)
    seen = Usage(pictures * (2 * IMAGE_TOKENS + 200), pictures * CAPTION_TOKENS // 10, estimated=True)
    costs = [cost_of(text, writer.price), cost_of(seen, seer.price)]
    currencies = {p.currency for p in (writer.price, seer.price) if p is not None}
    told = [c for c in costs if c is not None]
    cost = sum(told) if len(told) == 2 and len(currencies) == 1 else None
    names = tuple(dict.fromkeys((writer.name, seer.name)))
    return GenerationPlan(source, 3, pictures, text + seen, cost, next(iter(currencies), ""), names)


def propose_hypotheses(
    store: Store,
    set_id: str,
    source: Source,
    *,
    task: str = "",
    count: int = 20,
    settings: SliceSettings | None = None,
    options: DataOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Generated:
    """Propose hypotheses for a set; nothing is added to it. Those that a person takes go to `slices.add_hypotheses`.

    Args:
        store: The workspace.
        set_id: Of the detections.
        source: Where they come from.
        task: What the detector is used for; needed wherever a model is asked.
        count: Hypotheses at most.
        settings: They decide which units there are.
        options: How the data is looked at: type of error, classes, size of the sample.
        progress: Told captions done and in all, from another thread.
        cancel: Asked now and then; True stops.

    Raises:
        InputError: There is no such set, a model that is needed is not connected, the task is missing, or there is nothing to learn from.
    """
    _check(source)
    known = hypotheses_of(store, set_id)
    units = _units(store, set_id, settings)
    names = [c.name for c in units.detections.classes]
    options = options or DataOptions(count=count)
    if source == "knowledge":
        return propose_knowledge(store, writing_endpoint(store), task, names, known=known, count=count, cancel=cancel)
    if source == "data":
        if not task.strip():
            raise InputError("Say what the detector is used for; the attributes follow it.")
        seer, writer = vision_endpoint(store), writing_endpoint(store)
        return propose_from_data(store, seer, writer, units, task, known=known, options=options, cancel=cancel, progress=progress)
    classes = None if "any" in options.classes else load_vocabulary().members(options.classes, names)
    if classes is not None and not classes:
        raise InputError(f"The data has no class {', '.join(options.classes)}; it has {', '.join(names[:30])}.")
    error: ErrorType = "FP" if options.error == "FP" else "FN"
    return propose_by_templates(units, known=known, error=error, classes=classes, most=count, rules=options.rules)


def writing_endpoint(store: Store) -> Endpoint:
    """The language model that writes hypotheses: the one of the controller.

    Raises:
        InputError: None is connected.
    """
    role: Role = "llm"
    found = endpoint_for(role, store)
    if found is None:
        raise InputError(
            "No language model is connected. Name one under Connections (the one of the controller), or with ODDYSSEY_LLM_BASE_URL and "
            "ODDYSSEY_LLM_MODEL."
        )
    return found


def _units(store: Store, set_id: str, settings: SliceSettings | None) -> Units:
    return make_units(open_detections(store, set_id), (settings or SliceSettings()).units)


def _check(source: str) -> None:
    if source not in get_args(Source):
        raise InputError(f'Hypotheses come from {", ".join(get_args(Source))}; got "{source}".')
