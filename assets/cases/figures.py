"""Things that are drawn upright towards the camera: people, trees, poles, signs, cones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from kit import Colour
from solids import Face, box, quad, shade, wheel

Blob = tuple[np.ndarray, float, Colour, bool]
"""Centre (3,), radius in m, colour, whether it shines."""


def upright(right: np.ndarray) -> Callable[..., np.ndarray]:
    """A function from (sideways, up) pairs to points in the plane that faces the camera."""

    def place(*pairs: tuple[float, float], ahead: float = 0.0) -> np.ndarray:
        forward = np.array([-right[1], right[0], 0.0])
        return np.array([right * u + np.array([0, 0, z]) + forward * ahead for u, z in pairs])

    return place


def person(right: np.ndarray, c: Colour, height: float, stride: float, side: float) -> tuple[list[Face], list[Blob]]:
    """Somebody on foot.

    Args:
        right: Unit vector to the right of the picture, on the ground.
        c: Colour of the coat.
        height: m.
        stride: -1 to 1, where the legs are.
        side: How much the walking goes across the picture, -1 to 1.
    """
    at, k = upright(right), height / 1.74
    open_ = 0.26 * stride * abs(side) * k
    trousers: Colour = (52, 56, 70)
    faces = [
        Face(at((-0.1 * k, 0.86 * k), (0.02 * k, 0.86 * k), (-0.02 * k + open_, 0.02), (-0.14 * k + open_, 0.02)), trousers, both=True),
        Face(
            at((-0.02 * k, 0.86 * k), (0.1 * k, 0.86 * k), (0.14 * k - open_, 0.02), (0.02 * k - open_, 0.02)),
            shade(trousers, 0.8),
            both=True,
        ),
        Face(
            at((-0.16 * k + open_, 0.07), (0.06 * k + open_, 0.07), (0.1 * k + open_, 0.0), (-0.16 * k + open_, 0.0)),
            (36, 32, 30),
            both=True,
        ),
        Face(
            at((-0.02 * k - open_, 0.07), (0.16 * k - open_, 0.07), (0.2 * k - open_, 0.0), (-0.02 * k - open_, 0.0)),
            (30, 28, 28),
            both=True,
        ),
        Face(
            at((-0.3 * k, 1.3 * k), (-0.2 * k, 1.42 * k), (-0.16 * k, 0.86 * k), (-0.26 * k - open_ * 0.5, 0.78 * k)),
            shade(c, 0.82),
            both=True,
        ),
        Face(
            at((0.3 * k, 1.3 * k), (0.2 * k, 1.42 * k), (0.16 * k, 0.86 * k), (0.26 * k + open_ * 0.5, 0.78 * k)), shade(c, 0.75), both=True
        ),
        Face(
            at(
                (-0.19 * k, 1.44 * k),
                (0.19 * k, 1.44 * k),
                (0.2 * k, 1.0 * k),
                (0.15 * k, 0.8 * k),
                (-0.15 * k, 0.8 * k),
                (-0.2 * k, 1.0 * k),
            ),
            c,
            both=True,
        ),
    ]
    blobs: list[Blob] = [
        (at((0.0, 1.6 * k))[0], 0.115 * k, (206, 164, 136), False),
        (at((-0.01 * k, 1.66 * k))[0], 0.105 * k, (62, 46, 38), False),
    ]
    return faces, blobs


def cyclist(right: np.ndarray, c: Colour, phase: float) -> tuple[list[Face], list[Blob]]:
    """A bicycle in its own frame (x forward) with a rider; wheels stand along the heading."""
    faces: list[Face] = []
    for x in (-0.52, 0.52):
        tyre, _ = wheel(x, 0.0, 0.34)
        hole = Face(tyre.points * np.array([1, 1, 1.0]), tyre.colour, both=True)
        centre = np.array([x, 0.0, 0.34])
        faces += [hole, Face(centre + (tyre.points - centre) * 0.84, (126, 128, 128), both=True, flat=True)]
    for (x0, z0), (x1, z1) in (
        ((-0.52, 0.34), (-0.1, 0.84)),
        ((-0.1, 0.34), (0.42, 0.86)),
        ((-0.12, 0.82), (0.42, 0.84)),
        ((0.4, 0.98), (0.52, 0.34)),
    ):
        n = np.array([-(z1 - z0), x1 - x0]) / math.hypot(x1 - x0, z1 - z0) * 0.025
        faces.append(
            Face(
                quad((x0 - n[0], 0, z0 - n[1]), (x0 + n[0], 0, z0 + n[1]), (x1 + n[0], 0, z1 + n[1]), (x1 - n[0], 0, z1 - n[1])),
                (150, 40, 40),
                both=True,
            )
        )
    at = upright(right)
    lift = 0.14 * math.sin(phase)
    faces += [
        Face(at((-0.12, 0.95), (-0.01, 0.95), (-0.02, 0.32 + lift), (-0.12, 0.32 + lift)), (44, 48, 60), both=True),
        Face(at((0.01, 0.95), (0.12, 0.95), (0.12, 0.32 - lift), (0.02, 0.32 - lift)), (38, 42, 52), both=True),
        Face(at((-0.2, 1.48), (0.2, 1.48), (0.17, 0.88), (-0.17, 0.88)), c, both=True),
        Face(at((-0.26, 1.4), (-0.18, 1.46), (-0.16, 1.0), (-0.25, 1.02)), shade(c, 0.8), both=True),
        Face(at((0.26, 1.4), (0.18, 1.46), (0.16, 1.0), (0.25, 1.02)), shade(c, 0.8), both=True),
    ]
    blobs: list[Blob] = [(at((0.0, 1.62))[0], 0.115, (206, 164, 136), False), (at((0.0, 1.67))[0], 0.12, (222, 222, 216), False)]
    return faces, blobs


def tree(right: np.ndarray, height: float, c: Colour, seed: int) -> tuple[list[Face], list[Blob]]:
    """A tree with a round crown; lighter leaves above."""
    rng = np.random.default_rng([seed, 3])
    at = upright(right)
    trunk = height * 0.42
    crown = height - trunk
    faces = [Face(at((-0.16, 0), (0.16, 0), (0.08, trunk + crown * 0.5), (-0.08, trunk + crown * 0.5)), (94, 78, 62), both=True)]
    centre, spread = trunk + crown * 0.52, crown * 0.5
    blobs: list[Blob] = [(at((0.0, centre))[0], spread * 0.72, shade(c, 0.84), False)]
    spots = []
    for _ in range(34):
        a, r, q = rng.uniform(0, 2 * math.pi), math.sqrt(rng.random()), rng.uniform(-1, 1)
        spots.append((r * math.cos(a), r * math.sin(a) * 0.86, q))
    for u, z, q in sorted(spots, key=lambda s: s[1] + 0.6 * s[2]):
        tone = 0.74 + 0.3 * (z * 0.6 + 0.5) + rng.uniform(-0.06, 0.06)
        blobs.append(
            (at((u * spread * 0.92, centre + z * spread * 0.9), ahead=q * 0.2)[0], spread * rng.uniform(0.26, 0.42), shade(c, tone), False)
        )
    return faces, blobs


def pole(right: np.ndarray, height: float, c: Colour, arm: float, lit: bool) -> tuple[list[Face], list[Blob]]:
    """A lamp post; `arm` to the right of the picture's right is where the lamp hangs."""
    at = upright(right)
    faces = [Face(at((-0.09, 0), (0.09, 0), (0.055, height), (-0.055, height)), c, both=True)]
    return faces, []


def lamp_arm(height: float, reach: float, c: Colour, lit: bool) -> tuple[list[Face], list[Blob]]:
    """The arm of a lamp post across the road (towards +y by `reach`) with its lamp, in the post's frame."""
    faces = [
        Face(
            quad((-0.05, 0, height - 0.1), (-0.05, reach, height + 0.25), (-0.05, reach, height + 0.35), (-0.05, 0, height)), c, both=True
        ),
        *box(-0.16, 0.16, 0.7, height + 0.2, height + 0.34, shade(c, 0.9)),
    ]
    lamp = [Face(f.points + np.array([0, reach, 0]), f.colour, both=True) for f in faces[1:]]
    glow: list[Blob] = [(np.array([0, reach, height + 0.2]), 0.16, (255, 236, 190), True)] if lit else []
    return [faces[0], *lamp], glow


def cone(right: np.ndarray, height: float) -> list[Face]:
    """A traffic cone with two white bands."""
    at = upright(right)
    orange: Colour = (240, 104, 28)

    def r(z: float) -> float:
        return 0.2 * (1 - z / height * 0.86) * height / 0.75

    def band(a: float, b: float, c: Colour) -> Face:
        return Face(at((-r(a), a), (r(a), a), (r(b), b), (-r(b), b)), c, both=True)

    h = height
    return [
        Face(at((-0.24, 0), (0.24, 0), (0.22, 0.05), (-0.22, 0.05)), (60, 50, 46), both=True),
        band(0.05, h, orange),
        band(h * 0.34, h * 0.52, (242, 240, 234)),
        band(h * 0.64, h * 0.78, (242, 240, 234)),
        Face(at((0.02, 0.05), (r(0.05), 0.05), (r(h), h), (0.01, h)), (214, 88, 22), both=True)
        if h < 0
        else band(h * 0.96, h, shade(orange, 0.8)),
    ]


def drum(right: np.ndarray) -> list[Face]:
    """A work-zone barrel."""
    at = upright(right)
    out = []
    for i, (a, b) in enumerate(((0.0, 0.22), (0.22, 0.42), (0.42, 0.62), (0.62, 0.82), (0.82, 1.0))):
        out.append(Face(at((-0.29, a), (0.29, a), (0.27, b), (-0.27, b)), (240, 104, 28) if i % 2 == 0 else (240, 238, 230), both=True))
    return out


def barrier(length: float) -> list[Face]:
    """A concrete barrier, narrower above."""
    faces = box(-length / 2, length / 2, 0.6, 0.0, 0.32, (186, 184, 178), taper=0.0)
    return faces[:4] + box(-length / 2, length / 2, 0.5, 0.32, 0.9, (198, 196, 190), taper=0.14)


def striped_board(width: float) -> list[Face]:
    """A red and white board across the road on two feet, facing along -x."""
    faces = [
        Face(quad((0, y - 0.05, 0), (0, y + 0.05, 0), (0, y + 0.05, 1.2), (0, y - 0.05, 1.2)), (70, 70, 72), both=True)
        for y in (-width / 3, width / 3)
    ]
    n = max(3, int(width / 0.35))
    for k in range(n):
        y0, y1 = -width / 2 + width * k / n, -width / 2 + width * (k + 1) / n
        for z in (0.55, 1.0):
            faces.append(
                Face(
                    quad((0, y0, z), (0, y1, z), (0, y1, z + 0.28), (0, y0, z + 0.28)),
                    (206, 44, 38) if k % 2 == 0 else (238, 236, 230),
                    both=True,
                )
            )
    return faces


STROKES: dict[str, list[list[tuple[float, float]]]] = {
    "S": [
        [(0.9, 0.85), (0.6, 1.0), (0.25, 1.0), (0.1, 0.8), (0.25, 0.58), (0.75, 0.44), (0.9, 0.22), (0.7, 0.0), (0.3, 0.0), (0.08, 0.16)]
    ],
    "T": [[(0.05, 1.0), (0.95, 1.0)], [(0.5, 1.0), (0.5, 0.0)]],
    "O": [[(0.5, 1.0), (0.15, 0.85), (0.05, 0.5), (0.15, 0.15), (0.5, 0.0), (0.85, 0.15), (0.95, 0.5), (0.85, 0.85), (0.5, 1.0)]],
    "P": [[(0.12, 0.0), (0.12, 1.0), (0.7, 1.0), (0.92, 0.8), (0.92, 0.64), (0.7, 0.46), (0.12, 0.46)]],
}


def stop_sign() -> list[Face]:
    """An octagon with its word, facing along -x, and its post."""
    a = np.arange(8) * math.pi / 4 + math.pi / 8
    z = 2.2

    def ring(r: float, x: float) -> np.ndarray:
        return np.stack([np.full(8, x), r * np.cos(a), z + r * np.sin(a)], axis=1)

    faces = [
        Face(quad((0.02, -0.035, 0), (0.02, 0.035, 0), (0.02, 0.035, z), (0.02, -0.035, z)), (150, 152, 154), both=True),
        Face(ring(0.42, 0.0), (240, 240, 236), both=True),
        Face(ring(0.385, -0.005), (196, 26, 32), both=True),
    ]
    for i, letter in enumerate("STOP"):
        left = 0.30 - i * 0.155
        for stroke in STROKES[letter]:
            for (u0, v0), (u1, v1) in itertools.pairwise(stroke):
                p, q = np.array([left - u0 * 0.125, z - 0.12 + v0 * 0.24]), np.array([left - u1 * 0.125, z - 0.12 + v1 * 0.24])
                d = (q - p) / max(1e-6, float(np.hypot(*(q - p)))) * 0.02
                n = np.array([-d[1], d[0]])
                pts = [p - d - n, q + d - n, q + d + n, p - d + n]
                faces.append(Face(np.array([(-0.01, y, h) for y, h in pts]), (246, 246, 242), both=True))
    return faces


def diamond(c: Colour) -> list[Face]:
    """A warning sign on its corner, facing along -x, with a dark figure."""
    z, r = 2.1, 0.55

    def ring(k: float, x: float) -> np.ndarray:
        return np.array([(x, 0, z + r * k), (x, r * k, z), (x, 0, z - r * k), (x, -r * k, z)])

    return [
        Face(quad((0.02, -0.035, 0), (0.02, 0.035, 0), (0.02, 0.035, z), (0.02, -0.035, z)), (150, 152, 154), both=True),
        Face(ring(1.0, 0.0), (34, 34, 34), both=True),
        Face(ring(0.9, -0.005), c, both=True),
        Face(
            quad((-0.01, 0.2, z - 0.14), (-0.01, -0.2, z - 0.14), (-0.01, -0.06, z + 0.16), (-0.01, 0.06, z + 0.16)),
            (34, 34, 34),
            both=True,
        ),
    ]


def signal_head(state: str) -> tuple[list[Face], list[Blob]]:
    """A signal with three lamps facing along -x; its foot is the top of whatever holds it."""
    faces = [Face(quad((0.03, 0.26, -0.08), (0.03, -0.26, -0.08), (0.03, -0.26, 1.18), (0.03, 0.26, 1.18)), (226, 196, 60), both=True)]
    faces += box(0.0, 0.18, 0.36, 0.0, 1.1, (30, 32, 34))
    blobs: list[Blob] = []
    for i, (name, on, off) in enumerate(
        (("green", (64, 240, 150), (22, 58, 40)), ("yellow", (255, 202, 64), (74, 60, 22)), ("red", (255, 62, 48), (78, 24, 22)))
    ):
        lit = name == state
        blobs.append((np.array([-0.03, 0.0, 0.2 + i * 0.35]), 0.14, on if lit else off, lit))
    return faces, blobs
