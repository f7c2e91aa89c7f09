"""The baseline without operators: a language model lists slices itself, from a summary of the table (SliceNav, appendix H)."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.controller.guards import values_of
from core.errors import InputError
from core.llm import Ask, Client, Retry, with_retries
from core.odd import Odd
from core.scoring import Triage
from core.seed_table import SeedTable
from core.seed_table.values import normal
from core.settings import ASSETS

PROMPT = ASSETS / "prompts" / "choose_slices.yaml"
_SLOTS = {"system": set[str](), "task": {"summary", "inside", "outside", "question", "header", "top"}}
_SLOT = re.compile(r"\{([a-z_]+)\}")
_TOKENS_A_ROW = 120
_MOST_TOKENS = 16_000
Slice = tuple[str, ...]
"""One value per dimension, in the order of the ODD."""


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(pattern="^choose_slices$")
    version: int = Field(ge=1)
    system: str = Field(min_length=1)
    task: str = Field(min_length=1)


@dataclass(frozen=True)
class Listed:
    """What came of a table that a model wrote.

    Attributes:
        slices: Untested slices of known values, each once, in the order in which they were written.
        rows: Rows below the header.
        unknown_values: Cells that name no value of their dimension.
        unusable: Rows left out for an unknown value or a missing cell.
        repeated: Rows that say the same as one before.
        tested: Rows that name a slice which was tested.
        outside: Of `slices`, those with a value outside the ODD.
    """

    slices: tuple[Slice, ...] = ()
    rows: int = 0
    unknown_values: int = 0
    unusable: int = 0
    repeated: int = 0
    tested: int = 0
    outside: int = 0

    def counts(self) -> dict[str, int]:
        """The counts as JSON-ready data."""
        return {"returned": len(self.slices)} | {k: v for k, v in vars(self).items() if k != "slices"}


def choose_slices(query: str, seed: SeedTable, found: Triage, client: Client, *, top: int, retry: Retry | None = None) -> Listed:
    """Has a model list slices, with the decoding that its server uses by default.

    Args:
        query: The question.
        seed: Tested slices; the model is told a summary of them only.
        found: Triage of the table.
        client: Endpoint.
        top: Slices that are asked for.
        retry: How often one call is tried.

    Raises:
        ModelError: No answer.
    """
    ask = Ask(messages(query, seed, found, top), min(_TOKENS_A_ROW * top + 400, _MOST_TOKENS), temperature=None, seed=None)
    reply = with_retries(lambda: client.chat(ask), retry)
    return read_slices(reply.text, seed)


def messages(query: str, seed: SeedTable, found: Triage, top: int) -> list[dict[str, str]]:
    """What the model is told."""
    doc, odd = _document(), seed.odd
    values = {
        "summary": summary(found),
        "inside": _values(odd, "base"),
        "outside": _values(odd, "extended"),
        "question": json.dumps(query, ensure_ascii=False),
        "header": ",".join(odd.names),
        "top": str(top),
    }
    return [{"role": "system", "content": doc.system}, {"role": "user", "content": _SLOT.sub(lambda m: values[m[1]], doc.task)}]


def summary(found: Triage) -> str:
    """The table in a few lines: samples and error in all and per value; no slice of its own."""
    error = {(f.dimensions[0], f.values[0]): f for f in found.by_value}
    lines = [f"{found.n:,} samples in {found.slices:,} slices, error {found.error:.1%} (0 % is best)."]
    for c in found.coverage:
        f = error.get((c.dimension, c.value))
        lines.append(f"{c.dimension}={c.value}: n = {c.n:,} ({c.share:.0%}){f', error {f.error:.1%}' if f else ', never tested'}")
    return "\n".join(lines)


def read_slices(text: str, seed: SeedTable) -> Listed:
    """Reads a table of slices out of an answer.

    Taken are CSV with commas, semicolons, tabs or bars, with or without a code fence, words around it, or a header; columns in any
    order. A dimension without a column, or with an empty cell, is filled in only where the ODD leaves no choice.
    """
    odd = seed.odd
    columns, body = _table(text, odd)
    tested = {tuple(row) for row in odd.codec.names(seed.codes)}
    counts: Counter[str] = Counter()
    slices: dict[Slice, None] = {}
    for cells in body:
        counts["rows"] += 1
        values = _slice(cells, columns, odd, counts)
        if values is None:
            counts["unusable"] += 1
        elif values in slices:
            counts["repeated"] += 1
        elif values in tested:
            counts["tested"] += 1
        else:
            slices[values] = None
    extended = [{v.name for v in d.values if v.tier == "extended"} for d in odd.dimensions]
    counts["outside"] = sum(any(v in e for v, e in zip(s, extended, strict=True)) for s in slices)
    return Listed(tuple(slices), **counts)


def _slice(cells: Sequence[str], columns: Sequence[str], odd: Odd, counts: Counter[str]) -> Slice | None:
    given = dict(zip(columns, cells, strict=False))
    out = []
    for d in odd.dimensions:
        text = given.get(d.name, "").strip()
        named = values_of(d, text) if text else [v.name for v in d.base] if len(d.base) == 1 else []
        if text and not named:
            counts["unknown_values"] += 1
        out.append(named[0] if named else "")
    return tuple(out) if all(out) else None


def _table(text: str, odd: Odd) -> tuple[list[str], list[list[str]]]:
    """Names of the columns and the cells of the rows; a row is what has as many cells as the header, or nearly."""
    lines = [x.strip().strip("|").strip() if x.strip().startswith("|") else x.strip() for x in text.splitlines()]
    lines = [x for x in lines if x and not x.startswith("```") and not re.fullmatch(r"[\s|:+-]+", x)]
    sign = max(",;\t|", key=lambda s: max((x.count(s) for x in lines), default=0))
    rows = [[c.strip() for c in next(csv.reader(io.StringIO(x), delimiter=sign, skipinitialspace=True), [])] for x in lines]
    names = {normal(t): d.name for d in odd.dimensions for t in (d.name, d.label)}
    for i, row in enumerate(rows):
        columns = [names.get(normal(c), "") for c in row]
        if sum(map(bool, columns)) * 2 > len(odd.names) and len(set(filter(None, columns))) == sum(map(bool, columns)):
            return columns, [r for r in rows[i + 1 :] if len(r) > len(odd.names) // 2 and [names.get(normal(c), "") for c in r] != columns]
    return list(odd.names), [r for r in rows if len(r) == len(odd.names)]


def _values(odd: Odd, tier: str) -> str:
    lines = {d.name: [v.name for v in d.values if v.tier == tier] for d in odd.dimensions}
    return "\n".join(f"  {name}: {', '.join(values)}" for name, values in lines.items() if values) or "  none"


@cache
def _document(path: Path = PROMPT) -> _Document:
    """The texts of the prompt.

    Raises:
        InputError: The file cannot be read, or a text has other names in braces than are filled in.
    """
    try:
        doc = _Document.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as e:
        raise InputError(f"The file of prompts {path.name} cannot be read: {e}") from e
    for name, slots in _SLOTS.items():
        if set(_SLOT.findall(getattr(doc, name))) != slots:
            raise InputError(f"The text {name} of {path.name} must have these names in braces: {', '.join(sorted(slots)) or 'none'}.")
    return doc
