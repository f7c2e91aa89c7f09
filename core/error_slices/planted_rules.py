"""Rules by which errors are planted on real or made-up boxes, so that it is known which slices ought to be found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from core.error_slices.detections import BoolArray, FloatArray
from core.error_slices.matchers.features import PixelFeatures
from core.error_slices.units import Visible


@dataclass(frozen=True)
class Planted:
    """A rule for a slice.

    Attributes:
        name: In tables.
        says: Which boxes.
        means: Ids of the hypotheses of the library that mean it.
        holds: Whether it holds for each box, shape (n,); None where the data cannot tell.
    """

    name: str
    says: str
    means: frozenset[str]
    holds: Callable[[Visible, PixelFeatures | None], BoolArray | None]


def _sides(v: Visible) -> FloatArray:
    return np.maximum(v.xyxy[:, 2:] - v.xyxy[:, :2], 0)


def _tiny(v: Visible, _: PixelFeatures | None) -> BoolArray:
    return np.asarray(_sides(v).max(1) < 28, bool)


def _cut(v: Visible, _: PixelFeatures | None) -> BoolArray | None:
    if (v.size <= 0).any():
        return None
    return np.asarray((v.xyxy[:, :2] < 1).any(1) | (v.xyxy[:, 2:] > v.size - 1).any(1), bool)


def _by_image(v: Visible, one: Callable[[FloatArray, FloatArray, Visible, np.ndarray], BoolArray]) -> BoolArray:
    """A rule about boxes of the same image, image by image."""
    out = np.zeros(len(v), bool)
    order = np.argsort(v.image, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(v.image[order])) + 1):
        if len(rows):
            box = v.xyxy[rows]
            out[rows] = one(box, (box[:, :2] + box[:, 2:]) / 2, v, rows)
    return out


def _covered(v: Visible, _: PixelFeatures | None) -> BoolArray:
    def one(box: FloatArray, middle: FloatArray, v: Visible, rows: np.ndarray) -> BoolArray:
        inter = np.maximum(np.minimum(box[:, None, 2:], box[None, :, 2:]) - np.maximum(box[:, None, :2], box[None, :, :2]), 0).prod(2)
        nearer = box[None, :, 3] > box[:, None, 3]
        share = np.where(nearer, inter, 0).max(1) / np.maximum(np.maximum(box[:, 2:] - box[:, :2], 0).prod(1), 1e-9)
        return np.asarray(share > 0.4, bool)

    return _by_image(v, one)


def _huddled(v: Visible, _: PixelFeatures | None) -> BoolArray:
    def one(box: FloatArray, middle: FloatArray, v: Visible, rows: np.ndarray) -> BoolArray:
        far = np.hypot(*np.moveaxis(middle[:, None] - middle[None], 2, 0))
        near = far < 1.5 * np.maximum(box[:, 2:] - box[:, :2], 1).max(1)[:, None]
        return np.asarray(near.sum(1) - 1 >= 4, bool)

    return _by_image(v, one)


def _busy(v: Visible, _: PixelFeatures | None) -> BoolArray:
    return np.asarray(np.bincount(v.image, minlength=len(v.images))[v.image] >= 20, bool)


def _within(v: Visible, _: PixelFeatures | None) -> BoolArray:
    def one(box: FloatArray, middle: FloatArray, v: Visible, rows: np.ndarray) -> BoolArray:
        area = np.maximum(box[:, 2:] - box[:, :2], 0).prod(1)
        inside = (box[:, None, :2] >= box[None, :, :2] - 2).all(2) & (box[:, None, 2:] <= box[None, :, 2:] + 2).all(2)
        other = v.cls[rows][:, None] != v.cls[rows][None, :]
        return np.asarray((inside & other & (area[None, :] > 2 * area[:, None])).any(1), bool)

    return _by_image(v, one)


def _dark(_: Visible, f: PixelFeatures | None) -> BoolArray | None:
    return None if f is None else np.asarray(np.nan_to_num(f.column("luma"), nan=255) < 50, bool)


def _faint(_: Visible, f: PixelFeatures | None) -> BoolArray | None:
    if f is None:
        return None
    return np.asarray(np.nan_to_num(np.abs(f.column("luma") - f.column("ring_luma")), nan=255) < 6, bool)


RULES: tuple[Planted, ...] = (
    Planted("tiny", "longer side below 28 px", frozenset(("iv_small", "ci_far")), _tiny),
    Planted("cut off", "within 1 px of the border", frozenset(("iv_trunc", "ci_edge")), _cut),
    Planted(
        "covered",
        "one box that reaches lower covers more than 40 %",
        frozenset(("ci_occluded", "ci_occ_person", "ci_occ_vehicle", "ci_bike_rider")),
        _covered,
    ),
    Planted("huddled", "four middles of others within 1.5 longer sides", frozenset(("ci_crowd", "ci_crowd_same")), _huddled),
    Planted("busy", "20 boxes or more in the image", frozenset(("ci_dense_scene",)), _busy),
    Planted("within", "wholly inside a box of another class, twice as large", frozenset(("ci_inside", "ci_in_vehicle")), _within),
    Planted("dark", "mean brightness below 50", frozenset(("iv_dark",)), _dark),
    Planted("faint", "brightness within 6 of the surroundings", frozenset(("iv_lowcontrast",)), _faint),
)
"""They measure what the matchers measure, by other formulas; so the bench is a check of the tests, not of the matchers."""


def planted_truth(visible: Visible, features: PixelFeatures | None, least_units: int = 30) -> Mapping[str, tuple[Planted, BoolArray]]:
    """The rules that the data can tell and that hold for enough boxes, but for a quarter at most, by name."""
    out = {}
    for rule in RULES:
        holds = rule.holds(visible, features)
        if holds is not None and least_units <= holds.sum() <= len(visible) / 4:
            out[rule.name] = (rule, holds)
    return out
