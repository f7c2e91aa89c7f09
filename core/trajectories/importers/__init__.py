"""Reads cases from the formats in which data sets and planners come; each format is a module that is loaded when it is used.

A module of a format has two functions: `looks_like(path: Path) -> bool`, which is quick and never raises, and
`read(path: Path, **options) -> Imported`, which raises `InputError` where the source as a whole cannot be used. What holds for every
format is done here, after reading: the checks of core/trajectories/checks.py, the flags of core/trajectories/filters.py, a new step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.errors import InputError, Problem
from core.trajectories.checks import checked
from core.trajectories.document_model import MAX_TEXT
from core.trajectories.importers.clean import number_option
from core.trajectories.report import Imported
from core.trajectories.resample import resampled

__all__ = ["COMMON", "IMPORTERS", "Importer", "detect", "import_source"]


@dataclass(frozen=True)
class Importer:
    """A format that cases come in.

    Attributes:
        name: As it is named on the command line.
        title: For people.
        what: What the source is, in one sentence.
        module: Module with `looks_like` and `read`.
        options: What `read` takes besides the path, with one sentence each.
        tested_on: "real files" or "hand-built files".
    """

    name: str
    title: str
    what: str
    module: str
    options: Mapping[str, str] = field(default_factory=dict)
    tested_on: str = "hand-built files"


COMMON = {
    "step_s": "New step of all trajectories in seconds, for example 0.25; as it comes by default.",
    "licence": "Licence of the data where the source states none.",
}
"""Options that every format takes."""

_PLANNERS = {
    "planners": "Baselines to take as planners, separated by commas (constant_velocity, constant_acceleration, lateral_ramp, faster, "
    "late_braking); all five by default, none where a file of a planner is given.",
}
_SCENES = {
    **_PLANNERS,
    "planner_file": "CSV, JSON or JSON Lines with the trajectories of one or more planners by scene.",
    "planner_axes": "What x and y are in that file: forward_left, forward_right or right_forward.",
}
_MORE = "Baselines to add to the planners of the file, separated by commas; none by default."
_AXES = {"axes": "What x and y are: forward_left (default), forward_right or right_forward."}

_ALL = (
    Importer(
        "jsonl",
        "Cases (JSON Lines)",
        "One case a line in Oddyssey's own format, with its images beside it; a file, or a folder with cases.jsonl.",
        "jsonl",
        _AXES,
        "files that Oddyssey wrote and hand-built files",
    ),
    Importer("parquet", "Cases (Parquet)", "The Parquet mirror of a set of cases.", "mirror", {}, "files that Oddyssey wrote"),
    Importer(
        "csv",
        "Points (CSV)",
        "One point a row: scene_id, planner (or expert, history, rated), t or k, x, y.",
        "csv_rows",
        {"dt_s": "Step in seconds where the file counts steps instead of time.", **_AXES, **_SCENES, "planners": _MORE},
    ),
    Importer(
        "nuscenes",
        "nuScenes-like (JSON)",
        "Samples by token as VAD, GenAD or OpenEMMA prepare them: x right, y forward, 2 Hz; a file or a folder.",
        "nuscenes_like",
        {
            "images": "Folder of the images; that of the file by default.",
            **_SCENES,
            "planner_axes": f"{_SCENES['planner_axes'].rstrip('.')}; right_forward by default, as in the samples.",
        },
        "real files",
    ),
    Importer(
        "argoverse2",
        "Argoverse 2 motion forecasting",
        "A scenario Parquet file with its map, or a folder of them.",
        "argoverse2",
        {"horizon_s": "Seconds to keep of the 6 s of future, 5 by default.", **_SCENES},
        "real files",
    ),
    Importer(
        "wod_e2e",
        "Waymo Open Dataset end-to-end (TFRecord)",
        "Frames of the end-to-end driving data set, with a planner's submission or baselines.",
        "wod_e2e",
        {
            "submission": "Submission file or folder of a planner.",
            "planner": "Name of the planner, if not the one in the submission.",
            **_SCENES,
            "only_rated": "Take only frames with trajectories that people scored.",
            "limit": "Take at most that many frames.",
        },
    ),
    Importer(
        "wod_submission",
        "Waymo Open Dataset end-to-end (submission)",
        "Predictions of a planner; the frames, or a set of cases that has the scenes, go with it.",
        "wod_submission",
        {
            "frames": "TFRecord file or folder of WOD-E2E.",
            "cases": "Instead of it, a set of cases with the same scenes.",
            "planner": "Name of the planner, if not the one in the submission.",
        },
    ),
    Importer(
        "navsim",
        "NAVSIM (pickle)",
        "A submission of NAVSIM; arrays and trajectories only, everything else in a pickle is refused.",
        "navsim",
        {
            "expert": "Pickle with the trajectories that were driven.",
            "cases": "Instead of it, a set of cases with the same scenes.",
            "planner": "Name of the planner, if not the one in the file.",
        },
    ),
    Importer(
        "commonroad",
        "CommonRoad (XML)",
        "A scenario with lanelets and obstacles, or a folder of them.",
        "commonroad",
        {
            "expert_obstacle": "Id of the moving obstacle that plays the ego vehicle; all for every one that is long enough.",
            "expert": "Solution file with what was driven.",
            "solution": "Solution file of a planner.",
            "planner": "Name of the planner.",
            **_SCENES,
            "horizon_s": "Seconds to keep of the future, 5 by default.",
        },
    ),
)

IMPORTERS: Mapping[str, Importer] = MappingProxyType({i.name: i for i in _ALL})
"""Every format by name, in the order in which a source is tried."""


def detect(path: Path) -> str | None:
    """Name of the format of a file or folder, None if no format knows it."""
    return next((i.name for i in _ALL if _module(i).looks_like(path)), None)


def import_source(path: Path, format: str, *, step_s: float | str | None = None, licence: str = "", **options: Any) -> Imported:
    """Reads, checks and flags the cases of a source.

    Args:
        path: File or folder.
        format: Name of an importer.
        step_s: New step of all trajectories; as it comes where None.
        licence: Of the data, where the source states none.
        **options: Of the importer; None and "" count as not given.

    Raises:
        InputError: The format or an option is not known, or the source as a whole cannot be used.
    """
    importer = IMPORTERS.get(format)
    if importer is None:
        raise InputError(f'There is no format "{format}"; allowed: {", ".join(IMPORTERS)}.')
    given = {k: v for k, v in options.items() if v is not None and v != ""}
    wrong = [Problem(None, k, str(v), ", ".join([*importer.options, *COMMON]), _nearest(k, importer)) for k, v in given.items()]
    wrong = [p for p in wrong if p.column not in importer.options]
    if wrong:
        raise InputError(f'The format "{format}" has no such option.', wrong)
    if len(licence) > MAX_TEXT:
        raise InputError(f"The licence has {len(licence):,} characters; at most {MAX_TEXT:,} are kept: give its name.")
    step = None if step_s in (None, "") else number_option("step_s", step_s, 0.01, 5)
    imported: Imported = _module(importer).read(path, **given)
    if licence:
        imported = replace(imported, cases=[c if c.licence else replace(c, licence=licence) for c in imported.cases])
    if step is not None:
        imported = resampled(imported, step)
    return checked(imported)


def _module(importer: Importer) -> Any:
    return import_module(f"core.trajectories.importers.{importer.module}")


def _nearest(name: str, importer: Importer) -> str:
    return next(iter(get_close_matches(name, [*importer.options, *COMMON], 1)), "")
