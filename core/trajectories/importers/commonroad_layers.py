"""Lanelets, signs, lights and obstacles of a CommonRoad scenario as layers of a case, in the frame of the ego vehicle."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import cycle
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from core.trajectories.case import Agent, Agents, Coverage, Floats, Layer, Shape
from core.trajectories.importers.commonroad_xml import Body, ContentError, EgoFrame, State, body_of, number, points_of, state_of

RANGE_M = 100.0
"""What lies farther than this from the expert's way, along x or y, is left out."""
SOURCE = Coverage("CommonRoad scenario", range_m=RANGE_M)
"""The scenario is the whole world of its planning problem: what it does not hold is not there."""

CLASSES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "car": ("vehicle", ()),
    "priorityVehicle": ("vehicle", ("priority",)),
    "parkedVehicle": ("vehicle", ("parked",)),
    "truck": ("truck", ()),
    "bus": ("bus", ()),
    "motorcycle": ("motorcycle", ()),
    "bicycle": ("bicycle", ()),
    "pedestrian": ("pedestrian", ()),
}
"""Class and attributes by the type in the file; other types keep their word."""
KINDS = {"constructionZone": "construction_zone", "roadBoundary": "barrier", "pillar": "pole", "median_strip": "island"}
LANE_TYPES = {"busLane": "bus", "bicycleLane": "bike", "busStop": "bus_stop"}
AREAS = {"crosswalk": "crosswalk", "sidewalk": "sidewalk"}
FAR = f"things farther than {RANGE_M:g} m from the expert's way were left out"
SIGNAL_S = 5.0
"""Seconds for which the changes of a light are kept."""
SPEED_LIMITS = {"274", "R2-1"}
"""Signs of the maximum speed in Germany and the USA; their value is in m/s (CommonRoad documentation, traffic signs)."""


def near(points: Floats, way: Floats) -> bool:
    """Whether the box around points comes near the box around a way; both of shape (N, 2)."""
    low, high = way.min(axis=0) - RANGE_M, way.max(axis=0) + RANGE_M
    return bool((points.max(axis=0) >= low).all() and (points.min(axis=0) <= high).all())


def road_network(root: Element, frame: EgoFrame, way: Floats, notes: Counter[str]) -> tuple[Layer, Layer]:
    """Map and signals of a scenario around the way of the expert, given in the frame of the ego vehicle, shape (N, 2)."""
    signs = {e.get("id", ""): e for e in root.findall("trafficSign")}
    lights = {e.get("id", ""): e for e in root.findall("trafficLight")}
    ends: dict[str, Floats] = {}
    shapes: list[Shape] = []
    lines: list[Shape] = []
    for e in _each(root, "lanelet", notes):
        left, right = (frame.points(points_of(_child(e, side))) for side in ("leftBound", "rightBound"))
        if len(left) < 2 or len(right) < 2:
            notes["lanelets with a bound of fewer than two points were left out"] += 1
            continue
        end = np.array([left[-1], right[-1]])
        for ref in e.findall("trafficLightRef") + e.findall("trafficSignRef"):
            ends.setdefault(ref.get("ref", ""), end)
        if not near(np.vstack([left, right]), way):
            notes[FAR] += 1
            continue
        shapes.append(_lanelet(e, left, right, signs))
        lines += [_bound(e, side, points) for side, points in (("leftBound", left), ("rightBound", right))]
        stop = e.find("stopLine")
        if stop is not None:
            own = frame.points(points_of(stop))
            lines.append(Shape("stop_line", own if len(own) == 2 else end, attributes={"marking": stop.findtext("lineMarking", "")}))
            for ref in stop.findall("trafficLightRef") + stop.findall("trafficSignRef"):
                ends.setdefault(ref.get("ref", ""), end)
    step = float(root.get("timeStepSize", "0"))
    signals = [_signal(frame, i, e, ends, notes, lambda e: _light(e, step)) for i, e in lights.items()]
    signals += [_signal(frame, i, e, ends, notes, _sign) for i, e in signs.items()]
    placed = [s for s in signals if s]
    close = tuple(s for s in placed if near(s.points, way))
    notes[FAR] += len(placed) - len(close)
    return Layer((*shapes, *lines), SOURCE), Layer(close, SOURCE)


def _each(root: Element, tag: str, notes: Counter[str]) -> list[Element]:
    found = root.findall(tag)
    ids = Counter(e.get("id", "") for e in found)
    if any(n > 1 for n in ids.values()):
        notes[f"elements <{tag}> have an id that is there twice"] += sum(n - 1 for n in ids.values())
    return found


def _child(e: Element, tag: str) -> Element:
    found = e.find(tag)
    if found is None:
        raise ContentError(f'<{e.tag} id="{e.get("id", "")}"> has no <{tag}>')
    return found


def _lanelet(e: Element, left: Floats, right: Floats, signs: Mapping[str, Element]) -> Shape:
    types = [t.text or "" for t in e.findall("laneletType")]
    attributes: dict[str, Any] = {"types": types}
    use = next((LANE_TYPES[t] for t in types if t in LANE_TYPES), "")
    if use:
        attributes["lane_type"] = use
    users = [t.text or "" for t in e.findall("userOneWay")], [t.text or "" for t in e.findall("userBidirectional")]
    attributes.update({k: v for k, v in zip(("one_way", "both_ways"), users, strict=True) if v})
    limits = [_limit(signs[r.get("ref", "")]) for r in e.findall("trafficSignRef") if r.get("ref", "") in signs]
    if any(x is not None for x in limits):
        attributes["speed_limit_mps"] = min(x for x in limits if x is not None)
    kind = next((AREAS[t] for t in types if t in AREAS), "lane")
    return Shape(kind, np.vstack([left, right[::-1]]), True, attributes, e.get("id", ""))


def _limit(sign: Element) -> float | None:
    """The speed limit of a sign in m/s, None if it has none."""
    for e in sign.findall("trafficSignElement"):
        if (e.findtext("trafficSignID") or "").strip() in SPEED_LIMITS and e.find("additionalValue") is not None:
            return number(e, "additionalValue")
    return None


def _bound(e: Element, side: str, points: Floats) -> Shape:
    marking = (_child(e, side).findtext("lineMarking") or "").strip()
    painted = marking not in ("", "no_marking", "unknown")
    return Shape("marking" if painted else "boundary", points, attributes={"marking": marking} if painted else {}, id=e.get("id", ""))


def _signal(
    frame: EgoFrame,
    i: str,
    e: Element,
    ends: Mapping[str, Floats],
    notes: Counter[str],
    what: Callable[[Element], tuple[str, dict[str, Any]]],
) -> Shape | None:
    """A sign or a light at its own place, or at the end of the first lanelet that names it."""
    position = e.find("position/point")
    if position is not None:
        points = frame.points(np.array([[number(position, "x"), number(position, "y")]]))
    elif i in ends:
        points = ends[i].mean(axis=0, keepdims=True)
    else:
        notes["signs or lights without a place were left out"] += 1
        return None
    kind, attributes = what(e)
    return Shape(kind, points, attributes=attributes, id=i)


def _light(e: Element, step: float) -> tuple[str, dict[str, Any]]:
    direction = {"direction": e.findtext("direction", "all")}
    if (e.findtext("active") or "true").strip() == "false":
        return "traffic_light", {"state": "inactive", **direction}
    plan = e.find("cycle")
    phases = [] if plan is None else [(number(c, "duration"), (c.findtext("color") or "").strip()) for c in plan.findall("cycleElement")]
    total = sum(d for d, _ in phases)
    if plan is None or total <= 0 or any(d < 1 for d, _ in phases):
        return "traffic_light", direction
    # The first phase begins at the offset (commonroad-io, TrafficLightCycle.get_state_at_time_step).
    at = (-(number(plan, "timeOffset") if plan.find("timeOffset") is not None else 0.0)) % total
    changes: list[list[Any]] = []
    begin = 0.0
    for duration, colour in cycle(phases):
        if (begin - at) * step >= SIGNAL_S:
            break
        if begin + duration > at:
            changes.append([round(max(begin - at, 0.0) * step, 3), colour])
        begin += duration
    return "traffic_light", {"state": changes[0][1], "changes": changes, **direction}


def _sign(e: Element) -> tuple[str, dict[str, Any]]:
    signs = [(s.findtext("trafficSignID") or "").strip() for s in e.findall("trafficSignElement")]
    kind = "stop_sign" if any(s in ("206", "R1-1") for s in signs) else "yield_sign" if "205" in signs else "traffic_sign"
    attributes: dict[str, Any] = {"signs": signs}
    limit = _limit(e)
    if limit is not None:
        attributes["speed_limit_mps"] = limit
    return kind, attributes


def obstacles(root: Element, frame: EgoFrame, way: Floats, steps: int, left_out: str, notes: Counter[str]) -> tuple[Agents, Layer]:
    """Road users and things of a scenario.

    Args:
        root: The scenario.
        frame: Of the ego vehicle.
        way: Of the expert, in that frame, shape (N, 2).
        steps: Steps of the trajectories.
        left_out: Id of the obstacle that plays the ego vehicle, "" for none.
        notes: What could not be used, counted.
    """
    agents: list[Agent] = []
    things: list[Shape] = []
    for e in [*_each(root, "staticObstacle", notes), *_each(root, "dynamicObstacle", notes)]:
        i, kind = e.get("id", ""), (e.findtext("type") or "unknown").strip()
        if i == left_out:
            continue
        body, start = body_of(e.find("shape")), state_of(_child(e, "initialState"))
        if body is None:
            notes["obstacles without a shape were left out"] += 1
        elif start.step != 0:
            notes["obstacles that are not there at t = 0 were left out"] += 1
        elif e.tag == "staticObstacle" and kind not in CLASSES:
            things.append(_thing(i, kind, body, start, frame))
        else:
            agents.append(_agent(e, i, kind, body, start, frame, steps, notes))
    things += [_building(e, frame) for e in root.findall("environmentObstacle")]
    unseen = len(root.findall("phantomObstacle"))
    if unseen:
        notes["phantom obstacles, which nobody saw, were left out"] += unseen
    close = tuple(a for a in agents if near(np.array([[a.x, a.y]]), way))
    beside = tuple(s for s in things if near(s.points, way))
    notes[FAR] += len(agents) - len(close) + len(things) - len(beside)
    return Agents(close, SOURCE), Layer(beside, SOURCE)


def _place(body: Body, start: State, frame: EgoFrame) -> tuple[float, float, float]:
    """Middle and heading of a box: what moves is the reference point, the box may lie beside it."""
    yaw = start.yaw or 0.0
    c, s = math.cos(yaw), math.sin(yaw)
    ox, oy = body.offset
    x, y = frame.points(np.array([[start.x + c * ox - s * oy, start.y + s * ox + c * oy]]))[0]
    return float(x), float(y), frame.angle(yaw + body.turn)


def _agent(e: Element, i: str, kind: str, body: Body, start: State, frame: EgoFrame, steps: int, notes: Counter[str]) -> Agent:
    cls, attributes = CLASSES.get(kind, (kind, ()))
    x, y, yaw = _place(body, start, frame)
    velocity: tuple[float, float] | None = (0.0, 0.0) if e.tag == "staticObstacle" else None
    future = None
    if e.tag == "dynamicObstacle":
        if start.speed is not None and start.yaw is not None:
            heading = frame.angle(start.yaw)
            velocity = (start.speed * math.cos(heading), start.speed * math.sin(heading))
        states = [state_of(s) for s in e.findall("trajectory/state")]
        if states:
            future = frame.trajectory(states, steps)[0]
        else:
            notes["moving obstacles have areas instead of a trajectory: their future is not known"] += 1
    return Agent(i, cls, x, y, body.length, body.width, yaw, velocity, future, attributes)


def _thing(i: str, kind: str, body: Body, start: State, frame: EgoFrame) -> Shape:
    yaw = start.yaw or 0.0
    c, s = math.cos(yaw), math.sin(yaw)
    outline = body.outline @ np.array([[c, s], [-s, c]]) + [start.x, start.y]
    return Shape(KINDS.get(kind, "obstacle" if kind == "unknown" else kind), frame.points(outline), True, {"type": kind}, i)


def _building(e: Element, frame: EgoFrame) -> Shape:
    body = body_of(e.find("shape"))
    if body is None:
        raise ContentError(f'<environmentObstacle id="{e.get("id", "")}"> has no shape')
    kind = (e.findtext("type") or "unknown").strip()
    return Shape(kind if kind != "unknown" else "obstacle", frame.points(body.outline), True, {"type": kind}, e.get("id", ""))
