"""What the rows of a manifest say along one dimension: from a column, or from the rules of its source; never a guess."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.acquisition.fidelity import UNSPECIFIED, Tag
from core.acquisition.manifest import MAX_TEXTS, DimensionReport, ManifestPlan, UnknownText
from core.acquisition.tag_rules import Rule, Values
from core.errors import InputError
from core.odd import Dimension
from core.seed_table.raw import RawColumn
from core.seed_table.values import ValueReader, normal

MISSING_WORDS = ("", "n/a", "na", "nan", "none", "null", "unknown", "undefined", "not labelled", "unlabelled", "-", "?")
"""Texts that say nothing, unless the dimension has a value of that name."""
SEVERAL = "|"
"""Stands between the values of a tag that names several."""
MAX_TAGS = 126
"""Different tags of one dimension; their codes fit into int8."""
SHOWN = 50
"""Unknown texts that a report lists per dimension; all are counted."""


def tag_text(tag: Tag) -> str | None:
    """A tag as it is stored: the value, or several with a bar between them; a bar in front of one that settles nothing."""
    if tag is None or isinstance(tag, str):
        return tag
    return SEVERAL.join(tag) if len(tag) > 1 else SEVERAL + tag[0]


def tag_of(text: str | None) -> Tag:
    """The tag that `tag_text` stored."""
    return tuple(t for t in text.split(SEVERAL) if t) if text and SEVERAL in text else text


@dataclass(frozen=True, eq=False)
class Tags:
    """The tags of all rows along one dimension.

    Attributes:
        codes: (rows,) index into `entries`, -1 where it is missing.
        entries: Tags in use, in the order of their texts.
        by: (rows,) index into `rules`, -1 where no rule gave the tag.
        rules: Ids of rules.
        unknown: (rows,) index into `texts`, -1 where the cell has no unknown text.
        texts: Unknown texts with the nearest value.
        column: Column that was read.
    """

    codes: npt.NDArray[np.int8]
    entries: tuple[Tag, ...]
    by: npt.NDArray[np.int8]
    rules: tuple[str, ...]
    unknown: npt.NDArray[np.int32]
    texts: tuple[tuple[str, str], ...]
    column: str

    def report(self, name: str, rows: npt.NDArray[np.int64]) -> DimensionReport:
        """What the dimension says of some rows."""
        codes, by, unknown = self.codes[rows], self.by[rows], self.unknown[rows]
        values = np.bincount(codes[codes >= 0], minlength=len(self.entries)).tolist()
        counts = np.bincount(unknown[unknown >= 0], minlength=len(self.texts)).tolist()
        rules = np.bincount(by[by >= 0], minlength=len(self.rules)).tolist()
        often = sorted((i for i, n in enumerate(counts) if n), key=lambda i: (-counts[i], self.texts[i][0]))
        single = {e: n for e, n in zip(self.entries, values, strict=True) if isinstance(e, str) and n}
        missing = int((codes < 0).sum())
        return DimensionReport(
            name=name,
            column=self.column,
            tagged=sum(single.values()),
            several=int(rows.size) - sum(single.values()) - missing,
            missing=missing,
            unknown=sum(counts),
            unknown_texts=tuple(UnknownText(self.texts[i][0], counts[i], self.texts[i][1]) for i in often[:SHOWN]),
            by_rule={r: n for r, n in zip(self.rules, rules, strict=True) if n},
            values=single,
        )


def read_tags(dimension: Dimension, columns: Mapping[str, RawColumn], rows: int, plan: ManifestPlan, rules: Sequence[Rule]) -> Tags:
    """The tags along a dimension. A cell that says something counts; where it is empty, the first rule that says something.

    Raises:
        InputError: The column is no dimension: too many different texts, or too many different tags.
    """
    if barred := [v for v in dimension.by_name if SEVERAL in v]:
        raise InputError(
            f'The values {", ".join(barred)} of "{dimension.name}" hold the sign {SEVERAL}, which parts several values; rename them.'
        )
    place: dict[Tag, int] = {}
    codes = np.full(rows, -1, dtype=np.int32)
    unknown = np.full(rows, -1, dtype=np.int32)
    by = np.full(rows, -1, dtype=np.int8)
    texts: list[tuple[str, str]] = []
    name = plan.dims.get(dimension.name, "")
    open_ = np.ones(rows, dtype=bool)
    if name:
        column = columns[name]
        tags, unread = _read_column(dimension, name, column, plan)
        to_place = np.array([-1 if t is None else place.setdefault(t, len(place)) for t in tags] + [-1], dtype=np.int32)
        to_unknown = np.full(len(tags) + 1, -1, dtype=np.int32)
        for i, suggestion in unread.items():
            to_unknown[i] = len(texts)
            texts.append((column.values[i].as_py(), suggestion))
        codes, unknown = to_place[column.codes], to_unknown[column.codes]
        open_ = (codes < 0) & (unknown < 0)
    used: list[str] = []
    for rule in rules:
        derived = rule.derive(columns, rows) if open_.any() else None
        if derived is None:
            continue
        picked, entries = derived
        known = [tuple(v for v in e if v in dimension.by_name) for e in entries]
        from_rule = np.array([place.setdefault(_tag(e), len(place)) if e else -1 for e in known], dtype=np.int32)[picked]
        new = open_ & (from_rule >= 0)
        codes[new], by[new] = from_rule[new], len(used)
        used.append(rule.id)
        open_ &= ~new
        foreign = np.full(len(entries), -1, dtype=np.int32)
        for i, (e, k) in enumerate(zip(entries, known, strict=True)):
            if e and not k:  # this ODD has no such value: missing, with the text
                foreign[i] = len(texts)
                texts.append((SEVERAL.join(e), ""))
        new = open_ & (foreign[picked] >= 0)
        unknown[new] = foreign[picked][new]
        open_ &= ~new
    return _settled(dimension, codes, list(place), by, tuple(used), unknown, tuple(texts), name)


def _settled(
    dimension: Dimension,
    codes: npt.NDArray[np.int32],
    entries: list[Tag],
    by: npt.NDArray[np.int8],
    rules: tuple[str, ...],
    unknown: npt.NDArray[np.int32],
    texts: tuple[tuple[str, str], ...],
    column: str,
) -> Tags:
    """The tags with their entries in order, only those in use."""
    counts = np.bincount(codes[codes >= 0], minlength=len(entries))
    kept = sorted((i for i in range(len(entries)) if counts[i]), key=lambda i: str(tag_text(entries[i])))
    if len(kept) > MAX_TAGS:
        raise InputError(f'The dimension "{dimension.name}" has {len(kept)} different tags; at most {MAX_TAGS} can be kept.')
    new = np.full(len(entries) + 1, -1, dtype=np.int8)
    new[kept] = np.arange(len(kept), dtype=np.int8)
    return Tags(new[codes], tuple(entries[i] for i in kept), by, rules, unknown, texts, column)


def _read_column(dimension: Dimension, name: str, column: RawColumn, plan: ManifestPlan) -> tuple[list[Tag], dict[int, str]]:
    """The tag of each distinct text of a column, and the nearest value of each text that is unknown."""
    if len(column.values) > MAX_TEXTS:
        raise InputError(
            f'Column "{name}" has {len(column.values):,} different texts and cannot be read as the dimension "{dimension.name}"; '
            "name another column for it, or none."
        )
    reader = ValueReader(dimension, plan.value_map.get(dimension.name))
    silent = {normal(w) for w in (*MISSING_WORDS, *plan.missing_words)}
    tags: list[Tag] = []
    unread: dict[int, str] = {}
    for i, text in enumerate(column.texts()):
        found: set[str] = set()
        parts = [text] if reader.knows(text) else _parts(text)
        for part in parts:
            values = _values(dimension, reader, part, silent)
            if values is None:
                unread[i] = reader.read(part).suggestion
                break
            found.update(values)
        tags.append(_tag(tuple(v for v in (*dimension.by_name, UNSPECIFIED) if v in found), dimension) if i not in unread else None)
    return tags, unread


def _parts(text: str) -> list[str]:
    if text.startswith("["):
        try:
            return [str(x) for x in json.loads(text)]
        except (ValueError, RecursionError):
            return [text]
    return [p.strip() for p in text.split(SEVERAL)]


def _values(dimension: Dimension, reader: ValueReader, text: str, silent: set[str]) -> Values | None:
    """The values that a text may mean, () if it says nothing, None if it is unknown."""
    reading = reader.read(text)
    if reading.ok:
        return (reading.value,)
    if reading.how == "excluded" or normal(text) in silent:
        return ()
    if reading.how == "ambiguous":
        key = normal(text)
        return tuple(v.name for v in dimension.values if key in (normal(v.name), *map(normal, v.synonyms)))
    return (UNSPECIFIED,) if normal(text) == UNSPECIFIED else None


def _tag(values: Values, dimension: Dimension | None = None) -> Tag:
    """Values as a tag; the word unspecified is a value only where the dimension has it."""
    values = tuple(dict.fromkeys(values))
    if not values:
        return None
    settled = len(values) == 1 and (values[0] != UNSPECIFIED or dimension is None or UNSPECIFIED in dimension.by_name)
    return values[0] if settled else values
