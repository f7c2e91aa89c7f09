"""The vector map beside an Argoverse 2 scenario: drivable areas, lanes with their markings, crosswalks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import InputError
from core.trajectories.case import Coverage, Floats, Layer, Shape, Trajectory
from core.trajectories.importers.points_table import text_of

RANGE_M = 100.0
"""Pieces farther than this from the ego's way are left out."""
LANE_TYPES = {"VEHICLE": "vehicle", "BIKE": "bike", "BUS": "bus"}


class MapError(Exception):
    """The map cannot be used; the text says why."""


def map_layer(path: Path, expert: Trajectory, place: Floats, turn: Floats) -> tuple[Layer, int, int]:
    """The map around the way of the ego.

    Args:
        path: The JSON file.
        expert: Where the ego goes, in its frame.
        place: Position of the ego at t = 0 in the city, shape (2,).
        turn: City to ego, shape (2, 2).

    Returns:
        The layer, how many pieces lie too far away, and how many are broken.

    Raises:
        MapError: The file is no map.
    """
    try:
        content = json.loads(text_of(path))
    except (InputError, ValueError, RecursionError) as e:
        raise MapError(f'"{path.name}" cannot be read: {e}') from e
    if not isinstance(content, Mapping) or not any(k in content for k in ("lane_segments", "drivable_areas", "pedestrian_crossings")):
        raise MapError(f'"{path.name}" holds neither lanes nor areas')

    def local(points: Any) -> Floats:
        p = np.array([[float(q["x"]), float(q["y"])] for q in points])
        if p.ndim != 2 or len(p) < 2 or not np.isfinite(p).all() or np.abs(p - place).max() > 1e5:
            raise ValueError("points")
        result: Floats = (p - place) @ turn.T
        return result

    readers: dict[str, Callable[[Mapping[str, Any], Callable[[Any], Floats]], list[Shape]]] = {
        "drivable_areas": _area,
        "pedestrian_crossings": _crossing,
        "lane_segments": _lane,
    }
    way = np.vstack([np.zeros((1, 2)), expert.points[expert.valid]])
    low, high = way.min(axis=0) - RANGE_M, way.max(axis=0) + RANGE_M
    shapes: list[Shape] = []
    outside = broken = 0
    for key, reader in readers.items():
        for piece in _pieces(content.get(key)):
            try:
                found = reader(piece, local)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
                broken += 1
                continue
            near = any((s.points.min(axis=0) <= high).all() and (s.points.max(axis=0) >= low).all() for s in found)
            if near:
                shapes += found
            else:
                outside += 1
    return Layer(tuple(shapes), Coverage("map of the data set", range_m=RANGE_M)), outside, broken


def _pieces(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()


def _area(piece: Mapping[str, Any], local: Callable[[Any], Floats]) -> list[Shape]:
    return [Shape("drivable", local(piece["area_boundary"]), True, {}, str(piece.get("id", "")))]


def _crossing(piece: Mapping[str, Any], local: Callable[[Any], Floats]) -> list[Shape]:
    one, two = local(piece["edge1"]), local(piece["edge2"])
    if float(np.hypot(*(one[-1] - two[0]))) > float(np.hypot(*(one[-1] - two[-1]))):
        two = two[::-1]
    return [Shape("crosswalk", np.vstack([one, two]), True, {}, str(piece.get("id", "")))]


def _lane(piece: Mapping[str, Any], local: Callable[[Any], Floats]) -> list[Shape]:
    """The lane as an area, and its markings as lines; the boundaries run in the direction of travel."""
    left, right = local(piece["left_lane_boundary"]), local(piece["right_lane_boundary"])
    key = str(piece.get("id", ""))
    kind = str(piece.get("lane_type", "")).upper()
    centre = local(piece["centerline"]) if piece.get("centerline") else None
    attributes = {
        "lane_type": LANE_TYPES.get(kind, kind.lower()),
        "intersection": bool(piece.get("is_intersection", False)),
        **({} if centre is None else {"centreline": np.round(centre, 2).tolist()}),
        "successors": [str(v) for v in piece.get("successors") or []],
    }
    shapes = [Shape("lane", np.vstack([left, right[::-1]]), True, attributes, key)]
    for side, line in (("left", left), ("right", right)):
        mark = str(piece.get(f"{side}_lane_mark_type") or "NONE").lower()
        if mark not in ("none", "unknown"):
            shapes.append(Shape("marking", line, False, {"marking": mark, "side": side}, f"{key}:{side}"))
    return shapes
