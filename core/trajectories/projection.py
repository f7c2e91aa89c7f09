"""From the ego frame into the pixels of a camera: OpenCV's pinhole and fisheye models, with what lies behind the camera cut away.

Formulas: OpenCV documentation, "Camera Calibration and 3D Reconstruction" (radial, rational, tangential, thin prism) and "Fisheye
camera model". A lens polynomial is only true as far as it grows: beyond the angle where it turns back, points would come back into the
picture at wrong places, so they count as not visible.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from core.trajectories.case import Bools, Camera, Floats

NEAR_M = 0.2
"""What is nearer to the plane of the camera than this is cut away."""

LAST_ROW = 1e-6
"""How far the last rows of the two matrices may be from (0, 0, 1) and (0, 0, 0, 1), without which they mean something else."""

Section = tuple[float, float, float, float] | None
"""Left and right end of a cross section of a strip in px (xl, yl, xr, yr); None is a gap."""


def why_not(camera: Camera) -> str:
    """Why nothing can be drawn into a camera's images; "" if it can."""
    missing = [name for name, value in (("intrinsics", camera.intrinsics), ("extrinsics", camera.extrinsics)) if value is None]
    if missing:
        return f"No {' and '.join(missing)}: nothing can be drawn into this image."
    k, pose = np.asarray(camera.intrinsics, float), np.asarray(camera.extrinsics, float)
    if k.shape != (3, 3) or pose.shape != (4, 4) or not (np.isfinite(k).all() and np.isfinite(pose).all()):
        return "The calibration is not usable: nothing can be drawn into this image."
    if k[0, 0] <= 0 or k[1, 1] <= 0 or not 0.5 < np.linalg.det(pose[:3, :3]) < 2.0:
        return "The calibration is not usable: nothing can be drawn into this image."
    if np.abs(pose[3] - [0, 0, 0, 1]).max() > LAST_ROW or np.abs(k[2] - [0, 0, 1]).max() > LAST_ROW or abs(k[1, 0]) > LAST_ROW:
        return "The calibration is not usable: nothing can be drawn into this image."
    beyond = camera.distortion[4 if camera.model == "fisheye" else 12 :]  # a pinhole's 13th and 14th tilt the sensor
    if not np.isfinite(camera.distortion).all() or any(beyond):
        return "The lens model is not known: nothing can be drawn into this image."
    return ""


def into_camera(points: Floats, camera: Camera) -> Floats:
    """Points of the ego frame in the frame of the camera.

    Args:
        points: Shape (N, 3), m.
        camera: With extrinsics.

    Returns:
        Shape (N, 3), m; x right, y down, z forward.
    """
    assert camera.extrinsics is not None  # noqa: S101 (asked before by why_not)
    inverse = np.linalg.inv(np.asarray(camera.extrinsics, dtype=np.float64))
    return np.asarray(points @ inverse[:3, :3].T + inverse[:3, 3], dtype=np.float64)


@lru_cache(maxsize=64)
def reach(distortion: tuple[float, ...], model: str) -> float:
    """How far from the axis a lens model is true: tan of the angle for a pinhole, the angle in rad for a fisheye."""
    top = np.pi * 0.95 if model == "fisheye" else 12.0  # 12 is 85 degrees off the axis
    if not any(distortion):
        return top if model == "fisheye" else np.inf
    r = np.linspace(0.0, top, 6001)
    grown = r * (_fisheye(r, distortion) if model == "fisheye" else _radial(r * r, distortion))
    turns = np.flatnonzero(np.diff(grown) <= 0)
    return float(r[turns[0]]) if len(turns) else (top if model == "fisheye" else np.inf)


def _padded(distortion: tuple[float, ...], n: int) -> list[float]:
    return [*distortion, *[0.0] * (n - len(distortion))][:n]


def _radial(r2: Floats, distortion: tuple[float, ...]) -> Floats:
    k1, k2, _, _, k3, k4, k5, k6 = _padded(distortion, 8)[:8]
    return (1 + r2 * (k1 + r2 * (k2 + r2 * k3))) / (1 + r2 * (k4 + r2 * (k5 + r2 * k6)))


def _fisheye(angle: Floats, distortion: tuple[float, ...]) -> Floats:
    k1, k2, k3, k4 = _padded(distortion, 4)
    a2 = angle * angle
    return 1 + a2 * (k1 + a2 * (k2 + a2 * (k3 + a2 * k4)))


def project(points: Floats, camera: Camera) -> tuple[Floats, Bools]:
    """Pixels of points.

    Args:
        points: Shape (N, 3) in the ego frame, m.
        camera: With intrinsics and extrinsics.

    Returns:
        Pixels, shape (N, 2), NaN where not visible, and whether they are visible, shape (N,): before the camera and where its lens
        model is true. A visible point may still lie outside the image.
    """
    assert camera.intrinsics is not None  # noqa: S101 (asked before by why_not)
    p = into_camera(points, camera)
    x, y, z = p[:, 0], p[:, 1], p[:, 2]
    across = np.hypot(x, y)
    limit = reach(tuple(camera.distortion), camera.model)
    if camera.model == "fisheye":
        angle = np.arctan2(across, z)
        visible = (angle <= limit) & (np.hypot(across, z) >= NEAR_M)
        scale = np.divide(angle * _fisheye(angle, camera.distortion), across, out=np.ones_like(across), where=across > 1e-9)
        # On the axis itself the limit is 1 / z.
        scale = np.where(across > 1e-9, scale, 1 / np.maximum(z, NEAR_M))
        xd, yd = x * scale, y * scale
    else:
        depth = np.maximum(z, NEAR_M)
        xn, yn = x / depth, y / depth
        r2 = xn * xn + yn * yn
        visible = (z >= NEAR_M) & (np.sqrt(r2) <= limit)
        _, _, p1, p2, *_ = _padded(camera.distortion, 12)
        s1, s2, s3, s4 = _padded(camera.distortion, 12)[8:12]
        radial = _radial(r2, camera.distortion)
        xd = xn * radial + 2 * p1 * xn * yn + p2 * (r2 + 2 * xn * xn) + r2 * (s1 + s2 * r2)
        yd = yn * radial + p1 * (r2 + 2 * yn * yn) + 2 * p2 * xn * yn + r2 * (s3 + s4 * r2)
    k = np.asarray(camera.intrinsics, dtype=np.float64)
    pixels = np.stack([k[0, 0] * xd + k[0, 1] * yd + k[0, 2], k[1, 1] * yd + k[1, 2]], axis=1)
    return np.where(visible[:, None], pixels, np.nan), visible


def strip(left: Floats, right: Floats, camera: Camera) -> list[tuple[float, Section]]:
    """A strip of road in the pixels of a camera, cut where it leaves what the camera can see.

    Args:
        left: Shape (N, 3), the left edge in the ego frame.
        right: Shape (N, 3), the right edge; section i joins left[i] and right[i].
        camera: With intrinsics and extrinsics.

    Returns:
        For each section its place (0 is the first one of `left`, 1.5 lies between the second and third) and its ends in px. Where the
        strip enters or leaves, a section at the border is put in; a gap of any length is one None.
    """
    if not len(left):
        return []
    pl, vl = project(left, camera)
    pr, vr = project(right, camera)
    seen = vl & vr
    out: list[tuple[float, Section]] = []
    for i in range(len(left)):
        if i and seen[i] != seen[i - 1]:
            out.append(_border(left, right, camera, i - 1, bool(seen[i])))
        if seen[i]:
            out.append((float(i), (*map(float, pl[i]), *map(float, pr[i]))))  # type: ignore[arg-type]
        elif out and out[-1][1] is not None:
            out.append((float(i), None))
    while out and out[-1][1] is None:
        out.pop()
    return out


def _border(left: Floats, right: Floats, camera: Camera, i: int, enters: bool) -> tuple[float, Section]:
    """The section between i and i + 1 where the strip becomes visible or stops being so, by halving."""
    low, high = 0.0, 1.0
    for _ in range(24):
        middle = (low + high) / 2
        ends = np.stack([left[i] + middle * (left[i + 1] - left[i]), right[i] + middle * (right[i + 1] - right[i])])
        if bool(project(ends, camera)[1].all()) == enters:
            high = middle
        else:
            low = middle
    place = high if enters else low
    ends = np.stack([left[i] + place * (left[i + 1] - left[i]), right[i] + place * (right[i + 1] - right[i])])
    a, b = project(ends, camera)[0]
    return i + place, (float(a[0]), float(a[1]), float(b[0]), float(b[1]))
