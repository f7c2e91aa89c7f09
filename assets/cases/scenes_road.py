"""Scenes on open roads: following, lane changes, the oncoming side, a bend, fog, a merge, and one that only a single camera saw."""

from __future__ import annotations

import numpy as np
from kit import AHEAD, Actor, Line, Plan, Scene, bend, drive, wander
from roads import CARS, LANE, Street, brake
from scenes_city import still, towards


def following() -> Scene:
    """A car ahead at nearly the same speed."""
    s = Scene("demo-08", "bright", "We follow a car along an avenue; it slows down a little.", still(12.0), np.zeros(0), seed=108)
    rng = np.random.default_rng(s.seed)
    road = Street(s, left=[("lane", LANE), ("opposite", LANE), ("opposite", LANE)], yellow="double", verge="grass")
    road.suburb(rng, 9.0)
    for side, edge in ((1, road.left), (-1, road.right)):
        road.trees(rng, side, -60, 112, edge + side * 0.85, 11.0, (5.0, 7.5))
    s.actors += [
        Actor("sedan", AHEAD, 27.0, ((-1, 12), (0, 12), (2, 10.4), (5, 10.4)), colour=CARS[0], attributes=("brake",)),
        Actor("suv", AHEAD, 44.0, ((-1, 10.6), (5, 10.4)), side=((0, LANE),), colour=CARS[5]),
        Actor("van", AHEAD, -19.0, ((-1, 12), (5, 10.2)), side=((0, LANE),), colour=(210, 212, 214)),
        Actor("sedan", AHEAD, -26.0, ((-1, 11.5), (5, 10)), colour=CARS[3]),
        Actor("sedan", towards(58.0, 2 * LANE), 0.0, still(12.0), colour=CARS[1]),
    ]
    s.expert = drive([(0, 12), (2.4, 10.0), (5, 10.2)])
    s.plans = {
        "altair": Plan(drive([(0, 12), (2.4, 9.8), (5, 10.0)]), "N", "A little slower, with a little more distance."),
        "deneb": Plan(
            drive([(0, 12), (2.4, 10.0), (5, 10.2)], ((6, 0), (26, -0.95), (90, -0.95))),
            "Y",
            "It drifts to the kerb and stays there, its wheels at the edge, without any cause.",
            ("meaningless_lateral_drift",),
        ),
        "mira": Plan(
            drive([(0, 12), (2.6, 5.0), (5, 4.2)]),
            "Y",
            "It falls to a third of the speed with a free road and cars behind.",
            ("low_efficiency_driving",),
        ),
        "vega": Plan(
            drive([(0, 12), (2.0, 14.2), (5, 14.0)]),
            "Y",
            "It closes up to a few metres behind a car that slows down.",
            ("following_too_closely",),
        ),
    }
    s.rated = [(drive([(0, 12), (2.4, 9.9), (5, 10.1)]), 10.0), (drive([(0, 12), (5, 11.0)]), 8.0), (drive([(0, 12), (5, 13.5)]), 2.0)]
    return s


def free_lanes() -> Scene:
    """Two free lanes."""
    s = Scene("demo-09", "day", "Two free lanes in our direction and nobody near.", still(13.0), np.zeros(0), seed=109)
    rng = np.random.default_rng(s.seed)
    road = Street(s, left=[("lane", LANE), ("opposite", LANE), ("opposite", LANE)], yellow="double", verge="grass")
    road.town(rng, gap=7.0, shops=False, high=(6.0, 11.0))
    for side, edge in ((1, road.left), (-1, road.right)):
        road.trees(rng, side, -60, 112, edge + side * 0.85, 12.0, (5.0, 8.0))
    s.actors += [
        Actor("sedan", AHEAD, 92.0, still(13.0), colour=CARS[2]),
        Actor("sedan", AHEAD, -38.0, still(13.0), side=((0, LANE),), colour=CARS[1]),
        Actor("bus", towards(70.0, 3 * LANE), 0.0, still(10.0), colour=(60, 110, 150)),
        Actor("sedan", towards(34.0, 2 * LANE), 0.0, still(13.0), colour=CARS[8]),
    ]
    s.expert = drive([(0, 13), (5, 13.2)])
    s.plans = {
        "mira": Plan(wander(s.expert, 4, 0.14), "N", "Nothing but a tremble of a few centimetres."),
        "deneb": Plan(
            drive([(0, 13), (5, 13.2)], ((8, 0), (46, LANE), (90, LANE))),
            "Y",
            "It changes to the other lane: nobody is ahead, no turn is coming.",
            ("meaningless_lane_change",),
        ),
        "altair": Plan(
            drive([(0, 13), (5, 13.0)], ((8, 0), (34, 1.75), (90, 1.75))),
            "Y",
            "It goes on with the lane line under its body and commits to neither lane.",
            ("lane_straddling",),
        ),
        "vega": Plan(
            drive([(0, 13), (5, 14.0)], ((3, 0), (23, 2.5), (44, -0.3), (66, 2.6))),
            "Y",
            "It swings left, right and left again within five seconds.",
            ("aggressive_weaving",),
        ),
    }
    s.rated = [
        (drive([(0, 13), (5, 13.0)]), 10.0),
        (drive([(0, 13), (5, 12.0)]), 9.0),
        (drive([(0, 13), (5, 13)], ((8, 0), (50, LANE))), 5.0),
    ]
    return s


def double_line() -> Scene:
    """A two-way road with a double line."""
    s = Scene("demo-10", "morning", "A two-way road with a double line; it is free.", still(11.0), np.zeros(0), seed=110)
    rng = np.random.default_rng(s.seed)
    road = Street(s, left=[("opposite", LANE)], yellow="double", verge="grass")
    road.suburb(rng, 6.0)
    s.actors += [
        Actor("sedan", towards(112.0), 0.0, still(5.0), colour=CARS[5]),
        Actor("sedan", AHEAD, -34.0, still(11.0), colour=CARS[6]),
        Actor("person", Line((34.0, -4.4, 0.0)), 0.0, still(1.2), colour=(180, 120, 60)),
        Actor("person", Line((18.0, 7.2, 3.1)), 0.0, still(1.1), colour=(80, 90, 140)),
    ]
    s.expert = drive([(0, 11), (5, 11)])
    s.plans = {
        "altair": Plan(s.expert.copy(), "N", "Exactly the expert's way."),
        "deneb": Plan(
            drive([(0, 11), (5, 11)], ((6, 0), (34, 3.3), (90, 3.3))),
            "Y",
            "It crosses the double line and goes on in the oncoming lane.",
            ("wrong_side_of_road",),
        ),
        "mira": Plan(
            drive([(0, 11), (2.5, 4.0), (5, 3.4)]),
            "Y",
            "It crawls along a free road for no reason, with a car behind.",
            ("low_efficiency_driving",),
        ),
        "vega": Plan(drive([(0, 11), (5, 12.2)]), "N", "A little faster on a free, straight road in good light."),
    }
    s.rated = [
        (drive([(0, 11), (5, 10.8)]), 10.0),
        (drive([(0, 11), (5, 9.5)]), 8.0),
        (drive([(0, 11), (3, 5.0), (5, 5.0)]), 4.0),
    ]
    return s


def rural_bend() -> Scene:
    """A bend to the right in open country."""
    line = bend(16.0, -58.0)
    s = Scene("demo-11", "morning", "A country road bends to the right.", ((-1, 12.8), (0, 12.0)), np.zeros(0), seed=111)
    rng = np.random.default_rng(s.seed)
    road = Street(s, left=[("opposite", LANE)], line=line, walk=0.0, span=(-66.0, 140.0))
    road.woods(rng, 8.0, 110)
    for x in np.arange(6.0, 100.0, 8.0):
        road.add("delineator", x, road.left + 1.1, size=(0.1, 0.1, 1.0), colour=(232, 232, 228), layer="static")
    road.add("warning", 2.0, road.right - 1.4, size=(0.1, 0.1, 2.2), colour=(240, 204, 50), layer="static")
    s.actors += [Actor("sedan", Line((0, 0, 0)), -30.0, ((-1, 13), (5, 9)), colour=CARS[4])]
    x, y, h = line.place(78.0, LANE)
    s.actors.append(
        Actor("truck", Line((x, y, h + np.pi), ((120.0, 1 / (58.0 + LANE)), (1.0, 0.0))), 0.0, still(7.0), colour=(206, 206, 200))
    )
    s.expert = drive([(0, 12), (2.5, 9.6), (5, 9.2)], line=line)
    s.plans = {
        "altair": Plan(
            drive([(0, 12), (2.5, 9.2), (5, 8.8)], ((0, 0), (20, -0.15), (60, -0.15)), line), "N", "The same bend, a little slower."
        ),
        "deneb": Plan(
            drive([(0, 12), (2.5, 10.0), (5, 9.8)], ((8, 0), (26, -2.3), (70, -2.3)), line),
            "Y",
            "It cuts the bend over the gravel beside the road.",
            ("off_road_driving",),
        ),
        "mira": Plan(drive([(0, 12), (2.5, 8.8), (5, 8.2)], line=line), "N", "It takes the bend more carefully; nobody is held up much."),
        "vega": Plan(
            drive([(0, 12), (5, 13.2)], line=bend(28.0, -240.0)),
            "Y",
            "It goes too straight and too fast and leaves the road on the outside.",
            ("off_road_driving", "wrong_side_of_road"),
        ),
    }
    return s


def fog() -> Scene:
    """Thick fog on a wet road."""
    s = Scene("demo-12", "fog", "Thick fog; the lamps of a car ahead can just be seen.", still(9.0), np.zeros(0), seed=112)
    rng = np.random.default_rng(s.seed)
    road = Street(s, left=[("opposite", LANE)], walk=0.0)
    road.woods(rng, 7.0, 80)
    for x in np.arange(-60.0, 110.0, 12.0):
        for n in (road.left + 0.9, road.right - 0.9):
            road.add("delineator", x, n, size=(0.1, 0.1, 1.0), colour=(232, 232, 228), layer="static")
    s.actors += [
        Actor("sedan", AHEAD, 42.0, ((-1, 8.0), (5, 7.6)), colour=CARS[7], attributes=("brake",)),
        Actor("suv", towards(62.0), 0.0, still(8.0), colour=CARS[5]),
    ]
    s.expert = drive([(0, 9), (3, 7.6), (5, 7.6)])
    s.plans = {
        "altair": Plan(drive([(0, 9), (3, 7.9), (5, 7.8)]), "N", "Half a metre per second faster at most, with the same large distance."),
        "deneb": Plan(
            drive([(0, 9), (3, 7.6), (5, 7.6)], ((6, 0), (22, 1.55), (60, 1.55))),
            "Y",
            "It drives over the middle of the road, where somebody comes out of the fog.",
            ("wrong_side_of_road", "lane_straddling"),
        ),
        "vega": Plan(drive([(0, 9), (3, 6.8), (5, 6.6)]), "N", "It is a little more careful in the fog."),
        "mira": Plan(
            drive([(0, 9), (3, 13.6), (5, 14.4)]),
            "Y",
            "It speeds up to 14 m/s in fog in which the expert slows down.",
            ("unsafe_speed_for_conditions", "following_too_closely"),
        ),
    }
    s.rated = [
        (drive([(0, 9), (3, 7.2), (5, 7.2)]), 10.0),
        (drive([(0, 9), (3, 6.0), (5, 5.6)]), 8.0),
        (drive([(0, 9), (5, 12.0)]), 3.0),
    ]
    return s


def merge() -> Scene:
    """The end of an acceleration lane."""
    s = Scene(
        "demo-13",
        "overcast",
        "Our lane ends; we have to merge to the left, where a truck comes from behind.",
        still(15.0),
        np.zeros(0),
        seed=113,
    )
    rng = np.random.default_rng(s.seed)
    road = Street(s, right=[("shoulder", 2.6)], left=[("lane", LANE), ("lane", LANE), ("shoulder", 1.4)], walk=0.0)
    for x in np.arange(-64.0, 116.0, 4.0):
        road.add("rail", x, road.left + 0.9, size=(4.0, 0.2, 0.8), layer="static")
        road.add("rail", x, road.right - 0.6, size=(4.0, 0.2, 0.8), layer="static")
    for i, x in enumerate(np.arange(70.0, 112.0, 4.2)):
        road.add("drum", x, -1.9 + min(1.0, i / 6) * 3.2, size=(0.56, 0.56, 1.0), layer="static")
    road.add("warning", 56.0, road.right - 1.6, size=(0.1, 0.1, 2.2), colour=(240, 130, 30), layer="static")
    road.woods(rng, 10.0, 90)
    s.actors += [
        Actor("truck", AHEAD, -25.0, still(15.5), side=((0, LANE),), colour=(90, 116, 150)),
        Actor("sedan", AHEAD, 42.0, still(16.5), side=((0, LANE),), colour=CARS[0]),
        Actor("suv", AHEAD, 6.0, still(18.0), side=((0, 2 * LANE),), colour=CARS[2]),
        Actor("sedan", AHEAD, -44.0, still(18.0), side=((0, 2 * LANE),), colour=CARS[7]),
    ]
    side = ((8, 0), (52, LANE), (120, LANE))
    s.expert = drive([(0, 15), (5, 17.0)], side)
    s.plans = {
        "mira": Plan(drive([(0, 15), (5, 16.8)], ((12, 0), (57, LANE), (120, LANE))), "N", "The same gap, a moment later."),
        "deneb": Plan(wander(s.expert, 5, 0.2), "N", "The expert's way within a hand's breadth."),
        "altair": Plan(
            drive([(0, 15), (2.0, 14.0), (4.0, 9.0), (5, 10.0)], ((6, 0), (28, 2.1), (34, 2.1), (56, 0.1), (90, 0.1))),
            "Y",
            "It begins to merge, goes back, brakes, and ends before the drums with the truck beside it.",
            ("noncommittal_merge",),
        ),
        "vega": Plan(
            drive([(0, 15), (2.2, 9.5), (5, 9.0)], ((4, 0), (30, LANE), (120, LANE))),
            "Y",
            "It moves over while braking: the truck behind has to brake hard.",
            ("unsafe_lane_change", "failure_to_yield_vehicle"),
        ),
    }
    return s


def one_camera() -> Scene:
    """A vehicle with a single camera, in rain."""
    s = Scene("demo-14", "rain", "Rain on a country road; only the front camera was there.", still(10.0), np.zeros(0), seed=114, cameras=1)
    rng = np.random.default_rng(s.seed)
    road = Street(s, left=[("opposite", LANE)], walk=0.0)
    road.woods(rng, 7.0, 100)
    s.actors += [Actor("sedan", towards(88.0), 0.0, still(9.0), colour=CARS[1])]
    s.expert = drive([(0, 10), (5, 9.4)], ((6, 0), (20, 0.75), (34, 0.75), (48, 0)))
    s.plans = {
        "vega": Plan(wander(s.expert, 6, 0.15), "N", "The expert's way within a few centimetres."),
        "deneb": Plan(
            drive([(0, 10), (5, 9.5)]), "U", "The expert moves aside for something that the picture does not show; the planner does not."
        ),
        "mira": Plan(drive(brake(10.0, 20.0, 2.8)), "Y", "It stops on an open road in the rain.", ("blocking_traffic_without_necessity",)),
        "altair": Plan(
            drive([(0, 10), (5, 10.4)], ((6, 0), (20, 2.6), (60, 2.6))),
            "Y",
            "It goes over to the oncoming lane, where a car comes.",
            ("wrong_side_of_road", "vehicle_collision_course"),
        ),
    }
    return s


SCENES = (following, free_lanes, double_line, rural_bend, fog, merge, one_camera)
BASES = {
    "demo-08": "grass",
    "demo-09": "grass",
    "demo-10": "grass",
    "demo-11": "dry_grass",
    "demo-12": "grass",
    "demo-13": "dry_grass",
    "demo-14": "grass",
}
