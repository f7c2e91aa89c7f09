"""The texts that a planning language model is given: read from a file, checked, filled in one pass, with a fingerprint."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.controller.plan import MAX_STEPS, AcquireSource, Op
from core.digest import sha256_json
from core.errors import InputError, Problem
from core.odd import Odd
from core.settings import ASSETS

PROMPTS = ASSETS / "prompts" / "controller.yaml"
SLOTS: dict[str, frozenset[str]] = {
    "system": frozenset({"steps"}),
    "plan": frozenset({"ops", "sources"}),
    "vocabulary": frozenset({"inside", "outside"}),
    "question": frozenset({"question"}),
    "observed": frozenset({"data"}),
    "refused": frozenset({"problems"}),
    "no_call": frozenset({"names"}),
    "mend": frozenset({"problems"}),
    "missing": frozenset({"missing"}),
    "prose": frozenset({"data"}),
}
"""Names in braces that a text must have; no text may have others."""
_SLOT = re.compile(r"\{\{|\}\}|\{([a-z_]*)\}")


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(pattern="^controller$")
    version: int = Field(ge=1)
    system: str = Field(min_length=1)
    tools: str = Field(min_length=1)
    plan: str = Field(min_length=1)
    vocabulary: str = Field(min_length=1)
    question: str = Field(min_length=1)
    observed: str = Field(min_length=1)
    planned: str = Field(min_length=1)
    finished: str = Field(min_length=1)
    repeated: str = Field(min_length=1)
    refused: str = Field(min_length=1)
    no_call: str = Field(min_length=1)
    cut: str = Field(min_length=1)
    mend: str = Field(min_length=1)
    missing: str = Field(min_length=1)
    prose: str = Field(min_length=1)


@dataclass(frozen=True)
class Prompts:
    """Checked texts of the controller.

    Attributes:
        version: Of the file.
        sha: Fingerprint of all its texts; a plan carries it.
        document: The texts.
    """

    version: int
    sha: str
    document: _Document

    def text(self, name: str, **values: Any) -> str:
        """A text with its names filled in, in one pass: what is filled in is never read as a template."""
        return _SLOT.sub(lambda m: {"{{": "{", "}}": "}"}.get(m.group()) or str(values[m.group(1)]), getattr(self.document, name))

    def system(self, odd: Odd, *, mode: str, vocabulary: bool) -> str:
        """The one system message.

        Args:
            odd: Declares the values.
            mode: "tools" or "plan".
            vocabulary: Whether the values are listed in it: where the server may not show their enums to the model.
        """
        parts = [self.text("system", steps=MAX_STEPS)]
        parts.append(
            self.text("tools") if mode == "tools" else self.text("plan", ops=_list(get_args(Op)), sources=_list(get_args(AcquireSource)))
        )
        if vocabulary:
            parts.append(self.text("vocabulary", inside=_values(odd, "base"), outside=_values(odd, "extended")))
        return "\n\n".join(parts)

    def question(self, query: str) -> str:
        """The question as data: a JSON string, out of which no wording leads."""
        return self.text("question", question=json.dumps(query, ensure_ascii=False))

    def observed(self, summary: str) -> str:
        """What an operator found, as data."""
        return self.text("observed", data=json.dumps(summary, ensure_ascii=False))


@cache
def load_prompts(path: Path = PROMPTS) -> Prompts:
    """The prompts of a file.

    Raises:
        InputError: The file cannot be read, or a text is missing, empty, or has other names in braces than it needs.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        document = _Document.model_validate(data)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as e:
        raise InputError(f"The file of prompts {path.name} cannot be read: {e}") from e
    except ValidationError as e:
        found = [Problem(None, ".".join(map(str, err["loc"])), str(err.get("input"))[:60], err["msg"]) for err in e.errors()]
        raise InputError(f"The file of prompts {path.name} is not complete.", found) from e
    texts = {k: v for k, v in document.model_dump().items() if isinstance(v, str) and k != "name"}
    found = []
    for key, text in texts.items():
        got, need = {m.group(1) for m in _SLOT.finditer(text)} - {None}, SLOTS.get(key, frozenset())
        if got != need:
            found.append(
                Problem(
                    None, key, ", ".join(sorted(map(str, got))) or "none", f"these names in braces: {', '.join(sorted(need)) or 'none'}"
                )
            )
    if found:
        raise InputError(f"The file of prompts {path.name} has other names in braces than are filled in.", found)
    return Prompts(document.version, sha256_json(document.model_dump()), document)


def _values(odd: Odd, tier: str) -> str:
    lines = {d.name: [v.name for v in d.values if v.tier == tier] for d in odd.dimensions}
    return "\n".join(f"  {name}: {', '.join(values)}" for name, values in lines.items() if values) or "  none"


def _list(words: Sequence[str]) -> str:
    return ", ".join(f'"{w}"' for w in words)
