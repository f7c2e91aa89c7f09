"""A case from above, in metres, as JSON values. The form is written down in core/trajectories/view.py."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import Any

import numpy as np

from core.trajectories.case import Agent, Case, Floats, Layer, Shape, Trajectory
from core.trajectories.footprint import Path, corners, ends, history_path, outline, path_of

BEHIND_M, AROUND_M = 10.0, 8.0
"""What is shown at least behind the vehicle and on either side."""
MARGIN_M = 4.0
SEEN_M = 60.0
"""Shapes and agents farther than half of this outside of what is shown are not sent; nobody farther than this widens it."""
MEETS_M = 6.0
"""Who comes this near to a trajectory at the same time is shown from where he is at t = 0."""
UNDER = {"drivable": 0, "sidewalk": 1, "island": 1, "intersection": 2, "shoulder": 3, "lane": 3, "parking": 3, "crosswalk": 4}
"""Which areas lie under which."""
BODIES = {"pedestrian": (0.6, 0.6), "bicycle": (1.8, 0.7), "motorcycle": (2.2, 0.9)}
"""Length and width to draw where the source gives none, m; a car's otherwise."""


def xy(points: Floats) -> list[list[float]]:
    """Points as lists, in centimetres."""
    return [[round(float(x), 2) + 0.0, round(float(y), 2) + 0.0] for x, y in points]


def bird(case: Case, best: Trajectory | None = None) -> dict[str, Any]:
    """The case from above.

    Args:
        case: The case.
        best: Its best rated trajectory, if one is shown.
    """
    expert, planner = path_of(case.expert, case.dt_s), path_of(case.planner, case.dt_s)
    rated = None if best is None else path_of(best, case.dt_s)
    paths = [p for p in (expert, planner, rated) if p is not None]
    shown, step = extent(case, paths)
    return {
        "extent": shown,
        "grid_m": step,
        "ego": xy(outline(np.zeros(2), 0.0, case.ego)),
        "expert": _way(expert, case),
        "planner": _way(planner, case),
        "rated": None if rated is None else _way(rated, case),
        "history": None if case.history is None else _past(case),
        "areas": _areas(case.map, shown),
        "lines": _lines(case.map, shown),
        "agents": [_agent(a, case) for a in (case.agents.items if case.agents else ()) if _near(np.array([[a.x, a.y]]), shown)],
        "things": [_thing(s) for s in (case.static_objects.items if case.static_objects else ()) if _near(s.points, shown)],
        "signals": [_signal(s) for s in _of(case.signals) if _near(s.points, shown)],
        "unknown": [name for name in ("agents", "map", "static_objects", "signals") if getattr(case, name) is None],
    }


def extent(case: Case, paths: Iterable[Path]) -> tuple[dict[str, list[float]], float]:
    """What is shown, m: all valid trajectory points, the vehicle's body, and whom it meets; with the grid, to which it is rounded."""
    rear, front = ends(case.ego)
    body = max(-rear, front)
    p = np.vstack([path.points[path.valid] for path in paths])
    met = [agent for agent in (case.agents.items if case.agents else ()) if any(_meets(agent, path) for path in paths)]
    p = np.vstack([p, *(np.array([[a.x, a.y]]) for a in met)])
    low = np.minimum(p.min(axis=0) - np.array([0.0, MARGIN_M]), np.array([-BEHIND_M, -AROUND_M]))
    high = np.maximum(p.max(axis=0) + np.array([body + MARGIN_M, MARGIN_M]), np.array([2 * BEHIND_M, AROUND_M]))
    step = grid(float(max(high - low)))
    out = np.stack([np.floor(low / step), np.ceil(high / step)], axis=1) * step + 0.0
    return {"x": [float(v) for v in out[0]], "y": [float(v) for v in out[1]]}, step


def _meets(a: Agent, path: Path) -> bool:
    """Whether a moving road user comes near the vehicle on a trajectory, place by place of the same time."""
    if a.future is None or np.hypot(a.x, a.y) > SEEN_M:
        return False
    n = min(len(a.future), len(path.t) - 1)
    both = a.future.valid[:n] & path.valid[1 : n + 1]
    apart = np.hypot(*(a.future.points[:n] - path.points[1 : n + 1]).T)
    return bool((apart[both] < MEETS_M).any())


def grid(longest_m: float) -> float:
    """Distance of grid lines: 5 m for what is met within seconds, then 10, 20, 50, … so that there are at most some twenty."""
    step, factors = 5.0, cycle((2.0, 2.0, 2.5))
    while longest_m > 18 * step:
        step *= next(factors)
    return step


def _way(path: Path, case: Case) -> dict[str, Any]:
    last = int(np.flatnonzero(path.valid)[-1])
    return {
        "points": [p if ok else None for p, ok in zip(xy(path.points), path.valid, strict=True)],
        "seconds": _seconds(path),
        "end": xy(outline(path.points[last], float(path.yaw[last]), case.ego)) if last else None,
    }


def _seconds(path: Path) -> list[list[float]]:
    whole = ((t, path.at(float(t))) for t in range(1, int(path.t[-1] + 1e-6) + 1))
    return [[float(t), *xy(pose[0][None])[0]] for t, pose in whole if pose is not None]


def _past(case: Case) -> list[list[float]]:
    assert case.history is not None  # noqa: S101 (asked by the caller)
    path = history_path(case.history, case.dt_s)
    return xy(path.points[path.valid])


def _near(points: Floats, shown: dict[str, list[float]]) -> bool:
    """Whether the box around points comes near what is shown."""
    low, high = points.min(axis=0), points.max(axis=0)
    x, y = shown["x"], shown["y"]
    far = SEEN_M / 2
    return bool(low[0] <= x[1] + far and high[0] >= x[0] - far and low[1] <= y[1] + far and high[1] >= y[0] - far)


def _of(layer: Layer | None) -> tuple[Shape, ...]:
    return layer.items if layer else ()


def _areas(layer: Layer | None, shown: dict[str, list[float]]) -> list[dict[str, Any]]:
    areas = [s for s in _of(layer) if s.closed and len(s.points) > 2 and _near(s.points, shown)]
    areas.sort(key=lambda s: UNDER.get(s.kind, 3))
    return [{"kind": s.kind, "use": str(s.attributes.get("lane_type", "")), "points": xy(s.points)} for s in areas]


def _lines(layer: Layer | None, shown: dict[str, list[float]]) -> list[dict[str, Any]]:
    out = []
    for s in _of(layer):
        if s.closed or len(s.points) < 2 or not _near(s.points, shown):
            continue
        marking = str(s.attributes.get("marking", "")).lower()
        colour = "yellow" if "yellow" in marking else "white"
        out.append({"kind": s.kind, "colour": colour, "dashed": "dash" in marking, "points": xy(s.points)})
    return out


def _agent(a: Agent, case: Case) -> dict[str, Any]:
    length, width = BODIES.get(a.cls, (4.5, 1.9))
    half = np.array([(a.length_m or length) / 2, (a.width_m or width) / 2])
    place = np.array([a.x, a.y])
    box = corners(place, a.yaw, half * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]))
    future, seconds = None, []
    if a.future is not None:
        points = np.vstack([place, a.future.points])
        valid = np.r_[True, a.future.valid]
        path = Path(np.arange(len(points), dtype=np.float64) * case.dt_s, points, np.zeros(len(points)), valid)
        future, seconds = xy(points[valid]), _seconds(path)
    return {
        "kind": a.cls,
        "outline": xy(box),
        "front": xy(box[[0, 3]]),
        "parked": "parked" in a.attributes,
        "velocity": None if a.velocity is None else [round(float(v), 2) + 0.0 for v in a.velocity],
        "future": future,
        "seconds": seconds,
    }


def _thing(s: Shape) -> dict[str, Any]:
    return {"kind": s.kind, "closed": s.closed, "points": xy(s.points)}


def _signal(s: Shape) -> dict[str, Any]:
    return {"kind": s.kind, "state": str(s.attributes.get("state", "")), "points": xy(s.points)}
