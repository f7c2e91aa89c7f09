"""Matchers that look at the other boxes of the same side and image: what covers a box, surrounds it or stands beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.error_slices.detections import BoolArray, FloatArray
from core.error_slices.matchers.scales import Matched, direct, logistic
from core.error_slices.matchers.scene import Scene

Params = Mapping[str, Any]
KITTI_LEVELS = np.array([0.05, 0.55, 0.9])
"""Scores of KITTI's levels of occlusion: visible, partly, largely hidden."""


def occluded(scene: Scene, params: Params) -> Matched:
    """The data's own level where it tells one (KITTI), else the square root of the share that nearer boxes cover: 0.5 at a quarter.

    A box whose lower edge lies lower in the image stands nearer to the camera.
    """
    told = scene.visible.occluded
    level = np.clip(np.nan_to_num(told), 0, 2).astype(np.int64)
    covered = np.sqrt(_covered(scene, _nearer(scene)))
    return direct(np.where(np.isfinite(told) & (told >= 0) & (told <= 2), KITTI_LEVELS[level], covered))


def occluded_by(scene: Scene, params: Params) -> Matched:
    """Likewise, by boxes of some classes alone; with `any_depth` by farther ones too."""
    by = scene.vocabulary.mask(_names(params["by"]), scene.visible.classes)[scene.visible.cls[scene.pairs.j]]
    return direct(np.sqrt(_covered(scene, by if params["any_depth"] else by & _nearer(scene))))


def inside_of(scene: Scene, params: Params) -> Matched:
    """A box of another class, some classes alone if told so, half as large again, holds 80 % of the box or more."""
    p, cls = scene.pairs, scene.visible.cls
    holds = (scene.area[p.j] > 1.5 * scene.area[p.i]) & (cls[p.i] != cls[p.j]) & ~p.twin
    holds &= scene.vocabulary.mask(_names(params["of"]), scene.visible.classes)[cls[p.j]]
    return logistic((_largest(scene, np.where(holds, p.share, 0)) - 0.8) / 0.08)


def crowded(scene: Scene, params: Params) -> Matched:
    """Three boxes, of the same class if told so, touch the box, or more are near; a box as far away as this one is large counts 0.37."""
    p, cls = scene.pairs, scene.visible.cls
    counts = ~p.twin & (cls[p.i] == cls[p.j]) if params["same_class"] else ~p.twin
    weight = np.where(counts, np.exp(-((p.gap / scene.size[p.i]) ** 2)), 0)
    return logistic((np.bincount(p.i, weight, scene.n) - params["neighbours"]) / 0.8)


def scene_density(scene: Scene, params: Params) -> Matched:
    """The image holds `objects` boxes or more."""
    return logistic((np.log2(scene.objects) - np.log2(params["objects"])) / 0.4)


def near_similar(scene: Scene, params: Params) -> Matched:
    """A box of an easily confused class overlaps, touches or is near.

    2/3 where they touch, falling with the gap to 0.5 at half the size of the box, rising to 1 with the share that is overlapped:
    a score that stays at 1 for everything that touches could show no trend.
    """
    p, cls = scene.pairs, scene.visible.cls
    like = scene.vocabulary.confused(scene.visible.classes)[cls[p.i], cls[p.j]]
    score = (2 * np.exp(-((p.gap / scene.size[p.i]) ** 2)) + np.sqrt(p.share)) / 3
    return direct(_largest(scene, np.where(like, score, 0)))


def _names(value: str | Sequence[str]) -> Sequence[str]:
    """One name or several as several."""
    return [value] if isinstance(value, str) else value


def _nearer(scene: Scene) -> BoolArray:
    """Shape (pairs,): whether the neighbour's lower edge is lower by a hundredth of the image's height."""
    p, bottom = scene.pairs, scene.visible.xyxy[:, 3]
    return np.asarray(bottom[p.j] > bottom[p.i] + 0.01 * scene.visible.size[p.i, 1], bool)


def _covered(scene: Scene, by: BoolArray) -> FloatArray:
    """Shape (n,): share of the box under some neighbours: the largest and half of the others, since these overlap; at most 1."""
    p = scene.pairs
    share = np.where(by & ~p.twin, p.share, 0)
    largest = _largest(scene, share)
    return np.minimum(1, largest + 0.5 * np.maximum(np.bincount(p.i, share, scene.n) - largest, 0))


def _largest(scene: Scene, value: FloatArray) -> FloatArray:
    """Shape (n,): largest value over the pairs of each box, 0 without any."""
    out = np.zeros(scene.n)
    np.maximum.at(out, scene.pairs.i, value)
    return out
