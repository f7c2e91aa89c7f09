"""Cases from Argoverse 2 motion forecasting: a scenario Parquet file, with its map beside it, or a folder of them.

11 s at 10 Hz: 50 observed steps, the last of them t = 0, and 60 steps of future. The ego is the track "AV"; positions are the middles of
boxes (av2-api, `data_schema.py`). The data set has neither images nor sizes: sizes of road users are those that are usual for their kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.trajectories.baselines import VELOCITY
from core.trajectories.case import Agent, Agents, Case, Coverage, Ego, Floats, Layer, Shape, Trajectory
from core.trajectories.importers.argoverse2_map import RANGE_M, MapError, map_layer
from core.trajectories.importers.clean import number_option
from core.trajectories.importers.collect import Collector
from core.trajectories.importers.scene_planners import PlannerSide
from core.trajectories.report import Imported, several

STEP_S, STEPS, NOW = 0.1, 110, 49
HORIZON_S = 5.0
LICENCE = "CC BY-NC-SA 4.0 (Argoverse 2)"
MOST_ROWS = 1_000_000
"""A scenario has some thousand; equal rows take next to no room in a file, and all of it in memory."""
EGO = "AV"
EGO_SIZE = (4.87, 1.85)
"""A Ford Fusion, m."""
SIZES = {
    "vehicle": (4.6, 1.9),
    "bus": (11.5, 2.6),
    "motorcycle": (2.2, 0.9),
    "bicycle": (1.8, 0.7),
    "pedestrian": (0.6, 0.6),
}
CLASSES = {
    "vehicle": "vehicle",
    "bus": "bus",
    "motorcyclist": "motorcycle",
    "cyclist": "bicycle",
    "pedestrian": "pedestrian",
}
THINGS = {"riderless_bicycle", "static", "background", "construction", "unknown"}
CATEGORIES = ("track fragment", "unscored track", "scored track", "focal track")
COLUMNS = {
    "scenario_id": "string",
    "track_id": "string",
    "object_type": "string",
    "object_category": "int64",
    "timestep": "int64",
    **{c: "float64" for c in ("position_x", "position_y", "heading", "velocity_x", "velocity_y")},
}


@dataclass(frozen=True, eq=False)
class _Track:
    """One track of a scenario by time step; rows without a state are NaN.

    Attributes:
        id: As in the source.
        kind: Type in the source.
        category: What it is scored as.
        state: Shape (110, 5): x, y, heading, vx, vy in the city's frame.
    """

    id: str
    kind: str
    category: str
    state: Floats


class _BrokenError(Exception):
    """A scenario cannot be used; the text says why."""


def looks_like(path: Path) -> bool:
    """Whether it is a scenario, or a folder that holds some."""
    try:
        files = [path] if path.is_file() and path.suffix == ".parquet" else list(_found(path))[:1] if path.is_dir() else []
        return bool(files) and set(COLUMNS) <= set(_names(files[0]))
    except (OSError, InputError):
        return False


def _found(folder: Path) -> list[Path]:
    return sorted(p for pattern in ("scenario_*.parquet", "*/scenario_*.parquet", "*/*/scenario_*.parquet") for p in folder.glob(pattern))


def _names(file: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(file).names)
    except (OSError, ValueError, pa.ArrowException) as e:
        raise InputError(f'"{file.name}" cannot be read as Parquet: {e}.') from e


def read(
    path: Path,
    *,
    horizon_s: float | str = HORIZON_S,
    planners: str | Sequence[str] | None = None,
    planner_file: Path | str | None = None,
    planner_axes: str = "forward_left",
) -> Imported:
    """The cases of one or more scenarios.

    Args:
        path: A scenario, or a folder of them.
        horizon_s: Seconds to keep of the future, at most 6.
        planners: Baselines.
        planner_file: Trajectories of planners by scenario, in the ego frame at the last observed step.
        planner_axes: What x and y are in that file.

    Raises:
        InputError: There is no scenario, or the options cannot be used.
    """
    steps = round(number_option("horizon_s", horizon_s, STEP_S, (STEPS - NOW - 1) * STEP_S) / STEP_S)
    files = _found(path) if path.is_dir() else [path]
    if not files:
        raise InputError(f'The folder "{path.name}" holds no scenario (a file "scenario_….parquet").')
    side = PlannerSide.of(planners, planner_file, planner_axes)
    out = Collector(path.name, "argoverse2")
    out.remarks.append("sizes of road users are those that are usual for their kind: the data set has none")
    cut = STEPS - NOW - 1 - steps
    for file in files:
        try:
            case, notes = _scene(file, steps)
        except _BrokenError as e:
            out.reject(file.name, "", str(e))
            continue
        said = (f"the last {cut * STEP_S:g} s of the 6 s of future were cut",) if cut else ()
        side.add(out, case, file.name, (*said, *notes))
    side.finish(out)
    return out.result()


def _tracks(file: Path) -> tuple[str, str, dict[str, _Track]]:
    """Id of the scenario, city, and its tracks."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = _names(file)
        missing = [c for c in COLUMNS if c not in names]
        if missing:
            raise _BrokenError(f"columns are missing: {', '.join(missing)}")
        rows = pq.read_metadata(file).num_rows
        if rows > MOST_ROWS:
            raise _BrokenError(f"it has {rows:,} rows; a scenario of at most {MOST_ROWS:,} is read")
        more = [c for c in ("city",) if c in names]
        table = pq.read_table(file, columns=[*COLUMNS, *more])
        columns: dict[str, npt.NDArray[Any]] = {}
        for name, kind in COLUMNS.items():
            column = table[name]
            if column.null_count:
                raise _BrokenError(f'"{name}" has {column.null_count} empty cells')
            columns[name] = np.asarray(column.cast(getattr(pa, kind)()).to_pylist(), dtype=object if kind == "string" else kind)
        city = str(table["city"][0].as_py()) if more and table.num_rows else ""
    except InputError as e:
        raise _BrokenError(str(e)) from e
    except (OSError, ValueError, pa.ArrowException, OverflowError) as e:
        raise _BrokenError(f"it cannot be read: {e}") from e
    if not table.num_rows:
        raise _BrokenError("it has no rows")
    ids = set(columns["scenario_id"])
    if len(ids) != 1:
        raise _BrokenError(f"it holds {len(ids)} scenarios; expected one")
    step = columns["timestep"]
    if step.min() < 0 or step.max() >= STEPS:
        raise _BrokenError(f"its steps run from {step.min()} to {step.max()}; expected 0 to {STEPS - 1}")
    state = np.stack([columns[c] for c in ("position_x", "position_y", "heading", "velocity_x", "velocity_y")], axis=1)
    tracks: dict[str, _Track] = {}
    order = np.argsort(columns["track_id"].astype(str), kind="stable")
    names_sorted = columns["track_id"][order].astype(str)
    for rows in np.split(order, np.flatnonzero(names_sorted[1:] != names_sorted[:-1]) + 1):
        key = str(columns["track_id"][rows[0]])
        if len(set(step[rows].tolist())) < len(rows):
            raise _BrokenError(f'the track "{key[:40]}" has a step twice')
        whole = np.full((STEPS, 5), np.nan)
        whole[step[rows]] = state[rows]
        whole[~np.isfinite(whole).all(axis=1) | (np.abs(whole) > 1e7).any(axis=1)] = np.nan
        category = int(columns["object_category"][rows[0]])
        scored = CATEGORIES[category] if 0 <= category < len(CATEGORIES) else f"category {category}"
        tracks[key] = _Track(key, str(columns["object_type"][rows[0]]).lower(), scored, whole)
    return str(next(iter(ids))), city, tracks


def _scene(file: Path, steps: int) -> tuple[Case, tuple[str, ...]]:
    scenario, city, tracks = _tracks(file)
    ego = tracks.pop(EGO, None)
    if ego is None:
        raise _BrokenError(f'it has no track "{EGO}"')
    now = ego.state[NOW]
    if not np.isfinite(now).all():
        raise _BrokenError("the ego has no state at t = 0 (step 49)")
    notes: list[str] = []
    place, turn = now[:2], _turn(-float(now[2]))
    expert = _future(ego, steps, place, turn, float(now[2]))
    if expert is None:
        raise _BrokenError("the ego has no state after t = 0")
    velocity = turn @ now[3:5]
    agents, things, gone = _others(tracks, steps, place, turn, float(now[2]))
    if gone:
        notes.append(f"left out: {gone} of {len(tracks)} tracks without a state at t = 0")
    layer = _map(file, scenario, expert, place, turn, notes)
    before = ego.state[NOW - 5]
    seconds = 5 * STEP_S
    known = bool(np.isfinite(before).all())
    source = {
        "dataset": "Argoverse 2 motion forecasting",
        "file": file.name,
        "city": city,
        VELOCITY: [float(v) for v in velocity],
        "position_in_city": [float(v) for v in place],
        "heading_in_city": float(now[2]),
    }
    case = Case(
        case_id=scenario,
        scene_id=scenario,
        planner_id="expert",
        dt_s=STEP_S,
        expert=expert,
        planner=expert,
        ego=Ego(
            float(np.hypot(*velocity)),
            float((np.hypot(*now[3:5]) - np.hypot(*before[3:5])) / seconds) if known else None,
            float(_wrapped(now[2] - before[2]) / seconds) if known else None,
            "centre",
            *EGO_SIZE,
        ),
        history=_past(ego, place, turn, float(now[2])),
        agents=agents,
        map=layer,
        static_objects=things,
        licence=LICENCE,
        source=source,
    )
    return case, tuple(notes)


def _turn(angle: float) -> Floats:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def _wrapped(angle: Any) -> Any:
    return (angle + np.pi) % (2 * np.pi) - np.pi


def _states(rows: Floats, place: Floats, turn: Floats, heading: float) -> Trajectory:
    """States of a track in the ego frame; positions without a state hold the last one before, or the first one after."""
    valid: npt.NDArray[np.bool_] = np.isfinite(rows[:, 0])
    at = np.arange(len(rows))
    nearest = np.clip(np.maximum.accumulate(np.where(valid, at, -1)), int(np.argmax(valid)), None)
    p = (rows[nearest, :2] - place) @ turn.T
    return Trajectory(p, valid, np.unwrap(_wrapped(rows[nearest, 2] - heading)))


def _future(track: _Track, steps: int, place: Floats, turn: Floats, heading: float) -> Trajectory | None:
    rows = track.state[NOW + 1 : NOW + 1 + steps]
    return _states(rows, place, turn, heading) if np.isfinite(rows[:, 0]).any() else None


def _past(track: _Track, place: Floats, turn: Floats, heading: float) -> Trajectory:
    rows = track.state[: NOW + 1]
    return _states(rows[int(np.argmax(np.isfinite(rows[:, 0]))) :], place, turn, heading)


def _others(tracks: Mapping[str, _Track], steps: int, place: Floats, turn: Floats, heading: float) -> tuple[Agents, Layer, int]:
    """Road users and things at t = 0, and how many tracks are not there then."""
    agents, things, gone = [], [], 0
    for track in tracks.values():
        row = track.state[NOW]
        if not np.isfinite(row).all():
            gone += 1
            continue
        x, y = (float(v) for v in turn @ (row[:2] - place))
        cls = CLASSES.get(track.kind)
        if cls is None:
            kind = track.kind if track.kind in THINGS else f"other: {track.kind}"[:100]
            things.append(Shape(kind, np.array([[x, y]]), False, {"category": track.category}, track.id))
            continue
        v = turn @ row[3:5]
        agents.append(
            Agent(
                track_id=track.id,
                cls=cls,
                x=x,
                y=y,
                length_m=SIZES[cls][0],
                width_m=SIZES[cls][1],
                yaw=float(_wrapped(row[2] - heading)),
                velocity=(float(v[0]), float(v[1])),
                future=_future(track, steps, place, turn, heading),
                attributes=("size is assumed", track.category),
            )
        )
    coverage = Coverage("tracks of the data set")
    return Agents(tuple(agents), coverage), Layer(tuple(things), coverage), gone


def _map(file: Path, scenario: str, expert: Trajectory, place: Floats, turn: Floats, notes: list[str]) -> Layer | None:
    path = file.with_name(f"log_map_archive_{file.stem.removeprefix('scenario_')}.json")
    if not path.is_file():
        notes.append(f"there is no map ({path.name})")
        return None
    try:
        layer, outside, broken = map_layer(path, expert, place, turn)
    except MapError as e:
        notes.append(f"the map was left out: {e}")
        return None
    if outside:
        notes.append(f"left out: {several(outside, 'piece', 'pieces')} of the map farther than {RANGE_M:g} m")
    if broken:
        notes.append(f"left out: {several(broken, 'broken piece', 'broken pieces')} of the map")
    return layer
