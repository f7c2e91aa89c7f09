"""What is evaluated with whom, how far it is, and what it came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from core.digest import sha256_json
from core.errors import InputError
from core.evaluation.choices import LETTERS
from core.evaluation.items import Item, Result
from core.evaluation.prompts import Prompts
from core.llm import Endpoint, Usage
from core.llm.calls import call_key
from core.llm.pace import Limits


@dataclass(frozen=True)
class Decode:
    """Parameters of decoding; part of the key of a call.

    Attributes:
        model_tokens: Limit of an answer of the model under test, its reasoning included.
        judge_tokens: Limit of an answer of the judge.
        temperature, seed: Of both.
    """

    model_tokens: int = 1_024
    judge_tokens: int = 1_024
    temperature: float = 0.0
    seed: int = 0

    def of(self, who: Literal["model", "judge"]) -> dict[str, Any]:
        """The parameters of one side, JSON-ready."""
        tokens = self.model_tokens if who == "model" else self.judge_tokens
        return {"max_tokens": tokens, "temperature": self.temperature, "seed": self.seed}


@dataclass(frozen=True)
class Event:
    """How far an evaluation is.

    Attributes:
        done, total: Items.
        counts: Items by status.
        in_flight: Calls on their way.
        concurrency: Calls that may be on their way to the model under test.
        calls, cached, repeated: Calls sent, answers found, calls sent again since a process was ended in the middle of them.
        usage: Tokens.
        cost: None where no price is named.
        last: The result that came last.
    """

    done: int
    total: int
    counts: Mapping[str, int]
    in_flight: int
    concurrency: int
    calls: int
    cached: int
    repeated: int
    usage: Usage
    cost: float | None
    last: Result | None


@dataclass(frozen=True)
class Outcome:
    """What an evaluation came to.

    Attributes:
        results: One per item that was finished, in the order of the items.
        duplicates: Items left out as they stood there twice.
        stopped: Why it did not come to its end, "" if it did.
        why: Kind of that reason.
        calls, cached, repeated, retries: Of calls, see `Event`; retries after failures.
        waited: Seconds that servers asked to wait.
        adapted: Parameters that a server refused, in words.
        usage, cost: Of this run alone; what was found costs nothing again.
    """

    results: tuple[Result, ...]
    duplicates: int
    stopped: str
    why: str
    calls: int
    cached: int
    repeated: int
    retries: int
    waited: float
    adapted: tuple[str, ...]
    usage: Usage
    cost: float | None


@dataclass(frozen=True)
class Job:
    """What to evaluate, with whom.

    Attributes:
        run_id: Results are kept under it.
        items: Questions.
        model: Under test; None if the answers are there already.
        judge: None leaves unscored what the shortcut cannot read.
        answers: Answers by item that were given elsewhere.
        root: Folder of relative paths of images.
        limits: Pace and budget.
        decode: Parameters of decoding.
    """

    run_id: str
    items: Sequence[Item]
    model: Endpoint | None
    judge: Endpoint | None
    answers: Mapping[str, str] = field(default_factory=dict)
    root: Path | None = None
    limits: Limits = field(default_factory=Limits)
    decode: Decode = Decode()


def model_key(model: Endpoint, prompts: Prompts, item: Item, shas: Sequence[str], decode: Decode) -> str:
    """Key of the call to the model under test for an item."""
    content = {"question": item.question, "options": list(item.options)}
    return call_key(model, "vlm", prompts.model_sha, content, shas, decode.of("model"))


def answer_key(item: Item, answer: str) -> str:
    """Key of an answer that was given elsewhere; its whole item is part of it, for ids and short questions repeat between files."""
    return sha256_json({"item": item.as_dict(), "answer": answer})


def flaw_of(item: Item) -> str:
    """Why an item cannot be evaluated, "" if it can."""
    if not item.question.strip():
        return "it has no question"
    if not item.answer.strip():
        return "it has no right answer"
    if item.qa_type == "MCQ" and len(item.options) < 2:
        return "a multiple-choice question needs at least two options"
    if len(item.options) > len(LETTERS):
        return f"it has {len(item.options)} options; at most {len(LETTERS)} can be lettered"
    if item.options and item.answer not in tuple(LETTERS[: len(item.options)]):
        return f'its right answer "{item.answer[:40]}" is not the letter of an option'
    return ""


def unique(items: Sequence[Item]) -> tuple[list[Item], int]:
    """Items without exact repeats, and how many there were.

    Raises:
        InputError: One id names two different items.
    """
    found: dict[str, Item] = {}
    repeats = 0
    for item in items:
        other = found.setdefault(item.id, item)
        if other is not item:
            if other != item:
                raise InputError(f'Two different items are called "{item.id[:80]}"; every item needs an id of its own.')
            repeats += 1
    return list(found.values()), repeats
