"""Matchers that look at a box and its image alone: how large, where, of what shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.error_slices.matchers.scales import Matched, both, direct, logistic
from core.error_slices.matchers.scene import Scene

Params = Mapping[str, Any]


def small(scene: Scene, params: Params) -> Matched:
    """The box is about `ref_px` across or less."""
    return logistic(np.log2(params["ref_px"] / scene.size) / 0.5)


def large(scene: Scene, params: Params) -> Matched:
    """The box is about the share `rel` of the image across, or more."""
    return logistic(np.log2(_relative_size(scene) / params["rel"]) / 0.35)


def far_horizon(scene: Scene, params: Params) -> Matched:
    """The box is small for the image and does not reach far below its middle; for a level camera that looks ahead."""
    bottom = scene.visible.xyxy[:, 3] / scene.frame[:, 1]
    return both(np.log2(params["rel"] / _relative_size(scene)) / 0.5, (params["above"] - bottom) / 0.05)


def truncated(scene: Scene, params: Params) -> Matched:
    """The data's own share that is cut off where it tells one (KITTI), else whether the box touches the border of the image.

    More borders, and more of the usual shape of the class missing, say that more is cut off.
    """
    touches, ratio = scene.touches, scene.shape - scene.usual_shape[:, 0]
    too_narrow = np.where(touches[:, 0] | touches[:, 2], 1 - np.minimum(1, 2**ratio), 0)
    too_flat = np.where(touches[:, 1] | touches[:, 3], 1 - np.minimum(1, 2**-ratio), 0)
    missing = np.nan_to_num(np.maximum(too_narrow, too_flat))
    touching = 0.55 + 0.15 * (touches.sum(1) - 1) + 0.35 * missing
    nearest = scene.margins.min(1)
    clear = 0.9 * logistic(-nearest / (2 * scene.border)).c
    guess = np.where(np.isfinite(nearest), np.where(touches.any(1), touching, clear), np.nan)
    told = scene.visible.truncated
    return direct(np.where(np.isfinite(told), told, guess))


def near_edge(scene: Scene, params: Params) -> Matched:
    """The box ends within the share `rel` of the image's longer side from its border."""
    return logistic((params["rel"] - scene.margins.min(1) / scene.frame.max(1)) / 0.008)


def aspect_outlier(scene: Scene, params: Params) -> Matched:
    """The shape of the box is unusual for its class, either way."""
    return logistic((np.abs(scene.shape_z) - params["deviations"]) / 0.5)


def narrow_for_class(scene: Scene, params: Params) -> Matched:
    """The box is narrow for its class."""
    return logistic((-scene.shape_z - params["deviations"]) / 0.4)


def wide_for_class(scene: Scene, params: Params) -> Matched:
    """The box is wide for its class."""
    return logistic((scene.shape_z - params["deviations"]) / 0.4)


def thin(scene: Scene, params: Params) -> Matched:
    """One side of the box is `ratio` times the other, or more."""
    return logistic((np.abs(scene.shape) - np.log2(params["ratio"])) / 0.35)


def _relative_size(scene: Scene) -> Any:
    """Shape (n,): size of the box over the size of the image; NaN without a frame."""
    return scene.size / np.sqrt(scene.frame.prod(1))
