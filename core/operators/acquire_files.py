"""The files of an acquisition: one line of JSON a candidate, an item, an unfilled slice; the same bytes on every machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from core.acquisition.candidates import Candidate
from core.acquisition.datastore import Datastore
from core.digest import canonical_json
from core.errors import InputError, Problem
from core.evaluation.items import Item
from core.odd import Odd
from core.operators.acquire import Acquired
from core.seed_table import open_table
from core.seed_table.values import ValueReader, normal


def retrieval_jsonl(acquired: Acquired) -> bytes:
    """The candidates (dataset_retrieval.jsonl); paths as in the manifest, or below the folder of made images."""
    return _lines(c.as_dict() for c in acquired.candidates)


def bundle_jsonl(acquired: Acquired) -> bytes:
    """The items (normalized_bundle.jsonl)."""
    return _lines(i.as_dict() for i in acquired.items)


def unfilled_jsonl(acquired: Acquired) -> bytes:
    """The slices that stay without enough samples, each with the reason."""
    return _lines(acquired.unfilled)


def read_acquired(
    retrieval: bytes, bundle: bytes, unfilled: bytes = b"", *, datastore: Datastore | None = None, media: Path | None = None
) -> Acquired:
    """What the three files tell.

    Args:
        retrieval: Candidates.
        bundle: Items.
        unfilled: Slices that lack samples.
        datastore: Where the found media lie.
        media: Folder of made images.

    Raises:
        InputError: A line is none of these.
    """
    try:
        candidates = tuple(_candidate(x) for x in _read(retrieval))
        roots = {"datastore": datastore.root if datastore else None, "synthetic": media}
        items = tuple(_item(x, roots) for x in _read(bundle))
        left = tuple(_read(unfilled))
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        raise InputError(f"The files of an acquisition cannot be read: {e}.") from e
    return Acquired(candidates, items, left, {"candidates": len(candidates), "items": len(items), "unfilled": len(left)})


def read_slices(source: Path | bytes, odd: Odd, name: str = "") -> tuple[list[dict[str, str]], tuple[str, ...]]:
    """The slices of a table: a column for each dimension that is asked for; an empty cell asks for nothing.

    Args:
        source: A file, such as a ranking, or its bytes.
        odd: Its dimensions are the columns that count.
        name: Name of the file, for bytes.

    Returns:
        The slices in the order of the file, each once, and notes in sentences.

    Raises:
        InputError: No column is a dimension, or a cell is no value; all such cells are listed.
    """
    file = open_table(source, name)
    dims = {d: c for c in file.columns for d in odd.names if normal(c) == normal(d)}
    if not dims:
        raise InputError(f'"{file.name}" has no column of a dimension; dimensions are {", ".join(odd.names)}.')
    raw = file.read(list(dims.values()))
    problems = list(raw.broken)
    texts: dict[str, list[str]] = {}
    for d, column in dims.items():
        reader = ValueReader(odd.by_name[d])
        readings = [reader.read(t) for t in raw.columns[column].texts()]
        allowed = ", ".join(odd.by_name[d].by_name)
        codes = raw.columns[column].codes
        bad = {i for i, r in enumerate(readings) if not r.ok}
        for row in [k for k, c in enumerate(codes.tolist()) if c in bad]:
            r = readings[codes[row]]
            problems.append(Problem(int(raw.numbers[row]), column, r.text, allowed, r.suggestion, "unknown_value"))
        texts[d] = [r.value for r in readings] + [""]
    if problems:
        raise InputError(f'"{file.name}" cannot be read as slices:', problems)
    found: dict[tuple[tuple[str, str], ...], None] = {}
    for row in range(raw.rows):
        values = tuple((d, v) for d in odd.names if d in dims and (v := texts[d][raw.columns[dims[d]].codes[row]]))
        if values:
            found[values] = None
    notes = list(file.notes)
    if raw.rows > len(found):
        notes.append(f"{raw.rows - len(found):,} rows were empty or stand there before, and are not looked for again.")
    return [dict(v) for v in found], tuple(notes)


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(f"{canonical_json(r)}\n" for r in rows).encode()


def _read(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.decode().split("\n") if line.strip()]


def _candidate(x: dict[str, Any]) -> Candidate:
    tags = {d: tuple(t) if isinstance(t, list) else t for d, t in x["tags"].items()}
    return Candidate(**{k: v for k, v in x.items() if k != "realised"} | {"tags": tags, "options": tuple(x["options"])})


def _item(x: dict[str, Any], roots: Mapping[str, Path | None]) -> Item:
    lists = {k: tuple(x[k]) for k in ("images", "options", "image_sha256")}
    root = roots.get(x["source"])
    return Item(**x | lists, root=str(root) if root is not None else "")
