"""What people read before they label: the question, three answers, how to look, and worked examples.

Each version is a file of its own that is never changed once people have labelled by it; every label carries its `tag`, in
which the digest of the text stands beside the version, so that labels by another text can be told apart.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.digest import sha256_json
from core.documents import read_document
from core.errors import InputError
from core.settings import ASSETS
from core.storage.label_events import LABELS, Label

FOLDER = ASSETS / "guidance"
CURRENT = "v1"
"""Version by which people label now."""
LEAST_EXAMPLES = 12

Line = Annotated[str, Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Answer(_Strict):
    """One of the three answers.

    Attributes:
        label: As it is stored.
        key: The key that gives it.
        name: A word or two.
        short: What it says, in one line.
        give: When it is right.
        beware: When it is wrong although it seems right.
    """

    label: Label
    key: Line
    name: Line
    short: Line
    give: tuple[Line, ...] = Field(min_length=1)
    beware: tuple[Line, ...] = ()


class Part(_Strict):
    """A heading and what stands below it, point by point."""

    title: Line
    points: tuple[Line, ...] = Field(min_length=1)


class Example(_Strict):
    """A worked example.

    Attributes:
        case: Id of the case in the demo pack.
        label: The right answer.
        lesson: What it teaches, in a few words.
        look: Where to look.
        why: Why the answer is right.
    """

    case: Line
    label: Label
    lesson: Line
    look: Line
    why: Line


class Guidance(_Strict):
    """The guidance of one version.

    Attributes:
        schema_version: Of the document.
        version: Of the text.
        question: What is asked about every case.
        reminder: What is forgotten most easily.
        answers: One for each label, in the order in which they are shown.
        parts: How to look.
        examples: Worked examples, in the order in which they are read.
    """

    schema_version: Literal["1.0"]
    version: str = Field(pattern=r"^v[1-9][0-9]*$")
    question: Line
    reminder: Line
    answers: tuple[Answer, ...]
    parts: tuple[Part, ...] = Field(min_length=1)
    examples: tuple[Example, ...] = Field(min_length=LEAST_EXAMPLES)

    @model_validator(mode="after")
    def _whole(self) -> Guidance:
        if sorted(a.label for a in self.answers) != sorted(LABELS):
            raise ValueError("answers must name each label once")
        if len({a.key.casefold() for a in self.answers}) < len(LABELS):
            raise ValueError("each answer needs a key of its own")
        if len({e.case for e in self.examples}) < len(self.examples):
            raise ValueError("no case may be an example twice")
        if lacking := set(LABELS) - {e.label for e in self.examples}:
            raise ValueError(f"no example is answered {', '.join(sorted(lacking))}")
        return self

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return sha256_json(self.model_dump(mode="json"))

    @property
    def tag(self) -> str:
        """Version and digest, as each label carries them."""
        return f"{self.version}:{self.digest[:8]}"

    def answer(self, label: Label) -> Answer:
        """What an answer means."""
        return next(a for a in self.answers if a.label == label)


def versions() -> tuple[str, ...]:
    """The versions that there are, the oldest first."""
    return tuple(sorted((p.stem for p in FOLDER.glob("v*.yaml")), key=lambda v: int(v[1:]) if v[1:].isdigit() else 0))


@cache
def read_guidance(version: str = CURRENT) -> Guidance:
    """The guidance of a version.

    Raises:
        InputError: There is no such version, or its file breaks the schema.
    """
    if version not in versions():
        raise InputError(f'There is no guidance "{version}"; known: {", ".join(versions()) or "none"}.')
    text = (FOLDER / f"{version}.yaml").read_text(encoding="utf-8")
    found = read_guidance_text(text)
    if found.version != version:
        raise InputError(f'The file of guidance "{version}" says that it is "{found.version}".')
    return found


def read_guidance_text(text: str) -> Guidance:
    """Guidance from a YAML text.

    Raises:
        InputError: It is no YAML or breaks the schema; every problem is listed.
    """
    return read_document(text, Guidance, "The guidance is no valid YAML", "The guidance cannot be used as it is.")
