"""What is evaluated and what came of it: one question about one or more images; lines of two files of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Status = Literal["scored", "unscored", "failed", "blocked"]
"""unscored: an answer that nobody could judge; failed: no answer; blocked: refused by the server's content filter."""
ScoredBy = Literal["shortcut", "judge", "person", "imported", ""]
"""shortcut: the letter stood in the answer; imported: the score came with the result."""


@dataclass(frozen=True)
class Item:
    """One question to the model under test; a line of normalized_bundle.jsonl.

    Attributes:
        id: That of the candidate that it comes from.
        images: Paths or URLs, in order.
        question: Text.
        options: Of an MCQ, without letters; () for an open question.
        answer: Right answer; the letter for an MCQ.
        qa_type: "MCQ" or "VQA".
        qa_origin: "dataset" or "template".
        source: "datastore" or "synthetic".
        requested: Requested slice.
        realised: Slice that it shows, None if not fully known.
        verdict: Fidelity: only "valid" counts as evidence.
        dataset: Where it comes from.
        image_sha256: Of each image, "" where not known.
        root: Folder that relative paths start from, "" for the present one; of this machine, so it is never written.
    """

    id: str
    images: tuple[str, ...]
    question: str
    options: tuple[str, ...]
    answer: str
    qa_type: Literal["MCQ", "VQA"]
    requested: Mapping[str, str]
    realised: Mapping[str, str] | None
    verdict: str
    source: str = "datastore"
    qa_origin: str = "dataset"
    dataset: str = ""
    image_sha256: tuple[str, ...] = ()
    root: str = field(default="", compare=False)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data, the same on every machine."""
        return {k: v for k, v in asdict(self).items() if k != "root"}


@dataclass(frozen=True)
class Result:
    """What came of one item; a line of eval_results.jsonl.

    Attributes:
        item: The item.
        key: Content hash of the call to the model.
        status: What became of it.
        score: 1 right, 0 wrong, None unless scored.
        scored_by: Who judged.
        response: The model's answer as it came.
        choice: Letter that was read from it, "" if none.
        judgement: The judge's answer as it came, "" if it was not asked.
        why: Why it is not scored, or how it was, in words.
        usage: Tokens of model and judge: prompt, completion, estimated.
    """

    item: Item
    key: str
    status: Status
    score: float | None
    scored_by: ScoredBy
    response: str
    choice: str = ""
    judgement: str = ""
    why: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data; holds no times, so that a replay is byte-equal."""
        return asdict(self) | {"item": self.item.as_dict()}
