"""Planners that any data set can be given: five simple ways to drive, so that there is something to compare with the expert.

Each is computed from the expert and the state at t = 0 alone; none of them plans. `constant_velocity` and `constant_acceleration` go on
as at t = 0; the other three follow the expert's way with one thing done worse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from core.errors import InputError, Problem
from core.trajectories.case import Case, Floats, Trajectory

LATERAL_M = 1.5
"""Where the lateral ramp ends, to the left of the expert."""
FASTER = 1.2
LATE_S = 1.0
"""How much later than the expert the late braking begins to follow the expert's speed."""
VELOCITY = "velocity_mps"
"""Key of `Case.source` under which an importer keeps the velocity (vx, vy) at t = 0 where it knows more than the speed."""


@dataclass(frozen=True)
class Baseline:
    """One way to drive.

    Attributes:
        name: Also the planner's id.
        title: For people.
        what: One sentence.
        drive: The trajectory for a case (of which the planner is not looked at), or why there is none.
    """

    name: str
    title: str
    what: str
    drive: Callable[[Case], Trajectory | str]


def velocity(case: Case) -> Floats:
    """Velocity at t = 0, shape (2,), m/s: the one of the source, else the speed straight ahead."""
    given = case.source.get(VELOCITY)
    if isinstance(given, list | tuple) and len(given) == 2 and all(isinstance(v, int | float) and abs(v) < 1000 for v in given):
        return np.asarray(given, dtype=np.float64)
    return np.array([case.ego.speed_mps, 0.0])


def _times(case: Case) -> Floats:
    return case.dt_s * np.arange(1, len(case.expert) + 1, dtype=np.float64)


def constant_velocity(case: Case) -> Trajectory:
    """On with the velocity of t = 0."""
    return Trajectory.of(_times(case)[:, None] * velocity(case))


def constant_acceleration(case: Case) -> Trajectory | str:
    """On with the velocity and the acceleration of t = 0, along the velocity; never backwards."""
    a = case.ego.accel_mps2
    if a is None:
        return "the acceleration at t = 0 is not known"
    v = velocity(case)
    speed = float(np.hypot(*v))
    ahead = v / speed if speed > 1e-9 else np.array([1.0, 0.0])
    t = _times(case)
    if a < 0:
        t = np.minimum(t, speed / -a)
    return Trajectory.of((speed * t + a * t**2 / 2)[:, None] * ahead)


def lateral_ramp(case: Case) -> Trajectory | str:
    """The expert, drifting evenly to its left until it is 1.5 m beside it in the end."""
    way = _way(case)
    if isinstance(way, str):
        return way
    heading = way.heading(way.distance)
    left = np.stack([-np.sin(heading), np.cos(heading)], axis=1)
    share = np.arange(1, len(case.expert) + 1) / len(case.expert)
    return Trajectory(case.expert.points + LATERAL_M * share[:, None] * left, case.expert.valid)


def faster(case: Case) -> Trajectory | str:
    """The expert's way at 1.2 times its speed, straight on where the way ends."""
    way = _way(case)
    return way if isinstance(way, str) else Trajectory(way.at(FASTER * way.distance), case.expert.valid)


def late_braking(case: Case) -> Trajectory | str:
    """The expert's way at the speed that the expert had a second earlier, so that every braking comes a second late."""
    way = _way(case)
    if isinstance(way, str):
        return way
    t = np.r_[0.0, _times(case)]
    gone = np.r_[0.0, way.distance]
    speed = float(np.hypot(*velocity(case)))
    late = speed * np.minimum(t[1:], LATE_S) + np.interp(np.maximum(t[1:] - LATE_S, 0.0), t, gone)
    return Trajectory(way.at(late), case.expert.valid)


@dataclass(frozen=True, eq=False)
class _Way:
    """The expert's way by the distance gone: knots (M,), (M, 2) with the origin first; distance at each step, (T,)."""

    knots: Floats
    points: Floats
    distance: Floats

    def heading(self, s: Floats) -> Floats:
        """Heading of the piece on which each distance lies; ahead where nothing is gone."""
        if len(self.knots) == 1:
            return np.zeros(len(s))
        steps = np.diff(self.points, axis=0)
        piece = np.clip(np.searchsorted(self.knots, s, side="left") - 1, 0, len(steps) - 1)
        found: Floats = np.arctan2(steps[:, 1], steps[:, 0])[piece]
        return found

    def at(self, s: Floats) -> Floats:
        """Positions at distances, straight on beyond the end."""
        out = np.stack([np.interp(s, self.knots, self.points[:, i]) for i in (0, 1)], axis=1)
        heading = self.heading(np.array([self.knots[-1]]))[0]
        beyond = np.maximum(s - self.knots[-1], 0.0)
        result: Floats = out + beyond[:, None] * np.array([np.cos(heading), np.sin(heading)])
        return result


def _way(case: Case) -> _Way | str:
    if not case.expert.valid.any():
        return "the expert has no valid state"
    gaps = ~case.expert.valid
    p = case.expert.points.copy()
    rows, valid = np.arange(len(p)), case.expert.valid
    for i in (0, 1):  # where a state is missing, the way goes straight over the gap
        p[gaps, i] = np.interp(rows[gaps] + 1.0, np.r_[0.0, rows[valid] + 1.0], np.r_[0.0, p[valid, i]])
    p = np.vstack([np.zeros((1, 2)), p])
    gone = np.r_[0.0, np.cumsum(np.hypot(*np.diff(p, axis=0).T))]
    moved = np.r_[True, np.diff(gone) > 1e-9]
    return _Way(gone[moved], p[moved], gone[1:])


_ALL = (
    Baseline("constant_velocity", "Constant velocity", "Drives on with the velocity at t = 0.", constant_velocity),
    Baseline(
        "constant_acceleration",
        "Constant acceleration",
        "Drives on with the velocity and acceleration at t = 0 until it stands.",
        constant_acceleration,
    ),
    Baseline("lateral_ramp", "Lateral ramp", "Drives as the expert, drifting 1.5 m to the left.", lateral_ramp),
    Baseline("faster", "Faster", "Drives the expert's way at 1.2 times the speed.", faster),
    Baseline("late_braking", "Late braking", "Drives the expert's way with its speed of a second before.", late_braking),
)

BASELINES: Mapping[str, Baseline] = MappingProxyType({b.name: b for b in _ALL})


def chosen(names: str | Sequence[str] | None) -> tuple[Baseline, ...]:
    """Baselines by name: separated by commas or a list; all of them where None, none where empty.

    Raises:
        InputError: A name is not known.
    """
    if names is None:
        return _ALL
    given = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
    given = list(dict.fromkeys(n for n in given if n))
    unknown = [n for n in given if n not in BASELINES]
    if unknown:
        raise InputError("There is no such baseline.", [Problem(None, "planners", n, ", ".join(BASELINES)) for n in unknown])
    return tuple(BASELINES[n] for n in given)


def with_baseline(case: Case, baseline: Baseline) -> Case | str:
    """The case with a baseline as its planner, or why that cannot be. Its id is "scene:planner"."""
    driven = baseline.drive(case)
    if isinstance(driven, str):
        return driven
    return replace(
        case,
        case_id=f"{case.scene_id}:{baseline.name}",
        planner_id=baseline.name,
        planner=driven,
        source={**case.source, "planner": f"baseline {baseline.name}, computed by Oddyssey"},
    )
