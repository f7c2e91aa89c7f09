"""Where the body of the vehicle is along a trajectory, and the strip of road that it sweeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.trajectories.case import Bools, Ego, Floats, Trajectory

HOLD_M = 0.1
"""Over less movement than this (two steps together) a heading is not read from it: the last one is held."""

STATIONS = 140
"""Most cross sections of a swept strip."""


@dataclass(frozen=True, eq=False)
class Path:
    """Poses at times; the first one of a trajectory is the origin at t = 0.

    Attributes:
        t: Shape (N,), s.
        points: Shape (N, 2), m.
        yaw: Shape (N,), rad, without jumps of a full turn.
        valid: Shape (N,).
    """

    t: Floats
    points: Floats
    yaw: Floats
    valid: Bools

    def at(self, t: float) -> tuple[Floats, float] | None:
        """Position and heading at a time, between rows by straight lines; None outside of them or beside an invalid one."""
        if not self.t[0] - 1e-6 <= t <= self.t[-1] + 1e-6:
            return None
        i = int(np.clip(np.searchsorted(self.t, t - 1e-6), 0, len(self.t) - 1))
        if abs(self.t[i] - t) <= 1e-6:
            return (self.points[i], float(self.yaw[i])) if self.valid[i] else None
        if not (self.valid[i] and self.valid[i - 1]):
            return None
        w = (t - self.t[i - 1]) / (self.t[i] - self.t[i - 1])
        return self.points[i - 1] + w * (self.points[i] - self.points[i - 1]), float(self.yaw[i - 1] + w * (self.yaw[i] - self.yaw[i - 1]))

    def runs(self) -> list[slice]:
        """Stretches of valid poses."""
        edges = np.flatnonzero(np.diff(np.r_[0, self.valid.astype(np.int8), 0]))
        return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def path_of(trajectory: Trajectory, dt_s: float) -> Path:
    """The poses of a trajectory with the origin at t = 0 put before them."""
    n = len(trajectory)
    points = np.vstack([np.zeros((1, 2)), trajectory.points])
    valid = np.r_[True, trajectory.valid]
    given = None if trajectory.yaw is None else np.r_[0.0, trajectory.yaw]
    return Path(np.arange(n + 1, dtype=np.float64) * dt_s, points, headings(points, valid, given), valid)


def history_path(history: Trajectory, dt_s: float) -> Path:
    """The poses of a history; its last one is t = 0."""
    n = len(history)
    yaw = headings(history.points[::-1], history.valid[::-1], None if history.yaw is None else history.yaw[::-1], back=True)[::-1]
    return Path(np.arange(1 - n, 1, dtype=np.float64) * dt_s, history.points, yaw, history.valid)


def headings(points: Floats, valid: Bools, given: Floats | None = None, *, back: bool = False) -> Floats:
    """Headings along a way that starts in the ego frame's origin, heading 0.

    Args:
        points: Shape (N, 2), m; the first one is at t = 0.
        valid: Shape (N,).
        given: Headings of the source, shape (N,); used where finite.
        back: The points run back in time.

    Returns:
        Shape (N,), rad; read from the movement on both sides of a point, held where there is next to none.
    """
    out = np.zeros(len(points))
    last = 0.0
    for i in range(1, len(points)):
        if given is not None and valid[i] and np.isfinite(given[i]):
            angle = float(given[i])
        else:
            a = points[i - 1] if valid[i - 1] else points[i]
            b = points[i + 1] if i + 1 < len(points) and valid[i + 1] else points[i]
            d = (a - b) if back else (b - a)
            angle = float(np.arctan2(d[1], d[0])) if valid[i] and np.hypot(*d) >= HOLD_M else last
        last += (angle - last + np.pi) % (2 * np.pi) - np.pi
        out[i] = last
    return out


def ends(ego: Ego) -> tuple[float, float]:
    """Rear and front end of the body relative to the point that trajectories follow, m."""
    rear = -ego.length_m / 2 if ego.origin == "centre" else -ego.rear_overhang_m
    return rear, rear + ego.length_m


def outline(point: Floats, yaw: float, ego: Ego) -> Floats:
    """Corners of the body, shape (4, 2), m: front left, rear left, rear right, front right."""
    rear, front = ends(ego)
    half = ego.width_m / 2
    return corners(point, yaw, np.array([[front, half], [rear, half], [rear, -half], [front, -half]]))


def corners(point: Floats, yaw: float, local: Floats) -> Floats:
    """Points of a body's own frame (x forward, y left), shape (N, 2), placed at a pose."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.asarray(point + local @ np.array([[c, s], [-s, c]]), dtype=np.float64)


def swept(points: Floats, yaw: Floats, ego: Ego, *, past: bool = False) -> tuple[Floats, Floats]:
    """The strip of road that the body covers on its way: in bends it is wider than the vehicle.

    Args:
        points: Shape (N, 2), poses in the order of time, all of them valid, m.
        yaw: Shape (N,), rad.
        ego: Its size.
        past: End at the rear end of the last pose instead of its front end.

    Returns:
        Left and right edge, each of shape (M, 2), m, from the first pose's reference point on; (0, 2) if nothing is left.
    """
    rear, front = ends(ego)
    step = np.hypot(*np.diff(points, axis=0).T) if len(points) > 1 else np.zeros(0)
    arc = np.r_[0.0, np.cumsum(step)]
    keep = np.r_[True, step > 1e-6]  # equal places have no arc between them
    total = arc[-1]
    spacing = max(0.4, (total + front) / STATIONS)
    s = np.linspace(0.0, total, max(2, int(np.ceil(total / spacing)) + 1)) if total > 1e-6 else np.zeros(1)
    xy = np.stack([np.interp(s, arc[keep], points[keep, k]) for k in (0, 1)], axis=1)
    angle = np.interp(s, arc[keep], yaw[keep])
    if past:
        stand = s <= total + rear + 1e-9
        place, where, direction = xy[stand], s[stand], angle[stand]
    else:
        more = np.arange(1, int(np.ceil(front / spacing)) + 1) / np.ceil(front / spacing) * front
        ahead = np.array([np.cos(angle[-1]), np.sin(angle[-1])])
        place = np.vstack([xy, xy[-1] + more[:, None] * ahead])
        where = np.r_[s, total + more]
        direction = np.r_[angle, np.full(len(more), angle[-1])]
    if not len(place):
        return np.zeros((0, 2)), np.zeros((0, 2))
    fine = np.linspace(0.0, total, int(min(600, total / 0.1)) + 1)  # corners of bodies far apart would leave teeth
    bodies = np.stack([np.interp(fine, arc[keep], points[keep, k]) for k in (0, 1)], axis=1)
    reached = _reach(place, direction, where, bodies, np.interp(fine, arc[keep], yaw[keep]), fine, ego)
    normal = np.stack([-np.sin(direction), np.cos(direction)], axis=1)
    return place + reached[0][:, None] * normal, place + reached[1][:, None] * normal


def _reach(place: Floats, direction: Floats, where: Floats, xy: Floats, angle: Floats, s: Floats, ego: Ego) -> tuple[Floats, Floats]:
    """How far the body comes to the left and to the right of each station, over all poses: sides of bodies cut with normals."""
    rear, front = ends(ego)
    d_i = np.stack([np.cos(direction), np.sin(direction)], axis=1)
    n_i = np.stack([-d_i[:, 1], d_i[:, 0]], axis=1)
    d_j = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    n_j = np.stack([-d_j[:, 1], d_j[:, 0]], axis=1)
    apart = xy[None] - place[:, None]
    near = np.abs(s[None] - where[:, None]) <= ego.length_m + 0.5  # a loop does not meet itself
    along = d_i @ d_j.T
    half = ego.width_m / 2
    left, right = np.full(len(place), half), np.full(len(place), -half)
    for side in (half, -half):
        base = (apart * d_i[:, None]).sum(-1) + side * (d_i @ n_j.T)
        with np.errstate(divide="ignore", invalid="ignore"):
            o = -base / along
        meets = near & (along > 0.2) & (o >= rear - 1e-6) & (o <= front + 1e-6)
        o = np.where(meets, o, 0.0)
        lateral = (apart * n_i[:, None]).sum(-1) + side * (n_i @ n_j.T) + o * (n_i @ d_j.T)
        left = np.maximum(left, np.where(meets, lateral, -np.inf).max(axis=1, initial=-np.inf))
        right = np.minimum(right, np.where(meets, lateral, np.inf).min(axis=1, initial=np.inf))
    return left, right
