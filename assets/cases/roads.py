"""Streets, junctions and what lines them. Everything that is painted or built here is also what the map of the case says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from kit import AHEAD, Actor, Area, Colour, Knots, Line, Paint, Prop, Scene

LANE = 3.5
FROM, TO = -66.0, 116.0
Gaps = Sequence[tuple[float, float]]

WALLS: tuple[Colour, ...] = (
    (150, 96, 78),
    (186, 170, 146),
    (128, 132, 138),
    (172, 140, 112),
    (108, 112, 122),
    (196, 190, 178),
    (142, 110, 98),
)
SHOPS: tuple[Colour, ...] = ((58, 92, 82), (120, 48, 44), (52, 70, 110), (170, 130, 60), (70, 66, 62))
CARS: tuple[Colour, ...] = (
    *((150, 40, 42), (46, 74, 122), (206, 208, 212), (62, 66, 72), (120, 126, 132)),
    *((232, 232, 230), (70, 96, 84), (36, 40, 46), (164, 146, 112)),
)
LEAVES: tuple[Colour, ...] = ((78, 112, 56), (92, 124, 60), (66, 100, 58), (104, 126, 70))


def band(line: Line, s0: float, s1: float, n0: float, n1: float, material: str, kind: str = "", **attributes: object) -> Area:
    """The ground between two parallels of a line; n0 is the left one."""
    left, right = line.points(s0, s1, n0), line.points(s0, s1, n1)
    return Area(np.vstack([left, right[::-1]]), material, kind, dict(attributes))


def cut(s0: float, s1: float, gaps: Gaps) -> list[tuple[float, float]]:
    """What is left of a stretch without the gaps."""
    out, start = [], s0
    for a, b in sorted(gaps):
        if a > start:
            out.append((start, min(a, s1)))
        start = max(start, b)
    if start < s1:
        out.append((start, s1))
    return out


class Street:
    """A street along a line: lanes to the right and left of the ego lane, kerbs, walks.

    `right` and `left` name the strips from the ego lane outwards: "lane" (same direction), "opposite", "bike", "parking", "shoulder",
    each with its width in m.
    """

    def __init__(
        self,
        scene: Scene,
        right: Sequence[tuple[str, float]] = (),
        left: Sequence[tuple[str, float]] = (("opposite", LANE),),
        *,
        line: Line = AHEAD,
        span: tuple[float, float] = (FROM, TO),
        gaps: Gaps = (),
        walk: float = 3.2,
        verge: str = "",
        yellow: str = "dashed",
        lane: float = LANE,
        surface: str = "asphalt",
    ) -> None:
        """Lay it out; paint is left out in the gaps."""
        self.scene, self.line, self.span, self.gaps = scene, line, span, gaps
        strips: list[tuple[str, float, float]] = [("lane", lane / 2, -lane / 2)]
        n = -lane / 2
        for use, wide in right:
            strips.append((use, n, n - wide))
            n -= wide
        self.right = n
        n = lane / 2
        for use, wide in left:
            strips.append((use, n + wide, n))
            n += wide
        self.left = n
        self.strips, self.surface, self.walk = strips, surface, walk
        self._outside(walk, verge)
        self._lanes()
        self._marks(yellow)

    def _outside(self, walk: float, verge: str) -> None:
        s0, s1 = self.span
        for side, edge in ((1, self.left), (-1, self.right)):
            n = edge
            if not walk:
                self.scene.areas.append(self._side(s0, s1, n, n + side * 1.6, "gravel"))
                self.scene.paint.append(Paint(self.line.points(s0, s1, n), width=0.0, kind="boundary"))
                continue
            for a, b in cut(s0, s1, self.gaps):
                self.scene.areas.append(self._side(a, b, n, n + side * (walk + (1.4 if verge else 0.0)), "paving", "sidewalk"))
                if verge:
                    self.scene.areas.append(self._side(a, b, n + side * 0.3, n + side * 1.4, verge))
                self.scene.areas.append(self._side(a, b, n, n + side * 0.22, "kerb"))
                self.scene.paint.append(Paint(self.line.points(a, b, n), width=0.0, kind="boundary"))

    def _side(self, a: float, b: float, n0: float, n1: float, material: str, kind: str = "") -> Area:
        return band(self.line, a, b, max(n0, n1), min(n0, n1), material, kind)

    def _lanes(self) -> None:
        s0, s1 = self.span
        # "drivable" first: it lies beneath the lanes that divide it.
        self.scene.areas.append(band(self.line, s0, s1, self.left, self.right, self.surface, "drivable"))
        for use, a, b in self.strips:
            kind = {"lane": "lane", "opposite": "lane", "bike": "lane", "parking": "parking", "shoulder": "shoulder"}[use]
            extra = {"lane_type": "bike"} if use == "bike" else {"direction": "oncoming"} if use == "opposite" else {}
            material = "bike" if use == "bike" else "old_asphalt" if use in ("parking", "shoulder") else self.surface
            for p, q in cut(s0, s1, self.gaps if use == "bike" else ()):
                self.scene.areas.append(band(self.line, p, q, a, b, material, kind, **extra))

    def _marks(self, yellow: str) -> None:
        right = sorted((s for s in self.strips), key=lambda s: -s[1])
        for (use, _, n), (other, _, _) in itertools.pairwise(right):
            pair = {use, other}
            style: dict[str, object]
            if pair == {"lane", "opposite"}:
                if not yellow:
                    continue
                style = {"colour": "yellow", "double": yellow == "double", "dash": (3.0, 4.5) if yellow == "dashed" else None}
            elif pair == {"lane"} or pair == {"opposite"}:
                style = {"dash": (3.0, 6.0)}
            elif "bike" in pair:
                style = {"width": 0.16}
            elif "shoulder" in pair:
                style = {"width": 0.15, "colour": "yellow" if n > 0 and "lane" in pair and self.left < 4.5 else "white"}
            else:
                style = {"width": 0.1}
            for a, b in cut(*self.span, self.gaps):
                self.scene.paint.append(Paint(self.line.points(a, b, n), **style))  # type: ignore[arg-type]
        if not self.walk and not any(s[0] == "shoulder" for s in self.strips):
            for n in (self.left - 0.25, self.right + 0.25):
                for a, b in cut(*self.span, self.gaps):
                    self.scene.paint.append(Paint(self.line.points(a, b, n), width=0.12))

    def stop_line(self, s: float, n0: float = LANE / 2, n1: float = -LANE / 2, back: bool = False) -> None:
        """A stop line across lanes; `back` for those who come towards the ego vehicle."""
        points = np.array([self.line.place(s, n)[:2] for n in (n0 - 0.15, n1 + 0.15)])
        self.scene.paint.append(Paint(points, width=0.4, kind="stop_line" if not back else "stop_line_oncoming"))

    def crosswalk(self, s: float, wide: float = 3.0) -> None:
        """Zebra stripes across the whole street from s to s + wide."""
        self.scene.areas.append(band(self.line, s, s + wide, self.left, self.right, self.surface, "crosswalk"))
        for n in np.arange(self.right + 0.45, self.left - 0.3, 0.95):
            a, b = self.line.place(s, n), self.line.place(s + wide, n)
            self.scene.paint.append(Paint(np.array([a[:2], b[:2]]), width=0.48, kind=""))

    def add(self, kind: str, s: float, n: float, **more: object) -> None:
        """A thing at a place of the street, turned along it."""
        x, y, h = self.line.place(s, n)
        turn = float(more.pop("turn", 0.0))  # type: ignore[arg-type]
        self.scene.props.append(Prop(kind, x, y, h + turn, **more))  # type: ignore[arg-type]

    def parked(self, kind: str, s: float, n: float, colour: Colour, *marks: str, facing: int = 1) -> None:
        """A parked vehicle."""
        x, y, h = self.line.place(s, n)
        line = Line((x, y, h if facing > 0 else h + math.pi))
        self.scene.actors.append(Actor(kind, line, 0.0, ((0.0, 0.0),), colour=colour, attributes=("parked", *marks)))

    def row_of_parked(self, side: int, where: Sequence[float], rng: np.random.Generator, facing: int = 1) -> None:
        """Parked cars in the parking strip of a side (1 left, -1 right)."""
        strips = [(a, b) for use, a, b in self.strips if use == "parking" and (a + b) * side > 0]
        n = sum(strips[0]) / 2
        for s in where:
            kind = str(rng.choice(["sedan", "suv", "sedan"]))
            self.parked(kind, s, n + rng.uniform(-0.1, 0.1), CARS[int(rng.integers(len(CARS)))], facing=facing)

    def town(
        self, rng: np.random.Generator, *, gap: float = 0.6, shops: bool = True, high: tuple[float, float] = (8.0, 17.0), clear: float = 4.0
    ) -> None:
        """Buildings on both sides, with lamps along the kerbs; none nearer than `clear` m to the gaps."""
        for side, edge in ((1, self.left), (-1, self.right)):
            front = edge + side * (self.walk + gap)
            for a, b in cut(self.span[0] + 4, self.span[1] + 30, [(g0 - clear, g1 + clear) for g0, g1 in self.gaps]):
                s = a
                while s < b - 5:
                    length = min(float(rng.uniform(10, 18)), b - s)
                    wall = WALLS[int(rng.integers(len(WALLS)))]
                    extra: dict[str, object] = {"bay": float(rng.uniform(2.3, 3.2))}
                    if shops and rng.random() < 0.5:
                        extra["shop"] = SHOPS[int(rng.integers(len(SHOPS)))]
                    x, y, h = self.line.place(s + length / 2, front + side * 6)
                    size = (length - 0.05, 12.0, float(rng.uniform(*high)))
                    self.scene.props.append(Prop("building", x, y, h, size, wall, attributes=extra))
                    s += length
        self.lamps()

    def lamps(self, every: float = 27.0) -> None:
        """Lamp posts on the walks, on the two sides in turn."""
        for k, s in enumerate(np.arange(self.span[0] + 8, self.span[1], every / 2)):
            if any(a - 1.5 < s < b + 1.5 for a, b in self.gaps):
                continue
            n = self.left + 0.7 if k % 2 else self.right - 0.7
            self.add("lamp", s, n, size=(0.2, 0.2, 6.6), colour=(84, 90, 96))

    def suburb(self, rng: np.random.Generator, set_back: float = 7.0, clear: float = 8.0) -> None:
        """Houses with gardens, hedges and trees; none nearer than `clear` m to the gaps."""
        roofs: tuple[Colour, ...] = ((126, 74, 58), (92, 84, 82), (140, 96, 66), (84, 92, 104))
        for side, edge in ((1, self.left), (-1, self.right)):
            n = edge + side * (self.walk + set_back + 4)
            for a, b in cut(self.span[0] + 4, self.span[1] + 20, [(g0 - clear, g1 + clear) for g0, g1 in self.gaps]):
                for s in np.arange(a + 6, b - 6, 17.0):
                    wall = ((206, 190, 166), (214, 210, 200), (178, 160, 140), (196, 202, 204))[int(rng.integers(4))]
                    self.add(
                        "house",
                        s + rng.uniform(-1, 1),
                        n + side * rng.uniform(0, 1.5),
                        size=(float(rng.uniform(9, 12)), 8.0, 5.6),
                        colour=wall,
                        attributes={"roof": roofs[int(rng.integers(4))]},
                    )
                    if rng.random() < 0.6:
                        self.add("hedge", s + 6.5, edge + side * (self.walk + 1.0), size=(5.0, 0.9, 1.2), colour=(72, 98, 58))
                self.trees(rng, side, a, b, edge + side * (self.walk + 2.2), 13.0, (5.0, 7.5))

    def trees(
        self, rng: np.random.Generator, side: int, s0: float, s1: float, n: float, every: float, high: tuple[float, float] = (5.0, 9.0)
    ) -> None:
        """Trees in a loose row."""
        for s in np.arange(s0, s1, every):
            if any(a - 3 < s < b + 3 for a, b in self.gaps):
                continue
            self.add(
                "tree",
                s + rng.uniform(-0.3, 0.3) * every,
                n + side * rng.uniform(0.0, 1.6),
                size=(1, 1, float(rng.uniform(*high))),
                colour=LEAVES[int(rng.integers(len(LEAVES)))],
            )

    def woods(self, rng: np.random.Generator, n: float = 9.0, count: int = 60) -> None:
        """Scattered trees and bushes of open country."""
        for _ in range(count):
            side = 1 if rng.random() < 0.5 else -1
            edge = self.left if side > 0 else self.right
            s, away = rng.uniform(self.span[0], self.span[1] + 60), n * (0.6 + 3.2 * rng.random() ** 1.6)
            high = float(rng.uniform(1.4, 8.5))
            self.add("tree", s, edge + side * away, size=(1, 1, high), colour=LEAVES[int(rng.integers(len(LEAVES)))])


def junction(scene: Scene, x: float, main: Street, *, walk: float = 3.2, radius: float = 4.5, yellow: str = "dashed") -> Street:
    """A two-lane street that crosses the ego's at x, with rounded kerbs.

    Its line runs to the left (+y) along the lane of those who come from the right; the other lane lies at n = LANE.
    """
    line = Line((x + LANE / 2, 0.0, math.pi / 2))
    gaps = ((main.right - radius, main.left + radius),)
    for cx, sx in ((x - LANE, -1), (x + LANE, 1)):
        for cy, sy in ((main.right, -1), (main.left, 1)):
            if walk:
                reach = radius + 0.6
                square = np.array([[cx, cy], [cx + sx * reach, cy], [cx + sx * reach, cy + sy * reach], [cx, cy + sy * reach]])
                scene.areas.append(Area(square, "paving", "sidewalk"))
            a = np.linspace(0, math.pi / 2, 9)
            arc = np.array([cx + sx * radius, cy + sy * radius]) - np.stack([sx * radius * np.sin(a), sy * radius * np.cos(a)], axis=1)
            scene.areas.append(Area(np.vstack([[[cx, cy]], arc]), "asphalt", "drivable"))
            if walk:
                inner = np.array([cx + sx * radius, cy + sy * radius]) - np.stack([np.sin(a) * sx, np.cos(a) * sy], 1) * (radius - 0.22)
                scene.areas.append(Area(np.vstack([arc, inner[::-1]]), "kerb"))
            scene.paint.append(Paint(arc, width=0.0, kind="boundary"))
    return Street(scene, left=[("opposite", LANE)], line=line, span=(-60.0, 60.0), gaps=gaps, walk=walk, yellow=yellow)


def around(x: float, radius: float = 4.5) -> tuple[float, float]:
    """The stretch of the ego's street that a junction at x takes."""
    return x - LANE - radius, x + LANE + radius


def brake(v0: float, metres: float, rate: float = 2.2, hold: float = 9.0, then: Knots = ()) -> list[tuple[float, float]]:
    """Speeds of somebody who stops after some metres.

    Args:
        v0: m/s at t = 0.
        metres: Way until it stands.
        rate: m/s² of braking; more where that is too little.
        hold: Seconds that it stands.
        then: (seconds after that, m/s).
    """
    rate = max(rate, v0 * v0 / (2 * metres))
    start = (metres - v0 * v0 / (2 * rate)) / v0
    stands = start + v0 / rate
    out = [(0.0, v0)] + ([(start, v0)] if start > 1e-6 else [])
    return [*out, (stands, 0.0), (stands + hold, 0.0), *[(stands + hold + t, v) for t, v in then]]
