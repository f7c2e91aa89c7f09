"""Reading CommonRoad's XML, format 2020a: states, shapes and trajectories in the frame of the file.

Names are those of the public schema (XML_commonRoad_XSD.xsd) and of the solutions that `commonroad-io` writes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

import numpy as np

from core.trajectories.case import Floats, Trajectory

LARGEST = 1e7
"""Nothing in a scenario has a larger coordinate; UTM stays below it."""


class ContentError(ValueError):
    """An element is not what the format says; the text names it."""


@dataclass(frozen=True)
class State:
    """Where something is at one step.

    Attributes:
        step: Number of the time step.
        x: m in the frame of the file.
        y: m.
        yaw: rad, None if it is not there.
        speed: m/s along the heading, None if it is not there.
        accel: m/s², None if it is not there.
        yaw_rate: rad/s, None if it is not there.
        exact: False where the file gives an area or an interval: its middle was taken.
    """

    step: int
    x: float
    y: float
    yaw: float | None
    speed: float | None
    accel: float | None = None
    yaw_rate: float | None = None
    exact: bool = True


@dataclass(frozen=True)
class EgoFrame:
    """The frame of a vehicle, given in the frame of the file."""

    x: float
    y: float
    yaw: float

    def points(self, points: Floats) -> Floats:
        """Positions of shape (N, 2) as the vehicle sees them: x forward, y left."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        out: Floats = (points - [self.x, self.y]) @ np.array([[c, -s], [s, c]])
        return out

    def angle(self, yaw: float) -> float:
        """A heading as the vehicle sees it, between -π and π."""
        return math.remainder(yaw - self.yaw, 2 * math.pi)

    def trajectory(self, states: list[State], steps: int) -> tuple[Trajectory, int]:
        """States as a trajectory of the steps 1 to `steps`, and how many of them are missing.

        A missing step is not valid and stands where its predecessor stands.
        """
        by_step = {s.step: s for s in states}
        points, valid, yaws = np.zeros((steps, 2)), np.zeros(steps, dtype=np.bool_), np.zeros(steps)
        last, last_yaw = np.zeros(2), 0.0
        for k in range(steps):
            state = by_step.get(k + 1)
            if state is not None:
                last = self.points(np.array([[state.x, state.y]]))[0]
                last_yaw = self.angle(state.yaw) if state.yaw is not None else last_yaw
                valid[k] = True
            points[k], yaws[k] = last, last_yaw
        with_yaw = all(s.yaw is not None for s in states)
        return Trajectory(points, valid, yaws if with_yaw else None), int((~valid).sum())


@dataclass(frozen=True)
class Body:
    """Outline of an obstacle in its own frame.

    Attributes:
        length: m along its heading.
        width: m across.
        outline: Shape (N, 2), closed.
        offset: Middle of the outline, m.
        turn: Turn of the box against the heading, rad.
    """

    length: float
    width: float
    outline: Floats = field(compare=False)
    offset: tuple[float, float] = (0.0, 0.0)
    turn: float = 0.0


def number(parent: Element, path: str) -> float:
    """The number of an element.

    Raises:
        ContentError: It is not there, or is no finite number.
    """
    text = parent.findtext(path)
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise ContentError(f'<{parent.tag}> needs a number in <{path.rsplit("/", 1)[-1]}>, got "{(text or "nothing").strip()[:40]}"')
    return value


def value(parent: Element, name: str) -> tuple[float | None, bool]:
    """An exact value or the middle of an interval, and whether it is exact; None if it is not there."""
    found = parent.find(name)
    if found is None:
        return None, True
    if found.find("exact") is not None:
        return number(found, "exact"), True
    if found.find("intervalStart") is not None:
        return (number(found, "intervalStart") + number(found, "intervalEnd")) / 2, False
    return number(parent, name), True


def points_of(parent: Element) -> Floats:
    """The points of an element, shape (N, 2)."""
    return np.array([[number(p, "x"), number(p, "y")] for p in parent.findall("point")]).reshape(-1, 2)


def state_of(e: Element) -> State:
    """A state of a scenario.

    Raises:
        ContentError: Position or time is missing.
    """
    position = e.find("position")
    if position is None:
        raise ContentError(f"<{e.tag}> has no <position>")
    point = position.find("point")
    if point is not None:
        x, y, exact = number(point, "x"), number(point, "y"), True
    else:
        area = body_of(position)
        if area is None:
            raise ContentError(f"<{e.tag}> has a <position> without point, rectangle, circle or polygon")
        (x, y), exact = area.offset, False
    (yaw, a), (speed, b), (accel, _), (rate, _) = (value(e, n) for n in ("orientation", "velocity", "acceleration", "yawRate"))
    step, c = value(e, "time")
    if step is None:
        raise ContentError(f"<{e.tag}> has no <time>")
    return State(round(step), x, y, yaw, speed, accel, rate, exact and a and b and c)


def solution_state(e: Element) -> State:
    """A state of a solution: pmState, ksState, stState or mbState."""
    step = round(number(e, "time"))
    x, y = number(e, "x"), number(e, "y")
    if e.tag == "pmState":
        vx, vy = number(e, "xVelocity"), number(e, "yVelocity")
        return State(step, x, y, math.atan2(vy, vx) if math.hypot(vx, vy) > 0.1 else None, math.hypot(vx, vy))
    return State(step, x, y, number(e, "orientation"), number(e, "velocity"))


def body_of(parent: Element | None) -> Body | None:
    """The outline of a shape; of several parts the box around all of them. None if there is none."""
    if parent is None:
        return None
    parts: list[Floats] = []
    for e in parent:
        if e.tag == "rectangle":
            parts.append(_rectangle(e))
        elif e.tag == "circle":
            angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
            parts.append(_center(e) + number(e, "radius") * np.column_stack([np.cos(angle), np.sin(angle)]))
        elif e.tag == "polygon":
            parts.append(points_of(e))
    if not parts or not all(len(p) for p in parts):
        return None
    rectangle = parent.find("rectangle")
    if len(parts) == 1 and rectangle is not None:
        middle, turn = _center(rectangle), _turn(rectangle)
        return Body(number(rectangle, "length"), number(rectangle, "width"), parts[0], (float(middle[0]), float(middle[1])), turn)
    points = np.vstack(parts)
    low, high = points.min(axis=0), points.max(axis=0)
    box = np.array([low, [high[0], low[1]], high, [low[0], high[1]]])
    middle = (low + high) / 2
    outline = parts[0] if len(parts) == 1 else box
    return Body(float(high[0] - low[0]), float(high[1] - low[1]), outline, (float(middle[0]), float(middle[1])))


def _center(e: Element) -> Floats:
    center = e.find("center")
    return np.zeros(2) if center is None else np.array([number(center, "x"), number(center, "y")])


def _turn(e: Element) -> float:
    return number(e, "orientation") if e.find("orientation") is not None else 0.0


def _rectangle(e: Element) -> Floats:
    half = np.array([number(e, "length"), number(e, "width")]) / 2
    c, s = math.cos(_turn(e)), math.sin(_turn(e))
    corners = half * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    out: Floats = _center(e) + corners @ np.array([[c, s], [-s, c]])
    return out
