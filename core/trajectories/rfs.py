"""Rater Feedback Score, as the public definition of the WOD-E2E challenge has it.

Up to three trajectories carry a score of raters, 0 to 10. Around each of them lies a trust region at 3 s and 5 s, wider along the
trajectory than across it, and wider at speed. Inside, a prediction gets the score of that trajectory; outside, the score falls by a
factor of ten for each further half-width, and never below a floor.
Source: the Waymo Open Dataset's definition (rater feedback score, 2025); golden values of its own code are a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.trajectories.case import Case, Floats
from core.trajectories.displacement import Measured, steps_to

TIMES_S = (3.0, 5.0)
HALF_WIDTHS_M = np.array([1.0, 1.8])
"""Across, at 3 s and 5 s, at full scale."""
ALONG = 4.0
"""Along the trajectory it reaches so many times as far."""
DECAY = 0.1
FLOOR = 4.0
MOST_RATED = 3
SLOW_MPS, FAST_MPS = 1.4, 11.0
UNRATED = -1.0
"""What the source writes where nobody rated."""


@dataclass(frozen=True)
class RaterFeedback:
    """The score of one scene.

    Attributes:
        value: 0 to 10, None without a rated trajectory.
        inside: Whether every prediction lies in the trust region of one rated trajectory at both times.
        inside_each: The same for each prediction.
        rated: Trajectories that count.
        unrated: Trajectories dropped because nobody rated them.
        beyond: Rated trajectories dropped because only the first three count.
    """

    value: float | None
    inside: bool
    inside_each: tuple[bool, ...]
    rated: int
    unrated: int
    beyond: int


def speed_scale(speed_mps: float) -> float:
    """How wide the trust region is at an initial speed: 0.5 up to 1.4 m/s, 1 from 11 m/s on, linear between."""
    return float(np.clip(0.5 + 0.5 * (speed_mps - SLOW_MPS) / (FAST_MPS - SLOW_MPS), 0.5, 1.0))


def rater_feedback(
    predictions: Any,
    rated: Sequence[tuple[Any, float | None]],
    speed_mps: float,
    dt_s: float,
    *,
    probabilities: Any = None,
    floor: float = FLOOR,
) -> RaterFeedback:
    """Rater Feedback Score of one or several predictions of a scene.

    Args:
        predictions: (T, 2) or (I, T, 2), m, without the origin; at least 5 s.
        rated: Trajectories, each (T, 2) of any length, with their scores; None or -1 where nobody rated.
        speed_mps: Speed at t = 0.
        dt_s: Step of all of them; 3 s and 5 s must be steps.
        probabilities: (I,) weights of the predictions, equal if None; used as they are.
        floor: Least score of a prediction outside the trust region.

    Raises:
        ValueError: Shapes do not fit, or 3 s and 5 s are no steps.
    """
    p = np.asarray(predictions, dtype=np.float64)
    p = p[None] if p.ndim == 2 else p
    if p.ndim != 3 or p.shape[2] != 2:
        raise ValueError(f"Predictions need the shape (T, 2) or (I, T, 2); got {np.shape(predictions)}.")
    at = [steps_to(dt_s, t) for t in TIMES_S]
    last = at[-1]
    if None in at or last is None:
        raise ValueError(f"3 s and 5 s are no steps of {dt_s:g} s.")
    if p.shape[1] < last:
        raise ValueError(f"Predictions need {last} steps; got {p.shape[1]}.")
    weights = np.full(len(p), 1 / len(p)) if probabilities is None else np.asarray(probabilities, dtype=np.float64)
    if weights.shape != (len(p),):
        raise ValueError(f"{weights.size} probabilities do not fit {len(p)} predictions.")
    scored = [(np.asarray(t, dtype=np.float64).reshape(-1, 2), float(s)) for t, s in rated if s is not None and s != UNRATED]
    unrated, beyond = len(rated) - len(scored), max(len(scored) - MOST_RATED, 0)
    if not scored:
        return RaterFeedback(None, False, (False,) * len(p), 0, unrated, 0)
    rows = np.array([k - 1 for k in at if k is not None])
    tracks = np.stack([_fitted(t, last) for t, _ in scored[:MOST_RATED]])
    scores = np.array([s for _, s in scored[:MOST_RATED]])
    along = _directions(tracks)[:, rows]
    apart = p[None, :, rows] - tracks[:, None, rows]
    lon = np.abs((apart * along[:, None]).sum(axis=-1))
    lat = np.abs(apart[..., 1] * along[:, None, :, 0] - apart[..., 0] * along[:, None, :, 1])
    reach = speed_scale(speed_mps) * HALF_WIDTHS_M
    z = np.maximum(lon / (ALONG * reach), lat / reach)  # (rated, predictions, times)
    inside = (z <= 1.0).all(axis=2).any(axis=0)
    by_time = (scores[:, None, None] * DECAY ** np.maximum(z - 1.0, 0.0)).max(axis=0)
    each = by_time.mean(axis=1)
    each = np.where(inside, each, np.maximum(each, floor))
    value = float((each * weights).sum())
    return RaterFeedback(value, bool(inside.all()), tuple(bool(x) for x in inside), len(tracks), unrated, beyond)


def rfs(case: Case) -> Measured:
    """Rater Feedback Score of a case's planner, or why there is none; what was dropped is said beside the value."""
    if not case.rated:
        return Measured(None, "No trajectory of this scene was rated.")
    at = [steps_to(case.dt_s, t) for t in TIMES_S]
    if None in at:
        return Measured(None, f"3 s and 5 s are no steps of {case.dt_s:g} s.")
    last = at[-1] or 0
    if len(case.planner) < last:
        return Measured(None, f"The planner trajectory ends after {len(case.planner) * case.dt_s:g} s.")
    if not all(case.planner.valid[k - 1] for k in at if k is not None):
        return Measured(None, "The planner trajectory is not valid at 3 s or 5 s.")
    usable = [(r.trajectory.points, r.score) for r in case.rated if r.trajectory.valid.all() and len(r.trajectory)]
    found = rater_feedback(case.planner.points[:last], usable, case.ego.speed_mps, case.dt_s)
    dropped = [
        *([f"{found.unrated} without a score left out"] if found.unrated else []),
        *([f"{found.beyond} beyond the first three left out"] if found.beyond else []),
        *([f"{len(case.rated) - len(usable)} with states that are not valid left out"] if len(usable) < len(case.rated) else []),
    ]
    said = "; ".join(dropped).capitalize() + ("." if dropped else "")
    if found.value is None:
        return Measured(None, f"No rated trajectory can be used. {said}".strip())
    return Measured(found.value, said)


def _fitted(track: Floats, steps: int) -> Floats:
    """Cut to a number of steps, or filled with the last position."""
    if not len(track):
        raise ValueError("A rated trajectory has no points.")
    return track[np.minimum(np.arange(steps), len(track) - 1)]


def _directions(tracks: Floats) -> Floats:
    """Unit vectors of each step, (P, T, 2); a step of no length takes the one before, and the first one ahead."""
    step = np.diff(tracks, axis=1, prepend=0.0)
    length = np.linalg.norm(step, axis=-1)
    for t in range(step.shape[1]):
        still = length[:, t] == 0
        step[still, t] = step[still, t - 1] if t else (1.0, 0.0)
    unit: Floats = step / np.linalg.norm(step, axis=-1, keepdims=True)
    return unit
