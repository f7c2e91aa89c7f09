"""Streets, and what happens on them: the traffic, the people and the weather of each frame, by seed."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from kit import Actor, Colour, Line, Scene
from roads import CARS, LANE, Street, around, junction
from scenes_junction import signals

FRAMES = 15
"""Frames of a street."""
LOOKS = (
    "day",
    "day",
    "bright",
    "overcast",
    "morning",
    "dusk",
    "night",
    "night",
    "night",
    "fog",
    "fog",
    "rain",
    "overcast",
    "bright",
    "rain",
)
"""Weather and light of a street's frames, each street in its own order."""
STILL = ((-1.0, 0.0), (5.0, 0.0))
COATS: tuple[Colour, ...] = (
    *((150, 60, 70), (60, 84, 130), (46, 48, 54), (206, 200, 190), (92, 110, 72), (222, 190, 60)),
    *((120, 70, 120), (70, 72, 80), (36, 40, 60), (170, 90, 50)),
)
VANS: tuple[Colour, ...] = ((226, 228, 230), (226, 196, 70), (120, 140, 160), (210, 212, 214), (90, 96, 104))
TRUCKS: tuple[Colour, ...] = ((212, 166, 52), (206, 208, 212), (60, 104, 140), (150, 60, 52))
BUSES: tuple[Colour, ...] = ((178, 60, 52), (60, 110, 150), (222, 170, 60))


@dataclass(frozen=True, eq=False)
class Place:
    """A street without traffic.

    Attributes:
        scene: What it is built of.
        street: Where its lanes are.
        base: The ground beneath everything.
        kind: "town", "avenue", "suburb", "country" or "junction".
    """

    scene: Scene
    street: Street
    base: str
    kind: str


def places(seed: int, count: int) -> list[Place]:
    """Streets of all kinds, in turn."""
    makers = (_town, _junction, _avenue, _suburb, _junction, _town, _country, _avenue)
    return [makers[i % len(makers)](seed * 100 + i) for i in range(count)]


def _scene(seed: int) -> Scene:
    return Scene(f"street-{seed}", "day", "", STILL, np.zeros(0), seed=seed)


def _town(seed: int) -> Place:
    s, rng = _scene(seed), np.random.default_rng([seed, 1])
    road = Street(s, right=[("parking", 2.3)], left=[("opposite", LANE), ("parking", 2.3)])
    road.town(rng)
    road.trees(rng, int(rng.choice([-1, 1])), -40, 110, (road.left if rng.random() < 0.5 else road.right) * 1.12, 17.0, (4.5, 6.5))
    return Place(s, road, "paving", "town")


def _avenue(seed: int) -> Place:
    s, rng = _scene(seed), np.random.default_rng([seed, 1])
    road = Street(s, left=[("lane", LANE), ("opposite", LANE), ("opposite", LANE)], yellow="double", verge="grass")
    road.town(rng, shops=False, high=(6.0, 12.0))
    for side, edge in ((1, road.left), (-1, road.right)):
        road.trees(rng, side, -60, 112, edge + side * 0.85, 12.0, (5.0, 7.5))
    return Place(s, road, "grass", "avenue")


def _suburb(seed: int) -> Place:
    s, rng = _scene(seed), np.random.default_rng([seed, 1])
    road = Street(s, right=[("bike", 1.7)], left=[("opposite", LANE)], verge="grass")
    road.suburb(rng)
    road.lamps()
    return Place(s, road, "grass", "suburb")


def _country(seed: int) -> Place:
    s, rng = _scene(seed), np.random.default_rng([seed, 1])
    road = Street(s, right=[("shoulder", 1.6)], left=[("opposite", LANE), ("shoulder", 1.6)], walk=0.0)
    road.woods(rng)
    for k in range(8):
        road.add("delineator", -20.0 + 18 * k, road.right - 0.5, size=(0.1, 0.1, 1.0), colour=(230, 230, 230))
    return Place(s, road, "dry_grass", "country")


def _junction(seed: int) -> Place:
    s, rng = _scene(seed), np.random.default_rng([seed, 1])
    x = float(rng.uniform(32.0, 44.0))
    road = Street(s, left=[("lane", LANE), ("opposite", LANE), ("opposite", LANE)], gaps=[around(x)], yellow="double")
    junction(s, x, road).town(rng, clear=15.0)
    road.crosswalk(x - LANE - 4.4)
    road.crosswalk(x + LANE + 1.4)
    road.stop_line(x - LANE - 5.6, LANE * 1.5, -LANE / 2)
    road.town(rng)
    state = str(rng.choice(["red", "green"]))
    signals(s, road, x, state, "green" if state == "red" else "red")
    return Place(s, road, "paving", "junction")


def frames(place: Place) -> list[tuple[Scene, float]]:
    """The frames of a street: scene with its weather and traffic, and how far along the street the camera stands (m)."""
    rng = np.random.default_rng([place.scene.seed, 2])
    looks = [LOOKS[i] for i in rng.permutation(len(LOOKS))]
    return [_frame(place, looks[k % len(looks)], np.random.default_rng([place.scene.seed, 3, k])) for k in range(FRAMES)]


def _frame(place: Place, look: str, rng: np.random.Generator) -> tuple[Scene, float]:
    ahead = float(rng.uniform(-34.0, 26.0)) if place.kind != "junction" else float(rng.uniform(-28.0, 14.0))
    busy = float(rng.choice([0.5, 1.0, 1.7]))
    actors = [*_vehicles(place, ahead, busy, rng), *_parked(place, ahead, rng), *_people(place, ahead, busy, rng)]
    scene = dataclasses.replace(place.scene, look=look, actors=actors, props=list(place.scene.props))
    return scene, ahead


def _kind(rng: np.random.Generator) -> tuple[str, Colour]:
    kind = str(rng.choice(["sedan", "suv", "van", "truck", "bus"], p=[0.42, 0.2, 0.16, 0.13, 0.09]))
    colours = {"van": VANS, "truck": TRUCKS, "bus": BUSES}.get(kind, CARS)
    return kind, colours[int(rng.integers(len(colours)))]


def _vehicles(place: Place, ahead: float, busy: float, rng: np.random.Generator) -> list[Actor]:
    """Moving traffic in every lane, from near to far."""
    out = []
    for use, left, right in place.street.strips:
        if use not in ("lane", "opposite"):
            continue
        n = (left + right) / 2
        own = abs(n) < 0.5
        s = ahead + float(rng.uniform(9, 34) if own else rng.uniform(5, 26))
        while s < ahead + 78:
            kind, colour = _kind(rng)
            side = n + float(rng.uniform(-0.35, 0.35))
            line = Line((s, side, 0.0)) if use == "lane" else Line((s, side, math.pi))
            marks = ("brake",) if use == "lane" and rng.random() < 0.4 else ()
            out.append(Actor(kind, line, 0.0, ((-1.0, 8.0), (5.0, 8.0)), colour=colour, attributes=marks))
            s += {"truck": 10, "bus": 14}.get(kind, 7) + float(rng.exponential(30 / busy)) + 2.5
    for use, left, right in place.street.strips:
        n = (left + right) / 2 if use in ("bike", "shoulder") else None
        if n is None and not (use == "lane" and right == min(r for u, _, r in place.street.strips if u == "lane")):
            continue
        if rng.random() < (0.75 if use == "bike" else 0.3):
            for _ in range(int(rng.integers(1, 4))):
                s = ahead + float(rng.uniform(7, 45))
                out.append(Actor("cyclist", Line((s, n if n is not None else right + 0.55, 0.0)), 0.0, ((-1.0, 4.0), (5.0, 4.0)),
                                 colour=COATS[int(rng.integers(len(COATS)))]))  # fmt: skip
    return out


def _parked(place: Place, ahead: float, rng: np.random.Generator) -> list[Actor]:
    """Rows of parked vehicles where there is a strip for them."""
    out = []
    for use, left, right in place.street.strips:
        if use != "parking":
            continue
        n, full = (left + right) / 2, float(rng.uniform(0.35, 0.95))
        s = ahead + float(rng.uniform(3, 9))
        while s < ahead + 62:
            if rng.random() < full:
                kind = str(rng.choice(["sedan", "suv", "van"], p=[0.55, 0.3, 0.15]))
                colours = VANS if kind == "van" else CARS
                line = Line((s, n + float(rng.uniform(-0.1, 0.1)), 0.0 if n < 0 else math.pi))
                out.append(Actor(kind, line, 0.0, STILL, colour=colours[int(rng.integers(len(colours)))], attributes=("parked",)))
            s += float(rng.uniform(5.9, 7.4))
    return out


def _people(place: Place, ahead: float, busy: float, rng: np.random.Generator) -> list[Actor]:
    """People on the walks, alone and in groups; some step onto the street between parked cars; some cross at a junction."""
    if place.kind == "country":
        return []
    out = []
    for side, edge in ((1, place.street.left), (-1, place.street.right)):
        for _ in range(int(rng.poisson(2.1 * busy))):
            s = ahead + float(rng.choice([rng.uniform(6, 28), rng.uniform(14, 55)]))
            n = edge + side * float(rng.uniform(-0.9 if place.kind == "town" else 0.4, 2.6))
            for _ in range(int(rng.choice([1, 1, 2, 3, 5]))):
                out.append(_person(s + float(rng.normal(0, 0.9)), n + float(rng.normal(0, 0.45)), float(rng.uniform(0, 6.28)), rng))
    if rng.random() < (0.6 if place.kind == "junction" else 0.22):
        s = ahead + float(rng.uniform(11, 32))
        for _ in range(int(rng.integers(1, 5))):
            n = float(rng.uniform(place.street.right, place.street.left))
            out.append(_person(s + float(rng.normal(0, 0.8)), n, math.pi / 2, rng))
    return out


def _person(x: float, y: float, heading: float, rng: np.random.Generator) -> Actor:
    speed = float(rng.choice([0.0, 1.3]))
    return Actor("person", Line((x, y, heading)), 0.0, ((-1.0, speed), (5.0, speed)), colour=COATS[int(rng.integers(len(COATS)))])
