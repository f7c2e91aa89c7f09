"""Folders as a database keeps them: so that the product and the workspace may lie elsewhere tomorrow."""

from __future__ import annotations

from pathlib import Path

from core.settings import ASSETS

_SHIPPED = "assets:"
"""Begins a folder inside the product's own data, which lies elsewhere on every machine."""
_OWN = "workspace:"
"""Begins a folder below the given one."""


def written_place(folder: Path | None, parent: Path | None = None) -> str:
    """A folder in text: relative to the product's data or to `parent` where it lies inside; "" for None."""
    if folder is None:
        return ""
    whole = folder.resolve()
    if whole.is_relative_to(ASSETS):
        return _SHIPPED + whole.relative_to(ASSETS).as_posix()
    if parent is not None and whole.is_relative_to(parent.resolve()):
        return _OWN + whole.relative_to(parent.resolve()).as_posix()
    return str(whole)


def read_root(text: str) -> Path | None:
    """The folder of a text that `written_place` made without a parent; None for ""."""
    if text.startswith(_SHIPPED):
        return ASSETS / text.removeprefix(_SHIPPED)
    return Path(text) if text else None


def read_place(text: str, parent: Path) -> Path:
    """The folder of a text that `written_place` made with this parent."""
    if text.startswith(_OWN):
        return parent / text.removeprefix(_OWN)
    return read_root(text) or parent
