"""Cases from a CSV file with one point a row: `scene_id, planner, t, x, y`, and optionally yaw, valid, speed_mps, command and more.

In the column `planner` the word `expert` marks what was driven, `history` where the ego came from, `rated` (or `rated:1`, `rated:2`, …,
with the column `score`) what people scored; every other word is a planner. Times are seconds after t = 0; positions are metres in the
ego frame at t = 0, x forward and y left unless `axes` says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from core.trajectories.case import Case, Command, Ego, RatedTrajectory, Trajectory
from core.trajectories.importers.clean import Axes, axes_remark, checked_axes, clean, number_option, onto, past, turned, turned_yaw
from core.trajectories.importers.collect import Collector
from core.trajectories.importers.points_table import Rows, Table, Timed, columns_of, placed, read_table, records, timed
from core.trajectories.importers.scene_planners import PlannerSide, Supplied
from core.trajectories.report import Imported
from core.trajectories.resample import cut, resample_history

EXPERT = ("expert", "gt", "ground_truth", "log", "human")
HISTORY = ("history", "past")
COMMANDS: dict[str, Command] = {
    **{w: "straight" for w in ("straight", "forward", "go_straight", "keep")},
    **{w: "left" for w in ("left", "turn_left", "go_left")},
    **{w: "right" for w in ("right", "turn_right", "go_right")},
    **{w: "unknown" for w in ("", "unknown", "none")},
}


def looks_like(path: Path) -> bool:
    """Whether it is a CSV file with the columns that are needed."""
    if not path.is_file() or path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        return False
    try:
        with path.open("rb") as file:
            header, _ = records(file.read(100_000).decode("utf-8-sig", "replace"), path.name)
    except Exception:
        return False
    return {"scene_id", "planner", "x", "y"} <= columns_of(header)[0].keys()


def read(
    path: Path,
    *,
    dt_s: float | str | None = None,
    axes: str = "forward_left",
    planners: str | Sequence[str] | None = None,
    planner_file: Path | str | None = None,
    planner_axes: str = "forward_left",
) -> Imported:
    """The cases of a file.

    Args:
        path: The CSV file.
        dt_s: Step in seconds where the file counts steps.
        axes: What x and y are.
        planners: Baselines to add to the planners of the file; none by default.
        planner_file: Further trajectories of planners.
        planner_axes: What x and y are in that file.

    Raises:
        InputError: The file cannot be read, or columns are missing.
    """
    turn = checked_axes(axes)
    table = read_table(path)
    step = None if dt_s is None else number_option("dt_s", dt_s, 0.01, 60)
    side = PlannerSide.of(planners or (), planner_file, planner_axes)
    out = Collector(path.name, "csv")
    out.remarks += [r for r in (axes_remark(turn),) if r]
    if table.unknown:
        out.remarks.append(f"columns that mean nothing here were not read: {', '.join(table.unknown[:20])}")
    for number, why in table.loose:
        out.reject(f"row {number}", "", why)
    for scene_id, tracks in table.tracks.items():
        _scene(out, table, side, scene_id, tracks, turn, step)
    side.finish(out)
    return out.result()


def _scene(out: Collector, table: Table, side: PlannerSide, scene_id: str, tracks: dict[str, Rows], axes: Axes, dt_s: float | None) -> None:
    expert = next((r for who, r in tracks.items() if who.lower() in EXPERT), None)
    for names, what in ((EXPERT, "expert"), (HISTORY, "history")):
        same = [who for who in tracks if who.lower() in names]
        if len(same) > 1:
            out.reject(f"row {tracks[same[1]].first}", scene_id, f"the scene has {len(same)} tracks that say {what}: {', '.join(same)}")
            return
    others = {who: r for who, r in tracks.items() if who.lower() not in (*EXPERT, *HISTORY) and not _is_rated(who)}
    if expert is None:
        for who, r in (others or tracks).items():
            out.reject(f"row {r.first}", f"{scene_id}:{who}", "the scene has no expert")
        return
    scene = _template(table, scene_id, tracks, expert, axes, dt_s)
    if isinstance(scene, str):
        for who, r in (others or {"expert": expert}).items():
            out.reject(f"row {r.first}", f"{scene_id}:{who}", f"the expert cannot be used: {scene}")
        return
    case, notes, changed = scene
    entries, bad = [], 0
    for who, r in others.items():
        found = _timed(r, table, dt_s)
        if isinstance(found, str):
            out.reject(f"row {r.first}", f"{scene_id}:{who}", found)
            bad += 1
        else:
            entries.append(Supplied(f"row {r.first}", who, found, axes=axes))
    side.supplied.setdefault(scene_id, [])[:0] = entries
    if bad and not side.supplied[scene_id] and not side.baselines:
        side.supplied.pop(scene_id)
        return  # all its planners were told already
    side.add(out, case, f"row {expert.first}", notes + ((changed,) if changed else ()))


def _is_rated(who: str) -> bool:
    return who.lower().split(":")[0] == "rated"


def _timed(rows: Rows, table: Table, dt_s: float | None) -> Timed | str:
    """A trajectory whose time is counted from t = 0, also where the file counts its states from 0."""
    found = timed(rows, table.counts_steps, dt_s)
    if isinstance(found, str) or not table.counts_steps or found.first_s != 0.0:
        return found
    if float(np.hypot(*found.points[0])) > 1e-3:
        return replace(
            found, first_s=found.dt_s, notes=(*found.notes, "its steps are counted from 0, the first being one step after t = 0")
        )
    return found


def _template(
    table: Table, scene_id: str, tracks: dict[str, Rows], expert: Rows, axes: Axes, dt_s: float | None
) -> tuple[Case, tuple[str, ...], str] | str:
    """The scene as a case without a planner, what was found, and what was resampled; or why it cannot be used."""
    found = _timed(expert, table, dt_s)
    if isinstance(found, str):
        return found
    said = table.scenes.get(scene_id, {})
    numbers = {k: _float(said.get(k, "")) for k in ("speed_mps", "accel_mps2")}
    wrong = [f'"{k}" is "{said[k][:30]}", which is no number' for k, v in numbers.items() if v is None and said.get(k)]
    command = COMMANDS.get(said.get("command", "").lower())
    if command is None:
        wrong.append(f'"command" is "{said["command"][:30]}"; allowed: straight, left, right, unknown')
    if wrong or command is None:
        return "; ".join(wrong)
    notes = list(found.notes)
    whole = placed(found, found.dt_s)
    if isinstance(whole, str):
        return whole
    speed = numbers["speed_mps"]
    if speed is None or math.isnan(speed):
        speed = _speed(tracks, found, table, dt_s)
        notes.append(f"the speed at t = 0 is not stated; {speed:.2f} m/s follow from the positions")
    if speed < 0 or speed > 200:
        return f"a speed of {speed:g} m/s cannot be right"
    t, more = clean(whole.points, found.dt_s, speed, name="expert", valid=whole.valid, yaw=whole.yaw, axes=axes, origin=False)
    if not len(t) or not t.valid.any():
        return "it has no valid state after t = 0"
    notes += more
    rated, changed, rated_notes = _rated(tracks, table, t, found.dt_s, speed, axes, dt_s)
    accel = numbers["accel_mps2"]
    case = Case(
        case_id=scene_id,
        scene_id=scene_id,
        planner_id="expert",
        dt_s=found.dt_s,
        expert=t,
        planner=t,
        ego=Ego(speed, None if accel is None or math.isnan(accel) else accel),
        command=command,
        history=_history(tracks, table, found.dt_s, axes, dt_s, notes),
        rated=rated,
        licence=said.get("licence", ""),
        source={"file": table.name, "row": expert.first, **({"dataset": said["dataset"]} if said.get("dataset") else {})},
    )
    return case, (*notes, *rated_notes), changed


def _speed(tracks: dict[str, Rows], expert: Timed, table: Table, dt_s: float | None) -> float:
    """Speed at t = 0 from the last step of the history, else from the first one of the expert."""
    past = next((r for who, r in tracks.items() if who.lower() in HISTORY), None)
    found = timed(past, table.counts_steps, dt_s) if past is not None else None
    if isinstance(found, Timed) and len(found.points) > 1 and found.valid[-2:].all():
        last = found.points[-2:]
    else:
        last = np.vstack([np.zeros((1, 2)), expert.points])[:2] if expert.first_s > 0 else expert.points[:2]
        found = expert
    gone = float(np.hypot(*(last[-1] - last[0]))) if len(last) == 2 else 0.0
    return gone / found.dt_s if np.isfinite(gone) else 0.0


def _history(tracks: dict[str, Rows], table: Table, step_s: float, axes: Axes, dt_s: float | None, notes: list[str]) -> Trajectory | None:
    rows = next((r for who, r in tracks.items() if who.lower() in HISTORY), None)
    if rows is None:
        return None
    found = timed(rows, table.counts_steps, dt_s)
    why = found if isinstance(found, str) else ""
    if isinstance(found, Timed):
        end = found.first_s + (len(found.points) - 1) * found.dt_s
        if abs(end) > 0.1 * found.dt_s and abs(end + found.dt_s) > 0.1 * found.dt_s:
            why = f"it ends at {end:g} s instead of 0"
        else:
            points, valid = turned(found.points, axes), found.valid
            yaw = turned_yaw(found.yaw, axes)
            if abs(end) > 0.1 * found.dt_s:
                points, valid = np.vstack([points, np.zeros((1, 2))]), np.r_[valid, True]
                yaw = None if yaw is None else np.r_[yaw, 0.0]
            history, said = past(points, valid, yaw)
            notes += said
            same = abs(found.dt_s - step_s) <= 1e-6 * step_s
            return history if same else resample_history(history, found.dt_s, step_s)
    notes.append(f"the history was left out: {why}")
    return None


def _rated(
    tracks: dict[str, Rows], table: Table, expert: Trajectory, step_s: float, speed: float, axes: Axes, dt_s: float | None
) -> tuple[tuple[RatedTrajectory, ...], str, tuple[str, ...]]:
    out, changes, notes = [], [], []
    for who, rows in tracks.items():
        if not _is_rated(who):
            continue
        found = _timed(rows, table, dt_s)
        whole = found if isinstance(found, str) else placed(found, found.dt_s)
        score = rows.score
        if score is not None and score != -1 and not 0 <= score <= 10:
            whole = f"its score is {score:g}; allowed: 0 to 10, or -1"
        if isinstance(whole, str):
            notes.append(f"{who} was left out: {whole}")
            continue
        t, said = clean(whole.points, whole.dt_s, speed, name=who, valid=whole.valid, yaw=whole.yaw, axes=axes, origin=False)
        t, change = onto(t, whole.dt_s, step_s, who)
        notes += said
        changes += [change] if change else []
        out.append(RatedTrajectory(cut(t, len(expert)), None if score in (None, -1) else score))
    return tuple(out), "; ".join(changes), tuple(notes)


def _float(text: str) -> float | None:
    try:
        return float(text) if text else math.nan
    except ValueError:
        return None
