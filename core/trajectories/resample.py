"""Brings trajectories to another step of time: linear between states, with the origin at t = 0 put before them.

Nothing is made up: a new state is valid only between (or on) valid states, and the horizon never grows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.trajectories.case import Agent, Agents, Bools, Case, Floats, Trajectory
from core.trajectories.document_model import MAX_POINTS
from core.trajectories.report import Imported, Outcome

_ON = 1e-6
"""Share of a step within which a time counts as that of a state."""


def _between(rows: Floats, valid: Bools, at: Floats) -> tuple[Floats, Bools]:
    """Rows at fractional row numbers.

    Args:
        rows: Shape (N, D).
        valid: Shape (N,).
        at: Shape (M,), within 0 and N - 1.
    """
    near = np.round(at)
    at = np.where(np.abs(at - near) <= _ON, near, at)
    low = np.clip(np.floor(at).astype(int), 0, len(rows) - 1)
    high = np.minimum(low + 1, len(rows) - 1)
    share = (at - low)[:, None]
    exact = share[:, 0] == 0
    out = np.where(exact[:, None], rows[low], rows[low] * (1 - share) + rows[high] * share)
    return out, valid[low] & (exact | valid[high])


def _with_yaw(points: Floats, yaw: Floats | None) -> Floats:
    return points if yaw is None else np.column_stack([points, np.unwrap(yaw)])


def _split(rows: Floats, valid: Bools, yaw: Floats | None) -> Trajectory:
    return Trajectory(rows[:, :2], valid, None if yaw is None else rows[:, 2])


def resample(trajectory: Trajectory, dt_s: float, step_s: float, *, origin: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Trajectory:
    """A trajectory at another step; rows are at step_s, 2 step_s, … as far as the source goes.

    Args:
        trajectory: Rows at dt_s, 2 dt_s, …
        dt_s: Its step.
        step_s: The new one.
        origin: x, y and heading at t = 0.
    """
    n = int(np.floor(len(trajectory) * dt_s / step_s + _ON))
    at = np.arange(1, n + 1) * (step_s / dt_s)
    start = np.array([origin[:2]])
    points = np.vstack([start, trajectory.points])
    yaw = None if trajectory.yaw is None else np.r_[origin[2], trajectory.yaw]
    rows, valid = _between(_with_yaw(points, yaw), np.r_[True, trajectory.valid], np.minimum(at, len(trajectory)))
    return _split(rows, valid, yaw)


def resample_history(history: Trajectory, dt_s: float, step_s: float) -> Trajectory:
    """A history at another step; its last row stays t = 0, and it reaches as far back as the source does."""
    if len(history) == 0:
        return history
    n = int(np.floor((len(history) - 1) * dt_s / step_s + _ON)) + 1
    at = len(history) - 1 - np.arange(n - 1, -1, -1) * (step_s / dt_s)
    rows, valid = _between(_with_yaw(history.points, history.yaw), history.valid, np.maximum(at, 0))
    return _split(rows, valid, history.yaw)


def cut(trajectory: Trajectory, n: int) -> Trajectory:
    """The first n rows."""
    yaw = None if trajectory.yaw is None else trajectory.yaw[:n]
    return Trajectory(trajectory.points[:n], trajectory.valid[:n], yaw)


def resample_case(case: Case, step_s: float) -> tuple[Case, str]:
    """A case with all its trajectories at another step, and one sentence on what was done ("" if nothing had to be).

    Raises:
        ValueError: The step is longer than the horizon, or makes more points than a trajectory may have.
    """
    if abs(step_s - case.dt_s) <= 1e-9:
        return case, ""
    dt = case.dt_s
    longest = max(
        len(t) for t in (case.expert, *([case.history] if case.history else []), *(r.trajectory for r in case.rated), *_futures(case))
    )
    if longest * dt / step_s > MAX_POINTS:
        raise ValueError(f"a step of {step_s:g} s makes more than {MAX_POINTS:,} points of a trajectory that covers {longest * dt:g} s")
    expert = resample(case.expert, dt, step_s)
    if not len(expert):
        raise ValueError(f"a step of {step_s:g} s is longer than the {case.horizon_s:g} s that the trajectories cover")
    made = replace(
        case,
        dt_s=step_s,
        expert=expert,
        planner=resample(case.planner, dt, step_s),
        history=None if case.history is None else resample_history(case.history, dt, step_s),
        rated=tuple(replace(r, trajectory=resample(r.trajectory, dt, step_s)) for r in case.rated),
        agents=None if case.agents is None else Agents(tuple(_agent(a, dt, step_s) for a in case.agents.items), case.agents.coverage),
    )
    lost = case.horizon_s - made.horizon_s
    said = f"step {dt:g} s to {step_s:g} s, linear with the origin put before the first state"
    return made, said + (f"; the last {lost:.3g} s fall away" if lost > 1e-6 else "")


def _futures(case: Case) -> list[Trajectory]:
    return [] if case.agents is None else [a.future for a in case.agents.items if a.future is not None]


def _agent(a: Agent, dt_s: float, step_s: float) -> Agent:
    return a if a.future is None else replace(a, future=resample(a.future, dt_s, step_s, origin=(a.x, a.y, a.yaw)))


def resampled(imported: Imported, step_s: float) -> Imported:
    """All accepted cases at one step; the report says of each case how it was changed, and which could not be."""
    cases: list[Case] = []
    said: dict[str, str] = {}
    failed: dict[str, str] = {}
    for case in imported.cases:
        try:
            made, sentence = resample_case(case, step_s)
        except ValueError as e:
            failed[case.case_id] = str(e)
            continue
        cases.append(made)
        said[case.case_id] = sentence

    def changed(o: Outcome) -> Outcome:
        if o.fate != "accepted":
            return o
        if o.case_id in failed:
            return replace(o, fate="rejected", notes=(*o.notes, failed[o.case_id]))
        return replace(o, resampled="; ".join(filter(None, [o.resampled, said.get(o.case_id, "")])))

    report = replace(imported.report, outcomes=tuple(changed(o) for o in imported.report.outcomes))
    return replace(imported, cases=cases, report=report)
