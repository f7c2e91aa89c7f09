"""The texts that models are asked with here, read from YAML and checked, so that a typing mistake is found before a call is paid."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from core.documents import Blanks, TextDocument, Texts, read_texts
from core.settings import ASSETS

FOLDER = ASSETS / "prompts"


class SceneDoc(Texts):
    """How media are asked about."""

    blanks: ClassVar[Blanks] = {"clip": {"frames"}, "task": {"fields", "keys"}}
    system: str
    image: str
    clip: str
    task: str


class QuestionDoc(Texts):
    """How a question is sorted."""

    blanks: ClassVar[Blanks] = {
        "task": {"fields", "examples", "question", "keys"},
        "options": {"options"},
        "example": {"question", "value"},
    }
    system: str
    task: str
    options: str
    examples: str
    example: str


class TaggingDoc(TextDocument):
    """assets/prompts/tagging.yaml."""

    blanks: ClassVar[Blanks] = {"field": {"name", "label"}, "value": {"value", "definition"}, "bare_value": {"value"}}
    scene: SceneDoc
    question: QuestionDoc
    field: str
    value: str
    bare_value: str


class SynthesisDoc(TextDocument):
    """assets/prompts/synthesis.yaml."""

    blanks: ClassVar[Blanks] = {
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


@cache
def tagging_texts(path: Path = FOLDER / "tagging.yaml") -> TaggingDoc:
    """The texts for tagging.

    Raises:
        InputError: The file breaks its schema; every problem is listed.
    """
    return read_texts(TaggingDoc, path)


@cache
def synthesis_texts(path: Path = FOLDER / "synthesis.yaml") -> SynthesisDoc:
    """The texts for making images.

    Raises:
        InputError: The file breaks its schema; every problem is listed.
    """
    return read_texts(SynthesisDoc, path)
