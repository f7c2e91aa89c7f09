"""Data that ship as YAML: read with every broken rule named."""

from __future__ import annotations

from pathlib import Path
from string import Formatter
from typing import Any, ClassVar, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from core.digest import sha256_json
from core.errors import InputError, Problem

M = TypeVar("M", bound=BaseModel)
D = TypeVar("D", bound="TextDocument")
Blanks = dict[str, set[str]]
"""Names in braces by the name of the text that has them."""


class Texts(BaseModel):
    """Texts with just the blanks that their class names for them; a text that it does not name has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    blanks: ClassVar[Blanks] = {}

    @model_validator(mode="after")
    def _check_blanks(self) -> Any:
        for name, text in self:
            if isinstance(text, str):
                wanted = self.blanks.get(name, set())
                found = {blank for _, blank, _, _ in Formatter().parse(text) if blank is not None}
                if not text or found != wanted:
                    raise ValueError(f'"{name}" must be a text with the blanks {sorted(wanted)}; found {sorted(found)}')
        return self


class TextDocument(Texts):
    """A file of texts that models are asked with."""

    name: str
    version: int = Field(ge=1)

    @property
    def sha256(self) -> str:
        """Digest of all texts."""
        return sha256_json(self.model_dump())


def read_texts(kind: type[D], path: Path) -> D:
    """A file of texts that ships with the program.

    Raises:
        InputError: The file breaks its schema; every problem is listed.
    """
    named = f'The prompts in "{path.name}"'
    return read_document(path.read_text(encoding="utf-8"), kind, f"{named} are not valid YAML", f"{named} break their schema.")


def read_document(text: str, model: type[M], invalid: str, broken: str) -> M:
    """The document of a YAML text.

    Args:
        text: The YAML text.
        model: Schema of the document.
        invalid: Said before the reason where it is no YAML.
        broken: Said above the problems where it breaks the schema.

    Raises:
        InputError: It is no YAML or breaks the schema; every problem is listed.
    """
    try:
        data: Any = yaml.safe_load(text)
    except yaml.YAMLError as e:
        raise InputError(f"{invalid}: {getattr(e, 'problem', None) or e}.") from e
    try:
        return model.model_validate(data)
    except ValidationError as e:
        problems = [Problem(None, ".".join(map(str, x["loc"])) or "document", str(x.get("input"))[:60], x["msg"]) for x in e.errors()]
        raise InputError(broken, problems) from e
