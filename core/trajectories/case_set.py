"""A set of cases in a folder: the cases as JSONL, the same as Parquet, the images, and a manifest that names all of them by hash.

cases.jsonl is what counts; cases.parquet is a mirror for tools that read columns. The digest covers the cases and, through the
hash that each frame carries, every image: a changed picture is another set.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import uuid4

from core.digest import canonical_json, sha256_bytes
from core.errors import InputError, Problem
from core.trajectories.case import SCHEMA_VERSION, Case, Frame
from core.trajectories.document import case_to_json, read_cases
from core.trajectories.document_model import inside
from core.trajectories.report import FileSlice, Imported

CASES, MIRROR, MANIFEST = "cases.jsonl", "cases.parquet", "manifest.json"
LARGEST_IMAGE = 40 * 2**20
"""Bytes of an image beyond which it is not taken."""
IMAGES = (".jpg", ".jpeg", ".png", ".webp")
"""How the name of an image ends."""


@dataclass(frozen=True, eq=False)
class CaseSet:
    """A set that was opened.

    Attributes:
        folder: Where it lies.
        name: As it was written.
        digest: SHA-256 of cases.jsonl.
        cases: In the order of the file.
        synthetic: Whether any of them is made up.
        report: What the importer did, as JSON values.
    """

    folder: Path
    name: str
    digest: str
    cases: tuple[Case, ...]
    synthetic: bool
    report: dict[str, Any]

    def image(self, frame: Frame) -> Path:
        """Where an image lies.

        Raises:
            InputError: Its path leaves the folder.
        """
        return self.folder / safe_path(frame.path)

    def missing_images(self) -> tuple[str, ...]:
        """Paths of images that the cases name and the folder does not hold, each once, sorted."""
        return tuple(sorted({f.path for c in self.cases for k in c.cameras for f in k.frames if not self.image(f).is_file()}))

    def changed_images(self) -> tuple[str, ...]:
        """Paths of images whose content is not the one that was imported, each once, sorted. Reads every image."""
        wanted = {f.path: f.sha256 for c in self.cases for k in c.cameras for f in k.frames if f.sha256}
        files = {path: self.folder / safe_path(path) for path in wanted}
        return tuple(sorted(p for p, f in files.items() if f.is_file() and sha256_bytes(f.read_bytes()) != wanted[p]))


def safe_path(path: str) -> PurePosixPath:
    """A relative path that stays inside its folder.

    Raises:
        InputError: It is absolute, climbs out, or is empty.
    """
    try:
        return PurePosixPath(inside(path))
    except ValueError as e:
        raise InputError(
            f'The image path "{path}" is not allowed; allowed: a path inside the folder of the cases, such as "images/a/front.jpg".'
        ) from e


def write_case_set(folder: Path, name: str, imported: Imported) -> CaseSet:
    """Write a set; the folder is there whole or not at all.

    Args:
        folder: Where; must not exist, or be empty.
        name: For people.
        imported: Cases, the bytes or paths of their images, and the report.

    Raises:
        InputError: The folder holds something already, there are no cases, an id is there twice, or an image cannot be used.
    """
    from core.trajectories.parquet import write_parquet  # pyarrow is loaded by those who write only

    if folder.exists() and any(folder.iterdir()):
        raise InputError(f'The folder "{folder}" is not empty; name a new one.')
    if not imported.cases:
        reasons = "; ".join(f"{reason} ({n})" for reason, n in imported.report.reasons().most_common(5))
        raise InputError(f'Not a single case of "{imported.report.source}" can be used. {reasons}'.strip())
    _refuse_twice(imported.cases)
    part = folder.parent / f".{uuid4().hex}.part"
    part.mkdir(parents=True)
    try:
        hashes = _write_images(part, imported)
        cases = [_hashed(c, hashes) for c in imported.cases]
        lines = "".join(canonical_json(case_to_json(c)) + "\n" for c in cases).encode()
        (part / CASES).write_bytes(lines)
        write_parquet(part / MIRROR, cases)
        manifest = {
            "schema_version": SCHEMA_VERSION,
            "name": name,
            "digest": sha256_bytes(lines),
            "cases": len(cases),
            "scenes": len({c.scene_id for c in cases}),
            "planners": len({c.planner_id for c in cases}),
            "images": len(hashes),
            "synthetic": any(c.synthetic for c in cases),
            "licences": sorted({c.licence for c in cases}),
            "report": imported.report.to_json(),
        }
        (part / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        written = open_case_set(part)  # what could not be opened again must not be there
        if folder.exists():
            folder.rmdir()
        os.replace(part, folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return replace(written, folder=folder)


def open_case_set(folder: Path) -> CaseSet:
    """Open a set.

    Raises:
        InputError: A file is missing or broken, or the cases are not those that the manifest names.
    """
    manifest = _manifest(folder)
    path = folder / CASES
    try:
        digest = sha256_bytes(path.read_bytes())
    except OSError as e:
        raise InputError(f'"{path}" cannot be read: {e.strerror or e}.') from e
    if digest != manifest.get("digest"):
        raise InputError(
            f'"{path}" is not what its manifest names: digest {digest[:12]}, expected {str(manifest.get("digest"))[:12]}. '
            "Import the cases again, or put the original file back."
        )
    cases, problems = read_cases(path)
    if problems:
        raise InputError(f'"{path}" breaks the format of cases.', problems)
    return CaseSet(folder, str(manifest["name"]), digest, tuple(cases), bool(manifest["synthetic"]), dict(manifest["report"]))


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise InputError(f'"{path}" cannot be read: {e.strerror or e}. A set of cases is a folder with {CASES} and {MANIFEST}.') from e
    except ValueError as e:
        raise InputError(f'"{path}" is not JSON: {e}.') from e
    wanted = {"schema_version": str, "name": str, "digest": str, "synthetic": bool, "report": dict}
    if not isinstance(found, dict):
        raise InputError(f'"{path}" holds no object; expected the keys {", ".join(wanted)}.')
    wrong = [Problem(None, k, str(found.get(k))[:60], t.__name__) for k, t in wanted.items() if not isinstance(found.get(k), t)]
    if wrong:
        raise InputError(f'"{path}" breaks the format of manifests.', wrong)
    if found["schema_version"] != SCHEMA_VERSION:
        raise InputError(f'"{path}" has the version "{found["schema_version"]}" of the format; this program reads {SCHEMA_VERSION}.')
    return found


def _refuse_twice(cases: Iterable[Case]) -> None:
    twice = sorted(i for i, n in Counter(c.case_id for c in cases).items() if n > 1)
    if twice:
        raise InputError(f"These case ids are there more than once: {', '.join(twice[:10])}{' …' if len(twice) > 10 else ''}.")


def _write_images(part: Path, imported: Imported) -> Mapping[str, str]:
    """Copy every image that a case names and that is at hand; hashes by path. Others stay named, and are counted as missing."""
    out: dict[str, str] = {}
    for path in sorted({f.path for c in imported.cases for k in c.cameras for f in k.frames}):
        target = part / safe_path(path)
        if target.suffix.lower() not in IMAGES:
            raise InputError(f'The image "{path}" is no {", ".join(IMAGES)}.')
        if path not in imported.images:
            continue
        source = imported.images[path]
        try:
            size = _size(source)
            if size > LARGEST_IMAGE:
                raise InputError(f'The image "{path}" has {size:,} bytes; at most {LARGEST_IMAGE:,} are taken.')
            data = source if isinstance(source, bytes) else (source if isinstance(source, FileSlice) else Path(source)).read_bytes()
        except OSError as e:
            raise InputError(f'The image "{source}" cannot be read: {e.strerror or e}.') from e
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        out[path] = sha256_bytes(data)
    return out


def _size(source: Any) -> int:
    """Bytes of an image before it is read."""
    return len(source) if isinstance(source, bytes) else source.length if isinstance(source, FileSlice) else Path(source).stat().st_size


def _hashed(case: Case, hashes: Mapping[str, str]) -> Case:
    cameras = tuple(replace(k, frames=tuple(replace(f, sha256=hashes.get(f.path, f.sha256)) for f in k.frames)) for k in case.cameras)
    return replace(case, cameras=cameras)
