"""Every thing of a scene at a time as bodies that a picture is painted from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import figures
import numpy as np
import solids
from figures import Blob
from kit import SIZES, Actor, Prop, Scene
from light import Look
from solids import Facade, Face


@dataclass(eq=False)
class Body:
    """Faces and blobs in a frame of their own, and where that frame is.

    Attributes:
        pose: x, y, heading.
        foot: Length, width, height, for shadow and order; zeros without a shadow.
        behind: Drawn before everything else (buildings).
        lift: Height of the frame's ground, m.
        solid: Faces turned away are left out.
    """

    pose: tuple[float, float, float]
    faces: list[Face]
    blobs: list[Blob] = field(default_factory=list)
    foot: tuple[float, float, float] = (0.0, 0.0, 0.0)
    behind: bool = False
    lift: float = 0.0
    shift: tuple[float, float] = (0.0, 0.0)


def of_scene(scene: Scene, look: Look, t: float, eye: np.ndarray) -> list[Body]:
    """All bodies at a time, for a camera at `eye` (x, y in the world)."""
    out: list[Body] = []
    for i, prop in enumerate(scene.props):
        out += of_prop(prop, look, eye, scene.seed * 1000 + i)
    for actor in scene.actors:
        out += of_actor(actor, look, t, eye)
    return out


def _right(x: float, y: float, eye: np.ndarray) -> np.ndarray:
    d = np.array([x, y]) - eye
    d = d / max(1e-6, float(np.hypot(*d)))
    return np.array([d[1], -d[0], 0.0])


def of_actor(a: Actor, look: Look, t: float, eye: np.ndarray) -> list[Body]:
    """A road user."""
    x, y, yaw = a.at(t)
    _, length, width, height = SIZES[a.kind]
    foot, pose = (length, width, height), (x, y, yaw)
    if a.kind in ("sedan", "suv", "van"):
        lit = look.lamps and "parked" not in a.attributes
        return [Body(pose, solids.car(a.kind, length, width, a.colour, a.attributes, lit), foot=foot)]
    if a.kind == "truck":
        frame, cargo, head = solids.truck(length, width, height, a.colour, a.attributes)
        front = (math.cos(yaw), math.sin(yaw))
        d = np.array([x, y]) - eye
        parts = [Body(pose, frame, foot=foot), Body(pose, cargo), Body(pose, head)]
        if float(d @ np.array(front)) < 0:  # seen from the front: the cab covers the cargo body, else the other way round
            return parts
        return [parts[0], parts[2], parts[1]]
    if a.kind == "bus":
        return [Body(pose, solids.bus(length, width, height, a.colour, a.attributes), foot=foot)]
    vx, vy = a.velocity(t)
    speed = math.hypot(vx, vy)
    right = _right(x, y, eye)
    if a.kind == "person":
        side = 0.0 if speed < 0.1 else float(np.array([vx, vy]) @ right[:2]) / speed
        stride = math.sin(t * 2 * math.pi * 0.95 + a.s) if speed > 0.1 else 0.12
        faces, blobs = figures.person(right, a.colour, height, stride, side if speed > 0.1 else 0.5)
        return [Body((x, y, 0.0), faces, blobs, foot=(0.4, 0.4, height))]
    c, s = math.cos(-yaw), math.sin(-yaw)
    local = np.array([c * right[0] - s * right[1], s * right[0] + c * right[1], 0.0])
    faces, blobs = figures.cyclist(local, a.colour, t * 7.0)
    return [Body(pose, faces, blobs, foot=(1.7, 0.5, 1.7))]


def of_prop(p: Prop, look: Look, eye: np.ndarray, seed: int) -> list[Body]:
    """A thing that stays where it is."""
    length, width, height = p.size
    pose, still = (p.x, p.y, p.yaw), (p.x, p.y, 0.0)
    right = _right(p.x, p.y, eye)
    lit = 0.0 if not look.lamps else 0.24
    if p.kind == "building":
        f = Facade(p.colour, lit=lit, seed=seed, shop=p.attributes.get("shop"), bay=p.attributes.get("bay", 2.6),
                   window=p.attributes.get("window", (1.3, 1.6)))  # fmt: skip
        return [Body(pose, solids.building(length, width, height, f), foot=p.size, behind=True)]
    if p.kind == "house":
        roof = p.attributes.get("roof", (120, 74, 58))
        return [Body(pose, solids.house(length, width, p.colour, roof, seed, lit), foot=(length, width, 4.5), behind=True)]
    if p.kind == "tree":
        faces, blobs = figures.tree(right, height, p.colour, seed)
        return [Body(still, faces, blobs, foot=(1.9, 1.9, height * 0.7))]
    if p.kind == "lamp":
        post, _ = figures.pole(right, height, p.colour, 0.0, look.lamps)
        arm, glow = figures.lamp_arm(height, 1.9 if p.y < 0 else -1.9, p.colour, look.lamps)
        return [Body(still, post, foot=(0.16, 0.16, height)), Body(still, arm, glow)]
    if p.kind in ("pole", "delineator"):
        post = figures.pole(right, height, p.colour, 0.0, False)[0]
        if p.kind == "delineator":
            at = figures.upright(right)
            post.append(
                Face(
                    at((-0.06, height - 0.25), (0.06, height - 0.25), (0.06, height - 0.1), (-0.06, height - 0.1)), (230, 90, 40), both=True
                )
            )
        return [Body(still, post, foot=(0.16, 0.16, height))]
    if p.kind == "cone":
        return [Body(still, figures.cone(right, height), foot=(0.4, 0.4, height * 0.6))]
    if p.kind == "drum":
        return [Body(still, figures.drum(right), foot=(0.55, 0.55, 1.0))]
    if p.kind == "barrier":
        return [Body(pose, figures.barrier(length), foot=(length, 0.6, 0.9))]
    if p.kind == "board":
        return [Body(pose, figures.striped_board(width), foot=(0.2, width, 1.2))]
    if p.kind == "stop_sign":
        return [Body(pose, figures.stop_sign(), foot=(0.1, 0.5, 2.5))]
    if p.kind == "warning":
        return [Body(pose, figures.diamond(p.colour), foot=(0.1, 0.6, 2.4))]
    if p.kind == "signal":
        return _signal(p, right, eye)
    if p.kind == "rail":
        faces = solids.box(-length / 2, length / 2, 0.1, 0.48, 0.78, (186, 190, 192))
        post = solids.box(-0.08, 0.08, 0.12, 0.0, 0.6, (140, 144, 146))
        return [Body(pose, post), Body(pose, faces, foot=(length, 0.15, 0.7))]
    if p.kind in ("hedge", "wall", "box"):
        return [
            Body(pose, solids.box(-length / 2, length / 2, width, 0.0, height, p.colour, roof=solids.shade(p.colour, 1.12)), foot=p.size)
        ]
    raise ValueError(f"nothing is known about how to draw {p.kind!r}")


def _signal(p: Prop, right: np.ndarray, eye: np.ndarray) -> list[Body]:
    """A mast beside the road with an arm across it and two heads, or a head on the mast alone."""
    reach = float(p.attributes.get("arm", 0.0))
    grey = (74, 78, 82)
    mast = figures.pole(right, p.size[2], grey, 0.0, False)[0]
    state = str(p.attributes["state"])
    c, s = math.cos(p.yaw), math.sin(p.yaw)
    to = eye - np.array([p.x, p.y])
    faced = float(to @ np.array([-c, -s])) > 0.6 * float(np.hypot(*to))  # lamps have hoods: nothing is seen from the side
    out = [Body((p.x, p.y, 0.0), mast, foot=(0.2, 0.2, p.size[2]))]
    if reach:
        z = p.size[2] - 0.2
        arm = [Face(solids.quad((0, 0, z), (0, reach, z + 0.15), (0, reach, z + 0.27), (0, 0, z + 0.18)), grey, both=True)]
        out.append(Body((p.x, p.y, p.yaw), arm))
        for y in (reach * 0.52, reach * 0.95):
            faces, blobs = figures.signal_head(state)
            out.append(Body((p.x - s * y - 0.1 * c, p.y + c * y - 0.1 * s, p.yaw), faces, blobs if faced else [], lift=z - 1.0))
    faces, blobs = figures.signal_head(state)
    blobs = blobs if faced else []
    out.append(Body((p.x - 0.16 * c, p.y - 0.16 * s, p.yaw), faces, blobs, lift=2.6))
    return out
