"""The Parquet mirror of a set of cases: one row a case, trajectories as lists of pairs, for tools that read columns.

Everything that has no column of its own stands as JSON in `document`, so that the mirror gives back the same cases.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from core.errors import InputError, Problem
from core.trajectories.case import SCHEMA_VERSION, Case
from core.trajectories.document import case_from_json, case_to_json, trajectory_json

_TRAJECTORIES = ("expert", "planner", "history")
_PLAIN = ("case_id", "scene_id", "planner_id", "dt_s", "horizon_s", "command", "flags", "licence", "synthetic")
ROWS_AT_ONCE = 500
READ_AT_ONCE = 8
"""A text that is there again and again takes no room in a file; few rows at once bound what it takes in memory."""


def _schema() -> Any:
    import pyarrow as pa

    points = pa.list_(pa.list_(pa.float64(), 2))
    fields = [
        *((name, pa.string()) for name in ("case_id", "scene_id", "planner_id")),
        ("dt_s", pa.float64()),
        ("horizon_s", pa.float64()),
        ("command", pa.string()),
        ("speed_mps", pa.float64()),
    ]
    for name in _TRAJECTORIES:
        fields += [(name, points), (f"{name}_valid", pa.list_(pa.bool_())), (f"{name}_yaw", pa.list_(pa.float64()))]
    fields += [
        ("flags", pa.list_(pa.string())),
        ("metrics", pa.map_(pa.string(), pa.float64())),
        ("cameras", pa.int64()),
        ("licence", pa.string()),
        ("synthetic", pa.bool_()),
        ("document", pa.string()),
    ]
    return pa.schema(fields, metadata={"oddyssey_cases": SCHEMA_VERSION})


def _row(case: Case) -> dict[str, Any]:
    document = case_to_json(case)
    row: dict[str, Any] = {name: document.pop(name) for name in _PLAIN}
    for name in _TRAJECTORIES:
        document.pop(name)
        t = getattr(case, name)
        row[name] = None if t is None else t.points.tolist()
        row[f"{name}_valid"] = None if t is None else t.valid.tolist()
        row[f"{name}_yaw"] = None if t is None or t.yaw is None else t.yaw.tolist()
    row["speed_mps"] = case.ego.speed_mps
    row["metrics"] = list(document.pop("metrics").items())
    row["cameras"] = len(case.cameras)
    row["document"] = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return row


def write_parquet(path: Path | str, cases: Sequence[Case]) -> None:
    """Writes the mirror of the cases."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema()
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, max(1, len(cases)), ROWS_AT_ONCE):
            writer.write_table(pa.Table.from_pylist([_row(c) for c in cases[start : start + ROWS_AT_ONCE]], schema))


def is_mirror(path: Path) -> bool:
    """Whether the file is such a mirror."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return b"oddyssey_cases" in (pq.read_schema(path).metadata or {})
    except (OSError, ValueError, pa.ArrowException):
        return False


def parquet_rows(path: Path | str) -> Iterator[tuple[int, dict[str, Any] | None, Problem | None]]:
    """Number (from 1), JSON object and problem of every row; the object still has to be checked.

    Raises:
        InputError: The file is no mirror of cases.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = Path(path).name
    try:
        with pq.ParquetFile(path) as file:
            missing = [c for c in _schema().names if c not in file.schema_arrow.names]
            if missing:
                problems = [Problem(None, c, "nothing", "a column of this name", kind="missing") for c in missing]
                raise InputError(f'"{name}" is no mirror of cases.', problems)
            number = 0
            for batch in file.iter_batches(READ_AT_ONCE):
                for row in batch.to_pylist():
                    number += 1
                    try:
                        yield number, _document(row), None
                    except (ValueError, TypeError, RecursionError, AttributeError) as e:
                        yield number, None, Problem(number, "document", str(row.get("document"))[:60], f"the JSON of a case ({e})")
    except (OSError, ValueError, pa.ArrowException) as e:
        raise InputError(f'"{name}" cannot be read as Parquet: {e}.') from e


def read_parquet(path: Path | str) -> list[Case]:
    """The cases of a mirror.

    Raises:
        InputError: The file is no mirror of cases, or a row breaks the format; every problem is listed.
    """
    cases, problems = [], []
    for number, document, problem in parquet_rows(path):
        if document is None:
            problems += [problem] if problem else []
            continue
        try:
            cases.append(case_from_json(document))
        except InputError as e:
            problems += [Problem(number, p.column, p.got, p.allowed, p.suggestion, p.kind) for p in e.problems]
    if problems:
        raise InputError(f'"{Path(path).name}" breaks the format of cases.', problems)
    return cases


def _document(row: dict[str, Any]) -> dict[str, Any]:
    document = json.loads(row["document"])
    if not isinstance(document, dict):
        raise ValueError("no object")
    document |= {name: row[name] for name in _PLAIN} | {"metrics": dict(row["metrics"] or [])}
    for name in _TRAJECTORIES:
        document[name] = None if row[name] is None else trajectory_json(row[name], row[f"{name}_valid"], row[f"{name}_yaw"])
    return document
