"""The texts that models are asked with about error slices (GH-ESD, sections 3.2 and 3.3; own wording)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import ClassVar

from core.documents import Blanks, TextDocument, Texts, read_texts
from core.settings import ASSETS

PROMPTS = ASSETS / "prompts" / "error_slices.yaml"


class MatchTexts(Texts):
    """One statement about one box."""

    blanks: ClassVar[Blanks] = {
        "gt": {"class_name"},
        "pred": {"class_name"},
        "seg": {"class_name"},
        "box": {"statement"},
        "frame": {"statement"},
    }
    system: str
    gt: str
    pred: str
    seg: str
    image: str
    box: str
    frame: str
    yes_no: str
    no_yes: str
    verbalised: str


class ProbeTexts(Texts):
    """A question whose answer is known."""

    system: str
    question: str


class KnowledgeTexts(Texts):
    """Conditions from what a model knows."""

    blanks: ClassVar[Blanks] = {"task": {"classes", "task", "count", "categories", "known"}, "known": {"statements"}}
    system: str
    task: str
    known: str


class AttributeTexts(Texts):
    """Attributes that captions follow."""

    blanks: ClassVar[Blanks] = {"task": {"classes", "task", "count"}}
    task: str


class CaptionTexts(Texts):
    """One object described by attributes."""

    blanks: ClassVar[Blanks] = {"task": {"attributes"}}
    system: str
    task: str


class MergeTexts(Texts):
    """Values that mean the same."""

    blanks: ClassVar[Blanks] = {"task": {"values"}}
    task: str


class StatementTexts(Texts):
    """Attribute and value as a statement."""

    blanks: ClassVar[Blanks] = {"task": {"pairs", "categories"}}
    task: str


class RelevanceTexts(Texts):
    """Whether a description means a known condition."""

    blanks: ClassVar[Blanks] = {"task": {"found", "known"}}
    system: str
    task: str


class SliceTexts(TextDocument):
    """assets/prompts/error_slices.yaml."""

    match: MatchTexts
    probe: ProbeTexts
    knowledge: KnowledgeTexts
    attributes: AttributeTexts
    caption: CaptionTexts
    merge: MergeTexts
    statements: StatementTexts
    relevance: RelevanceTexts


@cache
def slice_texts(path: Path = PROMPTS) -> SliceTexts:
    """The texts.

    Raises:
        InputError: The file breaks its schema; every problem is listed.
    """
    return read_texts(SliceTexts, path)
