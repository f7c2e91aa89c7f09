"""Cases from JSON objects that keep the format of cases, or nearly: what can be mended without guessing is mended and said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from core.digest import sha256_bytes
from core.errors import InputError, Problem
from core.trajectories.case import SCHEMA_VERSION, Agents, Camera, Case, Floats, Layer, Trajectory
from core.trajectories.case_set import IMAGES
from core.trajectories.checks import has_origin, zero_padding
from core.trajectories.document import case_from_json, trajectory_json
from core.trajectories.importers.clean import Axes, clean, fit_step, held, past, rated, turned, turned_yaw
from core.trajectories.importers.collect import Collector, image_file, image_size
from core.trajectories.importers.scene_planners import numbers
from core.trajectories.report import several
from core.trajectories.resample import cut


def take_documents(out: Collector, entries: Iterable[tuple[str, Any, Problem | None]], folder: Path, axes: Axes = "forward_left") -> None:
    """Takes the case of every entry that is one.

    Args:
        out: Where the cases go.
        entries: Where each stands, its JSON value, and what was wrong with it already.
        folder: In which the images are.
        axes: Of everything spatial.
    """
    known: dict[str, tuple[str, tuple[int, int] | None]] = {}
    for where, value, problem in entries:
        if problem is not None or not isinstance(value, Mapping):
            got = "" if problem is None else f"; got {problem.got}"
            out.reject(where, "", f"expected {problem.allowed if problem else 'a JSON object'}{got}")
            continue
        mended, notes, changed = mend(value)
        try:
            case = case_from_json(mended)
        except InputError as e:
            name = value.get("case_id")
            out.reject(
                where, name if isinstance(name, str) else "", *(f"{p.column}: got {p.got}; allowed: {p.allowed}" for p in e.problems)
            )
            continue
        case, more = _with_images(turned_case(case, axes), folder, out, known)
        out.take(case, where, (*notes, *more), changed)


def mend(value: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...], str]:
    """The object as the format has it, notes on what was mended, and what was resampled; what cannot be mended stays for the schema."""
    data = dict(value)
    notes: list[str] = []
    changes: list[str] = []
    if "schema_version" not in data:
        data["schema_version"] = SCHEMA_VERSION
        notes.append(f"no schema_version is stated; {SCHEMA_VERSION} was taken")
    ego, masks = data.get("ego"), data.get("valid")
    dt, speed = _within(data.get("dt_s"), 60), _within(ego.get("speed_mps") if isinstance(ego, Mapping) else None, 200)
    raw = {k: _trajectory(data.get(k), masks.get(k) if isinstance(masks, Mapping) else None) for k in ("expert", "planner")}
    if not dt or speed is None:
        return data, tuple(notes), ""
    found: dict[str, Trajectory] = {}
    for name, rows in raw.items():
        if rows is None:
            return data, tuple(notes), ""
        found[name], said = clean(rows[0], dt, speed, name=name, valid=rows[1], yaw=rows[2], horizon_s=_within(data.get("horizon_s"), 1e5))
        notes += said
    steps = len(found["expert"])
    found["planner"], change = fit_step(found["planner"], steps, dt, speed, "planner", sure=True)
    changes += [change] if change else []
    n = min(len(t) for t in found.values())
    for name, t in found.items():
        if len(t) > n:
            notes.append(f"the {name} has {len(t)} points and was cut to the {n} that both have")
        data[name] = _json(cut(t, n))
    if isinstance(masks, Mapping):
        data["valid"] = {k: v for k, v in masks.items() if k not in found}
    if steps != n or n != len(_points(value.get("expert")) or ()):
        data.pop("horizon_s", None)
    if (rows := _trajectory(data.get("history"), masks.get("history") if isinstance(masks, Mapping) else None)) is not None:
        history, said = past(*rows)
        data["history"] = _json(history)
        data["valid"] = {k: v for k, v in data.get("valid", {}).items() if k != "history"}
        notes += said
    if isinstance(agents := data.get("agents"), Mapping) and isinstance(agents.get("items"), list):
        data["agents"] = {**agents, "items": [_agent(a, steps, dt, notes) for a in agents["items"]]}
    if isinstance(refs := data.get("rater_refs"), list):
        data["rater_refs"] = [_rated(r, steps, dt, speed, notes, changes, k) for k, r in enumerate(refs, 1)]
    return data, tuple(dict.fromkeys(notes)), "; ".join(dict.fromkeys(changes))


def _within(value: Any, most: float) -> float | None:
    """The number, None if it is none between 0 and the greatest."""
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most
    return float(value) if ok else None


def _points(value: Any) -> Any:
    return value.get("points") if isinstance(value, Mapping) else value


def _trajectory(value: Any, mask: Any) -> tuple[Floats, Any, Any] | None:
    """Points with NaN for null, mask and headings of a JSON trajectory; None if the schema has to say what is wrong."""
    points = numbers(_points(value), 2)
    own = value if isinstance(value, Mapping) else {}
    if points is None or not len(points) or set(own) - {"points", "valid", "yaw"} or ("valid" in own and mask is not None):
        return None
    valid = own.get("valid", mask)
    yaw = numbers(own["yaw"], 1) if own.get("yaw") is not None else None
    if valid is not None and (not isinstance(valid, list) or len(valid) != len(points) or not all(isinstance(v, bool) for v in valid)):
        return None
    if own.get("yaw") is not None and (yaw is None or len(yaw) != len(points)):
        return None
    return points, valid, yaw


def _json(t: Trajectory) -> Any:
    return trajectory_json(t.points.tolist(), t.valid.tolist(), None if t.yaw is None else t.yaw.tolist())


def _rated(value: Any, steps: int, dt_s: float, speed: float, notes: list[str], changes: list[str], number: int) -> Any:
    if not isinstance(value, Mapping):
        return value
    found = _trajectory(value.get("points"), None)
    if found is None:
        return value
    t, said, change = rated(found[0], steps, dt_s, speed, number, valid=found[1], yaw=found[2])
    notes += said
    changes += [change] if change else []
    return {**value, "points": _json(t)}


def _agent(value: Any, steps: int, dt_s: float, notes: list[str]) -> Any:
    """A road user whose future neither begins with t = 0 nor holds zeros for "no state"; unchanged where the schema has to speak."""
    box = numbers(value.get("box"), 1) if isinstance(value, Mapping) else None
    found = _trajectory(value.get("future"), None) if isinstance(value, Mapping) and value.get("future") else None
    if box is None or len(box) < 2 or found is None or not np.isfinite(box).all():
        return value
    points, valid, yaw = found
    velocity = numbers(value.get("velocity"), 1)
    speed = float(np.hypot(*velocity)) if velocity is not None and len(velocity) == 2 and np.isfinite(velocity).all() else 0.0
    if not np.isfinite(points).all():
        return value
    begins = has_origin(points - box[:2], speed, dt_s, steps * dt_s)
    mask = np.ones(len(points), dtype=np.bool_) if valid is None else np.asarray(valid, dtype=np.bool_)
    first = int(begins)
    zeros = zero_padding(np.vstack([box[:2], points]))[1:] & mask
    if begins:
        notes.append("futures of road users began with where they are at t = 0, which was taken away")
    if zeros.any():
        notes.append("futures of road users were padded with zeros, and are not valid there")
    whole = np.where(zeros[:, None], held(points - box[:2], mask & ~zeros) + box[:2], points)
    future = Trajectory(whole[first:], (mask & ~zeros)[first:], None if yaw is None else yaw[first:])
    return {**value, "future": _json(future)} if begins or zeros.any() else value


def turned_case(case: Case, axes: Axes) -> Case:
    """The case with everything spatial as x forward and y left."""
    if axes == "forward_left":
        return case

    def path(t: Trajectory) -> Trajectory:
        return Trajectory(turned(t.points, axes), t.valid, turned_yaw(t.yaw, axes))

    def layer(found: Layer | None) -> Layer | None:
        return None if found is None else replace(found, items=tuple(replace(s, points=turned(s.points, axes)) for s in found.items))

    agents = case.agents
    if agents is not None:
        items = []
        for a in agents.items:
            x, y = turned(np.array([[a.x, a.y]]), axes)[0]
            v = None if a.velocity is None else turned(np.array([a.velocity]), axes)[0]
            yaw = turned_yaw(np.array([a.yaw]), axes)
            items.append(
                replace(
                    a,
                    x=float(x),
                    y=float(y),
                    yaw=a.yaw if yaw is None else float(yaw[0]),
                    velocity=None if v is None else (float(v[0]), float(v[1])),
                    future=None if a.future is None else path(a.future),
                )
            )
        agents = Agents(tuple(items), agents.coverage)
    return replace(
        case,
        expert=path(case.expert),
        planner=path(case.planner),
        history=None if case.history is None else path(case.history),
        rated=tuple(replace(r, trajectory=path(r.trajectory)) for r in case.rated),
        cameras=tuple(_turned_camera(c, axes) for c in case.cameras),
        agents=agents,
        map=layer(case.map),
        static_objects=layer(case.static_objects),
        signals=layer(case.signals),
    )


def _turned_camera(camera: Camera, axes: Axes) -> Camera:
    """The camera in the turned frame; where y pointed to the right, z points up or down, whichever keeps the rotation one."""
    if camera.extrinsics is None:
        return camera
    motion = np.eye(4)
    if axes == "right_forward":
        motion[:2, :2] = [[0, 1], [-1, 0]]
    else:
        motion[1, 1] = -1
        motion[2, 2] = -1 if np.linalg.det(camera.extrinsics[:3, :3]) > 0 else 1
    return replace(camera, extrinsics=motion @ camera.extrinsics)


def _with_images(
    case: Case, folder: Path, out: Collector, known: dict[str, tuple[str, tuple[int, int] | None]]
) -> tuple[Case, tuple[str, ...]]:
    """The case with its images handed on, and notes on those that are not there, are none, or are others than the case says.

    Args:
        case: The case.
        folder: In which the images are.
        out: Gets the images.
        known: Hash and size of the images that were looked at already, by path.
    """
    notes, kept, absent, other, blind = [], [], 0, 0, 0
    misfits: dict[str, str] = {}
    root = folder.resolve()
    for camera in case.cameras:
        odd = [f.path for f in camera.frames if not f.path.lower().endswith(IMAGES)]
        if odd:
            notes.append(f"the camera {camera.name} was left out: its images are not {', '.join(IMAGES)}")
            continue
        kept.append(camera)
        for frame in camera.frames:
            file = image_file(root, frame.path)
            if file is None:
                absent += 1
                continue
            out.images[frame.path] = file
            if frame.path not in known:
                known[frame.path] = sha256_bytes(file.read_bytes()) if frame.sha256 else "", image_size(file)
            digest, size = known[frame.path]
            other += bool(frame.sha256) and digest != frame.sha256
            blind += size is None
            stated = camera.width, camera.height
            if size is not None and None not in stated and size != stated:
                misfits[camera.name] = f"{camera.name} is said to have {stated[0]} × {stated[1]} px, its image has {size[0]} × {size[1]}"
    if absent:
        notes.append(several(absent, "image that it names is", "images that it names are") + " not there")
    if other:
        notes.append(several(other, "image has", "images have") + " changed since the case was written: the hash is another one")
    if blind:
        notes.append(several(blind, "image", "images") + " cannot be read as an image")
    notes += misfits.values()
    drawn = any(c.name in misfits and c.intrinsics is not None for c in kept)
    flags = dict.fromkeys([*case.flags, *(["bad_calibration"] if drawn else [])])
    return replace(case, cameras=tuple(kept), flags=tuple(flags)), tuple(notes)
