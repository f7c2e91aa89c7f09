"""Puts trajectories of a source into the form of a case: axes, origin, padding, step, length. What was done is said, one note a thing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from core.errors import InputError
from core.trajectories.case import Agents, Bools, Case, Floats, Trajectory
from core.trajectories.checks import MOVING_MPS, has_origin, zero_padding
from core.trajectories.report import several
from core.trajectories.resample import cut, resample

Axes = Literal["forward_left", "forward_right", "right_forward"]
AXES: tuple[Axes, ...] = get_args(Axes)
"""What x and y of a source are."""


def checked_axes(axes: str) -> Axes:
    """The axes by name.

    Raises:
        InputError: There are no such axes.
    """
    if axes not in AXES:
        raise InputError(f'There are no axes "{axes}"; allowed: {", ".join(AXES)}.')
    return axes


def number_option(name: str, value: Any, low: float, high: float) -> float:
    """The number of an option, which may come as text.

    Raises:
        InputError: It is none, or not within the limits.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not low <= number <= high:
        raise InputError(f'The option {name} is "{value}"; allowed: a number from {low:g} to {high:g}.')
    return number


def turned(points: Floats, axes: Axes) -> Floats:
    """Points, shape (N, 2), as x forward and y left."""
    if axes == "forward_left":
        return points
    x, y = points[:, 0], points[:, 1]
    return np.stack([x, -y] if axes == "forward_right" else [y, -x], axis=1)


def turned_yaw(yaw: Floats | None, axes: Axes) -> Floats | None:
    """Headings, counter-clockwise from forward. In the source they count from x towards y."""
    if yaw is None or axes == "forward_left":
        return yaw
    return -yaw if axes == "forward_right" else yaw - np.pi / 2


def axes_remark(axes: Axes) -> str:
    """What was done to the axes, "" if nothing."""
    return {
        "forward_left": "",
        "forward_right": "y was turned from right to left",
        "right_forward": "x right, y forward was turned to x forward, y left",
    }[axes]


def held(points: Floats, valid: Bools) -> Floats:
    """Points that are finite everywhere: the last valid one (or the origin) where there is none."""
    last = np.maximum.accumulate(np.where(valid, np.arange(1, len(points) + 1), 0)) if len(points) else np.zeros(0, dtype=int)
    padded = np.vstack([np.zeros((1, 2)), points])
    result: Floats = padded[last]
    return result


def clean(
    points: Any,
    dt_s: float,
    speed_mps: float,
    *,
    name: str,
    valid: Any = None,
    yaw: Any = None,
    axes: Axes = "forward_left",
    origin: bool = True,
    horizon_s: float | None = None,
) -> tuple[Trajectory, tuple[str, ...]]:
    """A trajectory from rows of a source, and what was done to it.

    Args:
        points: Shape (T, 2); rows that are not finite are states that are not valid.
        dt_s: Step.
        speed_mps: At t = 0; tells whether the first row is the origin.
        name: Of the trajectory, for the notes.
        valid: Shape (T,).
        yaw: Shape (T,).
        axes: Of points and headings.
        origin: Whether the first row may be the origin at t = 0, because nothing says its time.
        horizon_s: What the rows cover, if the source says so.
    """
    p = turned(np.asarray(points, dtype=np.float64).reshape(-1, 2), axes)
    ok: Bools = np.isfinite(p[:, 0]) & np.isfinite(p[:, 1])
    notes = []
    if (~ok).any():
        notes.append(
            several(int((~ok).sum()), f"state of the {name} has no position and is", f"states of the {name} have no position and are")
            + " not valid"
        )
    if valid is not None:
        ok = ok & np.asarray(valid, dtype=np.bool_)
    turn = turned_yaw(None if yaw is None else np.asarray(yaw, dtype=np.float64), axes)
    if turn is not None and not np.isfinite(turn).all():
        turn = None
        notes.append(f"headings of the {name} are not all there and were left out")
    if origin and len(p) and ok[0] and has_origin(p, speed_mps, dt_s, horizon_s):
        p, ok, turn = p[1:], ok[1:], None if turn is None else turn[1:]
        notes.append(f"the {name} began with the origin at t = 0, which was taken away ({len(p) + 1} to {len(p)} points)")
    nothing: Bools = ~(np.isfinite(p[:, 0]) & np.isfinite(p[:, 1]))
    zeros = zero_padding(np.where(ok[:, None], p, 1.0)) & ok
    if zeros.any():
        ok = ok & ~zeros
        notes.append(
            several(
                int(zeros.sum()),
                f"state of the {name} was padded with zeros and is",
                f"states of the {name} were padded with zeros and are",
            )
            + " not valid"
        )
    return Trajectory(np.where((nothing | zeros)[:, None], held(p, ok), p), ok, turn), tuple(notes)


def past(points: Any, valid: Any = None, yaw: Any = None) -> tuple[Trajectory, tuple[str, ...]]:
    """A history from rows whose last one is t = 0, and what was done to it: zeros before the way began stand for "no state".

    Args:
        points: Shape (T, 2), x forward, y left, m; rows that are not finite are states that are not valid.
        valid: Shape (T,).
        yaw: Shape (T,), rad; left out if not all finite.
    """
    p = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    ok: Bools = np.isfinite(p[:, 0]) & np.isfinite(p[:, 1])
    if valid is not None:
        ok = ok & np.asarray(valid, dtype=np.bool_)
    zeros = zero_padding(np.where(ok[:, None], p, 0.0)[::-1])[::-1] & ok
    ok = ok & ~zeros
    turn = None if yaw is None or not np.isfinite(np.asarray(yaw, dtype=np.float64)).all() else np.asarray(yaw, dtype=np.float64)
    n = int(zeros.sum())
    states = several(n, "state of the history was padded with zeros and is", "states of the history were padded with zeros and are")
    return Trajectory(held(p, ok), ok, turn), (f"{states} not valid",) if n else ()


def onto(trajectory: Trajectory, dt_s: float, step_s: float, name: str) -> tuple[Trajectory, str]:
    """A trajectory at the step of its case, and how it was changed ("" if it was not)."""
    if abs(dt_s - step_s) <= 1e-6 * step_s:
        return trajectory, ""
    made = resample(trajectory, dt_s, step_s)
    return made, f"{name}: step {dt_s:g} s to {step_s:g} s, linear with the origin put before the first state"


def fit_step(t: Trajectory, steps: int, dt_s: float, speed_mps: float, name: str, *, sure: bool = False) -> tuple[Trajectory, str]:
    """A trajectory with too few points for its step, at the step of the case if it covers the same time with a longer one.

    Ten points beside twenty are either half the time or half the rate. The speed at t = 0 decides; of a vehicle that (nearly) stands
    nothing can be told.

    Args:
        t: The trajectory.
        steps: Points of the expert.
        dt_s: Step of the case.
        speed_mps: At t = 0.
        name: For the note.
        sure: Leave it as it is where the speed cannot decide.
    """
    if not 0 < len(t) < steps or steps % len(t):
        return t, ""
    factor = steps // len(t)
    if speed_mps >= MOVING_MPS and t.valid[0]:
        ratio = float(np.hypot(*t.points[0])) / (speed_mps * dt_s)
        longer = abs(np.log(max(ratio, 1e-3) / factor)) < abs(np.log(max(ratio, 1e-3)))
    else:
        longer = not sure
    if not longer:
        return t, ""
    return resample(t, dt_s * factor, dt_s), f"{name}: {len(t)} points were read as steps of {dt_s * factor:g} s and brought to {dt_s:g} s"


def rated(
    points: Any, steps: int, dt_s: float, speed_mps: float, number: int, *, valid: Any = None, yaw: Any = None
) -> tuple[Trajectory, tuple[str, ...], str]:
    """A trajectory that people scored, at the step and no longer than its case; with notes, and how it was resampled ("" if not).

    Args:
        points: Shape (T, 2), m; its first row may be the origin, and its step a longer one.
        steps: Points of the expert.
        dt_s: Step of the case.
        speed_mps: At t = 0.
        number: For the notes, from 1.
        valid: Shape (T,).
        yaw: Shape (T,), rad.
    """
    name = f"rated trajectory {number}"
    t, notes = clean(points, dt_s, speed_mps, name=name, valid=valid, yaw=yaw, horizon_s=steps * dt_s)
    t, change = fit_step(t, steps, dt_s, speed_mps, name)
    return cut(t, steps), (*notes, *([f"{name} has {len(t)} points and was cut to {steps}"] if len(t) > steps else [])), change


def fitted(case: Case) -> tuple[Case, tuple[str, ...]]:
    """The case with expert and planner of one length: the longer one is cut, and so is everything that reaches farther than they do."""
    n = min(len(case.expert), len(case.planner))
    notes = []
    for name, t in (("expert", case.expert), ("planner", case.planner)):
        if len(t) > n:
            notes.append(f"the {name} covers {len(t) * case.dt_s:g} s and was cut to the {n * case.dt_s:g} s that both cover")
    if not notes:
        return case, ()
    agents = case.agents
    if agents is not None:
        items = tuple(a if a.future is None else replace(a, future=cut(a.future, n)) for a in agents.items)
        agents = Agents(items, agents.coverage)
    return replace(case, expert=cut(case.expert, n), planner=cut(case.planner, n), agents=agents), tuple(notes)
