"""A case as JSON and back: one line of `cases.jsonl` is one case, checked whole before anything is made of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from core.errors import InputError, Problem
from core.trajectories import document_model as doc
from core.trajectories.case import (
    CAMERAS,
    SCHEMA_VERSION,
    Agent,
    Agents,
    Camera,
    Case,
    Coverage,
    Ego,
    Floats,
    Frame,
    Layer,
    RatedTrajectory,
    Shape,
    Trajectory,
)

MAX_LINE_BYTES = 64 * 2**20
"""A line above this size is no case."""


def case_to_json(case: Case) -> dict[str, Any]:
    """The case as JSON values, in the order in which people read it; `case_from_json` gives it back bit for bit."""
    return {
        "schema_version": SCHEMA_VERSION,
        "case_id": case.case_id,
        "scene_id": case.scene_id,
        "planner_id": case.planner_id,
        "dt_s": float(case.dt_s),
        "horizon_s": case.horizon_s,
        "command": case.command,
        "ego": {k: v for k, v in vars(case.ego).items() if v is not None},
        "expert": _trajectory_json(case.expert),
        "planner": _trajectory_json(case.planner),
        "history": None if case.history is None else _trajectory_json(case.history),
        "rater_refs": [{"points": _trajectory_json(r.trajectory), "score": r.score} for r in case.rated],
        "cameras": [_camera_json(c) for c in case.cameras],
        "agents": _agents_json(case.agents),
        "map": _layer_json(case.map),
        "static_objects": _layer_json(case.static_objects),
        "signals": _layer_json(case.signals),
        "flags": list(case.flags),
        "metrics": {k: float(v) for k, v in case.metrics.items()},
        "licence": case.licence,
        "source": _mutable(case.source),
        "synthetic": case.synthetic,
    }


def case_from_json(data: Mapping[str, Any]) -> Case:
    """The case of a JSON object.

    Raises:
        InputError: It breaks the schema; every problem is listed.
    """
    return case_of_document(document_from_json(data))


def document_from_json(data: Any) -> doc.CaseDoc:
    """The checked object, before a case is made of it.

    Raises:
        InputError: It breaks the schema; every problem is listed.
    """
    if isinstance(data, Mapping) and data.get("schema_version", SCHEMA_VERSION) != SCHEMA_VERSION:
        got = _short(data["schema_version"])
        problem = Problem(None, "schema_version", got, f'"{SCHEMA_VERSION}"', kind="schema_version")
        raise InputError("The case has another version of the format.", [problem])
    try:
        return doc.CaseDoc.model_validate(data)
    except ValidationError as e:
        raise InputError("The case cannot be used as it is.", _problems(e)) from e


def case_of_document(d: doc.CaseDoc) -> Case:
    """The case that a checked object describes."""
    cameras = sorted((_camera(c) for c in d.cameras), key=lambda c: CAMERAS.index(c.name))
    return Case(
        case_id=d.case_id,
        scene_id=d.scene_id,
        planner_id=d.planner_id,
        dt_s=d.dt_s,
        expert=trajectory_of(d.expert, d.valid.expert),
        planner=trajectory_of(d.planner, d.valid.planner),
        ego=Ego(**d.ego.model_dump()),
        command=d.command,
        history=None if d.history is None else trajectory_of(d.history, d.valid.history),
        rated=tuple(RatedTrajectory(trajectory_of(r.points), None if r.score == -1 else r.score) for r in d.rater_refs),
        cameras=tuple(cameras),
        agents=None if d.agents is None else Agents(tuple(_agent(a) for a in d.agents.items), _coverage(d.agents.coverage)),
        map=_layer(d.map),
        static_objects=_layer(d.static_objects),
        signals=_layer(d.signals),
        flags=tuple(d.flags),
        metrics=d.metrics,
        licence=d.licence,
        source=d.source,
        synthetic=d.synthetic,
    )


def json_lines(path: Path) -> Iterator[tuple[int, Any, Problem | None]]:
    """Number, value and problem of every line that is not blank; the value is None where there is a problem.

    Raises:
        InputError: The file cannot be opened.
    """
    try:
        stream = path.open("rb")
    except OSError as e:
        raise InputError(f'"{path.name}" cannot be opened: {e.strerror or e}.') from e
    with stream:
        number = 0
        while raw := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES and not raw.endswith(b"\n"):
                while (rest := stream.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                    pass
                yield number, None, Problem(number, "line", f"more than {MAX_LINE_BYTES >> 20} MB", "one case", kind="too_long")
            elif raw.strip(b"\xef\xbb\xbf \t\r\n"):
                value, reason = _parsed(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw)
                yield number, value, None if reason is None else Problem(number, "line", _short(raw), reason, kind="not_json")


def read_cases(path: Path | str) -> tuple[list[Case], list[Problem]]:
    """Every case of a JSONL file, and what is wrong with the lines that are none.

    Args:
        path: One case a line; blank lines are allowed.

    Returns:
        Cases in the order of the file, each id once; problems whose `row` is the line.

    Raises:
        InputError: The file cannot be opened.
    """
    cases: list[Case] = []
    problems: list[Problem] = []
    seen: dict[str, int] = {}
    for number, value, problem in json_lines(Path(path)):
        if problem is not None:
            problems.append(problem)
            continue
        try:
            case = case_from_json(value)
        except InputError as e:
            problems.extend(Problem(number, p.column, p.got, p.allowed, p.suggestion, p.kind) for p in e.problems)
            continue
        if case.case_id in seen:
            allowed = f"an id of its own; line {seen[case.case_id]} has this one"
            problems.append(Problem(number, "case_id", case.case_id, allowed, kind="duplicate"))
            continue
        seen[case.case_id] = number
        cases.append(case)
    return cases, problems


def write_cases(path: Path | str, cases: Iterable[Case]) -> int:
    """Writes one case a line and returns their number."""
    n = 0
    with Path(path).open("w", encoding="utf-8", newline="\n") as out:
        for case in cases:
            out.write(json.dumps(case_to_json(case), ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")
            n += 1
    return n


def trajectory_of(d: doc.TrajectoryDoc, mask: list[bool] | None = None) -> Trajectory:
    """The trajectory of a checked object, with the mask that stands beside it if it has none of its own."""
    return Trajectory.of(d.points, d.valid if d.valid is not None else mask, d.yaw)


def _parsed(raw: bytes) -> tuple[Any, str | None]:
    """The value of a line, and why there is none."""
    try:
        return json.loads(raw.decode("utf-8")), None
    except UnicodeDecodeError:
        return None, "text in UTF-8"
    except RecursionError:
        return None, "JSON that is not nested so deep"
    except ValueError as e:
        return None, f"one JSON object ({e})"


def _short(value: Any) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = text.strip().encode("utf-8", "replace").decode()
    return text if len(text) <= 60 else text[:57] + "..."


def _problems(error: ValidationError) -> list[Problem]:
    found = []
    for e in error.errors():
        where = ".".join(map(str, e["loc"])) or "case"
        message = _ALLOWED.get(e["type"]) or e["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        got = "nothing" if e["type"] == "missing" else _short(e.get("input"))
        found.append(Problem(None, where, got, message[:1].lower() + message[1:], kind=e["type"]))
    return found


_ALLOWED = {
    "missing": "a value; this field has to be there",
    "extra_forbidden": "no such field; it is not part of the format",
    "model_type": "a JSON object",
    "model_attributes_type": "a JSON object",
    "string_unicode": "text that is Unicode",
}
"""Kinds of problems whose message names things that only programmers know."""


def _mutable(value: Any) -> Any:
    """Plain dicts and lists, so that the result can be written and changed."""
    if isinstance(value, Mapping):
        return {k: _mutable(v) for k, v in value.items()}
    return [_mutable(v) for v in value] if isinstance(value, list | tuple) else value


def trajectory_json(points: list[Any], valid: list[bool] | None = None, yaw: list[float] | None = None) -> Any:
    """A trajectory as JSON: its bare points where all are valid and nothing is known of headings."""
    if yaw is None and all(valid or ()):
        return points
    return {"points": points, **({} if all(valid or ()) else {"valid": valid}), **({} if yaw is None else {"yaw": yaw})}


def _trajectory_json(t: Trajectory) -> Any:
    return trajectory_json(t.points.tolist(), t.valid.tolist(), None if t.yaw is None else t.yaw.tolist())


def _camera_json(c: Camera) -> dict[str, Any]:
    return {
        "name": c.name,
        "frames": [{"t_s": f.t_s, "path": f.path, **({"sha256": f.sha256} if f.sha256 else {})} for f in c.frames],
        "width": c.width,
        "height": c.height,
        "intrinsics": None if c.intrinsics is None else c.intrinsics.tolist(),
        "extrinsics": None if c.extrinsics is None else c.extrinsics.tolist(),
        "distortion": list(c.distortion),
        "model": c.model,
        "ground_z_m": c.ground_z_m,
    }


def _coverage_json(c: Coverage | None) -> dict[str, Any] | None:
    return None if c is None else {"source": c.source, "cameras": list(c.cameras), "range_m": c.range_m}


def _agents_json(agents: Agents | None) -> dict[str, Any] | None:
    if agents is None:
        return None
    items = [
        {
            "track_id": a.track_id,
            "cls": a.cls,
            "box": [a.x, a.y, a.length_m, a.width_m, a.yaw],
            "velocity": None if a.velocity is None else list(a.velocity),
            "future": None if a.future is None else _trajectory_json(a.future),
            "attributes": list(a.attributes),
        }
        for a in agents.items
    ]
    return {"coverage": _coverage_json(agents.coverage), "items": items}


def _layer_json(layer: Layer | None) -> dict[str, Any] | None:
    if layer is None:
        return None
    items = [
        {"kind": s.kind, "points": s.points.tolist(), "closed": s.closed, "attributes": _mutable(s.attributes), "id": s.id}
        for s in layer.items
    ]
    return {"coverage": _coverage_json(layer.coverage), "items": items}


def _array(rows: list[list[float]] | None) -> Floats | None:
    return None if rows is None else np.asarray(rows, dtype=np.float64)


def _camera(d: doc.CameraDoc) -> Camera:
    frames = tuple(Frame(f.t_s, f.path, f.sha256) for f in d.frames)
    matrices = _array(d.intrinsics), _array(d.extrinsics)
    return Camera(d.name, frames, d.width, d.height, *matrices, tuple(d.distortion), d.model, d.ground_z_m)


def _coverage(d: doc.CoverageDoc | None) -> Coverage | None:
    return None if d is None else Coverage(d.source, tuple(d.cameras), d.range_m)


def _agent(d: doc.AgentDoc) -> Agent:
    velocity = None if d.velocity is None else (d.velocity[0], d.velocity[1])
    x, y, length, width, yaw = d.plane
    future = None if d.future is None else trajectory_of(d.future)
    return Agent(d.track_id, d.cls, x, y, length, width, yaw, velocity, future, tuple(d.attributes))


def _layer(d: doc.LayerDoc | None) -> Layer | None:
    if d is None:
        return None
    items = tuple(Shape(s.kind, np.asarray(s.points, dtype=np.float64), s.closed, s.attributes, s.id) for s in d.items)
    return Layer(items, _coverage(d.coverage))
