"""Scenes in town: work zone, parked van, a car that comes across, bicycles, a crosswalk, parked cars, a queue."""

from __future__ import annotations

import math

import numpy as np
from kit import AHEAD, Actor, Line, Plan, Scene, drive, wander
from roads import CARS, LANE, Street, brake

BACK = math.pi


def towards(x: float, y: float = LANE) -> Line:
    """A line of somebody who comes towards the ego vehicle from x."""
    return Line((x, y, BACK))


def still(v: float) -> tuple[tuple[float, float], ...]:
    """The same speed all the time."""
    return ((-1.0, v), (5.0, v))


def work_zone() -> Scene:
    """Cones narrow the lane; a slow car ahead."""
    s = Scene("demo-01", "dusk", "A work zone narrows the lane from the right; the car ahead is slow.", still(7.4), np.zeros(0), seed=101)
    rng = np.random.default_rng(s.seed)
    road = Street(s, right=[("parking", 2.3)], left=[("opposite", LANE), ("parking", 2.3)])
    road.town(rng)
    road.row_of_parked(1, [4.0, 10.6, -9.0, -22.0, 37.0, 52.0], rng, facing=-1)
    for i, x in enumerate(np.arange(14.0, 44.0, 2.1)):
        road.add("cone", x, -1.3 - 0.24 * max(0, 4 - i), size=(0.4, 0.4, 0.75), layer="static")
    for x in (26.0, 30.6, 35.2):
        road.add("barrier", x, -3.0, size=(4.2, 0.6, 0.9), layer="static")
    road.add("board", 45.0, -2.6, size=(0.2, 2.2, 1.3), layer="static")
    road.add("warning", 9.0, -4.5, size=(0.1, 0.1, 2.2), colour=(240, 130, 30), layer="static")
    s.actors += [
        Actor("truck", AHEAD, 55.0, ((0, 0),), side=((0, -2.7),), colour=(212, 166, 52), attributes=("parked", "hazard")),
        Actor("sedan", AHEAD, 31.0, ((-1, 3.2), (1, 2.0), (5, 2.6)), side=((0, 0.45),), colour=CARS[0], attributes=("brake",)),
        Actor("suv", towards(24.0), 0.0, still(8.0), colour=CARS[1]),
        Actor("sedan", AHEAD, -14.0, ((-1, 7.0), (0, 7.0), (3, 2.0), (5, 1.2)), colour=CARS[3]),
        Actor("person", Line((28.5, -5.3, 1.4)), 0.0, still(0.0), colour=(222, 216, 44)),
    ]
    side = ((2.0, 0.0), (14.0, 0.6), (60.0, 0.6))
    s.expert = drive([(0, 7.4), (3.2, 3.0), (5, 2.4)], side)
    s.plans = {
        "altair": Plan(
            drive([(0, 7.4), (3.2, 3.1), (5, 2.2)], ((2, 0), (15, 0.75), (60, 0.75))),
            "N",
            "A hand's breadth more room to the cones, the same braking.",
        ),
        "deneb": Plan(
            drive([(0, 7.4), (3.0, 4.6), (5, 4.4)], ((3, 0), (17, -1.5), (60, -1.5))),
            "Y",
            "The right side of the body runs over the row of cones.",
            ("collision_with_static_objects",),
        ),
        "mira": Plan(
            drive(brake(7.4, 11.0, 2.6)),
            "Y",
            "It stops in the lane though the way along the cones is free and a car follows.",
            ("blocking_traffic_without_necessity",),
        ),
        "vega": Plan(
            drive([(0, 7.4), (5, 8.3)], side),
            "Y",
            "It does not slow down for the car ahead and reaches its rear end within the 5 s.",
            ("following_too_closely", "vehicle_collision_course"),
        ),
    }
    return s


def parked_van() -> Scene:
    """A delivery van stands in the lane."""
    s = Scene(
        "demo-02",
        "day",
        "A delivery van with flashing lamps stands in the lane; nobody comes towards us.",
        still(8.0),
        np.zeros(0),
        seed=102,
    )
    rng = np.random.default_rng(s.seed)
    road = Street(s, left=[("opposite", LANE), ("parking", 2.3)])
    road.town(rng)
    road.row_of_parked(1, [14.0, 20.5, -4.0, -20.0, 46.0, 60.0], rng, facing=-1)
    s.actors += [
        Actor("van", AHEAD, 28.0, ((0, 0),), side=((0, -0.35),), colour=(226, 196, 70), attributes=("parked", "hazard")),
        Actor("person", Line((30.5, -2.6, 0.3)), 0.0, still(0.0), colour=(150, 90, 50)),
        Actor("sedan", AHEAD, -22.0, ((-1, 7.5), (5, 5.0)), colour=CARS[4]),
        Actor("sedan", towards(104.0), 0.0, still(7.0), colour=CARS[2]),
    ]
    side = ((4, 0), (21, 2.9), (40, 2.9), (54, 0))
    s.expert = drive([(0, 8), (2, 6.2), (5, 6.6)], side)
    s.plans = {
        "altair": Plan(wander(s.expert, 1, 0.16), "N", "Nowhere more than a few centimetres from the expert."),
        "deneb": Plan(
            drive([(0, 8), (2, 5.6), (5, 6.2)], ((3, 0), (19, 3.2), (42, 3.2), (56, 0))),
            "N",
            "A little slower and wider around the van; the oncoming car is far away.",
        ),
        "mira": Plan(
            drive(brake(8.0, 20.4, 2.4)),
            "Y",
            "It stops a car's nose behind the van, too near to steer around it afterwards.",
            ("stops_without_escape_room",),
        ),
        "vega": Plan(drive([(0, 8), (5, 7.4)]), "Y", "It drives straight into the standing van.", ("collision_with_stationary_vehicle",)),
    }
    s.rated = [
        (drive([(0, 8), (2, 6.0), (5, 6.4)], ((4, 0), (21, 3.1), (40, 3.1), (54, 0))), 10.0),
        (drive(brake(8, 15.0, 2.4)), 6.0),
        (drive([(0, 8), (5, 8)], ((6, 0), (22, 2.2), (40, 2.2))), 3.0),
    ]
    return s


def oncoming() -> Scene:
    """Somebody overtakes a bus and comes towards the ego vehicle."""
    s = Scene("demo-03", "overcast", "A car overtakes a standing bus and comes towards us in our lane.", still(9.0), np.zeros(0), seed=103)
    rng = np.random.default_rng(s.seed)
    road = Street(s, right=[("parking", 2.3)], left=[("opposite", LANE)])
    road.town(rng, shops=False)
    road.row_of_parked(-1, [-12.0, -19.0, 62.0, 69.0], rng)
    s.actors += [
        Actor("bus", towards(41.0, 3.7), 0.0, ((0, 0),), colour=(178, 60, 52), attributes=("parked", "hazard")),
        Actor("sedan", towards(62.0, 0.0), 0.0, still(7.0), side=((-12, -3.5), (-1, -0.9), (33, -0.9), (47, -3.5)), colour=(226, 228, 230)),
        Actor("person", Line((39.0, 6.6, 3.0)), 0.0, ((-1, 0.0), (5, 0.0)), colour=(60, 84, 130)),
    ]
    side = ((4, 0), (18, -2.3), (60, -2.3))
    s.expert = drive([(0, 9), (0.4, 9), (3.2, 2.4), (5, 1.6)], side)
    s.plans = {
        "altair": Plan(
            drive([(0, 9), (0.4, 9), (3.0, 2.2), (5, 1.2)], ((3, 0), (17, -2.6), (60, -2.6))),
            "N",
            "The same escape into the free strip on the right, slightly earlier.",
        ),
        "deneb": Plan(s.expert.copy(), "N", "Exactly the expert's way."),
        "mira": Plan(
            drive(brake(9, 14.0, 3.2)),
            "U",
            "It stops in its lane instead of giving way; whether the other car gets back in time cannot be told.",
        ),
        "vega": Plan(
            drive([(0, 9), (5, 8.6)]),
            "Y",
            "It holds its lane and speed against the oncoming car: they meet head on.",
            ("vehicle_collision_course",),
        ),
    }
    return s


def bike_lane() -> Scene:
    """A slow car ahead, a bicycle lane beside it."""
    s = Scene("demo-04", "bright", "The car ahead crawls; to the right runs a bicycle lane.", still(7.5), np.zeros(0), seed=104)
    rng = np.random.default_rng(s.seed)
    road = Street(s, right=[("bike", 1.8), ("parking", 2.2)], left=[("opposite", LANE)])
    road.town(rng)
    road.row_of_parked(-1, [8.0, 14.6, 22.0, 35.0, 41.5, -6.0, -20.0], rng)
    s.actors += [
        Actor("suv", AHEAD, 21.0, ((-1, 3.4), (5, 3.0)), colour=CARS[6], attributes=("brake",)),
        Actor("sedan", AHEAD, 29.0, ((-1, 3.4), (5, 3.0)), colour=CARS[5], attributes=("brake",)),
        Actor("cyclist", AHEAD, 31.0, still(4.6), side=((0, -2.65),), colour=(220, 120, 40)),
        Actor("cyclist", AHEAD, -16.0, still(5.0), side=((0, -2.65),), colour=(60, 120, 170)),
        Actor("sedan", towards(36.0), 0.0, still(7.0), colour=CARS[1]),
    ]
    s.expert = drive([(0, 7.5), (2.4, 3.4), (5, 3.0)])
    s.plans = {
        "altair": Plan(drive([(0, 7.5), (2.3, 3.1), (5, 2.9)]), "N", "Half a metre more distance; nothing else differs."),
        "deneb": Plan(
            drive([(0, 7.5), (1.5, 6.4), (5, 6.2)], ((2, 0), (24, -2.4), (60, -2.4))),
            "Y",
            "It passes the slow cars in the bicycle lane, towards a cyclist and past another one.",
            ("driving_in_bike_lane",),
        ),
        "mira": Plan(wander(s.expert, 2, 0.2), "N", "The same way within the width of a hand."),
        "vega": Plan(
            drive([(0, 7.5), (2.4, 7.0), (4.2, 3.6), (5, 3.0)]),
            "Y",
            "It ends a step behind the car ahead at the same speed.",
            ("following_too_closely",),
        ),
    }
    s.rated = [
        (drive([(0, 7.5), (2.4, 3.3), (5, 3.0)]), 10.0),
        (drive([(0, 7.5), (2.0, 2.2), (5, 2.0)]), 7.0),
        (drive([(0, 7.5), (5, 5.2)]), 2.0),
    ]
    return s


def crosswalk() -> Scene:
    """Somebody crosses on a zebra crossing."""
    s = Scene("demo-05", "morning", "A person walks onto the crosswalk from the right.", still(8.4), np.zeros(0), seed=105)
    rng = np.random.default_rng(s.seed)
    road = Street(s, left=[("opposite", LANE)], gaps=())
    road.crosswalk(25.0)
    road.stop_line(23.4)
    road.suburb(rng)
    road.add("warning", 13.0, -2.9, size=(0.1, 0.1, 2.2), colour=(236, 200, 40), layer="static")
    road.lamps(34.0)
    s.actors += [
        Actor("person", Line((26.4, -3.1, math.pi / 2)), 0.0, ((-1, 1.2), (5, 1.4)), colour=(168, 44, 52)),
        Actor("person", Line((27.2, -4.2, math.pi / 2)), 0.0, ((-1, 1.2), (5, 1.3)), colour=(52, 70, 120)),
        Actor("sedan", towards(60.0), 0.0, ((-1, 7.0), (0, 6.5), (3.6, 0.0), (5, 0.0)), colour=CARS[2]),
        Actor("suv", AHEAD, -17.0, ((-1, 8.0), (0, 8), (3.2, 0.8), (5, 0.4)), colour=CARS[7]),
    ]
    s.expert = drive(brake(8.4, 18.4, 2.3))
    s.plans = {
        "altair": Plan(drive(brake(8.4, 17.0, 2.3)), "N", "It stops a stride earlier."),
        "deneb": Plan(
            drive([(0, 8.4), (2.4, 4.4), (5, 5.2)]),
            "Y",
            "It slows down but goes through between the people on the crosswalk.",
            ("failure_to_yield_pedestrian",),
        ),
        "mira": Plan(drive(brake(8.4, 18.2, 1.95)), "N", "It brakes earlier and softer and stops at the same place."),
        "vega": Plan(
            drive([(0, 8.4), (5, 8.6)]), "Y", "It crosses at full speed while somebody is in front of it.", ("failure_to_yield_pedestrian",)
        ),
    }
    s.rated = [(drive(brake(8.4, 18.0, 2.2)), 9.0), (drive(brake(8.4, 15.0, 2.6)), 7.0), (drive([(0, 8.4), (3, 3.0), (5, 3.0)]), 1.0)]
    return s


def narrow() -> Scene:
    """A street between parked cars."""
    s = Scene("demo-06", "day", "A street between parked cars; somebody stands between two of them.", still(7.0), np.zeros(0), seed=106)
    rng = np.random.default_rng(s.seed)
    road = Street(s, right=[("parking", 2.3)], left=[("opposite", LANE), ("parking", 2.3)], verge="grass")
    road.town(rng, shops=False, high=(9.0, 12.0), gap=3.0)
    for side, edge in ((1, road.left), (-1, road.right)):
        road.trees(rng, side, -60, 110, edge + side * 0.8, 15.0, (4.5, 6.0))
    road.row_of_parked(-1, [10.6, 17.0, 27.4, 34.0, 40.6, 47.2, -4.6, -11.4, -18.0], rng)
    road.row_of_parked(1, [7.0, 13.6, 28.0, 34.6, 48.0, -5.0, -12.0], rng, facing=-1)
    s.actors += [
        Actor("person", Line((22.2, -2.4, math.pi / 2)), 0.0, ((-1, 0.0), (5, 0.0)), colour=(46, 110, 90)),
        Actor("sedan", towards(70.0), 0.0, still(6.0), colour=CARS[8]),
    ]
    s.expert = drive([(0, 7), (2.5, 5.4), (5, 5.6)], ((2, 0), (16, 0.35), (60, 0.35)))
    s.plans = {
        "altair": Plan(
            drive([(0, 7), (2.5, 5.1), (5, 5.3)], ((2, 0), (16, 0.45), (60, 0.45))),
            "N",
            "A touch slower and a touch further from the person.",
        ),
        "deneb": Plan(
            drive([(0, 7), (2.5, 5.6), (5, 5.8)], ((2, 0), (14, -1.35), (60, -1.35))),
            "Y",
            "Its right side scrapes the row of parked cars.",
            ("collision_with_stationary_vehicle",),
        ),
        "mira": Plan(wander(s.expert, 3, 0.18), "N", "The expert's way within a hand's breadth."),
        "vega": Plan(
            drive([(0, 7), (2.0, 10.5), (5, 13.0)], ((2, 0), (16, 0.3), (60, 0.3))),
            "Y",
            "It speeds up to 13 m/s between parked cars with a person about to step out.",
            ("unsafe_speed_for_conditions",),
        ),
    }
    return s


def queue() -> Scene:
    """A queue in both lanes, a free shoulder."""
    s = Scene("demo-07", "day", "Both lanes stand; the shoulder on the right is free.", ((-1, 9.0), (0, 8.0)), np.zeros(0), seed=107)
    rng = np.random.default_rng(s.seed)
    road = Street(s, right=[("shoulder", 3.0)], left=[("lane", LANE), ("shoulder", 1.4)], walk=0.0)
    for x in np.arange(-64.0, 116.0, 4.0):
        road.add("rail", x, road.left + 1.0, size=(4.0, 0.2, 0.8))
    for x in np.arange(-60.0, 116.0, 15.0):
        road.add("delineator", x, road.right - 0.8, size=(0.1, 0.1, 1.0), colour=(232, 232, 228))
    road.woods(rng, 8.0, 90)
    colours = rng.permutation(len(CARS))
    for i, (kind, x, n) in enumerate(
        (
            ("sedan", 27.0, 0.0),
            ("suv", 34.2, 0.0),
            ("truck", 43.5, 0.0),
            ("sedan", 55, 0),
            ("suv", 20.0, LANE),
            ("sedan", 27.0, LANE),
            ("van", 35.0, LANE),
            ("sedan", 47.0, LANE),
        )
    ):
        s.actors.append(
            Actor(
                kind,
                AHEAD,
                x,
                ((-1, 0.0), (5, 0.0)),
                side=((0, n),),
                colour=(214, 216, 218) if kind == "truck" else CARS[int(colours[i])],
                attributes=("brake",),
            )
        )
    s.actors.append(Actor("sedan", AHEAD, -20.0, ((-1, 9), (0, 8), (3.6, 0), (5, 0)), colour=CARS[2]))
    s.expert = drive(brake(8.0, 18.0, 2.2))
    s.plans = {
        "altair": Plan(drive(brake(8.0, 16.9, 2.2)), "N", "It leaves a metre more to the car ahead."),
        "deneb": Plan(
            drive(brake(8.0, 20.2, 2.3)),
            "Y",
            "It stops with its nose at the bumper ahead, without room to steer out.",
            ("stops_without_escape_room",),
        ),
        "mira": Plan(drive(brake(8.0, 14.6, 2.4)), "N", "It leaves one more car's length in a queue that stands anyway."),
        "vega": Plan(
            drive([(0, 8), (1.5, 7.4), (5, 7.6)], ((4, 0), (17, -3.3), (70, -3.3))),
            "Y",
            "It overtakes the queue on the shoulder.",
            ("improper_shoulder_pass",),
        ),
    }
    s.rated = [
        (drive(brake(8.0, 17.2, 2.2)), 9.0),
        (drive(brake(8.0, 14.0, 2.4)), 8.0),
        (drive([(0, 8), (5, 7.6)], ((4, 0), (17, -3.3), (70, -3.3))), 1.0),
    ]
    return s


SCENES = (work_zone, parked_van, oncoming, bike_lane, crosswalk, narrow, queue)
BASES = {
    "demo-01": "paving",
    "demo-02": "paving",
    "demo-03": "paving",
    "demo-04": "paving",
    "demo-05": "grass",
    "demo-06": "paving",
    "demo-07": "dry_grass",
}
