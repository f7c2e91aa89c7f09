"""Cameras of a nuScenes-like sample: which images are there, and where the cameras look from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from core.trajectories.case import CAMERAS, Camera, CameraName, Floats, Frame
from core.trajectories.case_set import IMAGES
from core.trajectories.importers.collect import Collector, image_size, name_part

NAMES: dict[str, CameraName] = {
    "CAM_FRONT_LEFT": "front_left",
    "CAM_FRONT": "front",
    "CAM_FRONT_RIGHT": "front_right",
    "CAM_BACK_LEFT": "rear_left",
    "CAM_BACK": "rear",
    "CAM_BACK_RIGHT": "rear_right",
}
NATIVE = (1600, 900)
"""Pixels for which the intrinsics of nuScenes hold."""
MOST = 1e6
"""No number of a calibration is larger."""
BACK_S = 1.05
"""How far back images of earlier samples are taken."""


def rotation(q: Any) -> Floats | None:
    """A rotation from a quaternion w, x, y, z or from a matrix; None if it is neither."""
    try:
        a = np.asarray(q, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    if not np.isfinite(a).all() or (a.size and np.abs(a).max() > MOST):
        return None
    if a.shape == (3, 3):
        return a
    if a.shape != (4,) or not 0.5 < float(np.linalg.norm(a)) < 2:
        return None
    w, x, y, z = a / np.linalg.norm(a)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def transform(turn: Any, move: Any) -> Floats | None:
    """A rigid motion, shape (4, 4), from rotation and translation; None if either is missing or broken."""
    r = rotation(turn)
    try:
        t = np.asarray(move, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    if r is None or t.shape != (3,) or not np.isfinite(t).all() or np.abs(t).max() > MOST:
        return None
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = r, t
    return out


def lidar_to_ego(sample: Mapping[str, Any]) -> Floats:
    """Where the lidar stands in the ego frame (rear axle on the road); x right and y forward above the origin if not known."""
    found = transform(sample.get("lidar2ego_rotation"), sample.get("lidar2ego_translation"))
    if found is not None:
        return found
    out = np.eye(4)
    out[:2, :2] = [[0, 1], [-1, 0]]
    return out


def planar(lidar: Floats) -> tuple[float, Floats]:
    """How the lidar is turned on its mast, and the motion from the ego frame to the case's frame.

    Args:
        lidar: Lidar to ego, shape (4, 4).

    Returns:
        Angle from the lidar's y to the ego's x in rad (0 if it points exactly ahead); and the shift, shape (4, 4), that puts the origin
        on the road below the lidar.
    """
    ahead = lidar[:2, 1]
    shift = np.eye(4)
    shift[:2, 3] = -lidar[:2, 3]
    return float(np.arctan2(ahead[1], ahead[0])), shift


def cameras_of(
    sample: Mapping[str, Any],
    samples: Mapping[str, Any],
    folder: Path,
    place: Floats,
    token: str,
    only_sample: bool,
    out: Collector,
    notes: list[str],
) -> tuple[Camera, ...]:
    """The cameras whose image of t = 0 is there, with images of up to a second before where those are there too.

    Args:
        sample: The sample.
        samples: All samples, for the ones before.
        folder: Where the images are.
        place: Ego to case frame, shape (4, 4).
        token: Of the sample.
        only_sample: Whether images may simply be called by the camera.
        out: Gets the images.
        notes: Gets what was found.
    """
    given = sample.get("cams")
    if not isinstance(given, Mapping):
        notes.append("no cameras")
        return ()
    found, absent, blind = [], [], []
    for key, name in NAMES.items():
        entry = given.get(key)
        file = _image(entry, key, folder, only_sample)
        if file is None or not isinstance(entry, Mapping):
            absent.append(key)
            continue
        size = image_size(file)
        if size is None:
            absent.append(f"{key} (cannot be read as an image)")
            continue
        frames = [_frame(0.0, file, token, name, out)]
        frames[:0] = _earlier(sample, samples, key, folder, name, out)
        intrinsics, extrinsics = _intrinsics(entry, size), _extrinsics(entry, sample, place)
        if intrinsics is None or extrinsics is None:
            blind.append(key)
        found.append(Camera(name, tuple(frames), *size, intrinsics, extrinsics))
    if absent:
        notes.append(f"{len(absent)} of {len(NAMES)} cameras have no image here: {', '.join(absent)}")
    if blind:
        notes.append(f"no usable calibration: {', '.join(blind)}")
    return tuple(sorted(found, key=lambda c: CAMERAS.index(c.name)))


def _image(entry: Any, key: str, folder: Path, only_sample: bool) -> Path | None:
    """The image of a camera: below the folder as the path ends, by its name, or called by its camera."""
    path = entry.get("data_path") if isinstance(entry, Mapping) else None
    tried = []
    if isinstance(path, str) and "\0" not in path and len(path) < 1000:
        parts = [p for p in PurePosixPath(path.replace("\\", "/")).parts if p not in ("/", "..", ".")]
        tried = [folder.joinpath(*parts[-n:]) for n in (3, 2, 1) if len(parts) >= n]
    if only_sample:
        tried += [folder / f"{key}{s}" for s in IMAGES]
    try:
        return next((p for p in tried if p.suffix.lower() in IMAGES and p.is_file()), None)
    except OSError:
        return None


def _frame(t_s: float, file: Path, token: str, name: str, out: Collector) -> Frame:
    path = f"images/{name_part(token)[:80]}/{name}{file.suffix.lower()}"
    out.images[path] = file
    return Frame(t_s, path)


def _earlier(sample: Mapping[str, Any], samples: Mapping[str, Any], key: str, folder: Path, name: str, out: Collector) -> list[Frame]:
    frames: list[Frame] = []
    now, at = sample.get("timestamp"), sample
    while isinstance(now, int) and isinstance(token := at.get("prev"), str) and isinstance(before := samples.get(token), Mapping):
        then = before.get("timestamp")
        seconds = (then - now) / 1e6 if isinstance(then, int) and not isinstance(then, bool) else 0.0
        if not -BACK_S <= seconds < (frames[0].t_s if frames else 0.0):
            break
        cams = before.get("cams")
        file = _image(cams.get(key), key, folder, False) if isinstance(cams, Mapping) else None
        if file is None or image_size(file) is None:
            break
        frames.insert(0, _frame(round(seconds, 3), file, token, name, out))
        at = before
    return frames


def _intrinsics(entry: Mapping[str, Any], size: tuple[int, int]) -> Floats | None:
    k = rotation(entry.get("cam_intrinsic"))  # any 3 × 3 matrix of finite numbers
    scale = size[0] / NATIVE[0]
    if k is None or k[0, 0] <= 0 or k[1, 1] <= 0 or abs(size[1] / NATIVE[1] / scale - 1) > 0.01:
        return None
    return k if scale == 1 else np.diag([scale, size[1] / NATIVE[1], 1.0]) @ k


def _extrinsics(entry: Mapping[str, Any], sample: Mapping[str, Any], place: Floats) -> Floats | None:
    """Camera to case frame: through the lidar of t = 0 where known, which allows for the way that the ego went in between."""
    lidar = transform(sample.get("lidar2ego_rotation"), sample.get("lidar2ego_translation"))
    on_lidar = transform(entry.get("sensor2lidar_rotation"), entry.get("sensor2lidar_translation"))
    on_ego = transform(entry.get("sensor2ego_rotation"), entry.get("sensor2ego_translation"))
    if lidar is not None and on_lidar is not None:
        result: Floats = place @ lidar @ on_lidar
        return result
    return None if on_ego is None else place @ on_ego
