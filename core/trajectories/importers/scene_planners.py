"""The planner side of a data set that has scenes but no planner: baselines, or a file with what planners would have driven."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import InputError
from core.trajectories.baselines import Baseline, chosen, with_baseline
from core.trajectories.case import Case, Floats
from core.trajectories.document import json_lines
from core.trajectories.importers.clean import Axes, checked_axes, clean, fitted, onto
from core.trajectories.importers.collect import Collector
from core.trajectories.importers.points_table import Timed, placed, read_table, text_of, timed


@dataclass(frozen=True, eq=False)
class Supplied:
    """A trajectory of a planner as its file has it.

    Attributes:
        where: In the file.
        planner: Who.
        rows: Its rows; the step is 0 if the file does not say, then it is that of the scene.
        knows_time: Whether the file says the time of the first row; if not, that is the origin or one step after t = 0.
        axes: Of its rows.
    """

    where: str
    planner: str
    rows: Timed
    knows_time: bool = True
    axes: Axes = "forward_left"


@dataclass
class PlannerSide:
    """Who plans in the scenes of an import.

    Attributes:
        baselines: Simple planners to compute.
        axes: Of the file of the planners.
        supplied: By scene.
        broken: Entries of the file that cannot be used: where and why.
    """

    baselines: tuple[Baseline, ...]
    axes: Axes = "forward_left"
    supplied: dict[str, list[Supplied]] = field(default_factory=dict)
    broken: list[tuple[str, str]] = field(default_factory=list)
    _met: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, planners: str | Sequence[str] | None, planner_file: Path | str | None, planner_axes: str = "forward_left") -> PlannerSide:
        """From the options of an importer; all baselines where neither is given.

        Raises:
            InputError: A baseline is not known, or the file cannot be read.
        """
        baselines = () if planner_file and planners is None else chosen(planners)
        side = cls(baselines, checked_axes(planner_axes))
        if planner_file:
            _read(side, Path(planner_file))
        return side

    def add(self, out: Collector, scene: Case, where: str, notes: tuple[str, ...] = ()) -> None:
        """Adds one case a planner; a scene that nobody plans in is told as rejected.

        Args:
            out: Where the cases go.
            scene: A case whose planner side is not looked at.
            where: In the source.
            notes: About the scene.
        """
        self._met.add(scene.scene_id)
        entries = self.supplied.get(scene.scene_id, [])
        for baseline in self.baselines:
            made = with_baseline(scene, baseline)
            if isinstance(made, str):
                out.reject(where, f"{scene.scene_id}:{baseline.name}", f"no {baseline.name}: {made}")
            else:
                out.take(made, where, notes)
        for entry in entries:
            self._supply(out, scene, entry, where, notes)
        if not entries and not self.baselines:
            out.reject(where, scene.scene_id, "no planner has a trajectory for this scene")

    def _supply(self, out: Collector, scene: Case, entry: Supplied, where: str, notes: tuple[str, ...]) -> None:
        at = f"{where}; {entry.where}"
        case_id = f"{scene.scene_id}:{entry.planner}"
        dt = entry.rows.dt_s or scene.dt_s
        rows = placed(entry.rows if entry.knows_time else replace(entry.rows, first_s=dt), dt)
        if isinstance(rows, str):
            out.reject(at, case_id, rows)
            return
        t, said = clean(
            rows.points,
            dt,
            scene.ego.speed_mps,
            name="planner",
            valid=rows.valid,
            yaw=rows.yaw,
            axes=entry.axes,
            origin=not entry.knows_time,
        )
        t, changed = onto(t, dt, scene.dt_s, "planner")
        if not len(t):
            out.reject(at, case_id, "its trajectory has no state after t = 0")
            return
        source = {**scene.source, "planner": entry.where}
        case, cuts = fitted(replace(scene, case_id=case_id, planner_id=entry.planner, planner=t, source=source))
        out.take(case, at, (*notes, *rows.notes, *said, *cuts), changed)

    def finish(self, out: Collector) -> None:
        """Tells of what stood in the file of the planners and met no scene."""
        for where, why in self.broken:
            out.reject(where, "", why)
        for scene, entries in self.supplied.items():
            if scene not in self._met:
                for e in entries:
                    out.reject(e.where, f"{scene}:{e.planner}", f'the source has no scene "{scene}" that can be used')


def _read(side: PlannerSide, path: Path) -> None:
    if path.suffix.lower() in (".csv", ".tsv", ".txt"):
        _read_csv(side, path)
        return
    if path.suffix.lower() == ".jsonl":
        for number, value, problem in json_lines(path):
            _entry(side, value, f"{path.name}, line {number}", path.stem, problem.allowed if problem else None)
        return
    try:
        content = json.loads(text_of(path))
    except (ValueError, RecursionError) as e:
        raise InputError(f'"{path.name}" is no JSON: {e}.') from e
    if isinstance(content, list):
        for i, value in enumerate(content):
            _entry(side, value, f"{path.name}, entry {i}", path.stem)
    elif isinstance(content, Mapping):
        for scene, value in content.items():
            where = f'{path.name}, "{str(scene)[:40]}"'
            if isinstance(value, Mapping) and "points" not in value:
                for planner, points in value.items():
                    _entry(side, {"scene_id": scene, "planner_id": planner, "points": points}, where, path.stem)
            else:
                entry = dict(value) if isinstance(value, Mapping) else {"points": value}
                _entry(side, {"scene_id": scene, **entry}, where, path.stem)
    else:
        raise InputError(f'"{path.name}" holds no trajectories; expected a list of objects, or points by scene.')


def _read_csv(side: PlannerSide, path: Path) -> None:
    table = read_table(path)
    side.broken += [(f"{path.name}, row {n}", why) for n, why in table.loose]
    for scene, tracks in table.tracks.items():
        for planner, rows in tracks.items():
            where = f"{path.name}, row {rows.first}"
            found = timed(rows, table.counts_steps, None)
            if isinstance(found, str):
                side.broken.append((where, f"{scene}, {planner}: {found}"))
            else:
                side.supplied.setdefault(scene, []).append(Supplied(where, planner, found, axes=side.axes))


def _entry(side: PlannerSide, value: Any, where: str, planner: str, problem: str | None = None) -> None:
    if problem or not isinstance(value, Mapping):
        side.broken.append((where, problem or "expected an object with scene_id, planner_id, points and dt_s"))
        return
    scene = value.get("scene_id", value.get("token"))
    who, dt = value.get("planner_id", value.get("planner", planner)), value.get("dt_s")
    points = numbers(value.get("points", value.get("planner")), 2)
    yaw = numbers(value.get("yaw"), 1) if value.get("yaw") is not None else None
    wrong = [
        *([] if isinstance(scene, str) and scene else ["no scene_id"]),
        *([] if isinstance(who, str) and who else ["no planner_id"]),
        *([] if points is not None and 0 < len(points) <= 10_000 else ["points are no list of pairs of numbers"]),
        *([] if dt is None or (isinstance(dt, int | float) and not isinstance(dt, bool) and 0.01 <= dt <= 60) else ["dt_s is no step"]),
        *([] if yaw is None or points is None or len(yaw) == len(points) else ["yaw is not as long as points"]),
    ]
    if wrong or points is None:
        side.broken.append((where, "; ".join(wrong)))
        return
    rows = Timed(0.0, float(dt or 0), points, np.ones(len(points), dtype=np.bool_), yaw, ())
    side.supplied.setdefault(str(scene), []).append(Supplied(where, str(who), rows, False, side.axes))


def numbers(value: Any, axes: int) -> Floats | None:
    """An array of finite numbers or nulls (NaN) of shape (N,) or (N, 2); None if the value is none."""
    if not isinstance(value, list):
        return None
    rows = [[None, None] if v is None else v for v in value] if axes == 2 else [[v] for v in value]
    out = []
    for row in rows:
        if not isinstance(row, list) or len(row) != axes:
            return None
        for v in row:
            if v is None:
                out.append(np.nan)
            elif isinstance(v, bool) or not isinstance(v, int | float) or not abs(v) <= 1e6:
                return None
            else:
                out.append(float(v))
    a = np.asarray(out, dtype=np.float64)
    return a.reshape(-1, 2) if axes == 2 else a
