"""Bodies made of flat faces: vehicles, buildings, barriers. Each kind gives faces in its own frame (x forward, y left, z up)."""

from __future__ import annotations

import itertools
import math
import zlib
from dataclasses import dataclass, field

import numpy as np
from kit import Colour


@dataclass(frozen=True, eq=False)
class Face:
    """A flat polygon.

    Attributes:
        points: Shape (N, 3), m.
        colour: Under white light.
        decals: Faces that lie upon it and are drawn after it.
        glow: Shines by itself.
        both: Seen from both sides.
        flat: Colour as it is, without shading (glass).
    """

    points: np.ndarray
    colour: Colour
    decals: tuple[Face, ...] = ()
    glow: bool = False
    both: bool = False
    flat: bool = False


GLASS: Colour = (46, 56, 66)
TYRE: Colour = (26, 27, 29)


def quad(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...], d: tuple[float, ...]) -> np.ndarray:
    """Four corners as an array."""
    return np.array([a, b, c, d], float)


def shade(c: Colour, k: float) -> Colour:
    """A lighter or darker colour."""
    return tuple(int(max(0, min(255, v * k))) for v in c)  # type: ignore[return-value]


def box(l0: float, l1: float, w: float, z0: float, z1: float, c: Colour, *, roof: Colour | None = None, taper: float = 0.0) -> list[Face]:
    """A cuboid from l0 to l1, w wide, its top narrower by `taper` on all sides."""
    a, b = w / 2, w / 2 - taper
    p, q = l0 + taper, l1 - taper
    return [
        Face(quad((l0, -a, z0), (l0, a, z0), (p, b, z1), (p, -b, z1)), c),
        Face(quad((l1, -a, z0), (l1, a, z0), (q, b, z1), (q, -b, z1)), c),
        Face(quad((l0, -a, z0), (l1, -a, z0), (q, -b, z1), (p, -b, z1)), c),
        Face(quad((l0, a, z0), (l1, a, z0), (q, b, z1), (p, b, z1)), c),
        Face(quad((p, -b, z1), (q, -b, z1), (q, b, z1), (p, b, z1)), roof or c),
    ]


def wheel(x: float, y: float, r: float) -> tuple[Face, Face]:
    """Tyre and rim of a wheel on a side plane."""
    a = np.linspace(0, 2 * math.pi, 15)[:-1]
    ring = np.stack([x + r * np.cos(a), np.full(14, y), r + r * np.sin(a)], axis=1)
    rim = np.stack([x + 0.58 * r * np.cos(a), np.full(14, y), r + 0.58 * r * np.sin(a)], axis=1)
    return Face(ring, TYRE, both=True), Face(rim, (132, 136, 140), both=True)


PROFILES: dict[str, list[tuple[float, float]]] = {
    "sedan": [
        (-0.5, 0.3),
        (-0.5, 0.62),
        (-0.475, 0.9),
        (-0.33, 0.96),
        (-0.19, 1.4),
        (0.02, 1.45),
        (0.14, 1.4),
        (0.29, 0.95),
        (0.47, 0.8),
        (0.5, 0.62),
        (0.5, 0.3),
    ],
    "suv": [
        (-0.5, 0.34),
        (-0.5, 0.7),
        (-0.49, 1.05),
        (-0.475, 1.1),
        (-0.42, 1.64),
        (-0.1, 1.72),
        (0.1, 1.67),
        (0.25, 1.12),
        (0.46, 0.98),
        (0.5, 0.74),
        (0.5, 0.34),
    ],
    "van": [
        (-0.5, 0.34),
        (-0.5, 0.8),
        (-0.497, 1.3),
        (-0.495, 1.36),
        (-0.485, 2.36),
        (-0.1, 2.45),
        (0.22, 2.38),
        (0.36, 1.36),
        (0.48, 1.12),
        (0.5, 0.78),
        (0.5, 0.34),
    ],
}
"""Outline from the side: (share of the length, height in m). Points 3 and 7 lie on the belt line below the windows."""


def car(kind: str, length: float, width: float, c: Colour, lamps: tuple[str, ...], lit: bool) -> list[Face]:
    """A car or van from its side outline; narrower above the belt line.

    Args:
        kind: Key of PROFILES.
        length: m.
        width: m.
        c: Colour of the body.
        lamps: "brake", "hazard", "left", "right" or nothing.
        lit: Whether head and tail lamps are on.
    """
    p = [(u * length, z) for u, z in PROFILES[kind]]
    half = width / 2
    roof = half * (0.9 if kind == "van" else 0.78)
    belt, top = p[3][1], max(z for _, z in p)

    def wide(z: float) -> float:
        return half - (half - roof) * max(0.0, (z - belt) / (top - belt))

    faces = []
    for i, ((x0, z0), (x1, z1)) in enumerate(itertools.pairwise(p)):
        glass = (i == 3 and kind != "van") or i == 6
        colour = c
        a, b = wide(z0), wide(z1)
        pts = quad((x0, a, z0), (x1, b, z1), (x1, -b, z1), (x0, -a, z0))
        decals: tuple[Face, ...] = ()
        if glass:
            inner = quad((x0, a - 0.07, z0 + 0.03), (x1, b - 0.1, z1 - 0.03), (x1, 0.1 - b, z1 - 0.03), (x0, 0.07 - a, z0 + 0.03))
            inner[:, 0] += (0.02 if i == 6 else -0.02) * np.sign(pts.mean(0)[0] or 1)
            decals = (Face(inner, GLASS, flat=True),)
        faces.append(Face(pts, colour, decals))
    faces[1] = _end(faces[1], -length / 2, half, p[1][1], c, lamps, lit, rear=True)
    faces[-2] = _end(faces[-2], length / 2, half, p[-2][1], c, lamps, lit, rear=False)
    for side in (1, -1):
        low = [(x, side * half, z) for x, z in [p[0], p[1], p[2], p[3], p[7], p[8], p[9], p[10]]]
        high = [(x, side * wide(z), z) for x, z in p[3:8]]
        r = 0.33 if kind == "sedan" else 0.37
        wheels = [f for u in (-0.3, 0.31) for f in wheel(u * length, side * (half + 0.01), r)]
        line = quad(
            (p[3][0], side * half, belt - 0.1),
            (p[7][0], side * half, belt - 0.1),
            (p[7][0], side * half, belt - 0.14),
            (p[3][0], side * half, belt - 0.14),
        )
        handles = Face(line, shade(c, 0.72), both=True)
        faces.append(Face(np.array(low), c, (handles, *wheels)))
        faces.append(Face(np.array(high), c, _windows(kind, p, side, wide)))
    return faces


def _windows(kind: str, p: list[tuple[float, float]], side: int, wide) -> tuple[Face, ...]:  # type: ignore[no-untyped-def]
    (x0, z0), (x1, z1), (x2, z2), (x3, z3) = p[3], p[4], p[6], p[7]
    low, high = z0 + 0.05, min(z1, z2) - 0.06

    def at(z: float, a: tuple[float, float], b: tuple[float, float]) -> float:
        return a[0] + (b[0] - a[0]) * (z - a[1]) / (b[1] - a[1])

    rear = (at(low, (x0, z0), (x1, z1)) + 0.16, at(high, (x0, z0), (x1, z1)) + 0.14)
    front = (at(low, (x3, z3), (x2, z2)) - 0.14, at(high, (x3, z3), (x2, z2)) - 0.12)
    cuts = (0.46,) if kind == "sedan" else (0.34, 0.66) if kind == "suv" else ()
    if kind == "van":
        rear = (front[0] - 1.15, front[1] - 0.85)
    out = []
    edges = [0.0, *cuts, 1.0]
    for a, b in itertools.pairwise(edges):
        gap = 0.04
        xs = [rear[0] + (front[0] - rear[0]) * a + gap, rear[0] + (front[0] - rear[0]) * b - gap]
        xt = [rear[1] + (front[1] - rear[1]) * a + gap, rear[1] + (front[1] - rear[1]) * b - gap]
        yl, yh = side * (wide(low) + 0.005), side * (wide(high) + 0.005)
        out.append(Face(quad((xs[0], yl, low), (xs[1], yl, low), (xt[1], yh, high), (xt[0], yh, high)), GLASS, flat=True, both=True))
    return tuple(out)


def _end(face: Face, x: float, half: float, z: float, c: Colour, lamps: tuple[str, ...], lit: bool, *, rear: bool) -> Face:
    """The rear or front face with lamps and plate."""
    e = -0.012 if rear else 0.012
    points = face.points
    lo, hi = points[:, 2].min(), points[:, 2].max()
    decals = []
    brake = rear and "brake" in lamps
    for side in (1, -1):
        amber = "hazard" in lamps or ("left" if side > 0 else "right") in lamps
        tail: Colour = (255, 58, 44) if brake else (186, 34, 30)
        lamp: Colour = tail if rear else (250, 246, 224) if lit else (206, 212, 214)
        y0, y1 = side * (half - 0.06), side * (half - 0.42)
        mid = (lo + hi) / 2 + 0.03
        decals.append(
            Face(
                quad((x + e, y0, mid - 0.1), (x + e, y1, mid - 0.1), (x + e, y1, mid + 0.09), (x + e, y0, mid + 0.09)),
                lamp,
                glow=brake or lit,
                flat=brake,
                both=True,
            )
        )
        if amber:
            y2 = side * (half - 0.22)
            decals.append(
                Face(
                    quad((x + e * 2, y0, mid - 0.1), (x + e * 2, y2, mid - 0.1), (x + e * 2, y2, mid + 0.09), (x + e * 2, y0, mid + 0.09)),
                    (255, 176, 40),
                    glow=True,
                    both=True,
                )
            )
    plate = quad((x + e, 0.26, lo + 0.06), (x + e, -0.26, lo + 0.06), (x + e, -0.26, lo + 0.18), (x + e, 0.26, lo + 0.18))
    decals.append(Face(plate, (214, 214, 206), both=True))
    return Face(points, c, tuple(decals))


def truck(length: float, width: float, height: float, c: Colour, lamps: tuple[str, ...]) -> list[list[Face]]:
    """Cargo body and cab: two bodies, each in painter's order by itself."""
    cab = 2.2
    half = width / 2
    cargo = box(-length / 2, length / 2 - cab - 0.25, width, 0.85, height, c, roof=shade(c, 1.1))
    x = -length / 2 - 0.01
    red: Colour = (255, 58, 44) if "brake" in lamps else (178, 34, 30)
    amber = "hazard" in lamps
    rear = [
        Face(
            quad((x, s * (half - 0.06), 0.62), (x, s * (half - 0.4), 0.62), (x, s * (half - 0.4), 0.8), (x, s * (half - 0.06), 0.8)),
            (255, 170, 40) if amber else red,
            glow=amber or "brake" in lamps,
            both=True,
        )
        for s in (1, -1)
    ]
    seam = Face(quad((x, 0.02, 0.95), (x, -0.02, 0.95), (x, -0.02, height - 0.1), (x, 0.02, height - 0.1)), shade(c, 0.6), both=True)
    cargo[0] = Face(cargo[0].points, c, (seam,))
    frame = box(-length / 2, length / 2 - 0.4, width * 0.9, 0.45, 0.85, (48, 50, 52))
    frame[0] = Face(frame[0].points, frame[0].colour, tuple(rear))
    for i, side in ((2, -1), (3, 1)):
        wheels = [f for u in (-0.36, -0.24, 0.34) for f in wheel(u * length, side * half, 0.48)]
        frame[i] = Face(frame[i].points, frame[i].colour, tuple(wheels))
    head = box(length / 2 - cab, length / 2, width * 0.96, 0.5, height * 0.86, (216, 218, 220), taper=0.08)
    f = length / 2
    head[1] = Face(
        head[1].points,
        head[1].colour,
        (
            Face(
                quad(
                    (f - 0.03, half * 0.82, 1.5), (f - 0.03, -half * 0.82, 1.5), (f - 0.06, -half * 0.8, 2.4), (f - 0.06, half * 0.8, 2.4)
                ),
                GLASS,
                flat=True,
                both=True,
            ),
            *(
                Face(
                    quad(
                        (f, s * (half - 0.12), 0.7), (f, s * (half - 0.5), 0.7), (f, s * (half - 0.5), 0.92), (f, s * (half - 0.12), 0.92)
                    ),
                    (238, 236, 220),
                    both=True,
                )
                for s in (1, -1)
            ),
        ),
    )
    return [frame, cargo, head]


def bus(length: float, width: float, height: float, c: Colour, lamps: tuple[str, ...]) -> list[Face]:
    """A city bus."""
    half, e = width / 2, length / 2
    faces = box(-e, e, width, 0.4, height, c, roof=shade(c, 1.15), taper=0.05)
    for i, side in ((2, -1), (3, 1)):
        y = side * (half - 0.01)
        glass = [
            Face(quad((x, y, 1.35), (x + 1.3, y, 1.35), (x + 1.3, y, 2.5), (x, y, 2.5)), GLASS, flat=True, both=True)
            for x in np.arange(-e + 0.4, e - 1.5, 1.42)
        ]
        wheels = [f for u in (-0.28, 0.3) for f in wheel(u * length, side * (half + 0.01), 0.48)]
        band = Face(quad((-e + 0.1, y, 0.85), (e - 0.1, y, 0.85), (e - 0.1, y, 1.0), (-e + 0.1, y, 1.0)), (232, 232, 226), both=True)
        faces[i] = Face(faces[i].points, c, (band, *glass, *wheels))
    red: Colour = (255, 58, 44) if "brake" in lamps else (178, 34, 30)
    for i, x, sign in ((0, -e - 0.01, 0), (1, e + 0.01, 1)):
        lamp: Colour = (240, 238, 222) if sign else red
        window = Face(
            quad((x, half - 0.2, 1.3), (x, 0.2 - half, 1.3), (x, 0.24 - half, 2.5), (x, half - 0.24, 2.5)), GLASS, flat=True, both=True
        )
        pair = tuple(
            Face(
                quad((x, s * (half - 0.1), 0.7), (x, s * (half - 0.4), 0.7), (x, s * (half - 0.4), 0.95), (x, s * (half - 0.1), 0.95)),
                lamp,
                glow=not sign and "brake" in lamps,
                both=True,
            )
            for s in (1, -1)
        )
        faces[i] = Face(faces[i].points, c, (window, *pair))
    return faces


@dataclass(frozen=True)
class Facade:
    """How a building looks."""

    colour: Colour
    floor: float = 3.1
    bay: float = 2.6
    window: tuple[float, float] = (1.3, 1.6)
    shop: Colour | None = None
    lit: float = 0.0
    seed: int = 0
    glass: Colour = field(default=(70, 82, 96))


def building(length: float, width: float, height: float, f: Facade) -> list[Face]:
    """A house of flats or offices: windows on all sides, a cornice, shops below if wanted."""
    faces = box(-length / 2, length / 2, width, 0.0, height, f.colour, roof=shade(f.colour, 0.8))
    rng = np.random.default_rng([f.seed, zlib.crc32(repr(f.colour).encode())])
    for i, face in enumerate(faces[:4]):
        a, b = face.points[0], face.points[1]
        span = float(np.hypot(*(b - a)[:2]))
        along = (b - a) / span
        out = face.points[:, :2].mean(0)
        normal = np.array([-1.0, 0, 0]) if i == 0 else np.array([1.0, 0, 0]) if i == 1 else np.array([0, math.copysign(1, out[1]), 0])
        base = a + normal * 0.02
        decals = [_strip(base, along, span, height - 0.55, height - 0.2, shade(f.colour, 1.18))]
        first = 4.0 if f.shop else 1.1
        if f.shop:
            decals.append(_strip(base, along, span, 2.9, 3.5, f.shop))
            for x in np.arange(0.6, span - 2.4, 3.1):
                glow = rng.random() < f.lit * 2.2
                decals.append(_pane(base, along, x, 2.4, 0.5, 2.2, (246, 220, 160) if glow else f.glass))
        for z in np.arange(first, height - f.window[1] - 0.7, f.floor):
            for x in np.arange(0.9, span - f.window[0] - 0.5, f.bay):
                glow = rng.random() < f.lit
                decals.append(_pane(base, along, x, f.window[0], z, f.window[1], (244, 214, 146) if glow else f.glass))
        faces[i] = Face(face.points, face.colour, tuple(decals))
    return faces


def _pane(base: np.ndarray, along: np.ndarray, x: float, w: float, z: float, h: float, c: Colour) -> Face:
    up = np.array([0, 0, 1.0])
    p = base + along * x + up * z
    return Face(np.array([p, p + along * w, p + along * w + up * h, p + up * h]), c, flat=True, both=True)


def _strip(base: np.ndarray, along: np.ndarray, span: float, z0: float, z1: float, c: Colour) -> Face:
    up = np.array([0, 0, 1.0])
    return Face(np.array([base + up * z0, base + along * span + up * z0, base + along * span + up * z1, base + up * z1]), c, both=True)


def house(length: float, width: float, wall: Colour, roof: Colour, seed: int, lit: float) -> list[Face]:
    """A detached house with a gable roof along its length."""
    h, ridge = 3.4, 5.6
    faces = building(length, width, h, Facade(wall, bay=2.9, window=(1.3, 1.2), lit=lit, seed=seed))[:4]
    a, e, out = width / 2, length / 2, 0.35
    for side in (1, -1):
        pts = quad((-e - out, side * (a + out), h - 0.25), (e + out, side * (a + out), h - 0.25), (e + out, 0, ridge), (-e - out, 0, ridge))
        faces.append(Face(pts, roof, both=True))
    for x in (-e, e):
        faces.append(Face(np.array([(x, -a, h), (x, a, h), (x, 0, ridge - 0.1)]), wall, both=True))
    return faces
