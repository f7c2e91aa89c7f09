"""Questions for samples that bring none: templates over the tags, so that the right answer is known (marked as such)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.acquisition.fidelity import Tag, flag_of
from core.acquisition.normalise import CATEGORY, LETTERS
from core.digest import sha256_json
from core.documents import read_document
from core.errors import Problem
from core.odd import Odd
from core.settings import ASSETS

TEMPLATES = ASSETS / "acquisition" / "questions.yaml"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TemplateDoc(_Strict):
    """One question over the values of one dimension.

    Attributes:
        id: Its name.
        category: Question category.
        dimension: What it asks about.
        question: Text.
        statements: Option of each value; a value without one cannot be asked about.
    """

    id: str = Field(pattern=r"^[a-z0-9_]+$")
    category: str
    dimension: str
    question: str = Field(min_length=1)
    statements: dict[str, str] = Field(min_length=2)

    @model_validator(mode="after")
    def _differ(self) -> TemplateDoc:
        texts = [s.casefold() for s in self.statements.values()]
        if len(set(texts)) < len(texts) or not all(texts):
            raise ValueError("statements must differ, and none may be empty")
        return self


class QuestionsDoc(_Strict):
    """All templates.

    Attributes:
        name, version: Of the document.
        options: Most options of a question.
        templates: In any order.
    """

    name: str = Field(min_length=1)
    version: int = Field(ge=1)
    options: int = Field(ge=2, le=len(LETTERS))
    templates: tuple[TemplateDoc, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _once(self) -> QuestionsDoc:
        ids = [t.id for t in self.templates]
        if len(set(ids)) < len(ids):
            raise ValueError("template ids must differ")
        return self

    def check(self, odd: Odd) -> tuple[Problem, ...]:
        """What the ODD does not have of the templates."""
        out = []
        for t in self.templates:
            for dimension, values in ((CATEGORY, (t.category,)), (t.dimension, tuple(t.statements))):
                known = odd.by_name[dimension].by_name if dimension in odd.by_name else {}
                out += [Problem(None, f"template {t.id}", f"{dimension}={v}", "a value of the ODD") for v in values if v not in known]
        return tuple(out)

    @property
    def sha256(self) -> str:
        """Of the content."""
        return sha256_json(self.model_dump(mode="json"))


@dataclass(frozen=True)
class TemplateQuestion:
    """A multiple-choice question made of tags.

    Attributes:
        template: Id of the template.
        dimension: What it asks about.
        question, options: Texts, options without letters.
        answer: Letter of the right option.
    """

    template: str
    dimension: str
    question: str
    options: tuple[str, ...]
    answer: str


def read_questions(text: str) -> QuestionsDoc:
    """The templates of a YAML text.

    Raises:
        InputError: It is no YAML or breaks the schema; every problem is listed.
    """
    return read_document(text, QuestionsDoc, "The question templates are not valid YAML", "The question templates break a rule.")


@cache
def shipped_questions(path: Path = TEMPLATES) -> QuestionsDoc:
    """The templates that ship with the product, for the built-in driving ODD."""
    return read_questions(path.read_text(encoding="utf-8"))


def template_question(odd: Odd, tags: Mapping[str, Tag], category: str, key: str, doc: QuestionsDoc) -> TemplateQuestion | None:
    """A question of a category whose right answer the tags tell, None if no template fits.

    Template, wrong options and order follow from the key alone: the same sample always gets the same question, different
    samples get different ones.

    Args:
        odd: Tells parents of values, which must not stand beside each other as options.
        tags: What is known of the sample; only single values are asked about.
        category: Question category.
        key: Identifies the sample.
        doc: The templates.
    """
    fits = [(t, v) for t in doc.templates if t.category == category and isinstance(v := tags.get(t.dimension), str) and v in t.statements]
    if not fits:
        return None
    template, value = min(fits, key=lambda f: _draw(key, f[0].id))
    pool = sorted(template.statements, key=lambda v: _draw(key, template.id, v))
    wrong: list[str] = []
    for v in pool:
        if all(flag_of(odd, template.dimension, x, v) == "mismatch" for x in (value, *wrong)):
            wrong.append(v)
    options = sorted([value, *wrong[: doc.options - 1]], key=lambda v: _draw(key, "order", v))
    if len(options) < 2:
        return None
    texts = tuple(template.statements[v] for v in options)
    return TemplateQuestion(template.id, template.dimension, template.question, texts, LETTERS[options.index(value)])


def _draw(*parts: str) -> bytes:
    """A lot that depends on the parts alone."""
    return hashlib.sha256("\x1f".join(parts).encode()).digest()
