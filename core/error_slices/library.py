"""Libraries of hypotheses: the one for driving that ships, and files of a user's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.digest import sha256_json
from core.documents import read_document
from core.error_slices.hypotheses import Category, Hypothesis, OfflineMatcher, Origin
from core.error_slices.matchers.registry import check_matcher
from core.error_slices.units import ErrorType
from core.error_slices.vocabulary import ANY, ClassesDoc, Vocabulary, load_vocabulary, make_vocabulary, plain
from core.errors import InputError, Problem
from core.settings import ASSETS

DRIVING = ASSETS / "hypotheses" / "driving.yaml"
ID = r"^[a-z][a-z0-9_]{0,62}$"


class _Doc(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OfflineDoc(_Doc):
    """A matcher in a document."""

    matcher: str
    params: dict[str, Any] = Field(default_factory=dict)


class HypothesisDoc(_Doc):
    """A hypothesis in a document; all that `Hypothesis` holds but its origin."""

    id: str = Field(pattern=ID)
    text: str = Field(min_length=8, max_length=400)
    error: ErrorType
    category: Category
    classes: tuple[str, ...] = Field(default=("any",), min_length=1)
    offline: OfflineDoc | None = None
    note: str = ""
    rationale: str = ""


class LibraryDoc(_Doc):
    """A file of hypotheses.

    Attributes:
        schema_version: Of this schema.
        id: Name of the library.
        version: Of its content.
        aliases: Other names of classes, on top of those that ship.
        class_groups: Groups of classes likewise.
        hypotheses: In the order of screens.
    """

    schema_version: Literal["1"] = "1"
    id: str = Field(default="own", pattern=ID)
    version: int = Field(default=1, ge=1)
    aliases: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    class_groups: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    hypotheses: tuple[HypothesisDoc, ...] = Field(min_length=1)


@dataclass(frozen=True)
class Library:
    """Hypotheses with the names of classes that they use.

    Attributes:
        id: Name of the library.
        version: Of its content.
        hypotheses: In the order of the file.
        vocabulary: Names of classes.
    """

    id: str
    version: int
    hypotheses: tuple[Hypothesis, ...]
    vocabulary: Vocabulary

    @cached_property
    def by_id(self) -> dict[str, Hypothesis]:
        """Hypotheses by id."""
        return {h.id: h for h in self.hypotheses}

    @cached_property
    def digest(self) -> str:
        """SHA-256 over everything that the hypotheses say."""
        return sha256_json([self.id, self.version, [h.to_json() for h in self.hypotheses]])


def read_library(
    text: str,
    *,
    origin: Origin = "own",
    taken: Iterable[str] = (),
    class_names: Sequence[str] = (),
    vocabulary: Vocabulary | None = None,
) -> Library:
    """The hypotheses of a YAML (or JSON) text.

    Groups and other names that the document brings are spelled out in its hypotheses, which then stand for themselves.

    Args:
        text: A document as `LibraryDoc`.
        origin: Where they come from.
        taken: Ids that other hypotheses have.
        class_names: Classes of the data, which the document may name too.
        vocabulary: Names of classes that the document may use without telling them; those that ship by default.

    Raises:
        InputError: It breaks the schema, an id stands twice, or a matcher or its parameters are wrong, a class or group that is not
            known among them; all problems are listed. A hypothesis may be about any class, since other data may have it.
    """
    doc = read_document(text, LibraryDoc, "The hypotheses are not valid YAML", "The hypotheses break their schema.")
    base = vocabulary or load_vocabulary()
    names = make_vocabulary(ClassesDoc(aliases=doc.aliases, class_groups=doc.class_groups), base)
    problems, seen, hypotheses = [], set(taken), []
    for n, d in enumerate(doc.hypotheses):
        where = f"hypotheses.{n} ({d.id})"
        if d.id in seen:
            problems.append(Problem(None, where, d.id, "an id that no other hypothesis has"))
        seen.add(d.id)
        offline = None if d.offline is None else OfflineMatcher(d.offline.matcher, d.offline.params)
        if offline is not None:
            problems += check_matcher(f"{where}.offline", offline, d.error, names, class_names)
            offline = OfflineMatcher(offline.name, {k: _spelled_out(v, names, base) for k, v in offline.params.items()})
        classes = tuple(n for c in d.classes for n in _as_list(_spelled_out(c, names, base)))
        hypotheses.append(Hypothesis(d.id, d.text.strip(), d.error, d.category, classes, offline, origin, d.note, d.rationale))
    if problems:
        raise InputError("The hypotheses cannot be used as they are.", problems)
    return Library(doc.id, doc.version, tuple(hypotheses), names)


def _spelled_out(value: Any, names: Vocabulary, base: Vocabulary) -> Any:
    """A name, or names, with what only `names` knows of it spelled out; other values as they are."""
    if isinstance(value, list | tuple):
        return [n for v in value for n in _as_list(_spelled_out(v, names, base))]
    if not isinstance(value, str) or plain(value) == ANY:
        return value
    group = names.groups.get(plain(value))
    classes = {names.canonical(value)} if group is None else group
    others = {other for other, name in names.aliases.items() if name in classes and base.aliases.get(other) != name}
    if not others and base.groups.get(plain(value)) == group:
        return value
    return [*sorted(classes), *sorted(others)]


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def load_library(path: Path = DRIVING) -> Library:
    """The library that ships, or another one of its kind.

    Raises:
        InputError: It cannot be used.
    """
    return _load(path)


@cache
def _load(path: Path) -> Library:
    return read_library(path.read_text(encoding="utf-8"), origin="library")


def classes_of(hypothesis: Hypothesis, class_names: Sequence[str], vocabulary: Vocabulary | None = None) -> frozenset[int]:
    """Indices of the classes of a data set that a hypothesis is about; empty where the data has none of them.

    Args:
        hypothesis: What is claimed.
        class_names: Names of the classes of the data set, as its file has them.
        vocabulary: Names of classes; those that ship by default.
    """
    return (vocabulary or load_vocabulary()).members(hypothesis.classes, class_names)
