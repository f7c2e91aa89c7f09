"""Cases from JSON Lines: Oddyssey's own format, and files by others that nearly keep it.

What is mended, and said: a missing schema_version, states that are null, a first row that is the origin, zeros that stand for "no state",
a planner longer or shorter than the expert, rated trajectories at another step, axes.
"""

from __future__ import annotations

from pathlib import Path

from core.errors import InputError
from core.trajectories.document import json_lines
from core.trajectories.importers.case_documents import take_documents
from core.trajectories.importers.clean import axes_remark, checked_axes
from core.trajectories.importers.collect import Collector
from core.trajectories.report import Imported

FILE = "cases.jsonl"


def _file(path: Path) -> Path:
    return path / FILE if path.is_dir() else path


def looks_like(path: Path) -> bool:
    """Whether it is a file of lines, or a folder with one, whose first line has an expert and a planner."""
    file = _file(path)
    if not file.is_file() or file.suffix.lower() not in (".jsonl", ".ndjson"):
        return False
    try:
        first = next(iter(json_lines(file)), None)
    except InputError:
        return False
    return first is not None and (not isinstance(first[1], dict) or {"expert", "planner"} & first[1].keys() != set())


def read(path: Path, *, axes: str = "forward_left") -> Imported:
    """The cases of a file, or of the file `cases.jsonl` in a folder.

    Args:
        path: File or folder; images are looked for beside the file.
        axes: What x and y are; everything spatial in a case is turned.

    Raises:
        InputError: The file cannot be opened.
    """
    turn = checked_axes(axes)
    file = _file(path)
    out = Collector(path.name, "jsonl")
    out.remarks += [r for r in (axes_remark(turn),) if r]
    take_documents(out, ((f"line {n}", value, problem) for n, value, problem in json_lines(file)), file.parent, turn)
    if not out.outcomes:
        raise InputError(f'"{file.name}" is empty: expected one case a line.')
    return out.result()
