"""What acquisition hands on: media with questions, each beside the slice that was asked for (SliceNav, appendix J)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Flag = Literal["match", "missing", "ambiguous", "mismatch"]
Verdict = Literal["valid", "partial", "invalid"]
"""valid: every dimension matches; partial: something is missing or ambiguous; invalid: something contradicts the slice."""
Source = Literal["datastore", "synthetic"]
QaOrigin = Literal["dataset", "template", ""]
"""Where question and answer come from: the dataset, a template over the tags, or there is no question yet."""


@dataclass(frozen=True)
class Candidate:
    """One sample that may test one requested slice; a line of dataset_retrieval.jsonl.

    Attributes:
        id: Stable: digest of requested slice, media and question.
        source: Found, or made.
        path: Path or URL of the media, "" if the manifest names none.
        media_sha256: Of the content, "" if not known.
        dataset, split, licence, group: Where it comes from; the group is the video or log that it belongs to.
        caption: Of the media.
        requested: Requested value per dimension.
        tags: What is known of it, per dimension: a value, several (ambiguous), or None.
        question, options, answer: "" and () where there is none. The answer of an MCQ is the option's letter.
        qa_type: "MCQ", "VQA", or "".
        qa_origin: Where the question comes from.
        fidelity: Flag per dimension.
        verdict: Over all dimensions.
        matches: Dimensions that match.
        similarity: Cosine of caption and slice, None if not computed.
        made_by: Prompt, seed and model of a synthetic one.
        confirmed: Who settled a dimension since it was found or made: "people" or "tagger".
        synthetic: Whether the media are made up: made for this slice, or said to be so by the manifest.
    """

    id: str
    source: Source
    path: str
    requested: Mapping[str, str]
    tags: Mapping[str, str | tuple[str, ...] | None]
    fidelity: Mapping[str, Flag]
    verdict: Verdict
    matches: int
    media_sha256: str = ""
    dataset: str = ""
    split: str = ""
    licence: str = ""
    group: str = ""
    caption: str = ""
    question: str = ""
    options: tuple[str, ...] = ()
    answer: str = ""
    qa_type: Literal["MCQ", "VQA", ""] = ""
    qa_origin: QaOrigin = ""
    similarity: float | None = None
    made_by: Mapping[str, Any] = field(default_factory=dict)
    confirmed: Mapping[str, str] = field(default_factory=dict)
    synthetic: bool = False

    @property
    def realised(self) -> dict[str, str] | None:
        """The slice that it really shows, None while a dimension is unknown or ambiguous."""
        if any(not isinstance(v, str) for v in self.tags.values()):
            return None
        return {k: str(v) for k, v in self.tags.items()}

    def as_dict(self) -> dict[str, Any]:
        """The candidate as JSON-ready data, with the realised slice beside the requested one."""
        return asdict(self) | {"realised": self.realised}
