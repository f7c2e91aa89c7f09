"""Predictions of NAVSIM: pickles whose content is read as data, never run.

A submission is a dict with "predictions" (version 1), or "first_stage_predictions" and "second_stage_predictions" (version 2): a list of
dicts from a scene's token to a `Trajectory`, whose `poses` are x, y, heading at the rear axle, 4 s at 2 Hz, the first pose 0.5 s after
t = 0 (navsim/common/dataclasses.py, navsim/planning/script/run_create_submission_pickle.py).
It does not say what was driven: that comes from a set of cases, or from a pickle with what each scene's `get_future_trajectory` gives.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import InputError
from core.trajectories.case import Case, Ego, Floats, Trajectory
from core.trajectories.importers import pairing
from core.trajectories.importers.clean import fitted
from core.trajectories.importers.collect import Collector
from core.trajectories.importers.pairing import Prediction
from core.trajectories.importers.pickles import SAMPLING, TRAJECTORY, Array, Record, read_pickle
from core.trajectories.report import Imported

HORIZON_S = 4.0
INTERVAL_S = 0.5
"""Step where a trajectory names none (NAVSIM_INTERVAL_LENGTH)."""
STAGES = {"predictions": "", "first_stage_predictions": "", "second_stage_predictions": " (second stage)"}
LARGEST_M = 1e4
MOST_POSES = 10_000_000
"""Of all trajectories of a file together: one array of a pickle may stand behind any number of tokens."""


def looks_like(path: Path) -> bool:
    """Whether it is a pickle of protocol 2 or later by its name and first byte."""
    if not path.is_file() or path.suffix.lower() not in (".pkl", ".pickle"):
        return False
    try:
        with path.open("rb") as file:
            return file.read(1) == b"\x80"
    except OSError:
        return False


def read(path: Path, *, expert: Path | str = "", cases: Path | str = "", planner: str = "") -> Imported:
    """Cases of a submission.

    Args:
        path: The pickle.
        expert: Pickle of the same layout with what was driven, token by token.
        cases: Instead of it, a set of cases whose `scene_id` is the token: brings speeds, cameras and surroundings too.
        planner: Name of the planner; `team_name` in the file, or the name of the file, if empty.

    Raises:
        InputError: Neither or both of `expert` and `cases` are given, or a file cannot be used.
    """
    if bool(expert) == bool(cases):
        raise InputError(
            "A submission of NAVSIM holds only what the planner would have driven. Name either expert (a pickle of the same layout with "
            "what was driven; docs/cases.md has the four lines that write it) or cases (a set of cases whose scene_id is the token)."
        )
    out = Collector(path.name, "navsim")
    predictions = _predictions(out, path, planner)
    if cases:
        return pairing.with_cases(out, Path(cases), predictions)
    driven_out = Collector(Path(expert).name, "navsim")
    driven = {p.scene: p for p in _predictions(driven_out, Path(expert), "expert")}
    if driven_out.outcomes:
        out.remarks.append(f"{len(driven_out.outcomes):,} trajectories of the expert's file cannot be used; their scenes are rejected.")
    for prediction in predictions:
        _pair(out, prediction, driven.get(prediction.scene))
    return out.result()


def _predictions(out: Collector, path: Path, planner: str) -> list[Prediction]:
    """Every trajectory of a pickle that can be used; the others are noted."""
    content = read_pickle(path)
    lists = {k: content[k] for k in STAGES if k in content} if isinstance(content, dict) else {}
    if not lists or not all(isinstance(v, list) and all(isinstance(d, dict) for d in v) for v in lists.values()):
        raise InputError(
            f'"{path.name}" is no submission of NAVSIM: expected a dict with "predictions" (or "first_stage_predictions" and '
            '"second_stage_predictions"), a list of dicts from a token to a Trajectory.'
        )
    team = content.get("team_name")
    name = planner or (team if isinstance(team, str) and team.strip() else path.stem)
    found: list[Prediction] = []
    poses = 0
    for key, dicts in lists.items():
        for k, by_token in enumerate(dicts):
            who = f"{name}{STAGES[key]}" + (f" #{k + 1}" if len(dicts) > 1 else "")
            for token, value in by_token.items():
                where = f"{path.name}, {key}[{k}][{token}]"
                made = _trajectory(value)
                if isinstance(made, str):
                    out.reject(where, token, made)
                    continue
                poses += len(made[0])
                if poses > MOST_POSES:
                    raise InputError(f'"{path.name}" has more than {MOST_POSES:,} poses; split it.')
                found.append(Prediction(token, who, *made, where=where))
    return found


def _trajectory(value: Any) -> tuple[Trajectory, float, tuple[str, ...]] | str:
    """Trajectory, step and notes, or why it cannot be used."""
    if not isinstance(value, Record) or value.name != TRAJECTORY[1] or value.state is None:
        return "it is no Trajectory"
    array = value.state.get("poses")
    poses = array.value if isinstance(array, Array) else None
    if poses is None or poses.dtype.kind != "f" or poses.ndim != 2 or poses.shape[1] != 3 or not len(poses):
        return f"its poses have the shape {None if poses is None else poses.shape}; rows of x, y, heading expected"
    rows = poses.astype(np.float64)
    if not np.isfinite(rows).all() or np.abs(rows).max() > LARGEST_M:
        return f"a pose that is not finite, or farther than {LARGEST_M:,.0f} m"
    sampling = value.state.get("trajectory_sampling")
    step, notes = _step(sampling.state if isinstance(sampling, Record) and sampling.name == SAMPLING[1] else None, len(rows))
    if step is None:
        return notes[0]
    if _with_origin(rows, step, sampling.state if isinstance(sampling, Record) else None):
        rows, notes = rows[1:], (*notes, f"{len(poses)} poses with the origin at t = 0: the origin was left out")
    return Trajectory.of(rows[:, :2], yaw=rows[:, 2]), step, notes


def _with_origin(rows: Floats, step_s: float, state: dict[str, Any] | None) -> bool:
    """Whether the first pose is that of t = 0: there is one more than the sampling has, or than the 4 s where it names no horizon.

    A vehicle that still stands after the first step is at (0, 0, 0) too.
    """
    horizon = (state or {}).get("time_horizon")
    seconds = float(horizon) if isinstance(horizon, int | float) and 0 < horizon <= 60 else HORIZON_S
    return len(rows) > 1 and bool(np.abs(rows[0]).max() < 1e-6) and abs((len(rows) - 1) * step_s - seconds) < 1e-6


def _step(state: dict[str, Any] | None, n: int) -> tuple[float | None, tuple[str, ...]]:
    """Seconds between poses, with what was found; None with the reason if it cannot be told."""
    if state is None:
        return INTERVAL_S, (f"it has no sampling: {INTERVAL_S:g} s between poses were taken",)
    step, horizon = state.get("interval_length"), state.get("time_horizon")
    numbers = [x for x in (step, horizon) if isinstance(x, int | float) and math.isfinite(x) and 0 < x <= 60]
    if isinstance(step, int | float) and step in numbers:
        return float(step), ()
    if numbers:
        return float(numbers[0]) / n, (f"it names no step: {numbers[0]:g} s were divided by {n} poses",)
    return None, (f"its sampling has no usable step (interval_length {step!r})"[:120],)


def _pair(out: Collector, p: Prediction, driven: Prediction | None) -> None:
    """A case of two trajectories alone."""
    if driven is None:
        out.reject(p.place, p.scene, "the expert's file has no usable trajectory for the token")
        return
    if abs(driven.dt_s - p.dt_s) > 1e-9:
        out.reject(p.place, p.scene, f"the planner has a step of {p.dt_s:g} s, the expert one of {driven.dt_s:g} s")
        return
    speed = float(np.hypot(*driven.trajectory.points[0]) / p.dt_s)
    whole = Case(
        case_id=pairing.case_id(p.scene, p.planner),
        scene_id=p.scene,
        planner_id=p.planner,
        dt_s=p.dt_s,
        expert=driven.trajectory,
        planner=p.trajectory,
        ego=Ego(speed, origin="rear_axle"),
        source={"dataset": "NAVSIM", "token": p.scene, "speed_from": "first step of the expert"},
    )
    case, notes = fitted(whole)
    note = "the speed at t = 0 is not in the files: that of the expert's first step was taken"
    out.take(case, p.place, (*p.notes, *driven.notes, *notes, note))
