"""Errors against the expert as nuPlan's metrics define them: distance, distance with heading, heading alone, by horizon.

Source: the metrics of nuPlan (motional/nuplan-devkit, common evaluation metrics); its published test scenes are a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.trajectories.case import Case, Floats, Trajectory
from core.trajectories.displacement import Measured, steps_to

HEADING_WEIGHT_M = 2.5
"""Metres that a radian counts in the error with heading."""
HORIZONS_S = (3, 5, 8)
MOVED_M = 1e-3
"""A shorter step has no direction."""


@dataclass(frozen=True)
class Spread:
    """A series of errors in three numbers: m, or rad for headings.

    Attributes:
        maximum: Largest.
        mean: Mean.
        p90: The observation closest to the 90th percentile, as nuPlan's published scenes have it.
    """

    maximum: float
    mean: float
    p90: float


@dataclass(frozen=True)
class HorizonErrors:
    """Errors of one plan up to a horizon.

    Attributes:
        horizon_s: The horizon.
        mean_l2: Mean distance over the steps up to it, m.
        final_l2: Distance at it, m.
        mean_heading: Mean heading error over the steps up to it, rad.
        final_heading: Heading error at it, rad.
    """

    horizon_s: float
    mean_l2: float
    final_l2: float
    mean_heading: float
    final_heading: float


def wrapped(angle: Any) -> Floats:
    """Angles in rad brought to [-pi, pi)."""
    a = np.asarray(angle, dtype=np.float64)
    return np.asarray((a + np.pi) % (2 * np.pi) - np.pi, dtype=np.float64)


def heading_errors(yaw: Any, expert_yaw: Any) -> Floats:
    """Absolute difference of headings the short way round, rad, (T,)."""
    return np.abs(wrapped(np.asarray(yaw, dtype=np.float64) - np.asarray(expert_yaw, dtype=np.float64)))


def l2_errors(
    points: Any, expert: Any, yaw: Any = None, expert_yaw: Any = None, heading_weight_m: float = 0.0, discount: float = 1.0
) -> Floats:
    """Distance to the expert at each step, with the weighted heading error added where headings and a weight are given.

    Args:
        points: (T, 2), m.
        expert: (T, 2), m.
        yaw: (T,), rad.
        expert_yaw: (T,), rad.
        heading_weight_m: Metres per radian.
        discount: Step k counts discount^k.

    Returns:
        (T,), m.

    Raises:
        ValueError: The two differ in length, or a weight is given without headings.
    """
    a, b = (np.asarray(x, dtype=np.float64).reshape(-1, 2) for x in (points, expert))
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} steps cannot be compared.")
    error: Floats = np.hypot(*(a - b).T) if len(a) else np.zeros(0)
    if heading_weight_m:
        if yaw is None or expert_yaw is None:
            raise ValueError("A weight of headings needs both headings.")
        error = error + heading_weight_m * heading_errors(yaw, expert_yaw)
    return error * discount ** np.arange(len(error))


def spread(errors: Any) -> Spread:
    """Maximum, mean and the observation closest to the 90th percentile.

    Raises:
        ValueError: There are no errors.
    """
    e = np.asarray(errors, dtype=np.float64)
    if not e.size:
        raise ValueError("No errors to summarise.")
    # nuPlan takes NumPy's "closest_observation", which NumPy 2 resolves the other way at ties: 0 instead of 5 in nuPlan's own scene.
    low, rest = divmod(9 * e.size - 15, 10)
    at = low if rest == 0 and low % 2 == 0 else low + 1
    return Spread(float(e.max()), float(e.mean()), float(np.sort(np.abs(e))[min(max(at, 0), e.size - 1)]))


def horizon_errors(
    points: Any, expert: Any, yaw: Any, expert_yaw: Any, dt_s: float, horizons_s: Sequence[float] = HORIZONS_S
) -> tuple[HorizonErrors, ...]:
    """Errors of one plan up to each horizon, the state at t = 0 left out.

    Args:
        points: (T, 2), m, without the origin.
        expert: (T, 2), m.
        yaw: (T,), rad.
        expert_yaw: (T,), rad.
        dt_s: Step of both.
        horizons_s: Horizons; each a step, none beyond the end.

    Raises:
        ValueError: A horizon is no step or lies beyond the end.
    """
    far = l2_errors(points, expert)
    turn = heading_errors(yaw, expert_yaw)
    out = []
    for h in horizons_s:
        n = steps_to(dt_s, h)
        if n is None or n > len(far):
            raise ValueError(f"{h:g} s is no step of {dt_s:g} s within {len(far) * dt_s:g} s.")
        out.append(HorizonErrors(h, float(far[:n].mean()), float(far[n - 1]), float(turn[:n].mean()), float(turn[n - 1])))
    return tuple(out)


def headings(trajectory: Trajectory) -> Floats:
    """Heading at each step, rad: as given, else that of the step that leads there; a step of no length keeps the one before, 0 first."""
    if trajectory.yaw is not None:
        return trajectory.yaw
    step = np.diff(trajectory.points, axis=0, prepend=np.zeros((1, 2)))
    yaw = np.arctan2(step[:, 1], step[:, 0])
    moved = np.hypot(step[:, 0], step[:, 1]) >= MOVED_M
    last = np.maximum.accumulate(np.where(moved, np.arange(len(yaw)), -1))
    return np.where(last >= 0, yaw[np.maximum(last, 0)], 0.0)


def heading_error_at(case: Case, t_s: float) -> Measured:
    """Heading error of a case's planner against the expert at one time, rad, or why it is not known."""
    n = steps_to(case.dt_s, t_s)
    if n is None:
        return Measured(None, f"{t_s:g} s is no step of {case.dt_s:g} s.")
    both = (case.planner, case.expert)
    if any(len(t) < n for t in both):
        return Measured(None, f"A trajectory ends after {min(map(len, both)) * case.dt_s:g} s.")
    if not all(t.valid[:n].all() for t in both):
        return Measured(None, "A state up to there is not valid.")
    return Measured(float(heading_errors(headings(case.planner)[n - 1], headings(case.expert)[n - 1])))
