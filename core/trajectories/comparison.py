"""How planner and expert differ, in the few numbers and the one neutral sentence that an annotator reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.trajectories.case import Case, Floats
from core.trajectories.footprint import Path, path_of

STANDS_MPS, MOVES_MPS = 0.1, 0.3
"""At 4 Hz, 0.1 m/s is 2.5 cm a step: between the two a stop cannot be told from noise."""
SAME_M = 0.3
"""Places nearer than this are called the same; lateral noise floor of the nominating rules."""

Stop = Literal["yes", "no", "unclear", "unknown"]


def speeds(path: Path, speed_mps: float | None) -> Floats:
    """Speed at each time of a path.

    Args:
        path: With the origin at t = 0 first.
        speed_mps: Speed at t = 0 as it was measured; None to read it from the first step.

    Returns:
        Shape (N,), m/s: the mean of the steps before and after, the last step at the end; NaN where neither is known.
    """
    step = step_speeds(path)
    before, after = np.r_[np.nan, step], np.r_[step, np.nan]
    out: Floats = np.where(np.isnan(before), after, np.where(np.isnan(after), before, (before + after) / 2))
    out[~path.valid] = np.nan
    if speed_mps is not None:
        out[0] = speed_mps
    return out


def step_speeds(path: Path) -> Floats:
    """Mean speed over each step, shape (N - 1,), m/s; NaN where one of its ends is not valid."""
    out = np.hypot(*np.diff(path.points, axis=0).T) / np.diff(path.t)
    return np.where(path.valid[1:] & path.valid[:-1], out, np.nan)


def stop(path: Path) -> tuple[Stop, float | None]:
    """Whether a trajectory comes to a stand, and from when on, s.

    "yes" where a step is slower than 0.1 m/s, "unclear" where the slowest lies between 0.1 and 0.3 m/s, "unknown" without a valid step.
    """
    step = step_speeds(path)
    if np.isnan(step).all():
        return "unknown", None
    slowest = float(np.nanmin(step))
    if slowest < STANDS_MPS:
        return "yes", float(path.t[int(np.argmax(step < STANDS_MPS))])
    return ("unclear" if slowest <= MOVES_MPS else "no"), None


@dataclass(frozen=True)
class Offset:
    """Where the planner is, seen from the expert and along the expert's heading.

    Attributes:
        t: The last time at which both are known, s.
        ahead_m: Further on; negative behind.
        left_m: To the left; negative to the right.
        most_m: Largest distance between the two up to then.
    """

    t: float
    ahead_m: float
    left_m: float
    most_m: float


def end_offset(expert: Path, planner: Path) -> Offset | None:
    """The offset at the last time that both have; None if there is none after t = 0."""
    n = min(len(expert.t), len(planner.t))
    both = expert.valid[:n] & planner.valid[:n]
    both[0] = False
    if not both.any():
        return None
    last = int(np.flatnonzero(both)[-1])
    apart = planner.points[:n] - expert.points[:n]
    dx, dy = apart[last]
    c, s = np.cos(expert.yaw[last]), np.sin(expert.yaw[last])
    most = float(np.hypot(*apart[both].T).max())
    return Offset(float(expert.t[last]), float(dx * c + dy * s), float(dy * c - dx * s), most)


def question(case: Case) -> str:
    """The sentence above a case: where the planner ends, without a colour, a judgement or a speed."""
    offset = end_offset(path_of(case.expert, case.dt_s), path_of(case.planner, case.dt_s))
    if offset is None:
        return "There is no moment at which both trajectories are known. Is the planner's a threat?"
    start = f"After {offset.t:.3g} s the planner is "
    if float(np.hypot(offset.ahead_m, offset.left_m)) < SAME_M:
        way = f", and was up to {offset.most_m:.1f} m away from it before" if offset.most_m >= SAME_M else ""
        return f"{start}less than {SAME_M} m from the expert{way}. Is that a threat?"
    return f"{start}{_place(round(offset.ahead_m, 1), round(offset.left_m, 1))}. Is that a threat?"


def _place(ahead: float, left: float) -> str:
    along = f"{abs(ahead):.1f} m {'further on' if ahead > 0 else 'further back'}" if ahead else ""
    across = f"{abs(left):.1f} m to the {'left' if left > 0 else 'right'}" if left else ""
    if along and across:
        return f"{along} and {across} of the expert"
    return f"{across} of the expert" if across else f"{along} than the expert"
