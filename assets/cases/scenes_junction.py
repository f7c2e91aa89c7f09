"""Scenes at junctions: a red light, a stop sign, a free crossing, turns, and one of which there is no picture."""

from __future__ import annotations

import math

import numpy as np
from kit import AHEAD, Actor, Line, Plan, Scene, drive, turn, wander
from roads import CARS, LANE, Street, around, brake, junction
from scenes_city import still, towards

UP, DOWN = math.pi / 2, -math.pi / 2


def signals(s: Scene, road: Street, x: float, state: str, across: str) -> None:
    """Masts with arms on the far right corner of every arm of a junction."""
    far, near = x + LANE + 2.6, x - LANE - 2.6
    left, right = road.left, road.right
    size = (0.2, 0.2, 5.6)
    arm = {"state": state, "arm": 1.2 - right}
    road.add("signal", far, right - 1.0, size=size, layer="signal", attributes=arm)
    road.add("signal", near, left + 1.0, size=size, turn=math.pi, layer="signal", attributes={"state": state, "arm": 3.0})
    # For the street that crosses: they look along it.
    road.add("signal", x + LANE + 1.0, left + 2.6, size=size, turn=UP, layer="signal", attributes={"state": across, "arm": 3.4})
    road.add("signal", x - LANE - 1.0, right - 2.6, size=size, turn=DOWN, layer="signal", attributes={"state": across, "arm": 3.4})


def red_light() -> Scene:
    """A red light with traffic across."""
    x = 38.0
    s = Scene("demo-15", "overcast", "The light ahead is red and traffic crosses.", still(9.0), np.zeros(0), seed=115)
    rng = np.random.default_rng(s.seed)
    road = Street(s, left=[("lane", LANE), ("opposite", LANE), ("opposite", LANE)], gaps=[around(x)], yellow="double")
    junction(s, x, road).town(rng, clear=15.0)
    road.crosswalk(x - LANE - 4.4)
    road.crosswalk(x + LANE + 1.4)
    stop = x - LANE - 5.6
    road.stop_line(stop, LANE * 1.5, -LANE / 2)
    road.town(rng)
    signals(s, road, x, "red", "green")
    s.actors += [
        Actor("sedan", Line((x + LANE / 2, -5.0, UP)), 0.0, ((-1, 7.5), (5, 8.5)), colour=CARS[0]),
        Actor("van", Line((x + LANE / 2, -31.0, UP)), 0.0, ((-1, 8.0), (5, 8.0)), colour=(208, 210, 212)),
        Actor("suv", Line((x - LANE / 2, 34.0, DOWN)), 0.0, ((-1, 9.0), (5, 8.0)), colour=CARS[1]),
        Actor("sedan", AHEAD, stop - 3.2, ((-1, 0.0), (5, 0.0)), side=((0, LANE),), colour=CARS[5], attributes=("brake",)),
        Actor("sedan", towards(x + LANE + 8.0, 2 * LANE), 0.0, ((-1, 0.0), (5, 0.0)), colour=CARS[3]),
        Actor("person", Line((x + 9.0, -4.4, 0.4)), 0.0, ((-1, 0.0), (5, 0.0)), colour=(150, 60, 70)),
    ]
    end = stop - 0.9 - 3.9
    s.expert = drive(brake(9.0, end, 2.1))
    s.plans = {
        "deneb": Plan(drive(brake(9.0, end - 1.8, 2.2)), "N", "It stops half a car's length earlier."),
        "altair": Plan(
            drive(brake(9.0, end + 4.4, 2.2)),
            "Y",
            "It stops too late and stands on the crosswalk.",
            ("red_light_violation", "blocking_traffic_without_necessity"),
        ),
        "mira": Plan(s.expert.copy(), "N", "Exactly the expert's way."),
        "vega": Plan(
            drive([(0, 9), (5, 9.6)]), "Y", "It goes on through the red light into the crossing traffic.", ("red_light_violation",)
        ),
    }
    s.rated = [(drive(brake(9.0, end - 0.4, 2.1)), 10.0), (drive(brake(9.0, end - 4, 2.6)), 7.0), (drive([(0, 9), (3, 5), (5, 6)]), 0.5)]
    return s


def stop_sign() -> Scene:
    """A stop sign in a quiet street."""
    x = 21.5
    s = Scene("demo-16", "day", "A stop sign; the crossing street is hard to see into.", ((-1, 7.4), (0, 6.0)), np.zeros(0), seed=116)
    rng = np.random.default_rng(s.seed)
    road = Street(s, left=[("opposite", LANE)], gaps=[around(x)])
    junction(s, x, road, yellow="").suburb(rng, 3.0, clear=22.0)
    stop = x - LANE - 5.2
    road.stop_line(stop)
    road.suburb(rng, 3.0)
    road.add("stop_sign", stop + 0.4, road.right - 0.8, size=(0.1, 0.1, 2.6), layer="signal")
    road.add("stop_sign", x + LANE + 5.0, road.left + 0.8, size=(0.1, 0.1, 2.6), turn=math.pi, layer="signal")
    road.add("hedge", stop - 5.0, road.right - 4.2, size=(12.0, 1.0, 1.5), colour=(74, 100, 60), layer="static")
    s.actors += [
        Actor("sedan", Line((x - LANE / 2, 42.0, DOWN)), 0.0, still(8.0), colour=CARS[8]),
        Actor("suv", Line((x + LANE / 2, -60.0, UP)), 0.0, still(7.0), colour=CARS[2]),
        Actor("sedan", towards(58.0), 0.0, ((-1, 7), (5, 3)), colour=CARS[6]),
    ]
    end = stop - 0.7 - 3.9
    s.expert = drive(brake(6.0, end, 2.3, 0.8, ((2.2, 3.0),)))
    s.plans = {
        "altair": Plan(drive(brake(6.0, end, 2.3, 1.5, ((2.2, 3.0),))), "N", "It stands a little longer before it goes."),
        "deneb": Plan(
            drive([(0, 6), (2.3, 0.9), (3.0, 0.9), (5, 4.0)]),
            "Y",
            "It nearly stops, but rolls over the line at walking speed.",
            ("stop_sign_no_full_stop",),
        ),
        "vega": Plan(drive(brake(6.0, end - 0.4, 2.4, 0.8, ((2.2, 2.9),))), "N", "It stops a step earlier, then goes as the expert does."),
        "mira": Plan(
            drive([(0, 6), (1.6, 3.4), (5, 6.0)]), "Y", "It rolls past the stop sign at more than 3 m/s.", ("stop_sign_no_full_stop",)
        ),
    }
    s.rated = [
        (drive(brake(6.0, end, 2.3, 1.2, ((2.2, 3.0),))), 10.0),
        (drive(brake(6.0, end - 1.2, 2.5, 1.2, ((2.2, 2.6),))), 8.0),
        (drive([(0, 6), (2.0, 2.0), (5, 5.0)]), 2.0),
    ]
    return s


def green_light() -> Scene:
    """A green light and a free crossing."""
    x = 21.0
    s = Scene("demo-17", "bright", "The light is green and the way across is free.", still(8.0), np.zeros(0), seed=117)
    rng = np.random.default_rng(s.seed)
    road = Street(s, left=[("opposite", LANE)], gaps=[around(x)], yellow="double")
    junction(s, x, road, yellow="double").town(rng, clear=15.0)
    road.crosswalk(x - LANE - 4.4)
    road.crosswalk(x + LANE + 1.4)
    road.stop_line(x - LANE - 5.6)
    road.town(rng)
    signals(s, road, x, "green", "red")
    s.actors += [
        Actor("sedan", Line((x + LANE / 2, -10.6, UP)), 0.0, ((-1, 0.0), (5, 0.0)), colour=CARS[4]),
        Actor("bus", Line((x - LANE / 2, 15.0, DOWN)), 0.0, ((-1, 0.0), (5, 0.0)), colour=(60, 120, 110)),
        Actor("sedan", towards(52.0), 0.0, still(8.0), colour=CARS[0]),
        Actor("suv", AHEAD, -15.0, ((-1, 8), (1.5, 8), (4, 2.0), (5, 1.0)), colour=CARS[5]),
        Actor("person", Line((x - 8.0, -5.0, 2.6)), 0.0, ((-1, 0.0), (5, 0.0)), colour=(60, 90, 150)),
    ]
    s.expert = drive([(0, 8), (5, 8.8)])
    s.plans = {
        "altair": Plan(drive([(0, 8), (5, 8.2)]), "N", "A little slower across the same free crossing."),
        "deneb": Plan(
            drive([(0, 8), (5, 8.8)], ((2, 0), (20, 0.4), (60, 0.4))),
            "N",
            "A hand or two to the left within its lane; the lane is wide enough.",
        ),
        "mira": Plan(
            drive(brake(8.0, 19.0, 2.4)),
            "Y",
            "It stops in the middle of the crossing and stays there.",
            ("blocking_traffic_without_necessity",),
        ),
        "vega": Plan(drive([(0, 8), (5, 9.8)]), "N", "Slightly faster, with a free way at green."),
    }
    return s


def left_turn() -> Scene:
    """A left turn across somebody who comes towards the ego vehicle."""
    x = 13.5
    s = Scene("demo-18", "day", "We turn left; a car comes towards us.", ((-1, 5.2), (0, 4.2)), np.zeros(0), command="left", seed=118)
    rng = np.random.default_rng(s.seed)
    road = Street(s, left=[("opposite", LANE)], gaps=[around(x)], yellow="double")
    junction(s, x, road, yellow="double").town(rng, clear=15.0)
    road.crosswalk(x + LANE + 1.4)
    road.town(rng)
    signals(s, road, x, "green", "red")
    way = turn(x + LANE / 2 - 9.0, 9.0, 90)
    s.actors += [
        Actor("sedan", towards(36.0), 0.0, still(9.0), colour=CARS[0]),
        Actor("suv", towards(64.0), 0.0, still(6.0), colour=CARS[3]),
        Actor("sedan", Line((x + LANE / 2, -10.8, UP)), 0.0, ((-1, 0.0), (5, 0.0)), colour=CARS[6]),
        Actor("van", AHEAD, -12.0, ((-1, 5), (2, 1), (3.4, 1.0), (5, 3)), colour=(200, 176, 90)),
    ]
    s.expert = drive([(0, 4.2), (1.9, 0.7), (2.6, 0.7), (5, 5.4)], line=way)
    s.plans = {
        "altair": Plan(
            drive([(0, 4.2), (1.9, 0.6), (2.9, 0.6), (5, 5.0)], line=way), "N", "It waits a moment longer, then turns the same way."
        ),
        "deneb": Plan(
            drive([(0, 4.2), (1.9, 2.0), (2.6, 2.6), (5, 6.4)]),
            "Y",
            "The command is to turn left; it goes straight on.",
            ("not_following_navigation_instruction",),
        ),
        "mira": Plan(wander(s.expert, 7, 0.18), "N", "The expert's way within a hand's breadth."),
        "vega": Plan(
            drive([(0, 4.2), (2.0, 5.2), (5, 6.0)], line=way),
            "Y",
            "It turns across the oncoming car without waiting for it.",
            ("failure_to_yield_vehicle",),
        ),
    }
    return s


def right_turn() -> Scene:
    """A right turn around a corner."""
    x = 17.5
    s = Scene("demo-19", "dusk", "We turn right at a corner.", ((-1, 6.2), (0, 5.2)), np.zeros(0), command="right", seed=119)
    rng = np.random.default_rng(s.seed)
    road = Street(s, left=[("opposite", LANE)], gaps=[around(x)])
    junction(s, x, road).town(rng, clear=15.0)
    road.town(rng)
    way = turn(x - LANE / 2 - 7.0, -7.0, 90)
    s.actors += [
        Actor("sedan", Line((x + LANE / 2, -22.0, UP)), 0.0, ((-1, 5.0), (2.5, 1.0), (5, 0.5)), colour=CARS[5]),
        Actor("person", Line((x - 9.5, -7.6, 0.6)), 0.0, ((-1, 0.0), (5, 0.0)), colour=(150, 110, 60)),
        Actor("sedan", towards(46.0), 0.0, ((-1, 7), (5, 6)), colour=CARS[1]),
        Actor("suv", AHEAD, -14.0, ((-1, 6), (5, 4)), colour=CARS[7]),
    ]
    s.expert = drive([(0, 5.2), (1.8, 3.8), (3.4, 3.8), (5, 5.4)], line=way)
    s.plans = {
        "altair": Plan(drive([(0, 5.2), (1.8, 3.5), (3.4, 3.5), (5, 5.0)], line=way), "N", "The same turn, a little slower."),
        "deneb": Plan(
            drive([(0, 5.2), (1.8, 4.2), (5, 5.6)], line=turn(x - LANE / 2 - 8.6, -5.4, 90), side=((2, 0), (9, -0.9), (14, -0.9))),
            "Y",
            "It cuts the corner over the kerb and the walk.",
            ("off_road_driving",),
        ),
        "mira": Plan(s.expert.copy(), "N", "Exactly the expert's way."),
        "vega": Plan(
            drive([(0, 5.2), (1.8, 4.8), (5, 6.4)], line=turn(x + LANE / 2 - 7.4, -7.4, 90)),
            "Y",
            "It turns too wide, into the lane of those who come from the right.",
            ("wrong_side_of_road", "vehicle_collision_course"),
        ),
    }
    return s


def no_camera() -> Scene:
    """A crossing of which there is no picture."""
    x = 27.0
    s = Scene(
        "demo-20",
        "day",
        "A crossing without lights: a truck comes from the right. No camera was there.",
        still(8.5),
        np.zeros(0),
        seed=120,
        cameras=0,
    )
    road = Street(s, left=[("opposite", LANE)], gaps=[around(x)])
    junction(s, x, road)
    s.actors += [
        Actor("truck", Line((x + LANE / 2, -25.0, UP)), 0.0, still(8.0), colour=(200, 200, 196)),
        Actor("sedan", Line((x - LANE / 2, 40.0, DOWN)), 0.0, still(6.0), colour=CARS[2]),
        Actor("sedan", AHEAD, -20.0, ((-1, 8), (5, 4)), colour=CARS[1]),
    ]
    s.expert = drive([(0, 8.5), (0.4, 8.5), (3.0, 2.6), (4.2, 2.4), (5, 4.0)])
    s.plans = {
        "deneb": Plan(
            drive([(0, 8.5), (0.4, 8.5), (3.0, 2.3), (4.3, 2.2), (5, 3.6)]), "N", "It gives way in the same manner, a little more slowly."
        ),
        "altair": Plan(
            drive([(0, 8.5), (0.4, 8.5), (3.0, 2.6), (4.2, 2.4), (5, 4.0)], ((2, 0), (14, 1.9), (40, 1.9))),
            "Y",
            "It stops half in the oncoming lane, from where it has no business.",
            ("lane_straddling", "wrong_side_of_road"),
        ),
        "vega": Plan(drive(brake(8.5, 16.2, 2.8)), "N", "It stops fully and lets the truck pass."),
        "mira": Plan(
            drive([(0, 8.5), (5, 9.0)]), "Y", "It crosses in front of the truck, which has priority.", ("failure_to_yield_vehicle",)
        ),
    }
    return s


SCENES = (red_light, stop_sign, green_light, left_turn, right_turn, no_camera)
BASES = {"demo-15": "paving", "demo-16": "grass", "demo-17": "paving", "demo-18": "paving", "demo-19": "paving", "demo-20": "grass"}
