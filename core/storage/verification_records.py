"""What the store tells of tags and of people's answers: plain records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

from core.digest import sha256_json

Answer = Literal["yes", "no", "unsure"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)
"""To the question whether a value is right for an image or clip."""

CATEGORY = "question_category"
"""The dimension that is about a question, not about media."""
QUESTION_ANSWER = "question_answer"
"""Attribute of the statement that question and answer fit the media; its value is the digest of both."""


@dataclass(frozen=True)
class Statement:
    """Something that may be true of media: a value of an attribute.

    Attributes:
        media: Content hash, or what stands for it; of the category of a question what stands for both, see `asked_key`.
        attribute: A dimension, or `QUESTION_ANSWER`.
        value: Its value.
    """

    media: str
    attribute: str
    value: str

    @property
    def key(self) -> str:
        """Digest under which its answers are found."""
        return sha256_json([self.media, self.attribute, self.value])


def asked_key(media: str, question: str) -> str:
    """What stands for a question about media, so that what is said of its category says nothing of another question's."""
    return sha256_json([media, question]) if question else media


@dataclass(frozen=True)
class AnswerEvent:
    """One row of the list of answers.

    Attributes:
        statement: What was asked.
        who: Who answered.
        number: 1 for this person's first row on the statement.
        answer: None where it takes an answer back and there was none before.
        batch: Rows that were written together share it.
        undoes: Batch that it takes back, "" if it is an answer.
        queue_id: Queue in which it was given, "" if in none.
        at: UTC.
    """

    statement: Statement
    who: str
    number: int
    answer: Answer | None
    batch: str
    undoes: str
    queue_id: str
    at: datetime


@dataclass(frozen=True)
class Written:
    """What became of some answers.

    Attributes:
        new: Rows that were added.
        same: Answers that the person had given already.
        late: Answers that were dropped, since they answered a state that is over: a double click, or another tab.
    """

    new: int
    same: int
    late: int


@dataclass(frozen=True)
class QueueItem:
    """An image or clip that people are asked about.

    Attributes:
        media: Content hash, or what stands for it.
        paths: Images, in order.
        tags: Value per dimension that the tagger gave; where it gave none, or several, there is nothing to judge.
        question, options, answer: Of the question that comes with it, "" and () if none.
        caption: In words.
    """

    media: str
    paths: tuple[str, ...]
    tags: Mapping[str, str]
    question: str = ""
    options: tuple[str, ...] = ()
    answer: str = ""
    caption: str = ""

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What is asked about it, question and answer last."""
        asked = asked_key(self.media, self.question)
        out = [Statement(asked if d == CATEGORY else self.media, d, v) for d, v in self.tags.items()]
        if self.question:
            out.append(Statement(self.media, QUESTION_ANSWER, sha256_json([self.question, list(self.options), self.answer])))
        return tuple(out)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return asdict(self) | {"tags": dict(self.tags)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> QueueItem:
        """The item that `as_dict` wrote."""
        return cls(**{**data, "paths": tuple(data["paths"]), "options": tuple(data["options"])})


@dataclass(frozen=True)
class SavedQueue:
    """What is known of a queue without its items.

    Attributes:
        id: Eight hex digits.
        name: Unique among those that are not deleted.
        odd_hash: ODD whose values are judged.
        manifest: What it was drawn from and how (JSON).
        size: Items.
        created_at: UTC.
        deleted: Whether it lies in the bin.
    """

    id: str
    name: str
    odd_hash: str
    manifest: dict[str, Any]
    size: int
    created_at: datetime
    deleted: bool


@dataclass(frozen=True)
class TagRecord:
    """What a model said of media.

    Attributes:
        key: Digest of all that was asked: media, ODD values, prompt, model and its parameters.
        media: Content hash, or what stands for it.
        odd_hash: ODD whose values were offered.
        model: Name under which the model counts.
        prompt_sha: Digest of the prompt's document.
        content: The tags, as the tagger wrote them (JSON).
        at: UTC, None before it is stored.
    """

    key: str
    media: str
    odd_hash: str
    model: str
    prompt_sha: str
    content: dict[str, Any] = field(default_factory=dict)
    at: datetime | None = None
