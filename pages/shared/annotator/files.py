"""What the browser fetches while somebody labels: the view of each case as JSON, and its images.

They lie in the cache of the workspace under names made from their content, which tell nothing; nothing else of a case set can be
reached. Images are hard links where the file system allows it, so they cost no space.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from uuid import uuid4

import streamlit as st

from core.digest import canonical_json
from core.settings import Settings
from core.trajectories.case import Case
from core.trajectories.case_set import CaseSet
from core.trajectories.view import case_view

_NAME = 32
"""Hex digits of the name of a file."""


def root(settings: Settings) -> Path:
    """The folder whose files the browser may read; made if it is not there."""
    folder = settings.caches / "label"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def put_case(folder: Path, content: CaseSet, case: Case) -> str:
    """Lay out a case; gives the name of its view below the folder. Images that are not there are named ""."""
    name = _put(str(folder), content.digest, case.case_id, content, case)
    if not (folder / name).is_file():  # the cache was emptied meanwhile
        _put.clear(str(folder), content.digest, case.case_id, content, case)
        name = _put(str(folder), content.digest, case.case_id, content, case)
    return name


@st.cache_data(show_spinner=False, max_entries=10_000)
def _put(folder: str, digest: str, case_id: str, _content: CaseSet, _case: Case) -> str:
    del case_id  # only a key of the cache
    view = case_view(_case)
    hashes = {f.path: f.sha256 for c in _case.cameras for f in c.frames}
    below = Path(folder) / digest[:16]
    below.mkdir(exist_ok=True)
    for camera in view["cameras"]:
        for frame in camera["frames"]:
            path = frame.pop("path")
            frame["url"] = _put_image(below, _content, path, hashes.get(path, ""))
    text = canonical_json(view).encode()
    name = f"{hashlib.sha256(text).hexdigest()[:_NAME]}.json"
    if not (below / name).is_file():
        part = below / f".{uuid4().hex}"
        part.write_bytes(text)
        os.replace(part, below / name)
    return f"{below.name}/{name}"


def _put_image(below: Path, content: CaseSet, path: str, sha256: str) -> str:
    name = (sha256 or hashlib.sha256(f"{content.digest}/{path}".encode()).hexdigest())[:_NAME] + Path(path).suffix.lower()
    if (below / name).is_file():
        return f"{below.name}/{name}"
    part = below / f".{uuid4().hex}"
    try:
        source = content.folder / path
        try:
            os.link(source.resolve(strict=True), part)
        except OSError:  # another file system, or one without links
            shutil.copyfile(source, part)
        os.replace(part, below / name)
    except OSError:
        return ""
    return f"{below.name}/{name}"


def sweep(folder: Path, digests: set[str]) -> None:
    """Give up what was laid out for case sets that are not in the workspace any more."""
    for below in folder.iterdir():
        if below.is_dir() and below.name not in {d[:16] for d in digests}:
            shutil.rmtree(below, ignore_errors=True)
