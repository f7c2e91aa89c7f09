"""Names of classes: what data sets call the same thing, the groups that hypotheses speak of, and which classes are easily confused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from core.documents import read_document
from core.error_slices.detections import BoolArray
from core.errors import InputError, Problem
from core.settings import ASSETS

CLASSES = ASSETS / "hypotheses" / "classes.yaml"
ANY = "any"
"""Stands for every class."""


def plain(name: str) -> str:
    """A name as names are compared: without case, every run of signs one space."""
    return re.sub(r"[\s_\-./]+", " ", name).strip().casefold()


@dataclass(frozen=True)
class Vocabulary:
    """What is known of names of classes; all names plain.

    Attributes:
        aliases: Another name of a class to the name used here.
        groups: Name of a group to its classes.
        similar: Sets of classes that are easily confused.
    """

    aliases: Mapping[str, str]
    groups: Mapping[str, frozenset[str]]
    similar: tuple[frozenset[str], ...]

    def canonical(self, name: str) -> str:
        """The name used here of a class of some data set."""
        key = plain(name)
        return self.aliases.get(key, key)

    def knows(self, name: str) -> bool:
        """Whether it is a group, a class that is named here, or "any"."""
        known = self.aliases.values() if self.aliases else ()
        classes = {c for g in (*self.groups.values(), *self.similar) for c in g}
        return plain(name) in self.groups or plain(name) == ANY or self.canonical(name) in classes | set(known)

    def members(self, names: Iterable[str], classes: Sequence[str]) -> frozenset[int]:
        """Indices of the classes of a data set that groups or names stand for; "any" stands for all, an unknown name for none.

        Args:
            names: Names of classes or of groups; a group wins over a class of the same name.
            classes: Names of the classes of the data set.
        """
        wanted: set[str] = set()
        for name in names:
            if plain(name) == ANY:
                return frozenset(range(len(classes)))
            # A class of the data set that is called just so is meant too, whatever groups hold.
            wanted |= {*self.groups.get(plain(name), frozenset()), self.canonical(name)}
        return frozenset(i for i, c in enumerate(classes) if self.canonical(c) in wanted)

    def mask(self, names: Iterable[str], classes: Sequence[str]) -> BoolArray:
        """Shape (classes + 1,): whether each class is meant; the last one, which index -1 finds, is no class."""
        out = np.zeros(len(classes) + 1, bool)
        out[sorted(self.members(names, classes))] = True
        return out

    def confused(self, classes: Sequence[str]) -> BoolArray:
        """Shape (classes + 1, classes + 1): whether two different classes are easily confused; the last row and column are no class."""
        names = [self.canonical(c) for c in classes]
        out = np.zeros((len(names) + 1, len(names) + 1), bool)
        for s in self.similar:
            inside = np.array([n in s for n in names] + [False])
            out |= inside[:, None] & inside[None, :]
        # Two classes of the data set with one name here, such as "person" and "people", are the same thing.
        out[:-1, :-1] &= np.array([[a != b for b in names] for a in names], bool).reshape(len(names), len(names))
        return out


class ClassesDoc(BaseModel):
    """Aliases, groups and similar classes as a document; also part of a file of hypotheses."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    version: int = Field(default=1, ge=1)
    aliases: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    class_groups: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    similar_classes: tuple[tuple[str, ...], ...] = ()


def make_vocabulary(doc: ClassesDoc, base: Vocabulary | None = None) -> Vocabulary:
    """The vocabulary of a document, on top of another one.

    Raises:
        InputError: A name stands for two classes, or a group is empty or called "any"; all problems are listed.
    """
    problems: list[Problem] = []
    aliases = dict(base.aliases) if base else {}
    for name, others in doc.aliases.items():
        for other in others:
            if aliases.get(plain(other), plain(name)) != plain(name):
                problems.append(
                    Problem(None, f"aliases.{name}", other, f'a name that does not stand for "{aliases[plain(other)]}" already')
                )
            aliases[plain(other)] = plain(name)
    for name, classes in doc.class_groups.items():
        if plain(name) == ANY or not classes:
            problems.append(Problem(None, f"class_groups.{name}", str(list(classes)), 'one or more classes under another name than "any"'))
    if problems:
        raise InputError("The names of classes cannot be used as they are.", problems)

    def canonical(names: Iterable[str]) -> frozenset[str]:
        return frozenset(aliases.get(plain(n), plain(n)) for n in names)

    groups = {**(base.groups if base else {}), **{plain(g): canonical(c) for g, c in doc.class_groups.items()}}
    return Vocabulary(aliases, groups, (*(base.similar if base else ()), *(canonical(s) for s in doc.similar_classes)))


def load_vocabulary(path: Path = CLASSES) -> Vocabulary:
    """The names that ship, or others.

    Raises:
        InputError: They cannot be used.
    """
    return _load(path)


@cache
def _load(path: Path) -> Vocabulary:
    text = path.read_text(encoding="utf-8")
    return make_vocabulary(
        read_document(text, ClassesDoc, "The names of classes are not valid YAML", "The names of classes break their schema.")
    )
