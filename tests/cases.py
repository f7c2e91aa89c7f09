"""Small cases for tests: straight road, 4 Hz, five seconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.trajectories.case import Camera, Case, Ego, Frame, Trajectory
from core.trajectories.report import Imported, ImportReport, Outcome

STEPS, DT = 20, 0.25


def straight(speed: float = 8.0, dy: float = 0.0, n: int = STEPS, dt: float = DT) -> Trajectory:
    """Along x at a constant speed, drifting to `dy` metres on the left in the end."""
    t = dt * np.arange(1, n + 1)
    return Trajectory.of(np.stack([speed * t, dy * t / t[-1]], axis=1))


def case(case_id: str = "s1-p", **changes: Any) -> Case:
    """A case without images; any field by name."""
    fields: dict[str, Any] = {
        "scene_id": case_id.rsplit("-", 1)[0],
        "planner_id": case_id.rsplit("-", 1)[-1],
        "dt_s": DT,
        "expert": straight(),
        "planner": straight(9.0, 1.0),
        "ego": Ego(8.0),
        "command": "straight",
        "licence": "CC0-1.0",
        "synthetic": True,
    }
    return Case(case_id=case_id, **(fields | changes))


def camera(path: str, name: Any = "front") -> Camera:
    """A camera with one image, of which nothing else is known."""
    return Camera(name, (Frame(0.0, path),))


def imported(*cases: Case, images: dict[str, Any] | None = None) -> Imported:
    """Cases as an importer gives them."""
    outcomes = tuple(Outcome(f"line {i}", c.case_id, "accepted") for i, c in enumerate(cases, 1))
    return Imported(cases, images or {}, ImportReport("made.jsonl", "jsonl", outcomes))
