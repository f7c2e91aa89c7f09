"""Reads a text of the file as a value of the ODD: exactly, through spelling, through a synonym, or not at all."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from core.odd import Dimension

How = Literal["exact", "spelling", "synonym", "mapped", "excluded", "ambiguous", "unknown"]
SAFE_DISTANCE = 2
"""A correction of so many letters is offered as safe; anything further is a guess."""


def normal(text: str) -> str:
    """The text without case and without a difference between space, hyphen and underscore; a minus sign before a digit stays."""
    sign = "-" if re.match(r"\s*-\s*\.?\d", text) else ""
    return sign + re.sub(r"[\s_\-]+", " ", text).strip().casefold()


@dataclass(frozen=True)
class Reading:
    """What one distinct text of a column was read as.

    Attributes:
        text: The text of the file.
        value: Value of the dimension, "" if none.
        how: How it was found.
        suggestion: Nearest value where none was found, "" if nothing is near.
        safe: Whether the suggestion is a plain slip (a letter or two), not a guess.
        why: Reason for the suggestion, for people.
    """

    text: str
    value: str
    how: How
    suggestion: str = ""
    safe: bool = False
    why: str = ""

    @property
    def ok(self) -> bool:
        """Whether rows with this text can be used."""
        return bool(self.value)


class ValueReader:
    """Reads texts as values of one dimension.

    Args:
        dimension: Names, synonyms and tiers.
        mapped: The user's decisions for single texts; an empty target excludes.
    """

    def __init__(self, dimension: Dimension, mapped: Mapping[str, str] | None = None) -> None:
        self.dimension = dimension
        self.mapped = dict(mapped or {})
        self._spelling = self._index((v.name, v.name) for v in dimension.values)
        self._synonyms = self._index((s, v.name) for v in dimension.values for s in v.synonyms)

    @staticmethod
    def _index(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
        out: dict[str, list[str]] = defaultdict(list)
        for text, name in pairs:
            if name not in out[normal(text)]:
                out[normal(text)].append(name)
        return dict(out)

    def read(self, text: str) -> Reading:
        """The reading of one text."""
        return self._known(text) or self._nearest(text, normal(text))

    def knows(self, text: str) -> bool:
        """Whether a text is read as a value; cheaper than `read`, since no suggestion is sought."""
        found = self._known(text)
        return found is not None and found.ok

    def _known(self, text: str) -> Reading | None:
        if text in self.mapped:
            target = self.mapped[text]
            return Reading(text, target, "mapped") if target in self.dimension.by_name else Reading(text, "", "excluded")
        if text in self.dimension.by_name:
            return Reading(text, text, "exact")
        key = normal(text)
        tries: tuple[tuple[How, dict[str, list[str]]], ...] = (("spelling", self._spelling), ("synonym", self._synonyms))
        for how, index in tries:
            found = index.get(key, [])
            if len(found) == 1:
                return Reading(text, found[0], how)
            if found:
                return Reading(text, "", "ambiguous", found[0], False, f"Means {' or '.join(found)}")
        return None

    def _nearest(self, text: str, key: str) -> Reading:
        index = {**self._synonyms, **self._spelling}
        near = difflib.get_close_matches(key, list(index), n=1, cutoff=0.6)
        if not near:
            return Reading(text, "", "unknown")
        off = _distance(key, near[0])
        target = index[near[0]]
        safe = off <= SAFE_DISTANCE and off < len(key) / 3 and len(target) == 1
        why = f"{off} letter{'s' * (off > 1)} off" + ("" if near[0] in self._spelling else f' a synonym, "{near[0]}"')
        return Reading(text, "", "unknown", target[0], safe, why)


def _distance(a: str, b: str) -> int:
    """Levenshtein distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]
