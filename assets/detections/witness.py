"""Pictures together with what is in them: the painter of the demo cases, with a second pass that keeps whose pixel is whose."""

from __future__ import annotations

import math
from dataclasses import dataclass

import bodies
import numpy as np
import render
from kit import Scene
from light import LOOKS, dome, sun_direction
from PIL import Image, ImageDraw

render.WIDTH, render.HEIGHT, render.FOCAL, render.CX, render.CY = 480, 300, 340.0, 240.0, 132.0
"""A smaller picture and a longer lens than in the demo cases."""
WIDTH, HEIGHT, OVER = render.WIDTH, render.HEIGHT, render.OVER
CLASSES = ("person", "cyclist", "car", "van", "truck", "bus", "traffic light")
CLASS_OF = {"person": 0, "cyclist": 1, "sedan": 2, "suv": 2, "van": 3, "truck": 4, "bus": 5, "signal": 6}
LEAST_PX, LEAST_SHARE = 24.0, 0.25
"""Seen pixels, and share of the pixels inside the frame, below which nobody would draw a box: an ignore region instead."""

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Thing:
    """One object in a picture.

    Attributes:
        cls: Index into `CLASSES`; -1 for what only a detector may mistake for an object.
        what: "object", or what the thing is that may be mistaken: "post", "trunk", "lamp", "mirrored".
        box: Left, top, right, bottom of the whole object inside the frame, px; covered parts too.
        seen: The same of the visible part, None if nothing is seen.
        pixels: Visible pixels.
        covered: Share of the object inside the frame that others hide.
        cut: Share of the object's outline that lies outside of the frame.
        metres: Distance.
        clear: Whether it is plain enough for a box; ignore region otherwise.
    """

    cls: int
    what: str
    box: Box
    seen: Box | None
    pixels: float
    covered: float
    cut: float
    metres: float
    clear: bool


class Witness(render.Painter):
    """Draws frames of one street and says what is in them; the ground is drawn once."""

    _stamp: tuple[int, int, int] | None = None

    def frame(self, view: render.View, scene: Scene, ahead: float, seed: int) -> tuple[Image.Image, list[Thing]]:
        """The picture of the street with a scene's weather and traffic, from `ahead` m along it, and the things in it."""
        self.scene, self.look = scene, LOOKS[scene.look]
        self.sky, self.sun = dome(self.look, seed), sun_direction(self.look)
        shift = np.array([ahead, 0.0])
        eye = view.origin[:2] + shift
        owners: dict[int, tuple[int, str]] = {}
        shown: list[bodies.Body] = []
        for i, prop in enumerate(scene.props):
            made = bodies.of_prop(prop, self.look, eye, scene.seed * 1000 + i)
            shown += made
            what = {"pole": "post", "lamp": "post", "tree": "trunk", "delineator": "post"}.get(prop.kind)
            if prop.kind == "signal":
                owners |= {id(b): (10_000 + 10 * i + k, "signal") for k, b in enumerate(made) if b.lift > 0}
            elif what:
                owners[id(made[0])] = (10_000 + 10 * i, what)
                if prop.kind == "lamp" and self.look.lamps:
                    owners[id(made[1])] = (10_000 + 10 * i + 1, "lamp")
        for i, actor in enumerate(scene.actors):
            made = bodies.of_actor(actor, self.look, 0.0, eye)
            shown += made
            owners |= {id(b): (i + 1, actor.kind) for b in made}
        ordered = self._ordered(shown, eye)
        picture = self._paint(view, shift, ordered, seed)
        return picture, self._things(view, shift, ordered, owners)

    def _paint(self, view: render.View, shift: np.ndarray, ordered: list[bodies.Body], seed: int) -> Image.Image:
        glows: list[tuple[float, float, float, tuple[int, int, int]]] = []
        above = self.sky[view.sky_at].astype(np.float32)
        image = self._ground(view, shift, ordered, above)
        if self.look.wet:
            image = self._mirrored(view, shift, ordered, above, image)
        d = ImageDraw.Draw(image)
        for body in ordered:
            self._body(d, view, shift, body, glows)
        self.scene.seed = seed  # of the grain and the rain
        return self._finish(self._lamps(image, glows), view.name, 0.0)

    def _hazed(self, colour, world, view, shift):  # type: ignore[no-untyped-def]
        """The colour after haze, or a stamp of whose pixel it is."""
        return super()._hazed(colour, world, view, shift) if self._stamp is None else self._stamp

    def _things(self, view: render.View, shift: np.ndarray, ordered: list[bodies.Body], owners: dict[int, tuple[int, str]]) -> list[Thing]:
        size = (WIDTH * OVER, HEIGHT * OVER)
        keys = {key: n + 1 for n, key in enumerate(dict.fromkeys(owners.values()))}
        stamps = Image.new("RGB", size)
        d = ImageDraw.Draw(stamps)
        parts: dict[tuple[int, str], list[bodies.Body]] = {key: [] for key in keys}
        for body in ordered:
            owner = owners.get(id(body))
            n = keys[owner] if owner else 0
            self._stamp = (n & 255, n >> 8, 0)
            self._body(d, view, shift, body, [])
            if owner:
                parts[owner].append(body)
        painted = np.asarray(stamps).astype(np.int32)
        whose = painted[..., 0] + 256 * painted[..., 1]
        out = []
        for (_, kind), made in parts.items():
            n = keys[_, kind]
            alone = Image.new("RGB", size)
            d = ImageDraw.Draw(alone)
            self._stamp = (255, 0, 0)
            for body in made:
                self._body(d, view, shift, body, [])
            thing = self._thing(kind, np.asarray(alone)[..., 0] > 0, whose == n, self._outline(view, shift, made), made, view, shift)
            if thing is not None:
                out.append(thing)
        self._stamp = None
        return out

    def _outline(self, view: render.View, shift: np.ndarray, made: list[bodies.Body]) -> Box | None:
        """Left, top, right, bottom of the bodies, beyond the frame too; None where they reach behind the camera."""
        points = []
        for b in made:
            c, s = math.cos(b.pose[2]), math.sin(b.pose[2])
            turn = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1.0]])
            spots = [f.points for f in b.faces] + [p[0][None] for p in b.blobs]
            points += [np.vstack(spots) @ turn + np.array([b.pose[0], b.pose[1], b.lift])] if spots else []
        at = view.camera(np.vstack(points), shift)
        if (at[:, 2] < render.NEAR).any():
            return None
        q = np.array(render.pixels(at)) / OVER
        return float(q[:, 0].min()), float(q[:, 1].min()), float(q[:, 0].max()), float(q[:, 1].max())

    def _thing(self, kind, whole, visible, outline, made, view, shift) -> Thing | None:  # type: ignore[no-untyped-def]
        box, seen = extent(whole), extent(visible)
        metres = float(np.hypot(*(np.array(made[0].pose[:2]) - view.origin[:2] - shift)))
        if box is None:
            return None
        inside = (box[2] - box[0]) * (box[3] - box[1])
        cut = 0.5
        if outline is not None:
            cut = max(0.0, 1 - inside / max(1e-6, (outline[2] - outline[0]) * (outline[3] - outline[1])))
        pixels = float(visible.sum()) / OVER**2
        covered = 1 - float(visible.sum()) / float(whole.sum())
        large = box[3] - box[1] >= 5 and box[2] - box[0] >= 3
        clear = large and pixels >= LEAST_PX and 1 - covered >= LEAST_SHARE and (cut < 0.85 or pixels > 1500)
        if kind not in CLASS_OF:
            return Thing(-1, kind, box, seen, pixels, covered, cut, metres, clear) if seen and pixels > 4 else None
        if seen is None or pixels < 2:
            return None
        return Thing(CLASS_OF[kind], "object", box, seen, pixels, covered, cut, metres, clear)


def extent(mask: np.ndarray) -> Box | None:
    """Left, top, right, bottom of what is set, in px of the picture."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        return None
    return columns[0] / OVER, rows[0] / OVER, (columns[-1] + 1) / OVER, (rows[-1] + 1) / OVER
