"""One record of the Waymo Open Dataset for end-to-end driving (WOD-E2E) as plain values.

Field numbers are those of the public descriptions `end_to_end_driving_data.proto` and `dataset.proto` (waymo-open-dataset, Apache-2.0):
E2EDFrame {frame = 1, future_states = 5, past_states = 6, intent = 7, preference_trajectories = 8},
EgoTrajectoryStates {pos_x = 1, pos_y = 2, pos_z = 3, vel_x = 4, vel_y = 5, accel_x = 6, accel_y = 7, preference_score = 8},
Frame {context = 1, timestamp_micros = 2, images = 4}, Context {name = 1, camera_calibrations = 2}, CameraImage {name = 1, image = 2},
CameraCalibration {name = 1, intrinsic = 2, extrinsic = 3, width = 4, height = 5}, Transform {transform = 1}.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.trajectories.case import CameraName, Command, Floats
from core.trajectories.importers.wire import Message, WireError

CAMERA_NAMES: Mapping[int, str] = {
    1: "FRONT",
    2: "FRONT_LEFT",
    3: "FRONT_RIGHT",
    4: "SIDE_LEFT",
    5: "SIDE_RIGHT",
    6: "REAR_LEFT",
    7: "REAR",
    8: "REAR_RIGHT",
}
PLACES: Mapping[int, CameraName] = {2: "front_left", 1: "front", 3: "front_right", 6: "rear_left", 7: "rear", 8: "rear_right"}
"""Six of the eight cameras have a place; SIDE_LEFT and SIDE_RIGHT have none and are left out."""
COMMANDS: Mapping[int, Command] = {0: "unknown", 1: "straight", 2: "left", 3: "right"}

LARGEST = 1e6
"""No number of a calibration, position or speed is larger."""
FROM_OUR_AXES: Floats = np.array([[0.0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
"""A point given as right, down, forward (ours) in Waymo's axes of a camera, which are forward, left, up."""


@dataclass(frozen=True, eq=False)
class States:
    """A trajectory with what is known along it.

    Attributes:
        points: Shape (N, 2), m.
        velocity: Shape (N, 2), m/s; None if it is not there for every point.
        acceleration: Shape (N, 2), m/s²; None if it is not there for every point.
        score: As it stands in the file, None if there is none.
    """

    points: Floats
    velocity: Floats | None
    acceleration: Floats | None
    score: float | None


@dataclass(frozen=True, eq=False)
class Calibration:
    """How a camera sees.

    Attributes:
        intrinsics: Shape (3, 3), px.
        distortion: k1 k2 p1 p2 k3.
        extrinsics: Shape (4, 4), camera (right, down, forward) to vehicle.
        width: px.
        height: px.
    """

    intrinsics: Floats
    distortion: tuple[float, ...]
    extrinsics: Floats
    width: int | None
    height: int | None


@dataclass(frozen=True, eq=False)
class WodFrame:
    """What is used of an E2EDFrame.

    Attributes:
        name: Unique name of the frame, `<segment>-<number>`.
        timestamp_us: Of the frame, microseconds.
        future: After t = 0 at 4 Hz.
        past: Up to and with t = 0 at 4 Hz.
        intent: 0 unknown, 1 straight, 2 left, 3 right.
        rated: Trajectories that people scored.
        images: Offset in the record and length of each image by the number of its camera.
        calibrations: By the number of the camera.
        faults: What could not be used, one sentence each.
    """

    name: str
    timestamp_us: int
    future: States
    past: States
    intent: int
    rated: tuple[States, ...]
    images: Mapping[int, tuple[int, int]]
    calibrations: Mapping[int, Calibration]
    faults: tuple[str, ...]

    @property
    def segment(self) -> str:
        """Name of the drive that the frame belongs to."""
        return self.name.rsplit("-", 1)[0]


def parse_frame(data: bytes) -> WodFrame:
    """The frame of a record.

    Raises:
        WireError: It is no E2EDFrame.
    """
    message = Message(data)
    frame = message.message(1)
    context = frame.message(1)
    images: dict[int, tuple[int, int]] = {}
    for image in frame.messages(4):
        for content, offset in image.blobs(2)[-1:]:
            if len(content):
                images[image.integer(1)] = (offset, len(content))
    faults: list[str] = []
    calibrations = {}
    for entry in context.messages(2):
        number = entry.integer(1)
        found = _calibration(entry)
        if isinstance(found, str):
            faults.append(f"calibration of {CAMERA_NAMES.get(number, number)}: {found}; nothing can be drawn into its images")
        else:
            calibrations[number] = found
    return WodFrame(
        name=context.string(1),
        timestamp_us=frame.integer(2),
        future=_states(message.message(5)),
        past=_states(message.message(6)),
        intent=message.integer(7),
        rated=tuple(_states(m) for m in message.messages(8)),
        images=images,
        calibrations=calibrations,
        faults=tuple(faults),
    )


def _states(m: Message) -> States:
    x, y = m.floats(1), m.floats(2)
    if len(x) != len(y):
        raise WireError(f"a trajectory with {len(x)} values of x and {len(y)} of y")
    return States(np.column_stack([x, y]), _pairs(m, 4, 5, len(x)), _pairs(m, 6, 7, len(x)), m.number(8))


def _pairs(m: Message, first: int, second: int, n: int) -> Floats | None:
    a, b = m.floats(first), m.floats(second)
    return np.column_stack([a, b]) if n and len(a) == len(b) == n else None


def _calibration(m: Message) -> Calibration | str:
    """The calibration, or why it cannot be used."""
    k, t = m.floats(2, "<f8"), m.message(3).floats(1, "<f8")
    if len(k) != 9 or not (np.abs(k) < LARGEST).all() or min(k[:2]) <= 0:
        return f"{len(k)} intrinsic values; 9 finite ones (f_u, f_v, c_u, c_v, k1, k2, p1, p2, k3) expected"
    if len(t) != 16 or not (np.abs(t) < LARGEST).all():
        return f"{len(t)} extrinsic values; 16 finite ones expected"
    matrix = t.reshape(4, 4)
    if not np.allclose(matrix[:3, :3] @ matrix[:3, :3].T, np.eye(3), atol=1e-3):
        return "its extrinsic matrix is no rotation"
    f_u, f_v, c_u, c_v = k[:4]
    intrinsics = np.array([[f_u, 0, c_u], [0, f_v, c_v], [0, 0, 1]])
    return Calibration(intrinsics, tuple(float(x) for x in k[4:]), matrix @ FROM_OUR_AXES, m.integer(4) or None, m.integer(5) or None)
