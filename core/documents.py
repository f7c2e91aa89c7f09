"""Data that ship as YAML: read with every broken rule named."""

from __future__ import annotations

from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from core.errors import InputError, Problem

M = TypeVar("M", bound=BaseModel)


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
