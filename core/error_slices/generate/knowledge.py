"""Hypotheses from what a language model knows of a task: the inherent difficulty (GH-ESD, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.error_slices.dedupe import Embed
from core.error_slices.generate.asking import JsonAsk, ask_all, closed, list_of, needs_list
from core.error_slices.generate.statements import Generated, LeftOut, hypothesis_of, tell_apart
from core.error_slices.hypotheses import CATEGORIES, Hypothesis
from core.error_slices.vision.ask import quotable
from core.error_slices.vision.prompts import slice_texts
from core.errors import InputError
from core.llm import Ask, Endpoint
from core.llm.pace import Limits
from core.storage.store import Store

TOKENS = 6_000
"""Limit of an answer, room for reasoning included."""
MOST = 60
LONGEST_TASK = 4_000
_SHOWN = 60
"""Known statements that the model is shown at most."""
_TEXT = {"type": "string"}


def propose_knowledge(
    store: Store,
    endpoint: Endpoint,
    task: str,
    class_names: Sequence[str],
    *,
    known: Sequence[Hypothesis] = (),
    count: int = 20,
    embed: Embed | None = None,
    limits: Limits | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Generated:
    """Ask a language model under which visual conditions a detector may fail.

    Args:
        store: Keeps the answer.
        endpoint: The model; it sees no picture and no result.
        task: What the detector is used for, in the user's words.
        class_names: Classes of the data.
        known: Hypotheses that are there already; what says nearly the same as one is left out, and told.
        count: Hypotheses at most.
        embed: Encoder of texts, to tell paraphrases; without it only words are compared.
        limits: Pace and budget.
        cancel: Asked now and then; True stops.

    Returns:
        Hypotheses of origin "knowledge". They saw no error of this data, so they may be tested on all of it.

    Raises:
        InputError: The task or the number cannot be used, or there is no class.
    """
    task = " ".join(task.split())
    if not task or len(task) > LONGEST_TASK:
        raise InputError(f"Describe the task in 1 to {LONGEST_TASK:,} characters; got {len(task):,}.")
    if not 1 <= count <= MOST:
        raise InputError(f"The number of hypotheses lies between 1 and {MOST}; got {count}.")
    if not class_names:
        raise InputError("The data has no classes; import detections with classes first.")
    asked = ask_all(
        store,
        endpoint,
        [JsonAsk("slice_knowledge", _ask(task, class_names, known, count), check=needs_list("hypotheses"))],
        limits=limits,
        cancel=cancel,
    )
    answer = asked.answers[0]
    left_out: list[LeftOut] = []
    found: list[Hypothesis] = []
    entries = [] if answer is None else list_of(answer, "hypotheses")
    for entry in entries:
        made = hypothesis_of(entry, "knowledge", class_names)
        if isinstance(made, Hypothesis):
            found.append(made)
        else:
            left_out.append(made)
    new, twins = tell_apart(found, known, embed)
    left_out += [*twins, *(LeftOut(h.text, f"More than {count} were proposed.") for h in new[count:])]
    said = asked.why[0] or asked.stopped
    notes = (
        f"{endpoint.name} was told the task and {len(class_names)} classes, and proposed {len(entries)} conditions.",
        *((f"It gave no hypotheses: {said}.",) if answer is None else ()),
    )
    return Generated(new[:count], tuple(left_out), notes, asked.calls, asked.usage, asked.cost, asked.stopped)


def _ask(task: str, class_names: Sequence[str], known: Sequence[Hypothesis], count: int) -> Ask:
    texts = slice_texts().knowledge
    shown = " | ".join(h.text for h in known[:_SHOWN])
    words = texts.task.format(
        classes=", ".join(map(quotable, class_names)),
        task=task.replace(">>>", "> > >"),  # so that the text cannot end its own marks
        count=count,
        categories=", ".join(CATEGORIES.values()),
        known=texts.known.format(statements=shown) if shown else "",
    )
    entry = {
        "text": _TEXT,
        "error": {"type": "string", "enum": ["FN", "FP", "LOC"]},
        "category": {"type": "string", "enum": list(CATEGORIES.values())},
        "classes": {"type": "array", "items": _TEXT},
        "rationale": _TEXT,
    }
    schema = closed({"hypotheses": {"type": "array", "items": closed(entry)}})
    messages = [{"role": "system", "content": texts.system}, {"role": "user", "content": words}]
    return Ask(messages, TOKENS, schema=("hypotheses", schema))
