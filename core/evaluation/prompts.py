"""The prompts of an evaluation, read from a file, checked, and filled (SliceNav, appendix C: same inputs and outputs, own wording)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from core.digest import sha256_bytes, sha256_json
from core.errors import InputError, Problem
from core.evaluation.choices import LETTERS
from core.evaluation.items import Item
from core.evaluation.parse import without_reasoning
from core.settings import ASSETS

PROMPTS = ASSETS / "prompts" / "evaluation.yaml"
MAX_RESPONSE = 8_000
"""Characters of an answer that the judge gets to see; the end is kept, where the final answer stands."""

_SLOT = re.compile(r"\{([a-z_]+)\}")
_ROLES = re.compile(
    r"[<＜]\s?[|｜][^<>|＜＞｜]{0,60}[|｜]\s?[>＞]"
    r"|[<＜]/?(?:s|sys|inst|system|assistant|user|human|model|tool|bos|eos|unused\d{1,4}|(?:start|end)_of_turn)[>＞]"
    r"|<<\s*/?\s*SYS\s*>>|\[/?\s*INST\s*\]"
    r"|^[ \t>*_#]*(?:system|assistant|user|human|judge|developer|instruction)s?[ \t*_]*[:：][ \t*_]*",
    re.I | re.M,
)
"""Marks by which chat templates tell who speaks."""
_SLOTS = {
    ("model", "mcq"): {"frames", "question", "options"},
    ("model", "vqa"): {"frames", "question"},
    ("model", "frames"): {"count", "names"},
    ("judge", "mcq"): {"question", "options", "open", "response", "close", "answer"},
    ("judge", "vqa"): {"question", "open", "response", "close", "answer"},
}


class _Texts(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*")
    @classmethod
    def _said(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("a prompt cannot be empty")
        return text


class ModelTexts(_Texts):
    """Texts to the model under test."""

    system: str
    mcq: str
    vqa: str
    frames: str


class JudgeTexts(_Texts):
    """Texts to the judge."""

    system: str
    mcq: str
    vqa: str
    again: str


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    version: int
    model: ModelTexts
    judge: JudgeTexts


@dataclass(frozen=True)
class Prompts:
    """Checked prompts.

    Attributes:
        model, judge: Texts.
        version: As the file says.
        model_sha, judge_sha: Fingerprints of the texts, part of the keys of calls.
    """

    model: ModelTexts
    judge: JudgeTexts
    version: int
    model_sha: str
    judge_sha: str

    def ask_model(self, item: Item, images: Sequence[str]) -> list[dict[str, Any]]:
        """Messages to the model under test.

        Args:
            item: The question.
            images: Data URLs, in order.
        """
        names = [f"frame {i + 1}" for i in range(len(images))]
        frames = _fill(self.model.frames, {"count": str(len(images)), "names": ", ".join(names)}) + "\n\n" if len(images) > 1 else ""
        text = self.model.mcq if item.options else self.model.vqa
        filled = _fill(text, {"frames": frames, "question": item.question, "options": listed(item.options)})
        parts: list[dict[str, Any]] = []
        for name, url in zip(names, images, strict=True):
            if len(images) > 1:
                parts.append({"type": "text", "text": f"{name.capitalize()}:"})
            parts.append({"type": "image_url", "image_url": {"url": url}})
        parts.append({"type": "text", "text": filled})
        return [{"role": "system", "content": self.model.system}, {"role": "user", "content": parts}]

    def ask_judge(self, item: Item, response: str, again: str | None = None) -> list[dict[str, Any]]:
        """Messages to the judge; no image goes there.

        Args:
            item: The question with its right answer.
            response: The answer under judgement.
            again: The judge's first answer, where that could not be read.
        """
        safe = harmless(response)
        mark = marker(safe)
        answer = f"{item.answer}. {item.options[LETTERS.index(item.answer)]}" if item.options else item.answer
        values = {"question": item.question, "options": listed(item.options), "answer": answer, "response": safe}
        values |= {"open": f"<<<{mark}", "close": f"{mark}>>>"}
        filled = _fill(self.judge.mcq if item.options else self.judge.vqa, values)
        out = [{"role": "system", "content": self.judge.system}, {"role": "user", "content": filled}]
        if again is not None:
            out += [{"role": "assistant", "content": again[-MAX_RESPONSE:] or "-"}, {"role": "user", "content": self.judge.again}]
        return out


@cache
def load_prompts(path: Path = PROMPTS) -> Prompts:
    """The prompts of a file.

    Raises:
        InputError: The file is missing, or a text or a slot is.
    """
    try:
        found = _Document.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError) as e:
        raise InputError(f"The file of prompts {path.name} cannot be read: {e}") from e
    except ValidationError as e:
        problems = [Problem(None, ".".join(map(str, x["loc"])), str(x.get("input"))[:80], x["msg"]) for x in e.errors()]
        raise InputError(f"The file of prompts {path.name} is not complete.", problems) from e
    wrong = []
    for (part, name), slots in _SLOTS.items():
        has = set(_SLOT.findall(getattr(getattr(found, part), name)))
        if has != slots:
            wrong.append(Problem(None, f"{part}.{name}", ", ".join(sorted(has)) or "no slots", ", ".join(sorted(slots))))
    if wrong:
        raise InputError(f"A prompt of {path.name} has other slots than it needs.", wrong)
    shas = [sha256_json(x.model_dump()) for x in (found.model, found.judge)]
    return Prompts(found.model, found.judge, found.version, *shas)


def listed(options: Sequence[str]) -> str:
    """Options with their letters, one a line."""
    return "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False))


def harmless(response: str) -> str:
    """An answer as the judge may see it: without reasoning and without marks by which a chat template tells who speaks."""
    text = "\n".join(without_reasoning(response)[-MAX_RESPONSE:].splitlines())  # other ends of lines than \n hide a role as well
    text = "".join(c for c in text if unicodedata.category(c) != "Cf")  # so do signs without a width
    while (stripped := _ROLES.sub("", text)) != text:  # what is left after one mark was cut out may be another
        text = stripped
    return text.strip().encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be sent


def marker(text: str) -> str:
    """A marker that a text does not hold; made from the text, so that the same call has the same key."""
    mark, salt = "", text
    while not mark or mark in text:
        salt = sha256_bytes(salt.encode())
        mark = f"ANSWER-{salt[:16].upper()}"
    return mark


def _fill(template: str, values: Mapping[str, str]) -> str:
    """A template with its slots filled in one pass."""
    return _SLOT.sub(lambda m: values.get(m[1], m[0]), template)
