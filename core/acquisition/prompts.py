"""The texts that models are asked with here, read from YAML and checked, so that a typing mistake is found before a call is paid."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.digest import sha256_json
from core.documents import read_document
from core.settings import ASSETS

FOLDER = ASSETS / "prompts"


class _Texts(BaseModel):
    """Texts with just the blanks that their class names for them; a text that it does not name has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    blanks: ClassVar[dict[str, set[str]]] = {}

    @model_validator(mode="after")
    def _check_blanks(self) -> Any:
        for name, text in self:
            if isinstance(text, str):
                wanted = self.blanks.get(name, set())
                found = {blank for _, blank, _, _ in Formatter().parse(text) if blank is not None}
                if not text or found != wanted:
                    raise ValueError(f'"{name}" must be a text with the blanks {sorted(wanted)}; found {sorted(found)}')
        return self


class SceneDoc(_Texts):
    """How media are asked about."""

    blanks = {"clip": {"frames"}, "task": {"fields", "keys"}}
    system: str
    image: str
    clip: str
    task: str


class QuestionDoc(_Texts):
    """How a question is sorted."""

    blanks = {"task": {"fields", "examples", "question", "keys"}, "options": {"options"}, "example": {"question", "value"}}
    system: str
    task: str
    options: str
    examples: str
    example: str


class _Document(_Texts):
    name: str
    version: int = Field(ge=1)

    @property
    def sha256(self) -> str:
        """Digest of all texts."""
        return sha256_json(self.model_dump())


class TaggingDoc(_Document):
    """assets/prompts/tagging.yaml."""

    blanks = {"field": {"name", "label"}, "value": {"value", "definition"}, "bare_value": {"value"}}
    scene: SceneDoc
    question: QuestionDoc
    field: str
    value: str
    bare_value: str


class SynthesisDoc(_Document):
    """assets/prompts/synthesis.yaml."""

    blanks = {
        "text": {"conditions"},
        "condition": {"label", "value", "definition"},
        "bare_condition": {"label", "value"},
        "variant": {"k"},
    }
    text: str
    condition: str
    bare_condition: str
    variant: str
    size: str = Field(pattern=r"^[1-9][0-9]{1,4}x[1-9][0-9]{1,4}$")


D = TypeVar("D", bound=_Document)


@cache
def tagging_texts(path: Path = FOLDER / "tagging.yaml") -> TaggingDoc:
    """The texts for tagging.

    Raises:
        InputError: The file breaks its schema; every problem is listed.
    """
    return _read(TaggingDoc, path)


@cache
def synthesis_texts(path: Path = FOLDER / "synthesis.yaml") -> SynthesisDoc:
    """The texts for making images.

    Raises:
        InputError: The file breaks its schema; every problem is listed.
    """
    return _read(SynthesisDoc, path)


def _read(kind: type[D], path: Path) -> D:
    named = f'The prompts in "{path.name}"'
    return read_document(path.read_text(encoding="utf-8"), kind, f"{named} are not valid YAML", f"{named} break their schema.")
