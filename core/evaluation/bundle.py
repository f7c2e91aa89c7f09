"""Bundles of samples: one JSON object a line, as the normalized bundle of a run is (SliceNav, appendix J)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from core.digest import canonical_json
from core.errors import InputError, Problem
from core.evaluation.items import Item
from core.evaluation.job import flaw_of

MAX_PROBLEMS = 100
"""Problems that are told one by one; the rest is counted."""

_item = TypeAdapter(Item)


def read_bundle(path: Path) -> tuple[Item, ...]:
    """The samples of a bundle; relative paths of images start at its folder.

    Raises:
        InputError: It is no such file, or lines of it are no samples that can be evaluated; all of them are named.
    """
    items, problems = list[Item](), list[Problem]()
    lines: dict[str, int] = {}
    for number, data in json_lines(path):
        try:
            item = _item.validate_python({k: v for k, v in data.items() if k != "root"})
        except ValidationError as e:
            problems += [Problem(number, ".".join(map(str, x["loc"])), str(x.get("input"))[:80], x["msg"]) for x in e.errors()]
            continue
        if len(item.id) > 500:
            problems.append(Problem(number, "id", item.id[:80], "at most 500 characters"))
        if flaw := flaw_of(item):
            problems.append(Problem(number, "question", item.question[:80], f"a sample that can be evaluated; {flaw}"))
        if item.id in lines:
            problems.append(Problem(number, "id", item.id[:80], f"an id of its own; line {lines[item.id]} has it too"))
        lines[item.id] = number
        items.append(replace(item, root=str(path.parent)))
    if problems:
        more = f" The first {MAX_PROBLEMS} of {len(problems):,} problems:" if len(problems) > MAX_PROBLEMS else ""
        raise InputError(f"The bundle {path.name} cannot be evaluated as it is.{more}", problems[:MAX_PROBLEMS])
    if not items:
        raise InputError(f"The bundle {path.name} holds no samples.")
    return tuple(items)


def write_bundle(items: list[Item] | tuple[Item, ...]) -> str:
    """Samples as the lines of a bundle."""
    return "".join(canonical_json(i.as_dict()) + "\n" for i in items)


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers and objects of a JSONL file; empty lines are passed over.

    Raises:
        InputError: It cannot be read, is not UTF-8, or a line is no JSON object.
    """
    try:
        with path.open(encoding="utf-8-sig") as f:
            for number, line in enumerate(f, 1):
                if not line.strip():
                    continue
                data = json.loads(line, parse_constant=_refused)
                if not isinstance(data, dict):
                    raise InputError(f"Line {number} of {path.name} is no JSON object.")
                yield number, data
    except UnicodeDecodeError as e:
        raise InputError(f"The file {path.name} is not UTF-8 text.") from e
    except RecursionError as e:
        raise InputError(f"Line {number} of {path.name} is nested too deeply.") from e
    except json.JSONDecodeError as e:
        raise InputError(f"Line {number} of {path.name} is no JSON: {e.msg}.") from e
    except ValueError as e:
        raise InputError(f"Line {number} of {path.name} is no JSON: {e}.") from e


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def flat_lines(path: Path) -> bytes:
    """The objects of a JSONL file without nesting: the values of a slice as columns of their own, lists as JSON text.

    Raises:
        InputError: See `json_lines`.
    """
    out = []
    for _, data in json_lines(path):
        row: dict[str, Any] = {}
        for name, value in data.items():
            if isinstance(value, dict) and name in ("realised", "slice", "tags"):
                row |= value
            else:
                row[name] = canonical_json(value) if isinstance(value, dict | list) else value
        out.append(json.dumps(row))
    return "\n".join(out).encode()
