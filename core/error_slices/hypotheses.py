"""Hypotheses: visual conditions under which a model may fail, each with its type of error, classes and matcher (GH-ESD, section 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from core.digest import sha256_json
from core.error_slices.units import ErrorType

Category = Literal["semantic_confusion", "contextual_interference", "intrinsic_difficulty"]
CATEGORIES: Mapping[Category, str] = {
    "semantic_confusion": "semantic confusion",
    "contextual_interference": "contextual interference",
    "intrinsic_difficulty": "intrinsic visual difficulty",
}
"""The three categories of GESD (GH-ESD, section 5.1)."""
Origin = Literal["library", "knowledge", "data", "own"]
ORIGINS: Mapping[Origin, str] = {
    "library": "library",
    "knowledge": "a model's knowledge of the task",
    "data": "captions of this data",
    "own": "written by a person",
}


@dataclass(frozen=True)
class OfflineMatcher:
    """A matcher that needs no model.

    Attributes:
        name: In the registry of matchers.
        params: Its parameters.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Hypothesis:
    """A visual condition that can be said to hold, or not, for one marked box.

    Attributes:
        id: Unique in its set, such as "iv_small".
        text: A plain statement that can be answered yes or no for one box.
        error: Type of error; it decides which units are tested and with what loss.
        category: One of the three of GESD.
        classes: Names of classes or of class groups; ("any",) for all.
        offline: Its matcher without a model, None where only a vision model can tell.
        origin: Where it comes from.
        note: What a reader should know, "" for nothing.
        rationale: Why it was proposed, "" for nothing.
        half_only: Born from the errors of the discovery half, so it is tested on the verification half alone.
    """

    id: str
    text: str
    error: ErrorType
    category: Category
    classes: tuple[str, ...] = ("any",)
    offline: OfflineMatcher | None = None
    origin: Origin = "library"
    note: str = ""
    rationale: str = ""
    half_only: bool = False

    @property
    def digest(self) -> str:
        """Of what is asked: text, type of error and classes."""
        return sha256_json([self.text, self.error, sorted(self.classes)])

    def to_json(self) -> dict[str, Any]:
        """The hypothesis as JSON values."""
        return {
            "id": self.id,
            "text": self.text,
            "error": self.error,
            "category": self.category,
            "classes": list(self.classes),
            "offline": None if self.offline is None else {"matcher": self.offline.name, "params": dict(self.offline.params)},
            "origin": self.origin,
            "note": self.note,
            "rationale": self.rationale,
            "half_only": self.half_only,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Hypothesis:
        """The reverse of `to_json`, for what this program wrote; files of people go through `library`."""
        offline = data["offline"]
        return cls(
            id=data["id"],
            text=data["text"],
            error=data["error"],
            category=data["category"],
            classes=tuple(data["classes"]),
            offline=None if offline is None else OfflineMatcher(offline["matcher"], offline["params"]),
            origin=data["origin"],
            note=data["note"],
            rationale=data["rationale"],
            half_only=data["half_only"],
        )
