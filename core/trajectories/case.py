"""A case: what an expert did in a scene and what a planner would have done, with what was seen.

Frame of everything spatial: the ego vehicle at t = 0, x forward, y left, metres, radians counter-clockwise. A trajectory holds the
positions *after* t = 0: row k is the position at (k + 1) * dt seconds; the origin (0, 0) at t = 0 is never one of its rows.
A history holds positions up to and with t = 0: its last row is t = 0, row -2 is -dt, and so on.
Unknown and empty are two things: None says that nobody looked, an empty layer with coverage says that nothing was there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

SCHEMA_VERSION = "1.0"

CameraName = Literal["front_left", "front", "front_right", "rear_left", "rear", "rear_right"]
CAMERAS: tuple[CameraName, ...] = ("front_left", "front", "front_right", "rear_left", "rear", "rear_right")
"""The six places of a camera, in the order in which they are shown."""

Command = Literal["unknown", "straight", "left", "right"]
Origin = Literal["rear_axle", "centre"]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Positions at equal steps of time.

    Attributes:
        points: Shape (T, 2), x and y in m; finite everywhere, also where `valid` is False.
        valid: Shape (T,); False where the source gave no usable state.
        yaw: Shape (T,), heading in rad, None if the source gave none (it then follows from the motion).
    """

    points: Floats
    valid: Bools
    yaw: Floats | None = None

    def __len__(self) -> int:
        return len(self.points)

    @classmethod
    def of(cls, points: Any, valid: Any = None, yaw: Any = None) -> Trajectory:
        """A trajectory from anything that is shaped (T, 2); all valid unless said otherwise."""
        p = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        ok = np.ones(len(p), dtype=np.bool_) if valid is None else np.asarray(valid, dtype=np.bool_)
        return cls(p, ok, None if yaw is None else np.asarray(yaw, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class RatedTrajectory:
    """A trajectory that people scored (WOD-E2E).

    Attributes:
        trajectory: With the same step as the case.
        score: 0 to 10; None if it was not rated (-1 in the source).
    """

    trajectory: Trajectory
    score: float | None


@dataclass(frozen=True)
class Frame:
    """One image.

    Attributes:
        t_s: Seconds relative to t = 0 (0 or negative).
        path: Inside the folder of the case set, with forward slashes.
        sha256: Of the file, "" if not known.
    """

    t_s: float
    path: str
    sha256: str = ""


@dataclass(frozen=True, eq=False)
class Camera:
    """One of the six cameras.

    Attributes:
        name: Its place.
        frames: Its images by time, the last one being that of t = 0 (the critical frame).
        width: px of the images, None if not known.
        height: px of the images.
        intrinsics: Shape (3, 3), px; None if it cannot be projected into.
        extrinsics: Shape (4, 4), camera to ego; camera axes are x right, y down, z forward. None if not known.
        distortion: OpenCV's coefficients k1 k2 p1 p2 k3 [k4 k5 k6], or k1 to k4 of its fisheye model; () for none.
        model: Which model the coefficients belong to.
        ground_z_m: Height of the road in the ego frame under the origin (0 unless the ego frame lies above the ground).
    """

    name: CameraName
    frames: tuple[Frame, ...]
    width: int | None = None
    height: int | None = None
    intrinsics: Floats | None = None
    extrinsics: Floats | None = None
    distortion: tuple[float, ...] = ()
    model: Literal["pinhole", "fisheye"] = "pinhole"
    ground_z_m: float = 0.0


@dataclass(frozen=True)
class Ego:
    """The ego vehicle at t = 0.

    Attributes:
        speed_mps: Speed.
        accel_mps2: Longitudinal acceleration, None if not known.
        yaw_rate_rps: Turn to the left in rad/s, None if not known.
        origin: Which point of the vehicle the trajectories follow.
        length_m: Of the footprint.
        width_m: Of the footprint.
        rear_overhang_m: From the rear axle to the rear end.
    """

    speed_mps: float
    accel_mps2: float | None = None
    yaw_rate_rps: float | None = None
    origin: Origin = "rear_axle"
    length_m: float = 4.9
    width_m: float = 2.0
    rear_overhang_m: float = 1.0


@dataclass(frozen=True, eq=False)
class Agent:
    """Another road user at t = 0.

    Attributes:
        track_id: Its id in the source.
        cls: "vehicle", "truck", "bus", "motorcycle", "bicycle", "pedestrian", or the source's own word.
        x: Centre, m.
        y: Centre, m.
        length_m: Along its heading.
        width_m: Across.
        yaw: Heading, rad.
        velocity: (vx, vy) in m/s over ground, None if not known.
        future: Its centre after t = 0, with the same step as the case; None if not known.
        attributes: For example "parked".
    """

    track_id: str
    cls: str
    x: float
    y: float
    length_m: float
    width_m: float
    yaw: float
    velocity: tuple[float, float] | None = None
    future: Trajectory | None = None
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Coverage:
    """Who looked where, without which an empty list proves nothing.

    Attributes:
        source: For example "ground truth", "detector", "map".
        cameras: Cameras that were searched; () if it did not come from images.
        range_m: How far, None if not known.
    """

    source: str
    cameras: tuple[CameraName, ...] = ()
    range_m: float | None = None


@dataclass(frozen=True, eq=False)
class Agents:
    """Road users with where was looked for them."""

    items: tuple[Agent, ...]
    coverage: Coverage | None = None


@dataclass(frozen=True, eq=False)
class Shape:
    """A thing on the map or beside the road.

    Attributes:
        kind: For example "lane", "drivable", "stop_line", "crosswalk", "boundary", "cone", "barrier", "pole", "traffic_light".
        points: Shape (N, 2), m; an outline where `closed`, a line otherwise, one point for a small thing.
        closed: Whether the points close to an area.
        attributes: What else is known, e.g. {"lane_type": "bike"}, {"marking": "dashed_yellow"}, {"state": "red"},
            {"speed_limit_mps": 13.4}.
        id: In the source.
    """

    kind: str
    points: Floats
    closed: bool = False
    attributes: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, eq=False)
class Layer:
    """Shapes of one layer (map, static objects or signals) with where was looked for them."""

    items: tuple[Shape, ...]
    coverage: Coverage | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """One scene × planner.

    Attributes:
        case_id: Unique in its set. May tell the planner; it is never shown to those who label.
        scene_id: The scene; cases of several planners share it.
        planner_id: The planner.
        dt_s: Step of every trajectory.
        expert: What was driven.
        planner: What would have been driven; as long as `expert`.
        ego: Vehicle and speed at t = 0.
        command: What the route asked for.
        history: Where the ego came from, None if not known.
        rated: Trajectories that people scored.
        cameras: Those that there are, in the order of `CAMERAS`; may be empty.
        agents: None if not known.
        map: None if not known.
        static_objects: None if not known.
        signals: None if not known.
        flags: Reasons to leave it out, e.g. "open_future", "trivial_expert", "bad_calibration".
        metrics: Numbers that came from outside, e.g. {"PDMS": 0.0}.
        licence: Of the data.
        source: Where it came from, with everything an importer wants to keep.
        synthetic: Made, not recorded.
    """

    case_id: str
    scene_id: str
    planner_id: str
    dt_s: float
    expert: Trajectory
    planner: Trajectory
    ego: Ego
    command: Command = "unknown"
    history: Trajectory | None = None
    rated: tuple[RatedTrajectory, ...] = ()
    cameras: tuple[Camera, ...] = ()
    agents: Agents | None = None
    map: Layer | None = None
    static_objects: Layer | None = None
    signals: Layer | None = None
    flags: tuple[str, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    licence: str = ""
    source: Mapping[str, Any] = field(default_factory=dict)
    synthetic: bool = False

    @property
    def horizon_s(self) -> float:
        """Seconds that the trajectories cover."""
        return self.dt_s * len(self.expert)
