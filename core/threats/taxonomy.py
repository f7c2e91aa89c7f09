"""The threats that a trajectory may add: 32 of them, in groups, in super-categories (FluidTest, Fig. 2 and Table 7).

A group or a super-category is a set of threats; so is one threat, and so are all. Rates are taken over such sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from core.digest import sha256_json
from core.documents import read_document
from core.errors import InputError, Problem
from core.settings import ASSETS

TAXONOMY = ASSETS / "threats" / "taxonomy.yaml"

Level = Literal["all", "supercategory", "group", "threat"]
Severity = Literal["S1", "S2", "S3"]

_ID = r"^[a-z][a-z0-9_]*$"


@dataclass(frozen=True)
class Threat:
    """One threat.

    Attributes:
        id: Stable name in files.
        label: Name on screens.
        group: Id of its group.
        supercategory: Id of its group's super-category.
        severity: Tag as the paper prints it; the paper does not define it, so nothing is weighted by it.
        definition: What it is, in our own words.
        table7_group: The paper's other grouping (Table 7), "" if not given.
        aliases: Other ids by which it is known.
    """

    id: str
    label: str
    group: str
    supercategory: str
    severity: Severity
    definition: str
    table7_group: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class ThreatSet:
    """Threats that are counted together.

    Attributes:
        level: What kind of set it is.
        id: Of the set; "all" for all.
        label: Name on screens.
        threats: Ids of its threats.
        parent: Id of the set above it, "" for all.
    """

    level: Level
    id: str
    label: str
    threats: frozenset[str]
    parent: str = ""


@dataclass(frozen=True)
class Taxonomy:
    """Threats with their groups and super-categories.

    Attributes:
        id: Of the taxonomy.
        version: Of its schema.
        threats: In the order of the document.
        groups: Id to (label, super-category).
        supercategories: Id to label, in order.
    """

    id: str
    version: str
    threats: tuple[Threat, ...]
    groups: dict[str, tuple[str, str]]
    supercategories: dict[str, str]

    @cached_property
    def by_id(self) -> dict[str, Threat]:
        """Threats by id and by alias."""
        return {name: t for t in self.threats for name in (t.id, *t.aliases)}

    @cached_property
    def sets(self) -> tuple[ThreatSet, ...]:
        """All, then each super-category, group and threat."""
        return (
            ThreatSet("all", "all", "All threats", frozenset(t.id for t in self.threats)),
            *(
                ThreatSet("supercategory", s, label, frozenset(t.id for t in self.threats if t.supercategory == s), "all")
                for s, label in self.supercategories.items()
            ),
            *(
                ThreatSet("group", g, label, frozenset(t.id for t in self.threats if t.group == g), s)
                for g, (label, s) in self.groups.items()
            ),
            *(ThreatSet("threat", t.id, t.label, frozenset((t.id,)), t.group) for t in self.threats),
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 over ids, groups and definitions."""
        return sha256_json([[t.id, t.group, t.supercategory, t.severity, t.definition] for t in self.threats])


class _Doc(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Super(_Doc):
    order: int = Field(ge=1)
    label: str = Field(min_length=1)


class _Group(_Doc):
    supercategory: str
    label: str = Field(min_length=1)


class _Threat(_Doc):
    id: str = Field(pattern=_ID)
    label: str = Field(min_length=1)
    group: str
    severity: Severity
    definition: str = Field(min_length=20)
    table7_group: str = ""
    aliases: tuple[str, ...] = ()


class _Taxonomy(_Doc):
    schema_version: Literal["1.0"]
    taxonomy_id: str = Field(pattern=_ID)
    supercategories: dict[str, _Super] = Field(min_length=1)
    groups: dict[str, _Group] = Field(min_length=1)
    threats: tuple[_Threat, ...] = Field(min_length=1)


def parse_taxonomy(text: str) -> Taxonomy:
    """A taxonomy from its YAML text.

    Raises:
        InputError: It breaks the schema, names a group or super-category that is not there, leaves one empty, or uses a name twice.
    """
    doc = read_document(text, _Taxonomy, "The taxonomy is not valid YAML", "The taxonomy breaks its schema.")
    problems = [
        *(
            Problem(None, f"groups.{g}.supercategory", v.supercategory, ", ".join(doc.supercategories))
            for g, v in doc.groups.items()
            if v.supercategory not in doc.supercategories
        ),
        *(Problem(None, f"threats.{t.id}.group", t.group, ", ".join(doc.groups)) for t in doc.threats if t.group not in doc.groups),
        *(Problem(None, f"groups.{g}", "no threat", "one or more") for g in doc.groups if all(t.group != g for t in doc.threats)),
        *(
            Problem(None, f"supercategories.{s}", "no group", "one or more")
            for s in doc.supercategories
            if all(g.supercategory != s for g in doc.groups.values())
        ),
    ]
    seen: set[str] = set()
    for name in (n for t in doc.threats for n in (t.id, *t.aliases)):
        if name in seen:
            problems.append(Problem(None, "threats", name, "each id and alias once"))
        seen.add(name)
    if problems:
        raise InputError("The taxonomy cannot be used as it is.", problems)
    return Taxonomy(
        doc.taxonomy_id,
        doc.schema_version,
        tuple(
            Threat(t.id, t.label, t.group, doc.groups[t.group].supercategory, t.severity, t.definition, t.table7_group, t.aliases)
            for t in doc.threats
        ),
        {g: (v.label, v.supercategory) for g, v in doc.groups.items()},
        {s: v.label for s, v in sorted(doc.supercategories.items(), key=lambda x: x[1].order)},
    )


def load_taxonomy(path: Path = TAXONOMY) -> Taxonomy:
    """The taxonomy that ships, or another one.

    Raises:
        InputError: It cannot be used.
    """
    return _load(path)


@cache
def _load(path: Path) -> Taxonomy:
    return parse_taxonomy(path.read_text(encoding="utf-8"))
