"""Cases from the Parquet mirror of a set of cases."""

from __future__ import annotations

from pathlib import Path

from core.errors import InputError
from core.trajectories.importers.case_documents import take_documents
from core.trajectories.importers.collect import Collector
from core.trajectories.parquet import is_mirror, parquet_rows
from core.trajectories.report import Imported


def looks_like(path: Path) -> bool:
    """Whether it is such a file."""
    return path.is_file() and path.suffix.lower() == ".parquet" and is_mirror(path)


def read(path: Path) -> Imported:
    """The cases of a mirror.

    Args:
        path: The Parquet file; images are looked for beside it.

    Raises:
        InputError: The file is no mirror of cases.
    """
    out = Collector(path.name, "parquet")
    take_documents(out, ((f"row {n}", value, problem) for n, value, problem in parquet_rows(path)), path.parent)
    if not out.outcomes:
        raise InputError(f'"{path.name}" has no rows.')
    return out.result()
