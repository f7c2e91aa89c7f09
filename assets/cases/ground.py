"""The ground of a scene from above as a picture with its smaller copies, and what a camera sees of it."""

from __future__ import annotations

import zlib

import numpy as np
from kit import Paint, Scene
from light import noise
from PIL import Image, ImageDraw

PX_M = 18.0
"""Pixels per metre."""
X0, X1, Y0, Y1 = -70.0, 120.0, -60.0, 60.0
"""What the picture covers, m; around it lies the base colour."""

MATERIALS: dict[str, tuple[tuple[int, int, int], int]] = {
    "grass": ((96, 122, 66), 30),
    "dry_grass": ((138, 132, 86), 28),
    "concrete": ((158, 156, 150), 10),
    "paving": ((146, 140, 134), 14),
    "asphalt": ((84, 86, 90), 11),
    "old_asphalt": ((104, 104, 104), 14),
    "gravel": ((140, 130, 112), 26),
    "dirt": ((130, 108, 80), 22),
    "kerb": ((178, 176, 170), 8),
    "bike": ((70, 116, 84), 9),
    "patch": ((70, 72, 76), 9),
    "earth": ((112, 110, 92), 20),
}
"""Colour of a material and how much it varies."""
PAINTS = {"white": (222, 222, 216), "yellow": (222, 176, 62)}


def at(points: np.ndarray) -> list[tuple[float, float]]:
    """Pixels of world points in the picture from above."""
    return [((x - X0) * PX_M, (Y1 - y) * PX_M) for x, y in points]


def picture(scene: Scene, base: str) -> np.ndarray:
    """The ground from above, shape (H, W, 3)."""
    rng = np.random.default_rng([scene.seed, 11])
    size = (int((X1 - X0) * PX_M), int((Y1 - Y0) * PX_M))
    colour = Image.new("RGB", size, MATERIALS[base][0])
    rough = Image.new("L", size, MATERIALS[base][1])
    dc, dr = ImageDraw.Draw(colour), ImageDraw.Draw(rough)
    for area in scene.areas:
        rgb, amount = MATERIALS[area.material]
        dc.polygon(at(area.points), fill=rgb)
        dr.polygon(at(area.points), fill=amount)
    _wear(scene, dc, rng)
    worn = Image.new("L", size, 0)
    dw = ImageDraw.Draw(worn)
    for paint in scene.paint:
        for piece in pieces(paint):
            dc.polygon(at(piece), fill=PAINTS[paint.colour])
            dr.polygon(at(piece), fill=10)
            dw.polygon(at(piece), fill=255)
    out = np.asarray(colour).astype(np.float32)
    amount = np.asarray(rough).astype(np.float32)
    h, w = out.shape[:2]
    fine = rng.standard_normal((h // 2, w // 2)).astype(np.float32).repeat(2, 0).repeat(2, 1)
    coarse = noise((h, w), (h // 40, w // 40), rng).astype(np.float32)
    broad = noise((h, w), (h // 200, w // 200), rng).astype(np.float32)
    texture = fine * 0.42 + coarse * 0.55 + broad * 0.6
    out += (texture * amount)[..., None]
    # Paint is worn off in spots.
    spots = np.clip((coarse + fine * 0.35 - 0.62) * 2.5, 0, 0.55) * (np.asarray(worn) > 0)
    out = out * (1 - spots[..., None]) + np.array(MATERIALS["asphalt"][0], np.float32) * spots[..., None]
    return np.clip(out, 0, 255)


def _wear(scene: Scene, d: ImageDraw.ImageDraw, rng: np.random.Generator) -> None:
    """Wheel tracks, repairs, cracks and covers on lanes."""
    for area in scene.areas:
        if area.kind != "lane" or area.material not in ("asphalt", "old_asphalt"):
            continue
        p = area.points
        half = len(p) // 2
        left, right = p[:half], p[half:][::-1]
        if len(left) != len(right):
            continue
        for share in (0.27, 0.73):
            for wide, dark in ((0.11, 5), (0.06, 9)):
                a, b = (left * (1 - share - k) + right * (share + k) for k in (-wide, wide))
                d.polygon(at(np.vstack([a, b[::-1]])), fill=tuple(c - dark for c in MATERIALS[area.material][0]))
        seed = np.random.default_rng([scene.seed, zlib.crc32(np.round(p[0], 1).tobytes())])
        for _ in range(3):
            u, v, length = seed.uniform(0.2, 0.8), seed.uniform(0.2, 0.5), seed.uniform(1.2, 4.5)
            mid = left[0] * (1 - u) + left[-1] * u
            side = (right[0] - left[0]) / np.hypot(*(right[0] - left[0]))
            ahead = (left[-1] - left[0]) / np.hypot(*(left[-1] - left[0]))
            c = mid + side * v * 3
            q = np.array([c, c + ahead * length, c + ahead * length + side * 0.8, c + side * 0.8])
            d.polygon(at(q), fill=MATERIALS["patch"][0])
        for _ in range(5):
            u = seed.uniform(0.1, 0.9)
            c = left[0] * (1 - u) + left[-1] * u + (right[0] - left[0]) * seed.uniform(0.1, 0.9)
            walk = c + np.cumsum(seed.normal(0, 0.35, (9, 2)), axis=0)
            d.line(at(walk), fill=(62, 63, 66), width=1)
        u = seed.uniform(0.35, 0.75)
        (cx, cy), r = at(((left[0] * (1 - u) + left[-1] * u + right[0] * (1 - u) + right[-1] * u) / 2)[None])[0], 0.34 * PX_M
        d.ellipse((cx - r, cy - r, cx + r, cy + r), fill=(66, 64, 62), outline=(96, 94, 90))


def pieces(paint: Paint) -> list[np.ndarray]:
    """Outlines of what is painted: one a dash, or one for the whole line."""
    p = paint.points
    step = np.hypot(*np.diff(p, axis=0).T)
    arc = np.concatenate([[0.0], np.cumsum(step)])
    spans = [(0.0, arc[-1])]
    if paint.dash:
        on, off = paint.dash
        spans = [(s, min(s + on, arc[-1])) for s in np.arange(0.0, arc[-1], on + off)]
    out = []
    for side in (-0.11, 0.11) if paint.double else (0.0,):
        for a, b in spans:
            s = np.unique(np.concatenate([[a, b], arc[(arc > a) & (arc < b)]]))
            q = np.stack([np.interp(s, arc, p[:, k]) for k in (0, 1)], axis=1)
            d = np.gradient(q, axis=0) if len(q) > 1 else np.array([[1.0, 0.0]])
            n = np.stack([-d[:, 1], d[:, 0]], axis=1) / np.maximum(np.hypot(*d.T), 1e-9)[:, None]
            out.append(np.vstack([q + n * (side + paint.width / 2), (q + n * (side - paint.width / 2))[::-1]]))
    return out


def smaller(full: np.ndarray) -> list[np.ndarray]:
    """The picture and its halves, six of them, as bytes."""
    out, level = [], full
    for _ in range(6):
        out.append(level.astype(np.uint8))
        h, w = level.shape[0] // 2 * 2, level.shape[1] // 2 * 2
        level = (level[:h:2, :w:2] + level[1:h:2, :w:2] + level[:h:2, 1:w:2] + level[1:h:2, 1:w:2]) / 4
    return out


class Seen:
    """Where the pixels of a camera meet the ground, worked out once for all frames of all scenes."""

    def __init__(self, origin: np.ndarray, across: np.ndarray, rays: np.ndarray) -> None:
        """From the camera's place (3,), the size of a pixel as a tangent, and a ray a pixel, shape (H, W, 3)."""
        down = rays[..., 2] < -1e-4
        self.rows, self.columns = np.nonzero(down)
        r = rays[down]
        scale = -origin[2] / r[:, 2]
        self.distance = np.hypot(r[:, 0], r[:, 1]) * scale
        keep = self.distance < 400
        self.rows, self.columns, r, scale = self.rows[keep], self.columns[keep], r[keep], scale[keep]
        self.distance = self.distance[keep].astype(np.float32)
        self.points = (origin[:2] + r[:, :2] * scale[:, None]).astype(np.float32)
        self.away = (r[:, :2] / np.hypot(r[:, 0], r[:, 1])[:, None]).astype(np.float32)
        self.wide = self.distance * float(across)  # m across a pixel
        self.long = self.wide * np.maximum(1.0, self.distance / origin[2])  # m along the road
        self.level = np.clip(np.round(np.log2(np.maximum(self.wide * PX_M * 1.4, 1.0))), 0, 5).astype(np.int64)
        self.groups: list[tuple[int, bool, np.ndarray]] = []
        for k in range(6):
            near = self.long * PX_M < 3.0
            self.groups += [(k, n, c) for n in (True, False) if len(c := np.flatnonzero((self.level == k) & (near == n)))]

    def colours(self, levels: list[np.ndarray], shift: np.ndarray, base: np.ndarray) -> np.ndarray:
        """Colours of the ground, shape (N, 3): near by straight lines between pixels, far away four looks along each stretch of road."""
        out = np.zeros((len(self.rows), 3), np.float32)
        for k, near, chosen in self.groups:
            picture, scale = levels[k], PX_M / 2**k
            h, w = picture.shape[:2]
            start = self.points[chosen] + shift
            for u in (0.0,) if near else (-0.375, -0.125, 0.125, 0.375):
                p = start + self.away[chosen] * (self.long[chosen] * u)[:, None] if u else start
                x, y = (p[:, 0] - X0) * scale, (Y1 - p[:, 1]) * scale
                inside = (x >= 0) & (x < w - 1) & (y >= 0) & (y < h - 1)
                if near:
                    out[chosen] += np.where(inside[:, None], _between(picture, x - 0.5, y - 0.5), base)
                else:
                    flat = np.where(inside, y.astype(np.int32) * w + x.astype(np.int32), 0)
                    got = picture.reshape(-1, 3)[flat]
                    got[~inside] = base
                    out[chosen] += got * np.float32(0.25)
        return out


def _between(picture: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Colours between the pixels of a picture, by straight lines; shape (N, 3)."""
    h, w = picture.shape[:2]
    x, y = np.clip(x, 0, w - 1.01), np.clip(y, 0, h - 1.01)
    x0, y0 = x.astype(np.int64), y.astype(np.int64)
    fx, fy = (x - x0)[:, None], (y - y0)[:, None]
    top = picture[y0, x0] * (1 - fx) + picture[y0, x0 + 1] * fx
    low = picture[y0 + 1, x0] * (1 - fx) + picture[y0 + 1, x0 + 1] * fx
    return np.asarray(top * (1 - fy) + low * fy, np.float32)
