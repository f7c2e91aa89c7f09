"""Simple rules that derive tags from what a source says of a sample: data with a schema, each rule with its reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.documents import read_document
from core.errors import InputError, Problem
from core.odd import Odd
from core.seed_table.raw import RawColumn
from core.seed_table.scores import parse_numbers
from core.settings import ASSETS

RULES = ASSETS / "acquisition" / "tag_rules.yaml"

MOST_OBJECTS = 1_000_000
"""More objects of one kind in one sample are no count."""

Columns = Mapping[str, RawColumn]
Values = tuple[str, ...]
"""Values that a sample may have; () says nothing."""
Derived = tuple[npt.NDArray[np.int64], list[Values]]
"""(rows,) index into a list of values."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Rule(_Strict):
    """What all rules have.

    Attributes:
        id: Name that a derived tag carries.
        dimension: Dimension that it tags.
        why: Reason, for people.
    """

    id: str = Field(pattern=r"^[a-z0-9_]+$")
    dimension: str
    why: str = Field(min_length=1)


class MapRule(_Rule):
    """One label of the source stands for one value, or for several that it does not tell apart."""

    kind: Literal["map"]
    column: str
    values: dict[str, Values] = Field(min_length=1)

    def says(self) -> str:
        """The rule in words."""
        return f"{self.column}: " + ", ".join(f"{k} = {' or '.join(v)}" for k, v in self.values.items())

    def names(self) -> set[str]:
        """All values that it can give."""
        return {v for vs in self.values.values() for v in vs}

    def derive(self, columns: Columns, rows: int) -> Derived | None:
        """The tags of all rows, None if the source has no such column."""
        column = columns.get(self.column)
        if column is None:
            return None
        known = {k.casefold(): v for k, v in self.values.items()}
        return column.codes.astype(np.int64), [*(known.get(t.casefold(), ()) for t in column.texts()), ()]


class WordsRule(_Rule):
    """Words in a text stand for values; words of several values leave it open which.

    Attributes:
        words: Words or phrases by value; a longer phrase hides the shorter ones inside it, so heavy rain is not also rain.
        unless: Phrases that do not count, such as "after rain".
    """

    kind: Literal["words"]
    column: str
    words: dict[str, Annotated[Values, Field(min_length=1)]] = Field(min_length=1)
    unless: tuple[str, ...] = ()

    def says(self) -> str:
        """The rule in words."""
        unless = f"; not {', '.join(self.unless)}" if self.unless else ""
        return f"words in {self.column}: " + ", ".join(f"{' / '.join(w)} = {v}" for v, w in self.words.items()) + unless

    def names(self) -> set[str]:
        """All values that it can give."""
        return set(self.words)

    def derive(self, columns: Columns, rows: int) -> Derived | None:
        """The tags of all rows, None if the source has no such column."""
        column = columns.get(self.column)
        if column is None:
            return None
        stands_for: dict[str, Values] = {w.casefold(): () for w in self.unless}
        for value, words in self.words.items():
            for w in words:
                stands_for[w.casefold()] = (*stands_for.get(w.casefold(), ()), value)
        pattern = _pattern(sorted(stands_for, key=lambda w: (-len(w), w)))
        out: list[Values] = []
        for text in column.texts():
            hit = {v for m in pattern.finditer(text) for v in stands_for[m.group().casefold()]}
            out.append(tuple(v for v in self.words if v in hit))
        return column.codes.astype(np.int64), [*out, ()]


class Threshold(_Strict):
    """From this count on, this value; without a value nothing is said."""

    at_least: int = Field(ge=0)
    value: str = ""


class CountRule(_Rule):
    """A number of objects stands for a value.

    Attributes:
        columns: Columns whose counts are added up; * stands for anything.
        without: Columns that are left out.
        counted: Column that is filled wherever objects were counted at all, so that a count of 0 is one.
        steps: Thresholds, ascending.
    """

    kind: Literal["count"]
    columns: Values = Field(min_length=1)
    without: Values = ()
    counted: str = ""
    steps: tuple[Threshold, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _ascend(self) -> CountRule:
        starts = [s.at_least for s in self.steps]
        if starts != sorted(set(starts)):
            raise ValueError("thresholds must ascend")
        return self

    def says(self) -> str:
        """The rule in words, with its thresholds."""
        without = f" without {', '.join(self.without)}" if self.without else ""
        steps = ", ".join(f"from {s.at_least} = {s.value or 'nothing said'}" for s in self.steps)
        return f"the sum of {', '.join(self.columns)}{without}: {steps}"

    def names(self) -> set[str]:
        """All values that it can give."""
        return {s.value for s in self.steps if s.value}

    def derive(self, columns: Columns, rows: int) -> Derived | None:
        """The tags of all rows; where nothing was counted, or a count cannot be read, nothing is said."""
        total, known, unread = _counts(columns, rows, self.columns, self.without, self.counted)
        starts = np.array([s.at_least for s in self.steps])
        place = np.searchsorted(starts, total, side="right") - 1  # -1: below the first threshold, the last entry says nothing
        return np.where(known & ~unread, place, -1), [*((s.value,) if s.value else () for s in self.steps), ()]


class KindsRule(_Rule):
    """The presence of some kind of object stands for a value, of several kinds for another.

    Attributes:
        kinds: Columns by value.
        several: Value where more than one kind is there; "" leaves it open which.
    """

    kind: Literal["kinds"]
    kinds: dict[str, Values] = Field(min_length=1, max_length=10)
    several: str = ""

    def says(self) -> str:
        """The rule in words."""
        kinds = ", ".join(f"{' / '.join(c)} = {v}" for v, c in self.kinds.items())
        return f"what is there: {kinds}; several = {self.several or 'left open'}"

    def names(self) -> set[str]:
        """All values that it can give."""
        return set(self.kinds) | ({self.several} if self.several else set())

    def derive(self, columns: Columns, rows: int) -> Derived | None:
        """The tags of all rows; where nothing is there, or a count cannot be read, nothing is said."""
        code, open_ = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=bool)
        for bit, patterns in enumerate(self.kinds.values()):
            total, _, unread = _counts(columns, rows, patterns)
            code += (total > 0).astype(np.int64) << bit
            open_ |= unread
        entries: list[Values] = []
        for c in range(1 << len(self.kinds)):
            found = tuple(v for bit, v in enumerate(self.kinds) if c >> bit & 1)
            entries.append((self.several,) if len(found) > 1 and self.several else found)
        return np.where(open_, 0, code), entries  # entry 0 says nothing


Rule = Annotated[MapRule | WordsRule | CountRule | KindsRule, Field(discriminator="kind")]


class FormatDoc(_Strict):
    """A kind of source and how it is read.

    Attributes:
        label, about: For people.
        needs: Columns by which it is recognised, all of them; * stands for anything. Nested names are joined by dots.
        fields: Column of a field of the manifest.
        constants: Fixed content of a field.
        rules: In order; of two that tag the same dimension of a sample the first counts.
        silent: What the source may say that no dimension has, with the reason.
    """

    label: str
    about: str
    needs: Values = Field(min_length=1)
    fields: dict[str, str] = {}
    constants: dict[str, str] = {}
    rules: tuple[Rule, ...] = Field(min_length=1)
    silent: dict[str, str] = {}


class RulesDoc(_Strict):
    """All sources that are known.

    Attributes:
        name, version: Of the document.
        formats: By name, most telling first.
    """

    name: str = Field(min_length=1)
    version: int = Field(ge=1)
    formats: dict[str, FormatDoc] = Field(min_length=1)

    @model_validator(mode="after")
    def _once(self) -> RulesDoc:
        ids = [r.id for f in self.formats.values() for r in f.rules]
        twice = sorted({i for i in ids if ids.count(i) > 1})
        if twice:
            raise ValueError(f"rule ids must differ: {', '.join(twice)}")
        return self

    def format_of(self, columns: Columns) -> str:
        """The first format whose columns are all there, "" if none."""
        names = list(columns)
        fits = (name for name, f in self.formats.items() if all(any(fnmatchcase(c, n) for c in names) for n in f.needs))
        return next(fits, "")

    def with_thresholds(self, changed: Mapping[str, tuple[int, ...]]) -> RulesDoc:
        """The same rules with other thresholds, in the order of their steps.

        Raises:
            InputError: There is no such counting rule, or the numbers do not fit it.
        """
        data = self.model_dump()
        counting = {r["id"]: r for f in data["formats"].values() for r in f["rules"] if r["kind"] == "count"}
        problems = []
        for rule_id, numbers in changed.items():
            steps = counting.get(rule_id, {}).get("steps", ())
            if len(steps) != len(numbers) or list(numbers) != sorted(set(numbers)) or min(numbers, default=0) < 0:
                allowed = f"{len(steps)} ascending whole numbers" if steps else f"one of {', '.join(counting)}"
                problems.append(Problem(None, f"threshold {rule_id}", ", ".join(map(str, numbers)), allowed))
                continue
            for step, number in zip(steps, numbers, strict=True):
                step["at_least"] = number
        if problems:
            raise InputError("A threshold cannot be set.", problems)
        return RulesDoc.model_validate(data)

    def strange(self, odd: Odd) -> tuple[str, ...]:
        """What no tag of this ODD can be: values that a rule gives and the ODD lacks; they stay missing, with their text."""
        return tuple(
            f"{r.id}: {r.dimension}={v}"
            for f in self.formats.values()
            for r in f.rules
            for v in sorted(r.names())
            if r.dimension not in odd.by_name or v not in odd.by_name[r.dimension].by_name
        )


def read_rules(text: str) -> RulesDoc:
    """The rules of a YAML text.

    Raises:
        InputError: It is no YAML or breaks the schema; every problem is listed.
    """
    return read_document(text, RulesDoc, "The rules are not valid YAML", "The rules for tags break a rule of their own.")


@cache
def shipped_rules(path: Path = RULES) -> RulesDoc:
    """The rules that ship with the product, for the built-in driving ODD."""
    return read_rules(path.read_text(encoding="utf-8"))


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Any of the words or phrases, the first that fits, as whole words and whatever their case."""
    return re.compile(r"(?<!\w)(?:" + "|".join(re.escape(w) for w in words) + r")(?!\w)", re.IGNORECASE)


def _counts(
    columns: Columns, rows: int, patterns: Values, without: Values = (), counted: str = ""
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """(rows,) sum of the columns that match; whether anything was counted; and whether a text is no count, so the sum is not known."""
    total, known, unread = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=bool), np.zeros(rows, dtype=bool)
    for name, column in columns.items():
        if name == counted:
            known |= column.codes >= 0
        if any(fnmatchcase(name, p) for p in patterns) and not any(fnmatchcase(name, p) for p in without):
            numbers = parse_numbers(column.values)
            whole = (numbers >= 0) & (numbers <= MOST_OBJECTS) & (numbers == np.floor(numbers))  # NaN is none of it
            total += np.append(np.where(whole, numbers, 0.0), 0.0)[column.codes].astype(np.int64)
            known |= column.codes >= 0
            unread |= ~np.append(whole, True)[column.codes]
    return total, known, unread
