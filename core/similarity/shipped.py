"""Similarity tables as files: those that ship with the built-in ODD, and those fitted once and kept."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.digest import sha256_json
from core.errors import InputError, Problem
from core.odd import Odd
from core.odd.text import TEMPLATE
from core.settings import ASSETS
from core.similarity.base import UNIT, Units
from core.similarity.calibrated import Scope
from core.similarity.tables import UNCOVERED, SimilarityTables, mean_of_cosines, tables_digest

FOLDER = ASSETS / "similarity"

_LIMIT = 2 * UNIT


class TablesDoc(BaseModel):
    """A file of tables.

    Attributes:
        format: Version of this layout.
        odd: Name of the ODD.
        odd_version: Its version.
        vocabulary: See `vocabulary_hash`.
        template: How a slice was written for the encoder.
        model: Encoder, with the fingerprint of its weights.
        mode: "calibrated": `tables` holds contributions; "factored": it holds cosines, whose mean is the similarity.
        scope: Values that are covered.
        dims: Names of the dimensions that count.
        values: For each, the covered values by name.
        tables: For each, a symmetric table over those values in units of 1e-6.
        quality: What is known of the fit.
        sha256: `tables_digest` of mode, model, dims, values and tables.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal[1]
    odd: str
    odd_version: int
    vocabulary: str = Field(pattern="^[0-9a-f]{64}$")
    template: str
    model: str
    mode: Literal["calibrated", "factored"]
    scope: Literal["base", "all"]
    dims: list[str] = Field(min_length=1)
    values: dict[str, list[str]]
    tables: dict[str, list[list[int]]]
    quality: dict[str, Any]
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


def vocabulary_hash(odd: Odd) -> str:
    """SHA-256 of the names of dimensions (in order) and values, and of nothing else.

    An edited definition, synonym or label leaves tables valid; an added, removed or renamed value does not.
    """
    return sha256_json([list(odd.names), [list(v) for v in odd.codec.values]])


def write_tables(path: Path, tables: SimilarityTables, scope: Scope) -> None:
    """Write tables as a small file that people can read, in one piece (never half a file)."""
    used = tables.used
    doc = TablesDoc(
        format=1,
        odd=tables.odd.name,
        odd_version=tables.odd.version,
        vocabulary=vocabulary_hash(tables.odd),
        template=TEMPLATE,
        model=tables.model,
        mode="factored" if tables.mode == "factored" else "calibrated",
        scope=scope,
        dims=list(used),
        values={n: list(v) for n, v in zip(used, tables.covered_values, strict=True)},
        tables=dict(zip(used, tables.held, strict=True)),
        quality=dict(tables.quality),
        sha256=tables.sha256,
    )
    text = json.dumps(doc.model_dump(), indent=1, ensure_ascii=False)
    # One row of a table a line.
    text = re.sub(r"\[\s*(-?\d+(?:,\s*-?\d+)*)\s*\]", lambda m: "[" + re.sub(r"\s+", "", m[1]).replace(",", ", ") + "]", text)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text + "\n", encoding="utf-8")
    draft.replace(path)


def read_tables(path: Path, odd: Odd) -> SimilarityTables | None:
    """The tables of a file over the codes of an ODD, None if they were made for another vocabulary.

    Raises:
        InputError: The file is damaged or was edited: its layout, its sizes or its sha256 are not right.
    """
    try:
        doc = TablesDoc.model_validate_json(path.read_bytes())
    except ValidationError as e:
        problems = [Problem(None, ".".join(map(str, x["loc"])) or "file", str(x.get("input"))[:60], x["msg"]) for x in e.errors()]
        raise InputError(f"{path.name} is not a file of similarity tables. {_MEND}", problems) from e
    lists = [doc.values.get(n, []) for n in doc.dims]
    tables = [doc.tables.get(n, []) for n in doc.dims]
    if doc.sha256 != tables_digest(doc.mode, doc.model, doc.dims, lists, tables):
        raise InputError(f"The tables in {path.name} do not match the sha256 that stands there: the file was changed or damaged. {_MEND}")
    if doc.template != TEMPLATE:
        raise InputError(f"{path.name} was made with another text template of slices. {_MEND}")
    if doc.vocabulary != vocabulary_hash(odd):
        return None
    places = [odd.names.index(n) for n in doc.dims if n in odd.names]
    if len(places) != len(doc.dims) or places != sorted(set(places)):
        allowed = f"some of {', '.join(odd.names)}, in order"
        raise InputError(f"{path.name} names the dimensions {', '.join(doc.dims)}; allowed: {allowed}. {_MEND}")
    whole = [_spread(t, v, odd, k) for t, v, k in zip(tables, lists, places, strict=True)]
    if doc.mode == "factored":
        return mean_of_cosines(odd, places, whole, doc.model, doc.quality)
    return SimilarityTables(doc.mode, odd, tuple(places), tuple(whole), doc.model, doc.quality)


def shipped_path(mode: str, scope: Scope) -> Path:
    """Where the tables of the built-in ODD lie. The mode "factored" covers the whole vocabulary in one file."""
    return FOLDER / f"driving.{mode}.{'all' if mode == 'factored' else scope}.json"


def shipped_tables(odd: Odd, mode: str, scope: Scope) -> SimilarityTables | None:
    """The tables that ship for this vocabulary, None if it is not that of the built-in ODD.

    Args:
        odd: Domain whose codes will be looked up.
        mode: "calibrated" or "factored".
        scope: "base": base values, the dimensions that the base ODD distinguishes; "all": whole vocabulary, all dimensions.

    Raises:
        InputError: The file is damaged.
    """
    path = shipped_path(mode, scope)
    tables = read_tables(path, odd) if path.is_file() else None
    if tables is None:
        return None
    if scope == "base":
        if mode == "factored":
            return tables.bind(odd, odd.active)
        # The hash does not see tiers: a value that was moved into the ODD was not fitted, a new active dimension neither.
        base = [odd.is_base[k] for k in tables.dims]
        if tables.dims != odd.active or any((b & ~c).any() for b, c in zip(base, tables.covered, strict=True)):
            return None
    return tables


_MEND = "Put the file back from the release, or make it again: python -m core.similarity.build_assets (make assets)."


def _spread(table: list[list[int]], values: list[str], odd: Odd, k: int) -> Units:
    """Rows over some values of dimension k as a table (V_k, V_k) over all its codes."""
    code_of = odd.codec.code_of[k]
    square = bool(values) and len(set(values)) == len(values) == len(table) and all(len(row) == len(values) for row in table)
    if not square or not set(values) <= set(code_of) or any(abs(x) > _LIMIT for row in table for x in row):
        allowed = f"a square of whole numbers up to ±{_LIMIT:,} is needed"
        raise InputError(f'The table of "{odd.names[k]}" does not fit its values: {allowed}. {_MEND}')
    codes = [code_of[v] for v in values]
    out = np.full((len(code_of), len(code_of)), UNCOVERED, dtype=np.int32)
    out[np.ix_(codes, codes)] = np.array(table, dtype=np.int32)
    if not np.array_equal(out, out.T):
        raise InputError(f'The table of "{odd.names[k]}" is not symmetric. {_MEND}')
    return out
