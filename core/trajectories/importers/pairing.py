"""Pairs predictions, which know no scene, with cases that know what was driven there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from core.errors import InputError
from core.trajectories.case import Case, Trajectory
from core.trajectories.case_set import CASES
from core.trajectories.document import read_cases
from core.trajectories.importers.clean import fitted
from core.trajectories.importers.collect import Collector, image_file
from core.trajectories.report import Imported, several
from core.trajectories.resample import resample


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a planner would have driven in a scene.

    Attributes:
        scene: Name of the scene.
        planner: Name of the planner.
        trajectory: Its positions after t = 0.
        dt_s: Its step.
        notes: What was changed already.
        where: As a person finds it again.
    """

    scene: str
    planner: str
    trajectory: Trajectory
    dt_s: float
    notes: tuple[str, ...] = ()
    where: str = ""

    @property
    def place(self) -> str:
        """Where it was found."""
        return self.where or f"prediction of {self.planner} for {self.scene}"


def with_cases(out: Collector, cases: Path, predictions: Sequence[Prediction]) -> Imported:
    """The cases with another planner: everything else, the images too, is kept as it is.

    Args:
        out: What was gathered until now; its outcomes are kept.
        cases: A file `cases.jsonl`, or the folder of a set of cases.
        predictions: Their scenes are the `scene_id` of the cases.

    Raises:
        InputError: The cases cannot be read.
    """
    file = cases / CASES if cases.is_dir() else cases
    known, problems = read_cases(file)
    if problems:
        raise InputError(f'"{file}" breaks the format of cases.', problems)
    scenes: dict[str, Case] = {}
    for case in known:
        scenes.setdefault(case.scene_id, case)
    for prediction in predictions:
        scene = scenes.get(prediction.scene)
        if scene is None:
            out.reject(prediction.place, prediction.scene, f'no case of "{file.name}" has the scene')
        else:
            _pair(out, scene, prediction)
    unused = len(scenes.keys() - {p.scene for p in predictions})
    if unused:
        out.remarks.append(f"{unused:,} of {len(scenes):,} scenes have no prediction")
    root = file.parent.resolve()
    images = {path: image_file(root, path) for path in {f.path for c in scenes.values() for k in c.cameras for f in k.frames}}
    out.images.update((path, found) for path, found in images.items() if found)
    absent = sum(found is None for found in images.values())
    if absent:
        out.remarks.append(several(absent, "image that the cases name is", "images that the cases name are") + " not there")
    return out.result()


def _pair(out: Collector, case: Case, p: Prediction) -> None:
    trajectory, resampled = p.trajectory, ""
    if abs(p.dt_s - case.dt_s) > 1e-9:
        trajectory = resample(trajectory, p.dt_s, case.dt_s)
        resampled = f"planner from {p.dt_s:g} s to {case.dt_s:g} s, linear with the origin put before the first state"
    if not len(trajectory):
        out.reject(p.place, p.scene, f"the prediction is shorter than one step of the case ({case.dt_s:g} s)")
        return
    paired, notes = fitted(
        replace(case, case_id=case_id(case.scene_id, p.planner), planner_id=p.planner, planner=trajectory, flags=(), metrics={})
    )
    out.take(paired, p.place, (*p.notes, *notes), resampled)


def case_id(scene: str, planner: str) -> str:
    """The id of a case of a scene and a planner."""
    return f"{scene}:{planner}"
