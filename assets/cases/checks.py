"""Geometry against the gold labels: nothing in the pack may contradict what its pictures and maps show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from kit import DT, Scene

from core.trajectories.case import Case, Floats, Trajectory
from core.trajectories.footprint import outline, path_of


def separation(a: Floats, b: Floats) -> float:
    """Distance of two convex outlines, shape (4, 2) each; negative where they overlap."""
    best = -np.inf
    for p in (a, b):
        edge = np.roll(p, -1, axis=0) - p
        for n in np.stack([edge[:, 1], -edge[:, 0]], axis=1) / np.maximum(np.hypot(*edge.T), 1e-9)[:, None]:
            best = max(best, float((b @ n).min() - (a @ n).max()), float((a @ n).min() - (b @ n).max()))
    return best


def clearance(case: Case, scene: Scene, way: Trajectory) -> tuple[float, str, float]:
    """Least distance of the body to anything on a way: metres, to what, and when in s."""
    path = path_of(way, DT)
    best = (np.inf, "", 0.0)
    things = [] if case.static_objects is None else case.static_objects.items
    for t in np.arange(0.0, path.t[-1] + 1e-9, 0.125):
        pose = path.at(float(t))
        if pose is None:
            continue
        body = outline(*pose, case.ego)
        for s in things:
            box = s.points if s.closed else s.points[0] + 0.2 * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
            best = min(best, (separation(body, box), s.kind, float(t)))
        for actor, agent in zip(scene.actors, case.agents.items if case.agents else (), strict=True):
            x, y, yaw = actor.at(float(t))
            c, s_ = np.cos(yaw), np.sin(yaw)
            half = np.array([agent.length_m, agent.width_m]) / 2
            local = half * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
            best = min(best, (separation(body, local @ np.array([[c, s_], [-s_, c]]) + (x, y)), f"{agent.cls} {agent.track_id}", float(t)))
    return best


TOUCH = {
    "collision_with_static_objects",
    "collision_with_stationary_vehicle",
    "vehicle_collision_course",
    "failure_to_yield_pedestrian",
    "failure_to_yield_vehicle",
}
"""Threats that are only given where the bodies meet or all but meet."""


def check(made: Sequence[tuple[Scene, str]], cases: Sequence[Case]) -> list[str]:
    """Refuse a pack that contradicts itself.

    Returns:
        A line about each case, for those who look.

    Raises:
        ValueError: With everything that is wrong.
    """
    scenes = {s.id: s for s, _ in made}
    wrong, lines = [], []
    for case in cases:
        scene, gold = scenes[case.scene_id], case.source["gold"]
        expert, planner = clearance(case, scene, case.expert), clearance(case, scene, case.planner)
        apart = float(np.hypot(*(case.planner.points - case.expert.points).T).max())
        lines.append(
            f"{case.case_id:16} {gold['label']} expert {expert[0]:5.2f} m to {expert[1]:12} at {expert[2]:.2f} s | "
            f"planner {planner[0]:5.2f} m to {planner[1]:12} at {planner[2]:.2f} s | apart {apart:5.2f} m | {', '.join(gold['threats'])}"
        )
        if expert[0] < 0.35:
            wrong.append(f"{case.scene_id}: the expert comes within {expert[0]:.2f} m of {expert[1]} at {expert[2]:.2f} s")
        if gold["label"] == "N" and planner[0] < 0.35:
            wrong.append(f"{case.case_id}: no threat, but within {planner[0]:.2f} m of {planner[1]} at {planner[2]:.2f} s")
        if TOUCH & set(gold["threats"]) and planner[0] > 1.2:
            wrong.append(f"{case.case_id}: {', '.join(gold['threats'])}, but never nearer than {planner[0]:.2f} m to anything")
        if (gold["label"] == "Y" and not gold["threats"]) or (gold["label"] != "Y" and gold["threats"]):
            wrong.append(f"{case.case_id}: gold {gold['label']} with threats {gold['threats']}")
    if wrong:
        raise ValueError("\n".join([*lines, "", *wrong]))
    return lines
