"""An image for a slice that no footage shows, made by a server of images; intended to show it, not verified.

The text is the definitions of the ODD in a fixed frame, and the seed comes from the slice, so the same slice asks for the same
thing. An image lies under its SHA-256; what it was asked with lies beside it, and the same request is not paid twice.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from core.acquisition.candidates import Candidate
from core.acquisition.fidelity import UNSPECIFIED, Tag, fidelity, verdict_of
from core.acquisition.normalise import CATEGORY
from core.acquisition.prompts import SynthesisDoc, synthesis_texts
from core.acquisition.questions import QuestionsDoc, template_question
from core.digest import sha256_bytes, sha256_json
from core.errors import InputError, Problem
from core.llm import Endpoint
from core.llm.calls import host_of
from core.llm.download import checked_image, image_kind
from core.odd import Odd

REQUESTS = "requests"
"""Folder, inside that of the images, of what each was asked with."""

_locks: dict[str, threading.Lock] = {}
_locks_lock = threading.Lock()


class Maker(Protocol):
    """What makes images: `core.llm.Client`."""

    @property
    def endpoint(self) -> Endpoint:
        """Where they are made."""
        ...

    def image(self, prompt: str, *, size: str = "1024x1024", seed: int | None = None) -> bytes:
        """The bytes of one image."""
        ...


@dataclass(frozen=True)
class Recipe:
    """What an image is asked with.

    Attributes:
        prompt: Text.
        seed: In [0, 2^31), from the slice and k.
        size: Width x height in pixels.
        model, host: Who makes it.
        prompt_sha: Digest of the frame's document.
        k: Number of the image among those of its slice.
        requested: The slice.
    """

    prompt: str
    seed: int
    size: str
    model: str
    host: str
    prompt_sha: str
    k: int
    requested: Mapping[str, str]

    @property
    def key(self) -> str:
        """Digest of all that shapes the image."""
        return sha256_json([self.prompt, self.seed, self.size, self.model, self.host])


def pixel_dims(requested: Mapping[str, str]) -> tuple[str, ...]:
    """Dimensions of which an image can show something: neither the category of a question, nor one that is left unspecified."""
    return tuple(d for d, v in requested.items() if d != CATEGORY and v != UNSPECIFIED)


def image_prompt(odd: Odd, requested: Mapping[str, str], k: int = 0, texts: SynthesisDoc | None = None) -> str:
    """The text that asks for an image of a slice.

    Args:
        odd: Defines the values; in its order they stand in the text.
        requested: Value per dimension.
        k: Number of the image; those after the first ask for another place.
        texts: The frame.

    Raises:
        InputError: The slice names what the ODD does not have, or nothing that an image can show.
    """
    texts = texts or synthesis_texts()
    problems = [
        Problem(None, d, v, ", ".join(odd.by_name[d].by_name) if d in odd.by_name else f"a dimension: {', '.join(odd.names)}")
        for d, v in requested.items()
        if d not in odd.by_name or v not in odd.by_name[d].by_name
    ]
    if problems:
        raise InputError("No image can be made of this slice.", problems)
    shown = set(pixel_dims(requested))
    if not shown:
        raise InputError("No image can be made of this slice: it names nothing that an image can show.")
    lines = []
    for d in odd.dimensions:
        if d.name in shown:
            value = d.by_name[requested[d.name]]
            words = {"label": d.label, "value": value.name.replace("_", " "), "definition": value.definition}
            lines.append(texts.condition.format(**words) if value.definition else texts.bare_condition.format(**words))
    prompt = texts.text.format(conditions="\n".join(lines))
    return f"{prompt}\n{texts.variant.format(k=k + 1)}" if k else prompt


def recipe(odd: Odd, requested: Mapping[str, str], k: int, endpoint: Endpoint) -> Recipe:
    """What the k-th image of a slice is asked with; nothing is sent.

    Raises:
        InputError: See `image_prompt`; or k is negative.
    """
    if k < 0:
        raise InputError(f"Images of a slice are numbered from 0; got {k}.")
    texts = synthesis_texts()
    shown = set(pixel_dims(requested))  # the question does not change the picture
    seed = int(sha256_json([{d: requested[d] for d in sorted(shown)}, k])[:8], 16) >> 1
    prompt = image_prompt(odd, requested, k, texts)
    return Recipe(prompt, seed, texts.size, endpoint.model, host_of(endpoint), texts.sha256, k, dict(requested))


def made_before(made: Recipe, media: Path) -> Path | None:
    """The image that was made by a recipe, None if there is none (any more)."""
    try:
        kept = json.loads(_note(made, media).read_text(encoding="utf-8"))
        path = media / str(kept["file"])
        return path if path.parent == media and sha256_bytes(path.read_bytes()) == kept["sha256"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def synthesize(
    odd: Odd, requested: Mapping[str, str], k: int, client: Maker, media: Path, *, questions: QuestionsDoc | None = None
) -> Candidate:
    """One image for a slice, as a candidate that is not verified.

    Every dimension that the image was meant to show is ambiguous until a person or a tagger confirms it (`verification.confirmed`);
    a category of question is met by the question that a template asks.

    Args:
        odd: Defines the values.
        requested: Value per dimension.
        k: Number of the image among those of its slice, from 0.
        client: Makes it.
        media: Folder of images that were made.
        questions: Templates of questions; without them the candidate has none, and its category is missing.

    Raises:
        InputError: See `image_prompt`; or the folder cannot be written.
        ModelError: No image came, or something that is none.
    """
    made = recipe(odd, requested, k, client.endpoint)
    with _one_at_a_time(made.key):
        path = made_before(made, media)
        if path is None:
            path = _keep(made, checked_image(client.image(made.prompt, size=made.size, seed=made.seed)), media)
    return _candidate(odd, made, path, questions)


def _candidate(odd: Odd, made: Recipe, path: Path, questions: QuestionsDoc | None) -> Candidate:
    requested, sha = made.requested, path.stem
    shown = set(pixel_dims(requested))
    tags: dict[str, Tag] = {d: (v,) if d in shown else v for d, v in requested.items()}  # one in brackets: meant, not settled
    question = _question(odd, requested, sha, questions)
    if CATEGORY in requested and not question:
        tags[CATEGORY] = None
    flags = fidelity(odd, requested, tags)
    return Candidate(
        id=sha256_json([dict(requested), sha, question.get("question", ""), question.get("options", ())])[:16],
        source="synthetic",
        path=str(path),
        requested=dict(requested),
        tags=tags,
        fidelity=flags,
        verdict=verdict_of(flags),
        matches=sum(f == "match" for f in flags.values()),
        media_sha256=sha,
        dataset="synthetic",
        synthetic=True,
        made_by={
            "prompt": made.prompt,
            "prompt_sha256": made.prompt_sha,
            "seed": made.seed,
            "size": made.size,
            "model": made.model,
            "host": made.host,
            "k": made.k,
            "image_sha256": sha,
        },
        **question,
    )


def _question(odd: Odd, requested: Mapping[str, str], sha: str, questions: QuestionsDoc | None) -> dict[str, Any]:
    """A question about what the image was meant to show; of any category where none was asked for."""
    if questions is None:
        return {}
    known = [v.name for v in odd.by_name[CATEGORY].values] if CATEGORY in odd.by_name else []
    wanted = [requested[CATEGORY]] if CATEGORY in requested else sorted(known, key=lambda c: sha256_json([sha, c]))
    for category in wanted:
        asked = template_question(odd, dict(requested), category, sha, questions)
        if asked is not None:
            qa = {"question": asked.question, "options": asked.options, "answer": asked.answer}
            return {**qa, "qa_type": "MCQ", "qa_origin": "template"}
    return {}


def _keep(made: Recipe, data: bytes, media: Path) -> Path:
    """Store an image under its digest, and beside it what it was asked with; the note comes last and is whole or not there."""
    sha = sha256_bytes(data)
    path = media / f"{sha}.{image_kind(data)}"
    note = _note(made, media)
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _write(path, data)
        told = {"file": path.name, "sha256": sha, **vars(made)}
        _write(note, (json.dumps(told, indent=2, ensure_ascii=False, sort_keys=True) + "\n").encode())
    except OSError as e:
        raise InputError(f'The image cannot be kept in "{media}": {e.strerror or e}.') from e
    return path


def _write(path: Path, data: bytes) -> None:
    part = path.with_name(f".{uuid4().hex}.part")
    try:
        with part.open("wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _note(made: Recipe, media: Path) -> Path:
    return media / REQUESTS / f"{made.key}.json"


def _one_at_a_time(key: str) -> threading.Lock:
    """The lock of one request, so that two who ask for the same image pay for one."""
    with _locks_lock:
        return _locks.setdefault(key, threading.Lock())
