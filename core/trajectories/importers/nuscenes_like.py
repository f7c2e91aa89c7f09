"""Cases from nuScenes samples as VAD, GenAD and OpenEMMA prepare them: a JSON object of samples by token.

Everything is in the frame of the lidar at t = 0: x right, y forward, 2 Hz. The future of the ego has 7 points, the first of them the
origin; boxes are x, y, z, width, length, height and an angle that is turned and mirrored (mmdetection3d before 1.0), futures of agents
are steps, not positions. The trajectories are those of the lidar, about a metre ahead of the rear axle; the case keeps that point, put
down on the road, as its origin (nothing is rotated about an axle that the file does not track), and cameras are placed in that frame.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import InputError
from core.trajectories.baselines import VELOCITY
from core.trajectories.case import Agent, Agents, Case, Command, Coverage, Ego, Floats, Layer, Shape, Trajectory
from core.trajectories.importers.clean import clean, past, turned
from core.trajectories.importers.collect import Collector
from core.trajectories.importers.nuscenes_cameras import cameras_of, lidar_to_ego, planar
from core.trajectories.importers.points_table import text_of
from core.trajectories.importers.scene_planners import PlannerSide, numbers
from core.trajectories.report import Imported, several

STEP_S = 0.5
LICENCE = "CC BY-NC-SA 4.0 (nuScenes)"
COMMANDS: tuple[Command, ...] = ("right", "left", "straight")
"""Order of `gt_ego_fut_cmd`."""
BEHIND_CENTRE_M = 0.5
"""The lidar stands half a metre behind the middle of the car (planning metrics of ST-P3, UniAD and VAD)."""
CLASSES = {
    "car": "vehicle",
    "truck": "truck",
    "bus": "bus",
    "trailer": "trailer",
    "construction": "construction_vehicle",
    "construction_vehicle": "construction_vehicle",
    "emergency": "vehicle",
    "motorcycle": "motorcycle",
    "bicycle": "bicycle",
    "pedestrian": "pedestrian",
    "animal": "animal",
}
THINGS = {"trafficcone": "cone", "traffic_cone": "cone", "barrier": "barrier", "debris": "debris", "pushable_pullable": "pushable"}


class _BrokenError(Exception):
    """A sample cannot be used; the text says why."""


def looks_like(path: Path) -> bool:
    """Whether it is a JSON file whose first sample has the future of an ego vehicle, or a folder with such a file."""
    try:
        if path.is_dir():
            return any(looks_like(p) for p in sorted(path.glob("*.json"))[:20])
        if not path.is_file() or path.suffix.lower() != ".json":
            return False
        with path.open("rb") as file:
            return b'"gt_ego_fut_trajs"' in file.read(4 * 2**20)
    except OSError:
        return False


def read(
    path: Path,
    *,
    images: Path | str | None = None,
    planners: str | Sequence[str] | None = None,
    planner_file: Path | str | None = None,
    planner_axes: str = "right_forward",
) -> Imported:
    """The cases of a file, or of all such files in a folder.

    Args:
        path: The JSON file, or the folder.
        images: Folder of the images; that of the file by default.
        planners: Baselines.
        planner_file: Trajectories of planners by token.
        planner_axes: What x and y are in that file; as in this one by default.

    Raises:
        InputError: There is no file of this format.
    """
    files = [p for p in sorted(path.glob("*.json")) if looks_like(p)] if path.is_dir() else [path]
    if not files:
        raise InputError(f'The folder "{path.name}" holds no JSON file of samples (with "gt_ego_fut_trajs").')
    side = PlannerSide.of(planners, planner_file, planner_axes)
    out = Collector(path.name, "nuscenes")
    out.remarks.append("x right, y forward was turned to x forward, y left; the origin is the lidar, put down on the road")
    for file in files:
        try:
            content = json.loads(text_of(file))
        except (ValueError, RecursionError) as e:
            raise InputError(f'"{file.name}" is no JSON: {e}.') from e
        samples = _samples(content, file.name)
        folder = Path(images) if images else file.parent
        for token, sample in samples.items():
            where = f'{f"{file.name}, " if len(files) > 1 else ""}sample "{str(token)[:40]}"'
            alone = len(files) == 1 and len(samples) == 1
            try:
                case, notes = _scene(str(token), sample, samples, folder, file.name, alone, out)
            except _BrokenError as e:
                out.reject(where, str(token)[:200], str(e))
            else:
                side.add(out, case, where, notes)
    side.finish(out)
    return out.result()


def _samples(content: Any, name: str) -> Mapping[str, Any]:
    if isinstance(content, Mapping) and isinstance(content.get("infos"), list):
        content = content["infos"]
    if isinstance(content, list):
        content = {s.get("token", f"sample {i}") if isinstance(s, Mapping) else f"sample {i}": s for i, s in enumerate(content)}
    if not isinstance(content, Mapping) or not content:
        raise InputError(f'"{name}" holds no samples; expected a JSON object of samples by token.')
    return content


def _scene(
    token: str, sample: Any, samples: Mapping[str, Any], folder: Path, name: str, alone: bool, out: Collector
) -> tuple[Case, tuple[str, ...]]:
    if not isinstance(sample, Mapping):
        raise _BrokenError("it is no object")
    notes: list[str] = []
    motion = _array(sample, "gt_ego_lcf_feat", (None,))
    if motion is None or len(motion) < 2:
        raise _BrokenError('"gt_ego_lcf_feat" with the velocity is missing')
    turn, place = planar(lidar_to_ego(sample))
    velocity = _along(turned(motion[None, :2], "right_forward"), turn)[0]
    speed = float(np.hypot(*velocity))
    expert = _expert(sample, speed, turn, notes)
    agents, things = _agents(sample, turn, notes)
    cameras = cameras_of(sample, samples, folder, place, token, alone, out, notes)
    size = motion[5:7] if len(motion) >= 7 and (motion[5:7] > 0).all() else np.array([4.084, 1.85])
    bus = _array(sample, "can_bus", (None,))
    ego = Ego(
        speed,
        None if bus is None or len(bus) < 8 else float(bus[7]),
        float(motion[4]) if len(motion) >= 5 else None,
        "rear_axle",
        round(float(size[0]), 3),
        round(float(size[1]), 3),
        round(float(size[0]) / 2 - BEHIND_CENTRE_M, 3),
    )
    kept = {k: sample[k] for k in ("scene_token", "timestamp", "map_location", "frame_idx") if isinstance(sample.get(k), str | int)}
    case = Case(
        case_id=token,
        scene_id=token,
        planner_id="expert",
        dt_s=STEP_S,
        expert=expert,
        planner=expert,
        ego=ego,
        command=_command(sample, notes),
        history=_history(sample, turn, notes),
        cameras=cameras,
        agents=agents,
        static_objects=things,
        licence=LICENCE,
        source={
            "dataset": "nuScenes",
            "file": name,
            **kept,
            VELOCITY: [float(v) for v in velocity],
            "origin": "the lidar put down on the road; rear_overhang_m counts from there",
        },
    )
    return case, tuple(notes)


def _along(points: Floats, turn: float) -> Floats:
    """Points, x forward and y left of the lidar, along the ego's axes instead."""
    c, s = np.cos(turn), np.sin(turn)
    result: Floats = points @ np.array([[c, s], [-s, c]])
    return result


def _array(sample: Mapping[str, Any], key: str, shape: tuple[int | None, ...]) -> Floats | None:
    """An array of the sample, None if it is not there.

    Raises:
        _BrokenError: It has another shape, or something in it is no finite number.
    """
    value = sample.get(key)
    if value is None:
        return None
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as e:
        raise _BrokenError(f'"{key}" is no array of numbers') from e
    if array.ndim == 1 and len(shape) > 1 and not len(array):
        array = array.reshape((0, *(n or 0 for n in shape[1:])))
    if array.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, array.shape, strict=True)):
        wanted = " × ".join("n" if n is None else str(n) for n in shape)
        raise _BrokenError(f'"{key}" has the shape {" × ".join(map(str, array.shape)) or "of one number"} instead of {wanted}')
    if not np.isfinite(array).all() or (len(array) and np.abs(array).max() > 1e6 and key != "can_bus"):
        raise _BrokenError(f'"{key}" has values that are not finite or cannot be right')
    return array


def _expert(sample: Mapping[str, Any], speed: float, turn: float, notes: list[str]) -> Trajectory:
    points = numbers(sample.get("gt_ego_fut_trajs"), 2)
    if points is None or len(points) < 2:
        raise _BrokenError('"gt_ego_fut_trajs" is no list of at least two points')
    masks = _array(sample, "gt_ego_fut_masks", (None,))
    first = float(np.hypot(*np.nan_to_num(points[0])))
    if first > 1e-3:
        if masks is not None and len(masks) == len(points) - 1:
            raise _BrokenError(
                f"its future has {len(points)} points for {len(masks)} masks, but the first one is {first:.2f} m from the origin"
            )
        points = np.vstack([np.zeros((1, 2)), points])
        notes.append("its future came without the origin")
    if masks is None:
        masks = np.ones(len(points) - 1)
    if len(masks) != len(points) - 1:
        raise _BrokenError(f"its future has {len(points) - 1} steps and {len(masks)} masks")
    points = _along(turned(points[1:], "right_forward"), turn)
    t, said = clean(points, STEP_S, speed, name="expert", valid=masks > 0, origin=False)
    notes += said
    if not t.valid.any():
        raise _BrokenError("no state of its future is valid")
    return t


def _history(sample: Mapping[str, Any], turn: float, notes: list[str]) -> Trajectory | None:
    points = numbers(sample.get("gt_ego_his_trajs"), 2)
    if points is None or not len(points) or not float(np.hypot(*points[-1])) <= 1e-3:
        notes.append("the history is missing or does not end in the origin, and was left out")
        return None
    history, said = past(_along(turned(points, "right_forward"), turn))
    notes += said
    return history


def _command(sample: Mapping[str, Any], notes: list[str]) -> Command:
    given = _array(sample, "gt_ego_fut_cmd", (None,))
    if given is None or len(given) != 3 or sorted(given.tolist()) != [0.0, 0.0, 1.0]:
        notes.append("the command is not one of right, left, straight")
        return "unknown"
    return COMMANDS[int(np.argmax(given))]


def _agents(sample: Mapping[str, Any], turn: float, notes: list[str]) -> tuple[Agents | None, Layer | None]:
    boxes = _array(sample, "gt_boxes", (None, 7))
    names = sample.get("gt_names")
    if boxes is None or names is None:
        notes.append("no boxes of other road users")
        return None, None
    n = len(boxes)
    if not isinstance(names, list) or len(names) != n or not all(isinstance(x, str) for x in names):
        raise _BrokenError(f'"gt_names" are not {n} names')
    velocity = _velocities(sample, n)
    steps, masks = _array(sample, "gt_agent_fut_trajs", (n, None)), _array(sample, "gt_agent_fut_masks", (n, None))
    if steps is not None and (masks is None or steps.shape[1] != 2 * masks.shape[1]):
        raise _BrokenError('"gt_agent_fut_trajs" has no masks of its length')
    seen = _array(sample, "valid_flag", (n,))
    cars = np.array([CLASSES.get(_word(x)) in ("vehicle", "truck", "bus") for x in names], dtype=np.bool_)
    old = not cars.any() or bool(np.median(boxes[cars, 4]) >= np.median(boxes[cars, 3]))
    if not old:
        notes.append("boxes are x, y, z, length, width, height, angle (mmdetection3d 1.0 and later)")
    length, width = (boxes[:, 4], boxes[:, 3]) if old else (boxes[:, 3], boxes[:, 4])
    yaw = (-boxes[:, 6] - np.pi / 2 if old else boxes[:, 6]) - np.pi / 2 + turn
    yaw = (yaw + np.pi) % (2 * np.pi) - np.pi
    centre = _along(turned(boxes[:, :2], "right_forward"), turn)
    agents, things, unseen, other = [], [], 0, 0
    for i in range(n):
        word = _word(names[i])
        if seen is not None and not seen[i]:
            unseen += 1
        elif word in CLASSES:
            v = None
            if velocity is not None and np.isfinite(velocity[i]).all():
                v = _along(turned(velocity[i : i + 1], "right_forward"), turn)[0]
            agents.append(
                Agent(
                    track_id=str(i),
                    cls=CLASSES[word],
                    x=float(centre[i, 0]),
                    y=float(centre[i, 1]),
                    length_m=float(length[i]),
                    width_m=float(width[i]),
                    yaw=float(yaw[i]),
                    velocity=None if v is None else (float(v[0]), float(v[1])),
                    future=None if steps is None or masks is None else _future(centre[i], steps[i], masks[i] > 0, turn),
                )
            )
        elif word in THINGS:
            things.append(Shape(THINGS[word], _outline(centre[i], length[i], width[i], yaw[i]), True, {}, str(i)))
        else:
            other += 1
    if unseen:
        notes.append(f"left out: {unseen} of {n} boxes without a lidar or radar point (valid_flag)")
    if other:
        notes.append("left out: " + several(other, "box of another kind", "boxes of other kinds"))
    coverage = Coverage("ground truth: boxes with a lidar or radar point")
    return Agents(tuple(agents), coverage), Layer(tuple(things), coverage)


def _word(name: str) -> str:
    """The part of a category that we know: "vehicle.bus.rigid" is a bus, "human.pedestrian.adult" a pedestrian."""
    parts = name.lower().split(".")
    return next((p for p in parts if p in CLASSES or p in THINGS), parts[-1])


def _velocities(sample: Mapping[str, Any], n: int) -> Floats | None:
    """Velocities, shape (n, 2), NaN where the source has none."""
    value = sample.get("gt_velocity")
    rows = (
        numbers([[None if isinstance(x, float) and x != x else x for x in r] if isinstance(r, list) else r for r in value], 2)
        if isinstance(value, list)
        else None
    )
    if value is not None and (rows is None or len(rows) != n):
        raise _BrokenError(f'"gt_velocity" are not {n} velocities')
    return rows


def _future(centre: Floats, steps: Floats, valid: Any, turn: float) -> Trajectory | None:
    if not valid.any():
        return None
    moved = _along(turned(steps.reshape(-1, 2), "right_forward"), turn)
    return Trajectory(centre + np.cumsum(np.where(valid[:, None], moved, 0.0), axis=0), np.logical_and.accumulate(valid))


def _outline(centre: Floats, length: float, width: float, yaw: float) -> Floats:
    c, s = np.cos(yaw), np.sin(yaw)
    half = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * np.array([length, width]) / 2
    result: Floats = centre + half @ np.array([[c, s], [-s, c]])
    return result
