"""How far a planner's trajectory lies from another one: at one time, and on average up to one.

Two names for two things that papers both call L2: `error_at` is the distance at one time, `mean_up_to` the mean of the distances at
every step up to it. ADE@h is `mean_up_to` at h; FDE is `error_at` at the end. The origin at t = 0 is no step and counts in neither.
Every number carries its reference and its horizon. What cannot be computed is None with a reason, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.trajectories.case import Case, Floats, Trajectory

Reference = Literal["expert", "best_rated"]
Kind = Literal["error_at", "mean_up_to"]

REFERENCES: tuple[Reference, ...] = ("expert", "best_rated")
FULL_HORIZON_S = 5.0
"""FDE is taken there (Table 1 of FluidTest: 5 s, sample 20 at 4 Hz)."""


@dataclass(frozen=True)
class Measured:
    """A number of one case, or why there is none.

    Attributes:
        value: None where it cannot be known.
        reason: One sentence where there is no value; what a person should know of it otherwise, mostly "".
    """

    value: float | None
    reason: str = ""


def steps_to(dt_s: float, t_s: float) -> int | None:
    """Number of steps up to a time; None if the time lies between two steps, or not after 0."""
    steps = t_s / dt_s
    nearest = round(steps)
    return nearest if nearest >= 1 and math.isclose(steps, nearest, abs_tol=1e-6) else None


def best_rated(case: Case) -> Trajectory | None:
    """The trajectory with the highest score, the first of equal ones; None if none was rated."""
    rated = [r for r in case.rated if r.score is not None]
    return max(rated, key=lambda r: r.score or 0.0).trajectory if rated else None


def error_at(case: Case, t_s: float, reference: Reference = "expert") -> Measured:
    """Distance between planner and reference at one time.

    Args:
        case: The case.
        t_s: Seconds after t = 0; one of its steps.
        reference: What the planner is held against.

    Returns:
        Metres, or why it is not known.
    """
    return _measure(case, t_s, reference, at_end=True)


def mean_up_to(case: Case, t_s: float, reference: Reference = "expert") -> Measured:
    """Mean distance between planner and reference over the steps up to a time, the origin left out.

    Args:
        case: The case.
        t_s: Seconds after t = 0; one of its steps.
        reference: What the planner is held against.

    Returns:
        Metres, or why it is not known.
    """
    return _measure(case, t_s, reference, at_end=False)


def ade(case: Case, horizon_s: float, reference: Reference = "expert") -> Measured:
    """Average displacement error up to a horizon: `mean_up_to`."""
    return mean_up_to(case, horizon_s, reference)


def fde(case: Case, horizon_s: float = FULL_HORIZON_S, reference: Reference = "expert") -> Measured:
    """Final displacement error at a horizon: `error_at`."""
    return error_at(case, horizon_s, reference)


@dataclass(frozen=True)
class Displacement:
    """One of the displacement metrics, with all that its name has to say.

    Attributes:
        key: Name in files, such as "ade_3s_expert".
        label: Name on screens, such as "ADE@3 s (expert)".
        kind: At one time or up to it.
        horizon_s: The time.
        reference: What the planner is held against.
    """

    key: str
    label: str
    kind: Kind
    horizon_s: float
    reference: Reference

    def of(self, case: Case) -> Measured:
        """The metric of one case, in metres."""
        measure: Callable[[Case, float, Reference], Measured] = error_at if self.kind == "error_at" else mean_up_to
        return measure(case, self.horizon_s, self.reference)


def displacement(name: Literal["ADE", "FDE"], horizon_s: float, reference: Reference = "expert") -> Displacement:
    """A metric by its usual name."""
    kind: Kind = "mean_up_to" if name == "ADE" else "error_at"
    against = {"expert": "expert", "best_rated": "best rated"}[reference]
    return Displacement(f"{name.lower()}_{horizon_s:g}s_{reference}", f"{name}@{horizon_s:g} s ({against})", kind, horizon_s, reference)


def standard_displacements(references: Sequence[Reference] = REFERENCES) -> tuple[Displacement, ...]:
    """ADE@3 s, ADE@5 s and FDE at 5 s against each reference."""
    return tuple(
        d for r in references for d in (displacement("ADE", 3, r), displacement("ADE", 5, r), displacement("FDE", FULL_HORIZON_S, r))
    )


def _measure(case: Case, t_s: float, reference: Reference, at_end: bool) -> Measured:
    other = case.expert if reference == "expert" else best_rated(case)
    if other is None:
        return Measured(None, "No trajectory of this scene was rated.")
    steps = steps_to(case.dt_s, t_s)
    if steps is None:
        return Measured(None, f"{t_s:g} s is no step of {case.dt_s:g} s.")
    for name, trajectory in (("planner", case.planner), (reference.replace("_", " "), other)):
        if len(trajectory) < steps:
            return Measured(None, f"The {name} trajectory ends after {len(trajectory) * case.dt_s:g} s.")
    needed = slice(steps - 1, steps) if at_end else slice(0, steps)
    for name, trajectory in (("planner", case.planner), (reference.replace("_", " "), other)):
        bad = int((~trajectory.valid[needed]).sum())
        if bad:
            return Measured(None, f"{bad} of {steps if not at_end else 1} needed states of the {name} trajectory are not valid.")
    apart: Floats = np.linalg.norm(case.planner.points[needed] - other.points[needed], axis=1)
    return Measured(float(apart.mean()))
