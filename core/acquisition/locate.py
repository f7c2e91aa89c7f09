"""Where the media of a row of a datastore are: a file, a list of files, or a folder of the frames of a clip."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.acquisition.datastore import Datastore, Row
from core.acquisition.media import FRAMES, frames_of, identity, spread

Flaw = Literal["", "no_media", "media_changed"]


@dataclass(frozen=True)
class Located:
    """The media of a row.

    Attributes:
        path: As it is written: relative to the folder of the media, or as the manifest says.
        images: Files in the same form; as many frames of a clip as are looked at.
        image_sha256: Of each image.
        sha256: Of the file, or of the hashes of several.
        flaw: Why they cannot be used: they are not on this machine (an address is not fetched), or not what the manifest says.
    """

    path: str
    images: tuple[str, ...] = ()
    image_sha256: tuple[str, ...] = ()
    sha256: str = ""
    flaw: Flaw = ""


def locate(store: Datastore, row: Row) -> Located:
    """The media of a row, with the hashes of what lies there now."""
    names = _names(row.path)
    if names and all("://" in n for n in names):
        return Located(row.path, sha256=row.sha256, flaw="no_media")  # nothing is fetched: a slice is filled by what can be shown
    root = store.root.resolve() if store.root is not None else Path()
    files = [store.media(n) for n in names]
    there = [f for f in files if f is not None]
    clip = len(names) == 1 and len(there) == 1 and os.path.isdir(there[0])  # os.path: a name that no disk can hold is not there
    try:
        files = [Path(f) for f in frames_of(there[0])] if clip else spread(files, FRAMES)
        found = [f for f in files if f is not None and os.path.isfile(f) and f.resolve().is_relative_to(root)]
        shas = tuple(_sha256(f) for f in found)
    except OSError:  # there, but not to be read
        found = []
    if not found or len(found) < len(files):
        return Located(row.path, sha256=row.sha256, flaw="no_media")
    sha = shas[0] if len(shas) == 1 else identity(shas)
    if row.sha256 and len(names) == 1 and not clip and sha != row.sha256:
        return Located(row.path, sha256=row.sha256, flaw="media_changed")
    images = tuple(f.relative_to(root).as_posix() for f in found)
    whole = there[0].relative_to(root).as_posix() if len(names) == 1 and Path(row.path).is_absolute() else row.path
    return Located(whole, images, shas, sha)


def _names(path: str) -> list[str]:
    if path.startswith("["):
        try:
            return [str(x) for x in json.loads(path)]
        except (ValueError, RecursionError):
            pass
    return [path] if path else []


def _sha256(file: Path) -> str:
    with file.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()
