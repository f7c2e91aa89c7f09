"""What the page needs to show a case, as JSON values. Never the planner's id, the case's id, gold or outside metrics.

Numbers are plain floats rounded to what can be seen (0.1 px, 1 cm, 0.01 m/s); None is null. Pixels are those of the image file.
Metres are in the ego frame at t = 0: x forward, y LEFT (a page that looks along x from above draws y to the left).

    {
      "scene": "S-014", "command": "straight" | "left" | "right" | "unknown",
      "dataset": "Oddyssey demo pack" (or ""), "licence": "CC0-1.0", "synthetic": true,
      "horizon_s": 5.0, "dt_s": 0.25,
      "question": "After 5 s the planner is 19.1 m further on and 3.2 m to the right of the expert. Is that a threat?",
      "cameras": [                            # 0 to 6, those that there are, in the order of CAMERAS
        {"name": "front_left", "title": "Front left", "width": 640 | null, "height": 400 | null,
         "frames": [{"t": -1.0, "path": "images/…jpg"}, …],       # oldest first; the last one is the critical frame (t = 0)
         "overlay": "" | "No calibration: nothing can be drawn into this image.",      # why there are no ribbons
         "ribbons": {"expert": R, "planner": R, "history": R, "rated": R},             # [] where there is nothing to draw
         "seconds": {"expert": S, "planner": S, "rated": S}}, …
      ],
         R = [[xl, yl, xr, yr, hidden] | null, …]     # cross sections of the strip of road that the body sweeps, near to far in time;
             # neighbours join to quads, null is a gap; hidden = 1 where another road user stands between the camera and the road (0 if
             # not, or if nobody knows where the others are). From the origin at t = 0 to the front bumper at the end.
             # History: from its first row to the rear end of the vehicle at t = 0 (for the rear cameras).
         S = [[t, xl, yl, xr, yr] , …]     # front bumper at each whole second that can be seen, left and right corner on the road
      "bev": {
        "extent": {"x": [-10.0, 50.0], "y": [-10.0, 10.0]}, "grid_m": 5.0,       # multiples of grid_m; everything essential is inside
        "ego": [[x, y] * 4],                          # outline at t = 0
        "expert": T, "planner": T, "rated": T | null, "history": [[x, y], …] | null,
        "areas": [{"kind": "drivable" | "crosswalk" | "lane" | "shoulder" | "sidewalk" | "island" | …, "use": "" | "bike" | "bus" | …,
                   "points": [[x, y], …]}, …],        # closed outlines, those that lie under others first
        "lines": [{"kind": "boundary" | "marking" | "stop_line" | "lane" | …, "colour": "white" | "yellow", "dashed": false,
                   "points": [[x, y], …]}, …],
        "agents": [{"kind": "vehicle" | "pedestrian" | …, "outline": [[x, y] * 4], "front": [[x, y], [x, y]],   # the side that leads
                    "parked": false, "velocity": [vx, vy] | null, "future": [[x, y], …] | null,         # as the trajectories, from t = 0
                    "seconds": [[t, x, y], …]}, …],
        "things": [{"kind": "cone" | "barrier" | "pole" | …, "closed": true, "points": [[x, y], …]}, …],       # one point for a small thing
        "signals": [{"kind": "traffic_light" | "stop_sign" | …, "state": "red" | "", "points": [[x, y], …]}, …],
        "unknown": ["agents", "map", "static_objects", "signals"]       # layers that nobody looked for (empty ≠ unknown)
      },
         T = {"points": [[x, y] | null, …],           # from t = 0 (the origin), one a step; null where not valid
              "seconds": [[t, x, y], …],              # each whole second from 1 s, for dots and labels
              "end": [[x, y] * 4] | null}             # outline of the vehicle at the last valid state
      "speed": {"t": [0.0, 0.25, …], "expert": [7.4, …], "planner": [7.4, …], "rated": […] | null, "max": 12.0},   # m/s; null: not known
      "table": {"seconds": [0, 1, 2, 3, 4, 5], "expert": [7.4, …], "planner": [7.4, …],      # m/s; shorter horizon, shorter lists
                "end": {"t": 5.0, "ahead_m": 19.06, "left_m": -3.2} | null,    # seen from the expert, along its heading there
                "stops": {"expert": "no" | "yes" | "unclear" | "unknown", "planner": "yes"},
                "stop_at": {"expert": null, "planner": 3.5}}                   # s; 0.0 if it stands from the beginning
    }
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.trajectories.birdseye import BODIES, bird
from core.trajectories.case import Agent, Bools, Camera, Case, Ego, Floats
from core.trajectories.comparison import end_offset, question, speeds, stop
from core.trajectories.displacement import best_rated
from core.trajectories.footprint import Path, history_path, outline, path_of, swept
from core.trajectories.projection import Section, project, strip, why_not

HEIGHTS = {"truck": 3.0, "bus": 3.1, "pedestrian": 1.7, "bicycle": 1.6, "motorcycle": 1.4}
"""How tall road users are taken to be when it is asked what they hide, m; 1.5 otherwise."""
FAR_PX = 50_000.0
"""Ends of sections beyond this are cut off: a canvas cannot draw them, and nobody sees them."""


def case_view(case: Case) -> dict[str, Any]:
    """The payload of a case, as the module says; every value is one that JSON has."""
    best = best_rated(case)
    expert, planner = path_of(case.expert, case.dt_s), path_of(case.planner, case.dt_s)
    rated = None if best is None else path_of(best, case.dt_s)
    ways = {"expert": expert, "planner": planner, "rated": rated}
    past = None if case.history is None else history_path(case.history, case.dt_s)
    strips = {name: [] if way is None else _strips(way, case.ego) for name, way in ways.items()}
    strips["history"] = [] if past is None else _strips(past, case.ego, past=True)
    return {
        "scene": case.scene_id,
        "command": case.command,
        "dataset": str(case.source.get("dataset", "")),
        "licence": case.licence,
        "synthetic": case.synthetic,
        "horizon_s": round(case.horizon_s, 4),
        "dt_s": round(case.dt_s, 4),
        "question": question(case),
        "cameras": [_camera(c, case, ways, strips) for c in case.cameras],
        "bev": bird(case, best),
        "speed": _speed(case, ways),
        "table": _table(case, expert, planner),
    }


def _strips(path: Path, ego: Ego, *, past: bool = False) -> list[tuple[Floats, Floats]]:
    """Edges of the swept strips, one for each stretch of valid poses; only the first one begins at t = 0."""
    out = []
    for run in path.runs():
        moves = run.stop - run.start > 1
        if moves or run.start == 0:
            left, right = swept(path.points[run], path.yaw[run], ego, past=past)
            if len(left) > 1:
                out.append((left, right))
    return out


def _camera(camera: Camera, case: Case, ways: dict[str, Path | None], strips: dict[str, list[tuple[Floats, Floats]]]) -> dict[str, Any]:
    overlay = why_not(camera)
    blind = bool(overlay)
    return {
        "name": camera.name,
        "title": camera.name.replace("_", " ").capitalize(),
        "width": camera.width,
        "height": camera.height,
        "frames": [{"t": round(f.t_s, 3) + 0.0, "path": f.path} for f in camera.frames],
        "overlay": overlay,
        "ribbons": {name: [] if blind else _ribbon(edges, camera, case) for name, edges in strips.items()},
        "seconds": {name: [] if blind or way is None else _marks(way, camera, case.ego) for name, way in ways.items()},
    }


def _road(points: Floats, camera: Camera) -> Floats:
    return np.column_stack([points, np.full(len(points), camera.ground_z_m)])


def _ribbon(edges: list[tuple[Floats, Floats]], camera: Camera, case: Case) -> list[list[float] | None]:
    out: list[list[float] | None] = []
    for left, right in edges:
        middle = _road((left + right) / 2, camera)
        behind = hidden(middle, camera, case.agents.items if case.agents else ())
        found = strip(_road(left, camera), _road(right, camera), camera)
        part: list[list[float] | None] = []
        for (place, section), kept in zip(found, _in_image([s for _, s in found], camera), strict=True):
            if section is not None and kept:
                part.append([*(round(v, 1) for v in section), int(behind[min(round(place), len(behind) - 1)])])
            elif part and part[-1] is not None:
                part.append(None)
        if part and part[-1] is None:
            part.pop()
        out += [None, *part] if out and part else part
    return out


def _in_image(sections: list[Section], camera: Camera) -> list[bool]:
    """Which sections bound a quad that touches the image; those that a canvas could not draw are out in any case."""
    box = [None if s is None else (min(s[::2]), min(s[1::2]), max(s[::2]), max(s[1::2])) for s in sections]
    width, height = camera.width or np.inf, camera.height or np.inf
    out = [False] * len(box)
    for i in range(len(box) - 1):
        a, b = box[i], box[i + 1]
        if a is None or b is None or max(map(abs, (*a, *b))) > FAR_PX:
            continue
        if min(a[0], b[0]) < width and max(a[2], b[2]) > 0 and min(a[1], b[1]) < height and max(a[3], b[3]) > 0:
            out[i] = out[i + 1] = True
    return out


def _marks(path: Path, camera: Camera, ego: Ego) -> list[list[float]]:
    out = []
    for t in range(1, int(path.t[-1] + 1e-6) + 1):
        pose = path.at(float(t))
        if pose is None:
            continue
        pixels, seen = project(_road(outline(*pose, ego)[[0, 3]], camera), camera)
        if seen.all() and np.abs(pixels).max() <= FAR_PX:
            out.append([float(t), *(round(float(v), 1) for v in pixels.ravel())])
    return out


def hidden(points: Floats, camera: Camera, agents: tuple[Agent, ...]) -> Bools:
    """Which points on the road are hidden behind (or under) other road users, who are boxes standing on the road.

    Args:
        points: Shape (N, 3), m.
        camera: With extrinsics.
        agents: Where they are at t = 0; none if not known.
    """
    assert camera.extrinsics is not None  # noqa: S101 (asked before by why_not)
    eye = np.asarray(camera.extrinsics, dtype=np.float64)[:3, 3]
    out = np.zeros(len(points), dtype=np.bool_)
    for a in agents:
        length, width = BODIES.get(a.cls, (4.5, 1.9))
        c, s = np.cos(a.yaw), np.sin(a.yaw)
        turn = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
        foot = np.array([a.x, a.y, camera.ground_z_m])
        start, ray = turn @ (eye - foot), (points - eye) @ turn.T
        tall = HEIGHTS.get(a.cls, 1.5)
        low = np.array([-(a.length_m or length) / 2, -(a.width_m or width) / 2, -1e-3])
        high = np.array([-low[0], -low[1], tall])
        if ((start > low) & (start < high)).all():
            continue  # the camera would be inside of it: it is the ego vehicle itself or bad data
        with np.errstate(divide="ignore", invalid="ignore"):
            near, far = (low - start) / ray, (high - start) / ray
        enter = np.nanmax(np.minimum(near, far), axis=1)
        leave = np.nanmin(np.maximum(near, far), axis=1)
        out |= (enter <= leave) & (enter > 0) & (enter <= 1.0)
    return out


def _list(values: Floats) -> list[float | None]:
    return [None if np.isnan(v) else round(float(v), 2) + 0.0 for v in values]


def _speed(case: Case, ways: dict[str, Path | None]) -> dict[str, Any]:
    by = {name: None if way is None else speeds(way, case.ego.speed_mps) for name, way in ways.items()}
    top = max(float(np.nanmax(v)) for v in by.values() if v is not None)
    n = len(case.expert) + 1
    return {
        "t": [round(k * case.dt_s, 4) for k in range(n)],
        **{name: None if v is None else _list(np.r_[v, np.full(max(0, n - len(v)), np.nan)][:n]) for name, v in by.items()},
        "max": float(max(4.0, np.ceil(top / 4) * 4)),
    }


def _table(case: Case, expert: Path, planner: Path) -> dict[str, Any]:
    whole = [float(t) for t in range(int(case.horizon_s + 1e-6) + 1)]
    offset = end_offset(expert, planner)
    stops = {"expert": stop(expert), "planner": stop(planner)}
    return {
        "seconds": [int(t) for t in whole],
        "expert": _list(_at(whole, expert, case.ego.speed_mps)),
        "planner": _list(_at(whole, planner, case.ego.speed_mps)),
        "end": None
        if offset is None
        else {"t": round(offset.t, 4), "ahead_m": round(offset.ahead_m, 2) + 0.0, "left_m": round(offset.left_m, 2) + 0.0},
        "stops": {name: found for name, (found, _) in stops.items()},
        "stop_at": {name: None if at is None else round(at, 2) for name, (_, at) in stops.items()},
    }


def _at(times: list[float], path: Path, speed_mps: float) -> Floats:
    """Speeds at times, between rows by straight lines; NaN where a row beside it is not known."""
    values = speeds(path, speed_mps)
    out = np.full(len(times), np.nan)
    for i, t in enumerate(times):
        k = min(int(np.searchsorted(path.t, t - 1e-6)), len(path.t) - 1)
        if abs(path.t[k] - t) <= 1e-6:
            out[i] = values[k]
        elif path.t[k] > t:
            w = (t - path.t[k - 1]) / (path.t[k] - path.t[k - 1])
            out[i] = values[k - 1] + w * (values[k] - values[k - 1])
    return out
