"""Pictures of a scene: sky, ground with shadows, bodies from far to near, haze, lamps, grain. Own drawing, no picture of anybody."""

from __future__ import annotations

import math
import zlib

import ground
import numpy as np
from bodies import Body, of_scene
from kit import Scene, travelled
from light import LOOKS, dome, sun_direction
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

WIDTH, HEIGHT, OVER = 640, 400, 2
FOCAL, CX, CY = 400.0, 320.0, 176.0
NEAR = 0.35
PLACES: dict[str, tuple[float, float, float, float]] = {
    "front_left": (1.7, 0.45, 1.55, 55.0),
    "front": (1.8, 0.0, 1.55, 0.0),
    "front_right": (1.7, -0.45, 1.55, -55.0),
    "rear_left": (-0.4, 0.45, 1.55, 125.0),
    "rear": (-0.7, 0.0, 1.55, 180.0),
    "rear_right": (-0.4, -0.45, 1.55, -125.0),
}
"""Where each camera is in the ego frame (x, y, z in m) and where it looks (degrees to the left of x). Pinhole, no distortion."""


def intrinsics() -> np.ndarray:
    """The camera matrix, shape (3, 3), px."""
    return np.array([[FOCAL, 0, CX], [0, FOCAL, CY], [0, 0, 1.0]])


def extrinsics(name: str) -> np.ndarray:
    """Camera to ego, shape (4, 4)."""
    x, y, z, yaw = PLACES[name]
    a = math.radians(yaw)
    out = np.eye(4)
    out[:3, :3] = np.array([[math.sin(a), 0, math.cos(a)], [-math.cos(a), 0, math.sin(a)], [0, -1.0, 0]])
    out[:3, 3] = (x, y, z)
    return np.round(out, 9) + 0.0


class View:
    """One camera: its rays, and where they meet the ground."""

    def __init__(self, name: str) -> None:
        """Work out what stays the same in all pictures of a camera."""
        self.name = name
        x, y, z, _ = PLACES[name]
        self.origin = np.array([x, y, z])
        self.turn = extrinsics(name)[:3, :3]
        v, u = np.mgrid[0 : HEIGHT * OVER, 0 : WIDTH * OVER]
        rays = np.stack([((u + 0.5) / OVER - CX) / FOCAL, ((v + 0.5) / OVER - CY) / FOCAL, np.ones(u.shape)], axis=-1) @ self.turn.T
        self.seen = ground.Seen(self.origin, np.float64(1 / FOCAL / OVER), rays)
        azimuth = (np.degrees(np.arctan2(rays[..., 1], rays[..., 0])) * 4).astype(np.int64) % 1440
        rise = np.degrees(np.arctan2(rays[..., 2], np.hypot(rays[..., 0], rays[..., 1])))
        self.sky_at = (np.clip(rise * 4, 0, 239).astype(np.int64), azimuth)

    def camera(self, world: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """World points, shape (N, 3), in the frame of the camera of an ego vehicle that stands at `shift`."""
        return (world - self.origin - np.array([*shift, 0.0])) @ self.turn


def clipped(p: np.ndarray) -> np.ndarray:
    """A polygon in the camera's frame, cut at the near plane."""
    if (p[:, 2] >= NEAR).all():
        return p
    out = []
    for a, b in zip(p, np.roll(p, -1, axis=0), strict=True):
        if a[2] >= NEAR:
            out.append(a)
        if (a[2] >= NEAR) != (b[2] >= NEAR):
            out.append(a + (b - a) * (NEAR - a[2]) / (b[2] - a[2]))
    return np.array(out).reshape(-1, 3)


def pixels(p: np.ndarray) -> list[tuple[float, float]]:
    """Pixels (of the larger picture) of points in the camera's frame."""
    return [(OVER * (CX + FOCAL * x / z), OVER * (CY + FOCAL * y / z)) for x, y, z in p]


def _corners(b: Body) -> list[tuple[float, float]]:
    """Corners of a body's footprint relative to its place."""
    c, s = math.cos(b.pose[2]), math.sin(b.pose[2])
    half = ((b.foot[0] / 2 * i, b.foot[1] / 2 * j) for i in (-1, 1) for j in (-1, 1))
    return [(u * c - v * s, u * s + v * c) for u, v in half]


def _between(eye: np.ndarray, spot: tuple[float, float], wall: Body) -> bool:
    """Whether a building stands between the eye and a spot on the ground."""
    x, y, yaw = wall.pose
    c, s = math.cos(yaw), math.sin(yaw)
    a = ((eye[0] - x) * c + (eye[1] - y) * s, (eye[1] - y) * c - (eye[0] - x) * s)
    b = ((spot[0] - x) * c + (spot[1] - y) * s, (spot[1] - y) * c - (spot[0] - x) * s)
    low, high = 0.0, 0.999
    for p, q, half in zip(a, b, (wall.foot[0] / 2, wall.foot[1] / 2), strict=True):
        if abs(q - p) < 1e-9:
            if abs(p) > half:
                return False
            continue
        t0, t1 = sorted(((-half - p) / (q - p), (half - p) / (q - p)))
        low, high = max(low, t0), min(high, t1)
    return low < high


class Painter:
    """Draws the pictures of one scene."""

    def __init__(self, scene: Scene, base: str) -> None:
        """Draw the ground and the sky once."""
        self.scene, self.look = scene, LOOKS[scene.look]
        self.levels = ground.smaller(ground.picture(scene, base))
        self.base = np.array(ground.MATERIALS[base][0], np.float32)
        self.sky = dome(self.look, scene.seed)
        self.sun = sun_direction(self.look)

    def draw(self, view: View, t: float) -> Image.Image:
        """The picture of a camera at a time (s, 0 or before)."""
        shift = np.array([travelled(self.scene.speed, t), 0.0])
        eye = view.origin[:2] + shift
        bodies = self._ordered(of_scene(self.scene, self.look, t, eye), eye)
        glows: list[tuple[float, float, float, tuple[int, int, int]]] = []
        above = self.sky[view.sky_at].astype(np.float32)
        image = self._ground(view, shift, bodies, above)
        if self.look.wet:
            image = self._mirrored(view, shift, bodies, above, image)
        d = ImageDraw.Draw(image)
        for body in bodies:
            self._body(d, view, shift, body, glows)
        image = self._lamps(image, glows)
        return self._finish(image, view.name, t)

    def _ordered(self, bodies: list[Body], eye: np.ndarray) -> list[Body]:
        """From far to near; what a building covers comes before that building."""

        def gap(b: Body) -> float:
            x, y, yaw = b.pose
            d = eye - np.array([x, y])
            c, s = math.cos(yaw), math.sin(yaw)
            along, across = abs(d[0] * c + d[1] * s), abs(d[1] * c - d[0] * s)
            return math.hypot(max(0.0, along - b.foot[0] / 2), max(0.0, across - b.foot[1] / 2))

        walls = sorted((b for b in bodies if b.behind), key=gap, reverse=True)
        before: list[list[Body]] = [[] for _ in range(len(walls) + 1)]
        for b in sorted((b for b in bodies if not b.behind), key=gap, reverse=True):
            spots = [(b.pose[0] + u, b.pose[1] + v) for u, v in ((0.0, 0.0), *_corners(b))]
            covered = next((i for i, w in enumerate(walls) if any(_between(eye, spot, w) for spot in spots)), len(walls))
            before[covered].append(b)
        return [*(b for i, w in enumerate(walls) for b in (*before[i], w)), *before[-1]]

    def _ground(self, view: View, shift: np.ndarray, bodies: list[Body], above: np.ndarray) -> Image.Image:
        look, seen = self.look, view.seen
        colours = seen.colours(self.levels, shift.astype(np.float32), self.base)
        light = (look.ambient + look.direct * max(0.0, self.sun[2])) * np.array(look.tint, np.float32)
        mask = self._shadows(view, shift, bodies)
        dark = mask[seen.rows, seen.columns].astype(np.float32)[:, None] / 255 * look.shadow
        colours = colours * light * (1 - dark)
        if look.wet:
            colours *= 0.74
        haze = np.exp(-seen.distance / look.haze_m)[:, None]
        out = above.copy()
        out[seen.rows, seen.columns] = colours * haze + np.array(look.low, np.float32) * (1 - haze)
        return Image.fromarray(np.clip(out, 0, 255).astype(np.uint8))

    def _shadows(self, view: View, shift: np.ndarray, bodies: list[Body]) -> np.ndarray:
        layer = Image.new("L", (WIDTH * OVER, HEIGHT * OVER), 0)
        d = ImageDraw.Draw(layer)
        down = self.sun[:2] / max(0.25, self.sun[2])
        for b in bodies:
            length, width, height = b.foot
            if not height:
                continue
            x, y, yaw = b.pose
            c, s = math.cos(yaw), math.sin(yaw)
            corners = np.array([(length, width), (-length, width), (-length, -width), (length, -width)]) / 2
            foot = corners @ np.array([[c, s], [-s, c]]) + (x, y)
            if self.look.direct > 0.3:
                thrown = foot - down * height * 0.92
                for i in range(4):
                    self._dark(d, view, shift, np.array([foot[i], foot[i - 1], thrown[i - 1], thrown[i]]), 255)
                self._dark(d, view, shift, thrown, 255)
            if not b.behind:
                for grow, tone in ((0.35, 120), (0.12, 235)):
                    wide = (corners + np.sign(corners) * grow) @ np.array([[c, s], [-s, c]]) + (x, y)
                    self._dark(d, view, shift, wide, tone)
        return np.asarray(layer.filter(ImageFilter.GaussianBlur(3)))

    def _dark(self, d: ImageDraw.ImageDraw, view: View, shift: np.ndarray, foot: np.ndarray, tone: int) -> None:
        p = clipped(view.camera(np.column_stack([foot, np.full(len(foot), 0.01)]), shift))
        if len(p) > 2:
            d.polygon(pixels(p), fill=tone)

    def _body(self, d: ImageDraw.ImageDraw, view: View, shift: np.ndarray, body: Body, glows: list) -> None:  # type: ignore[type-arg]
        x, y, yaw = body.pose
        c, s = math.cos(yaw), math.sin(yaw)
        turn = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1.0]])
        foot = np.array([x, y, body.lift])
        eye = (view.origin + np.array([*shift, 0.0]) - foot) @ turn.T
        ahead = (foot - view.origin - np.array([*shift, 0.0])) @ view.turn
        if ahead[2] < -(max(body.foot[:2]) + 4):
            return
        span = body.foot[2] or 2.0
        middle = np.array([0, 0, min(0.8, span / 2)])
        shown = []
        for face in body.faces:
            centre = face.points.mean(0)
            normal = np.cross(face.points[1] - face.points[0], face.points[2] - face.points[0])
            normal = normal / max(1e-9, float(np.linalg.norm(normal)))
            to = eye - centre
            if face.both:
                normal = normal if normal @ to > 0 else -normal
            else:
                normal = normal if normal @ (centre - middle) > 0 else -normal
                if normal @ to <= 0:
                    continue
            shown.append((face, normal, float(np.linalg.norm(to))))
        if not all(f.both for f in body.faces):
            shown.sort(key=lambda f: -f[2])
        for face, normal, _ in shown:
            self._face(d, view, shift, face, normal, turn, foot, glows)
            for decal in face.decals:
                self._face(d, view, shift, decal, normal, turn, foot, glows)
        for centre, radius, colour, shines in body.blobs:
            world = centre @ turn + foot
            p = view.camera(world[None], shift)[0]
            if p[2] < NEAR:
                continue
            (u, v), r = pixels(p[None])[0], OVER * FOCAL * radius / p[2]
            if shines:
                r = max(r, 2.6)  # a lamp is seen far away
            tone = colour if shines else self._lit(colour, np.array([0, 0, 0.75]), world, view, shift)
            d.ellipse((u - r, v - r, u + r, v + r), fill=self._hazed(tone, world, view, shift))
            if shines:
                glows.append((u, v, r, colour))

    def _face(self, d, view, shift, face, normal, turn, foot, glows) -> None:  # type: ignore[no-untyped-def]
        world = face.points @ turn + foot
        p = clipped(view.camera(world, shift))
        if len(p) < 3:
            return
        q = pixels(p)
        us, vs = [a for a, _ in q], [b for _, b in q]
        if max(us) < 0 or min(us) > WIDTH * OVER or max(vs) < 0 or min(vs) > HEIGHT * OVER:
            return
        middle = world.mean(0)
        if face.glow:
            tone = face.colour
            if self.look.lamps and max(vs) - min(vs) < 60:
                glows.append((sum(us) / len(us), sum(vs) / len(vs), max(2.0, (max(us) - min(us)) / 2), face.colour))
        elif face.flat:
            k = 0.55 + 0.45 * (self.look.ambient + self.look.direct * 0.5)
            tone = tuple(int(v * k) for v in face.colour)
        else:
            tone = self._lit(face.colour, normal @ turn, middle, view, shift)
        d.polygon(q, fill=self._hazed(tone, middle, view, shift))

    def _lit(self, colour, normal, world, view, shift):  # type: ignore[no-untyped-def]
        look = self.look
        k = look.ambient * (0.84 + 0.16 * normal[2]) + look.direct * max(0.0, float(normal @ self.sun))
        return tuple(v * k * t for v, t in zip(colour, look.tint, strict=True))

    def _hazed(self, colour, world, view, shift) -> tuple[int, int, int]:  # type: ignore[no-untyped-def]
        away = float(np.hypot(*(world[:2] - view.origin[:2] - shift)))
        k = math.exp(-away / self.look.haze_m)
        return tuple(int(max(0, min(255, v * k + h * (1 - k)))) for v, h in zip(colour, self.look.low, strict=True))  # type: ignore[return-value]

    def _mirrored(self, view: View, shift: np.ndarray, bodies: list[Body], above: np.ndarray, image: Image.Image) -> Image.Image:
        """A wet road: what stands above the horizon shines in it, more so far away."""
        upper = Image.fromarray(np.clip(above, 0, 255).astype(np.uint8))
        d = ImageDraw.Draw(upper)
        for body in bodies:
            self._body(d, view, shift, body, [])
        horizon = int(CY * OVER)
        flipped = upper.crop((0, 0, WIDTH * OVER, horizon)).transpose(Image.Transpose.FLIP_TOP_BOTTOM)
        under = Image.new("RGB", image.size, self.look.low)
        under.paste(flipped, (0, horizon))
        under = under.filter(ImageFilter.GaussianBlur(9))
        rows = np.arange(HEIGHT * OVER)
        share = np.where(rows > horizon, 0.16 + 0.4 * np.exp(-(rows - horizon) / 70.0), 0.0)
        colours = np.asarray(image).astype(np.int16)
        grey = np.clip(2.0 - (colours.max(-1) - colours.min(-1)) / 14.0, 0.0, 1.0)  # asphalt mirrors, grass does not
        mask = Image.fromarray((share[:, None] * grey * 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(2))
        return Image.composite(under, image, mask)

    def _lamps(self, image: Image.Image, glows: list) -> Image.Image:  # type: ignore[type-arg]
        if not glows:
            return image
        layer = Image.new("RGB", image.size)
        d = ImageDraw.Draw(layer)
        for u, v, r, colour in glows:
            r = min(r, 26.0)
            k = 0.55 if self.look.lamps else 0.34
            d.ellipse((u - r * 2.1, v - r * 2.1, u + r * 2.1, v + r * 2.1), fill=tuple(int(c * k) for c in colour))
        return ImageChops.screen(image, layer.filter(ImageFilter.GaussianBlur(9)))

    def _finish(self, image: Image.Image, name: str, t: float) -> Image.Image:
        rng = np.random.default_rng([self.scene.seed, zlib.crc32(f"{name} {t:.2f}".encode())])
        if self.look.rain:
            layer = Image.new("RGB", image.size)
            d = ImageDraw.Draw(layer)
            for u, v, n in zip(
                rng.uniform(0, WIDTH * OVER, 420), rng.uniform(0, HEIGHT * OVER, 420), rng.uniform(14, 46, 420), strict=True
            ):
                d.line((u, v, u - n * 0.12, v + n), fill=(44, 46, 50), width=2)
            image = ImageChops.screen(image, layer.filter(ImageFilter.GaussianBlur(1)))
        small = np.asarray(image.reduce(OVER)).astype(np.float32)
        v, u = np.mgrid[0:HEIGHT, 0:WIDTH]
        edge = 1 - 0.17 * ((u - WIDTH / 2) ** 2 / (WIDTH / 2) ** 2 + (v - HEIGHT / 2) ** 2 / (HEIGHT / 2) ** 2)[..., None] / 2
        grain = rng.normal(0, 1.6, (HEIGHT, WIDTH, 1)).astype(np.float32)
        out = Image.fromarray(np.clip(small * edge + grain, 0, 255).astype(np.uint8))
        d = ImageDraw.Draw(out)
        font = ImageFont.load_default(10)
        for dx, fill in ((1, (0, 0, 0)), (0, (236, 236, 236))):
            d.text((WIDTH - 58 + dx, HEIGHT - 14 + dx), "SYNTHETIC", fill=fill, font=font)
        return out
