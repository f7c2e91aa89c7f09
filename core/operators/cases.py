"""Sets of cases in the workspace: import, open, check, and the pack that ships with the product."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from core.errors import InputError
from core.settings import ASSETS
from core.storage import SavedCaseSet, Store
from core.trajectories.case_set import CaseSet, open_case_set, write_case_set
from core.trajectories.importers import IMPORTERS, detect, import_source
from core.trajectories.measure import MetricTable
from core.trajectories.report import Imported, ImportReport

DEMO_PACK = ASSETS / "cases"
DEMO_CASES = "Demo cases"


def load_demo_cases(store: Store, who: str = "") -> SavedCaseSet:
    """The cases that ship with the product, as a set of the workspace; the same set where it is there already.

    Raises:
        InputError: The pack is damaged.
    """
    pack = open_case_set(DEMO_PACK)
    found = store.cases.find(pack.digest)
    if found is not None and not found.deleted:
        return found
    return store.cases.save(DEMO_CASES, pack, who=who, free_name=True)


def read_cases_of(source: Path, format: str | None = None, **options: Any) -> tuple[Imported, str]:
    """Reads cases of any known format without keeping them; with the format that was used.

    Args:
        source: File or folder.
        format: Name of an importer; recognised from the source where None.
        **options: Of the importer.

    Raises:
        InputError: The source cannot be read, or its format is not known.
    """
    if not source.exists():
        raise InputError(f'There is no file or folder "{source}".')
    chosen = format or detect(source)
    known = ", ".join(sorted(IMPORTERS))
    if chosen is None:
        raise InputError(f'The format of "{source.name}" is not recognised; name one of: {known}.')
    if chosen not in IMPORTERS:
        raise InputError(f'There is no format "{chosen}"; allowed: {known}.')
    return import_source(source, chosen, **options), chosen


@dataclass(frozen=True, eq=False)
class ImportedSet:
    """A set that was imported, with what became of every case.

    Attributes:
        saved: As the workspace knows it.
        report: What the importer did.
    """

    saved: SavedCaseSet
    report: ImportReport


def import_cases(store: Store, source: Path, format: str | None = None, *, name: str = "", who: str = "", **options: Any) -> ImportedSet:
    """Imports cases into the workspace.

    Args:
        store: The workspace.
        source: File or folder.
        format: Name of an importer; recognised from the source where None.
        name: For people; that of the source by default, with a number where it is taken.
        who: Who does it.
        **options: Of the importer.

    Raises:
        InputError: The source cannot be read, its format is not known, not a single case can be used, or the name is taken.
    """
    imported, _ = read_cases_of(source, format, **options)
    return keep_cases(store, imported, name=name or source.stem, who=who, free_name=not name)


def keep_cases(store: Store, imported: Imported, *, name: str, who: str = "", free_name: bool = False) -> ImportedSet:
    """Keeps cases that were read.

    Raises:
        InputError: There is not a single case, or the name cannot be used.
    """
    folder = store.cases.parent / uuid4().hex[:16]
    written = write_case_set(folder, name, imported)
    try:
        saved = store.cases.save(name, written, who=who, free_name=free_name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # nobody would ever find it again
        raise
    return ImportedSet(saved, imported.report)


@dataclass(frozen=True)
class CaseCheck:
    """What a look at a set found.

    Attributes:
        cases: How many.
        scenes: How many different ones.
        planners: Cases of each planner.
        horizons: Cases by step and horizon, e.g. "0.25 s, 5 s".
        cameras: Cases by number of cameras.
        flags: Cases by reason to leave them out.
        rated: Cases with at least one rated trajectory.
        missing_images: Images that are named and not there.
        changed_images: Images that are not those that were imported.
        licences: Cases by licence.
        synthetic: Cases that are made up.
    """

    cases: int
    scenes: int
    planners: Mapping[str, int]
    horizons: Mapping[str, int]
    cameras: Mapping[str, int]
    flags: Mapping[str, int]
    rated: int
    missing_images: tuple[str, ...]
    changed_images: tuple[str, ...]
    licences: Mapping[str, int]
    synthetic: int

    @property
    def ok(self) -> bool:
        """Whether every image is there as it was imported."""
        return not self.missing_images and not self.changed_images

    def to_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "ok": self.ok,
            "cases": self.cases,
            "scenes": self.scenes,
            "planners": dict(self.planners),
            "horizons": dict(self.horizons),
            "cameras": dict(self.cameras),
            "flags": dict(self.flags),
            "rated": self.rated,
            "missing_images": list(self.missing_images),
            "changed_images": list(self.changed_images),
            "licences": dict(self.licences),
            "synthetic": self.synthetic,
        }


def check_cases(content: CaseSet) -> CaseCheck:
    """Looks at every case and every image of a set."""
    cases = content.cases
    return CaseCheck(
        cases=len(cases),
        scenes=len({c.scene_id for c in cases}),
        planners=_counted(c.planner_id for c in cases),
        horizons=_counted(f"{c.dt_s:g} s, {c.horizon_s:g} s" for c in cases),
        cameras=_counted(str(len(c.cameras)) for c in cases),
        flags=_counted(f for c in cases for f in c.flags),
        rated=sum(any(r.score is not None for r in c.rated) for c in cases),
        missing_images=content.missing_images(),
        changed_images=content.changed_images(),
        licences=_counted(c.licence or "not stated" for c in cases),
        synthetic=sum(c.synthetic for c in cases),
    )


def metrics_json(table: MetricTable) -> dict[str, Any]:
    """A table of metrics as JSON values: each planner's means with intervals, and every case with its value or why it has none."""
    return {
        "scenes_in_common": len(table.common.scenes),
        "left_out_by_planner": dict(table.common.left_out),
        "metrics": [{"key": m.key, "label": m.label, "unit": m.unit, "worse": m.worse} for m in table.metrics],
        "summaries": [asdict(s) | {"reasons": dict(s.reasons)} for s in table.summaries],
        "values": {key: {p: {scene: asdict(m) for scene, m in of.items()} for p, of in by.items()} for key, by in table.values.items()},
    }


def _counted(values: Any) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
