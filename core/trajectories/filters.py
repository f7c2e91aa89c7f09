"""Three reasons to leave a scene out, as flags that are set on import and applied by choice.

FluidTest (section 1) keeps scenes with no obvious future uncertainty, no trivial constant-velocity expert plan, and no severe error of
the camera parameters. It gives no thresholds; these are ours and can be changed. Each rule says yes, no, or that it cannot tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType

import numpy as np

from core.trajectories.case import Camera, Case, Floats, Trajectory


@dataclass(frozen=True)
class FilterParameters:
    """Thresholds of the flags.

    Attributes:
        trivial_m: An expert is trivial if no valid state is farther than this from the best constant velocity.
        good_score: Rated trajectories from this score on are futures that people accept.
        apart_left_m: Two such futures are apart if their last common states lie farther from each other than this across,
        apart_ahead_m: or than this along: twice the thresholds of the rater feedback score at 5 s and full speed.
        rotation: Largest deviation of a camera's rotation from an orthonormal one.
        height_m: Least and greatest height of a camera above the road.
        off_axis_deg: How far a camera may look away from where its name says.
    """

    trivial_m: float = 0.5
    good_score: float = 8.0
    apart_left_m: float = 3.6
    apart_ahead_m: float = 14.4
    rotation: float = 0.02
    height_m: tuple[float, float] = (0.3, 5.0)
    off_axis_deg: float = 50.0


DEFAULTS = FilterParameters()


@dataclass(frozen=True)
class Judged:
    """What a rule says of a case.

    Attributes:
        flagged: None if it cannot tell.
        why: One sentence.
    """

    flagged: bool | None
    why: str


def constant_velocity_residual(trajectory: Trajectory, dt_s: float) -> float:
    """Largest distance, m, of a valid state from the best straight motion at a constant speed that starts in the origin."""
    t = (np.arange(len(trajectory)) + 1.0)[trajectory.valid] * dt_s
    p = trajectory.points[trajectory.valid]
    velocity = (t[:, None] * p).sum(axis=0) / (t**2).sum()
    return float(np.hypot(*(p - t[:, None] * velocity).T).max())


def trivial_expert(case: Case, parameters: FilterParameters = DEFAULTS) -> Judged:
    """Whether the expert drove on straight at a constant speed (or stood still), so that nothing had to be decided."""
    if not case.expert.valid.any():
        return Judged(None, "the expert has no valid state")
    off = constant_velocity_residual(case.expert, case.dt_s)
    return Judged(off <= parameters.trivial_m, f"the expert is at most {off:.2f} m from a constant velocity")


def open_future(case: Case, parameters: FilterParameters = DEFAULTS) -> Judged:
    """Whether people accepted futures that lie apart; without scores of people nobody can tell."""
    good = [r.trajectory for r in case.rated if r.score is not None and r.score >= parameters.good_score and r.trajectory.valid.any()]
    if len(good) < 2:
        return Judged(None, f"{len(good)} trajectories with a score of {parameters.good_score:g} or more")
    ahead = left = 0.0
    for a, b in combinations(good, 2):
        n = min(len(a), len(b))
        both = np.flatnonzero(a.valid[:n] & b.valid[:n])
        for way in (a, b) if len(both) else ():
            gap = a.points[both[-1]] - b.points[both[-1]]
            along = _direction(way, int(both[-1]))
            ahead = max(ahead, abs(float(gap @ along)))
            left = max(left, abs(float(gap @ np.array([-along[1], along[0]]))))
    apart = ahead > parameters.apart_ahead_m or left > parameters.apart_left_m
    return Judged(apart, f"accepted futures end up to {ahead:.1f} m along and {left:.1f} m across from each other")


def _direction(way: Trajectory, k: int) -> Floats:
    """Unit vector along a way at one of its rows; ahead where it has not moved."""
    points = np.vstack([np.zeros((1, 2)), way.points[: k + 1][way.valid[: k + 1]]])
    steps = np.diff(points, axis=0)
    moved = np.flatnonzero(np.hypot(steps[:, 0], steps[:, 1]) > 0.05)
    if not len(moved):
        return np.array([1.0, 0.0])
    step: Floats = steps[moved[-1]]
    return step / float(np.hypot(*step))


_DIRECTION_DEG = {"front_left": 55.0, "front": 0.0, "front_right": -55.0, "rear_left": 115.0, "rear": 180.0, "rear_right": -115.0}
"""Where a camera of that name looks, counter-clockwise from ahead; data sets differ by up to 25 degrees."""


def camera_fault(camera: Camera, parameters: FilterParameters = DEFAULTS) -> str | None:
    """What is wrong with a camera's parameters, "" if nothing is, None if it has none."""
    if camera.intrinsics is None or camera.extrinsics is None:
        return None
    k, e = camera.intrinsics, camera.extrinsics
    if not (np.isfinite(k).all() and np.isfinite(e).all()):
        return "parameters that are not finite"
    if k[0, 0] <= 0 or k[1, 1] <= 0 or abs(k[2, 2] - 1) > 1e-6 or np.abs([*k[2, :2], k[1, 0]]).max() > 1e-6:
        return "no matrix of a pinhole camera"
    if camera.width and camera.height and not (0 < k[0, 2] < camera.width and 0 < k[1, 2] < camera.height):
        return f"a principal point outside of its {camera.width} × {camera.height} px"
    r = e[:3, :3]
    if np.abs(e[3] - [0, 0, 0, 1]).max() > 1e-6:
        return "extrinsics that are no motion: their last row is not 0, 0, 0, 1"
    if np.abs(r @ r.T - np.eye(3)).max() > parameters.rotation or np.linalg.det(r) < 0:
        return "a rotation that is none"
    height = float(e[2, 3]) - camera.ground_z_m
    low, high = parameters.height_m
    if not low <= height <= high:
        return f"a height of {height:.2f} m above the road"
    looks = r[:, 2]
    if abs(looks[2]) > 0.7:
        return "a view up or down instead of along the road"
    off = (np.degrees(np.arctan2(looks[1], looks[0])) - _DIRECTION_DEG[camera.name] + 180) % 360 - 180
    if abs(off) > parameters.off_axis_deg:
        return f"a view {abs(off):.0f}° away from where its name says"
    return ""


def bad_calibration(case: Case, parameters: FilterParameters = DEFAULTS) -> Judged:
    """Whether a camera's parameters cannot be right, so that trajectories would be drawn in the wrong place."""
    faults = {c.name: camera_fault(c, parameters) for c in case.cameras}
    known = {name: f for name, f in faults.items() if f is not None}
    if not known:
        return Judged(None, "no camera has parameters")
    broken = [f"{name} has {fault}" for name, fault in known.items() if fault]
    return Judged(bool(broken), "; ".join(broken) or f"{len(known)} cameras have parameters that can be right")


FILTERS: Mapping[str, Callable[[Case, FilterParameters], Judged]] = MappingProxyType(
    {"open_future": open_future, "trivial_expert": trivial_expert, "bad_calibration": bad_calibration}
)
"""Each flag that is judged by a rule. Other flags come from the source and from the checks on import."""


def flag_case(case: Case, parameters: FilterParameters = DEFAULTS) -> Case:
    """The case with the flags that the rules set; flags of the source stay."""
    judged = [name for name, rule in FILTERS.items() if rule(case, parameters).flagged]
    return replace(case, flags=tuple(dict.fromkeys([*case.flags, *judged])))


@dataclass(frozen=True)
class FilterCount:
    """What a rule says of all cases of a set: flagged + passed + unknown is their number."""

    flagged: int
    passed: int
    unknown: int


def filter_counts(cases: Sequence[Case], parameters: FilterParameters = DEFAULTS) -> dict[str, FilterCount]:
    """Counts of every flag: those that cases carry, and for the rules also on how many they cannot tell."""
    names = list(dict.fromkeys([*FILTERS, *sorted({f for c in cases for f in c.flags})]))
    out = {}
    for name in names:
        rule = FILTERS.get(name)
        carried = [name in c.flags for c in cases]
        told = [rule(c, parameters).flagged if rule else False for c in cases]
        counts = Counter("flagged" if has else "unknown" if said is None else "passed" for has, said in zip(carried, told, strict=True))
        out[name] = FilterCount(counts["flagged"], counts["passed"], counts["unknown"])
    return out


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Cases after some were left out.

    Attributes:
        kept: In their order.
        by_flag: Cases left out by flag; one with two flags counts in both.
        left_out: Cases left out in all.
    """

    kept: tuple[Case, ...]
    by_flag: Mapping[str, int]
    left_out: int


def leave_out(cases: Sequence[Case], flags: Collection[str]) -> LeftOut:
    """The cases that carry none of the flags, and how many were left out for each."""
    kept = tuple(c for c in cases if not set(flags) & set(c.flags))
    by_flag = {f: sum(f in c.flags for c in cases) for f in dict.fromkeys(flags)}
    return LeftOut(kept, by_flag, len(cases) - len(kept))
