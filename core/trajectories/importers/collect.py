"""Gathers what an importer makes: every case checked against the schema, every refusal with its reason."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core.digest import sha256_bytes
from core.errors import InputError
from core.trajectories.case import Case, Trajectory
from core.trajectories.document import case_from_json, case_to_json
from core.trajectories.report import Imported, ImportReport, Outcome


@dataclass
class Collector:
    """The cases of one import and what became of each.

    Attributes:
        source: Name of the file or folder.
        format: Which importer reads it.
    """

    source: str
    format: str
    cases: list[Case] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    images: dict[str, Any] = field(default_factory=dict)
    _ids: dict[str, str] = field(default_factory=dict)

    def take(self, case: Case, where: str, notes: tuple[str, ...] = (), resampled: str = "") -> None:
        """Accept a case if it keeps the schema and its id is new; otherwise note why not."""
        if case.case_id in self._ids:
            self.reject(where, case.case_id, f"the same case is there twice; the first, {self._ids[case.case_id]}, was taken")
            return
        try:
            case_from_json(case_to_json(case))
        except InputError as e:
            self.reject(where, case.case_id, *(f"{p.column}: got {p.got}; allowed: {p.allowed}" for p in e.problems))
            return
        self._ids[case.case_id] = where
        self.cases.append(case)
        self.outcomes.append(Outcome(where, case.case_id, "accepted", resampled, notes))

    def take_planner(
        self, case: Case, planner: str, expert: Trajectory, driven: Trajectory, where: str, notes: tuple[str, ...] = (), resampled: str = ""
    ) -> None:
        """Accept a case with another planner, under the id of its scene and planner."""
        made = replace(case, case_id=f"{case.scene_id}:{planner}", planner_id=planner, expert=expert, planner=driven)
        self.take(made, where, notes, resampled)

    def reject(self, where: str, case_id: str, *reasons: str) -> None:
        """Note that a case was not taken."""
        self.outcomes.append(Outcome(where, case_id, "rejected", "", reasons))

    def result(self) -> Imported:
        """What was gathered, with the images that the accepted cases name."""
        used = {f.path for case in self.cases for camera in case.cameras for f in camera.frames}
        images = {path: content for path, content in self.images.items() if path in used}
        return Imported(self.cases, images, ImportReport(self.source, self.format, tuple(self.outcomes), tuple(self.remarks)))


def name_part(text: str) -> str:
    """A text as part of the name of a file: letters, digits, dot, minus and underscore only; other texts give other names."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._")[:60]
    return plain if plain == text else f"{plain or 'x'}-{sha256_bytes(text.encode())[:8]}"


def image_file(root: Path, path: str) -> Path | None:
    """The image of a path in a folder; None if it is not there, or a link leads out of the folder.

    Args:
        root: The folder, resolved.
        path: As a case names it.
    """
    file = (root / path).resolve()
    return file if file.is_file() and file.is_relative_to(root) else None


def image_size(file: Path) -> tuple[int, int] | None:
    """Width and height in px, None if it cannot be read as an image."""
    from PIL import Image

    try:
        with Image.open(file) as image:
            return image.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def files_of(path: Path, wanted: str, what: str) -> list[Path]:
    """The file itself, or those of a folder whose names hold a text, by name.

    Raises:
        InputError: There is none.
    """
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.is_file() and wanted in p.name.lower())
        if not found:
            raise InputError(f'The folder "{path}" holds no {what} (a file with "{wanted}" in its name).')
        return found
    if not path.is_file():
        raise InputError(f'"{path}" is not there; expected {what}, or a folder with such files.')
    return [path]
