"""The questions of the reliability study (SliceNav, appendix G), as data."""

from __future__ import annotations

from functools import cache

import yaml
from pydantic import BaseModel, ConfigDict, Field

from core.settings import ASSETS


class Question(BaseModel):
    """One of the questions.

    Attributes:
        id: Number in the paper.
        text: As it is asked.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: int = Field(ge=1)
    text: str = Field(min_length=1)


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")
    version: int = Field(ge=1)
    questions: tuple[Question, ...] = Field(min_length=1)


@cache
def study_questions() -> tuple[Question, ...]:
    """The 15 questions in the order of the paper."""
    text = (ASSETS / "controller" / "questions.yaml").read_text(encoding="utf-8")
    return _Document.model_validate(yaml.safe_load(text)).questions
