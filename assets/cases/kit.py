"""What scenes are made of: lines along which roads and vehicles run, things on and beside the road, and how somebody drives.

World frame: the ego frame at t = 0 (x forward, y left, metres, rear axle at the origin).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Knots = Sequence[tuple[float, float]]
Colour = tuple[int, int, int]
DT, STEPS, PAST = 0.25, 20, 5
"""4 Hz, 5 s ahead, 1 s back (five frames)."""


@dataclass(frozen=True)
class Line:
    """A way made of straights and arcs.

    Attributes:
        start: x, y and heading where s = 0.
        parts: (length, curvature) one after the other; the last one goes on for ever, and the first one backwards too.
    """

    start: tuple[float, float, float] = (0.0, 0.0, 0.0)
    parts: tuple[tuple[float, float], ...] = ((1.0, 0.0),)

    def place(self, s: float, n: float = 0.0) -> tuple[float, float, float]:
        """x, y and heading at arc length s, n metres to the left."""
        x, y, h = self.start
        for i, (length, k) in enumerate(self.parts):
            last = i == len(self.parts) - 1
            step = s if last or s < length else length
            if abs(k) < 1e-9 or s < 0:
                x, y = x + step * math.cos(h), y + step * math.sin(h)
            else:
                x += (math.sin(h + k * step) - math.sin(h)) / k
                y -= (math.cos(h + k * step) - math.cos(h)) / k
                h += k * step
            s -= step
            if step < length or last or s <= 0:
                break
        return x - n * math.sin(h), y + n * math.cos(h), h

    def points(self, s0: float, s1: float, n: float = 0.0) -> np.ndarray:
        """Points of a parallel line, shape (N, 2); few where it is straight."""
        count = 2 if all(abs(k) < 1e-9 for _, k in self.parts) else max(2, int(abs(s1 - s0) / 2.5) + 1)
        return np.array([self.place(s, n)[:2] for s in np.linspace(s0, s1, count)])


AHEAD = Line()


def turn(start: float, radius: float, angle_deg: float) -> Line:
    """Straight on for `start` m, then an arc to the left (radius > 0) or right (radius < 0), then straight on."""
    return Line(parts=((start, 0.0), (abs(radius * math.radians(angle_deg)), 1 / radius), (1.0, 0.0)))


def bend(start: float, radius: float) -> Line:
    """Straight on for `start` m, then an arc without an end."""
    return Line(parts=((start, 0.0), (1.0, 1 / radius)))


def travelled(speed: Knots, t: float) -> float:
    """Distance from t = 0 to t (negative before), under speeds that change evenly between their knots; m."""
    times, values = np.array([k[0] for k in speed], float), np.array([k[1] for k in speed], float)
    low, high = min(t, 0.0), max(t, 0.0)
    grid = np.unique(np.concatenate([[low, high], times[(times > low) & (times < high)]]))
    v = np.interp(grid, times, values)
    return math.copysign(float(((v[1:] + v[:-1]) / 2 * np.diff(grid)).sum()), t) if len(grid) > 1 else 0.0


def eased(knots: Knots, s: float) -> float:
    """A value that goes smoothly from knot to knot and is held outside of them."""
    if s <= knots[0][0]:
        return knots[0][1]
    for (s0, a), (s1, b) in itertools.pairwise(knots):
        if s <= s1:
            u = (s - s0) / (s1 - s0)
            return a + (b - a) * u * u * u * (10 + u * (6 * u - 15))
    return knots[-1][1]


def drive(speed: Knots, side: Knots = ((0.0, 0.0),), line: Line = AHEAD, steps: int = STEPS, dt: float = DT) -> np.ndarray:
    """Where somebody is after each step, shape (steps, 2).

    Args:
        speed: (time, m/s), even changes in between.
        side: (arc length, metres to the left of the line), smooth in between.
        line: What is followed.
        steps: How many.
        dt: How long each, s.
    """
    way = [travelled(speed, (k + 1) * dt) for k in range(steps)]
    return np.array([line.place(s, eased(side, s))[:2] for s in way])


def back(speed: Knots) -> np.ndarray:
    """Where the ego vehicle was, shape (PAST, 2); the last row is t = 0."""
    return np.array([[travelled(speed, (k - PAST + 1) * DT), 0.0] for k in range(PAST)])


def wander(points: np.ndarray, seed: int, metres: float) -> np.ndarray:
    """The same way with a slow, small error to the side and along, as two drives of one plan differ."""
    rng = np.random.default_rng(seed)
    t = (np.arange(len(points)) + 1) / len(points)
    noise = sum(rng.normal(0, 1, 2)[None] * np.sin(np.pi * k * t / 2)[:, None] / k for k in (1, 2, 3))
    return points + noise / np.abs(noise).max() * metres


@dataclass(frozen=True, eq=False)
class Area:
    """A closed outline on the ground: what it is made of, and what the map calls it ("" if the map does not know it)."""

    points: np.ndarray
    material: str
    kind: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Paint:
    """A line on the ground.

    Attributes:
        points: Shape (N, 2).
        colour: "white" or "yellow".
        width: m.
        dash: (painted, free) m; None if it is solid.
        kind: Of the map.
        double: Two lines beside each other.
    """

    points: np.ndarray
    colour: str = "white"
    width: float = 0.13
    dash: tuple[float, float] | None = None
    kind: str = "marking"
    double: bool = False

    @property
    def marking(self) -> str:
        """Its name in the map."""
        return f"{'dashed' if self.dash else 'double' if self.double else 'solid'}_{self.colour}"


@dataclass(frozen=True, eq=False)
class Prop:
    """Something that does not move.

    Attributes:
        kind: What is drawn.
        x: Centre.
        y: Centre.
        yaw: Heading, rad.
        size: Length, width, height in m.
        colour: Main colour.
        layer: "static", "signal" or "" for what no layer names (buildings, trees far from the road).
        attributes: For the drawing and the layer.
    """

    kind: str
    x: float
    y: float
    yaw: float = 0.0
    size: tuple[float, float, float] = (0.4, 0.4, 0.8)
    colour: Colour = (150, 150, 150)
    layer: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Actor:
    """A road user.

    Attributes:
        kind: What is drawn: "sedan", "suv", "van", "truck", "bus", "cyclist", "person".
        line: What it follows.
        s: Its place on the line at t = 0.
        speed: (time, m/s), from -1 s to 5 s.
        side: (s, metres to the left of the line).
        colour: Main colour.
        attributes: "parked", "brake" (lamps on), "hazard", "left" (indicator).
    """

    kind: str
    line: Line
    s: float
    speed: Knots
    side: Knots = ((0.0, 0.0),)
    colour: Colour = (150, 150, 150)
    attributes: tuple[str, ...] = ()

    def at(self, t: float) -> tuple[float, float, float]:
        """x, y and heading at a time."""
        s = self.s + travelled(self.speed, t)
        x, y, h = self.line.place(s, eased(self.side, s))
        ahead, behind = eased(self.side, s + 0.1), eased(self.side, s - 0.1)
        return x, y, h + math.atan2(ahead - behind, 0.2)

    def velocity(self, t: float = 0.0) -> tuple[float, float]:
        """m/s over ground."""
        (x0, y0, _), (x1, y1, _) = self.at(t - 0.01), self.at(t + 0.01)
        return (x1 - x0) / 0.02, (y1 - y0) / 0.02


SIZES: dict[str, tuple[str, float, float, float]] = {
    "sedan": ("vehicle", 4.6, 1.84, 1.45),
    "suv": ("vehicle", 4.7, 1.92, 1.72),
    "van": ("vehicle", 5.6, 2.05, 2.45),
    "truck": ("truck", 8.4, 2.5, 3.3),
    "bus": ("bus", 11.8, 2.55, 3.1),
    "cyclist": ("bicycle", 1.8, 0.65, 1.75),
    "person": ("pedestrian", 0.5, 0.6, 1.74),
}
"""Class in the case, length, width and height of each kind of road user."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What one planner would have driven.

    Attributes:
        points: Shape (STEPS, 2).
        label: "Y" additional threat, "N" none, "U" cannot be told.
        why: In a sentence, for those who learn.
        threats: Ids of the taxonomy.
        role: "example", "training", "calibration" or "labelling".
    """

    points: np.ndarray
    label: str
    why: str
    threats: tuple[str, ...] = ()
    role: str = "labelling"


@dataclass(eq=False)
class Scene:
    """One scene with all planners.

    Attributes:
        id: Its name.
        look: Name of a weather and light in `light.LOOKS`.
        title: One sentence about it.
        speed: Of the ego vehicle before t = 0: (time, m/s).
        command: Of the route.
        expert: Shape (STEPS, 2).
        plans: By planner.
        areas: Ground, those beneath first.
        paint: Lines on the ground.
        props: Things.
        actors: Road users.
        cameras: How many of the six there are: 6, 1 (front) or 0.
        rated: (points, score) of made-up ratings.
        seed: Of everything that is drawn at random.
    """

    id: str
    look: str
    title: str
    speed: Knots
    expert: np.ndarray
    command: str = "straight"
    plans: dict[str, Plan] = field(default_factory=dict)
    areas: list[Area] = field(default_factory=list)
    paint: list[Paint] = field(default_factory=list)
    props: list[Prop] = field(default_factory=list)
    actors: list[Actor] = field(default_factory=list)
    cameras: int = 6
    rated: list[tuple[np.ndarray, float]] = field(default_factory=list)
    seed: int = 0
