"""Two made-up detectors: what they see of the things in a picture, with failures planted by rules that are written down."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from witness import CLASSES, HEIGHT, WIDTH, Box, Thing

BASE_MISS = 0.03
"""Chance that any object is missed for no reason at all."""
DARK, FOGGY, WET = ("night",), ("fog",), ("rain", "fog")
PERSON, VAN, LIGHT = CLASSES.index("person"), CLASSES.index("van"), CLASSES.index("traffic light")
VEHICLES = tuple(CLASSES.index(c) for c in ("car", "van", "truck", "bus"))
CONFUSED = {VAN: ("truck", "car"), CLASSES.index("bus"): ("truck",), CLASSES.index("cyclist"): ("person",)}


@dataclass(frozen=True)
class Detector:
    """Strength of each planted failure in one detector.

    Attributes:
        name: Of the model.
        small: Greatest chance to miss an object for its size; half of it at 11 px, nearly none at 24 px.
        covered: Greatest chance to miss an object for what hides it; reached where 65 % is hidden.
        night: Chance to miss a person or cyclist at night (a fifth of it for vehicles, which have lamps; none for traffic lights).
        fog: Greatest chance to miss an object for fog; it rises with distance.
        cut: Share of box that is lost on a side of objects that the frame cuts.
        loose: Chance that the box of a partly hidden object leaves out most of what is hidden.
        van: Chance that a van is called a truck or a car.
        post: Chance that a post or trunk nearer than 45 m is taken for a person.
        lamp: Chance that a lit street lamp is taken for a traffic light.
        mirrored: Chance that a vehicle's reflection on a wet road is taken for a vehicle.
        stray: Mean number of false boxes a picture that have no reason.
    """

    name: str
    small: float = 0.8
    covered: float = 0.6
    night: float = 0.62
    fog: float = 0.6
    cut: float = 0.34
    loose: float = 0.6
    van: float = 0.24
    post: float = 0.05
    lamp: float = 0.12
    mirrored: float = 0.24
    stray: float = 0.45


BEFORE = Detector("made-up detector, before repair")
AFTER = Detector("made-up detector, after repair", small=0.5, night=0.12, post=0.08)
"""The repair trained on night and on small objects: those failures shrink, the others stay, and more posts are taken for people."""

RULES: tuple[dict[str, Any], ...] = tuple(
    {"id": rule, "error": error, "library": library.split(), "text": text}
    for rule, error, library, text in (
        ("small", "FN", "iv_small", "Small objects are missed, the smaller the more often."),
        ("covered", "FN", "ci_occluded ci_occ_person ci_occ_vehicle", "Partly hidden objects are missed, the more hidden the more often."),
        ("night", "FN", "iv_dark ci_night", "People and cyclists are missed at night."),
        ("fog", "FN", "ci_haze", "Objects are missed in fog, far ones more often."),
        ("cut", "LOC", "iv_trunc_loc", "Boxes of objects that the frame cuts are too short."),
        ("loose", "LOC", "ci_occluded_loc", "Boxes of partly hidden objects leave out most of what is hidden."),
        ("van", "CLS", "sc_van_car", "Vans are called trucks or cars."),
        ("post", "FP", "sc_pole_person", "Posts and trunks are taken for people."),
        ("lamp", "FP", "sc_light_lamp", "Lit street lamps are taken for traffic lights."),
        ("mirrored", "FP", "ci_reflection", "Reflections of vehicles on a wet road are taken for vehicles."),
    )
)
"""What is planted. Rain, crowds, the frame's edge and glare are not: a hypothesis about them holds only where it goes along with these."""


def conditions(t: Thing, look: str, detector: Detector) -> dict[str, float]:
    """Chance that each rule of missing makes the detector miss an object."""
    side = math.sqrt((t.box[2] - t.box[0]) * (t.box[3] - t.box[1]))
    night = 0.0 if look not in DARK or t.cls == LIGHT else detector.night * (0.2 if t.cls in VEHICLES else 1.0)
    return {
        "small": detector.small / (1 + math.exp(math.log2(side / 11.0) / 0.34)),
        "covered": detector.covered * min(1.0, max(0.0, (t.covered - 0.1) / 0.55)),
        "night": night,
        "fog": detector.fog * (1 - math.exp(-((t.metres / 36.0) ** 2))) if look in FOGGY else 0.0,
    }


def detect(things: list[Thing], look: str, detector: Detector, seed: list[int]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Predictions in a picture, and which rule struck where.

    The luck of an object is the same for both detectors, so that they differ by their rules and by a little noise alone.

    Args:
        things: What is in the picture.
        look: Its weather and light.
        detector: Who looks.
        seed: Of the picture.
    """
    own = np.random.default_rng([*seed, 1 + int(detector is AFTER)])
    out: list[dict[str, Any]] = []
    struck: list[dict[str, Any]] = []
    for i, t in enumerate(things):
        luck = np.random.default_rng([*seed, 0, i])
        u = luck.uniform(size=12)
        if t.cls >= 0:
            found, why = _object(t, look, detector, u, luck, own)
        else:
            found, why = _mistaken(t, look, detector, u, own)
        if t.cls in VEHICLES and look in WET and t.metres < 45 and t.seen and u[9] < detector.mirrored * (1 - t.covered):
            x1, _, x2, y2 = t.seen
            low = y2 + 0.62 * (t.seen[3] - t.seen[1])
            found = [*found, _said((x1, y2, x2, low), t.cls, 0.3 + 0.4 * u[10], own, 0.05)]
            why = [*why, "mirrored"]
        struck += [{"thing": i, "rule": w} for w in why]
        out += [f for f in found if f is not None]
    luck = np.random.default_rng([*seed, 3])
    for _ in range(int(luck.poisson(detector.stray))):
        out.append(_stray(luck))
    return sorted(out, key=lambda p: -p["score"]), struck


def _object(t: Thing, look: str, d: Detector, u: Any, luck: Any, own: Any) -> tuple[list[dict[str, Any] | None], list[str]]:
    chances = conditions(t, look, d)
    why = [rule for k, (rule, p) in enumerate(chances.items()) if u[k] < p]
    hard = max(chances.values())
    box, loss = t.box, []
    if not t.clear and u[4] < 0.6:
        return [], []  # an ignore region: sometimes seen, sometimes not, and it counts for nothing
    if why or u[4] < BASE_MISS:
        faint = _said(box, t.cls, 0.04 + 0.18 * u[5], own, 0.1) if u[6] < 0.55 else None
        return [faint], why
    if t.cut > 0.08 and d.cut:
        box, loss = _shorter(box, d.cut * (0.55 + 0.9 * u[7])), ["cut"]
    elif t.covered > 0.2 and t.seen and u[7] < d.loose:
        whole, seen = np.array(box), np.array(t.seen)
        x1, y1, x2, y2 = (float(v) for v in whole + 0.7 * (seen - whole))
        box, loss = (x1, y1, x2, y2), ["loose"]
    score = 0.97 - 0.5 * hard - 0.3 * u[5] ** 2
    said = t.cls
    if t.cls == VAN and u[8] < d.van:
        said, score, loss = CLASSES.index(CONFUSED[VAN][int(u[10] < 0.4)]), score - 0.18, [*loss, "van"]
    elif t.cls in CONFUSED and t.cls != VAN and u[8] < 0.03:
        said = CLASSES.index(CONFUSED[t.cls][0])
    found: list[dict[str, Any] | None] = [_said(box, said, score, own, 0.025)]
    if u[11] < 0.03 and t.box[2] - t.box[0] > 40:
        found.append(_said(_shorter(box, 0.3), said, score - 0.3, own, 0.05))
    return found, loss


def _mistaken(t: Thing, look: str, d: Detector, u: Any, own: Any) -> tuple[list[dict[str, Any] | None], list[str]]:
    """What a detector takes a post, a trunk or a lamp for."""
    if t.seen is None or (not t.clear and t.what != "lamp"):
        return [], []
    if t.what in ("post", "trunk") and t.metres < 45 and u[0] < d.post:
        x1, y1, x2, y2 = t.seen
        high = min(y2 - y1, 340.0 * 1.8 / max(4.0, t.metres))
        middle, wide = (x1 + x2) / 2, max(3.0, 0.34 * high)
        return [_said((middle - wide / 2, y2 - high, middle + wide / 2, y2), PERSON, 0.29 + 0.4 * u[1], own, 0.05)], ["post"]
    if t.what == "lamp" and t.metres < 60 and u[0] < d.lamp:
        x1, y1, x2, y2 = t.seen
        s = max(5.0, 340.0 * 0.5 / max(4.0, t.metres))
        x = x1 if x1 > WIDTH / 2 else x2
        return [_said((x - s / 2, y1 - s, x + s / 2, y1 + s), LIGHT, 0.28 + 0.35 * u[1], own, 0.05)], ["lamp"]
    return [], []


def _stray(luck: Any) -> dict[str, Any]:
    w = float(luck.uniform(7, 60))
    h = w * float(luck.uniform(0.6, 2.2))
    x, y = float(luck.uniform(0, WIDTH - w)), float(luck.uniform(90, HEIGHT - 20))
    return _said((x, y, x + w, y + h), int(luck.integers(len(CLASSES))), float(luck.uniform(0.1, 0.6)), luck, 0.0)  # type: ignore[return-value]


def _shorter(box: Box, share: float) -> Box:
    """The box without a share of its longer side, on the side away from the middle of the frame."""
    x1, y1, x2, y2 = box
    cut = min(0.62, share) * (x2 - x1)
    return (x1 + cut, y1, x2, y2) if (x1 + x2) / 2 < WIDTH / 2 else (x1, y1, x2 - cut, y2)


def _said(box: Box, cls: int, score: float, rng: Any, noise: float) -> dict[str, Any] | None:
    """A prediction with a little noise on its edges; None where nothing of it is left inside the frame."""
    sides = np.array([box[2] - box[0], box[3] - box[1]] * 2)
    x1, y1, x2, y2 = np.array(box) + rng.normal(0, 1, 4) * noise * sides
    x1, x2 = np.clip((x1, x2), 0, WIDTH)
    y1, y2 = np.clip((y1, y2), 0, HEIGHT)
    if x2 - x1 < 1.5 or y2 - y1 < 1.5:
        return None
    bbox = [round(float(v), 1) for v in (x1, y1, x2 - x1, y2 - y1)]
    return {"category": cls, "bbox": bbox, "score": round(float(np.clip(score, 0.01, 0.99)), 3)}
