"""Names of classes by number: typed, in a list of names, or in the YAML file of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from core.error_slices.sources.json_files import read_text
from core.errors import InputError

Names = Sequence[str] | str | Path | None
BESIDE = ("data.yaml", "dataset.yaml", "classes.txt", "obj.names", "_darknet.labels")
"""Files that hold the names of the classes in data sets of YOLO."""


def yaml_document(path: Path) -> dict[str, Any]:
    """The mapping of a YAML file.

    Raises:
        InputError: It cannot be read or is no mapping.
    """
    try:
        document = yaml.safe_load(read_text(path))
    except (yaml.YAMLError, RecursionError) as e:
        raise InputError(f"{path.name}: this is no YAML: {getattr(e, 'problem', None) or e}.") from e
    if not isinstance(document, dict):
        raise InputError(f"{path.name}: the description of a data set is a mapping with names and paths.")
    return document


def names_in(document: dict[str, Any], path: Path) -> list[str]:
    """The names of a data set's description, by number.

    Raises:
        InputError: They are neither a list nor a mapping from the numbers 0, 1, 2 …
    """
    names = document.get("names")
    if isinstance(names, list):
        return [str(n) for n in names]
    if isinstance(names, dict) and all(isinstance(k, int) and 0 <= k < 100_000 for k in names):
        return [str(names.get(i, i)) for i in range(max(names, default=-1) + 1)]
    raise InputError(f'{path.name}: "names" must be a list of names, or numbers with names.')


def read_names(names: Names) -> list[str]:
    """Names in order from 0; empty if none are given.

    Args:
        names: A list, text with commas, or a file: YAML with names, or one name a line. Text that ends like such a file is one.

    Raises:
        InputError: The file cannot be read.
    """
    if names is None or names == "":
        return []
    if isinstance(names, str):
        is_file = "," not in names and names.lower().endswith((".yaml", ".yml", ".txt", ".names", ".labels"))
        if not is_file:
            return [n.strip() for n in names.split(",")]
        names = Path(names)
    if isinstance(names, Path):
        if names.suffix.lower() in {".yaml", ".yml"}:
            return names_in(yaml_document(names), names)
        return [line.strip() for line in read_text(names).splitlines() if line.strip()]
    return [str(n) for n in names]


def names_beside(folder: Path) -> Path | None:
    """The file of names in a folder of labels or up to two above it, None if there is none."""
    for place in (folder, folder.parent, folder.parent.parent):
        for name in BESIDE:
            if (place / name).is_file():
                return place / name
    return None
